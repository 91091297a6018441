// [K: h; m](#K{a…z})
// ------------------ APP-MAT-CTR-MAT
// h(a)…(z)
//
// redex:   MAT | CTR
// when:    mat_hits(w)
// takes:   closure
// words:   mat_hit_cells(w)
// writes:  both nodes of the redex, which become the applications
// near:    yes
// example: λ{#Two: λa,b. a - b}(#Two{9, 2})  =>  7
FUNC void rule_app_mat_ctr_mat(THREAD Worker* w) {
  const uint app = term_val(w->top);
  const Term mat = w->heap[app + 1u], ctr = w->hand;
  Term parent = w->heap[app];
  w->hand = case_field(w, mat, 0u);
  w->apply = false;
  const uint n = mat_fields(w, ctr);
  if (n == 0u) {
    w->top = parent;
    return;
  }
  Term field[16];
  const bool is_closure = term_tag(ctr) == ALO;
  const uint from = is_closure ? term_val(w->book[term_ext(ctr)]) : term_val(ctr);
  for (uint i = 0u; i < n; i++) field[i] = is_closure ? book_term(w, from + i, term_val(ctr)) : w->heap[from + i];
  uint node = app, spare = is_closure ? 0u : n / 2u, next = from;
  for (uint i = n; i > 0u; i--) {  // the last field is applied last: its frame is outermost
    heap_put(w, node, parent);
    heap_put(w, node + 1u, field[i - 1u]);
    parent = term_new(F_APP, 0u, node);
    if (i == 1u) break;
    if (spare > 0u) {
      node = next;
      next += 2u;
      spare -= 1u;
    } else {
      node = heap_alloc(w, 2u);
    }
  }
  w->top = parent;
}
