// The slot of a duplication and the protocol by which tasks share it: dup="owner", owner_unit="thread".
//
// cells: [expression, parent frame or SUB value][next environment entry | claim][stamp 0 | stamp 1][waiter 0 | waiter 1]
// (one thread alone needs the first two only)
//
// Invariants: only the owner thread writes a slot's words after they are made. Others read the other side's stamp,
// and the value only if that stamp says published in an earlier pass. So only old stamps carry news.

#define ST_R 0x80000000u  // published
#define ST_O 0x40000000u  // by the owner
#define ST_X 0x20000000u  // given back
#define ST_A 0x10000000u  // arrived; the pass lies in the bits below
#define ST_PASS 0x0FFFFFFFu

#define CLAIM_STUCK   1u  // the expression is in weak normal form and no rule fits
#define CLAIM_VISITED 2u  // its children are on a frontier, or were
#define CLAIM_COUNTED 4u  // born SUB: its one interaction is counted
#define CLAIM_BORN    8u  // made with an atom, published at birth
#define CLAIM_SEEN    16u // by settle_frontier, on its walk
#define CLAIM_FLAGS   0xFFu
// above the flags: the book cell of the closure that a BUSY slot held (its environment is the link), or 0

FUNC DEVICE Atomic32* slot_claim(THREAD Worker* w, uint slot) { return w->halves + 2u * (ulong)slot + 3u; }
FUNC DEVICE Atomic32* slot_stamp(THREAD Worker* w, uint slot, uint side) { return w->halves + 2u * (ulong)slot + 4u + side; }
FUNC DEVICE Atomic32* slot_waiter(THREAD Worker* w, uint slot, uint side) { return w->halves + 2u * (ulong)slot + 6u + side; }

// Make a slot that holds t. Bound variables that are already filled are looked through; an atom is born published,
// so that sharing a number never makes anybody wait.
FUNC void slot_make(THREAD Worker* w, uint loc, Term t, uint env) {
  if (heap_single(w)) {
    heap_pair(w, loc, t, (Term)env);
    return;
  }
  while (term_tag(t) == VAR && binder_filled(w, term_val(t))) t = binder_value(w, term_val(t));
  const bool born = term_is_atom(term_tag(t));
  heap_pair(w, loc, born ? t | SUB_BIT : t, (Term)env | (born ? (ulong)CLAIM_BORN << 32 : (Term)0));
  heap_pair(w, loc + 2u, born ? ((ulong)ST_R << 32) | ST_R : (Term)0, (Term)0);
}

FUNC uint slot_new(THREAD Worker* w, Term t) {
  const uint loc = heap_alloc(w, w->slot_cells);
  slot_make(w, loc, t, 0u);
  return loc;
}

FUNC Term slot_end(uint label, uint slot, uint side) { return term_new(side == 0u ? DP0 : DP1, label, slot); }

FUNC void task_hop(THREAD Worker* w, uint slot, uint side, uint why) {
  w->slot = slot;
  w->side = side;
  w->target = heap_owner(w, slot);
  task_stop(w, OUT_DEFERRED, why);
}

// What this end finds once the slot holds SUB. A slot born SUB is one interaction, whoever comes first.
FUNC void slot_read(THREAD Worker* w, uint slot) {
  w->hand = w->heap[slot] & ~SUB_BIT;
  if (!heap_single(w) && (atomic_read(slot_claim(w, slot)) & CLAIM_BORN) != 0u) {
    w->spent += 1u;
    if ((atomic_or(slot_claim(w, slot), CLAIM_COUNTED) & CLAIM_COUNTED) == 0u) {
      w->counted += 1u;
      if ((w->flags & PARAM_COUNT) != 0u) w->rules[term_tag(w->hand) == NAM || term_tag(w->hand) == BJV ? RULE_DUP_NAM : RULE_DUP_NOD] += 1u;
    }
  }
}

// Remember the closure that is being taken, where there is room: its environment is the slot's link, or the link is
// free (a slot that is no environment entry, or the last one).
FUNC void slot_keep_closure(THREAD Worker* w, uint slot, Term t) {
  DEVICE Atomic32* claim = slot_claim(w, slot);
  const uint flags = atomic_read(claim) & CLAIM_FLAGS;
  uint cell = 0u;
  if (term_tag(t) == ALO) {
    const uint link = atomic_read(w->halves + 2u * (ulong)slot + 2u);
    if (link == 0u) atomic_write(w->halves + 2u * (ulong)slot + 2u, term_val(t));
    if (link == 0u || link == term_val(t)) cell = term_ext(t);
  }
  atomic_write(claim, flags | (cell << 8));
}

