// (f ~> #K{…})(a)
// --------------- APP-RED-CTR
// ^((f ~> #K{…}) a)
//
// redex:   RED | CTR
// words:   0
// writes:  the guarded term, the application
// example: (^f ~> #K{1})(3)  =>  f ~> #K{1}(3)
FUNC void rule_app_red_ctr(THREAD Worker* w) {
  red_dry(w);
}
