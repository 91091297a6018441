// The entry point step_frontier: one dispatch is one pass. Each thread runs the entries of its segment in order.

// Take up the task of an entry.
FUNC void pass_load(THREAD Worker* w, DEVICE Record* record) {
  w->top = record->top;
  w->apply = (record->hand & SUB_BIT) != (ulong)0;
  w->lifted = (record->flags & RECORD_LIFTED) != 0u;
  w->reenter = (record->flags & RECORD_REENTER) != 0u;
  w->away = (record->flags & RECORD_AWAY) != 0u;
  w->is_fork = (record->flags & RECORD_FORK) != 0u;
  w->pile_count = 0u;
  const uint shift = (record->flags >> RECORD_RAMP_SHIFT) & 15u;
  w->ramp = w->forks > 0u ? FORK_RAMP << shift : 0xFFFFFFFFu;
  w->hand = record->hand & ~SUB_BIT;
  w->place = record->place;
  w->is_cancelled = w->is_fork && (record->flags & RECORD_KEPT) == 0u && fork_is_cancelled(w, record->root);
  // under claims an entry may name a record whose task is over, or elsewhere: there the host alone tells who is kept
  const bool is_alone = (record->flags & RECORD_NEW) == 0u && (w->flags & PARAM_CLAIM) == 0u;
  if (w->is_cancelled && is_alone && fork_waits_for_itself(w)) {
    record->flags |= RECORD_KEPT;
    w->is_cancelled = false;
  }
  if ((record->flags & RECORD_NEW) == 0u) return;
  w->top = term_new((heap_flags(w) & PARAM_LIFT) != 0u && !w->is_fork ? F_LROOT : F_ROOT, 0u, record->root);
  w->hand = w->heap[record->root];
  w->apply = false;
}

FUNC void pass_start(THREAD Worker* w) {
  w->stop = OUT_UNRUN;
  w->why = WHY_NONE;
  w->slot = w->side = w->spent = w->cells = 0u;
  w->steps = w->is_cancelled ? 0x00100000u : w->fuel < 0x04000000u ? 64u + 16u * w->fuel : 0x40000000u;
}

// Suspend the task in its record: two words, whatever its depth.
FUNC void pass_save(THREAD Worker* w, DEVICE Record* record) {
  record->top = w->top;
  record->hand = w->apply ? w->hand | SUB_BIT : w->hand;
  uint ramp = (record->flags >> RECORD_RAMP_SHIFT) & 15u;
  if (w->stop == OUT_FUEL && w->pile_count > 0u && ramp < 15u) ramp += 1u;
  record->flags = (record->flags & (RECORD_NAMED_MASK | RECORD_FORK | RECORD_KEPT)) | (ramp << RECORD_RAMP_SHIFT) | (w->lifted ? RECORD_LIFTED : 0u) |
                  (w->away ? RECORD_AWAY : 0u);
  record->home = w->me;
  record->place = w->place;
}

// A slot's stuck term: it is in weak normal form, only its children are wanted. A slot filled meanwhile is skipped.
FUNC void pass_visit_slot(THREAD Worker* w, uint slot) {
  const Term t = w->heap[slot];
  if ((t & SUB_BIT) == (ulong)0 && term_tag(t) < F_ROOT) frontier_children(w, t);
  task_stop(w, OUT_DONE, WHY_NONE);
}

FUNC void pass_event(THREAD Worker* w, DEVICE Event* event, uint root, uint origin) {
  event->actor = w->me;
  event->loc = root;
  event->slot = w->slot;
  event->interactions = w->spent;
  w->counted += w->spent;
  event->cells = w->cells;
  event->codes = w->stop | (w->why << 8) | (w->side << 16) | (origin << 24);
}

