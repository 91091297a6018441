// a === ↑b
// -------- EQL-INC-R
// ↑(a === b)
//
// redex:   EQR | INC
// words:   0
// writes:  both nodes of the redex
// example: 3 === ↑4  =>  ↑0
FUNC void rule_eql_inc_r(THREAD Worker* w) {
  inc_float(w, EQL, 0u, 1u);
}
