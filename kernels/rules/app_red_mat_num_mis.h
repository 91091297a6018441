// (f ~> [n: h; m])(k)
// ------------------- APP-RED-MAT-NUM-MIS
// ((λp. f(p)) ~> m)(k)
//
// redex:   RMA | NUM
// words:   2 + lam
// writes:  the guarded term, the application
// example: (^f ~> λ{0: 1; λp. p})(5)  =>  f(5) ~> 5
FUNC void rule_app_red_mat_num_mis(THREAD Worker* w) {
  const uint red = term_val(w->heap[term_val(w->top) + 1u]);
  const uint call = heap_alloc(w, 2u);
  const uint p = binder_new(w, term_new(APP, 0u, call), 0u);
  heap_pair(w, call, w->heap[red], term_new(VAR, 0u, p));
  heap_put(w, red, term_new(LAM, 0u, p));
  red_miss(w, red);
}
