// ⟨f⟩(&{})
// -------- USE-ERA
// &{}
//
// redex:   USE | ERA
// words:   0
// writes:  nothing
// example: λ{λx. 1}(&{})  =>  &{}
FUNC void rule_use_era(THREAD Worker* w) {
  w->top = frame_parent(w);
}
