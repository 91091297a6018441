// a === &{}
// --------- EQL-ERA-R
// &{}
//
// redex:   EQR | ERA
// words:   0
// writes:  nothing
// example: 1 === &{}  =>  &{}
FUNC void rule_eql_era_r(THREAD Worker* w) {
  w->top = frame_parent(w);
}
