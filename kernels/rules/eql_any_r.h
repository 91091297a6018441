// a === *
// -------- EQL-ANY-R
// 1
//
// redex:   EQR | ANY
// words:   0
// writes:  nothing
// example: 4 === *  =>  1
FUNC void rule_eql_any_r(THREAD Worker* w) {
  w->top = frame_parent(w);
  w->hand = term_num(1u);
}
