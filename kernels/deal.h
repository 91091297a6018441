// The join of join.h for devices with many threads: the same next frontier, in steps that each run over the grid.
//
// One entry point, one dispatch a step (DEAL_*), in order. What join.h counts one after the other is counted here by
// thread, summed over threads (a scan: parts of 32, parts of 64 of these, the top), and placed by number. Hops and wakes
// reach a segment in any order and are sorted there by what join.h would have met first.
//
// Invariants: same frontier, records and free stack as join.h leaves, word for word, where the protocol has a fixed order;
// nothing but items of forks and stuck slots is changed before every buffer is known to be large enough, and those turn
// into what is left to do.

#define DEAL_CLEAR 0u    // over threads
#define DEAL_FORKS 1u    // over threads: what is done, or dropped
#define DEAL_AWAIT 2u    // over threads: who waits for it
#define DEAL_ADMIT 3u    // alone: visits of stuck slots, in the order of the lists
#define DEAL_COUNT 4u    // over threads
#define DEAL_SIZES 5u    // over threads: lengths of segments and lists
#define DEAL_CHECK 6u    // alone: is there room?
#define DEAL_RETIRE 7u   // over threads: records that are free now
#define DEAL_PUSH 8u     // over threads
#define DEAL_PLACE 9u    // over threads
#define DEAL_SORT 10u    // over threads
#define DEAL_COMMIT 11u  // over threads
#define DEAL_FINISH 12u  // alone
#define DEAL_RULES 13u   // over parts
#define DEAL_SCAN 16u    // and up: 5 steps for each of 4 scans

FUNC void deal_clear(THREAD Deal* d, DEVICE Atomic32* totals, uint t) {
  for (uint i = 0u; i < D_WORDS; i++) deal_set(d, t, i, 0u);
  if (t > 0u) return;
  for (uint i = 0u; i < ALL_WORDS; i++) atomic_write(d->all + i, 0u);
  for (uint r = 0u; r < 2u * d->join->params->rules; r++) atomic_write(totals + r, 0u);
}

FUNC void deal_forks(THREAD Deal* d, uint t, uint turn) {
  THREAD Join* j = d->join;
  const DEVICE ThreadState* s = j->states + t;
  if (s->count == 0u) return;
  if (turn == 0u && (s->done == 0u || s->done > s->count)) {
    atomic_plus(d->all + ALL_LOST, 1u);
    return;
  }
  for (uint i = 0u; i < s->out_count; i++) {
    const uint high = (uint)(j->items[s->out + i] >> 32);
    if (turn == 0u && (high >> 28) == ITEM_FRESH && (high & ITEM_SLOT) != 0u) atomic_plus(d->all + ALL_SLOTS, 1u);
    join_fork(j, s->out + i, turn);
  }
}

FUNC void deal_admit(THREAD Deal* d) {
  THREAD Join* j = d->join;
  if (deal_all(d, ALL_SLOTS) == 0u) return;
  for (uint t = 0u; t < j->params->threads; t++) {
    const DEVICE ThreadState* s = j->states + t;
    if (s->count == 0u) continue;
    for (uint i = 0u; i < s->out_count; i++) {
      j->items[s->out + i] = join_admit(j, j->items[s->out + i]);
    }
  }
}

// The thread that gets fresh entry `number`.
FUNC uint deal_fresh_thread(THREAD Deal* d, uint number, uint loc) {
  THREAD Join* j = d->join;
  if (j->params->shard != SHARD_ADDRESS) return join_dealt_thread(j, number);
  const uint owner = join_owner(j, loc), lane = (1u << j->params->tpb_shift) - 1u;
  return (j->params->flags & PARAM_BLOCK) != 0u ? (owner & ~lane) | (loc & lane) : owner;
}

FUNC void deal_count_address(THREAD Deal* d, uint number, uint loc) {
  if (d->join->params->shard == SHARD_ADDRESS) atomic_plus(deal_word(d, deal_fresh_thread(d, number, loc), D_FRESH), 1u);
}

