// a === &L{b, c}
// -------------- EQL-SUP-R
// &L{A₀ === b, A₁ === c}   A = a at L
//
// redex:   EQR | SUP
// words:   2 + slot
// writes:  both nodes of the redex
// example: 2 === &X{1, 2}  =>  &X{0,1}
FUNC void rule_eql_sup_r(THREAD Worker* w) {
  sup_float_right(w, EQL, 0u);
}
