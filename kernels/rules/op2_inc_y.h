// n ∘ ↑b
// -------- OP2-INC-Y
// ↑(n ∘ b)
//
// redex:   OPR | INC
// words:   0
// writes:  both nodes of the redex
// example: 6 * ↑7  =>  ↑42
FUNC void rule_op2_inc_y(THREAD Worker* w) {
  inc_float(w, OP2, term_ext(w->top), 1u);
}
