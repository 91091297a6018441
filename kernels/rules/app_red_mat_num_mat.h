// (f ~> [n: h; m])(n)
// ------------------- APP-RED-MAT-NUM-MAT
// f(n) ~> h
//
// redex:   RMA | NUM
// when:    red_mat_hits(w)
// words:   0
// writes:  the guarded term, the application
// example: (^f ~> λ{0: 1; λp. p})(0)  =>  f(0) ~> 1
FUNC void rule_app_red_mat_num_mat(THREAD Worker* w) {
  const uint app = term_val(w->top), red = term_val(w->heap[app + 1u]);
  w->top = w->heap[app];
  heap_put(w, app, w->heap[red]);
  heap_put(w, app + 1u, w->hand);
  heap_put(w, red, term_new(APP, 0u, app));
  heap_put(w, red + 1u, case_field(w, w->heap[red + 1u], 0u));
  w->hand = term_new(RED, 0u, red);
}
