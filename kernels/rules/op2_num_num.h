// n ∘ k
// -------- OP2-NUM-NUM
// n ∘ k, computed modulo 2^32
//
// redex:   OPR | NUM
// words:   0
// writes:  nothing
// near:    yes
// example: [7 - 9, 7 / 0, 1 << 33]  =>  [4294967294,0,2]
FUNC Term op2_num_num(uint code, Term n, Term k) {
  return term_num(op2_compute(code, term_val(n), term_val(k)));
}

FUNC void rule_op2_num_num(THREAD Worker* w) {
  const uint node = term_val(w->top);
  w->hand = op2_num_num(term_ext(w->top), w->heap[node + 1u], w->hand);
  w->top = w->heap[node];
}
