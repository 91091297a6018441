// (f ~> [K: h; m])(#K{a…z})
// ------------------------- APP-RED-MAT-CTR-MAT
// ((λa…λz. f(#K{a…z})) ~> h)(a)…(z)
//
// redex:   RMA | CTR
// when:    red_mat_hits(w)
// words:   2 + 2 + arity * (3 + lam)
// writes:  all nodes of the redex
// example: (^f ~> λ{#P: λa,b. [a, b]})(#P{1, 2})  =>  f(#P{1,2}) ~> [1,2]
FUNC void rule_app_red_mat_ctr_mat(THREAD Worker* w) {
  const uint app = term_val(w->top), red = term_val(w->heap[app + 1u]);
  const uint from = term_val(w->hand), n = term_arity(w->hand), id = term_ext(w->hand);
  Term parent = w->heap[app];
  const Term hit = case_field(w, w->heap[red + 1u], 0u);
  const uint node = n > 0u ? heap_alloc(w, n) : 0u;
  const uint call = heap_alloc(w, 2u);
  heap_pair(w, call, w->heap[red], term_new(C00 + n, id, node));
  Term guard = term_new(APP, 0u, call);
  for (uint i = n; i > 0u; i--) {
    const uint x = binder_new(w, guard, 0u);
    heap_new(w, node + i - 1u, term_new(VAR, 0u, x));
    guard = term_new(LAM, 0u, x);
  }
  for (uint i = n; i > 0u; i--) {
    const uint at = i == n ? app : heap_alloc(w, 2u);
    const Term field = w->heap[from + i - 1u];
    heap_put(w, at, parent);
    heap_put(w, at + 1u, field);
    parent = term_new(F_APP, 0u, at);
  }
  heap_put(w, red, guard);
  heap_put(w, red + 1u, hit);
  w->top = parent;
  w->hand = term_new(RED, 0u, red);
}
