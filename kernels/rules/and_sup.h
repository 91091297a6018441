// &L{a, b} .&. c
// -------------- AND-SUP
// &L{a .&. C₀, b .&. C₁}   C = c at L
//
// redex:   AND | SUP
// words:   2 + slot
// writes:  both nodes of the redex
// example: &S{1, 0} .&. 8  =>  &S{8,0}
FUNC void rule_and_sup(THREAD Worker* w) {
  sup_float_left(w, AND, 0u);
}
