// Who watches the heap during a pass: nobody, as a rule. Lines in front of the text choose otherwise:
// WATCH_LOG marks what was written and writes down what was done to slots (record="full"); WATCH_SHADOW remembers who touched
// each word in this pass, and faults on what the protocol forbids; WATCH_YIELD hands every access to the scheduler of the
// sim device.
//
// Invariants: rules and protocol are the same text in every variant: only the types behind heap and halves change.

#define OP_READ 1u
#define OP_TAKE 2u
#define OP_PUBLISH 3u
#define OP_RELEASE 4u
#define OP_STUCK 5u
#define OP_WAKE 6u

#if defined(WATCH_LOG) || defined(WATCH_SHADOW) || defined(WATCH_YIELD)
#define WATCHED 1
#undef NEAR_LOOP  // it reaches the heap past those who watch

#ifdef WATCH_YIELD  // defined by the scheduler, behind the kernel
static ulong sim_load64(const ulong* at);
static void sim_store64(ulong* at, ulong word);
static uint sim_load32(const uint* at, bool acquire);
static void sim_store32(uint* at, uint word, bool release);
static uint sim_or32(uint* at, uint bits);
static bool sim_swap_if32(uint* at, uint seen, uint word);
static void sim_op(uint op, uint slot, uint side);  // an operation on a slot is about to be done
#endif

// log: in front LOG_HEAD words: how many chunks there are, how many are taken, whether one was wanted in vain, bytes of the
// marks of pages; then chunks that threads take as they need them, [thread << 32 | which of its chunks][number of items],
// then items, each kind << 60 | count << 32 | cell
#define LOG_OP 1u      // count: operation | side << 8, on the slot at cell
#define LOG_ENTRY 2u   // what follows was done for the entry at index cell of the frontier
#define LOG_HEAD 8u
#define LOG_CHUNK 64u  // words of a chunk
#define LOG_ROOM 62u   // items of it

// marks: a byte for each page of cells, then a byte for each cell: not zero once something there was written in this pass
#define MARK_SHIFT 12u  // log2 cells of a page

// shadow: in front what was found first; behind it four words per half cell: plain write, plain read, atomic write, atomic
// read, each with the thread that did it last and the epoch of the pass (the host clears the words when epochs start anew)
#define SHADOW_HEAD 8u
#define SHADOW_PASSES 4095u
#define SHADOW_MANY 0xFFFFFu
#define SHADOW_PLAIN_WRITE 0u
#define SHADOW_PLAIN_READ 1u
#define SHADOW_WRITE 2u
#define SHADOW_READ 3u

struct Watch {
  const DEVICE ulong* heap;
  DEVICE ulong* log;
  DEVICE ulong* chunk;  // what is being filled
  DEVICE uchar* marks;
  ulong pages;          // bytes of them that are for pages
  uint items, chunks;   // items in the chunk; chunks of this thread
  uint entry;           // that is being run
  bool is_told, is_lost;
  DEVICE Atomic32* shadow;
  uint me, epoch;
};

CALL bool watch_log_room(THREAD Watch* watch) {
  if (watch->is_lost) return false;
  if (watch->chunk && watch->items < LOG_ROOM) return true;
  const uint all = (uint)watch->log[0], number = atomic_next((DEVICE Atomic32*)(watch->log + 1), 1u);
  if (number >= all) {
    atomic_top((DEVICE Atomic32*)(watch->log + 2), 1u);
    watch->is_lost = true;
    return false;
  }
  if (watch->chunk) watch->chunk[1] = (ulong)watch->items;
  watch->chunk = watch->log + LOG_HEAD + (ulong)LOG_CHUNK * (ulong)number;
  watch->chunk[0] = ((ulong)watch->me << 32) | (ulong)watch->chunks;
  watch->chunks += 1u;
  watch->items = 0u;
  return true;
}

FUNC void watch_log_item(THREAD Watch* watch, uint kind, uint high, uint low) {
  if (!watch_log_room(watch)) return;
  watch->chunk[2u + watch->items] = ((ulong)kind << 60) | ((ulong)high << 32) | (ulong)low;
  watch->items += 1u;
}

