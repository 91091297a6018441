// ⟨f⟩ === ⟨g⟩
// ----------- EQL-USE
// f === g
//
// redex:   EQR | USE
// when:    eql_left_tag(w) == USE
// takes:   closure
// words:   0
// writes:  the comparison
// example: λ{λn. n} === λ{λm. m}  =>  1
FUNC void rule_eql_use(THREAD Worker* w) {
  const uint node = term_val(w->top);
  const Term f = case_field(w, w->heap[node + 1u], 0u);
  heap_put(w, node + 1u, case_field(w, w->hand, 0u));
  w->top = term_new(F_EQL, 0u, node);
  w->hand = f;
  w->apply = false;
}
