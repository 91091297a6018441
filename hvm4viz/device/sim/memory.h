// Weak memory: what the kernel's accesses to heap and visited bits do while several threads run (watch.h).
//
// A cell that was written in this pass has a list of events, newest first: writes, with the whole cell as it was after
// each, and reads that raise what a thread has seen. A relaxed read may return any value not older than the newest that
// its thread knows: of its own writes and reads, and of those of others that an acquire read has told it of. A cell read
// or written whole is one event for both halves. Read-modify-writes work on the newest value.
//
// Invariants: memory itself always holds the newest value; events of a cell are in one order for all; the list of a cell
// starts with what it held before the pass.

struct SimEvent {
  ulong value;    // of a write: the whole cell after it
  ulong chain;    // hash of the order of writes so far
  uint cell, prev;
  uint fiber, clock;
  uint mask;      // SIM_LOW, SIM_HIGH; SIM_RELEASE
  uint seen;      // of a read: the write that it saw; of a release: what its fiber knew, in the knowledge
};
#define SIM_LOW 1u
#define SIM_HIGH 2u
#define SIM_BOTH 3u
#define SIM_WROTE 4u
#define SIM_RELEASE 8u
#define SIM_NOBODY 0xFFFFFFFFu

static ulong sim_mix(ulong a, ulong b) {
  ulong h = (a ^ (b + 0x9E3779B97F4A7C15ul + (a << 6) + (a >> 2))) * 0xBF58476D1CE4E5B9ul;
  h = (h ^ (h >> 27)) * 0x94D049BB133111EBul;
  return h ^ (h >> 31);
}

static uint sim_cell(const void* at) {
  return (uint)((const ulong*)((__UINTPTR_TYPE__)at & ~(__UINTPTR_TYPE__)7) - sim.heap);
}
// The bits that say which cells were visited are only ever set, each by an operation of its own: a word each, behind the
// heap, of which no value is remembered.
static bool sim_is_mark(const uint* at) { return at < (const uint*)sim.heap || at >= (const uint*)(sim.heap + sim.call->heap_cells); }
static uint sim_mark(const uint* at, uint bit) {
  uint n = 0u;
  while ((bit >> n) > 1u) n += 1u;
  return (uint)sim.call->heap_cells + 32u * (uint)(at - (const uint*)sim.visited) + n;
}
static uint sim_half(const void* at) { return ((__UINTPTR_TYPE__)at & 4) != 0 ? SIM_HIGH : SIM_LOW; }
static ulong* sim_at(uint cell) { return sim.heap + (cell < sim.call->heap_cells ? cell : 0u); }

// The newest event of a cell, or 0. Heads are left over from earlier passes: they count if they point at an event of
// this pass that is of this very cell.
static uint sim_head(uint cell) {
  const uint head = sim.call->heads[cell];
  return head < sim.events && sim.call->events[head].cell == cell ? head : 0u;
}

static bool sim_knows(const SimFiber* me, const SimEvent* event) {
  if (event->fiber == SIM_NOBODY || sim.call->fibers + event->fiber == me) return true;
  return me->known != 0 && event->clock <= me->known[event->fiber];
}

// Of the writes that a read may see, the one of this number, newest first; or 0 if there are not so many, with the number
// of those there are.
static uint sim_candidate(const SimFiber* me, uint cell, uint mask, uint wanted, uint* count) {
  uint oldest = 0u, n = 0u;
  const SimEvent* events = sim.call->events;
  for (uint at = sim_head(cell); at != 0u; at = events[at].prev) {
    const SimEvent* event = events + at;
    if ((event->mask & mask) == 0u) continue;
    const bool is_known = sim_knows(me, event);
    if ((event->mask & SIM_WROTE) == 0u) {
      if (is_known && event->seen > oldest) oldest = event->seen;
      continue;
    }
    if (n++ == wanted) return at;
    if (is_known || at <= oldest) break;
  }
  *count = n;
  return 0u;
}

static uint sim_count(const SimFiber* me, uint cell, uint mask) {
  uint n = 0u;
  sim_candidate(me, cell, mask, 0xFFFFFFFFu, &n);
  return n > 0u ? n : 1u;
}

static SimEvent* sim_append(uint cell, uint mask, ulong value, uint fiber, uint clock) {
  SimCall* call = sim.call;
  const uint head = sim_head(cell);
  SimEvent* event = call->events + sim.events;
  event->value = value;
  event->chain = head != 0u ? call->events[head].chain : 0ul;
  event->cell = cell;
  event->prev = head;
  event->fiber = fiber;
  event->clock = clock;
  event->mask = mask;
  event->seen = 0u;
  call->heads[cell] = sim.events++;
  return event;
}

