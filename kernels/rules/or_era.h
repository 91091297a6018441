// &{} .|. b
// --------- OR-ERA
// &{}
//
// redex:   OR | ERA
// words:   0
// writes:  nothing
// example: &{} .|. 1  =>  &{}
FUNC void rule_or_era(THREAD Worker* w) {
  w->top = frame_parent(w);
}
