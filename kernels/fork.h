// Forks: the right operand of a strict operator as a task of its own, while the left one is being reduced (fork="auto").
//
// A fork is lazy: entering an operator only remembers its node on the task's pile, and whoever comes to the right operand
// first takes it back. When the task ends its pass and threads are idle, what is on the pile is promoted, oldest first:
// the operand moves to a join cell, a fresh task reduces it there, and the node's field says FORKED.
//
// join: [operand, later its value][waiting record | JOIN_*]
//
// Invariants: the second word is written by the join between two passes alone, so no task sees it change during a pass;
// a FORKED field never outlives its F_OPL frame: the value, or what there is of it, is put back before any rule looks.
// A task whose operand is not needed any more is cancelled: it gives back its slots, with the work so far; but not one
// that waits for itself (a cyclic term), which goes on.

#define JOIN_DONE 1u      // the first word holds what the task left
#define JOIN_CANCELLED 2u // its task is to stop where it is
#define FORK_REACH 64u     // frames that a task looks back for its pile
#define FORK_RAMP 256u    // interactions after which a task with a pile makes room for others, doubled every time

FUNC Half fork_waiter(THREAD Worker* w, uint join) { return w->halves + (2u * (ulong)join + 2u); }
FUNC Half fork_state(THREAD Worker* w, uint join) { return w->halves + (2u * (ulong)join + 3u); }

// Is an operand worth a task? Values and variables are not; a variable's value is somebody's task already, or small.
#define FORK_WORTH \
  (BOOK_BIT(APP) | BOOK_BIT(OP2) | BOOK_BIT(EQL) | BOOK_BIT(AND) | BOOK_BIT(OR) | BOOK_BIT(REF) | BOOK_BIT(DUP))
FUNC bool fork_is_worth(THREAD Worker* w, Term operand) {  // not of one that is FORKED: that is no term
  uint tag = term_tag(operand);
  if (tag == ALO) tag = term_tag(w->book[term_ext(operand)]);
  return ((FORK_WORTH >> tag) & (ulong)1) != (ulong)0;
}

// An operator's left operand is entered: the right one, at hand here, may be forked.
FUNC void fork_offer(THREAD Worker* w, uint node, Term right) {
  if (w->pile_count < FORK_PILE && fork_is_worth(w, right)) w->pile[w->pile_count++] = node;
}

// A task that goes on has lost its pile: find again which right operands are not begun, as far as it is not too far.
CALL void fork_recall(THREAD Worker* w) {
  Term frame = w->top;
  uint found[FORK_PILE];  // a ring: the outermost of those seen stay
  uint count = 0u;
  for (uint i = 0u; i < FORK_REACH; i++) {
    const uint tag = term_tag(frame), node = term_val(frame);
    if (tag == F_ROOT || tag == F_LROOT) break;
    if (tag == F_OPL) {
      const Term right = w->heap[node + 1u];
      if (term_tag(right) != FORKED && fork_is_worth(w, right)) found[count++ % FORK_PILE] = node;
    }
    frame = w->heap[tag == F_RED ? node + 1u : node];
  }
  const uint kept = count < FORK_PILE ? count : FORK_PILE;
  for (uint i = 0u; i < kept; i++) w->pile[i] = found[(count - 1u - i) % FORK_PILE];
  w->pile_count = kept;
}

// The left operand is done: the right one is on the pile no more.
FUNC void fork_take_back(THREAD Worker* w, uint node) {
  if (w->pile_count > 0u && w->pile[w->pile_count - 1u] == node) w->pile_count -= 1u;
}

// The task ends its pass: make tasks of what is on its pile, as many as idle threads ask for. A few may be
// the rest of a chain: they take over how often room was made before, so that a chain pays a logarithm of its length.
CALL void fork_promote(THREAD Worker* w, uint ramp) {
  if (w->pile_count >= FORK_PILE / 2u) ramp = 0u;
  for (uint i = 0u; i < w->pile_count && i < w->forks; i++) {
    if (w->end - w->next < 2u || w->item_count + 4u > w->item_max) break;
    const uint node = w->pile[i], join = heap_alloc(w, 2u);
    heap_pair(w, join, w->heap[node + 1u], (Term)0);
    heap_put(w, node + 1u, term_new(FORKED, 0u, join));
    frontier_item(w, ITEM_FRESH, 1u | ITEM_FORK | (ramp << ITEM_RAMP_SHIFT), join);
  }
  w->pile_count = 0u;
}

FUNC bool fork_is_cancelled(THREAD Worker* w, uint join) {
  return (atomic_read(fork_state(w, join)) & JOIN_CANCELLED) != 0u;
}

// Does the task wait for a slot that it holds? The term is cyclic: its work so far, put back, would lie in itself.
CALL bool fork_waits_for_itself(THREAD Worker* w) {
  const uint wanted = term_tag(w->hand);
  if (w->apply || (wanted != DP0 && wanted != DP1)) return false;
  Term frame = w->top;
  while (term_tag(frame) != F_ROOT && term_tag(frame) != F_LROOT) {
    const uint tag = term_tag(frame), node = term_val(frame);
    if ((tag == F_DP0 || tag == F_DP1) && node == term_val(w->hand)) return true;
    frame = w->heap[tag == F_RED ? node + 1u : node];
  }
  return false;
}

// The left operand is a value and the right one a task of its own: put its value into the node, or wait for it. A left
// value that is no number may not need the right one, so that is cancelled, not waited for.
CALL void fork_join(THREAD Worker* w, uint node, uint tag, bool is_cancelled) {
  const uint join = term_val(w->heap[node + 1u]);
  if ((atomic_read(fork_state(w, join)) & JOIN_DONE) != 0u) {
    heap_put(w, node + 1u, w->heap[join]);
  } else if (tag == ERA && !is_cancelled) {
    heap_put(w, node + 1u, term_new(ERA, 0u, 0u));
    frontier_item(w, ITEM_DROP, 0u, join);
  } else {
    task_stop(w, OUT_FORKED, WHY_NONE);
    frontier_item(w, ITEM_AWAIT, is_cancelled || tag != NUM ? 1u : 0u, w->record);
  }
}
