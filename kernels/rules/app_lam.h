// (λx.b)(a)
// --------- APP-LAM
// b          x := a
//
// redex:   APP | LAM
// takes:   closure
// words:   0
// writes:  the application, which becomes the environment entry of x; of a lambda with cells, its body cell
// near:    yes
// example: (λx. [x, 5])(4)  =>  [4,5]
FUNC void rule_app_lam(THREAD Worker* w) {
  const uint app = term_val(w->top);
  const Term parent = w->heap[app], arg = w->heap[app + 1u], lam = w->hand;
  w->top = parent;
  w->apply = false;
  if (term_tag(lam) == ALO) {
    const Term s = hand_static(w);
    const uint env = term_val(lam);
    if ((term_ext(s) & LAM_ERA) != 0u) {
      w->hand = book_term(w, term_val(s), env);
      return;
    }
    binder_make_filled(w, app, arg, env);
    w->hand = book_term(w, term_val(s), app);
    return;
  }
  w->hand = w->heap[term_val(lam)];
  if ((term_ext(lam) & LAM_ERA) == 0u) binder_fill(w, term_val(lam), arg);
}
