// One thread's view of the machine during a pass: heap, regions, allocation, binders, book.
//
// Invariants: new cells come from the running thread's own slices; a node never crosses a slice; a rule checks its
// room before it writes anything. A binder is read only when its stamp says that it was filled in an earlier pass
// or by this very thread, so what a thread sees never depends on timing.

#define FORK_PILE 8u
#define HOME_REACH 64u

struct Worker {
#ifdef WATCHED
  Watch watch;
#endif
  Cells heap;
  Halves halves;               // the same cells, as 32-bit halves
  const DEVICE ulong* book;    // static terms, variables as environment indices
  const DEVICE uint* roots;    // root cell of each definition, 0 = undefined
  const DEVICE uint* owner;    // owner block of each region
  const DEVICE uint* chain;    // next region of the same block, ~0 = none yet
  DEVICE Atomic32* used;       // cells in use in each region
  Marks visited;               // a bit a cell: a task has been given it
  DEVICE Atomic32* remote;     // linear cells of each region written by other blocks
  DEVICE uint* rules;          // this thread's interactions by rule
  DEVICE ulong* items;         // this thread's items of the next frontier
  uint regions, region_shift, slice_shift, tpb_shift, slot_cells, lam_cells;
  uint flags, me, block, now, fuel;
  uint next, end, region, mark;  // allocation; mark: first cell not yet added to used
  uint item_count, item_max;
  uint need, need_node;
  // the task
  Term top, hand;
  bool apply;                  // the term in hand is in weak normal form
  bool is_inside_pass;         // other threads are at work
  bool reenter;                // may evaluate the closure of a slot that is being reduced
  bool is_fork;                // a forked operand: it is wanted in weak normal form only
  bool is_cancelled;           // and not any more
  bool forking;                // may leave operands to other tasks
  uint forks, ramp;            // how many, and after how many interactions it makes room for them
  uint pile_count, pile[FORK_PILE];  // operators whose right operand is not begun, outermost first (fork.h)
  bool away;                   // hopped here to have a slot resolved (defer="return")
  bool lifted;                 // and is a lifted result
  uint stop;                   // OUT_* once the task must end the pass
  uint why, slot, side, target;
  uint spent, cells, record, place;
  uint steps;                  // that the task may still take in this pass
  DEVICE Record* records;
  uint counted, opens, fills;
  uint home, home_cells;       // cells around this thread's own whose writes are not counted as remote
  uint far, far_writes;        // region of the last linear writes into another block's; writes there not yet told
};

// What a run asks for. A text compiled for a machine of one thread (a line in front of it says ALONE) knows most of it.
#ifdef ALONE
FUNC uint heap_flags(THREAD Worker* w) {
  return (w->flags & (PARAM_COUNT | PARAM_LIFT | PARAM_WEAK | PARAM_ALONE)) | PARAM_SINGLE;
}
FUNC bool task_is_cancelled(THREAD Worker* w) { (void)w; return false; }
FUNC bool task_may_fork(THREAD Worker* w) { (void)w; return false; }
#define TASK_PILED(w) 0u
#else
FUNC uint heap_flags(THREAD Worker* w) { return w->flags; }
FUNC bool task_is_cancelled(THREAD Worker* w) { return w->is_cancelled; }
FUNC bool task_may_fork(THREAD Worker* w) { return w->forking; }
#define TASK_PILED(w) (w)->pile_count  // nobody who may not fork has a pile
#endif

FUNC bool heap_single(THREAD Worker* w) { return (heap_flags(w) & PARAM_SINGLE) != 0u; }
FUNC bool heap_live(THREAD Worker* w) { return (heap_flags(w) & PARAM_LIVE) != 0u; }

// Read or write a word that tells others of plain writes before it. Under "pass" it needs no order: nobody acts on it
// in this pass.
FUNC uint heap_read_news(THREAD Worker* w, Half at) { return heap_live(w) ? atomic_read_acquire(at) : atomic_read(at); }
FUNC void heap_tell(THREAD Worker* w, Half at, uint word) {
  if (heap_live(w)) atomic_write_release(at, word);
  else atomic_write(at, word);
}

