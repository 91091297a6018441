// [K: h; m](#J{…})
// ---------------- APP-MAT-CTR-MIS
// m(#J{…})
//
// redex:   MAT | CTR
// takes:   closure
// words:   0
// writes:  the application
// near:    yes
// example: λ{#A: 1; λv. [v]}(#B{3})  =>  [#B{3}]
FUNC void rule_app_mat_ctr_mis(THREAD Worker* w) {
  mat_miss(w);
}
