// ! X &L = T{a…z}
// --------------- DUP-NOD
// X₀ ← T{A₀…Z₀}   X₁ ← T{A₁…Z₁}   A = a … Z = z at L
//
// redex:   DP0 DP1 | ERA ANY NUM CTR MAT SWI USE INC OP2 DSU DDU
// words:   arity + arity * slot
// writes:  the slot, by its owner; the node, which becomes this end's copy
// near:    yes
// example: ! x &A = 3; x₀ + x₁  =>  6
// example: ! x &A = #P{1, 2}; [x₀, x₁]  =>  [#P{1,2},#P{1,2}]
FUNC void rule_dup_nod(THREAD Worker* w) {
  const uint tag = term_tag(w->hand);
  if (tag == NUM) {
    slot_publish_atom(w);
    return;
  }
  dup_fields(w, !(tag == OP2 || tag == DSU || tag == DDU));  // stuck ones may go on: a field is an end now
}
