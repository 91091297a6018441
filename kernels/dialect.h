// Stands in for <metal_stdlib> under C++ and CUDA: address spaces, entry points, 32-bit relaxed atomics.
// This is the only file that asks which compiler reads it.
//
// Invariants: nothing that Metal runs has an order stronger than relaxed (acquire and release serve visibility="live",
// on C++ and CUDA only); no 64-bit atomic exists; everything else in the kernel is plain code in the common subset of
// MSL 2.3, C++14 and CUDA C++.

#if defined(__METAL_VERSION__)
#include <metal_stdlib>
using namespace metal;
#define DEVICE device
#define THREAD thread
#define CONSTANT constant
#define ENTRY(name) kernel void name
#define BUFFER(type, name, slot) device type* name [[buffer(slot)]]
#define GRID_INDEX uint index [[thread_position_in_grid]]
#define FUNC static inline
#define CALL static __attribute__((noinline))
#define LOOP FUNC  // the loop over the steps of a task
#define NEAR_CALL CALL  // small and hot: where it is called under C++, in one place where code has to be small
typedef atomic_uint Atomic32;
FUNC uint atomic_read(device Atomic32* at) { return atomic_load_explicit(at, memory_order_relaxed); }
FUNC void atomic_write(device Atomic32* at, uint word) { atomic_store_explicit(at, word, memory_order_relaxed); }
FUNC uint atomic_or(device Atomic32* at, uint bits) { return atomic_fetch_or_explicit(at, bits, memory_order_relaxed); }
FUNC bool atomic_swap_if(device Atomic32* at, uint seen, uint word) {  // strong: a weak one may fail for no reason
  uint found = seen;
  while (!atomic_compare_exchange_weak_explicit(at, &found, word, memory_order_relaxed, memory_order_relaxed)) {
    if (found != seen) return false;
  }
  return true;
}
// no order but relaxed exists here: visibility="live" is refused on metal
FUNC uint atomic_read_acquire(device Atomic32* at) { return atomic_read(at); }
FUNC void atomic_write_release(device Atomic32* at, uint word) { atomic_write(at, word); }
FUNC uint atomic_next(device Atomic32* at, uint n) { return atomic_fetch_add_explicit(at, n, memory_order_relaxed); }
FUNC void atomic_plus(device Atomic32* at, uint n) { atomic_fetch_add_explicit(at, n, memory_order_relaxed); }
FUNC void atomic_top(device Atomic32* at, uint n) { atomic_fetch_max_explicit(at, n, memory_order_relaxed); }
FUNC void byte_set(device uchar* at) { *at = 1; }  // all who do it do the same
FUNC bool byte_is_set(device const uchar* at) { return *at != 0; }

#elif defined(__CUDACC__) || defined(__CUDACC_RTC__)
typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned int uint;
typedef unsigned long long ulong;
#define DEVICE
#define THREAD
#define CONSTANT __constant__ const
#define ENTRY(name) extern "C" __global__ void name
#define BUFFER(type, name, slot) type* name
#define GRID_INDEX uint first  // thread of this dispatch: several GPUs share a grid
#define GRID_INDEX_BODY const uint index = first + blockIdx.x * blockDim.x + threadIdx.x;
// Neighbours in the grid stand in different warps: a narrow frontier fills lane 0 of all of them first, and lanes of one
// warp wait for each other.
#define GRID_SPREAD_BODY \
  const uint at = blockIdx.x * blockDim.x + threadIdx.x; \
  const uint index = first + (at & 31u) * (gridDim.x * blockDim.x / 32u) + at / 32u;
