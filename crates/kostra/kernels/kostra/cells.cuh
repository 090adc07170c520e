// The smallest edge that leaves a tree, found by offers.
#pragma once
#include "kostra/team.cuh"

// Offers an edge to a cell in which `seen` was seen. The position in a cell is that of an edge in `list`, or, without a
// list, its id. Cells only ever get smaller, so an old look at them at worst costs a needless atomic.
__device__ __forceinline__ void offer(const Graph<u32> &, const uint4 *, u64 *cell, u64 mine, u64 seen) {
    if (seen > mine) atomicMin(cell, mine);
}
// The long way where short keys may be equal: then the whole ones decide, then the positions.
__device__ __noinline__ void settle(const u64 *keys, u64 flip, const uint4 *list, u64 *cell, u64 mine, u64 seen) {
    while (seen != mine && high(seen) >= high(mine)) {
        if (high(seen) == high(mine)) {
            u64 key = keys[list ? fresh(&list[low(mine)].w) : low(mine)] ^ flip;
            u64 other = keys[list ? fresh(&list[low(seen)].w) : low(seen)] ^ flip;
            if (other < key || (other == key && low(seen) < low(mine))) return;
        }
        u64 old = atomicCAS(cell, seen, mine);
        if (old == seen) return;
        seen = old;
    }
}
__device__ __forceinline__ void offer(const Graph<u64> &graph, const uint4 *list, u64 *cell, u64 mine, u64 seen) {
    if (high(seen) >= high(mine)) settle(graph.keys, graph.flip, list, cell, mine, seen);
}

// Before an edge of the list is offered, others must be able to look it up; 32-bit keys never do.
__device__ __forceinline__ void publish(const Graph<u32> &) {}
__device__ __forceinline__ void publish(const Graph<u64> &) { fence(); }

// Puts the edges that a tile's threads hold into the list at `at` and offers them to both their trees.
template <typename K>
__device__ __forceinline__ void put(const Graph<K> &graph, uint4 *list, u64 *cells, u32 at, const bool (&keep)[EACH],
                                    const u32 (&places)[EACH], const uint4 (&edges)[EACH]) {
    // All cells are looked at before any is changed, so that these loads do not wait for one another.
    u64 seen[EACH][2];
#pragma unroll
    for (u32 i = 0; i < EACH; i++) {
        seen[i][0] = keep[i] ? *(volatile u64 *)(cells + edges[i].x) : 0;
        seen[i][1] = keep[i] ? *(volatile u64 *)(cells + edges[i].y) : 0;
    }
#pragma unroll
    for (u32 i = 0; i < EACH; i++)
        if (keep[i]) list[at + places[i]] = edges[i];
    publish(graph);
#pragma unroll
    for (u32 i = 0; i < EACH; i++) {
        if (!keep[i]) continue;
        u64 mine = pack(edges[i].z, at + places[i]);
        offer(graph, list, cells + edges[i].x, mine, seen[i][0]);
        offer(graph, list, cells + edges[i].y, mine, seen[i][1]);
    }
}

// Where edges are many and trees few, each block first finds the minima among its own edges, in shared memory.
template <typename K> struct Minima {
    const Graph<K> &graph;
    const uint4 *list;
    u64 *cells;
    u32 trees;
    bool is_private;

    __device__ u64 *begin() {
        if (!is_private) return cells;
        for (u32 c = threadIdx.x; c < trees; c += THREADS) table()[c] = EMPTY;
        __syncthreads();
        return table();
    }

    __device__ void end() {
        if (!is_private) return;
        __syncthreads();
        for (u32 c = threadIdx.x; c < trees; c += THREADS) {
            u64 cell = table()[c];
            if (cell != EMPTY) offer(graph, list, cells + c, cell, *(volatile u64 *)(cells + c));
        }
    }
};
