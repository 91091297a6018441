// A seeded schedule: who runs, and which of the values that a read may see it sees, drawn anew for each pass.
//
// Half of the passes switch at random, every few accesses; the other half give each thread a priority, run the highest,
// and let whoever runs fall to the lowest priority at one to three places (Burckhardt et al., 2010).
//
// Invariants: the same seed and pass give the same schedule and the same choices.

#define SIM_ENDLESS 0xFFFFFFFFu

static ulong sim_draw() {
  sim.random += 0x9E3779B97F4A7C15ul;
  return sim_mix(sim.random, 0x2545F4914F6CDD1Dul);
}
static uint sim_below(uint n) { return (uint)(((sim_draw() >> 32) * (ulong)n) >> 32); }

// How stale a read is: always the newest value, one of all, mostly the newest, always the oldest.
static uint sim_pick(uint n) {
  switch (sim.stale) {
    case 0u: return 0u;
    case 1u: return sim_below(n);
    case 2u: return sim_below(8u) == 0u ? sim_below(n) : 0u;
    default: return n - 1u;
  }
}

// Accesses until the next switch.
static uint sim_until() {
  if (sim.pace != 0u) return 1u + sim_below(2u * sim.pace - 1u);
  if (sim.changes == 0u) return SIM_ENDLESS;
  sim.changes -= 1u;
  return 1u + sim_below(1u << (1u + sim_below(20u)));
}

// Who goes on: with priorities the first in the order, else anybody; the one that runs lies at `first`.
static void sim_elect() {
  uint* order = sim.call->order;
  if (sim.pace == 0u) return;
  const uint other = sim.first + sim_below(sim.last - sim.first), fiber = order[other];
  order[other] = order[sim.first];
  order[sim.first] = fiber;
}

static bool sim_before_access(uint cell, uint mask, bool is_read) {
  sim.call->accesses += 1ul;
  if (sim.is_exploring) return sim_offer(cell, mask, is_read);
  SimFiber* me = sim.current;
  if (--sim.countdown == 0u) {
    sim.countdown = sim_until();
    if (sim.pace == 0u) sim.call->order[sim.last++] = sim.call->order[sim.first++];
    sim_elect();
    SimFiber* other = sim.call->fibers + sim.call->order[sim.first];
    if (other != me) {
      sim.current = other;
      sim_switch(&me->stack, other->stack);
    }
  }
  me->clock += 1u;
  return true;
}

static void sim_ended() {
  SimFiber* me = sim.current;
  if (!sim.is_exploring && ++sim.first < sim.last) {
    sim_elect();
    sim.current = sim.call->fibers + sim.call->order[sim.first];
    sim_switch(&me->stack, sim.current->stack);
  }
  sim_switch(&me->stack, sim.host);
}

// Run a pass under the schedule of a seed.
ENTRY(sim_random)(SimCall* call) {
  sim_open(call);
  sim.random = sim_mix(call->seed, sim.params->now);
  const uint busy = (uint)call->busy;
  uint* order = call->order;
  for (uint i = 0u; i < busy; i++) {
    const uint other = sim_below(i + 1u);
    order[i] = order[other];
    order[other] = i;
  }
  sim.first = 0u;
  sim.last = busy;
  sim.pace = sim_below(2u) == 0u ? 0u : 1u << (2u * sim_below(5u));
  sim.changes = 1u + sim_below(3u);
  sim.stale = sim_below(4u);
  sim.countdown = sim_until();
  sim_begin();
  sim.is_on = true;
  sim_resume(call->fibers + order[0]);
  sim.is_on = false;
  sim_check_stacks();
  if (call->status == SIM_OK && call->fault != 0ul) call->status = SIM_FAULT;
}
