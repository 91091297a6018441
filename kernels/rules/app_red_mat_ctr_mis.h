// (f ~> [K: h; m])(#J{…})
// ----------------------- APP-RED-MAT-CTR-MIS
// (f ~> m)(#J{…})
//
// redex:   RMA | CTR
// words:   0
// writes:  the guarded term, the application
// example: (^f ~> λ{#A: 1; λx. x})(#B)  =>  f(#B{}) ~> #B{}
FUNC void rule_app_red_mat_ctr_mis(THREAD Worker* w) {
  red_miss(w, term_val(w->heap[term_val(w->top) + 1u]));
}
