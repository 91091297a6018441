// &{} .&. b
// --------- AND-ERA
// &{}
//
// redex:   AND | ERA
// words:   0
// writes:  nothing
// example: &{} .&. 1  =>  &{}
FUNC void rule_and_era(THREAD Worker* w) {
  w->top = frame_parent(w);
}
