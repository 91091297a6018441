// What the kernel calls (watch.h): accesses to the heap, and operations on slots, which must keep the invariants of the
// protocol after every step: who does what to a slot.
//
// Invariants: outside a pass with several busy threads, these are plain accesses.

static ulong sim_load64(const ulong* at) { return sim.is_on ? sim_read(at, SIM_BOTH, false) : *at; }

static void sim_store64(ulong* at, ulong word) {
  if (sim.is_on) sim_write(at, SIM_BOTH, word, false);
  else *at = word;
}

static uint sim_load32(const uint* at, bool is_acquire) {
  if (!sim.is_on) return *at;
  const uint mask = sim_half(at);
  const ulong cell = sim_read(at, mask, is_acquire);
  return mask == SIM_HIGH ? (uint)(cell >> 32) : (uint)cell;
}

static void sim_store32(uint* at, uint word, bool is_release) {
  if (sim.is_on) sim_write(at, sim_half(at), word, is_release);
  else *at = word;
}

static uint sim_or32(uint* at, uint bits) {
  if (!sim.is_on) {
    const uint before = *at;
    *at = before | bits;
    return before;
  }
  const bool is_mark = sim_is_mark(at);
  const uint cell = is_mark ? sim_mark(at, bits) : sim_cell(at), mask = is_mark ? SIM_LOW : sim_half(at);
  const bool is_told = sim_before_access(cell, mask, false);
  if (is_told) sim_read_newest(cell, mask);
  const uint before = *at;
  sim_modify(at, cell, mask, before | bits, is_told);
  return before;
}

static bool sim_swap_if32(uint* at, uint seen, uint word) {
  if (!sim.is_on) {
    if (*at != seen) return false;
    *at = word;
    return true;
  }
  const uint cell = sim_cell(at), mask = sim_half(at);
  const bool is_told = sim_before_access(cell, mask, false);
  if (is_told) sim_read_newest(cell, mask);
  if (*at != seen) return false;
  sim_modify(at, cell, mask, word, is_told);
  return true;
}

// ---- operations on slots

#define SIM_HELD 1ul
#define SIM_PUBLISHED 2ul
#define SIM_NOT_HELD 3ul
#define SIM_UNPUBLISHED 4ul
#define SIM_FOREIGN 5ul

// The slot must be what the operation needs it to be, and the thread must have the right to it.
static void sim_op(uint op, uint slot, uint side) {
  (void)side;
  if (!sim.is_on || sim.call->fault != 0ul) return;
  const uint flags = sim.params->flags;
  const bool by_claim = (flags & PARAM_CLAIM) != 0u;
  const Term word = sim.heap[slot];
  const bool is_published = (word & SUB_BIT) != 0ul, is_held = !is_published && term_tag(word) >= F_ROOT;
  ulong fault = 0ul;
  switch (op) {
    case OP_READ: fault = is_published ? 0ul : SIM_UNPUBLISHED; break;
    case OP_TAKE: fault = is_held ? SIM_HELD : is_published ? SIM_PUBLISHED : 0ul; break;
    case OP_PUBLISH: case OP_STUCK: fault = is_published ? SIM_PUBLISHED : is_held ? 0ul : SIM_NOT_HELD; break;
    case OP_RELEASE: fault = is_published ? SIM_PUBLISHED : is_held || by_claim ? 0ul : SIM_NOT_HELD; break;
    default: break;
  }
  if (op != OP_READ && op != OP_WAKE && (flags & (PARAM_CLAIM | PARAM_ATOMIC)) == 0u) {
    const uint inside = slot & ((1u << sim.params->region_shift) - 1u), shift = sim.params->tpb_shift;
    const uint owner = (sim.owner[slot >> sim.params->region_shift] << shift) + (inside >> sim.params->slice_shift);
    const uint me = sim.current->thread;
    if ((flags & PARAM_BLOCK) != 0u ? owner >> shift != me >> shift : owner != me) fault = fault == 0ul ? SIM_FOREIGN : fault;
  }
  if (fault == 0ul) return;
  sim.call->fault = fault;
  sim.call->fault_op = op;
  sim.call->fault_slot = slot;
  sim.call->fault_fiber = (ulong)(sim.current - sim.call->fibers);
}
