// The slot of a duplication and the three protocols by which tasks share it.
//
// cells: [expression, parent frame or SUB value][next environment entry | claim][stamp 0 | stamp 1][waiter 0 | waiter 1]
// (one thread alone needs the first two only)
//
// Invariants: dup="owner", unit thread: only the owner thread writes a slot's words after they are made. dup="claim":
// each side writes its own stamp and waiter, the holder the cell. Unit block and dup="atomic": the lock word decides who
// takes. In all of them a task reads the other side's stamp first, and the value only if that stamp says published in an
// earlier pass, or by this very thread.

#define ST_R 0x80000000u  // published
#define ST_O 0x40000000u  // by the owner
#define ST_X 0x20000000u  // given back
#define ST_A 0x10000000u  // arrived
#define ST_S 0x08000000u  // given back for good: no rule fits the expression
#define ST_PASS 0x07FFFFFFu
#define LOCK_TAKEN 0xFFFFFFFFu
#define PARAM_PROTOCOL (PARAM_CLAIM | PARAM_ATOMIC | PARAM_BLOCK)

#define CLAIM_STUCK   1u  // the expression is in weak normal form and no rule fits
#define CLAIM_VISITED 2u  // its children are on a frontier, or were
#define CLAIM_COUNTED 4u  // born SUB: its one interaction is counted
#define CLAIM_BORN    8u  // made with an atom, published at birth
#define CLAIM_FLAGS   0xFFu
// above the flags: the book cell of the closure that a BUSY slot held (its environment is the link), or 0

FUNC Half slot_link(THREAD Worker* w, uint slot) { return w->halves + (2u * (ulong)slot + 2u); }
FUNC Half slot_claim(THREAD Worker* w, uint slot) { return w->halves + (2u * (ulong)slot + 3u); }
FUNC Half slot_stamp(THREAD Worker* w, uint slot, uint side) { return w->halves + (2u * (ulong)slot + 4u + side); }
FUNC Half slot_waiter(THREAD Worker* w, uint slot, uint side) { return w->halves + (2u * (ulong)slot + 6u + side); }

// Option 2 and unit block have no waiters: there these words are the lock (0, taken, ST_X and the pass it was freed in)
// and the thread that published, plus one.
FUNC Half slot_lock(THREAD Worker* w, uint slot) { return slot_waiter(w, slot, 0u); }
FUNC Half slot_publisher(THREAD Worker* w, uint slot) { return slot_waiter(w, slot, 1u); }

