// Between two passes: build the next frontier from the threads' lists, in the fixed order of the protocol.
//
// The segment of thread t holds, in this order: entries of t not run; its suspended tasks; hops and wakes sent to t,
// by sender, then emission; fresh entries dealt to t; polls of t. Fresh entries are numbered over all threads.
//
// Invariants: one thread runs this; nothing is changed before every buffer is known to be large enough.

struct Join {
  const DEVICE Params* params;
  DEVICE ThreadState* states;
  const DEVICE ulong* frontier;
  DEVICE ulong* next;
  DEVICE Record* records;
  DEVICE ulong* items;
  const DEVICE Event* events;
  DEVICE uint* stack;      // free records
  DEVICE uint* cursor;     // per thread: next place in its segment; behind them two turns a block
  const DEVICE uint* owner;
  DEVICE Summary* sum;
  DEVICE Atomic32* halves;    // the heap, for the marks of stuck slots
  const DEVICE uint* inject;  // number, then cells that the host wants reduced: fresh entries behind all others
  const DEVICE ulong* log;    // where the join's own writes to the heap are told of (watch.h)
  DEVICE uchar* marks;
  uint idle;                  // threads that have none but fresh entries, if those go there first
};

FUNC void join_wrote(THREAD Join* j, uint cell) {
#ifdef WATCH_LOG
  watch_wrote(j->marks, j->log[3], cell);
#else
  (void)j; (void)cell;
#endif
}

FUNC uint join_owner(THREAD Join* j, uint loc) {
  const uint inside = loc & ((1u << j->params->region_shift) - 1u);
  return (j->owner[loc >> j->params->region_shift] << j->params->tpb_shift) + (inside >> j->params->slice_shift);
}

// The next thread of a block: its tasks are dealt in turn where any of its threads may take a slot.
FUNC uint join_turn(THREAD Join* j, uint block, uint kind) {
  const uint blocks = j->params->threads >> j->params->tpb_shift;
  const uint n = j->cursor[j->params->threads + kind * blocks + block]++;
  return (block << j->params->tpb_shift) + (n & ((1u << j->params->tpb_shift) - 1u));
}

FUNC void join_reset_turns(THREAD Join* j) {
  const uint blocks = j->params->threads >> j->params->tpb_shift;
  for (uint i = 0u; i < 2u * blocks; i++) j->cursor[j->params->threads + i] = 0u;
}

// The list of idle threads, behind what counts turns.
FUNC DEVICE uint* join_idle(THREAD Join* j) {
  return j->cursor + j->params->threads + 2u * (j->params->threads >> j->params->tpb_shift);
}

// Where fresh entries go that are dealt whatever their cell.
FUNC uint join_dealt_thread(THREAD Join* j, uint number) {
  return number < j->idle ? join_idle(j)[number] : (number - j->idle) % j->params->threads;
}

FUNC uint join_fresh_thread(THREAD Join* j, uint number, uint loc) {
  if (j->params->shard != SHARD_ADDRESS) return join_dealt_thread(j, number);
  const uint owner = join_owner(j, loc);
  return (j->params->flags & PARAM_BLOCK) != 0u ? join_turn(j, owner >> j->params->tpb_shift, 1u) : owner;
}

// A stuck slot's term is visited once, by the end that comes first in the order of the lists.
FUNC ulong join_admit(THREAD Join* j, ulong item) {
  const ulong slot_bit = (ulong)ITEM_SLOT << 32, admitted = (ulong)ITEM_ADMITTED << 32;
  if ((uint)(item >> 60) != ITEM_FRESH || (item & slot_bit) == (ulong)0 || (item & admitted) != (ulong)0) return item;
  DEVICE Atomic32* claim = j->halves + 2u * (ulong)(uint)item + 3u;
  const uint bits = atomic_read(claim);
  atomic_write(claim, bits | CLAIM_VISITED);
  join_wrote(j, (uint)item + 1u);
  item |= admitted;
  return (bits & CLAIM_VISITED) != 0u ? item & ~((ulong)0xFF << 32) : item;
}

