// [n: h; m](k)
// ------------ APP-MAT-NUM-MIS
// m(k)
//
// redex:   MAT | NUM
// words:   0
// writes:  the application
// near:    yes
// example: λ{0: 10; λn. n}(7)  =>  7
FUNC void rule_app_mat_num_mis(THREAD Worker* w) {
  mat_miss(w);
}
