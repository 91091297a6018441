// (f ~> ⟨g⟩)(↑a)
// -------------- APP-RED-USE-INC
// ↑((f ~> ⟨g⟩)(a))
//
// redex:   RUS | INC
// words:   0
// writes:  both nodes of the redex
// example: (^f ~> λ{λx. x})(↑1)  =>  ↑f(1) ~> 1
FUNC void rule_app_red_use_inc(THREAD Worker* w) {
  inc_float(w, APP, 0u, 1u);
}
