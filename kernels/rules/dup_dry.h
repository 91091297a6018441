// ! X &L = ^(f a)
// --------------- DUP-DRY
// X₀ ← ^(F₀ A₀)   X₁ ← ^(F₁ A₁)   F = f, A = a at L
//
// redex:   DP0 DP1 | DRY
// words:   2 + 2 * slot
// writes:  the slot, by its owner; the node, which becomes this end's copy
// example: ! x &A = ^f(1); [x₀, x₁]  =>  [f(1),f(1)]
FUNC void rule_dup_dry(THREAD Worker* w) {
  dup_fields(w, true);
}