// Take over what lasts from pass to pass.
FUNC void pass_begin(THREAD Worker* w, DEVICE const Params* params, DEVICE ThreadState* state, uint me) {
  w->regions = params->regions; w->region_shift = params->region_shift; w->slice_shift = params->slice_shift;
  w->tpb_shift = params->tpb_shift; w->slot_cells = params->slot_cells; w->lam_cells = params->lam_cells;
  w->flags = params->flags; w->me = me; w->block = me >> params->tpb_shift;
  w->now = params->now; w->fuel = params->fuel;
  w->next = state->next; w->end = state->end; w->region = state->region; w->mark = w->next;
  w->is_inside_pass = true;
  // idle threads ask for forks: about twice as many tasks as threads are enough
  w->forks = 0u;
  if ((heap_flags(w) & PARAM_FORK) != 0u && params->width < 2u * params->threads) {
    const uint each = (2u * params->threads - params->width) / params->width + 1u;
    w->forks = each < FORK_PILE ? each : FORK_PILE;
  }
  w->forking = w->forks > 0u;
  w->need = w->need_node = 0u;
  w->counted = w->opens = w->fills = w->target = 0u;
  w->far = w->far_writes = 0u;
  heap_settle(w);
}

FUNC void pass_end(THREAD Worker* w, DEVICE ThreadState* state) {
  heap_flush_used(w);
  heap_flush_remote(w);
  state->next = w->next; state->end = w->end; state->region = w->region;
  state->need = w->need; state->need_node = w->need_node;
  state->counted_lo = w->counted;
  state->opens = w->opens;
  state->fills = w->fills;
}

// A cell that was visited is not visited again: only a cyclic normal form leads back to one. (Lifting does go back.)
FUNC bool pass_is_first_visit(THREAD Worker* w, uint flags, uint root) {
  if ((flags & (RECORD_NEW | RECORD_SLOT)) != RECORD_NEW || (heap_flags(w) & (PARAM_LIFT | PARAM_WEAK)) != 0u) return true;
  const uint bit = 1u << (root & 31u);
  return (atomic_or(w->visited + (root >> 5), bit) & bit) == 0u;
}

// Take up an entry's task, as far as it can be seen at once that it must not run.
FUNC void pass_enter(THREAD Worker* w, DEVICE Record* record, uint origin) {
  const uint flags = record->flags;
  w->is_cancelled = false;
  pass_start(w);
  if (!pass_is_first_visit(w, flags, record->root)) {
    task_stop(w, OUT_DONE, WHY_NONE);
    return;
  }
  pass_load(w, record);
  pass_start(w);
  const bool is_called = (origin == FROM_POLL || origin == FROM_WAKE) && (heap_flags(w) & PARAM_CLAIM) != 0u;
  if (is_called && !slot_is_awaited(w)) {  // the call comes late: nothing that the record names may be looked at
    task_stop(w, OUT_STALE, WHY_NONE);
    return;
  }
  if (w->forks > 0u && !w->is_cancelled && (flags & RECORD_NEW) == 0u) fork_recall(w);
  if (is_called) slot_resume_claim(w);
  if (w->stop == OUT_UNRUN && (flags & RECORD_SLOT) != 0u) pass_visit_slot(w, record->root);
}

