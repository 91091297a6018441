// One task: descend to a value, dispatch the rule for frame and value, stop on fuel, hunger, a slot, an error.
//
// Invariants: a task is two words, innermost frame and term in hand, at any depth: frames lie in the nodes that are
// being reduced (pointer reversal), so stopping and going on are O(1) and no stack exists.

// Push a frame over a node that has just been entered: its first field becomes the parent.
FUNC void step_push(THREAD Worker* w, uint tag, uint ext, uint node, Term hand) {
  heap_put(w, node, w->top);
  w->top = term_new(tag, ext, node);
  w->hand = hand;
}

// A primitive: %gnf is what this machine does already, so its argument goes on; any other is the host's.
FUNC void step_primitive(THREAD Worker* w, Term pri, Term argument) {
  if (term_ext(pri) == PRI_GNF && (heap_flags(w) & PARAM_ALONE) == 0u) w->hand = argument;
  else task_stop(w, OUT_ABORTED, WHY_NONE);
}

// Has the task fuel left? It makes room for others, too, if it has work for them.
FUNC bool step_may_interact(THREAD Worker* w) {
  if (w->spent < w->fuel && (TASK_PILED(w) == 0u || w->spent < w->ramp)) return true;
  task_stop(w, OUT_FUEL, WHY_NONE);
  return false;
}

// Enter a static application. A case or strict function that stands in it is pushed at once, and its argument entered.
FUNC void step_enter_app(THREAD Worker* w, uint from, uint env) {
  if (!heap_room(w, 2u, 2u)) return;
  const uint node = heap_alloc(w, 2u);
  Term function = book_term(w, from, env);
  const Term argument = book_term(w, from + 1u, env);
  if (term_tag(function) == REF && w->roots[term_ext(function)] != 0u) {
    function = book_term(w, w->roots[term_ext(function)], 0u);
  }
  if (term_tag(function) == ALO) {
    const uint cell = term_ext(function), tag = term_tag(w->book[cell]);
    if (tag == MAT || tag == SWI || tag == USE) {
      heap_pair(w, node, w->top, function);
      w->top = term_new(tag == USE ? F_USE : F_MAT, 0u, node);
      w->hand = argument;
      w->place = cell;
      return;
    }
  }
  heap_pair(w, node, w->top, argument);
  w->top = term_new(F_APP, 0u, node);
  w->hand = function;
}

// Enter a static operator. If both operands are numbers that lie ready no node is made, and the left one is not waited
// for if it is a number.
FUNC void step_enter_op2(THREAD Worker* w, Term s, uint env) {
  const uint from = term_val(s), code = term_ext(s);
  const Term a = book_term(w, from, env), b = book_term(w, from + 1u, env);
  if (term_tag(a) == NUM && term_tag(b) == NUM) {
    if (!step_may_interact(w)) return;
    step_count(w, RULE_OP2_NUM_NUM);
    w->hand = op2_num_num(code, a, b);
    w->apply = true;
    return;
  }
  if (!heap_room(w, 2u, 2u)) return;
  const uint node = heap_alloc(w, 2u);
  if (term_tag(a) == NUM) {
    heap_pair(w, node, w->top, a);
    w->top = term_new(F_OPR, code, node);
    w->hand = b;
    return;
  }
  heap_pair(w, node, w->top, b);
  w->top = term_new(F_OPL, code, node);
  w->hand = a;
  if (task_may_fork(w)) fork_offer(w, node, b);
}

