// (f ~> λx.g)(a)
// -------------- APP-RED-LAM
// f(A₀) ~> g   x := A₁   A = a at a label used nowhere else
//
// redex:   RED | LAM
// words:   slot
// writes:  the guarded term, the application, the body cell of the lambda
// example: (^f ~> λx. [x])(3)  =>  f(3) ~> [3]
FUNC void rule_app_red_lam(THREAD Worker* w) {
  const uint red = term_val(w->top), app = red_app(w), lam = term_val(w->hand);
  const Term parent = w->heap[app], body = w->heap[lam];
  Term a0, a1;
  red_share(w, w->heap[app + 1u], &a0, &a1);
  binder_fill(w, lam, a1);
  heap_put(w, app, w->heap[red]);
  heap_put(w, app + 1u, a0);
  heap_put(w, red, term_new(APP, 0u, app));
  heap_put(w, red + 1u, body);
  w->hand = term_new(RED, 0u, red);
  w->top = parent;
}
