// 0 .&. b
// -------- AND-ZER
// 0
//
// redex:   AND | NUM
// when:    term_val(w->hand) == 0u
// words:   0
// writes:  nothing
// example: 0 .&. 5(1)  =>  0
FUNC void rule_and_zer(THREAD Worker* w) {
  w->top = frame_parent(w);
}
