// ! X &L = f(a)   a stuck call, connective or undefined reference, in collapse mode
// ------------------------------------------------------------------------------ DUP-STK
// X₀ ← F₀(A₀)   X₁ ← F₁(A₁)   F = f, A = a at L
//
// redex:   DP0 DP1 | APP AND OR REF
// when:    (heap_flags(w) & PARAM_LIFT) != 0u
// words:   arity + arity * slot
// writes:  the slot, by its owner; the node, which becomes this end's copy
// example: collapse λf. ! s &D = @gone(f); [s₀, s₁]  =>  λa.[@gone(a),@gone(a)]
FUNC void rule_dup_stk(THREAD Worker* w) {
  const uint tag = term_tag(w->hand);
  dup_fields(w, tag == REF);  // the others may go on: their first field is an end now
}
