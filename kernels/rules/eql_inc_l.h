// ↑a === b
// -------- EQL-INC-L
// ↑(a === b)
//
// redex:   EQL | INC
// words:   0
// writes:  both nodes of the redex
// example: ↑3 === 3  =>  ↑1
FUNC void rule_eql_inc_l(THREAD Worker* w) {
  inc_float(w, EQL, 0u, 0u);
}
