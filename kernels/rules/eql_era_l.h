// &{} === b
// --------- EQL-ERA-L
// &{}
//
// redex:   EQL | ERA
// words:   0
// writes:  nothing
// example: &{} === 1  =>  &{}
FUNC void rule_eql_era_l(THREAD Worker* w) {
  w->top = frame_parent(w);
}