// The thread begins an entry; the log is told once the entry does something.
FUNC void watch_entry(THREAD Watch* watch, uint index) {
  watch->entry = index;
  watch->is_told = false;
}

FUNC void watch_op(THREAD Watch* watch, uint op, uint slot, uint side) {
#ifdef WATCH_YIELD
  sim_op(op, slot, side);
#endif
#ifdef WATCH_LOG
  if (!watch->is_told) watch_log_item(watch, LOG_ENTRY, 0u, watch->entry);
  watch->is_told = true;
  watch_log_item(watch, LOG_OP, op | (side << 8), slot);
#else
  (void)watch; (void)op; (void)slot; (void)side;
#endif
}

FUNC void watch_wrote(DEVICE uchar* marks, ulong pages, uint cell) {
  DEVICE uchar* page = marks + (cell >> MARK_SHIFT);
  if (!byte_is_set(page)) byte_set(page);  // many threads share it: to read it costs less
  byte_set(marks + pages + cell);
}

FUNC void watch_write(THREAD Watch* watch, uint cell) {
#ifdef WATCH_LOG
  watch_wrote(watch->marks, watch->pages, cell);
#else
  (void)watch; (void)cell;
#endif
}

#ifdef WATCH_SHADOW
FUNC uint watch_mark(THREAD Watch* watch) { return (watch->epoch << 20) | watch->me; }

FUNC bool watch_is_foreign(THREAD Watch* watch, uint mark) {
  return (mark >> 20) == watch->epoch && (mark & SHADOW_MANY) != watch->me;
}

CALL void watch_fault(THREAD Watch* watch, uint place, uint mine, uint theirs, uint mark) {
  if (!atomic_swap_if(watch->shadow, 0u, 1u)) return;  // the first one is told
  atomic_write(watch->shadow + 1u, place);
  atomic_write(watch->shadow + 2u, watch->me);
  atomic_write(watch->shadow + 3u, mark & SHADOW_MANY);
  atomic_write(watch->shadow + 4u, mine);
  atomic_write(watch->shadow + 5u, theirs);
}

CALL void watch_against(THREAD Watch* watch, uint place, uint mine, uint theirs) {
  const uint mark = atomic_read(watch->shadow + SHADOW_HEAD + 4u * (ulong)place + theirs);
  if (watch_is_foreign(watch, mark)) watch_fault(watch, place, mine, theirs, mark);
}

CALL void watch_enter(THREAD Watch* watch, uint place, uint kind) {
  DEVICE Atomic32* at = watch->shadow + SHADOW_HEAD + 4u * (ulong)place + kind;
  const uint before = atomic_read(at);
  const bool many = watch_is_foreign(watch, before) && (kind == SHADOW_PLAIN_READ || kind == SHADOW_READ);
  if (watch_is_foreign(watch, before) && !many) watch_fault(watch, place, kind, kind, before);
  atomic_write(at, many ? (watch->epoch << 20) | SHADOW_MANY : watch_mark(watch));
}

// A plain write may meet nothing of another thread's in the same pass, a plain read no write. Atomic words may be read by
// all, and written by one thread a pass; a swap or an or counts as a read.
CALL void watch_half(THREAD Watch* watch, uint place, uint kind) {
  watch_enter(watch, place, kind);
  if (kind != SHADOW_PLAIN_WRITE) watch_against(watch, place, kind, SHADOW_PLAIN_WRITE);
  if (kind == SHADOW_PLAIN_WRITE) {
    watch_against(watch, place, kind, SHADOW_PLAIN_READ);
    watch_against(watch, place, kind, SHADOW_READ);
  }
  if (kind == SHADOW_PLAIN_WRITE || kind == SHADOW_PLAIN_READ) watch_against(watch, place, kind, SHADOW_WRITE);
  if (kind == SHADOW_WRITE) watch_against(watch, place, kind, SHADOW_PLAIN_READ);
}
#endif

FUNC void watch_touch(THREAD Watch* watch, uint place, uint kind) {
#ifdef WATCH_SHADOW
  if (watch->shadow) watch_half(watch, place, kind);
#else
  (void)watch; (void)place; (void)kind;
#endif
}