#define FUNC static __device__ __forceinline__
#define CALL static __device__ __noinline__  // in one place: the code has to fit the instruction caches
#define LOOP CALL
#define NEAR_CALL CALL
#define NEAR_LOOP 1
#define NEAR_LOADS 1  // words that say something only once they are old are read through the nearest cache
// The lanes of a warp go step by step together, or each would go its own way to the end.
#define LANES(live) __ballot_sync(__activemask(), live)
#define ANY_LANE(lanes, live) __any_sync(lanes, live)
#define LANES_WHERE(lanes, so) __ballot_sync(lanes, so)
#define LANE_WORD(lanes, word, lane) __shfl_sync(lanes, word, lane)
#define LANE_FIRST(lanes) ((uint)__ffs((int)(lanes)) - 1u)
#define LANE_COUNT(lanes) ((uint)__popc(lanes))
#define STEPS_ALONE false
typedef unsigned int Atomic32;
FUNC uint atomic_read(Atomic32* at) { return *(volatile uint*)at; }
FUNC void atomic_write(Atomic32* at, uint word) {
  asm volatile("" ::: "memory");  // cells are read as whole words, too
  *(volatile uint*)at = word;
  asm volatile("" ::: "memory");
}
#ifdef MANY_GPUS  // a line in front of the text says so
#define WIDE(name) name##_system
#else
#define WIDE(name) name
#endif
FUNC uint atomic_or(Atomic32* at, uint bits) { return WIDE(atomicOr)(at, bits); }
FUNC bool atomic_swap_if(Atomic32* at, uint seen, uint word) { return WIDE(atomicCAS)(at, seen, word) == seen; }
FUNC uint atomic_next(Atomic32* at, uint n) { return WIDE(atomicAdd)(at, n); }
FUNC void atomic_plus(Atomic32* at, uint n) { WIDE(atomicAdd)(at, n); }
FUNC void atomic_top(Atomic32* at, uint n) { WIDE(atomicMax)(at, n); }
FUNC void byte_set(uchar* at) { *at = 1; }
FUNC bool byte_is_set(const uchar* at) { return *at != 0; }
FUNC uint atomic_read_acquire(Atomic32* at) {
  const uint word = *(volatile uint*)at;
  __threadfence();
  return word;
}
FUNC void atomic_write_release(Atomic32* at, uint word) {
  __threadfence();
  atomic_write(at, word);
}

#else  // C++14, freestanding: no standard library is included or linked
typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned int uint;
typedef unsigned long long ulong;
#define DEVICE
#define THREAD
#define CONSTANT static const
#if defined(_WIN32)
#define ENTRY(name) extern "C" __declspec(dllexport) void name
#else
#define ENTRY(name) extern "C" __attribute__((visibility("default"))) void name
#endif
#define BUFFER(type, name, slot) type* name
#define GRID_INDEX uint index
#ifdef WATCH_YIELD  // threads on small stacks of their own, and it need not be fast
#define FUNC static inline __attribute__((unused))
#else
#define FUNC static inline __attribute__((unused, always_inline))
#endif
#define CALL static __attribute__((unused, noinline))  // in one place, as under CUDA: what is hot stays small
#define COUNTS_ALWAYS true  // adding to a counter costs a host no more than asking whether to
#define LOOP CALL
#define NEAR_CALL FUNC
typedef unsigned int Atomic32;
FUNC uint atomic_read(Atomic32* at) { return __atomic_load_n(at, __ATOMIC_RELAXED); }
FUNC void atomic_write(Atomic32* at, uint word) { __atomic_store_n(at, word, __ATOMIC_RELAXED); }
FUNC uint atomic_or(Atomic32* at, uint bits) { return __atomic_fetch_or(at, bits, __ATOMIC_RELAXED); }
FUNC bool atomic_swap_if(Atomic32* at, uint seen, uint word) {
  return __atomic_compare_exchange_n(at, &seen, word, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED) != 0;
}
FUNC uint atomic_next(Atomic32* at, uint n) { return __atomic_fetch_add(at, n, __ATOMIC_RELAXED); }
FUNC void atomic_plus(Atomic32* at, uint n) { __atomic_fetch_add(at, n, __ATOMIC_RELAXED); }
FUNC void atomic_top(Atomic32* at, uint n) {
  uint seen = atomic_read(at);
  while (seen < n && !__atomic_compare_exchange_n(at, &seen, n, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {}
}
FUNC void byte_set(uchar* at) { __atomic_store_n(at, (uchar)1, __ATOMIC_RELAXED); }
FUNC bool byte_is_set(const uchar* at) { return __atomic_load_n(at, __ATOMIC_RELAXED) != 0; }
FUNC uint atomic_read_acquire(Atomic32* at) { return __atomic_load_n(at, __ATOMIC_ACQUIRE); }
FUNC void atomic_write_release(Atomic32* at, uint word) { __atomic_store_n(at, word, __ATOMIC_RELEASE); }
#endif

#ifndef GRID_INDEX_BODY
#define GRID_INDEX_BODY
#define GRID_SPREAD_BODY
#endif
#ifndef COUNTS_ALWAYS
#define COUNTS_ALWAYS false
#endif
#ifndef LANES
#define LANES(live) ((live) ? 1u : 0u)
#define ANY_LANE(lanes, live) (live)
#define LANES_WHERE(lanes, so) ((so) ? 1u : 0u)
#define LANE_WORD(lanes, word, lane) (word)
#define LANE_FIRST(lanes) 0u
#define LANE_COUNT(lanes) (lanes)
#define STEPS_ALONE true
#endif
