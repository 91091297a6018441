// &(n){a, b}
// ---------- DSU-NUM
// &n{a, b}   n modulo 2^24
//
// redex:   DSU | NUM
// words:   0
// writes:  nothing: the sides stay where they are
// example: &(63){1, 2}  =>  &${1,2}
FUNC void rule_dsu_num(THREAD Worker* w) {
  const uint node = term_val(w->top);
  w->hand = term_new(SUP, term_val(w->hand) & EXT_MASK, node + 1u);
  w->top = w->heap[node];
}
