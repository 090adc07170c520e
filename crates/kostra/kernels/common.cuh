// What all kernels share: types, keys, and how threads, warps and blocks work together.
//
// Weights arrive as order-preserving unsigned keys of 32 or 64 bits; no kernel sees a float or a sign. For maximum
// forests every key is read with all its bits flipped.
#pragma once

typedef unsigned int u32;
typedef unsigned long long u64;

constexpr u32 WARP = 32;
constexpr u32 ALL = ~0u;
constexpr u32 NONE = ~0u;
constexpr u64 EMPTY = ~0ull;

__device__ __forceinline__ u64 pack(u32 high, u32 low) { return (u64)high << 32 | low; }
__device__ __forceinline__ u32 high(u64 pair) { return (u32)(pair >> 32); }
__device__ __forceinline__ u32 low(u64 pair) { return (u32)pair; }

template <typename T> __device__ __forceinline__ void swap(T &a, T &b) {
    T other = a;
    a = b, b = other;
}

// SplitMix64's finisher: scatters counters over all 64 bits.
__device__ __forceinline__ u64 mix(u64 x) {
    x += 0x9e3779b97f4a7c15ull;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ x >> 27) * 0x94d049bb133111ebull;
    return x ^ x >> 31;
}

// A number below `count` from 64 random bits.
__device__ __forceinline__ u32 below(u64 bits, u32 count) { return (u32)__umul64hi(bits, count); }

// Lanes before this one.
__device__ __forceinline__ u32 lanes_before() { return (1u << (threadIdx.x % WARP)) - 1; }

// The sum over the lanes up to and with this one.
__device__ __forceinline__ u32 warp_scan(u32 x) {
    for (u32 step = 1; step < WARP; step *= 2) {
        u32 other = __shfl_up_sync(ALL, x, step);
        if (threadIdx.x % WARP >= step) x += other;
    }
    return x;
}

__device__ __forceinline__ u32 warp_sum(u32 x) {
    for (u32 step = WARP / 2; step; step /= 2) x += __shfl_xor_sync(ALL, x, step);
    return x;
}

// The edges of a graph, and its adjacency lists where it has them.
template <typename K> struct Graph {
    u32 n, m;
    const u32 *src, *dst;
    const K *keys;
    // Adjacency lists, rows in edge-id order; or null.
    const u32 *rows, *neighbours, *edges;
    const K *arc_keys;
    // All ones for a maximum forest.
    K flip;
    // A small key, perhaps the smallest: 64-bit keys are shortened by their distance from it.
    K lowest;
};

template <typename K> __device__ __forceinline__ K key_of(const Graph<K> &graph, u32 e) {
    return graph.keys[e] ^ graph.flip;
}

// The distance above the smallest sampled key in 32 bits: 27 significant bits and an exponent. Never falls where the
// key rises. 32-bit keys stay as they are.
__device__ __forceinline__ u32 shorten(u32 key, u64) { return key; }
__device__ __forceinline__ u32 shorten(u64 key, u64 low) {
    u64 above = key > low ? key - low : 0;
    u32 bits = 64 - __clzll(above);
    u32 shift = bits > 27 ? bits - 27 : 0;
    return (shift << 26) + (u32)(above >> shift);
}
