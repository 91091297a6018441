// (↑f)(a)
// -------- APP-INC
// ↑(f(a))
//
// redex:   APP | INC
// words:   0
// writes:  both nodes of the redex
// example: (↑λz. [z])(1)  =>  ↑[1]
FUNC void rule_app_inc(THREAD Worker* w) {
  const uint app = term_val(w->top), inc = term_val(w->hand);
  w->top = w->heap[app];
  heap_put(w, app, w->heap[inc]);
  heap_put(w, inc, term_new(APP, 0u, app));
}
