// &{}(a)   [K: h; m](&{})
// ----------------------- APP-ERA
// &{}
//
// redex:   APP MAT | ERA
// takes:   closure
// words:   0
// writes:  nothing
// example: (&{})(1)  =>  &{}
// example: λ{#A: 1}(&{})  =>  &{}
FUNC void rule_app_era(THREAD Worker* w) {
  w->top = frame_parent(w);
}
