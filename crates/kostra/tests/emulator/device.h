// What makes the kernels' CUDA C++ compile as C++ for the host; included before all else.
//
// Every thread of a block is a fiber (grid.cpp). The compiler is told to look for data races (-fsanitize=thread), so it calls
// a function before every access to memory; these functions are the emulator's own. There it checks the access, and may let
// other threads run first. Nothing runs at the same time within a launch, so an atomic is an ordinary function.
#pragma once
#include <type_traits>
#include <utility>

#include "grid.h"

#define __device__
#define __global__
#define __forceinline__ inline
#define __noinline__ __attribute__((noinline))
#define __launch_bounds__(...)
#define __restrict__ __restrict
// A library of kernels has no other variables like these, so they are the shared memory of its blocks: what a block has there
// is put away when another block's turn comes.
#define __shared__ static thread_local

struct uint2 {
    unsigned x, y;
};
struct alignas(16) uint4 {
    unsigned x, y, z, w;
};
inline uint2 make_uint2(unsigned x, unsigned y) { return {x, y}; }
inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) { return {x, y, z, w}; }

namespace emulator {
template <typename T> T shuffle(Meeting meeting, unsigned mask, T value, unsigned argument) {
    static_assert(std::is_integral<T>::value);
    return (T)meet_lanes(meeting, mask, (unsigned long long)value, argument);
}

// Calls a kernel with what the launch's pointers point at.
template <typename... P, std::size_t... I>
void call(void (*kernel)(P...), void *const *arguments, std::index_sequence<I...>) {
    kernel(*(const std::remove_cv_t<P> *)arguments[I]...);
}
template <typename... P> void call(void (*kernel)(P...), void *const *arguments) {
    call(kernel, arguments, std::index_sequence_for<P...>());
}
} // namespace emulator

// The door to a kernel, by which the driver finds it.
#define DOOR(KERNEL)                                                                                                   \
    extern "C" __attribute__((visibility("default"))) void door_##KERNEL(void *const *arguments) {                     \
        emulator::call(KERNEL, arguments);                                                                             \
    }

#define threadIdx (uint3{emulator::thread_number(), 0, 0})
#define blockIdx (emulator::block_index())
#define blockDim (emulator::block_shape())
#define gridDim (emulator::grid_shape())

inline void __syncthreads() { emulator::meet_block(emulator::SYNCTHREADS, false); }
inline int __syncthreads_or(bool vote) { return emulator::meet_block(emulator::SYNCTHREADS_OR, vote) != 0; }
inline int __syncthreads_count(bool vote) { return (int)emulator::meet_block(emulator::SYNCTHREADS_COUNT, vote); }

inline void __syncwarp(unsigned mask = ~0u) { emulator::meet_lanes(emulator::SYNCWARP, mask, 0, 0); }
template <typename T> T __shfl_sync(unsigned mask, T x, int lane) { return emulator::shuffle(emulator::SHUFFLE, mask, x, lane); }
template <typename T> T __shfl_up_sync(unsigned mask, T x, unsigned by) { return emulator::shuffle(emulator::SHUFFLE_UP, mask, x, by); }
template <typename T> T __shfl_down_sync(unsigned mask, T x, unsigned by) { return emulator::shuffle(emulator::SHUFFLE_DOWN, mask, x, by); }
template <typename T> T __shfl_xor_sync(unsigned mask, T x, int by) { return emulator::shuffle(emulator::SHUFFLE_XOR, mask, x, by); }
inline unsigned __ballot_sync(unsigned mask, bool vote) { return (unsigned)emulator::meet_lanes(emulator::BALLOT, mask, vote, 0); }
inline int __any_sync(unsigned mask, bool vote) { return (int)emulator::meet_lanes(emulator::ANY, mask, vote, 0); }
template <typename T> unsigned __match_any_sync(unsigned mask, T x) { return (unsigned)emulator::shuffle<unsigned long long>(emulator::MATCH, mask, x, 0); }

#define ATOMIC(NAME)                                                                                                   \
    unsigned NAME(unsigned *at, unsigned value);                                                                       \
    unsigned long long NAME(unsigned long long *at, unsigned long long value);
ATOMIC(atomicAdd)
ATOMIC(atomicMin)
ATOMIC(atomicMax)
ATOMIC(atomicOr)
unsigned atomicCAS(unsigned *at, unsigned expected, unsigned value);
unsigned long long atomicCAS(unsigned long long *at, unsigned long long expected, unsigned long long value);

inline void __threadfence() { __asm__ volatile("" ::: "memory"); }
// Past the cache is past what the compiler knows.
template <typename T> T __ldcg(const T *at) { return *(const volatile T *)at; }
template <typename T> T __ldcs(const T *at) { return *at; }
template <typename T> T __ldg(const T *at) { return *at; }

inline int __popc(unsigned x) { return __builtin_popcount(x); }
inline int __ffs(unsigned x) { return __builtin_ffs((int)x); }
inline int __clz(unsigned x) { return x ? __builtin_clz(x) : 32; }
inline int __clzll(unsigned long long x) { return x ? __builtin_clzll(x) : 64; }
inline unsigned long long __umul64hi(unsigned long long x, unsigned long long y) { return (unsigned __int128)x * y >> 64; }
template <typename T, typename U> constexpr std::common_type_t<T, U> min(T x, U y) { return x < y ? x : y; }
template <typename T, typename U> constexpr std::common_type_t<T, U> max(T x, U y) { return x < y ? y : x; }

// What kostra/team.cuh has in PTX.
inline char *shared_memory() { return emulator::dynamic_memory(); }
inline void fence() { __threadfence(); }
inline unsigned long long add_in_order(unsigned long long *at, unsigned long long amount) { return atomicAdd(at, amount) + amount; }
inline unsigned long long read_in_order(const unsigned long long *at) { return __ldcg(at); }
