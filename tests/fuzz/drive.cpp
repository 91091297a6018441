// Behind the kernel text: lay an image into a heap of fixed size and run passes on it, without the host's pass loop.
// Every buffer is an allocation of its own and of exactly its size, so that a sanitizer sees the first byte too far.

extern "C" void* calloc(unsigned long, unsigned long);
extern "C" void free(void*);
extern "C" void* memcpy(void*, const void*, unsigned long);

#define FREE_REGIONS 24u
#define ENTRIES 1024u
#define SLACK_ITEMS 16u

template <typename T> static T* take(ulong n) { return (T*)calloc(n, sizeof(T)); }

static ulong steps_done = 0;

// settings: threads, log2 of threads a block, log2 of region size, flags, fuel, passes, cells of a slot and of a binder, rules
// out: steps, interactions, passes, how it ended (0 done, 1 parked, 2 passes used up, 3 stopped, 4 buffers too small);
// then interactions by rule
extern "C" __attribute__((visibility("default"))) void fuzz_drive(
    const ulong* image, uint image_regions, uint root, const ulong* code, uint code_cells, const uint* defined,
    uint definitions, const uint* settings, ulong* out) {
  const uint threads = settings[0], tpb_shift = settings[1], region_shift = settings[2], rules = settings[8];
  const uint blocks = threads >> tpb_shift, regions = image_regions + FREE_REGIONS, cells = regions << region_shift;
  const uint slice_shift = region_shift - tpb_shift;
  Params* params = take<Params>(1);
  ulong* heap = take<ulong>(cells);
  ulong* book = take<ulong>(code_cells);
  uint* roots = take<uint>(definitions);
  uint* owner = take<uint>(regions);
  uint* chain = take<uint>(regions);
  Atomic32* used = take<Atomic32>(regions);
  Atomic32* remote = take<Atomic32>(regions);
  ThreadState* states = take<ThreadState>(threads);
  ulong* turns[2] = {take<ulong>(ENTRIES), take<ulong>(ENTRIES)};
  Record* records = take<Record>(ENTRIES);
  ulong* items = take<ulong>(ENTRIES + SLACK_ITEMS * threads);
  Event* events = take<Event>(ENTRIES);
  uint* counts = take<uint>(rules * threads);
  ulong* totals = take<ulong>(rules);
  Atomic32* visited = take<Atomic32>(cells / 32u + 1u);
  uint* stack = take<uint>(ENTRIES);
  uint* cursor = take<uint>(threads + 2u * blocks);
  Summary* sum = take<Summary>(1);
  uint* sizes = take<uint>(3);
  uint* inject = take<uint>(ENTRIES);
  uint* work = take<uint>(4096);
  uint* found = take<uint>(ENTRIES - 1u);
  uint* io = take<uint>(5);
  uint* seen = take<uint>(cells / 32u + 1u);
  ulong* none = take<ulong>(1);

  memcpy(heap, image, (ulong)(image_regions << region_shift) * 8u);
  memcpy(book, code, (ulong)code_cells * 8u);
  memcpy(roots, defined, (ulong)definitions * 4u);
  const Params given = {threads, tpb_shift, region_shift, slice_shift, 0u, settings[4], settings[6], settings[7],
                        rules, settings[3], settings[5] & 1u, SLACK_ITEMS, 0u, regions, 1u, 0u};
  *params = given;
  for (uint r = 0u; r < regions; r++) {
    owner[r] = r % blocks;
    chain[r] = r >= image_regions && r + blocks < regions ? r + blocks : 0xFFFFFFFFu;
  }
  for (uint t = 0u; t < threads; t++) {
    uint region = image_regions;
    while (region % blocks != t >> tpb_shift) region++;
    states[t].region = region;
    states[t].next = (region << region_shift) + ((t & ((1u << tpb_shift) - 1u)) << slice_shift);
    states[t].end = states[t].next + (1u << slice_shift);
  }
  sizes[0] = ENTRIES; sizes[1] = ENTRIES + SLACK_ITEMS * threads; sizes[2] = ENTRIES;
  inject[0] = 1u;
  inject[1] = root;
  steps_done = 0;
  ulong interactions = 0;
  uint turn = 0u, pass = 0u, end = 2u, late = 0u;
  bool fresh = true;
  for (;;) {
    if (!fresh) {
      if (pass >= settings[5]) break;
      params->now = pass + 1u;
      params->width = sum->frontier;
      for (uint t = 0u; t < threads; t++) {
        step_frontier(params, heap, book, roots, owner, chain, used, remote, states, turns[turn], records, items, events,
                      counts, visited, none, (uchar*)none, (Atomic32*)none, (pass & 1u) != 0u ? threads - 1u - t : t);
      }
      pass += 1u;
    }
    sum->status = SUM_POISON;
    join_frontier(params, states, turns[turn], turns[1u - turn], records, items, events, stack, cursor, owner, sum, counts,
                  totals, sizes, inject, (Atomic32*)heap, none, (uchar*)none, 0u);
    if (sum->status != SUM_JOINED) { end = 4u; break; }
    interactions += sum->interactions_lo;
    for (uint r = 0u; r < rules && !fresh; r++) out[4u + r] += totals[r];
    inject[0] = 0u;
    turn = 1u - turn;
    fresh = false;
    if (sum->stopped != 0u) { end = 3u; break; }
    if (sum->frontier != 0u) continue;
    if (sum->parked != 0u) { end = 1u; break; }
    end = 0u;
    if (late++ == 2u) break;
    io[0] = root; io[1] = 4096u; io[2] = ENTRIES - 1u; io[3] = io[4] = 0u;
    for (uint i = 0u; i < cells / 32u + 1u; i++) seen[i] = 0u;
    settle_frontier(params, heap, roots, work, found, io, seen, none, (uchar*)none, 0u);
    if (io[3] != 0u || io[4] == 0u) break;
    for (uint i = 0u; i < cells / 32u + 1u; i++) visited[i] = 0u;
    for (uint i = 0u; i < io[4]; i++) inject[i + 1u] = found[i];
    inject[0] = io[4];
    for (uint t = 0u; t < threads; t++) states[t].count = 0u;
    fresh = true;
    end = 2u;
  }
  out[0] = steps_done; out[1] = interactions; out[2] = pass; out[3] = end;
  free(params); free(heap); free(book); free(roots); free(owner); free(chain); free(used); free(remote); free(states);
  free(turns[0]); free(turns[1]); free(records); free(items); free(events); free(counts); free(totals); free(visited);
  free(stack); free(cursor); free(sum); free(sizes); free(inject); free(work); free(found); free(io); free(seen); free(none);
}
