// [K: h; m] === [K: i; n]
// ----------------------- EQL-MAT
// (h === i) .&. (m === n); 0 if K differs
//
// redex:   EQR | MAT SWI
// when:    eql_left_tag(w) == MAT || eql_left_tag(w) == SWI
// words:   7
// writes:  all nodes of the redex
// example: λ{#A: 1; 2} === λ{#A: 1; 2}  =>  1
FUNC void rule_eql_mat(THREAD Worker* w) {
  const Term left = heap_node(w, w->heap[term_val(w->top) + 1u]), right = w->hand;
  if (term_tag(left) != term_tag(right) || term_ext(left) != term_ext(right)) {
    eql_answer(w, false);
    w->apply = false;
    return;
  }
  eql_fields(w, term_val(left), term_val(right), 2u);
}
