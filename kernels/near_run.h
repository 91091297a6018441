// Takes a worker into registers, runs it there, and gives it back.
//
// Invariants: lanes of a warp come here together. One of them leads, in turn: those that stand before the same kind of step go
// with it, the others wait. Where lanes do the same work, only at other times, they fall into step after one round.

#define NEAR_TURNS 1024u  // then all look after what is rare
#define NEAR_LEAD 64u     // turns that a lane leads

FUNC bool near_fits(THREAD Worker* w) {
  const uint not_here = PARAM_SINGLE | PARAM_CLAIM | PARAM_ATOMIC | PARAM_BLOCK | PARAM_LIVE;
  return (w->flags & not_here) == 0u && !w->is_cancelled && !w->reenter;
}

// What the next step will be, as far as it decides which code runs.
FUNC uint near_kind(THREAD Near* n) {
  if (n->apply) return 128u + term_tag(n->top);
  const uint tag = term_tag(n->hand);
  return tag == ALO ? 64u + term_tag(n->book[term_ext(n->hand)]) : tag;
}

CALL void near_run(THREAD Worker* w, uint lanes) {
  Near near;
  THREAD Near* n = &near;
  n->heap = w->heap; n->halves = w->halves; n->book = w->book; n->roots = w->roots; n->owner = w->owner;
  n->records = w->records; n->items = w->items; n->rules = w->rules; n->pile = w->pile;
  n->region_shift = w->region_shift; n->slice_shift = w->slice_shift; n->tpb_shift = w->tpb_shift;
  n->slot_cells = w->slot_cells; n->lam_cells = w->lam_cells;
  n->flags = w->flags; n->me = w->me; n->block = w->block; n->now = w->now; n->fuel = w->fuel; n->ramp = w->ramp; n->record = w->record;
  n->away = w->away; n->forking = w->forking; n->leaves = false;
  n->top = w->top; n->hand = w->hand; n->apply = w->apply;
  n->next = w->next; n->end = w->end; n->cells = w->cells; n->spent = w->spent; n->steps = w->steps; n->place = w->place;
  n->stop = w->stop; n->why = w->why; n->slot = w->slot; n->side = w->side; n->target = w->target;
  n->item_count = w->item_count; n->item_max = w->item_max; n->pile_count = w->pile_count; n->fills = w->fills;
  n->counted = w->counted; n->remote = w->remote;
  n->home = w->home; n->home_cells = w->home_cells; n->far = w->far; n->far_writes = w->far_writes;
  uint lead = LANE_FIRST(lanes), begun = 0u;
  for (uint turn = 0u; turn < NEAR_TURNS; turn++) {
    const bool goes = !n->leaves && n->steps != 0u;
    const uint going = LANES_WHERE(lanes, goes);
    if (turn == 0u) begun = LANE_COUNT(going);
    if (going == 0u || 4u * LANE_COUNT(going) < 3u * begun) break;  // who waits for what is rare has waited long enough
    if ((going >> lead & 1u) == 0u || turn % NEAR_LEAD == NEAR_LEAD - 1u) {
      const uint later = going & (0xFFFFFFFEu << lead);
      lead = LANE_FIRST(later != 0u ? later : going);
    }
    const uint kind = goes ? near_kind(n) : 0u;
    if (LANE_WORD(lanes, kind, lead) != kind || !goes) continue;
    if (n->apply) step_apply(n);
    else step_enter(n);
    if (!n->leaves) n->steps -= 1u;
  }
  w->top = n->top; w->hand = n->hand; w->apply = n->apply;
  w->next = n->next; w->cells = n->cells; w->spent = n->spent; w->steps = n->steps; w->place = n->place;
  w->stop = n->stop; w->why = n->why; w->slot = n->slot; w->side = n->side; w->target = n->target;
  w->item_count = n->item_count; w->pile_count = n->pile_count; w->fills = n->fills; w->counted = n->counted;
  w->far = n->far; w->far_writes = n->far_writes;
  if (n->leaves) step_run(w);
  else if (n->steps == 0u && n->stop == OUT_UNRUN) task_stop(w, OUT_FUEL, WHY_NONE);
}
