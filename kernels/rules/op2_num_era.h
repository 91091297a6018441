// n ∘ &{}
// -------- OP2-NUM-ERA
// &{}
//
// redex:   OPR | ERA
// words:   0
// writes:  nothing
// example: 1 + &{}  =>  &{}
FUNC void rule_op2_num_era(THREAD Worker* w) {
  w->top = frame_parent(w);
}