// Enter a static term that is rarer than those.
CALL void step_enter_other(THREAD Worker* w, Term s, uint cell, uint env) {
  const uint from = term_val(s);
  uint frame = 0u;
  switch (term_tag(s)) {
    case EQL: frame = F_EQL; break;
    case AND: frame = F_AND; break;
    case OR:  frame = F_OR;  break;
    case DSU: frame = F_DSU; break;
    case DDU: frame = F_DDU; break;
    case DUP: {
      if (!heap_room(w, w->slot_cells, w->slot_cells)) return;
      const uint slot = heap_alloc(w, w->slot_cells);
      slot_make(w, slot, book_term(w, from, env), env);
      w->hand = book_term(w, from + 1u, slot);
      return;
    }
    case UNS:
      if (w->spent >= w->fuel) task_stop(w, OUT_FUEL, WHY_NONE);
      else step_enter_rule(w, UNS);
      return;
    case PRI: step_primitive(w, s, book_term(w, from, env)); return;
    case BJV: case BJ0: case BJ1: case NUM: case ERA: case NAM: case ANY: case C00: case REF:
      w->hand = book_term(w, cell, env);
      return;
    default: w->apply = true; return;
  }
  const uint n = term_arity(s);
  if (!heap_room(w, n, n)) return;
  const uint node = heap_alloc(w, n);
  heap_new(w, node, w->top);
  for (uint i = 1u; i < n; i++) heap_new(w, node + i, book_term(w, from + i, env));
  w->top = term_new(frame, term_ext(s), node);
  w->hand = book_term(w, from, env);
}

// Enter a static term under an environment without building its node, unless a frame needs one.
NEAR_CALL void step_enter_static(THREAD Worker* w) {
  const uint cell = term_ext(w->hand), env = term_val(w->hand);
  const Term s = w->book[cell];
  w->place = cell;
  switch (term_tag(s)) {
    case APP: step_enter_app(w, term_val(s), env); return;
    case OP2: step_enter_op2(w, s, env); return;
    case LAM: case SUP: case MAT: case SWI: case USE: w->apply = true; return;
    default: step_enter_other(w, s, cell, env); return;
  }
}

// One step on a term that is not known to be in weak normal form. None of this is counted, but UNS.
FUNC void step_enter(THREAD Worker* w) {
  const Term t = w->hand;
  const uint loc = term_val(t);
  switch (term_tag(t)) {
    case ALO: step_enter_static(w); return;
    case VAR:
      if (binder_filled(w, loc)) w->hand = binder_value(w, loc);
      else w->apply = true;
      return;
    case DP0: case DP1: slot_reach(w); return;
    case REF: {
      const uint root = w->roots[term_ext(t)];
      if (root == 0u) { w->apply = true; return; }
      w->hand = book_term(w, root, 0u);
      return;
    }
    case APP: step_push(w, F_APP, 0u, loc, w->heap[loc]); return;
    case OP2:
      step_push(w, F_OPL, term_ext(t), loc, w->heap[loc]);
      if (task_may_fork(w)) fork_offer(w, loc, w->heap[loc + 1u]);
      return;
    case EQL: step_push(w, F_EQL, 0u, loc, w->heap[loc]); return;
    case AND: step_push(w, F_AND, 0u, loc, w->heap[loc]); return;
    case OR:  step_push(w, F_OR, 0u, loc, w->heap[loc]); return;
    case DSU: step_push(w, F_DSU, 0u, loc, w->heap[loc]); return;
    case DDU: step_push(w, F_DDU, 0u, loc, w->heap[loc]); return;
    case PRI: step_primitive(w, t, w->heap[loc]); return;
    default: w->apply = true; return;
  }
}

// The term in hand has no rule under the frame: rebuild the node around it, which is then in weak normal form.
FUNC void step_stuck(THREAD Worker* w, uint tag, uint ext, uint field) {
  const uint node = term_val(w->top);
  const Term parent = w->heap[node];
  if (field == 1u) heap_put(w, node, w->heap[node + 1u]);
  heap_put(w, node + field, w->hand);
  w->hand = term_new(tag, ext, node);
  w->top = parent;
}

// Leave the term in hand in field 1 and go on with what field 1 held.
FUNC void step_swap(THREAD Worker* w, uint frame) {
  const uint node = term_val(w->top);
  const Term next = w->heap[node + 1u];
  heap_put(w, node + 1u, w->hand);
  w->top = term_new(frame, term_ext(w->top), node);
  w->hand = next;
  w->apply = false;
}

FUNC void step_drop_guard(THREAD Worker* w) {
  w->hand = red_body(w, w->hand);
  w->apply = false;
}