// What a thread leaves: told to the threads that get it, and to all.
FUNC void deal_count(THREAD Deal* d, uint t) {
  THREAD Join* j = d->join;
  const DEVICE ThreadState* s = j->states + t;
  const bool by_claim = (j->params->flags & PARAM_CLAIM) != 0u;
  const bool parks = (j->params->flags & (PARAM_SINGLE | PARAM_ATOMIC | PARAM_BLOCK)) == 0u;
  if (t == 0u) {
    for (uint i = 1u; i <= j->inject[0]; i++) deal_count_address(d, i, j->inject[i]);
  }
  if (s->count == 0u) return;
  uint parked = 0u, done = 0u, deferred = 0u, made = 0u, takes = 0u, kept = 0u, polls = 0u;
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
    else if (out == OUT_ERROR || out == OUT_ABORTED) atomic_top(d->all + ALL_STOPPED, 0xFFFFFFFFu - (s->first + i));
  }
  for (uint i = 0u; i < s->out_count; i++) {
    const ulong item = j->items[s->out + i];
    const uint high = (uint)(item >> 32) & 0x0FFFFFFFu;
    switch ((uint)(item >> 60)) {
      case ITEM_NONE: break;
      case ITEM_FRESH: {
        const uint n = high & 0xFFu;
        for (uint k = 0u; k < n; k++) deal_count_address(d, made + k, (uint)item + k);
        made += n;
        takes += n;
        break;
      }
      case ITEM_DEAL: deal_count_address(d, made, j->records[(uint)item].root); made += 1u; break;
      case ITEM_SUSPEND: kept += 1u; break;
      case ITEM_POLL: polls += 1u; break;
      case ITEM_UNPARK: parked -= 1u; atomic_plus(deal_word(d, high, D_HOPS), 1u); break;
      case ITEM_WAKE: parked -= by_claim ? 0u : 1u; atomic_plus(deal_word(d, high, D_HOPS), 1u); break;
      case ITEM_HOP_BLOCK: {  // dealt inside the block, by who sends it
        const uint who = (high << j->params->tpb_shift) | ((t + i) & ((1u << j->params->tpb_shift) - 1u));
        j->items[s->out + i] = ((ulong)ITEM_HOP << 60) | ((ulong)who << 32) | (ulong)(uint)item;
        atomic_plus(deal_word(d, who, D_HOPS), 1u);
        break;
      }
      default: atomic_plus(deal_word(d, high, D_HOPS), 1u); break;
    }
  }
  deal_set(d, t, D_UNRUN, s->count - s->done);
  deal_set(d, t, D_KEPT, kept);
  deal_set(d, t, D_POLLS, polls);
  deal_set(d, t, D_MADE, made);
  deal_set(d, t, D_TAKES, takes);
  if (atomic_next(d->all + ALL_LO, s->counted_lo) + s->counted_lo < s->counted_lo) atomic_plus(d->all + ALL_HI, 1u);
  atomic_plus(d->all + ALL_RAN, s->done);
  if (s->need > 0u) atomic_plus(d->all + ALL_STARVED, 1u);
  if (s->opens > 0u) atomic_plus(d->all + ALL_OPENS, s->opens);
  if (s->fills > 0u) atomic_plus(d->all + ALL_FILLS, s->fills);
  if (parked != 0u) atomic_plus(d->all + ALL_PARKED, parked);
  if (done > 0u) atomic_plus(d->all + ALL_DONE, done);
  if (deferred > 0u) atomic_plus(d->all + ALL_DEFERRED, deferred);
  atomic_top(d->all + ALL_LONGEST, s->longest);
}

FUNC void deal_sizes(THREAD Deal* d, uint t) {
  THREAD Join* j = d->join;
  if (j->params->shard != SHARD_ADDRESS) {
    const uint threads = j->params->threads, made = deal_all(d, ALL_TOTAL) + j->inject[0];
    const uint first = j->idle > 0u && deal_get(d, t, D_IDLE) != 0u && deal_get(d, t, D_BASE + 6u) < made ? 1u : 0u;
    const uint rest = made > j->idle ? made - j->idle : 0u;
    deal_set(d, t, D_FRESH, first + rest / threads + (t < rest % threads ? 1u : 0u));
  }
  const uint count = deal_get(d, t, D_UNRUN) + deal_get(d, t, D_KEPT) + deal_get(d, t, D_HOPS) + deal_get(d, t, D_FRESH) +
                     deal_get(d, t, D_POLLS);
  deal_set(d, t, D_COUNT, count);
  deal_set(d, t, D_LIST, count > 0u ? count + j->params->slack : 0u);
}

