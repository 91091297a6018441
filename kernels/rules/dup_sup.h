// ! X &L = &R{a, b}
// ----------------- DUP-SUP
// X₀ ← &R{A₀, B₀}   X₁ ← &R{A₁, B₁}   A = a, B = b at L
//
// redex:   DP0 DP1 | SUP
// words:   2 + 2 * slot
// writes:  the slot, by its owner; the node, which becomes this end's copy
// near:    yes
// example: ! s &D = &E{10, 20}; [s₀, s₁]  =>  [&E{10,20},&E{10,20}]
FUNC void rule_dup_sup(THREAD Worker* w) {
  dup_fields(w, true);
}
