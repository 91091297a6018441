// ⟨f⟩(↑a)
// -------- USE-INC
// ↑(⟨f⟩(a))
//
// redex:   USE | INC
// words:   0
// writes:  both nodes of the redex
// example: λ{λx. [x]}(↑1)  =>  ↑[1]
FUNC void rule_use_inc(THREAD Worker* w) {
  inc_float(w, APP, 0u, 1u);
}
