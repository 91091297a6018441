// ⟨f⟩(&L{a, b})
// ------------- USE-SUP
// &L{⟨F₀⟩(a), ⟨F₁⟩(b)}   F = f at L
//
// redex:   USE | SUP
// words:   4 + slot
// writes:  the superposition and the application
// example: λ{λx. [x]}(&L{1, 2})  =>  &L{[1],[2]}
FUNC void rule_use_sup(THREAD Worker* w) {
  const uint app = term_val(w->top), sup = term_val(w->hand), label = term_ext(w->hand);
  w->top = w->heap[app];
  const uint f = slot_new(w, case_field(w, w->heap[app + 1u], 0u));
  const uint use0 = heap_alloc(w, 1u), use1 = heap_alloc(w, 1u), right = heap_alloc(w, 2u);
  heap_new(w, use0, slot_end(label, f, 0u));
  heap_new(w, use1, slot_end(label, f, 1u));
  heap_pair(w, right, term_new(USE, 0u, use1), w->heap[sup + 1u]);
  heap_put(w, app, term_new(USE, 0u, use0));
  heap_put(w, app + 1u, w->heap[sup]);
  heap_put(w, sup, term_new(APP, 0u, app));
  heap_put(w, sup + 1u, term_new(APP, 0u, right));
}
