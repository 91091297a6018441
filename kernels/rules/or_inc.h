// ↑a .|. b
// -------- OR-INC
// ↑(a .|. b)
//
// redex:   OR | INC
// words:   0
// writes:  both nodes of the redex
// example: ↑0 .|. 4  =>  ↑4
FUNC void rule_or_inc(THREAD Worker* w) {
  inc_float(w, OR, 0u, 0u);
}
