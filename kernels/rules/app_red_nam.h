// (f ~> ^n)(a)
// ------------ APP-RED-NAM
// ^((f ~> ^n) a)
//
// redex:   RED | NAM BJV BJ0 BJ1
// words:   0
// writes:  the guarded term, the application
// example: (^f ~> ^n)(3)  =>  f ~> n(3)
FUNC void rule_app_red_nam(THREAD Worker* w) {
  red_dry(w);
}
