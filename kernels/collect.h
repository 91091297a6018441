// Behind a pass, on the host: turn what was written down of it (watch.h) into records of the trace. Part of the text where
// a log watches.
//
// Invariants: one thread runs this, over memory of the host. Records lie as the host has them, without gaps.

#define OP_SHORTS 5u    // an operation: event, slot, kind and side
#define DELTA_WORDS 5u  // a changed cell: cell, word before, word after
#define PAGE_WORDS (1u << (MARK_SHIFT - 3u))  // marks of a page, eight at a time

FUNC void collect_put(DEVICE ushort* at, uint word) {
  at[0] = (ushort)(word & 0xFFFFu);
  at[1] = (ushort)(word >> 16);
}

// Operations in the order of entries; each is told with the number of its event, which is that of entries that ran before.
// order: chunks by thread, then as taken. io: in number of chunks; out number of operations
ENTRY(collect_ops)(
    BUFFER(uint, io, 0), BUFFER(const ulong, log, 1), BUFFER(const uint, order, 2), BUFFER(const Event, events, 3),
    BUFFER(ushort, ops, 4), GRID_INDEX) {
  GRID_INDEX_BODY
  if (index >= 1u) return;
  const uint chunks = io[0];
  uint count = 0u, at = 0u, event = 0u;
  for (uint c = 0u; c < chunks; c++) {
    const DEVICE ulong* chunk = log + LOG_HEAD + (ulong)LOG_CHUNK * (ulong)order[c];
    const uint items = (uint)chunk[1];
    for (uint i = 0u; i < items; i++) {
      const ulong item = chunk[2u + i];
      if ((uint)(item >> 60) == LOG_ENTRY) {
        for (; at < (uint)item; at++) event += (events[at].codes & 0xFFu) != OUT_UNRUN ? 1u : 0u;
        continue;
      }
      DEVICE ushort* op = ops + OP_SHORTS * (ulong)count;
      collect_put(op, event);
      collect_put(op + 2u, (uint)item);
      op[4] = (ushort)((uint)(item >> 32) & 0xFFFFu);
      count += 1u;
    }
  }
  io[1] = count;
}

// Tell of a cell if it is not what it was, and remember what it is.
FUNC bool collect_cell(DEVICE uint* deltas, uint count, uint cell, ulong now, DEVICE ulong* before) {
  if (now == *before) return false;
  DEVICE uint* delta = deltas + DELTA_WORDS * (ulong)count;
  delta[0] = cell;
  delta[1] = (uint)*before;
  delta[2] = (uint)(*before >> 32);
  delta[3] = (uint)now;
  delta[4] = (uint)(now >> 32);
  *before = now;
  return true;
}

// Changed cells, ascending; the marks are cleared, and before holds the heap as it is now. Nothing is done, but for the
// number that there may be, if there is no room for so many.
// io: in cells in use, bytes of marks of pages, room for changed cells, whether to look at all cells or at marked ones;
// out how many there may be, how many there are; in where in the buffer to put the first
ENTRY(collect_deltas)(
    BUFFER(uint, io, 0), BUFFER(const ulong, heap, 1), BUFFER(ulong, before, 2), BUFFER(ulong, marks, 3),
    BUFFER(uint, all_deltas, 4), GRID_INDEX) {
  GRID_INDEX_BODY
  if (index >= 1u) return;
  DEVICE uint* deltas = all_deltas + DELTA_WORDS * (ulong)io[6];
  const uint cells = io[0], pages = io[1], room = io[2], is_all = io[3];
  const uint used = (cells + (1u << MARK_SHIFT) - 1u) >> MARK_SHIFT;
  const uint groups = (used + 7u) / 8u;  // of eight pages
  DEVICE ulong* marked = marks + pages / 8u;
  uint most = 0u, count = 0u;
  if (is_all != 0u) {
    for (uint cell = 0u; cell < cells; cell++) most += heap[cell] != before[cell] ? 1u : 0u;
  } else {
    for (uint group = 0u; group < groups; group++) {
      if (marks[group] == (ulong)0) continue;
      for (uint page = 8u * group; page < 8u * group + 8u; page++) {
        if (((marks[group] >> (8u * (page & 7u))) & (ulong)255) == (ulong)0) continue;
        const DEVICE ulong* words = marked + (ulong)PAGE_WORDS * (ulong)page;
        for (uint k = 0u; k < PAGE_WORDS; k++) most += (uint)((words[k] * (ulong)0x0101010101010101) >> 56);
      }
    }
  }
  io[4] = most;
  if (most > room) return;
  if (is_all != 0u) {
    for (uint cell = 0u; cell < cells; cell++) {
      if (collect_cell(deltas, count, cell, heap[cell], before + cell)) count += 1u;
    }
  }
  for (uint group = 0u; group < groups; group++) {
    if (marks[group] == (ulong)0) continue;
    for (uint page = 8u * group; page < 8u * group + 8u; page++) {
      if (((marks[group] >> (8u * (page & 7u))) & (ulong)255) == (ulong)0) continue;
      DEVICE ulong* words = marked + (ulong)PAGE_WORDS * (ulong)page;
      for (uint k = 0u; k < PAGE_WORDS; k++) {
        ulong word = words[k];
        if (word == (ulong)0) continue;
        words[k] = (ulong)0;
        for (uint cell = (page << MARK_SHIFT) + 8u * k; word != (ulong)0; cell++) {
          if ((word & (ulong)1) != (ulong)0 && collect_cell(deltas, count, cell, heap[cell], before + cell)) count += 1u;
          word >>= 8;
        }
      }
    }
    marks[group] = (ulong)0;
  }
  io[5] = count;
}
