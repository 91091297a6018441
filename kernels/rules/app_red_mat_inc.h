// (f ~> [K: h; m])(↑a)
// -------------------- APP-RED-MAT-INC
// ↑((f ~> [K: h; m])(a))
//
// redex:   RMA | INC
// words:   0
// writes:  both nodes of the redex
// example: (^f ~> λ{#A: 1})(↑#A)  =>  ↑f(#A{}) ~> 1
FUNC void rule_app_red_mat_inc(THREAD Worker* w) {
  inc_float(w, APP, 0u, 1u);
}