// The low half of a cell: where its term points to.
FUNC uint join_val(THREAD Join* j, uint cell) { return atomic_read(j->halves + 2u * (ulong)cell); }

// Forks meet here, where no task is at work: what is done, or dropped, is told in turn 0, then who waits is looked after in
// turn 1. An item turns into what is left to do, so that nothing happens twice when the join has to begin anew.
FUNC void join_fork(THREAD Join* j, uint at, uint turn) {
  const ulong item = j->items[at];
  const uint kind = (uint)(item >> 60), low = (uint)item;
  if (turn == 0u ? kind != ITEM_JOINED && kind != ITEM_DROP : kind != ITEM_AWAIT) return;
  const uint cell = turn == 0u ? low : join_val(j, term_val(j->records[low].top) + 1u);
  DEVICE Atomic32* waiter = j->halves + 2u * (ulong)cell + 2u;
  DEVICE Atomic32* state = j->halves + 2u * (ulong)cell + 3u;
  uint goes_on = 0u;  // record, plus one
  if (kind == ITEM_JOINED) {
    atomic_or(state, JOIN_DONE);
    goes_on = atomic_read(waiter);
  } else if (kind == ITEM_DROP) {
    atomic_or(state, JOIN_CANCELLED);
  } else if ((atomic_read(state) & JOIN_DONE) != 0u) {
    goes_on = low + 1u;
  } else {
    atomic_write(waiter, low + 1u);
    if (((uint)(item >> 32) & 1u) != 0u) atomic_or(state, JOIN_CANCELLED);
  }
  join_wrote(j, cell + 1u);
  j->items[at] = goes_on == 0u ? (ulong)0
                               : ((ulong)ITEM_UNPARK << 60) | ((ulong)j->records[goes_on - 1u].home << 32) |
                                     (ulong)(goes_on - 1u);
}

FUNC void join_forks(THREAD Join* j) {
  for (uint turn = 0u; turn < 2u; turn++) {
    for (uint t = 0u; t < j->params->threads; t++) {
      const DEVICE ThreadState* s = j->states + t;
      for (uint i = 0u; i < s->out_count && s->count > 0u; i++) join_fork(j, s->out + i, turn);
    }
  }
}

// What an item of fresh entries says of their records.
FUNC uint join_fresh_flags(uint high) {
  return ((high & ITEM_SLOT) != 0u ? RECORD_SLOT : 0u) | ((high & ITEM_FORK) != 0u ? RECORD_FORK : 0u) |
         (((high >> ITEM_RAMP_SHIFT) & 15u) << RECORD_RAMP_SHIFT);
}

FUNC void join_place(THREAD Join* j, uint who, uint origin, uint record) {
  j->next[j->cursor[who]++] = ((ulong)origin << 60) | ((ulong)who << 32) | (ulong)record;
}

// Every thread with entries ran at least one of them, or the dispatch was lost on its way.
FUNC uint join_lost(THREAD Join* j) {
  uint lost = 0u;
  for (uint t = 0u; t < j->params->threads; t++) {
    const DEVICE ThreadState* s = j->states + t;
    if (s->count > 0u && (s->done == 0u || s->done > s->count)) lost += 1u;
  }
  return lost;
}

// Who gets a fresh entry, unless all others have to be counted first.
FUNC void join_count_fresh(THREAD Join* j, uint number, uint loc) {
  if (j->params->shard != SHARD_IDLE) j->cursor[join_fresh_thread(j, number, loc)] += 1u;
}

// All but fresh entries are counted: list the threads that have none, then count those.
FUNC void join_count_idle(THREAD Join* j, uint fresh) {
  DEVICE uint* idle = join_idle(j);
  for (uint t = 0u; t < j->params->threads; t++) {
    if (j->cursor[t] == 0u) idle[j->idle++] = t;
  }
  for (uint number = 0u; number < fresh; number++) j->cursor[join_dealt_thread(j, number)] += 1u;
}

