// λx.b === λy.c
// ------------- EQL-LAM
// b === c   x := n, y := n   n a name that no program can write
//
// redex:   EQR | LAM
// when:    eql_left_tag(w) == LAM
// words:   lam
// writes:  the body cells of both lambdas, the comparison
// example: [(λp.λq.q) === (λr.λs.s), (λp.λq.p) === (λr.λs.s)]  =>  [1,0]
FUNC void rule_eql_lam(THREAD Worker* w) {
  const uint node = term_val(w->top);
  const uint y = term_val(w->hand), x = term_val(heap_node(w, w->heap[node + 1u]));
  const Term name = term_new(NAM, 0u, x);  // names of programs have VAL 0
  w->hand = w->heap[x];
  heap_put(w, node + 1u, w->heap[y]);
  binder_fill(w, x, name);
  binder_fill(w, y, name);
  w->top = term_new(F_EQL, 0u, node);
  w->apply = false;
}
