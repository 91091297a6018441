// [n: h; m](n)
// ------------ APP-MAT-NUM-MAT
// h
//
// redex:   MAT | NUM
// when:    mat_hits(w)
// words:   0
// writes:  nothing
// near:    yes
// example: λ{0: 10; λn. n}(0)  =>  10
FUNC void rule_app_mat_num_mat(THREAD Worker* w) {
  const uint app = term_val(w->top);
  w->hand = case_field(w, w->heap[app + 1u], 0u);
  w->apply = false;
  w->top = w->heap[app];
}
