// All schedules of one pass: every order of accesses to shared words, and every value that a read may see.
//
// A word is shared when two threads touch it and one writes it; which words are is found out by running, and the search
// begins anew when there is one more. Accesses to other words cannot be told apart by their order. The search goes depth
// first and runs each path from the start. Two paths lead to the same state when in both every thread has read the same
// writes and every cell was written in the same order: what follows is explored once, and the number of schedules behind
// a state is kept, so that the schedules are counted all the same.
//
// Reduced, the search leaves out orders that cannot matter. A read does not hinder anybody, and what it could see before
// a write it can see after it. So a thread that is about to write a word that no other will write goes first, and alone;
// likewise one about to read a word that nobody will write any more. Who may still write a word is found out by running,
// too: those that did in some schedule and have not ended in this one.
//
// Invariants: the host's buffers are as before the pass when a path starts.

struct SimFrame {
  ulong key, total;
  uint fiber, choice;
  unsigned short counts[SIM_FIBERS];  // what each fiber may choose from; 0: it is done
};

struct SimState {
  ulong key, total, epoch;
};

struct SimEnd {
  ulong image, first, count;
};

static bool sim_offer(uint cell, uint mask, bool is_read) {
  if (!sim_touch(cell, mask, is_read)) return false;
  SimFiber* me = sim.current;
  me->cell = cell;
  me->mask = mask;
  me->is_read = is_read ? 1u : 0u;
  sim_switch(&me->stack, sim.host);
  me->clock += 1u;
  return true;
}

static ulong sim_key() {
  ulong key = sim.memory;
  for (uint i = 0u; i < (uint)sim.call->busy; i++) key ^= sim_mix(sim.call->fibers[i].past, i + 1u);
  return key;
}

// The place of a state in the table, or a free one; null: the table is full.
static SimState* sim_find(ulong key) {
  const ulong size = sim.call->states_max, epoch = sim.call->epoch;
  for (ulong i = 0ul; i < size; i++) {
    SimState* state = sim.call->states + ((key + i) & (size - 1ul));
    if (state->epoch != epoch || state->key == key) return state;
  }
  return 0;
}

// Bring every fiber to its first shared access.
static void sim_start() {
  sim_begin();
  for (uint i = 0u; i < (uint)sim.call->busy && !sim.has_grown; i++) sim_resume(sim.call->fibers + i);
}

static uint sim_choices(uint fiber) {
  const SimFiber* it = sim.call->fibers + fiber;
  if (it->is_done != 0u) return 0u;
  const uint n = it->is_read != 0u ? sim_count(it, it->cell, it->mask) : 1u;
  return n < 0xFFFFu ? n : 0xFFFFu;
}

static void sim_take(uint fiber, uint choice) {
  sim.call->fibers[fiber].choice = choice;
  sim_resume(sim.call->fibers + fiber);
}

// Keep the path as one that is to be shown: how a state at the end was reached, or how a fault was met.
static bool sim_keep_path(ulong depth) {
  SimCall* call = sim.call;
  if (call->choices_count + depth > call->choices_max) return false;
  for (ulong i = 0ul; i < depth; i++) {
    call->choices[call->choices_count++] = (call->frames[i].fiber << 16) | call->frames[i].choice;
  }
  return true;
}

static bool sim_note_end(ulong depth) {
  SimCall* call = sim.call;
  const ulong image = sim_image();
  for (ulong i = 0ul; i < call->ends_count; i++) {
    if (call->ends[i].image == image) return true;
  }
  if (call->ends_count == call->ends_max) return false;
  SimEnd* end = call->ends + call->ends_count++;
  end->image = image;
  end->first = call->choices_count;
  end->count = depth;
  return sim_keep_path(depth);
}

// May no other fiber write what this one is about to read or write?
static bool sim_is_alone(uint fiber, ulong running) {
  const SimFiber* it = sim.call->fibers + fiber;
  const SimTouch* touch = sim.call->touches + 2ul * it->cell;
  const ulong writers = ((it->mask & SIM_LOW) != 0u ? touch[0].writers : 0ul) |
                        ((it->mask & SIM_HIGH) != 0u ? touch[1].writers : 0ul);
  return (writers & running & ~(1ul << fiber)) == 0ul;
}

// What can be chosen from in this state; true: nothing, it is the end.
static bool sim_open_frame(SimFrame* frame, ulong key, bool is_reduced) {
  const uint busy = (uint)sim.call->busy;
  ulong running = 0ul;
  frame->key = key;
  frame->total = 0ul;
  frame->fiber = frame->choice = 0u;
  for (uint i = busy; i > 0u; i--) {
    frame->counts[i - 1u] = (unsigned short)sim_choices(i - 1u);
    if (frame->counts[i - 1u] == 0u) continue;
    frame->fiber = i - 1u;
    running |= 1ul << (i - 1u);
  }
  for (uint i = 0u; is_reduced && i < busy; i++) {
    if (frame->counts[i] == 0u || !sim_is_alone(i, running)) continue;
    for (uint k = 0u; k < busy; k++) frame->counts[k] = k == i ? frame->counts[k] : (unsigned short)0;
    frame->fiber = i;
    break;
  }
  return running == 0ul;
}

