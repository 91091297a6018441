// any other pair, stuck terms included
// ------------------------------------ EQL-NOT
// 0
//
// redex:   EQR | LAM NUM CTR MAT SWI USE NAM BJV BJ0 BJ1 DRY RED OP2 DSU DDU VAR DP0 DP1 APP REF AND OR
// takes:   closure
// words:   0
// writes:  nothing
// example: [(λz. z) === 1, λv. v === 1]  =>  [0,λa.0]
FUNC void rule_eql_not(THREAD Worker* w) {
  eql_answer(w, false);
}
