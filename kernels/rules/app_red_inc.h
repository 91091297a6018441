// (f ~> ↑g)(a)
// ------------ APP-RED-INC
// ↑((f ~> g)(a))
//
// redex:   RED | INC
// words:   0
// writes:  all nodes of the redex
// example: (^f ~> ↑λx. x)(3)  =>  ↑f(3) ~> 3
FUNC void rule_app_red_inc(THREAD Worker* w) {
  const uint red = term_val(w->top), app = red_app(w), inc = term_val(w->hand);
  w->top = w->heap[app];
  heap_put(w, red + 1u, w->heap[inc]);
  heap_put(w, app, term_new(RED, 0u, red));
  heap_put(w, inc, term_new(APP, 0u, app));
}
