// 0 .|. b
// -------- OR-ZER
// b
//
// redex:   OR | NUM
// when:    term_val(w->hand) == 0u
// words:   0
// writes:  nothing
// example: 0 .|. 9  =>  9
FUNC void rule_or_zer(THREAD Worker* w) {
  const uint node = term_val(w->top);
  w->hand = w->heap[node + 1u];
  w->top = w->heap[node];
  w->apply = false;
}
