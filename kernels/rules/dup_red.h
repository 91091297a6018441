// ! X &L = f ~> g
// --------------- DUP-RED
// X₀ ← F₀ ~> G₀   X₁ ← F₁ ~> G₁   F = f, G = g at L
//
// redex:   DP0 DP1 | RED
// words:   2 + 2 * slot
// writes:  the slot, by its owner; the node, which becomes this end's copy
// example: ! x &A = (^f ~> 1); [x₀, x₁]  =>  [f ~> 1,f ~> 1]
FUNC void rule_dup_red(THREAD Worker* w) {
  dup_fields(w, true);
}
