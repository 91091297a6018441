// ! f = λx; b
// ----------- UNS
// b   f := λy.λx.y   and x that inner λ's variable
//
// redex:   enter | UNS
// takes:   closure
// words:   4 + 2 * lam
// writes:  nothing
// example: ! f = λ x; #P{f(x), 1}  =>  #P{λa.a,1}
FUNC void rule_uns(THREAD Worker* w) {
  const Term f = term_tag(w->hand) == ALO ? book_term(w, term_val(hand_static(w)), term_val(w->hand)) : w->heap[term_val(w->hand)];
  const uint y = heap_alloc(w, w->lam_cells), x = heap_alloc(w, w->lam_cells);
  binder_init(w, y, term_new(LAM, 0u, x), 0u);
  binder_init(w, x, term_new(VAR, 0u, y), 0u);
  const uint outer = heap_alloc(w, 2u), inner = heap_alloc(w, 2u);
  heap_pair(w, outer, w->top, term_new(VAR, 0u, x));
  heap_pair(w, inner, term_new(F_APP, 0u, outer), term_new(LAM, 0u, y));
  w->top = term_new(F_APP, 0u, inner);
  w->hand = f;
}
