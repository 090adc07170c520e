// Which edges are light.
#pragma once
#include "kostra/team.cuh"

template <typename K> struct Ranked {
    K key;
    u32 edge;
    __device__ bool operator>(const Ranked &other) const {
        return key != other.key ? key > other.key : edge > other.edge;
    }
};

// The smaller of two, or the larger.
template <typename K> __device__ __forceinline__ Ranked<K> pick(Ranked<K> mine, Ranked<K> other, bool smaller) {
    return (mine > other) == smaller ? other : mine;
}

// Makes the state ready, and chooses the threshold below which edges are light, from a sample. One block of SAMPLES threads.
template <typename K> __device__ void choose_threshold(const Graph<K> &graph, const Work<K> &work) {
    State &state = *work.state;
    u32 i = threadIdx.x;
    Ranked<K> mine = {(K)~(K)0, NONE};
    if (work.factor > 0) {
        Ranked<K> *ranks = (Ranked<K> *)shared_memory();
        mine.edge = below(mix(i), graph.m);
        mine.key = key_of(graph, mine.edge);
        // Bitonic sort, a rank in each thread; through shared memory only where the other is in another warp.
        for (u32 size = 2; size <= SAMPLES; size *= 2)
            for (u32 step = size / 2; step; step /= 2) {
                Ranked<K> other;
                if (step >= WARP) {
                    ranks[i] = mine;
                    __syncthreads();
                    other = ranks[i ^ step];
                    __syncthreads();
                } else {
                    other = {__shfl_xor_sync(ALL, mine.key, step), __shfl_xor_sync(ALL, mine.edge, step)};
                }
                mine = pick(mine, other, !(i & step) == !(i & size));
            }
    }
    u32 rank = work.factor > 0 ? min((u32)(work.factor * graph.n / graph.m * SAMPLES), SAMPLES - 1) : 0;
    if (i == rank) {
        state.threshold_key = mine.key;
        state.threshold_edge = mine.edge;
    }
    if (i < 4) state.arrived[i] = state.reached[i] = 0;
    if (i < ROUNDS) state.round[i] = {i ? 0 : graph.n, i ? 0 : graph.m};
    if (i == 0) {
        state.again = state.pieces = state.hubs = state.trees = state.done = state.parts = 0;
        state.part_length = 0;
        state.rounds = 1;
        state.slots = graph.n;
    }
}

template <typename K> __device__ __forceinline__ bool is_light(const State &state, K key, u32 e) {
    return key < (K)state.threshold_key || (key == (K)state.threshold_key && e <= state.threshold_edge);
}
