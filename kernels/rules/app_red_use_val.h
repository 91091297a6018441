// (f ~> ⟨g⟩)(a)   any other a
// --------------------------- APP-RED-USE-VAL
// f(A₀) ~> g(A₁)   A = a at a label used nowhere else
//
// redex:   RUS | LAM NUM CTR MAT SWI USE ANY OP2 DSU DDU VAR DP0 DP1 APP REF AND OR
// words:   2 + slot
// writes:  the guarded term, the application
// example: (^f ~> λ{λx. [x]})(3)  =>  f(3) ~> [3]
FUNC void rule_app_red_use_val(THREAD Worker* w) {
  const uint app = term_val(w->top), red = term_val(w->heap[app + 1u]);
  Term a0, a1;
  red_share(w, w->hand, &a0, &a1);
  const uint app1 = heap_alloc(w, 2u);
  w->top = w->heap[app];
  heap_put(w, app, w->heap[red]);
  heap_put(w, app + 1u, a0);
  heap_pair(w, app1, case_field(w, w->heap[red + 1u], 0u), a1);
  heap_put(w, red, term_new(APP, 0u, app));
  heap_put(w, red + 1u, term_new(APP, 0u, app1));
  w->hand = term_new(RED, 0u, red);
}
