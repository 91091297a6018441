// &(&{}){a, b}
// ------------ DSU-ERA
// &{}
//
// redex:   DSU | ERA
// words:   0
// writes:  nothing
// example: &(&{}){3, 4}  =>  &{}
FUNC void rule_dsu_era(THREAD Worker* w) {
  w->top = frame_parent(w);
}
