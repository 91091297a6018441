// ^(f a) === ^(g b)
// ----------------- EQL-DRY
// (f === g) .&. (a === b)
//
// redex:   EQR | DRY
// when:    eql_left_tag(w) == DRY
// words:   7
// writes:  all nodes of the redex
// example: ^p(1, 2) === ^p(1, 2)  =>  1
FUNC void rule_eql_dry(THREAD Worker* w) {
  const Term left = heap_node(w, w->heap[term_val(w->top) + 1u]);
  eql_fields(w, term_val(left), term_val(w->hand), 2u);
}
