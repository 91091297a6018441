// (f ~> (g ~> h))(a)
// ------------------ APP-RED-RED
// f(A₀) ~> (g ~> h)(A₁)   A = a at a label used nowhere else
//
// redex:   RED | RED
// words:   2 + slot
// writes:  the guarded term, the application
// example: (^f ~> (^g ~> λx. x))(3)  =>  f(3) ~> g(3) ~> 3
FUNC void rule_app_red_red(THREAD Worker* w) {
  const uint red = term_val(w->top), app = red_app(w);
  Term a0, a1;
  red_share(w, w->heap[app + 1u], &a0, &a1);
  const uint app1 = heap_alloc(w, 2u);
  w->top = w->heap[app];
  heap_put(w, app, w->heap[red]);
  heap_put(w, app + 1u, a0);
  heap_pair(w, app1, w->hand, a1);
  heap_put(w, red, term_new(APP, 0u, app));
  heap_put(w, red + 1u, term_new(APP, 0u, app1));
  w->hand = term_new(RED, 0u, red);
}
