// !(&{}) = v; f
// ------------- DDU-ERA
// &{}
//
// redex:   DDU | ERA
// words:   0
// writes:  nothing
// example: ! d &(&{}) = 1; d₀  =>  &{}
FUNC void rule_ddu_era(THREAD Worker* w) {
  w->top = frame_parent(w);
}
