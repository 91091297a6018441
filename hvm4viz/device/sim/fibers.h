// Fibers: each busy thread of a pass runs on a stack of its own, so that it can stop before any access to the heap and
// let another one go on.
//
// Invariants: no library is used, and all memory comes from the host (SimCall); one pass at a time is run in a process.

#define SIM_CANARY 0x5AFE5AFE5AFE5AFEul
#define SIM_FIBERS 64u  // most busy threads of a pass that is explored

struct SimFiber {
  void* stack;        // where it goes on
  const uint* known;  // visibility="live": up to which clock of each fiber it knows what that did; null: of none
  ulong past;         // hash of what it read and wrote
  uint thread;        // of the grid
  uint clock;         // accesses that others may see, so far
  uint cell, mask;    // the access that it is about to make: halves of a cell
  uint is_read;
  uint choice;        // which of the values it may read: 0 the newest
  uint is_done;
  uint spare;
};

// What the host asks for and is told; every field has 64 bits (dispatch.py).
struct SimCall {
  void** buffers;         // arguments of step_frontier
  ulong heap_cells;
  ulong busy;             // fibers
  SimFiber* fibers;
  char* stacks;
  ulong stack_bytes;
  uint* order;            // room for the fibers and a few more
  uint* heads;            // per cell, and per cell's visited bit: its newest event (memory.h)
  struct SimEvent* events;
  ulong events_max;
  uint* knowledge;
  ulong knowledge_max;
  ulong seed;
  // exploring
  struct SimTouch* touches;  // per half of a cell
  struct SimPart* parts;     // buffers that a pass changes
  ulong parts_count;
  struct SimFrame* frames;
  ulong frames_max;
  struct SimState* states;   // a table; its size is a power of two
  ulong states_max;
  ulong executions_max;
  struct SimEnd* ends;
  ulong ends_max;
  uint* choices;             // fiber << 16 | value, one a step
  ulong choices_max;
  ulong epoch;
  ulong is_reduced;          // leave out orders that cannot matter
  // told
  ulong choices_count;       // to be replayed; or of the ends, or of the path that met a fault
  ulong status;              // SIM_*
  ulong accesses;
  ulong fault, fault_op, fault_slot, fault_fiber;
  ulong ends_count, schedules, states_count, executions, longest;
};
#define SIM_OK 0ul
#define SIM_FAULT 1ul     // an operation that the protocol forbids
#define SIM_LIMIT 2ul     // more states, executions or steps than there is room for
#define SIM_MISFIT 3ul    // the choices to be replayed are not those of this pass
#define SIM_OVERFLOW 4ul  // a stack was too small

struct Sim {
  SimCall* call;
  SimFiber* current;
  void* host;          // where the host's own stack goes on
  const Params* params;
  const uint* owner;
  ulong* heap;
  ulong* visited;
  bool is_on;          // a pass with several busy threads is being run
  bool is_exploring;
  bool is_fixed;       // replaying: the shared words are given
  bool has_grown;      // a word has turned out to be shared
  bool is_full;        // no room for more events: from here on everybody reads the newest
  uint events, knowledge;
  ulong memory;        // hash of the order of writes
  ulong random;
  uint countdown;      // accesses until the next switch
  uint first, last;    // part of the order that is still to run
  uint changes, pace, stale;
};
static Sim sim;

static void sim_ended();

static void __attribute__((used)) sim_fiber_main() {
  SimFiber* me = sim.current;
  step_frontier_range(sim.call->buffers, me->thread, me->thread + 1u);
  me->is_done = 1u;
  sim_ended();
}

// Let a fiber stand in front of its thread's work.
static void sim_fiber_open(uint number) {
  SimCall* call = sim.call;
  SimFiber* fiber = call->fibers + number;
  char* base = call->stacks + number * call->stack_bytes;
  *(ulong*)base = SIM_CANARY;
  void** top = (void**)(base + call->stack_bytes);
#if defined(__x86_64__)
  top -= 2;  // where to return to, twice: the second is never used, but leaves the stack as a call does
  top[0] = (void*)sim_fiber_main;
  top[1] = 0;
#endif
  void** at = top - SIM_SAVED;
  for (uint i = 0u; i < SIM_SAVED; i++) at[i] = 0;
#if defined(__aarch64__)
  at[11] = (void*)sim_fiber_main;  // x30
#endif
  fiber->stack = at;
  fiber->known = 0;
  fiber->past = 0ul;
  fiber->clock = fiber->is_done = fiber->choice = 0u;
}

static void sim_resume(SimFiber* fiber) {
  sim.current = fiber;
  sim_switch(&sim.host, fiber->stack);
}

// Make ready for a pass; the host has said which threads are busy.
static void sim_open(SimCall* call) {
  sim.call = call;
  sim.params = (const Params*)call->buffers[SIM_PARAMS];
  sim.owner = (const uint*)call->buffers[SIM_OWNER];
  sim.heap = (ulong*)call->buffers[SIM_HEAP];
  sim.visited = (ulong*)call->buffers[SIM_VISITED];
  sim.is_exploring = sim.is_fixed = false;
  call->status = SIM_OK;
  call->fault = call->accesses = 0ul;
}

static void sim_begin() {
  sim.events = sim.knowledge = 1u;
  sim.is_full = sim.has_grown = false;
  sim.memory = 0ul;
  for (uint i = 0u; i < (uint)sim.call->busy; i++) sim_fiber_open(i);
}

static void sim_check_stacks() {
  SimCall* call = sim.call;
  for (uint i = 0u; i < (uint)call->busy; i++) {
    if (*(ulong*)(call->stacks + i * call->stack_bytes) != SIM_CANARY) call->status = SIM_OVERFLOW;
  }
}
