// (f ~> ^(g b))(a)
// ---------------- APP-RED-DRY
// ^((f ~> ^(g b)) a)
//
// redex:   RED | DRY
// words:   0
// writes:  the guarded term, the application
// example: (^f ~> ^n(1))(3)  =>  f ~> n(1)(3)
FUNC void rule_app_red_dry(THREAD Worker* w) {
  red_dry(w);
}
