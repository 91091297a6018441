// !(&L{i, j}) = v; f
// ------------------ DDU-SUP
// &L{!(i) = V₀; F₀, !(j) = V₁; F₁}   V = v, F = f at L
//
// redex:   DDU | SUP
// words:   3 + 2 * slot
// writes:  both nodes of the redex
// example: ! d &(&A{1, 2}) = &a{7, 8}; [d₀, d₁]  =>  &A{[7,8],[&a{7,8},&a{7,8}]}
FUNC void rule_ddu_sup(THREAD Worker* w) {
  sup_float_label(w, DDU);
}
