// Which edges are light.
#pragma once
#include "kostra/team.cuh"

constexpr u32 PER_LANE = SAMPLES / WARP;

// A bound below which there are so many of a warp's numbers that take part, bit by bit; as many as there can be where several
// are equal. Leaves how many of those are wanted, too.
template <typename T> __device__ T find_bound(const T (&mine)[PER_LANE], u32 take_part, u32 &wanted) {
    T bound = 0;
    u32 below = 0;
#pragma unroll 1
    for (T bit = (T)1 << (sizeof(T) * 8 - 1); bit && below < wanted; bit >>= 1) {
        u32 count = 0;
#pragma unroll
        for (u32 i = 0; i < PER_LANE; i++) count += (take_part >> i & 1) && mine[i] < (bound | bit);
        count = warp_sum(count);
        if (count <= wanted) bound |= bit, below = count;
    }
    wanted -= below;
    return bound;
}

// How many samples are light.
template <typename K> __device__ u32 light_samples(const Graph<K> &graph, float factor) {
    return min((u32)(factor * graph.n / graph.m * SAMPLES) + 1, SAMPLES);
}

__device__ __forceinline__ u32 sampled_edge(u32 i, u32 m) { return below(mix(i * WARP + threadIdx.x % WARP), m); }

// The first edge in the order that is not light.
template <typename K> struct Threshold {
    K key;
    u32 edge;
    __device__ bool is_light(K other, u32 e) const { return other < key || (other == key && e < edge); }

    __device__ static Threshold read(const State &state) { return {(K)state.threshold_key, state.threshold_edge}; }

    // From a sample, by a warp: so that there are `factor` light edges per vertex.
    __device__ static Threshold choose(const Graph<K> &graph, float factor) {
        K keys[PER_LANE];
        u32 edges[PER_LANE], equal = 0, wanted = light_samples(graph, factor);
#pragma unroll
        for (u32 i = 0; i < PER_LANE; i++) edges[i] = sampled_edge(i, graph.m), keys[i] = key_of(graph, edges[i]);
        K key = find_bound(keys, ALL, wanted);
        if (wanted == 0) return {key, 0};
#pragma unroll
        for (u32 i = 0; i < PER_LANE; i++) equal |= (u32)(keys[i] == key) << i;
        return {key, find_bound(edges, equal, wanted)};
    }
};

// The same as a short key: all edges with smaller ones are light.
template <typename K> __device__ u32 choose_short(const Graph<K> &graph, float factor) {
    u32 keys[PER_LANE], wanted = light_samples(graph, factor);
#pragma unroll
    for (u32 i = 0; i < PER_LANE; i++) keys[i] = shorten(key_of(graph, sampled_edge(i, graph.m)), graph.lowest);
    return find_bound(keys, ALL, wanted);
}