// Count the entries that each thread gets, and what else the host wants to know. Changes nothing but cursor and sum.
FUNC void join_count(THREAD Join* j, THREAD uint* freed, THREAD uint* fresh) {
  DEVICE Summary* sum = j->sum;
  ulong interactions = (ulong)0;
  uint ran = 0u, parked = sum->parked, starved = 0u, longest = 0u, stopped = 0u, opens = 0u, fills = 0u, deferred = 0u;
  uint number = 0u, done = 0u;
  const bool by_claim = (j->params->flags & PARAM_CLAIM) != 0u;
  const bool parks = (j->params->flags & (PARAM_SINGLE | PARAM_ATOMIC | PARAM_BLOCK)) == 0u;
  join_reset_turns(j);
  if ((j->params->flags & PARAM_FORK) != 0u) join_forks(j);
  for (uint t = 0u; t < j->params->threads; t++) {
    const DEVICE ThreadState* s = j->states + t;
    if (s->count == 0u) continue;
    interactions += s->counted_lo;
    ran += s->done;
    opens += s->opens;
    fills += s->fills;
    if (s->need > 0u) starved += 1u;
    if (s->longest > longest) longest = s->longest;
    for (uint i = 0u; i < s->done; i++) {
      const uint codes = j->events[s->first + i].codes;
      const uint out = codes & 0xFFu, origin = codes >> 24;
      if (by_claim && (origin == FROM_POLL || origin == FROM_WAKE) && out != OUT_PARKED && out != OUT_STALE) parked -= 1u;
      if (out == OUT_DONE) done += by_claim ? 0u : 1u;
      else if (out == OUT_DEFERRED) {
        deferred += 1u;
        if (by_claim) parked += 1u;
      }
      else if ((out == OUT_CONTENDED && parks) || out == OUT_FORKED) parked += 1u;
      else if ((out == OUT_ERROR || out == OUT_ABORTED) && stopped == 0u) stopped = s->first + i + 1u;
    }
    j->cursor[t] += s->count - s->done;
    for (uint i = 0u; i < s->out_count; i++) {
      const ulong item = join_admit(j, j->items[s->out + i]);
      const uint high = (uint)(item >> 32) & 0x0FFFFFFFu;
      j->items[s->out + i] = item;
      switch ((uint)(item >> 60)) {
        case ITEM_FRESH: {
          const uint n = high & 0xFFu;
          for (uint k = 0u; k < n; k++) join_count_fresh(j, number++, (uint)item + k);
          break;
        }
        case ITEM_NONE: break;
        case ITEM_UNPARK: parked -= 1u; j->cursor[high] += 1u; break;
        case ITEM_WAKE: parked -= by_claim ? 0u : 1u; j->cursor[high] += 1u; break;
        case ITEM_HOP_BLOCK: j->cursor[join_turn(j, high, 0u)] += 1u; break;
        case ITEM_DEAL: join_count_fresh(j, number++, j->records[(uint)item].root); break;
        default: j->cursor[high] += 1u; break;
      }
    }
  }
  for (uint i = 1u; i <= j->inject[0]; i++) join_count_fresh(j, number++, j->inject[i]);
  if (j->params->shard == SHARD_IDLE) join_count_idle(j, number);
  sum->interactions_lo = (uint)interactions;
  sum->interactions_hi = (uint)(interactions >> 32);
  sum->ran = ran;
  sum->starved = starved;
  sum->longest = longest;
  sum->stopped = stopped;
  sum->opens = opens;
  sum->fills = fills;
  sum->deferred = deferred;
  sum->frontier = parked;  // for the moment: committed by the caller
  *freed = done;
  *fresh = number;
}

FUNC uint join_take_record(THREAD Join* j) {
  DEVICE Summary* sum = j->sum;
  if (sum->free > 0u) return j->stack[--sum->free];
  return sum->records++;
}