// A case or strict function that is being applied: its argument is wanted next.
FUNC bool step_function(THREAD Worker* w, uint tag) {
  if (term_tag(w->top) != F_APP || (tag != MAT && tag != SWI && tag != USE)) return false;
  step_swap(w, tag == USE ? F_USE : F_MAT);
  return true;
}

// A value under a frame for which no rule is written: push, drop, dry or stuck. None is counted.
CALL void step_move(THREAD Worker* w, uint tag) {
  if (step_function(w, tag)) return;
  const uint node = term_val(w->top);
  const bool is_name = tag == NAM || tag == BJV || tag == BJ0 || tag == BJ1 || tag == DRY;
  switch (term_tag(w->top)) {
    case F_APP:
      if (tag == RED) {  // the guard waits in its node, the application above it
        if (!hand_node(w)) return;
        const uint red = term_val(w->hand);
        const Term body = w->heap[red + 1u];
        heap_put(w, red + 1u, w->top);
        w->top = term_new(F_RED, 0u, red);
        w->hand = body;
        w->apply = false;
        return;
      }
      if (tag == NUM || term_is_ctr(tag)) { task_stop(w, OUT_ERROR, tag == NUM ? 1u : 2u); return; }
      step_stuck(w, is_name ? DRY : APP, 0u, 0u);
      return;
    case F_MAT: case F_USE:
      if (tag == RED) { step_drop_guard(w); return; }
      step_stuck(w, is_name ? DRY : APP, 0u, 1u);
      return;
    case F_DP0: case F_DP1: slot_stuck(w); return;
    case F_OPL:
      step_stuck(w, OP2, term_ext(w->top), 0u);
      return;
    case F_OPR:
      if (tag == RED) step_drop_guard(w);
      else step_stuck(w, OP2, term_ext(w->top), 1u);
      return;
    case F_EQL: step_swap(w, F_EQR); return;
    case F_AND: step_stuck(w, AND, 0u, 0u); return;
    case F_OR:  step_stuck(w, OR, 0u, 0u); return;
    case F_DSU: step_stuck(w, DSU, 0u, 0u); return;
    case F_DDU: step_stuck(w, DDU, 0u, 0u); return;
    case F_RED: {  // node is the RED, app the application that waits above it
      const uint app = term_val(w->heap[node + 1u]);
      heap_put(w, node + 1u, w->hand);
      if (tag == MAT || tag == SWI || tag == USE) {
        w->hand = w->heap[app + 1u];
        heap_put(w, app + 1u, term_new(RED, 0u, node));
        w->top = term_new(tag == USE ? F_RUS : F_RMA, 0u, app);
        w->apply = false;
        return;
      }
      w->top = w->heap[app];
      heap_put(w, app, term_new(RED, 0u, node));
      w->hand = term_new(APP, 0u, app);
      return;
    }
    case F_RMA: case F_RUS: {  // as a stuck call: the guard applied to the argument
      if (tag == RED) { step_drop_guard(w); return; }
      const Term guard = w->heap[term_val(w->heap[node + 1u])];
      const Term parent = w->heap[node];
      heap_put(w, node, guard);
      heap_put(w, node + 1u, w->hand);
      w->hand = term_new(DRY, 0u, node);
      w->top = parent;
      return;
    }
    default: task_stop(w, OUT_ERROR, 3u); return;
  }
}

// The term in hand is what the task was to find.
CALL void step_finish(THREAD Worker* w) {
  if (!hand_node(w)) return;
  heap_put(w, term_val(w->top), w->hand);
  if (w->is_fork) frontier_item(w, ITEM_JOINED, 0u, term_val(w->top));
  else if ((heap_flags(w) & PARAM_WEAK) == 0u) frontier_children(w, w->hand);
  task_stop(w, OUT_DONE, WHY_NONE);
}

