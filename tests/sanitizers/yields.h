// Behind the kernel, in place of the scheduler of the sim device: the accesses as they are, and now and then a pause.

extern "C" int sched_yield();

static __thread uint yield_state;

static void yield_maybe() {
  yield_state = yield_state * 1664525u + 1013904223u + (uint)(ulong)&yield_state;
  if ((yield_state >> 24) == 0u) sched_yield();
}

static ulong sim_load64(const ulong* at) {
  yield_maybe();
  return *at;
}
static void sim_store64(ulong* at, ulong word) {
  yield_maybe();
  *at = word;
}
static uint sim_load32(const uint* at, bool acquire) {
  yield_maybe();
  return acquire ? __atomic_load_n(at, __ATOMIC_ACQUIRE) : __atomic_load_n(at, __ATOMIC_RELAXED);
}
static void sim_store32(uint* at, uint word, bool release) {
  yield_maybe();
  if (release) __atomic_store_n(at, word, __ATOMIC_RELEASE);
  else __atomic_store_n(at, word, __ATOMIC_RELAXED);
}
static uint sim_or32(uint* at, uint bits) {
  yield_maybe();
  return __atomic_fetch_or(at, bits, __ATOMIC_RELAXED);
}
static bool sim_swap_if32(uint* at, uint seen, uint word) {
  yield_maybe();
  return __atomic_compare_exchange_n(at, &seen, word, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED) != 0;
}
static void sim_op(uint op, uint slot, uint side) {
  (void)op; (void)slot; (void)side;
}