FUNC void join_place_fresh(THREAD Join* j, uint number, uint loc, uint flags) {
  const uint record = join_take_record(j);
  j->records[record].root = loc;
  j->records[record].flags = RECORD_NEW | flags;
  j->records[record].place = 0u;
  j->records[record].home = 0u;
  join_place(j, join_fresh_thread(j, number, loc), FROM_FRESH, record);
}

// Lay out the segments of the next pass from the counts in cursor.
FUNC void join_segments(THREAD Join* j) {
  uint first = 0u;
  for (uint t = 0u; t < j->params->threads; t++) {
    const uint n = j->cursor[t];
    j->cursor[t] = first;
    first += n;
  }
}

// An entry that polled or was woken has run: the record has one name less. What is done and named no more is free.
FUNC bool join_retires(THREAD Join* j, uint record, uint codes) {
  DEVICE Record* r = j->records + record;
  const uint out = codes & 0xFFu, origin = codes >> 24;
  const bool by_claim = (j->params->flags & PARAM_CLAIM) != 0u;
  if (by_claim && (origin == FROM_POLL || origin == FROM_WAKE)) r->flags -= RECORD_NAMED;
  if (out == OUT_DONE) r->flags |= RECORD_DEAD;
  else if (out != OUT_STALE) return false;
  return (r->flags & RECORD_DEAD) != 0u && (!by_claim || (r->flags & RECORD_NAMED_MASK) == 0u);
}

FUNC void join_fill(THREAD Join* j) {
  const uint threads = j->params->threads;
  const bool by_claim = (j->params->flags & PARAM_CLAIM) != 0u;
  uint number = 0u;
  join_reset_turns(j);
  for (uint t = 0u; t < threads; t++) {
    const DEVICE ThreadState* s = j->states + t;
    for (uint i = 0u; i < s->done && s->count > 0u; i++) {
      const uint record = (uint)j->frontier[s->first + i];
      if (join_retires(j, record, j->events[s->first + i].codes)) j->stack[j->sum->free++] = record;
    }
    for (uint i = s->done; i < s->count; i++) {
      const ulong entry = j->frontier[s->first + i];
      join_place(j, t, (uint)(entry >> 60), (uint)entry);
    }
  }
  for (uint kind = ITEM_SUSPEND; kind <= ITEM_POLL; kind++) {  // hops and wakes share a turn: they are in one order
    if (kind == ITEM_WAKE) continue;
    for (uint t = 0u; t < threads; t++) {
      const DEVICE ThreadState* s = j->states + t;
      if (s->count == 0u) continue;
      for (uint i = 0u; i < s->out_count; i++) {
        const ulong item = j->items[s->out + i];
        const uint is = (uint)(item >> 60), high = (uint)(item >> 32) & 0x0FFFFFFFu;
        const bool is_hop = kind == ITEM_HOP && (is == ITEM_WAKE || is == ITEM_HOP_BLOCK || is == ITEM_UNPARK);
        if (is != kind && !is_hop && !(kind == ITEM_FRESH && is == ITEM_DEAL)) continue;
        if (by_claim && (is == ITEM_WAKE || is == ITEM_POLL)) j->records[(uint)item].flags += RECORD_NAMED;
        switch (is) {
          case ITEM_SUSPEND: join_place(j, high, FROM_RESUME, (uint)item); break;
          case ITEM_HOP:     join_place(j, high, FROM_HOP, (uint)item); break;
          case ITEM_HOP_BLOCK: join_place(j, join_turn(j, high, 0u), FROM_HOP, (uint)item); break;
          case ITEM_WAKE:    join_place(j, high, FROM_WAKE, (uint)item); break;
          case ITEM_POLL:    join_place(j, high, FROM_POLL, (uint)item); break;
          case ITEM_UNPARK:  join_place(j, high, FROM_JOIN, (uint)item); break;
          case ITEM_DEAL:
            join_place(j, join_fresh_thread(j, number++, j->records[(uint)item].root), FROM_RESUME, (uint)item);
            break;
          default: {
            const uint n = high & 0xFFu;
            for (uint k = 0u; k < n; k++) join_place_fresh(j, number++, (uint)item + k, join_fresh_flags(high));
            break;
          }
        }
      }
    }
    if (kind == ITEM_FRESH) {
      for (uint i = 1u; i <= j->inject[0]; i++) join_place_fresh(j, number++, j->inject[i], 0u);
    }
  }
}

