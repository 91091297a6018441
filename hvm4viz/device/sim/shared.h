// Which words are shared: two threads touch them, and one writes them. It is found out by running, and never forgotten
// while a pass is explored.

struct SimTouch {
  ulong readers, writers;  // a bit a fiber
};

static bool sim_is_shared(const SimTouch* touch) {
  const ulong all = touch->readers | touch->writers;
  return touch->writers != 0ul && (all & (all - 1ul)) != 0ul;
}

// Note who touches a word; is it shared?
static bool sim_touch(uint cell, uint mask, bool is_read) {
  const ulong me = 1ul << (uint)(sim.current - sim.call->fibers);
  bool is_shared[2] = {false, false};
  for (uint i = 0u; i < 2u; i++) {
    if ((mask & (i == 0u ? SIM_LOW : SIM_HIGH)) == 0u) continue;
    SimTouch* touch = sim.call->touches + 2ul * cell + i;
    const ulong writers = touch->writers;
    const bool was_shared = sim_is_shared(touch);
    if (!sim.is_fixed) {
      if (is_read) touch->readers |= me;
      else touch->writers |= me;
    }
    is_shared[i] = sim_is_shared(touch);
    sim.has_grown = sim.has_grown || (is_shared[i] && (!was_shared || touch->writers != writers));
  }
  if (mask == SIM_BOTH && is_shared[0] != is_shared[1]) {  // read and written whole: shared whole
    SimTouch* other = sim.call->touches + 2ul * cell + (is_shared[0] ? 1u : 0u);
    other->readers = other->writers = ~0ul;
    sim.has_grown = true;
  }
  return is_shared[0] || is_shared[1];
}
