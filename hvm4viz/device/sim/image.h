// What a pass may change: kept before a schedule, put back after it, and told from what other schedules leave.
//
// Invariants: who counts an interaction that two threads could count depends on the order, the sums do not; who touched a
// word last, as the shadow has it, is no part of what a pass leaves.

#define SIM_PLAIN 0ul
#define SIM_PER_THREAD 1ul  // ThreadState: who counts an interaction may depend on the order, the sum may not
#define SIM_RULES 2ul       // likewise
#define SIM_LOG 3ul         // what is in front of the log: how much of it is used
#define SIM_SHADOW 4ul      // who touched a word last depends on the order

struct SimPart {  // a buffer that a pass changes; its bytes are a multiple of 4
  uint* words;
  ulong count, kind;
  uint* saved;
};

static void sim_copy(uint* to, const uint* from, ulong count) {
  for (ulong i = 0ul; i < count; i++) to[i] = from[i];
}

static void sim_save(bool is_back) {
  const SimCall* call = sim.call;
  for (ulong k = 0ul; k < call->parts_count; k++) {
    const SimPart* part = call->parts + k;
    if (is_back) sim_copy(part->words, part->saved, part->count);
    else sim_copy(part->saved, part->words, part->count);
  }
}

static ulong sim_hash(ulong h, const uint* words, ulong count) {
  for (ulong i = 0ul; i + 1ul < count; i += 2ul) {
    h = (h ^ words[i] ^ ((ulong)words[i + 1ul] << 32)) * 0x9E3779B97F4A7C15ul;
    h ^= h >> 32;
  }
  return sim_mix(h, (count & 1ul) != 0ul ? ((ulong)words[count - 1ul] << 32) | count : count);
}

// Hash of all that the pass left behind.
static ulong sim_image() {
  const SimCall* call = sim.call;
  ulong h = 0ul;
  for (ulong k = 0ul; k < call->parts_count; k++) {
    const SimPart* part = call->parts + k;
    if (part->kind == SIM_PLAIN) {
      h = sim_hash(h, part->words, part->count);
    } else if (part->kind == SIM_PER_THREAD) {
      ulong counted = 0ul;
      for (uint t = 0u; t < sim.params->threads; t++) {
        ThreadState state = ((const ThreadState*)part->words)[t];
        counted += state.counted_lo;
        state.counted_lo = 0u;
        h = sim_hash(h, (const uint*)&state, sizeof(ThreadState) / 4ul);
      }
      h = sim_mix(h, counted);
    } else if (part->kind == SIM_RULES) {
      for (ulong r = 0ul; r < sim.params->rules && r < part->count; r++) {
        ulong fired = 0ul;
        for (ulong at = r; at < part->count; at += sim.params->rules) fired += part->words[at];
        h = sim_mix(h, fired);
      }
    } else if (part->kind == SIM_LOG) {
      const ulong* log = (const ulong*)part->words;
      ulong chunks = 0ul;  // which thread takes which chunk depends on the order
      for (ulong i = 0ul; i < log[0] && i < (ulong)(uint)log[1]; i++) {
        const ulong* chunk = log + LOG_HEAD + i * LOG_CHUNK;
        chunks += sim_hash(0ul, (const uint*)chunk, 4ul + 2ul * (chunk[1] < LOG_ROOM ? chunk[1] : LOG_ROOM));
      }
      h = sim_mix(sim_mix(h, chunks), log[2]);
    }
  }
  return h;
}

// Did two threads meet where the protocol forbids it, as the shadow says?
static bool sim_has_conflict() {
  for (ulong k = 0ul; k < sim.call->parts_count; k++) {
    if (sim.call->parts[k].kind == SIM_SHADOW && sim.call->parts[k].words[0] != 0u) return true;
  }
  return false;
}