// Lay out a thread's part of the next pass: its segment, and its list. A done that stays poisoned tells of a lost dispatch.
FUNC void join_state(DEVICE ThreadState* s, uint first, uint count, uint out, uint slack) {
  s->first = first;
  s->count = count;
  s->done = SUM_POISON;
  s->out = out;
  s->out_count = 0u;
  s->out_max = count > 0u ? count + slack : 0u;
}

// After join_fill the cursor of a thread stands behind its segment.
FUNC void join_commit(THREAD Join* j) {
  uint first = 0u, out = 0u;
  for (uint t = 0u; t < j->params->threads; t++) {
    DEVICE ThreadState* s = j->states + t;
    join_state(s, first, j->cursor[t] - first, out, j->params->slack);
    first += s->count;
    out += s->out_max;
    j->cursor[t] = 0u;
  }
  j->sum->frontier = first;
}

ENTRY(join_frontier)(
    BUFFER(const Params, params, 0), BUFFER(ThreadState, states, 1), BUFFER(const ulong, frontier, 2),
    BUFFER(ulong, next, 3), BUFFER(Record, records, 4), BUFFER(ulong, items, 5), BUFFER(const Event, events, 6),
    BUFFER(uint, stack, 7), BUFFER(uint, cursor, 8), BUFFER(const uint, owner, 9), BUFFER(Summary, sum, 10),
    BUFFER(uint, rules, 11), BUFFER(ulong, totals, 12), BUFFER(const uint, sizes, 13),
    BUFFER(const uint, inject, 14), BUFFER(Atomic32, halves, 15), BUFFER(const ulong, log, 16), BUFFER(uchar, marks, 17), GRID_INDEX) {
  GRID_INDEX_BODY
  if (index >= 1u) return;
  // sizes: entries that next holds, items, records and stack
  Join join = {params, states, frontier, next, records, items, events, stack, cursor, owner, sum, halves, inject, log, marks, 0u};
  THREAD Join* j = &join;
  const uint threads = params->threads;
  for (uint t = 0u; t < threads; t++) cursor[t] = 0u;
  uint freed = 0u, fresh = 0u;
  const uint lost = join_lost(j);
  if (lost > 0u) {
    sum->ran = lost;
    sum->status = SUM_LOST;
    return;
  }
  join_count(j, &freed, &fresh);
  const uint parked = sum->frontier;
  uint total = 0u, lists = 0u;
  for (uint t = 0u; t < threads; t++) {
    total += cursor[t];
    lists += cursor[t] > 0u ? cursor[t] + params->slack : 0u;
  }
  const uint spare = sum->free + freed;
  const uint records_need = sum->records + (fresh > spare ? fresh - spare : 0u);
  sum->frontier = total;
  if (total > sizes[0] || lists > sizes[1] || records_need > sizes[2]) {
    sum->items_need = lists;
    sum->records_need = records_need;
    sum->status = SUM_GROW;
    return;
  }
  if ((params->flags & PARAM_COUNT) != 0u) {
    for (uint r = 0u; r < params->rules; r++) totals[r] = (ulong)0;
    for (uint t = 0u; t < threads; t++) {
      if (states[t].count == 0u || states[t].counted_lo == 0u) continue;
      DEVICE uint* mine = rules + (ulong)t * params->rules;
      for (uint r = 0u; r < params->rules; r++) {
        totals[r] += mine[r];
        mine[r] = 0u;
      }
    }
  }
  join_segments(j);
  join_fill(j);
  join_commit(j);
  sum->parked = parked;
  sum->status = SUM_JOINED;
}