// The task ends its pass: suspend it, and say where it goes on.
FUNC void pass_leave(THREAD Worker* w, DEVICE Record* record, uint origin) {
  if (w->stop == OUT_PARKED || w->stop == OUT_STALE) return;  // a poll or wake in vain: touch nothing
  if (w->stop == OUT_DONE) return;
  if (w->stop == OUT_RETURNED) w->away = false;
  else if (w->stop == OUT_DEFERRED && (heap_flags(w) & PARAM_RETURN) != 0u) w->away = true;
  pass_save(w, record);
  fork_promote(w, (record->flags >> RECORD_RAMP_SHIFT) & 15u);
  switch (w->stop) {
    case OUT_FUEL: case OUT_STARVED: frontier_item(w, ITEM_SUSPEND, w->me, w->record); return;
    case OUT_FORKED: return;
    case OUT_RETURNED: frontier_item(w, ITEM_DEAL, 0u, w->record); return;
    case OUT_DEFERRED:
      if (w->why == WHY_CLAIM) {
        slot_park(w);
        frontier_item(w, ITEM_POLL, w->me, w->record);
      } else if ((heap_flags(w) & PARAM_BLOCK) != 0u) {
        frontier_item(w, ITEM_HOP_BLOCK, w->target >> w->tpb_shift, w->record);
      } else {
        frontier_item(w, ITEM_HOP, w->target, w->record);
      }
      return;
    case OUT_CONTENDED:
      if (heap_single(w)) {
        frontier_item(w, ITEM_SUSPEND, w->me, w->record);
      } else if ((heap_flags(w) & (PARAM_ATOMIC | PARAM_BLOCK)) != 0u) {
        frontier_item(w, ITEM_POLL, w->me, w->record);
        if (origin == FROM_POLL && w->spent == 0u) task_stop(w, OUT_PARKED, WHY_NONE);
      } else {
        slot_park(w);
      }
      return;
    case OUT_ERROR: record->flags = w->why << RECORD_ERROR_SHIFT; w->why = WHY_NONE; return;
    default: return;
  }
}

// A step of those lanes whose task is to go on, or many. All lanes come here.
FUNC void pass_step(THREAD Worker* w, uint lanes, bool goes) {
#ifdef NEAR_LOOP
  const bool is_near = goes && near_fits(w);
  const uint together = LANES_WHERE(lanes, is_near);
  if (is_near) near_run(w, together);
  else if (goes) step_run(w);
#else
  (void)lanes;
  if (goes) step_run(w);
#endif
}

ENTRY(step_frontier)(
    BUFFER(const Params, params, 0), BUFFER(ulong, heap, 1), BUFFER(const ulong, book, 2),
    BUFFER(const uint, roots, 3), BUFFER(const uint, owner, 4), BUFFER(const uint, chain, 5), BUFFER(Atomic32, used, 6),
    BUFFER(Atomic32, remote, 7), BUFFER(ThreadState, states, 8), BUFFER(const ulong, frontier, 9),
    BUFFER(Record, records, 10), BUFFER(ulong, items, 11), BUFFER(Event, events, 12), BUFFER(uint, rules, 13),
    BUFFER(Atomic32, visited, 14), BUFFER(ulong, log, 15), BUFFER(uchar, marks, 16), BUFFER(Atomic32, shadow, 17), GRID_INDEX) {
  GRID_SPREAD_BODY
  if (index >= params->threads) return;
  DEVICE ThreadState* state = states + index;
  const uint lanes = LANES(state->count > 0u);
  if (state->count == 0u) return;
  (void)lanes;
  Worker worker;
  THREAD Worker* w = &worker;
  heap_bind(w, heap, log, marks, shadow, index, params->now);
  w->book = book; w->roots = roots; w->owner = owner; w->chain = chain; w->used = used; w->remote = remote;
  w->rules = rules + (ulong)index * params->rules;
  w->items = items + state->out;
  w->records = records;
  w->visited = visited;
  pass_begin(w, params, state, index);
  w->item_count = 0u; w->item_max = state->out_max;
  uint longest = 0u, i = 0u, origin = 0u;
  bool running = false, live = true;
  DEVICE Record* record = records;
  while (ANY_LANE(lanes, live)) {
    if (live && !running) {
      live = i < state->count && w->item_count < w->item_max;
      if (live) {
        const ulong entry = frontier[state->first + i];
        record = records + (uint)entry;
        origin = (uint)(entry >> 60);
        w->record = (uint)entry;
        heap_log_entry(w, state->first + i);
        pass_enter(w, record, origin);
        running = true;
      }
    }
    pass_step(w, lanes, live && w->stop == OUT_UNRUN);
    if (!live || w->stop == OUT_UNRUN) continue;
    pass_leave(w, record, origin);
    if (w->spent > longest) longest = w->spent;
    pass_event(w, events + state->first + i, record->root, origin);
    i += 1u;
    running = false;
  }
  for (uint k = i; k < state->count; k++) events[state->first + k].codes = OUT_UNRUN;
  state->out_count = w->item_count;
  state->longest = longest;
  heap_unbind(w);
  pass_end(w, state);
  state->done = i;  // at least one: so the join sees who did not run
}

