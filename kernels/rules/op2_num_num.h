// n ∘ k
// -------- OP2-NUM-NUM
// n ∘ k, computed modulo 2^32
//
// redex:   OPR | NUM
// words:   0
// writes:  nothing
// example: [7 - 9, 7 / 0, 1 << 33]  =>  [4294967294,0,2]
FUNC void rule_op2_num_num(THREAD Worker* w) {
  const uint node = term_val(w->top), code = term_ext(w->top);
  w->hand = term_num(op2_compute(code, term_val(w->heap[node + 1u]), term_val(w->hand)));
  w->top = w->heap[node];
}