// One step on a term in weak normal form: finish the task, or apply the innermost frame.
FUNC void step_apply(THREAD Worker* w) {
  uint frame = term_tag(w->top);
  if (frame - F_APP > F_RUS - F_APP) {
    if (frame == F_ROOT) step_finish(w);
    else lift_step(w, frame);
    return;
  }
  const bool is_left = frame == F_OPL && (heap_flags(w) & PARAM_FORK) != 0u;
  if (is_left) fork_take_back(w, term_val(w->top));
  if (!step_may_interact(w)) return;
  if (frame == F_DP0 || frame == F_DP1) {
    const uint slot = term_val(w->top);
    if (!heap_single(w)) {
      if (!slot_may_publish(w, slot)) { task_hop(w, slot, frame - F_DP0, WHY_PUBLISH); return; }
      if (!frontier_room(w)) { task_stop(w, OUT_FUEL, WHY_NONE); return; }
    }
  }
  const uint tag = hand_tag(w);
  if (is_left && term_tag(w->heap[term_val(w->top) + 1u]) == FORKED) { fork_join(w, term_val(w->top), tag, false); return; }
  if (frame == F_OPL && tag == NUM) {  // go on with the right operand; it may lie ready
    step_swap(w, F_OPR);
    if (term_tag(w->hand) != NUM) return;
    w->apply = true;
    frame = F_OPR;
  }
  if (!step_dispatch(w, frame, tag)) step_move(w, tag);
}

// A cancelled task goes up one frame: the work so far goes back into the node, and the node is the term in hand.
CALL void step_unwind(THREAD Worker* w) {
  const uint frame = term_tag(w->top), ext = term_ext(w->top), node = term_val(w->top);
  w->apply = false;
  switch (frame) {
    case F_ROOT:
      heap_put(w, node, w->hand);
      frontier_item(w, ITEM_JOINED, 0u, node);
      task_stop(w, OUT_DONE, WHY_NONE);
      return;
    case F_DP0: case F_DP1:
      if (!slot_may_publish(w, node)) task_hop(w, node, frame - F_DP0, WHY_RELEASE);
      else if (!frontier_room(w)) task_stop(w, OUT_FUEL, WHY_NONE);
      else slot_release(w);
      return;
    case F_OPL:
      if (term_tag(w->heap[node + 1u]) == FORKED) fork_join(w, node, NUM, true);
      else step_stuck(w, OP2, ext, 0u);
      return;
    case F_OPR: step_stuck(w, OP2, ext, 1u); return;
    case F_APP: step_stuck(w, APP, 0u, 0u); return;
    case F_MAT: case F_USE: case F_RMA: case F_RUS: step_stuck(w, APP, 0u, 1u); return;
    case F_EQL: step_stuck(w, EQL, 0u, 0u); return;
    case F_EQR: step_stuck(w, EQL, 0u, 1u); return;
    case F_AND: step_stuck(w, AND, 0u, 0u); return;
    case F_OR:  step_stuck(w, OR, 0u, 0u); return;
    case F_DSU: step_stuck(w, DSU, 0u, 0u); return;
    case F_DDU: step_stuck(w, DDU, 0u, 0u); return;
    case F_RED: {
      const Term app = w->heap[node + 1u];
      heap_put(w, node + 1u, w->hand);
      w->hand = term_new(RED, 0u, node);
      w->top = app;
      return;
    }
    default: task_stop(w, OUT_ERROR, 3u); return;
  }
}

// One step of the task, or as many as there are where threads do not go together, until it must end the pass. Steps are
// bounded too: a loop of uncounted steps ends the pass as fuel.
LOOP void step_run(THREAD Worker* w) {
  do {
    if (task_is_cancelled(w)) {
      step_unwind(w);
      continue;
    }
    if (!w->apply) {
      step_enter(w);
      if (!STEPS_ALONE || !w->apply) continue;
      if (--w->steps == 0u) break;  // a value was met: apply it at once
    }
    step_apply(w);
  } while (--w->steps != 0u && STEPS_ALONE);
  if (w->steps == 0u && w->stop == OUT_UNRUN) task_stop(w, OUT_FUEL, WHY_NONE);
}
