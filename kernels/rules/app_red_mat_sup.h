// (f ~> [K: h; m])(&L{a, b})
// -------------------------- APP-RED-MAT-SUP
// &L{(F₀ ~> [K: H₀; M₀])(a), (F₁ ~> [K: H₁; M₁])(b)}   F = f, H = h, M = m at L
//
// redex:   RMA | SUP
// words:   8 + 3 * slot
// writes:  all nodes of the redex
// example: (^f ~> λ{#A: 1; #B: 2})(&S{#A, #B})  =>  &S{f(#A{}) ~> 1,f(#B{}) ~> 2}
FUNC void rule_app_red_mat_sup(THREAD Worker* w) {
  const uint red = term_val(w->heap[term_val(w->top) + 1u]), label = term_ext(w->hand);
  const Term mat = heap_node(w, w->heap[red + 1u]);
  const uint h = slot_new(w, w->heap[term_val(mat)]), m = slot_new(w, w->heap[term_val(mat) + 1u]);
  const uint mat1 = heap_alloc(w, 2u);
  heap_put(w, term_val(mat), slot_end(label, h, 0u));
  heap_put(w, term_val(mat) + 1u, slot_end(label, m, 0u));
  heap_pair(w, mat1, slot_end(label, h, 1u), slot_end(label, m, 1u));
  red_sup_float(w, red, mat, term_new(term_tag(mat), term_ext(mat), mat1));
}
