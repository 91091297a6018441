// The words that the join over the grid counts in, and sums over threads: a scan in five steps over the grid, parts of 32
// threads, groups of 64 parts, the top.
//
// Invariants: a step reads what an earlier one wrote; what is summed does not change between the first and the last.

#define SCAN_PART 32u
#define SCAN_GROUP 64u

// a thread's words
#define D_UNRUN 0u
#define D_KEPT 1u
#define D_HOPS 2u
#define D_FRESH 3u
#define D_POLLS 4u
#define D_MADE 5u        // fresh entries it made, and tasks to be dealt again
#define D_TAKES 6u       // records that they take
#define D_COUNT 7u
#define D_LIST 8u
#define D_FREED 9u
#define D_UNUSED 10u
#define D_IDLE 11u       // whether it has none but fresh entries (SHARD_IDLE)
#define D_BASE 13u       // scans of the above: MADE, TAKES; COUNT, LIST; FREED, nothing; IDLE, nothing
#define D_HOP_NEXT 21u
#define D_FRESH_NEXT 22u
#define D_WORDS 24u

// words of all threads together
#define ALL_LOST 0u
#define ALL_SLOTS 1u
#define ALL_PARKED 2u    // change, modulo 2^32
#define ALL_DONE 3u
#define ALL_TOTAL 4u     // totals of the scans: MADE, TAKES, COUNT, LIST, FREED, nothing, IDLE, nothing
#define ALL_STOPPED 12u
#define ALL_RAN 13u
#define ALL_STARVED 14u
#define ALL_LONGEST 15u
#define ALL_OPENS 16u
#define ALL_FILLS 17u
#define ALL_DEFERRED 18u
#define ALL_LO 19u
#define ALL_HI 20u
#define ALL_WORDS 22u

struct Deal {
  THREAD Join* join;
  DEVICE Atomic32* all;      // ALL_*, then D_* of each thread, then the parts of the scan
  DEVICE Atomic32* flags;    // the records, as words
  DEVICE uint* keys;         // what orders the entries of next
};

FUNC DEVICE Atomic32* deal_word(THREAD Deal* d, uint who, uint word) {
  return d->all + ALL_WORDS + (ulong)who * D_WORDS + word;
}
FUNC uint deal_get(THREAD Deal* d, uint who, uint word) { return atomic_read(deal_word(d, who, word)); }
FUNC void deal_set(THREAD Deal* d, uint who, uint word, uint n) { atomic_write(deal_word(d, who, word), n); }
FUNC uint deal_all(THREAD Deal* d, uint word) { return atomic_read(d->all + word); }

FUNC uint deal_parts(uint threads) { return (threads + SCAN_PART - 1u) / SCAN_PART; }
FUNC uint deal_groups(uint threads) { return (deal_parts(threads) + SCAN_GROUP - 1u) / SCAN_GROUP; }
FUNC DEVICE Atomic32* deal_part(THREAD Deal* d, uint level, uint part) {
  const uint threads = d->join->params->threads;
  return d->all + ALL_WORDS + (ulong)threads * D_WORDS + 2u * (level == 0u ? part : deal_parts(threads) + part);
}

// Once it is known what others send: whether a thread has none but fresh entries.
FUNC void deal_find_idle(THREAD Deal* d, uint t) {
  const uint others = deal_get(d, t, D_UNRUN) + deal_get(d, t, D_KEPT) + deal_get(d, t, D_HOPS) + deal_get(d, t, D_POLLS);
  deal_set(d, t, D_IDLE, others == 0u ? 1u : 0u);
}

// Add two words of a neighbour to what came before; with `tells` it is told of that first.
FUNC void deal_add(DEVICE Atomic32* to, bool tells, uint more_a, uint more_b, THREAD uint* a, THREAD uint* b) {
  if (tells) {
    atomic_write(to, *a);
    atomic_write(to + 1u, *b);
  }
  *a += more_a;
  *b += more_b;
}