// Let the worker see the heap, through whoever watches it.
// The halves are a cast: Metal takes it that no two buffer arguments overlap, so the heap must not be bound twice.
FUNC void heap_bind(
    THREAD Worker* w, DEVICE ulong* heap, DEVICE ulong* log, DEVICE uchar* marks, DEVICE Atomic32* shadow, uint me, uint now) {
  DEVICE Atomic32* halves = (DEVICE Atomic32*)heap;
#ifdef WATCHED
  w->watch.heap = heap;
  w->watch.log = log;
  w->watch.chunk = 0;
  w->watch.marks = marks;
#ifdef WATCH_LOG
  w->watch.pages = log[3];
#endif
  w->watch.items = w->watch.chunks = w->watch.entry = 0u;
  w->watch.is_told = w->watch.is_lost = false;
  w->watch.shadow = shadow;
  w->watch.me = me;
  w->watch.epoch = now % 4095u + 1u;
  w->heap.at = heap;
  w->halves.at = halves;
  w->heap.watch = w->halves.watch = &w->watch;
#else
  w->heap = heap;
  w->halves = halves;
#endif
  (void)log; (void)marks; (void)shadow; (void)me; (void)now;
}

FUNC void heap_unbind(THREAD Worker* w) {
#ifdef WATCH_LOG
  if (w->watch.chunk) w->watch.chunk[1] = (ulong)w->watch.items;
#else
  (void)w;
#endif
}

// Tell who watches of an operation on a slot, and that the entry at an index of the frontier begins.
FUNC void heap_log_op(THREAD Worker* w, uint op, uint slot, uint side) {
#ifdef WATCHED
  watch_op(&w->watch, op, slot, side);
#else
  (void)w; (void)op; (void)slot; (void)side;
#endif
}

FUNC void heap_log_entry(THREAD Worker* w, uint index) {
#ifdef WATCHED
  watch_entry(&w->watch, index);
#else
  (void)w; (void)index;
#endif
}

FUNC void task_stop(THREAD Worker* w, uint outcome, uint why) {
  w->stop = outcome;
  w->why = why;
  w->steps = 1u;  // this step is the last
}

// What comes is left to the whole worker, if this is not it (near.h).
FUNC bool task_leaves(THREAD Worker* w) { (void)w; return false; }

// The parent of the innermost frame, for the frames that keep it in the first field.
FUNC Term frame_parent(THREAD Worker* w) { return w->heap[term_val(w->top)]; }

// ---- regions and owners

// The thread that owns a cell: the one whose slice of its block's region it lies in.
FUNC uint heap_owner(THREAD Worker* w, uint loc) {
  if (heap_single(w)) return 0u;
  const uint inside = loc & ((1u << w->region_shift) - 1u);
  return (w->owner[loc >> w->region_shift] << w->tpb_shift) + (inside >> w->slice_shift);
}

// Linear writes into other blocks' regions are counted here, and told once the region is another: all threads tell.
FUNC void heap_flush_remote(THREAD Worker* w) {
  if (w->far_writes != 0u) atomic_plus(w->remote + w->far, w->far_writes);
  w->far_writes = 0u;
}

// Writes into the regions around this thread's own that are its block's, too, need no second look, and none does where
// nobody counts.
CALL void heap_settle(THREAD Worker* w) {
  w->home = 0u;
  w->home_cells = 0xFFFFFFFFu;
  if ((heap_flags(w) & (PARAM_COUNT | PARAM_SINGLE)) != PARAM_COUNT) return;
  uint first = w->region, end = w->region + 1u;
  while (first > 0u && w->region - first < HOME_REACH && w->owner[first - 1u] == w->block) first -= 1u;
  while (end < w->regions && end - w->region < HOME_REACH && w->owner[end] == w->block) end += 1u;
  w->home = first << w->region_shift;
  w->home_cells = (end - first) << w->region_shift;
}

CALL void heap_count_remote(THREAD Worker* w, uint region) {
  if (region != w->far) heap_flush_remote(w);
  w->far = region;
  w->far_writes += 1u;
}

// Write a linear cell: one that only this task can reach.
FUNC void heap_put(THREAD Worker* w, uint loc, Term t) {
#ifndef ALONE
  if (loc - w->home >= w->home_cells) {
    const uint region = loc >> w->region_shift;
    if (w->owner[region] != w->block) heap_count_remote(w, region);
  }
#endif
  w->heap[loc] = t;
}

