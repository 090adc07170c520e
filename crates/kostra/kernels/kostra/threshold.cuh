// Which edges are light.
#pragma once
#include "kostra/team.cuh"

// A bound below which there are so many of a block's numbers that take part, `COUNT` of each thread, bit by bit; as many as there
// can be where several are equal. Leaves how many of those are wanted, too.
template <typename T, u32 COUNT> __device__ T find_bound(const T (&mine)[COUNT], u32 take_part, u32 &wanted) {
    T bound = 0;
    u32 below = 0;
#pragma unroll 1
    for (T bit = (T)1 << (sizeof(T) * 8 - 1); bit && below < wanted; bit >>= 1) {
        u32 count = 0;
#pragma unroll
        for (u32 i = 0; i < COUNT; i++) count += __syncthreads_count((take_part >> i & 1) && mine[i] < (bound | bit));
        if (count <= wanted) bound |= bit, below = count;
    }
    wanted -= below;
    return bound;
}

// How many of the samples are light, when so many edges are to be.
template <typename K> __device__ u32 light_samples(const Graph<K> &graph, float light, u32 samples) {
    return min((u32)(light / graph.m * samples) + 1, samples);
}

// One of a thread's samples.
template <typename K> __device__ __forceinline__ u32 sampled_edge(const Graph<K> &graph, u32 i) {
    return below(mix(i * blockDim.x + threadIdx.x), graph.m);
}

// The first edge in the order that is not light.
template <typename K> struct Threshold {
    K key;
    u32 edge;
    __device__ bool is_light(K other, u32 e) const { return other < key || (other == key && e < edge); }

    // By a block, while others do what they need not know it for.
    __device__ static void choose_for(const Graph<K> &graph, const Work<K> &work) {
        if (work.factor == 0) return;
        Threshold chosen = choose(graph, work.factor * graph.n);
        if (threadIdx.x == 0) work.state->threshold_key = chosen.key, work.state->threshold_edge = chosen.edge;
    }

    __device__ static Threshold read(const State &state) { return {(K)state.threshold_key, state.threshold_edge}; }

    // From a sample, by a block: so that there are about so many light edges.
    __device__ static Threshold choose(const Graph<K> &graph, float light) {
        K keys[SAMPLES];
        u32 edges[SAMPLES], equal = 0, wanted = light_samples(graph, light, SAMPLES * blockDim.x);
#pragma unroll
        for (u32 i = 0; i < SAMPLES; i++) edges[i] = sampled_edge(graph, i), keys[i] = key_of(graph, edges[i]);
        K key = find_bound(keys, ALL, wanted);
        if (wanted == 0) return {key, 0};
#pragma unroll
        for (u32 i = 0; i < SAMPLES; i++) equal |= (u32)(keys[i] == key) << i;
        return {key, find_bound(edges, equal, wanted)};
    }
};

// The same as a short key, from fewer samples: all edges with smaller ones are light.
template <typename K> __device__ u32 choose_short(const Graph<K> &graph, float light) {
    u32 keys[1] = {shorten(key_of(graph, sampled_edge(graph, 0)), graph.lowest)};
    u32 wanted = light_samples(graph, light, blockDim.x);
    return find_bound(keys, ALL, wanted);
}