FUNC void deal_check(THREAD Deal* d, const DEVICE uint* sizes) {
  DEVICE Summary* sum = d->join->sum;
  const uint lost = deal_all(d, ALL_LOST);
  if (lost > 0u) {
    sum->ran = lost;
    sum->status = SUM_LOST;
    return;
  }
  const uint takes = deal_all(d, ALL_TOTAL + 1u) + d->join->inject[0], spare = sum->free + deal_all(d, ALL_DONE);
  const uint total = deal_all(d, ALL_TOTAL + 2u), lists = deal_all(d, ALL_TOTAL + 3u);
  const uint records_need = sum->records + (takes > spare ? takes - spare : 0u);
  const uint stopped = deal_all(d, ALL_STOPPED);
  sum->frontier = total;
  sum->items_need = lists;
  sum->records_need = records_need;
  sum->interactions_lo = deal_all(d, ALL_LO);
  sum->interactions_hi = deal_all(d, ALL_HI);
  sum->ran = deal_all(d, ALL_RAN);
  sum->starved = deal_all(d, ALL_STARVED);
  sum->longest = deal_all(d, ALL_LONGEST);
  sum->stopped = stopped == 0u ? 0u : 0xFFFFFFFFu - stopped + 1u;
  sum->opens = deal_all(d, ALL_OPENS);
  sum->fills = deal_all(d, ALL_FILLS);
  sum->deferred = deal_all(d, ALL_DEFERRED);
  sum->status = total > sizes[0] || lists > sizes[1] || records_need > sizes[2] ? SUM_GROW : SUM_DEALT;
}

FUNC void deal_retire(THREAD Deal* d, uint t) {
  THREAD Join* j = d->join;
  const DEVICE ThreadState* s = j->states + t;
  if (s->count == 0u) return;
  uint freed = 0u;
  for (uint i = 0u; i < s->done; i++) {
    const uint record = (uint)j->frontier[s->first + i];
    if (!join_retires(j, record, j->events[s->first + i].codes)) continue;
    d->keys[s->first + freed] = record;  // not needed for anything else yet
    freed += 1u;
  }
  deal_set(d, t, D_FREED, freed);
}

FUNC void deal_push(THREAD Deal* d, uint t) {
  THREAD Join* j = d->join;
  const DEVICE ThreadState* s = j->states + t;
  if (s->count == 0u) return;
  const uint at = j->sum->free + deal_get(d, t, D_BASE + 4u), freed = deal_get(d, t, D_FREED);
  for (uint i = 0u; i < freed; i++) j->stack[at + i] = d->keys[s->first + i];
}

FUNC void deal_put(THREAD Deal* d, uint at, uint who, uint origin, uint record, uint key) {
  d->join->next[at] = ((ulong)origin << 60) | ((ulong)who << 32) | (ulong)record;
  d->keys[at] = key;
}

// An entry for another thread's segment, in the order of arrival; deal_sort puts it right.
FUNC void deal_send(THREAD Deal* d, uint who, uint origin, uint record, uint key) {
  const uint before = deal_get(d, who, D_BASE + 2u) + deal_get(d, who, D_UNRUN) + deal_get(d, who, D_KEPT);
  deal_put(d, before + atomic_next(deal_word(d, who, D_HOP_NEXT), 1u), who, origin, record, key);
}

FUNC void deal_fresh(THREAD Deal* d, uint number, uint loc, uint origin, uint record) {
  THREAD Join* j = d->join;
  const uint who = deal_fresh_thread(d, number, loc);
  const uint before = deal_get(d, who, D_BASE + 2u) + deal_get(d, who, D_UNRUN) + deal_get(d, who, D_KEPT) +
                      deal_get(d, who, D_HOPS);
  uint rank = 0u;
  if (j->params->shard == SHARD_ADDRESS) rank = atomic_next(deal_word(d, who, D_FRESH_NEXT), 1u);
  else if (number >= j->idle) rank = (number - j->idle) / j->params->threads + (j->idle > 0u ? deal_get(d, who, D_IDLE) : 0u);
  deal_put(d, before + rank, who, origin, record, number);
}

// A fresh task: the n-th takes the n-th record from the top of the free ones, then those never used.
FUNC void deal_new(THREAD Deal* d, uint number, uint take, uint loc, uint flags) {
  THREAD Join* j = d->join;
  const uint free = j->sum->free + deal_all(d, ALL_TOTAL + 4u);
  const uint record = take < free ? j->stack[free - 1u - take] : j->sum->records + (take - free);
  j->records[record].root = loc;
  j->records[record].flags = RECORD_NEW | flags;
  j->records[record].place = 0u;
  j->records[record].home = 0u;
  deal_fresh(d, number, loc, FROM_FRESH, record);
}

