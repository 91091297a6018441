// &{} ∘ b
// -------- OP2-ERA
// &{}
//
// redex:   OPL | ERA
// words:   0
// writes:  nothing
// example: &{} + 1  =>  &{}
FUNC void rule_op2_era(THREAD Worker* w) {
  w->top = frame_parent(w);
}
