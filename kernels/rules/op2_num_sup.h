// n ∘ &L{a, b}
// ------------ OP2-NUM-SUP
// &L{N₀ ∘ a, N₁ ∘ b}   N = n at L
//
// redex:   OPR | SUP
// words:   2 + slot
// writes:  both nodes of the redex
// example: 100 / &K{20, 5}  =>  &K{5,20}
FUNC void rule_op2_num_sup(THREAD Worker* w) {
  sup_float_right(w, OP2, term_ext(w->top));
}
