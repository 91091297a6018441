// &(↑i){a, b}
// ----------- DSU-INC
// ↑(&(i){a, b})
//
// redex:   DSU | INC
// words:   0
// writes:  both nodes of the redex
// example: &(↑5){3, 4}  =>  ↑&e{3,4}
FUNC void rule_dsu_inc(THREAD Worker* w) {
  inc_float(w, DSU, 0u, 0u);
}