// The CPU evaluator: one thread that owns the whole heap takes the cell that arose last first, left child before
// right, as HVM4 does. Cells that are still to be visited lie as ranges on a stack; one task at a time is at work.
//
// io: in number of ranges on the stack, how many of them are not ours, room for ranges, room for events, whether a
// task is at work in the record; out number of ranges, whether a task is at work, events, whether something stopped it
ENTRY(step_depth_first)(
    BUFFER(const Params, params, 0), BUFFER(ulong, heap, 1), BUFFER(const ulong, book, 2),
    BUFFER(const uint, roots, 3), BUFFER(const uint, owner, 4), BUFFER(const uint, chain, 5), BUFFER(Atomic32, used, 6),
    BUFFER(Atomic32, remote, 7), BUFFER(ThreadState, state, 8), BUFFER(Record, record, 9), BUFFER(ulong, stack, 10),
    BUFFER(Event, events, 11), BUFFER(uint, rules, 12), BUFFER(uint, io, 13), BUFFER(Atomic32, visited, 14),
    BUFFER(ulong, log, 15), BUFFER(uchar, marks, 16), BUFFER(Atomic32, shadow, 17), GRID_INDEX) {
  GRID_INDEX_BODY
  if (index >= 1u) return;
  Worker worker;
  THREAD Worker* w = &worker;
  heap_bind(w, heap, log, marks, shadow, 0u, params->now);
  w->book = book; w->roots = roots; w->owner = owner; w->chain = chain; w->used = used; w->remote = remote; w->rules = rules; w->items = stack; w->records = record;
  w->visited = visited;
  pass_begin(w, params, state, 0u);
  w->record = 0u;
  w->item_count = io[0];
  w->item_max = io[2];
  const uint budget = w->fuel;
  uint count = 0u, total = 0u, longest = 0u, stopped = 0u;
  bool live = io[4] != 0u;
  while (count < io[3] && total < budget && w->item_count + 2u < w->item_max && stopped == 0u) {
    uint origin = FROM_RESUME;
    if (!live) {
      if (w->item_count == io[1]) break;
      const ulong range = stack[w->item_count - 1u];
      const uint n = (uint)(range >> 32) & 0xFFu;
      record->root = (uint)range;
      record->flags = RECORD_NEW | (((uint)(range >> 32) & ITEM_SLOT) != 0u ? RECORD_SLOT : 0u);
      record->place = 0u;
      if (n > 1u) stack[w->item_count - 1u] = range + (ulong)1 - ((ulong)1 << 32);
      else w->item_count -= 1u;
      origin = FROM_FRESH;
    }
    const uint flags = record->flags;
    w->fuel = budget - total;
    heap_log_entry(w, count);
    pass_load(w, record);
    pass_start(w);
    if (!pass_is_first_visit(w, flags, record->root)) task_stop(w, OUT_DONE, WHY_NONE);
    else if ((flags & RECORD_SLOT) != 0u) pass_visit_slot(w, record->root);
    while (w->stop == OUT_UNRUN) step_run(w);
    live = w->stop != OUT_DONE;
    if (live) {
      stopped = w->stop == OUT_FUEL ? 0u : w->stop;
      pass_save(w, record);
      if (w->stop == OUT_ERROR) {
        record->flags = w->why << RECORD_ERROR_SHIFT;
        w->why = WHY_NONE;
      }
    }
    total += w->spent;
    if (w->spent > longest) longest = w->spent;
    pass_event(w, events + count, record->root, origin);
    count += 1u;
    if (live && w->stop == OUT_FUEL) break;
  }
  heap_unbind(w);
  pass_end(w, state);
  state->longest = longest;
  io[0] = w->item_count;
  io[4] = live ? 1u : 0u;
  io[5] = count;
  io[6] = stopped;
}