// Sum two words of n neighbours, four at a time: loads that do not wait for each other. With `tells`, each is told what
// comes before it.
FUNC void deal_run(DEVICE Atomic32* at, DEVICE Atomic32* to, uint stride, uint n, bool tells, THREAD uint* a, THREAD uint* b) {
  for (uint i = 0u; i < n; i += 4u) {
    const ulong second = stride, third = 2u * (ulong)stride, fourth = 3u * (ulong)stride;
    const uint left = n - i;
    const uint a1 = atomic_read(at), b1 = atomic_read(at + 1u);
    const uint a2 = left > 1u ? atomic_read(at + second) : 0u, b2 = left > 1u ? atomic_read(at + second + 1u) : 0u;
    const uint a3 = left > 2u ? atomic_read(at + third) : 0u, b3 = left > 2u ? atomic_read(at + third + 1u) : 0u;
    const uint a4 = left > 3u ? atomic_read(at + fourth) : 0u, b4 = left > 3u ? atomic_read(at + fourth + 1u) : 0u;
    deal_add(to, tells, a1, b1, a, b);
    deal_add(to + second, tells && left > 1u, a2, b2, a, b);
    deal_add(to + third, tells && left > 2u, a3, b3, a, b);
    deal_add(to + fourth, tells && left > 3u, a4, b4, a, b);
    at += 4u * (ulong)stride;
    to += 4u * (ulong)stride;
  }
}

FUNC uint deal_least(uint a, uint b) { return a < b ? a : b; }

// One of the five steps of scan `which`: sums of parts, sums of groups, the top, groups, parts.
FUNC void deal_scan(THREAD Deal* d, uint which, uint step, uint index) {
  const uint threads = d->join->params->threads, parts = deal_parts(threads), groups = deal_groups(threads);
  const uint field = D_MADE + 2u * which, base = D_BASE + 2u * which;
  const bool by_part = step == 0u || step == 4u, by_group = step == 1u || step == 3u;
  if (index >= (by_part ? parts : by_group ? groups : 1u)) return;
  const uint first = index * (by_part ? SCAN_PART : SCAN_GROUP);
  uint a = 0u, b = 0u;
  if (by_part) {
    const uint end = deal_least(first + SCAN_PART, threads);
    if (which == 3u && step == 0u) {
      for (uint t = first; t < end; t++) deal_find_idle(d, t);
    }
    if (step == 4u) {
      a = atomic_read(deal_part(d, 0u, index));
      b = atomic_read(deal_part(d, 0u, index) + 1u);
    }
    deal_run(deal_word(d, first, field), deal_word(d, first, base), D_WORDS, end - first, step == 4u, &a, &b);
    if (step == 0u) {
      atomic_write(deal_part(d, 0u, index), a);
      atomic_write(deal_part(d, 0u, index) + 1u, b);
    } else if (which == 3u) {
      for (uint t = first; t < end; t++) {
        if (deal_get(d, t, D_IDLE) != 0u) join_idle(d->join)[deal_get(d, t, base)] = t;
      }
    }
  } else if (by_group) {
    if (step == 3u) {
      a = atomic_read(deal_part(d, 1u, index));
      b = atomic_read(deal_part(d, 1u, index) + 1u);
    }
    DEVICE Atomic32* at = deal_part(d, 0u, first);
    deal_run(at, at, 2u, deal_least(first + SCAN_GROUP, parts) - first, step == 3u, &a, &b);
    if (step == 1u) {
      atomic_write(deal_part(d, 1u, index), a);
      atomic_write(deal_part(d, 1u, index) + 1u, b);
    }
  } else {
    DEVICE Atomic32* at = deal_part(d, 1u, 0u);
    deal_run(at, at, 2u, groups, true, &a, &b);
    atomic_write(d->all + ALL_TOTAL + 2u * which, a);
    atomic_write(d->all + ALL_TOTAL + 2u * which + 1u, b);
  }
}