static bool sim_next_choice(SimFrame* frame) {
  if (frame->choice + 1u < frame->counts[frame->fiber]) {
    frame->choice += 1u;
    return true;
  }
  for (uint i = frame->fiber + 1u; i < (uint)sim.call->busy; i++) {
    if (frame->counts[i] == 0u) continue;
    frame->fiber = i;
    frame->choice = 0u;
    return true;
  }
  return false;
}

// Follow the path to where it is new, and on to a state that is known, or to the end; how many schedules lie behind it?
// 0: the search must begin anew, or cannot go on (status).
static ulong sim_follow(ulong* depth) {
  SimCall* call = sim.call;
  sim_save(true);
  sim_start();
  for (ulong d = 0ul;; d++) {
    if (sim.has_grown) return 0ul;
    if (call->fault != 0ul || (d >= *depth && sim_has_conflict())) {
      call->status = SIM_FAULT;
      call->choices_count = 0ul;
      sim_keep_path(d);
      return 0ul;
    }
    if (d == *depth) {
      if (d > call->longest) call->longest = d;
      const ulong key = sim_key();
      const SimState* known = sim_find(key);
      if (known != 0 && known->epoch == call->epoch) return known->total;
      if (known == 0 || call->states_count > call->states_max / 8ul * 7ul || d == call->frames_max) {
        call->status = SIM_LIMIT;
        return 0ul;
      }
      if (sim_open_frame(call->frames + d, key, call->is_reduced != 0ul)) {
        if (sim_note_end(d)) return 1ul;
        call->status = SIM_LIMIT;
        return 0ul;
      }
      *depth += 1ul;
    }
    sim_take(call->frames[d].fiber, call->frames[d].choice);
  }
}

// Run all schedules of a pass.
ENTRY(sim_explore)(SimCall* call) {
  sim_open(call);
  sim.is_exploring = true;
  sim_save(false);
  call->executions = 0ul;
  ulong depth = 0ul;
  sim.has_grown = true;
  sim.is_on = true;
  for (;;) {
    if (sim.has_grown) {
      call->epoch += 1ul;
      call->ends_count = call->choices_count = call->schedules = call->states_count = call->longest = depth = 0ul;
    }
    ulong total = sim_follow(&depth);
    if (sim.has_grown) continue;
    if (call->status == SIM_OK && ++call->executions > call->executions_max) call->status = SIM_LIMIT;
    if (call->status != SIM_OK) break;
    while (depth > 0ul) {
      SimFrame* frame = call->frames + (depth - 1ul);
      const ulong sum = frame->total + total;
      frame->total = sum < frame->total ? ~0ul : sum;
      if (sim_next_choice(frame)) break;
      SimState* state = sim_find(frame->key);
      state->key = frame->key;
      state->total = total = frame->total;
      state->epoch = call->epoch;
      call->states_count += 1ul;
      depth -= 1ul;
    }
    if (depth == 0ul) {
      call->schedules = total;
      break;
    }
  }
  sim_save(true);
  sim.is_on = false;
  if (call->status == SIM_OK) sim_check_stacks();
}

// Run one schedule of a pass: the given choices, then the first that is possible. The shared words are those that the
// touches name.
ENTRY(sim_replay)(SimCall* call) {
  sim_open(call);
  sim.is_exploring = sim.is_fixed = true;
  sim.is_on = true;
  sim_start();
  for (ulong d = 0ul;; d++) {
    SimFrame* frame = call->frames;
    if (sim_open_frame(frame, 0ul, false)) {
      if (d < call->choices_count) call->status = SIM_MISFIT;
      break;
    }
    if (d < call->choices_count) {
      frame->fiber = call->choices[d] >> 16;
      frame->choice = call->choices[d] & 0xFFFFu;
    }
    if (frame->fiber >= (uint)call->busy || frame->choice >= frame->counts[frame->fiber]) {
      call->status = SIM_MISFIT;
      frame->fiber = frame->choice = 0u;
      while (frame->counts[frame->fiber] == 0u) frame->fiber += 1u;
    }
    sim_take(frame->fiber, frame->choice);
  }
  sim.is_on = false;
  if (call->status == SIM_OK) sim_check_stacks();
  if (call->status == SIM_OK && call->fault != 0ul) call->status = SIM_FAULT;
}
