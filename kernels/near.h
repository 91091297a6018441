// The near loop: the steps that nearly all tasks consist of, on a worker that lies in registers.
//
// Functions that take a Worker pass its address on, so on a GPU it lies in memory, and calls keep it there. Here the same
// functions work on a Near, whose address nobody keeps: source.py writes them out again with the one type for the
// other ("takes:" below, and the rules whose header says near). What is rare leaves: it changes nothing, says so, and the step is
// done by the whole worker.
//
// Invariants: several threads; dup="owner" by thread, visibility="pass".
//
// takes: heap_read_news heap_tell task_stop heap_owner heap_new heap_pair heap_low heap_high binder_filled binder_value
// takes: binder_fill binder_init binder_new binder_make_filled env_entry book_term hand_static hand_tag heap_node
// takes: heap_node_cells hand_node slot_link slot_claim slot_stamp slot_waiter slot_lock slot_publisher slot_make slot_new task_hop slot_return
// takes: slot_read slot_keep_closure slot_take slot_wait slot_is_old slot_is_published slot_reach_owner slot_wake
// takes: slot_stamp_now slot_may_publish slot_publish slot_publish_atom frontier_room fork_is_worth fork_offer
// takes: fork_take_back fork_state fork_join frontier_item step_function hand_static_or static_or case_field mat_hits mat_fields mat_hit_cells mat_miss dup_fields
// takes: step_push step_may_interact step_enter_app step_enter_op2 step_enter_other step_enter_static step_enter
// takes: step_swap step_apply

struct Near {
  DEVICE ulong* heap;
  DEVICE Atomic32* halves;
  const DEVICE ulong* book;
  const DEVICE uint* roots;
  const DEVICE uint* owner;
  const DEVICE Record* records;
  DEVICE ulong* items;
  DEVICE uint* rules;
  DEVICE Atomic32* remote;
  THREAD uint* pile;
  uint region_shift, slice_shift, tpb_shift, slot_cells, lam_cells;
  uint flags, me, block, now, fuel, ramp, record;
  bool away, forking, leaves;
  // what changes
  Term top, hand;
  uint next, end, cells, spent, steps, place, stop, why, slot, side, target, item_count, item_max, pile_count, fills;
  uint counted, home, home_cells, far, far_writes;
  bool apply;
};

// The step is not for the near loop. Said before anything is changed.
FUNC bool task_leaves(THREAD Near* w) {
  w->leaves = true;
  return true;
}

FUNC uint heap_flags(THREAD Near* w) {
  return w->flags & (PARAM_COUNT | PARAM_FORK | PARAM_RETURN | PARAM_LIFT | PARAM_WEAK);
}
FUNC bool heap_single(THREAD Near* w) { (void)w; return false; }
FUNC bool heap_live(THREAD Near* w) { (void)w; return false; }
FUNC bool task_may_fork(THREAD Near* w) { return w->forking; }
FUNC void heap_log_op(THREAD Near* w, uint op, uint slot, uint side) { (void)w; (void)op; (void)slot; (void)side; }

FUNC void heap_put(THREAD Near* w, uint loc, Term t) {
  if (loc - w->home >= w->home_cells) {
    const uint region = loc >> w->region_shift;
    if (w->owner[region] != w->block) {
      if (region != w->far && w->far_writes != 0u) {
        atomic_plus(w->remote + w->far, w->far_writes);
        w->far_writes = 0u;
      }
      w->far = region;
      w->far_writes += 1u;
    }
  }
  w->heap[loc] = t;
}


FUNC bool heap_room(THREAD Near* w, uint words, uint node) {
  (void)node;
  return words <= w->end - w->next || !task_leaves(w);
}

FUNC uint heap_alloc(THREAD Near* w, uint n) {
  const uint loc = w->next;
  w->next += n;
  w->cells += n;
  return loc;
}

FUNC void step_count(THREAD Near* w, uint rule) {
  w->spent += 1u;
  if ((heap_flags(w) & PARAM_COUNT) != 0u) w->rules[rule] += 1u;
}

FUNC bool slot_enter_again(THREAD Near* w, uint slot) { (void)w; (void)slot; return false; }  // no task here may
FUNC void step_primitive(THREAD Near* w, Term pri, Term argument) { (void)pri; (void)argument; task_leaves(w); }
FUNC void step_enter_rule(THREAD Near* w, uint tag) { (void)tag; task_leaves(w); }
FUNC void step_finish(THREAD Near* w) { task_leaves(w); }
FUNC void lift_step(THREAD Near* w, uint frame) { (void)frame; task_leaves(w); }
FUNC bool step_function(THREAD Near* w, uint tag);
FUNC void slot_reach_owner(THREAD Near* w, uint slot, uint side);

FUNC void step_move(THREAD Near* w, uint tag) {
  if (!step_function(w, tag)) task_leaves(w);
}
FUNC void slot_reach(THREAD Near* w) { slot_reach_owner(w, term_val(w->hand), term_tag(w->hand) == DP0 ? 0u : 1u); }
FUNC bool settle_walk(THREAD Near* w, Term t, bool release) { (void)t; (void)release; return task_leaves(w); }
