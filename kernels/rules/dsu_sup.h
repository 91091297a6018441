// &(&L{i, j}){a, b}
// ----------------- DSU-SUP
// &L{&(i){A₀, B₀}, &(j){A₁, B₁}}   A = a, B = b at L
//
// redex:   DSU | SUP
// words:   3 + 2 * slot
// writes:  both nodes of the redex
// example: &(&A{1, 2}){3, 4}  =>  &A{&a{3,4},&b{3,4}}
FUNC void rule_dsu_sup(THREAD Worker* w) {
  sup_float_label(w, DSU);
}
