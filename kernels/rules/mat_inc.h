// [K: h; m](↑a)
// ------------- MAT-INC
// ↑([K: h; m](a))
//
// redex:   MAT | INC
// words:   0
// writes:  both nodes of the redex
// example: λ{#A: 1; #B: 2}(↑#B)  =>  ↑2
FUNC void rule_mat_inc(THREAD Worker* w) {
  inc_float(w, APP, 0u, 1u);
}
