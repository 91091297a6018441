// [K: h; m](&L{a, b})
// ------------------- APP-MAT-SUP
// &L{M₀(a), M₁(b)}   M = [K: h; m] at L
//
// redex:   MAT | SUP
// words:   2 + slot
// writes:  the superposition and the application
// example: λ{#A: 1; #B: 2}(&L{#A, #B})  =>  &L{1,2}
FUNC void rule_app_mat_sup(THREAD Worker* w) {
  const uint app = term_val(w->top), sup = term_val(w->hand), label = term_ext(w->hand);
  w->top = w->heap[app];
  const uint mat = slot_new(w, w->heap[app + 1u]);
  const uint right = heap_alloc(w, 2u);
  heap_pair(w, right, slot_end(label, mat, 1u), w->heap[sup + 1u]);
  heap_put(w, app, slot_end(label, mat, 0u));
  heap_put(w, app + 1u, w->heap[sup]);
  heap_put(w, sup, term_new(APP, 0u, app));
  heap_put(w, sup + 1u, term_new(APP, 0u, right));
}
