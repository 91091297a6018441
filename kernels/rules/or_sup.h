// &L{a, b} .|. c
// -------------- OR-SUP
// &L{a .|. C₀, b .|. C₁}   C = c at L
//
// redex:   OR | SUP
// words:   2 + slot
// writes:  both nodes of the redex
// example: &S{1, 0} .|. 8  =>  &S{1,8}
FUNC void rule_or_sup(THREAD Worker* w) {
  sup_float_left(w, OR, 0u);
}
