// n .&. b   n not 0
// ----------------- AND-ONE
// b
//
// redex:   AND | NUM
// words:   0
// writes:  nothing
// example: 3 .&. 9  =>  9
FUNC void rule_and_one(THREAD Worker* w) {
  const uint node = term_val(w->top);
  w->hand = w->heap[node + 1u];
  w->top = w->heap[node];
  w->apply = false;
}
