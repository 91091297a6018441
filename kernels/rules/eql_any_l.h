// * === b
// -------- EQL-ANY-L
// 1
//
// redex:   EQL | ANY
// words:   0
// writes:  nothing
// example: * === 4  =>  1
FUNC void rule_eql_any_l(THREAD Worker* w) {
  w->top = frame_parent(w);
  w->hand = term_num(1u);
}
