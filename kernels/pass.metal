// The entry point step_frontier: one dispatch is one pass. Each thread runs the entries of its segment in order.

// Take up the task of an entry.
FUNC void pass_load(THREAD Worker* w, DEVICE Record* record) {
  w->top = record->top;
  w->apply = (record->hand & SUB_BIT) != (ulong)0;
  w->lifted = (record->flags & RECORD_LIFTED) != 0u;
  w->reenter = (record->flags & RECORD_REENTER) != 0u;
  w->hand = record->hand & ~SUB_BIT;
  w->place = record->place;
  w->def = record->def;
  if ((record->flags & RECORD_NEW) == 0u) return;
  w->top = term_new((w->flags & PARAM_LIFT) != 0u ? F_LROOT : F_ROOT, 0u, record->root);
  w->hand = w->heap[record->root];
  w->apply = false;
}

// Suspend the task in its record: two words, whatever its depth.
FUNC void pass_save(THREAD Worker* w, DEVICE Record* record) {
  record->top = w->top;
  record->hand = w->apply ? w->hand | SUB_BIT : w->hand;
  record->flags = w->lifted ? RECORD_LIFTED : 0u;
  record->place = w->place;
  record->def = w->def;
}

// A slot's stuck term: it is in weak normal form, only its children are wanted. A slot filled meanwhile is skipped.
FUNC void pass_visit_slot(THREAD Worker* w, uint slot) {
  const Term t = w->heap[slot];
  if ((t & SUB_BIT) == (ulong)0 && term_tag(t) < F_ROOT) {
    const uint tag = term_tag(t);
    if ((tag == DP0 || tag == DP1) && heap_owner(w, term_val(t)) != w->me) {  // its owner knows who came first
      task_hop(w, term_val(t), tag - DP0, WHY_TAKE);
      return;
    }
    frontier_children(w, t);
  }
  task_stop(w, OUT_DONE, WHY_NONE);
}

FUNC void pass_run_entry(THREAD Worker* w, DEVICE Record* record) {
  const uint flags = record->flags;
  pass_load(w, record);
  w->stop = OUT_UNRUN;
  w->why = WHY_NONE;
  w->slot = w->side = w->spent = w->cells = 0u;
  if ((flags & RECORD_SLOT) != 0u) pass_visit_slot(w, record->root);
  else step_run(w);
  if (w->stop == OUT_DONE) return;
  pass_save(w, record);
  record->flags |= flags & RECORD_SLOT;
  switch (w->stop) {
    case OUT_FUEL: case OUT_STARVED: frontier_item(w, ITEM_SUSPEND, w->me, w->record); return;
    case OUT_DEFERRED: frontier_item(w, ITEM_HOP, w->target, w->record); return;
    case OUT_CONTENDED:
      if (heap_single(w)) frontier_item(w, ITEM_SUSPEND, w->me, w->record);
      else slot_park(w);
      return;
    case OUT_ERROR: record->flags = w->why << RECORD_ERROR_SHIFT; w->why = WHY_NONE; return;
    default: return;
  }
}

ENTRY(step_frontier)(
    BUFFER(const Params, params, 0), BUFFER(ulong, heap, 1), BUFFER(Atomic32, half, 2), BUFFER(const ulong, book, 3),
    BUFFER(const uint, roots, 4), BUFFER(const uint, owner, 5), BUFFER(const uint, chain, 6), BUFFER(Atomic32, used, 7),
    BUFFER(Atomic32, remote, 8), BUFFER(ThreadState, states, 9), BUFFER(const ulong, frontier, 10),
    BUFFER(Record, records, 11), BUFFER(ulong, items, 12), BUFFER(Event, events, 13), BUFFER(uint, rules, 14),
    GRID_INDEX) {
  GRID_INDEX_BODY
  if (index >= params->threads) return;
  DEVICE ThreadState* state = states + index;
  if (state->count == 0u) return;
  Worker worker;
  THREAD Worker* w = &worker;
  w->heap = heap; w->half = half; w->book = book; w->roots = roots; w->owner = owner; w->chain = chain;
  w->used = used; w->remote = remote;
  w->rules = rules + (ulong)index * params->rules;
  w->items = items + state->out;
  w->regions = params->regions; w->region_shift = params->region_shift; w->slice_shift = params->slice_shift;
  w->tpb_shift = params->tpb_shift; w->slot_cells = params->slot_cells; w->lam_cells = params->lam_cells;
  w->flags = params->flags; w->me = index; w->block = index >> params->tpb_shift;
  w->now = params->now; w->fuel = params->fuel;
  w->next = state->next; w->end = state->end; w->region = state->region; w->mark = w->next;
  w->item_count = 0u; w->item_max = state->out_max;
  w->need = w->need_node = 0u;
  w->counted = w->opens = w->fills = 0u;
  w->target = 0u;
  uint longest = 0u;
  uint i = 0u;
  for (; i < state->count && w->item_count < w->item_max; i++) {
    const ulong entry = frontier[state->first + i];
    DEVICE Record* record = records + (uint)entry;
    w->record = (uint)entry;
    pass_run_entry(w, record);
    if (w->spent > longest) longest = w->spent;
    DEVICE Event* event = events + state->first + i;
    event->thread = index;
    event->loc = record->root;
    event->slot = w->slot;
    event->interactions = w->spent;
    event->cells = w->cells;
    event->codes = w->stop | (w->why << 8) | (w->side << 16) | ((uint)(entry >> 60) << 24);
  }
  for (uint k = i; k < state->count; k++) events[state->first + k].codes = OUT_UNRUN;
  heap_flush_used(w);
  state->done = i;
  state->out_count = w->item_count;
  state->next = w->next; state->end = w->end; state->region = w->region;
  state->need = w->need; state->need_node = w->need_node;
  state->counted_lo = w->counted;
  state->longest = longest;
  state->opens = w->opens;
  state->fills = w->fills;
}
