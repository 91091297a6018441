// !(↑i) = v; f
// ------------ DDU-INC
// ↑(!(i) = v; f)
//
// redex:   DDU | INC
// words:   0
// writes:  both nodes of the redex
// example: ! d &(↑1) = 2; #P{d₀, d₁}  =>  ↑#P{2,2}
FUNC void rule_ddu_inc(THREAD Worker* w) {
  inc_float(w, DDU, 0u, 0u);
}
