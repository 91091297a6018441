// !(n) = v; f
// ----------- DDU-NUM
// f(V₀)(V₁)   V = v at n modulo 2^24
//
// redex:   DDU | NUM
// words:   2 + slot
// writes:  the node, which becomes an application
// example: ! d &(2 + 1) = &c{7, 8}; [d₀, d₁]  =>  [7,8]
FUNC void rule_ddu_num(THREAD Worker* w) {
  const uint node = term_val(w->top), label = term_val(w->hand) & EXT_MASK;
  const Term f = w->heap[node + 2u];
  const uint v = slot_new(w, w->heap[node + 1u]);
  const uint app = heap_alloc(w, 2u);
  heap_put(w, node + 1u, slot_end(label, v, 1u));
  heap_pair(w, app, term_new(F_APP, 0u, node), slot_end(label, v, 0u));
  w->top = term_new(F_APP, 0u, app);
  w->hand = f;
  w->apply = false;
}
