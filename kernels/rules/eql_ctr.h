// #K{a, b…} === #K{p, q…}
// ----------------------- EQL-CTR
// (a === p) .&. (b === q) …, a mark for each #SUC, one around a #CON and one around its tail; 0 if name or arity differ
//
// redex:   EQR | CTR
// when:    term_is_ctr(eql_left_tag(w))
// words:   5 * arity + 4
// writes:  all nodes of the redex
// example: #P{1, 2} === #P{1, 2}  =>  1
// example: 2n === 2n  =>  ↑↑1
// example: [4, 5] === [4, 6]  =>  ↑↑↑0
FUNC void rule_eql_ctr(THREAD Worker* w) {
  const uint node = term_val(w->top);
  const Term right = w->hand, head = static_or(w, w->heap[node + 1u]);
  const uint n = term_arity(right), id = term_ext(right);
  const bool same = term_tag(head) == term_tag(right) && term_ext(head) == id;
  if (!same || n == 0u) {
    eql_answer(w, same);
    return;
  }
  const Term left = heap_node(w, w->heap[node + 1u]);
  const uint a = term_val(left), p = term_val(right);
  if (id == K_SUC && n == 1u) {
    w->top = w->heap[node];
    eql_pair(w, node, w->heap[a], w->heap[p]);
    heap_put(w, a, term_new(EQL, 0u, node));
    w->hand = term_new(INC, 0u, a);
    return;
  }
  if (id == K_CON && n == 2u) {
    const uint marks = heap_alloc(w, 2u);
    const Term first = w->heap[a], rest = w->heap[a + 1u];
    w->top = w->heap[node];
    eql_pair(w, node, first, w->heap[p]);
    eql_pair(w, a, rest, w->heap[p + 1u]);
    heap_new(w, marks, term_new(EQL, 0u, a));
    heap_put(w, p, term_new(EQL, 0u, node));
    heap_put(w, p + 1u, term_new(INC, 0u, marks));
    heap_new(w, marks + 1u, term_new(AND, 0u, p));
    w->hand = term_new(INC, 0u, marks + 1u);
    return;
  }
  eql_fields(w, a, p, n);
}
