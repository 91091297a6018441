// (f ~> ⟨g⟩)(&{})
// --------------- APP-RED-USE-ERA
// &{}
//
// redex:   RUS | ERA
// words:   0
// writes:  nothing
// example: (^f ~> λ{λx. 1})(&{})  =>  &{}
FUNC void rule_app_red_use_era(THREAD Worker* w) {
  w->top = frame_parent(w);
}
