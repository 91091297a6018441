// ↑a .&. b
// -------- AND-INC
// ↑(a .&. b)
//
// redex:   AND | INC
// words:   0
// writes:  both nodes of the redex
// example: ↑1 .&. 4  =>  ↑4
FUNC void rule_and_inc(THREAD Worker* w) {
  inc_float(w, AND, 0u, 0u);
}
