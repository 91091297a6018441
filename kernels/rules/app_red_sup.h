// (f ~> &L{g, h})(a)
// ------------------ APP-RED-SUP
// &L{(F₀ ~> g)(A₀), (F₁ ~> h)(A₁)}   F = f, A = a at L
//
// redex:   RED | SUP
// words:   4 + 2 * slot
// writes:  all nodes of the redex
// example: (^f ~> &S{λx. x, λx. 7})(3)  =>  &S{f(3) ~> 3,f(3) ~> 7}
FUNC void rule_app_red_sup(THREAD Worker* w) {
  const uint red = term_val(w->top), app = red_app(w), sup = term_val(w->hand), label = term_ext(w->hand);
  const Term g = w->heap[sup], h = w->heap[sup + 1u];
  const uint f = slot_new(w, w->heap[red]), a = slot_new(w, w->heap[app + 1u]);
  const uint red1 = heap_alloc(w, 2u), app1 = heap_alloc(w, 2u);
  w->top = w->heap[app];
  heap_put(w, red, slot_end(label, f, 0u));
  heap_put(w, red + 1u, g);
  heap_put(w, app, term_new(RED, 0u, red));
  heap_put(w, app + 1u, slot_end(label, a, 0u));
  heap_pair(w, red1, slot_end(label, f, 1u), h);
  heap_pair(w, app1, term_new(RED, 0u, red1), slot_end(label, a, 1u));
  heap_put(w, sup, term_new(APP, 0u, app));
  heap_put(w, sup + 1u, term_new(APP, 0u, app1));
}
