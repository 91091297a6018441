// Host threads that run a grid at once, so that a race detector sees what a real device may do.
//
// All of them wait at a gate, run the logical threads that fall to them, and wait at a second one: between the gates
// nothing orders one against another, however fast a dispatch is. (A pool that hands out work through locks would.)

#include <pthread.h>
#include <sched.h>
#include <stdint.h>

typedef void (*Range)(void** buffers, unsigned begin, unsigned end);

static pthread_barrier_t gate_in, gate_out;
static unsigned workers;
static Range job;
static void** job_buffers;
static unsigned job_count, job_seed;

static unsigned mix(unsigned x) {
  x ^= x >> 16;
  x *= 0x7feb352du;
  x ^= x >> 15;
  x *= 0x846ca68bu;
  return x ^ (x >> 16);
}

static void* work(void* argument) {
  const unsigned me = (unsigned)(uintptr_t)argument;
  for (;;) {
    pthread_barrier_wait(&gate_in);
    const unsigned count = job_count, seed = job_seed;
    for (unsigned k = 0; k < count; k++) {
      const unsigned i = seed & 1u ? count - 1u - k : k;
      if (mix(seed + i) % workers != me) continue;
      if ((mix(seed ^ i) & 3u) == 0u) sched_yield();
      job(job_buffers, i, i + 1u);
    }
    pthread_barrier_wait(&gate_out);
  }
  return 0;
}

extern "C" int threads_start(unsigned n) {
  workers = n;
  pthread_barrier_init(&gate_in, 0, n + 1u);
  pthread_barrier_init(&gate_out, 0, n + 1u);
  for (unsigned i = 0; i < n; i++) {
    pthread_t thread;
    if (pthread_create(&thread, 0, work, (void*)(uintptr_t)i)) return 0;
    pthread_detach(thread);
  }
  return 1;
}

extern "C" void threads_run(Range range, void** buffers, unsigned count, unsigned seed) {
  job = range;
  job_buffers = buffers;
  job_count = count;
  job_seed = seed;
  pthread_barrier_wait(&gate_in);
  pthread_barrier_wait(&gate_out);
}
