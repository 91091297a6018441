// two of NAM, BJV, BJ0, BJ1
// ------------------------- EQL-NAM
// 1 if the words are equal, else 0
//
// redex:   EQR | NAM BJV BJ0 BJ1
// when:    eql_left_is_name(w)
// words:   0
// writes:  nothing
// example: [^p === ^p, ^p === ^q]  =>  [1,0]
FUNC void rule_eql_nam(THREAD Worker* w) {
  eql_answer(w, w->heap[term_val(w->top) + 1u] == w->hand);
}
