// (f ~> ⟨g⟩)(&L{a, b})
// -------------------- APP-RED-USE-SUP
// &L{(F₀ ~> ⟨G₀⟩)(a), (F₁ ~> ⟨G₁⟩)(b)}   F = f, G = g at L
//
// redex:   RUS | SUP
// words:   6 + 2 * slot
// writes:  all nodes of the redex
// example: (^f ~> λ{λx. x})(&S{1, 2})  =>  &S{f(1) ~> 1,f(2) ~> 2}
FUNC void rule_app_red_use_sup(THREAD Worker* w) {
  const uint red = term_val(w->heap[term_val(w->top) + 1u]), label = term_ext(w->hand);
  const uint g = slot_new(w, case_field(w, w->heap[red + 1u], 0u));
  const uint use0 = heap_alloc(w, 1u), use1 = heap_alloc(w, 1u);
  heap_new(w, use0, slot_end(label, g, 0u));
  heap_new(w, use1, slot_end(label, g, 1u));
  red_sup_float(w, red, term_new(USE, 0u, use0), term_new(USE, 0u, use1));
}
