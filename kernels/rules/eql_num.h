// n === k
// -------- EQL-NUM
// 1 if n = k, else 0
//
// redex:   EQR | NUM
// when:    eql_left_tag(w) == NUM
// words:   0
// writes:  nothing
// example: [8 === 8, 8 === 9]  =>  [1,0]
FUNC void rule_eql_num(THREAD Worker* w) {
  eql_answer(w, w->heap[term_val(w->top) + 1u] == w->hand);
}
