// ⟨f⟩(a)   any other a
// -------------------- USE-VAL
// f(a)
//
// redex:   USE | LAM NUM CTR MAT SWI USE NAM BJV BJ0 BJ1 DRY ANY OP2 DSU DDU VAR DP0 DP1 APP REF AND OR
// takes:   closure
// words:   0
// writes:  the application
// near:    yes
// example: !! x = 2 * 21; [x]  =>  [42]
FUNC void rule_use_val(THREAD Worker* w) {
  const uint app = term_val(w->top);
  const Term use = w->heap[app + 1u];
  heap_put(w, app + 1u, w->hand);
  w->top = term_new(F_APP, 0u, app);
  w->hand = case_field(w, use, 0u);
  w->apply = false;
}