// Make a slot that holds t. Bound variables that are already filled are looked through; an atom is born published,
// so that sharing a number never makes anybody wait.
NEAR_CALL void slot_make(THREAD Worker* w, uint loc, Term t, uint env) {
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

// defer="return": the slot that the task hopped for is resolved; it is dealt again, unless it is done anyway.
FUNC void slot_return(THREAD Worker* w) {
  if (!heap_single(w) && w->away && !(w->apply && term_tag(w->top) == F_ROOT)) task_stop(w, OUT_RETURNED, WHY_NONE);
}

// What this end finds once the slot holds SUB. A slot born SUB is one interaction, whoever comes first.
NEAR_CALL void slot_read(THREAD Worker* w, uint slot, uint side) {
  const bool is_born = !heap_single(w) && (atomic_read(slot_claim(w, slot)) & CLAIM_BORN) != 0u;
  if (is_born && w->spent >= w->fuel) { task_stop(w, OUT_FUEL, WHY_NONE); return; }
  heap_log_op(w, OP_READ, slot, side);
  w->hand = w->heap[slot] & ~SUB_BIT;
  if (is_born) {
    w->spent += 1u;
    if ((atomic_or(slot_claim(w, slot), CLAIM_COUNTED) & CLAIM_COUNTED) != 0u) {
      w->counted -= 1u;  // another one's: charged to this entry, and counted there
    } else if ((heap_flags(w) & PARAM_COUNT) != 0u) {
      w->rules[term_tag(w->hand) == NAM || term_tag(w->hand) == BJV ? RULE_DUP_NAM : RULE_DUP_NOD] += 1u;
    }
  }
  slot_return(w);
}

// Remember the closure that is being taken, where there is room: its environment is the slot's link, or the link is
// free (a slot that is no environment entry, or the last one).
FUNC void slot_keep_closure(THREAD Worker* w, uint slot, Term t) {
  const Half claim = slot_claim(w, slot);
  const uint flags = atomic_read(claim) & CLAIM_FLAGS;
  uint cell = 0u;
  if (term_tag(t) == ALO) {
    const uint link = atomic_read(slot_link(w, slot));
    if (link == 0u) atomic_write(slot_link(w, slot), term_val(t));
    if (link == 0u || link == term_val(t)) cell = term_ext(t);
  }
  atomic_write(claim, flags | (cell << 8));
}

// A cyclic term: the slot's value is wanted while it is being computed. HVM4 evaluates the expression once more, and
// so does a task that the host allows it, when nothing else can go on.
CALL bool slot_enter_again(THREAD Worker* w, uint slot) {
  const uint cell = atomic_read(slot_claim(w, slot)) >> 8;
  if (!w->reenter || cell == 0u) return false;
  if (!heap_room(w, w->slot_cells, w->slot_cells)) return true;
  const uint env = atomic_read(slot_link(w, slot));
  const uint again = slot_new(w, term_new(ALO, cell, env));
  const uint side = term_tag(w->hand) == DP0 ? 0u : 1u;
  if (!heap_single(w) && (heap_flags(w) & PARAM_PROTOCOL) == 0u) atomic_write(slot_stamp(w, slot, side), 0u);  // it waits no more
  w->hand = slot_end(term_ext(w->hand), again, side);
  w->reenter = false;
  return true;
}

// Take the slot: it holds the parent frame now, and its expression is in hand.
NEAR_CALL void slot_take(THREAD Worker* w, uint slot, uint side) {
  const Term t = w->heap[slot];
  heap_log_op(w, OP_TAKE, slot, side);
  slot_keep_closure(w, slot, t);
  heap_new(w, slot, w->top);
  w->top = term_new(side == 0u ? F_DP0 : F_DP1, term_ext(w->hand), slot);
  w->hand = t;
}

FUNC void slot_wait(THREAD Worker* w, uint slot, uint side, uint outcome, uint why) {
  w->slot = slot;
  w->side = side;
  w->target = w->me;
  task_stop(w, outcome, why);
}

FUNC uint slot_pass(uint stamp) { return stamp & ST_PASS; }

// A word changed in this pass decides as it would have before the change: only old stamps carry news.
FUNC bool slot_is_old(THREAD Worker* w, uint stamp) { return slot_pass(stamp) < w->now; }

// May this thread read what that side published? Under "live" at once.
FUNC bool slot_is_published(THREAD Worker* w, uint stamp) {
  return (stamp & ST_R) != 0u && (slot_is_old(w, stamp) || heap_live(w));
}

CALL bool settle_walk(THREAD Worker* w, Term t, bool release);  // join.h: can a stuck term go on?

// Option 1, unit thread: the owner acts on the cell itself, others hop to it unless they see an old publication.
NEAR_CALL void slot_reach_owner(THREAD Worker* w, uint slot, uint side) {
  if (!heap_single(w) && heap_owner(w, slot) != w->me) {
    const uint other = heap_read_news(w, slot_stamp(w, slot, 1u - side));
    if (slot_is_published(w, other)) slot_read(w, slot, side);
    else task_hop(w, slot, side, WHY_TAKE);
    return;
  }
  const Term t = w->heap[slot];
  if ((t & SUB_BIT) != (ulong)0) { slot_read(w, slot, side); return; }
  if (term_tag(t) >= F_ROOT) {
    if (!slot_enter_again(w, slot)) slot_wait(w, slot, side, OUT_CONTENDED, WHY_BUSY);
    return;
  }
  const uint claim = atomic_read(slot_claim(w, slot));
  if ((claim & CLAIM_STUCK) != 0u) {
    if (task_leaves(w)) return;
    // The variable it hangs on may have been filled since. Once the term is being visited, its cells are other tasks'.
    if ((claim & CLAIM_VISITED) != 0u || !settle_walk(w, t, false)) { w->apply = true; return; }
    atomic_write(slot_claim(w, slot), claim & ~CLAIM_STUCK);
  }
  slot_take(w, slot, side);
}

// Option 2, and option 1 with unit block: whoever swaps the lock word first takes, the others come back.
CALL void slot_reach_shared(THREAD Worker* w, uint slot, uint side) {
  if ((heap_flags(w) & PARAM_BLOCK) != 0u && (heap_owner(w, slot) >> w->tpb_shift) != w->block) {
    const uint other = heap_read_news(w, slot_stamp(w, slot, 1u - side));
    if (slot_is_published(w, other)) slot_read(w, slot, side);
    else task_hop(w, slot, side, WHY_TAKE);
    return;
  }
  const uint other = heap_read_news(w, slot_stamp(w, slot, 1u - side));
  const bool is_news = slot_is_old(w, other) || atomic_read(slot_publisher(w, slot)) == w->me + 1u;
  if (slot_is_published(w, other) || ((other & ST_R) != 0u && is_news)) { slot_read(w, slot, side); return; }
  const uint own = atomic_read(slot_stamp(w, slot, side));
  if ((own & ST_R) != 0u) { slot_read(w, slot, side); return; }  // a cyclic term: this end was here before
  if ((own & ST_S) != 0u || ((other & ST_S) != 0u && is_news)) { w->apply = true; return; }
  const uint lock = atomic_read(slot_lock(w, slot));
  const bool is_free = lock == 0u || ((lock & ST_X) != 0u && slot_is_old(w, lock));
  if (is_free && atomic_swap_if(slot_lock(w, slot), lock, LOCK_TAKEN)) { slot_take(w, slot, side); return; }
  if (!slot_enter_again(w, slot)) slot_wait(w, slot, side, OUT_CONTENDED, WHY_BUSY);
}

// Option 3: each side stamps its arrival; the owner takes at once, others from the next pass on.
CALL void slot_reach_claim(THREAD Worker* w, uint slot, uint side) {
  const uint other = heap_read_news(w, slot_stamp(w, slot, 1u - side));
  const bool is_owner = heap_owner(w, slot) == w->me, old = slot_is_old(w, other);
  if (slot_is_published(w, other) || ((other & (ST_R | ST_O)) == (ST_R | ST_O) && is_owner)) {
    slot_read(w, slot, side);
    return;
  }
  const uint own = atomic_read(slot_stamp(w, slot, side));
  if ((own & ST_R) != 0u) { slot_read(w, slot, side); return; }  // a cyclic term: this end was here before
  if ((own & ST_S) != 0u || ((other & ST_S) != 0u && old)) { w->apply = true; return; }
  const bool is_free = other == 0u || ((other & ST_X) != 0u && old) || ((other & (ST_A | ST_O)) == ST_A && !old);
  if (is_owner && is_free && (other & ST_R) == 0u) {
    atomic_write(slot_stamp(w, slot, side), ST_A | ST_O | w->now);
    slot_take(w, slot, side);
    return;
  }
  slot_wait(w, slot, side, OUT_DEFERRED, WHY_CLAIM);
}

// Wake the task of the other side, if one is parked and will not see for itself.
NEAR_CALL void slot_wake(THREAD Worker* w, uint slot, uint other) {
  if (heap_single(w) || (heap_flags(w) & (PARAM_ATOMIC | PARAM_BLOCK)) != 0u) return;
  const uint stamp = heap_read_news(w, slot_stamp(w, slot, other));
  if ((stamp & ST_A) == 0u || (stamp & ST_O) != 0u) return;
  const bool by_claim = (heap_flags(w) & PARAM_CLAIM) != 0u;
  if (by_claim && !slot_is_old(w, stamp)) return;  // its own poll comes later than this pass
  const uint record = atomic_read(slot_waiter(w, slot, other));
  if (record == 0u) return;
  if (!by_claim) atomic_write(slot_stamp(w, slot, other), 0u);
  heap_log_op(w, OP_WAKE, slot, other);
  const uint home = by_claim ? w->records[record - 1u].home : w->me;
  w->items[w->item_count++] = ((ulong)ITEM_WAKE << 60) | ((ulong)home << 32) | (record - 1u);
}

// Stamp this side: published, or given back.
FUNC void slot_stamp_now(THREAD Worker* w, uint slot, uint side, uint bits) {
  if (heap_single(w)) {  // a frontier may read it later, where slots have stamps: no owner acts here
    if (w->slot_cells >= 4u) atomic_write(slot_stamp(w, slot, side), bits | w->now);
    return;
  }
  const bool shared = (heap_flags(w) & (PARAM_ATOMIC | PARAM_BLOCK)) != 0u;
  // a slot given back has no publisher: this thread's number, read late, would pass for its word on what others publish
  if (shared) atomic_write(slot_publisher(w, slot), (bits & (ST_R | ST_S)) != 0u ? w->me + 1u : 0u);
  else if (heap_owner(w, slot) == w->me) bits |= ST_O;
  heap_tell(w, slot_stamp(w, slot, side), bits | w->now);
}

// A poll or wake of option 3 names a record: does its task still wait at a slot? The waiter word lets one of them through.
FUNC bool slot_is_awaited(THREAD Worker* w) {
  const uint tag = term_tag(w->hand);
  if (w->apply || (tag != DP0 && tag != DP1)) return false;  // it went on since
  return atomic_read(slot_waiter(w, term_val(w->hand), tag == DP0 ? 0u : 1u)) == w->record + 1u;
}

// May the task that waits go on? Decided by stamps alone, since poll and wake may both come late.
CALL void slot_resume_claim(THREAD Worker* w) {
  const uint slot = term_val(w->hand), side = term_tag(w->hand) == DP0 ? 0u : 1u;
  const uint other = heap_read_news(w, slot_stamp(w, slot, 1u - side)), mine = slot_pass(atomic_read(slot_stamp(w, slot, side)));
  // A late poll let it go on, and it arrived here in this very pass: that the other entry was sent for is over.
  if (mine == w->now) { slot_wait(w, slot, side, OUT_PARKED, WHY_NONE); return; }
  const bool old = slot_is_old(w, other);
  if ((other & (ST_R | ST_X)) != 0u && !old) { slot_wait(w, slot, side, OUT_PARKED, WHY_NONE); return; }
  if ((other & ST_R) != 0u) {
    atomic_write(slot_waiter(w, slot, side), 0u);
    slot_read(w, slot, side);
    return;
  }
  if ((other & ST_S) != 0u) {
    atomic_write(slot_waiter(w, slot, side), 0u);
    w->apply = true;
    return;
  }
  const uint q = slot_pass(other);
  const bool wins = other == 0u || (other & ST_X) != 0u || q > mine || (q == mine && (other & ST_O) == 0u && side == 0u);
  if (wins) {
    atomic_write(slot_waiter(w, slot, side), 0u);
    if (w->is_cancelled) {  // it never took, but its stamp made others wait
      heap_log_op(w, OP_RELEASE, slot, side);
      slot_stamp_now(w, slot, side, ST_X);
      slot_wake(w, slot, 1u - side);
    } else {
      slot_take(w, slot, side);
    }
    return;
  }
  if (w->reenter) {
    atomic_write(slot_waiter(w, slot, side), 0u);
    if (slot_enter_again(w, slot)) return;
  }
  slot_wait(w, slot, side, OUT_PARKED, WHY_NONE);
}

// A task reaches an end of a slot (protocol section 3).
FUNC void slot_reach(THREAD Worker* w) {
  const uint slot = term_val(w->hand), side = term_tag(w->hand) == DP0 ? 0u : 1u;
  if (heap_single(w) || (heap_flags(w) & PARAM_PROTOCOL) == 0u) slot_reach_owner(w, slot, side);
  else if ((heap_flags(w) & PARAM_CLAIM) != 0u) slot_reach_claim(w, slot, side);
  else slot_reach_shared(w, slot, side);
}

// May this thread publish, give back or leave a stuck term here?
FUNC bool slot_may_publish(THREAD Worker* w, uint slot) {
  if ((heap_flags(w) & (PARAM_CLAIM | PARAM_ATOMIC)) != 0u) return true;
  const uint owner = heap_owner(w, slot);
  return (heap_flags(w) & PARAM_BLOCK) != 0u ? (owner >> w->tpb_shift) == w->block : owner == w->me;
}

// A task parks at the slot that it waits for (options 1/thread and 3); its record is written already.
FUNC void slot_park(THREAD Worker* w) {
  atomic_write(slot_waiter(w, w->slot, w->side), w->record + 1u);
  heap_tell(w, slot_stamp(w, w->slot, w->side), ST_A | w->now);
}

// The holder of side `side`, where it may: give the other side its value and go on with `mine` in the parent frame.
NEAR_CALL void slot_publish(THREAD Worker* w, Term mine, Term other, bool apply) {
  const uint slot = term_val(w->top);
  const uint side = term_tag(w->top) - F_DP0;
  heap_log_op(w, OP_PUBLISH, slot, side);
  w->top = w->heap[slot];
  heap_new(w, slot, other | SUB_BIT);
  slot_stamp_now(w, slot, side, ST_R);
  slot_wake(w, slot, 1u - side);
  w->hand = mine;
  w->apply = apply;
  slot_return(w);
}

// A cancelled task gives the slot back: the expression so far stays in it, and its end is the term in hand.
CALL void slot_release(THREAD Worker* w) {
  const uint slot = term_val(w->top), label = term_ext(w->top), side = term_tag(w->top) - F_DP0;
  heap_log_op(w, OP_RELEASE, slot, side);
  w->top = w->heap[slot];
  heap_new(w, slot, w->hand);
  slot_stamp_now(w, slot, side, ST_X);
  if ((heap_flags(w) & (PARAM_ATOMIC | PARAM_BLOCK)) != 0u) heap_tell(w, slot_lock(w, slot), ST_X | w->now);
  slot_wake(w, slot, 1u - side);
  w->hand = slot_end(label, slot, side);
}

// Same for an atom: both ends get it.
FUNC void slot_publish_atom(THREAD Worker* w) { slot_publish(w, w->hand, w->hand, true); }

// Expressions without a rule stay in the slot; the end itself is then in weak normal form.
CALL void slot_stuck(THREAD Worker* w) {
  const uint slot = term_val(w->top), label = term_ext(w->top);
  const uint side = term_tag(w->top) - F_DP0;
  heap_log_op(w, OP_STUCK, slot, side);
  w->top = w->heap[slot];
  heap_new(w, slot, w->hand);
  if ((heap_flags(w) & PARAM_PROTOCOL) == 0u || heap_single(w)) {
    const uint claim = atomic_read(slot_claim(w, slot));  // a visit that was admitted before was for an older term
    atomic_write(slot_claim(w, slot), (claim | CLAIM_STUCK) & ~CLAIM_VISITED);
  } else {
    slot_stamp_now(w, slot, side, ST_X | ST_S);
  }
  slot_wake(w, slot, 1u - side);
  w->hand = slot_end(label, slot, side);
}
