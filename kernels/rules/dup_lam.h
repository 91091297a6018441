// ! X &L = λx.b
// ------------- DUP-LAM
// X₀ ← λy.B₀   X₁ ← λz.B₁   B = b at L   x := &L{y, z}
//
// redex:   DP0 DP1 | LAM
// words:   2 + 2 * lam + slot
// writes:  the slot, by its owner; the body cell of the lambda
// near:    yes
// example: ! f &D = λx. #P{x, 3 * 5}; [f₀(1), f₁(2)]  =>  [#P{1,15},#P{2,15}]
// example: ! f &D = λx. 4; [f₀(1), f₁(2)]  =>  [4,4]
FUNC void rule_dup_lam(THREAD Worker* w) {
  const uint lam = term_val(w->hand), ext = term_ext(w->hand), label = term_ext(w->top);
  const uint side = term_tag(w->top) - F_DP0;
  const uint body = slot_new(w, w->heap[lam]);
  const uint y = binder_new(w, slot_end(label, body, 0u), 0u), z = binder_new(w, slot_end(label, body, 1u), 0u);
  if ((ext & LAM_ERA) == 0u) {
    const uint sup = heap_alloc(w, 2u);
    heap_pair(w, sup, term_new(VAR, 0u, y), term_new(VAR, 0u, z));
    binder_fill(w, lam, term_new(SUP, label, sup));
  }
  slot_publish(w, term_new(LAM, ext, side == 0u ? y : z), term_new(LAM, ext, side == 0u ? z : y), true);
}