// A cell, as what stands left or right of an equals sign.
struct Cell {
  DEVICE ulong* at;
  THREAD Watch* watch;
  uint index() const { return (uint)(at - watch->heap); }
  operator ulong() const {
    watch_touch(watch, 2u * index(), 1u);
    watch_touch(watch, 2u * index() + 1u, 1u);
#ifdef WATCH_YIELD
    return sim_load64(at);
#else
    return *at;
#endif
  }
  void operator=(ulong word) const {
    watch_touch(watch, 2u * index(), 0u);
    watch_touch(watch, 2u * index() + 1u, 0u);
    watch_write(watch, index());
#ifdef WATCH_YIELD
    sim_store64(at, word);
#else
    *at = word;
#endif
  }
  void operator=(THREAD const Cell& other) const { *this = (ulong)other; }
};

struct Cells {
  DEVICE ulong* at;
  THREAD Watch* watch;
  Cell operator[](ulong index) const {
    const Cell cell = {at + index, watch};
    return cell;
  }
};

// A 32-bit word of a cell that several threads may touch.
struct Half {
  DEVICE Atomic32* at;
  THREAD Watch* watch;
  uint index() const { return (uint)((DEVICE const uint*)at - (DEVICE const uint*)watch->heap); }
};

struct Halves {
  DEVICE Atomic32* at;
  THREAD Watch* watch;
  Half operator+(ulong index) const {
    const Half place = {at + index, watch};
    return place;
  }
};

FUNC uint atomic_read(Half place) {
  watch_touch(place.watch, place.index(), 3u);
#ifdef WATCH_YIELD
  return sim_load32((const uint*)place.at, false);
#else
  return atomic_read(place.at);
#endif
}
FUNC uint atomic_read_acquire(Half place) {
  watch_touch(place.watch, place.index(), 3u);
#ifdef WATCH_YIELD
  return sim_load32((const uint*)place.at, true);
#else
  return atomic_read_acquire(place.at);
#endif
}
FUNC void atomic_write(Half place, uint word) {
  watch_touch(place.watch, place.index(), 2u);
  watch_write(place.watch, place.index() >> 1);
#ifdef WATCH_YIELD
  sim_store32((uint*)place.at, word, false);
#else
  atomic_write(place.at, word);
#endif
}
FUNC void atomic_write_release(Half place, uint word) {
  watch_touch(place.watch, place.index(), 2u);
  watch_write(place.watch, place.index() >> 1);
#ifdef WATCH_YIELD
  sim_store32((uint*)place.at, word, true);
#else
  atomic_write_release(place.at, word);
#endif
}
FUNC uint atomic_or(Half place, uint bits) {
  watch_touch(place.watch, place.index(), 3u);
  watch_write(place.watch, place.index() >> 1);
#ifdef WATCH_YIELD
  return sim_or32((uint*)place.at, bits);
#else
  return atomic_or(place.at, bits);
#endif
}
FUNC bool atomic_swap_if(Half place, uint seen, uint word) {
  watch_touch(place.watch, place.index(), 3u);
  watch_write(place.watch, place.index() >> 1);
#ifdef WATCH_YIELD
  return sim_swap_if32((uint*)place.at, seen, word);
#else
  return atomic_swap_if(place.at, seen, word);
#endif
}

#else
typedef DEVICE ulong* Cells;
typedef DEVICE Atomic32* Halves;
typedef DEVICE Atomic32* Half;
#endif

// Bits that say which cells were visited: they lie outside the heap, but who sets one first matters.
#ifdef WATCH_YIELD
struct Mark {
  Atomic32* at;
};
struct Marks {
  Atomic32* at;
  void operator=(Atomic32* words) { at = words; }
  Mark operator+(ulong index) const {
    const Mark mark = {at + index};
    return mark;
  }
};
FUNC uint atomic_or(Mark mark, uint bits) { return sim_or32((uint*)mark.at, bits); }
#else
typedef DEVICE Atomic32* Marks;
#endif