// Write a cell that this thread has just allocated.
FUNC void heap_new(THREAD Worker* w, uint loc, Term t) { w->heap[loc] = t; }

FUNC void heap_pair(THREAD Worker* w, uint loc, Term a, Term b) {
  w->heap[loc] = a;
  w->heap[loc + 1u] = b;
}

// ---- allocation

FUNC void heap_flush_used(THREAD Worker* w) {
  if (w->next != w->mark) atomic_plus(w->used + w->region, w->next - w->mark);
  w->mark = w->next;
}

CALL bool heap_next_slice(THREAD Worker* w) {
  const uint region = w->chain[w->region];
  if (region >= w->regions) return false;
  heap_flush_used(w);
  const uint lane = w->me & ((1u << w->tpb_shift) - 1u);
  w->region = region;
  w->next = (region << w->region_shift) + (lane << w->slice_shift);
  w->mark = w->next;
  w->end = w->next + (1u << w->slice_shift);
  if (w->next - w->home >= w->home_cells) heap_settle(w);
  return true;
}

// Is there room for nodes of `words` cells in all, none longer than `node`? If not, the entry is starved.
CALL bool heap_room_slow(THREAD Worker* w, uint words, uint node) {
  const uint slice = 1u << w->slice_shift;
  if (node > words) node = words;
  if (node <= slice) {
    uint left = w->end - w->next;  // what the current slice surely holds of them
    left = left >= node ? left - (node - 1u) : 0u;
    uint want = words > left ? words - left : 0u;
    uint region = w->region;
    const uint each = slice - node + 1u;
    while (want > 0u) {
      region = w->chain[region];
      if (region >= w->regions) break;
      want -= want < each ? want : each;
    }
    if (want == 0u) return true;
  }
  if (words > w->need) w->need = words;
  if (node > w->need_node) w->need_node = node;
  task_stop(w, OUT_STARVED, WHY_NONE);
  return false;
}

FUNC bool heap_room(THREAD Worker* w, uint words, uint node) {
  return words <= w->end - w->next || heap_room_slow(w, words, node);
}

// Allocate n adjacent cells; room was checked.
FUNC uint heap_alloc(THREAD Worker* w, uint n) {
  if (n > w->end - w->next) heap_next_slice(w);
  const uint loc = w->next;
  w->next += n;
  w->cells += n;
  return loc;
}

// Halves that say something only once they are old: link and stamp of a binder.
FUNC uint heap_low(THREAD Worker* w, uint cell) {
#if defined(NEAR_LOADS) && !defined(WATCHED)
  return (uint)w->heap[cell];
#else
  return atomic_read(w->halves + 2u * (ulong)cell);
#endif
}

FUNC uint heap_high(THREAD Worker* w, uint cell) {
#if defined(NEAR_LOADS) && !defined(WATCHED)
  if (!heap_live(w)) return (uint)(w->heap[cell] >> 32);
#endif
  return heap_read_news(w, w->halves + (2u * (ulong)cell + 1u));
}

// ---- binders: [body, later the substitution][next environment entry | stamp << 32][thread that filled it]

#define STAMP_ALWAYS 0x80000000u  // filled when it was made: whoever can reach it may read it

FUNC bool binder_filled(THREAD Worker* w, uint loc) {
  const uint stamp = heap_high(w, loc + 1u);
  if (stamp == 0u) return false;
  if ((stamp & STAMP_ALWAYS) != 0u || heap_single(w) || stamp < w->now || heap_live(w)) return true;
  return atomic_read(w->halves + (2u * (ulong)loc + 4u)) == w->me;
}

FUNC Term binder_value(THREAD Worker* w, uint loc) { return w->heap[loc] & ~SUB_BIT; }

// Fill the binder of a lambda that is being consumed.
FUNC void binder_fill(THREAD Worker* w, uint loc, Term t) {
  heap_put(w, loc, t | SUB_BIT);
  if (!heap_single(w)) atomic_write(w->halves + (2u * (ulong)loc + 4u), w->me);
  heap_tell(w, w->halves + (2u * (ulong)loc + 3u), w->now);
  w->fills += 1u;
}

