// &L{a, b} ∘ c
// ------------ OP2-SUP
// &L{a ∘ C₀, b ∘ C₁}   C = c at L
//
// redex:   OPL | SUP
// words:   2 + slot
// writes:  both nodes of the redex
// example: &K{3, 4} - 1  =>  &K{2,3}
FUNC void rule_op2_sup(THREAD Worker* w) {
  sup_float_left(w, OP2, term_ext(w->top));
}
