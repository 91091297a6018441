// ! X &L = ^n
// ----------- DUP-NAM
// X₀ ← ^n   X₁ ← ^n
//
// redex:   DP0 DP1 | NAM BJV BJ0 BJ1
// words:   0
// writes:  the slot, by its owner
// example: ! x &A = ^n; [x₀, x₁]  =>  [n,n]
FUNC void rule_dup_nam(THREAD Worker* w) {
  slot_publish_atom(w);
}