FUNC void deal_place(THREAD Deal* d, uint t) {
  THREAD Join* j = d->join;
  const DEVICE ThreadState* s = j->states + t;
  const bool by_claim = (j->params->flags & PARAM_CLAIM) != 0u;
  const uint made = deal_all(d, ALL_TOTAL), takes = deal_all(d, ALL_TOTAL + 1u);
  for (uint i = t; i < j->inject[0]; i += j->params->threads) deal_new(d, made + i, takes + i, j->inject[1u + i], 0u);
  if (s->count == 0u) return;
  uint at = deal_get(d, t, D_BASE + 2u), number = deal_get(d, t, D_BASE), take = deal_get(d, t, D_BASE + 1u);
  for (uint i = s->done; i < s->count; i++) {
    const ulong entry = j->frontier[s->first + i];
    deal_put(d, at++, t, (uint)(entry >> 60), (uint)entry, 0u);
  }
  uint poll_at = at + deal_get(d, t, D_KEPT) + deal_get(d, t, D_HOPS) + deal_get(d, t, D_FRESH);
  for (uint i = 0u; i < s->out_count; i++) {
    const ulong item = j->items[s->out + i];
    const uint is = (uint)(item >> 60), high = (uint)(item >> 32) & 0x0FFFFFFFu, low = (uint)item, key = s->out + i;
    if (by_claim && (is == ITEM_WAKE || is == ITEM_POLL)) atomic_plus(d->flags + 8u * (ulong)low + 5u, RECORD_NAMED);
    switch (is) {
      case ITEM_NONE: break;
      case ITEM_SUSPEND: deal_put(d, at++, t, FROM_RESUME, low, 0u); break;
      case ITEM_POLL: deal_put(d, poll_at++, t, FROM_POLL, low, 0u); break;
      case ITEM_HOP: deal_send(d, high, FROM_HOP, low, key); break;
      case ITEM_WAKE: deal_send(d, high, FROM_WAKE, low, key); break;
      case ITEM_UNPARK: deal_send(d, high, FROM_JOIN, low, key); break;
      case ITEM_DEAL: deal_fresh(d, number++, j->records[low].root, FROM_RESUME, low); break;
      default: {
        const uint n = high & 0xFFu;
        for (uint k = 0u; k < n; k++) deal_new(d, number++, take++, low + k, join_fresh_flags(high));
        break;
      }
    }
  }
}

// Heapsort of n entries from `at` on by their keys, which are all different.
FUNC void deal_sift(THREAD Deal* d, uint at, uint i, uint n) {
  for (;;) {
    uint child = 2u * i + 1u;
    if (child >= n) return;
    if (child + 1u < n && d->keys[at + child + 1u] > d->keys[at + child]) child += 1u;
    if (d->keys[at + i] >= d->keys[at + child]) return;
    const uint key = d->keys[at + i];
    const ulong entry = d->join->next[at + i];
    d->keys[at + i] = d->keys[at + child];
    d->join->next[at + i] = d->join->next[at + child];
    d->keys[at + child] = key;
    d->join->next[at + child] = entry;
    i = child;
  }
}

FUNC void deal_order(THREAD Deal* d, uint at, uint n) {
  if (n < 2u) return;
  bool sorted = true;
  for (uint i = 1u; i < n && sorted; i++) sorted = d->keys[at + i - 1u] < d->keys[at + i];
  if (sorted) return;
  for (uint i = n / 2u; i > 0u; i--) deal_sift(d, at, i - 1u, n);
  for (uint last = n - 1u; last > 0u; last--) {
    const uint key = d->keys[at];
    const ulong entry = d->join->next[at];
    d->keys[at] = d->keys[at + last];
    d->join->next[at] = d->join->next[at + last];
    d->keys[at + last] = key;
    d->join->next[at + last] = entry;
    deal_sift(d, at, 0u, last);
  }
}

FUNC void deal_sort(THREAD Deal* d, uint t) {
  const uint at = deal_get(d, t, D_BASE + 2u) + deal_get(d, t, D_UNRUN) + deal_get(d, t, D_KEPT);
  const uint hops = deal_get(d, t, D_HOPS);
  deal_order(d, at, hops);
  if (d->join->params->shard == SHARD_ADDRESS) deal_order(d, at + hops, deal_get(d, t, D_FRESH));
}

