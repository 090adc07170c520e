// Lists of more edges than the threads can hold, but of few trees: the smallest edges that join two trees are held first, and
// when they are done those of the others that still do. Nothing is written but the places of those that are held.
#pragma once
#include "kostra/held.cuh"

// Places of edges in a list that a block is to hold.
__device__ __forceinline__ u32 *queue() { return (u32 *)table(); }

// What it takes to tell an edge's key.
template <typename K> struct Keys {
    const K *keys;
    K flip, lowest;
};
__device__ __forceinline__ u32 whole_key(const Keys<u32> &, const uint4 &edge) { return edge.z; }
__device__ __forceinline__ u64 whole_key(const Keys<u64> &keys, const uint4 &edge) { return keys.keys[edge.w] ^ keys.flip; }

// The tree that a tree has joined, where all paths have been shortened.
__device__ __forceinline__ u32 root_of(const u32 *links, u32 c) {
    u32 link = links[c];
    return link & ROOT ? c : link;
}

// The first edge of a list, in the order, that is not held now.
template <typename K> struct Bound {
    bool is_none;
    u32 short_key;
    K key;
    u32 id;

    __device__ __forceinline__ bool is_below(const Keys<K> &keys, const uint4 &edge) const {
        if (is_none || edge.z != short_key) return is_none || edge.z < short_key;
        K other = whole_key(keys, edge);
        return other < key || (other == key && edge.w < id);
    }

    // From a sample of a block's threads, another at each attempt: about so many edges that join two trees are below it.
    __device__ static Bound choose(const Keys<K> &keys, const List &list, const u32 *links, u32 target, u32 attempt) {
        u32 at = below(mix((u64)attempt * HOLDERS + threadIdx.x), list.count);
        uint4 edge = list.edges[list.position(at)];
        K key[1] = {whole_key(keys, edge)};
        u32 id[1] = {edge.w};
        bool joins = root_of(links, edge.x) != root_of(links, edge.y);
        float each = (float)list.count / HOLDERS;
        if (__syncthreads_count(joins) * each <= target) return {true, 0, 0, 0};
        u32 wanted = max((u32)(target / each), 1u);
        K bound = find_bound(key, joins, wanted);
        return {false, shorten(bound, keys.lowest), bound, find_bound(id, joins && key[0] == bound, wanted)};
    }
};

// What was queued of a list; `count` may be more than can be, and is to be less the next time.
struct Sifted {
    u32 count;
    bool is_rest;
};

// Queues about so many of the smallest edges that join two trees. Not inlined, as it would cost the rounds registers.
template <typename K>
__device__ __noinline__ Sifted sift(Keys<K> keys, List list, const u32 *links, u32 target, u32 attempt, u32 blocks) {
    __shared__ u32 queued;
    Bound<K> bound = Bound<K>::choose(keys, list, links, target, attempt);
    if (threadIdx.x == 0) queued = 0;
    __syncthreads();
    u32 part = 0;
    for (u64 first = (u64)blockIdx.x * SOLO; first < list.count; first += (u64)blocks * SOLO) {
        uint4 edges[HOLD];
        u32 places[HOLD];
        bool keep[HOLD];
        list.positions(first, min((u64)list.count, first + SOLO), HOLDERS, part, places, keep);
#pragma unroll
        for (u32 i = 0; i < HOLD; i++)
            if (keep[i]) edges[i] = list.edges[places[i]];
#pragma unroll
        for (u32 i = 0; i < HOLD; i++) {
            if (keep[i] && !bound.is_below(keys, edges[i])) keep[i] = false;
            if (keep[i]) edges[i].x = root_of(links, edges[i].x), edges[i].y = root_of(links, edges[i].y);
        }
#pragma unroll
        for (u32 i = 0; i < HOLD; i++) {
            keep[i] = keep[i] && edges[i].x != edges[i].y;
            u32 ballot = __ballot_sync(ALL, keep[i]), to = 0;
            if (ballot == 0) continue;
            if (threadIdx.x % WARP == 0) to = atomicAdd(&queued, __popc(ballot));
            to = __shfl_sync(ALL, to, 0) + __popc(ballot & lanes_before());
            if (keep[i] && to < SOLO) queue()[to] = places[i];
        }
    }
    __syncthreads();
    return {queued, bound.is_none};
}

// Takes the edges that were queued.
__device__ __forceinline__ Held hold_queued(const List &list, u32 count) {
    Held held;
    held.live = held.asleep = held.hopes_x = held.hopes_y = 0;
#pragma unroll
    for (u32 i = 0; i < HOLD; i++) {
        u32 at = i * HOLDERS + threadIdx.x;
        if (at < count) held.take(i, list.edges, queue()[at], true);
    }
    return held;
}