// Let others go first, if it is so; false: nobody else cares for this word, so that nothing of it need be told.
static bool sim_before_access(uint cell, uint mask, bool is_read);

// Write what a fiber wrote into the cell's list; `value` is the cell after it.
static void sim_note_write(SimFiber* me, uint cell, uint mask, ulong value, bool is_release) {
  if ((ulong)sim.events + 2ul > sim.call->events_max) sim.is_full = true;
  if (sim.is_full) return;
  if (sim_head(cell) == 0u) sim_append(cell, SIM_BOTH | SIM_WROTE, *sim_at(cell), SIM_NOBODY, 0u);
  const uint number = (uint)(me - sim.call->fibers);
  SimEvent* event = sim_append(cell, mask | SIM_WROTE | (is_release ? SIM_RELEASE : 0u), value, number, me->clock);
  if (is_release && me->known != 0) event->seen = (uint)(me->known - sim.call->knowledge);
  const ulong before = event->chain;
  event->chain = sim_mix(before, ((ulong)number << 32) | me->clock);
  me->past = sim_mix(me->past, cell);
  sim.memory ^= (before != 0ul ? sim_mix(cell, before) : 0ul) ^ sim_mix(cell, event->chain);
}

// An acquire read of a release write: what the writer knew and did, the reader knows.
static void sim_join(SimFiber* me, const SimEvent* event) {
  const uint busy = (uint)sim.call->busy;
  uint* known = sim.call->knowledge + sim.knowledge;
  if ((ulong)sim.knowledge + busy > sim.call->knowledge_max) {
    sim.is_full = true;
    return;
  }
  const uint* theirs = event->seen != 0u ? sim.call->knowledge + event->seen : 0;
  bool is_news = false;
  for (uint i = 0u; i < busy; i++) {
    const uint mine = me->known != 0 ? me->known[i] : 0u;
    uint n = theirs != 0 && theirs[i] > mine ? theirs[i] : mine;
    if (i == event->fiber && event->clock > n) n = event->clock;
    is_news = is_news || n != mine;
    known[i] = n;
  }
  if (!is_news) return;
  sim.knowledge += busy;
  me->known = known;
}

// Remember which write a fiber has seen (0: what was there before the pass).
static void sim_note_read(SimFiber* me, uint cell, uint mask, uint at) {
  if (at == 0u) {
    me->past = sim_mix(me->past, sim_mix(cell, SIM_NOBODY));
    return;
  }
  const SimEvent* event = sim.call->events + at;
  me->past = sim_mix(me->past, sim_mix(cell, sim_mix(event->fiber, event->clock)));
  if (sim_knows(me, event)) return;
  if ((ulong)sim.events + 1ul > sim.call->events_max) sim.is_full = true;
  else sim_append(cell, mask, 0ul, (uint)(me - sim.call->fibers), me->clock)->seen = at;
}

static uint sim_pick(uint n);

static ulong sim_read(const void* place, uint mask, bool is_acquire) {
  const uint cell = sim_cell(place);
  if (!sim_before_access(cell, mask, true) || sim.is_full) return *sim_at(cell);
  SimFiber* me = sim.current;
  uint choice = me->choice, n = 0u;
  if (!sim.is_exploring) {
    n = sim_count(me, cell, mask);
    choice = n > 1u ? sim_pick(n) : 0u;
  }
  const uint at = sim_candidate(me, cell, mask, choice, &n);
  sim_note_read(me, cell, mask, at);
  if (at == 0u) return *sim_at(cell);  // nobody has written it
  const SimEvent* event = sim.call->events + at;
  if (is_acquire && (event->mask & SIM_RELEASE) != 0u) sim_join(me, event);
  return event->value;
}

static ulong sim_merge(ulong before, uint mask, uint word) {
  return mask == SIM_HIGH ? (before & 0xFFFFFFFFul) | ((ulong)word << 32) : (before & ~(ulong)0xFFFFFFFFul) | word;
}

static void sim_write(void* place, uint mask, ulong word, bool is_release) {
  const uint cell = sim_cell(place);
  const bool is_told = sim_before_access(cell, mask, false);
  ulong* at = sim_at(cell);
  const ulong value = mask == SIM_BOTH ? word : sim_merge(*at, mask, (uint)word);
  if (is_told) sim_note_write(sim.current, cell, mask, value, is_release);
  *at = value;
}

// The read of a read-modify-write, and its write.
static void sim_read_newest(uint cell, uint mask) {
  uint n = 0u;
  sim_note_read(sim.current, cell, mask, sim_candidate(sim.current, cell, mask, 0u, &n));
}
static void sim_modify(uint* at, uint cell, uint mask, uint word, bool is_told) {
  if (is_told) sim_note_write(sim.current, cell, mask, sim_merge(*sim_at(cell), mask, word), false);
  *at = word;
}
