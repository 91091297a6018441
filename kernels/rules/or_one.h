// n .|. b   n not 0
// ----------------- OR-ONE
// 1
//
// redex:   OR | NUM
// words:   0
// writes:  nothing
// example: 7 .|. 5(1)  =>  1
FUNC void rule_or_one(THREAD Worker* w) {
  w->top = frame_parent(w);
  w->hand = term_num(1u);
}
