// &L{a, b} === c
// -------------- EQL-SUP-L
// &L{a === C₀, b === C₁}   C = c at L
//
// redex:   EQL | SUP
// words:   2 + slot
// writes:  both nodes of the redex
// example: &X{1, 2} === 2  =>  &X{0,1}
FUNC void rule_eql_sup_l(THREAD Worker* w) {
  sup_float_left(w, EQL, 0u);
}
