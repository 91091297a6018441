// Many passes of a collapse in one call, for a machine of one thread on the host: C++ alone gets this behind the text.
//
// A branch is begun when its turn has come, so most passes lift one cell, and what the host does between two of them is
// to look at one word and to move on in the queue. That is done here as long as nothing else is asked for.
//
// Invariants: a pass is what it is anywhere, step_frontier and then join_frontier; what is not a lifted cell that leads
// to another one is the host's to look at, after step_frontier and before anything else of the pass is done.
//
// queue: first node and last node of 64 buckets, plus one; free node, plus one; nodes ever used; room for nodes; the turn
// that is on: cells left, the two cells, its key; key of the branch that is on; then nodes
// [cell][second cell][cells][next, plus one] (hvm4viz/turns.py)

#define QUEUE_KEYS 64u
#define QUEUE_FREE 128u
#define QUEUE_USED 129u
#define QUEUE_ROOM 130u
#define QUEUE_LEFT 131u
#define QUEUE_CELL 132u
#define QUEUE_REST 133u
#define QUEUE_TURN 134u
#define QUEUE_KEY 135u
#define QUEUE_NODES 136u

FUNC bool queue_has_room(DEVICE uint* queue) {
  return queue[QUEUE_FREE] != 0u || queue[QUEUE_USED] < queue[QUEUE_ROOM];
}

// The two branches of a superposition get in line.
FUNC void queue_push(DEVICE uint* queue, uint key, uint cell) {
  uint number = queue[QUEUE_FREE];
  if (number == 0u) number = ++queue[QUEUE_USED];
  else queue[QUEUE_FREE] = queue[QUEUE_NODES + 4u * (number - 1u) + 3u];
  DEVICE uint* node = queue + QUEUE_NODES + 4u * (ulong)(number - 1u);
  node[0] = cell; node[1] = cell + 1u; node[2] = 2u; node[3] = 0u;
  const uint last = queue[QUEUE_KEYS + key];
  if (last == 0u) queue[key] = number;
  else queue[QUEUE_NODES + 4u * (ulong)(last - 1u) + 3u] = number;
  queue[QUEUE_KEYS + key] = number;
}

// The next turn, if there is one: first in, first out, in the bucket of the least key.
FUNC bool queue_next(DEVICE uint* queue) {
  for (uint key = 0u; key < QUEUE_KEYS; key++) {
    const uint number = queue[key];
    if (number == 0u) continue;
    DEVICE uint* node = queue + QUEUE_NODES + 4u * (ulong)(number - 1u);
    queue[key] = node[3];
    if (node[3] == 0u) queue[QUEUE_KEYS + key] = 0u;
    queue[QUEUE_LEFT] = node[2]; queue[QUEUE_CELL] = node[0]; queue[QUEUE_REST] = node[1];
    queue[QUEUE_TURN] = key;
    node[3] = queue[QUEUE_FREE];
    queue[QUEUE_FREE] = number;
    return true;
  }
  return false;
}

// The cell whose turn it is was lifted to a term: go on to the next one. False: the host has to look, nothing has changed.
FUNC bool queue_go_on(DEVICE uint* queue, Term t) {
  const uint tag = term_tag(t);
  if (tag == INC) {
    if (queue[QUEUE_KEY] > 0u) queue[QUEUE_KEY] -= 1u;
    queue[QUEUE_CELL] = term_val(t);
    return true;
  }
  if (tag == SUP) {
    if (!queue_has_room(queue)) return false;
    queue_push(queue, queue[QUEUE_KEY] + 1u < QUEUE_KEYS ? queue[QUEUE_KEY] + 1u : QUEUE_KEYS - 1u, term_val(t));
  } else if (tag != ERA) {
    return false;
  }
  if (queue[QUEUE_LEFT] == 2u) {
    queue[QUEUE_LEFT] = 1u;
    queue[QUEUE_CELL] = queue[QUEUE_REST];
  } else if (!queue_next(queue)) {
    return false;
  }
  queue[QUEUE_KEY] = queue[QUEUE_TURN];
  return true;
}

// io: in most passes, about how many interactions; out passes that are over (behind them one has run that is not joined),
// their interactions, the sum of their longest entries, their fills, and the status of a join that went wrong
ENTRY(collapse_passes)(
    BUFFER(Params, params, 0), BUFFER(ulong, heap, 1), BUFFER(const ulong, book, 2), BUFFER(const uint, roots, 3),
    BUFFER(const uint, owner, 4), BUFFER(const uint, chain, 5), BUFFER(Atomic32, used, 6), BUFFER(Atomic32, remote, 7),
    BUFFER(ThreadState, states, 8), BUFFER(ulong, frontier, 9), BUFFER(Record, records, 10), BUFFER(ulong, items, 11),
    BUFFER(Event, events, 12), BUFFER(uint, rules, 13), BUFFER(Atomic32, visited, 14), BUFFER(ulong, log, 15),
    BUFFER(uchar, marks, 16), BUFFER(Atomic32, shadow, 17), BUFFER(ulong, next, 18), BUFFER(uint, stack, 19),
    BUFFER(uint, cursor, 20), BUFFER(Summary, sum, 21), BUFFER(ulong, totals, 22), BUFFER(const uint, sizes, 23),
    BUFFER(uint, inject, 24), BUFFER(uint, queue, 25), BUFFER(uint, io, 26), GRID_INDEX) {
  if (index >= 1u) return;
  DEVICE ulong* mine = frontier;
  DEVICE ulong* other = next;
  const uint passes_max = io[0], budget = io[1];
  uint passes = 0u, interactions = 0u, longest = 0u, fills = 0u, status = SUM_JOINED;
  while (true) {
    step_frontier(
        params, heap, book, roots, owner, chain, used, remote, states, mine, records, items, events, rules, visited, log,
        marks, shadow, 0u);
    const bool is_lifted = states->count == 1u && states->done == 1u && states->out_count == 0u && states->need == 0u &&
                           states->opens == 0u && (events->codes & 0xFFu) == OUT_DONE && events->loc == queue[QUEUE_CELL];
    if (!is_lifted || passes + 1u >= passes_max || interactions >= budget) break;
    if (!queue_go_on(queue, heap[events->loc])) break;
    inject[0] = 1u;
    inject[1] = queue[QUEUE_CELL];
    sum->status = SUM_POISON;
    join_frontier(
        params, states, mine, other, records, items, events, stack, cursor, owner, sum, rules, totals, sizes, inject,
        (DEVICE Atomic32*)heap, log, marks, 0u);
    inject[0] = 0u;
    status = sum->status;
    if (status != SUM_JOINED) break;
    interactions += sum->interactions_lo;
    longest += sum->longest;
    fills += sum->fills;
    passes += 1u;
    params->now += 1u;
    DEVICE ulong* spent = mine;
    mine = other;
    other = spent;
  }
  io[2] = passes;
  io[3] = interactions;
  io[4] = longest;
  io[5] = fills;
  io[6] = status;
}
