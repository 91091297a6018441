// (&L{f, g})(a)
// ------------- APP-SUP
// &L{f(A₀), g(A₁)}   A = a at L
//
// redex:   APP | SUP
// words:   2 + slot
// writes:  both nodes of the redex
// example: (&M{λa. a + 1, λa. a * 2})(10)  =>  &M{11,20}
FUNC void rule_app_sup(THREAD Worker* w) {
  const uint app = term_val(w->top), sup = term_val(w->hand), label = term_ext(w->hand);
  w->top = w->heap[app];
  const uint arg = slot_new(w, w->heap[app + 1u]);
  const uint right = heap_alloc(w, 2u);
  heap_pair(w, right, w->heap[sup + 1u], slot_end(label, arg, 1u));
  heap_put(w, sup + 1u, slot_end(label, arg, 0u));
  heap_put(w, app, term_new(APP, 0u, sup));
  heap_put(w, app + 1u, term_new(APP, 0u, right));
  w->hand = term_new(SUP, label, app);
}