// Lay out the binder of a new lambda: nobody has filled it.
FUNC void binder_init(THREAD Worker* w, uint loc, Term body, uint env) {
  heap_pair(w, loc, body, (Term)env);
  if (!heap_single(w)) heap_new(w, loc + 2u, (Term)0xFFFFFFFFu);
}

FUNC uint binder_new(THREAD Worker* w, Term body, uint env) {
  const uint loc = heap_alloc(w, w->lam_cells);
  binder_init(w, loc, body, env);
  return loc;
}

// Turn two cells into an environment entry that holds t.
FUNC void binder_make_filled(THREAD Worker* w, uint loc, Term t, uint env) {
  heap_put(w, loc, t | SUB_BIT);
  heap_put(w, loc + 1u, (Term)env | ((ulong)STAMP_ALWAYS << 32));
}

FUNC uint env_entry(THREAD Worker* w, uint env, uint index) {
  for (; index > 0u; index--) env = heap_low(w, env + 1u);
  return env;
}

// ---- book

// Tags of static terms that are whole in their word, as a set.
#define BOOK_BIT(tag) ((ulong)1 << (tag))
#define BOOK_ATOMS \
  (BOOK_BIT(NUM) | BOOK_BIT(ERA) | BOOK_BIT(NAM) | BOOK_BIT(ANY) | BOOK_BIT(C00) | BOOK_BIT(REF))

// The term of a static cell under an environment: variables are looked up at once, atoms are themselves, the rest
// becomes an unboxed closure.
NEAR_CALL Term book_term(THREAD Worker* w, uint cell, uint env) {
  const Term t = w->book[cell];
  const uint tag = term_tag(t);
  if (((BOOK_ATOMS >> tag) & (ulong)1) != (ulong)0) return t;
  if (tag - BJV > BJ1 - BJV) return term_new(ALO, cell, env);
  const uint loc = env_entry(w, env, term_val(t));
  if (tag == BJV) return binder_filled(w, loc) ? binder_value(w, loc) : term_new(VAR, 0u, loc);
  if (heap_single(w)) {  // a number that lies in the slot is as good as the end of it
    const Term held = w->heap[loc];
    if (term_tag(held) == NUM && (held & SUB_BIT) != (ulong)0) return held & ~SUB_BIT;
  }
  return term_new(tag == BJ0 ? DP0 : DP1, term_ext(t), loc);
}


FUNC Term hand_static(THREAD Worker* w) { return w->book[term_ext(w->hand)]; }

// Tag of the term in hand, seen through a closure.
FUNC uint hand_tag(THREAD Worker* w) {
  const uint tag = term_tag(w->hand);
  return tag == ALO ? term_tag(hand_static(w)) : tag;
}

// The node behind a term that may be a closure: give it cells. Room for its arity or lam_cells was checked.
CALL Term heap_node(THREAD Worker* w, Term t) {
  if (term_tag(t) != ALO) return t;
  const Term s = w->book[term_ext(t)];
  const uint env = term_val(t), from = term_val(s), tag = term_tag(s);
  if (tag == LAM) {
    const uint loc = binder_new(w, (Term)0, env);
    const bool era = (term_ext(s) & LAM_ERA) != 0u;
    heap_new(w, loc, book_term(w, from, era ? env : loc));
    return term_new(LAM, term_ext(s), loc);
  }
  const uint n = term_arity(s);
  const uint loc = heap_alloc(w, n);
  for (uint i = 0u; i < n; i++) heap_new(w, loc + i, book_term(w, from + i, env));
  return term_new(tag, term_ext(s), loc);
}

// Cells that heap_node will take.
FUNC uint heap_node_cells(THREAD Worker* w, Term t) {
  if (term_tag(t) != ALO) return 0u;
  const Term s = w->book[term_ext(t)];
  return term_tag(s) == LAM ? w->lam_cells : term_arity(s);
}

// Give the term in hand cells of its own, or starve.
FUNC bool hand_node(THREAD Worker* w) {
  if (term_tag(w->hand) != ALO) return true;
  const uint n = heap_node_cells(w, w->hand);
  if (!heap_room(w, n, n)) return false;
  w->hand = heap_node(w, w->hand);
  return true;
}
