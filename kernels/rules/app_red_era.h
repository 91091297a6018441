// (f ~> &{})(a)
// ------------- APP-RED-ERA
// &{}
//
// redex:   RED | ERA
// words:   0
// writes:  nothing
// example: (^f ~> &{})(1)  =>  &{}
FUNC void rule_app_red_era(THREAD Worker* w) {
  w->top = w->heap[red_app(w)];
}
