// ! X &L = &L{a, b}
// ----------------- DUP-SUP-SAME
// X₀ ← a   X₁ ← b
//
// redex:   DP0 DP1 | SUP
// when:    term_ext(hand_static_or(w)) == term_ext(w->top)
// takes:   closure
// words:   0
// writes:  the slot, by its owner
// near:    yes
// example: ! s &D = &D{10, 20}; [s₁, s₀]  =>  [20,10]
FUNC void rule_dup_sup_same(THREAD Worker* w) {
  const uint side = term_tag(w->top) - F_DP0;
  slot_publish(w, case_field(w, w->hand, side), case_field(w, w->hand, 1u - side), false);
}