// A cyclic term: the slot's value is wanted while it is being computed. HVM4 evaluates the expression once more, and
// so does a task that the host allows it, when nothing else can go on.
FUNC bool slot_enter_again(THREAD Worker* w, uint slot) {
  const uint cell = atomic_read(slot_claim(w, slot)) >> 8;
  if (!w->reenter || cell == 0u) return false;
  if (!heap_room(w, w->slot_cells, w->slot_cells)) return true;
  const uint env = atomic_read(w->halves + 2u * (ulong)slot + 2u);
  const uint again = slot_new(w, term_new(ALO, cell, env));
  const uint side = term_tag(w->hand) == DP0 ? 0u : 1u;
  if (!heap_single(w)) atomic_write(slot_stamp(w, slot, side), 0u);  // it waits no more
  w->hand = slot_end(term_ext(w->hand), again, side);
  w->reenter = false;
  return true;
}

// A task reaches an end of a slot (protocol section 3, option 1, unit thread).
FUNC void slot_reach(THREAD Worker* w) {
  const uint slot = term_val(w->hand);
  const uint side = term_tag(w->hand) == DP0 ? 0u : 1u;
  if (!heap_single(w) && heap_owner(w, slot) != w->me) {
    const uint other = atomic_read(slot_stamp(w, slot, 1u - side));
    if ((other & ST_R) != 0u && (other & ST_PASS) < w->now) slot_read(w, slot);
    else task_hop(w, slot, side, WHY_TAKE);
    return;
  }
  const Term t = w->heap[slot];
  if ((t & SUB_BIT) != 0u) { slot_read(w, slot); return; }
  if (term_tag(t) >= F_ROOT) {
    if (slot_enter_again(w, slot)) return;
    w->slot = slot;
    w->side = side;
    w->target = w->me;
    task_stop(w, OUT_CONTENDED, WHY_BUSY);
    return;
  }
  if ((atomic_read(slot_claim(w, slot)) & CLAIM_STUCK) != 0u) { w->apply = true; return; }
  slot_keep_closure(w, slot, t);
  heap_new(w, slot, w->top);
  w->top = term_new(side == 0u ? F_DP0 : F_DP1, term_ext(w->hand), slot);
  w->hand = t;
}

// A task parks at a slot that another task holds; the holder wakes it. (One thread alone keeps no waiters: there the
// task comes back next pass, behind the holder or before it.)
FUNC void slot_park(THREAD Worker* w) {
  atomic_write(slot_waiter(w, w->slot, w->side), w->record);
  atomic_write(slot_stamp(w, w->slot, w->side), ST_A | w->now);
}

// Wake the task of the other side, if one is parked.
FUNC void slot_wake(THREAD Worker* w, uint slot, uint other) {
  if (heap_single(w)) return;
  if ((atomic_read(slot_stamp(w, slot, other)) & ST_A) == 0u) return;
  atomic_write(slot_stamp(w, slot, other), 0u);
  w->items[w->item_count++] = ((ulong)ITEM_WAKE << 60) | ((ulong)w->me << 32) | atomic_read(slot_waiter(w, slot, other));
}

// The holder of side `side`, at the owner: give the other side its value and go on with `mine` in the parent frame.
FUNC void slot_publish(THREAD Worker* w, Term mine, Term other, bool apply) {
  const uint slot = term_val(w->top);
  const uint side = term_tag(w->top) - F_DP0;
  w->top = w->heap[slot];
  heap_new(w, slot, other | SUB_BIT);
  if (!heap_single(w)) atomic_write(slot_stamp(w, slot, side), ST_R | ST_O | w->now);
  slot_wake(w, slot, 1u - side);
  w->hand = mine;
  w->apply = apply;
}

// Same for an atom: both ends get it.
FUNC void slot_publish_atom(THREAD Worker* w) { slot_publish(w, w->hand, w->hand, true); }

// Expressions without a rule stay in the slot; the end itself is then in weak normal form.
FUNC void slot_stuck(THREAD Worker* w) {
  const uint slot = term_val(w->top), label = term_ext(w->top);
  const uint side = term_tag(w->top) - F_DP0;
  w->top = w->heap[slot];
  heap_new(w, slot, w->hand);
  atomic_or(slot_claim(w, slot), CLAIM_STUCK);
  slot_wake(w, slot, 1u - side);
  w->hand = slot_end(label, slot, side);
}
