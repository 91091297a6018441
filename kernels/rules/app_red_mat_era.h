// (f ~> [K: h; m])(&{})
// --------------------- APP-RED-MAT-ERA
// &{}
//
// redex:   RMA | ERA
// words:   0
// writes:  nothing
// example: (^f ~> λ{#A: 1})(&{})  =>  &{}
FUNC void rule_app_red_mat_era(THREAD Worker* w) {
  w->top = frame_parent(w);
}