FUNC void deal_commit(THREAD Deal* d, uint t) {
  join_state(d->join->states + t, deal_get(d, t, D_BASE + 2u), deal_get(d, t, D_COUNT), deal_get(d, t, D_BASE + 3u),
             d->join->params->slack);
}

FUNC void deal_finish(THREAD Deal* d) {
  DEVICE Summary* sum = d->join->sum;
  const uint free = sum->free + deal_all(d, ALL_TOTAL + 4u), takes = deal_all(d, ALL_TOTAL + 1u) + d->join->inject[0];
  sum->free = takes < free ? free - takes : 0u;
  sum->records += takes > free ? takes - free : 0u;
  sum->parked += deal_all(d, ALL_PARKED);
  sum->status = SUM_JOINED;
}

// Interactions by rule: a part of the threads adds up its own, then all.
FUNC void deal_rules(THREAD Deal* d, DEVICE uint* rules, DEVICE Atomic32* totals, uint part) {
  THREAD Join* j = d->join;
  for (uint r = 0u; r < j->params->rules; r++) {
    uint sum = 0u;  // in 32 bits: a thread counts less than 2^27 a pass
    for (uint t = part * SCAN_PART; t < (part + 1u) * SCAN_PART && t < j->params->threads; t++) {
      if (j->states[t].count == 0u) continue;
      DEVICE uint* at = rules + (ulong)t * j->params->rules + r;
      sum += *at;
      *at = 0u;
    }
    if (sum == 0u) continue;
    if (atomic_next(totals + 2u * r, sum) + sum < sum) atomic_plus(totals + 2u * r + 1u, 1u);
  }
}

ENTRY(deal_frontier)(
    BUFFER(const Params, params, 0), BUFFER(ThreadState, states, 1), BUFFER(const ulong, frontier, 2),
    BUFFER(ulong, next, 3), BUFFER(Record, records, 4), BUFFER(ulong, items, 5), BUFFER(const Event, events, 6),
    BUFFER(uint, stack, 7), BUFFER(uint, cursor, 8), BUFFER(const uint, owner, 9), BUFFER(Summary, sum, 10),
    BUFFER(uint, rules, 11), BUFFER(Atomic32, totals, 12), BUFFER(const uint, sizes, 13),
    BUFFER(const uint, inject, 14), BUFFER(Atomic32, halves, 15), BUFFER(const ulong, log, 16), BUFFER(uchar, marks, 17),
    BUFFER(Atomic32, flags, 18), BUFFER(Atomic32, all, 19), BUFFER(uint, keys, 20), BUFFER(const uint, step, 21), GRID_INDEX) {
  GRID_INDEX_BODY
  if (index >= params->threads) return;  // parts are fewer
  Join join = {params, states, frontier, next, records, items, events, stack, cursor, owner, sum, halves, inject, log, marks, 0u};
  Deal deal = {&join, all, flags, keys};
  THREAD Deal* d = &deal;
  const uint is = step[0], threads = params->threads;
  if (params->shard == SHARD_IDLE) join.idle = deal_all(d, ALL_TOTAL + 6u);
  if (is > DEAL_FORKS && is != DEAL_CHECK && deal_all(d, ALL_LOST) > 0u) return;  // what was left is not to be believed
  if (is > DEAL_CHECK && is < DEAL_SCAN && sum->status != SUM_DEALT) return;
  if (is >= DEAL_SCAN) {
    deal_scan(d, (is - DEAL_SCAN) / 5u, (is - DEAL_SCAN) % 5u, index);
    return;
  }
  if (is == DEAL_RULES) {
    if (index < deal_parts(threads)) deal_rules(d, rules, totals, index);
    return;
  }
  switch (is) {
    case DEAL_CLEAR: deal_clear(d, totals, index); return;
    case DEAL_FORKS: deal_forks(d, index, 0u); return;
    case DEAL_AWAIT: deal_forks(d, index, 1u); return;
    case DEAL_ADMIT: if (index == 0u) deal_admit(d); return;
    case DEAL_COUNT: deal_count(d, index); return;
    case DEAL_SIZES: deal_sizes(d, index); return;
    case DEAL_CHECK: if (index == 0u) deal_check(d, sizes); return;
    case DEAL_RETIRE: deal_retire(d, index); return;
    case DEAL_PUSH: deal_push(d, index); return;
    case DEAL_PLACE: deal_place(d, index); return;
    case DEAL_SORT: deal_sort(d, index); return;
    case DEAL_COMMIT: deal_commit(d, index); return;
    default: if (index == 0u) deal_finish(d); return;
  }
}
