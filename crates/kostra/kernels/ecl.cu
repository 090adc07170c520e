// The kernels of `ecl` on CUDA, each a step of the paper's Algorithms 1 and 2 (see src/cuda/ecl.rs for the method).
//
// WITHOUT is how many of the optimisations of the paper's section 5.3 are removed, in its order; one is in use where
// WITHOUT is smaller than its number. All is settled at compile time, so the whole version pays nothing for it.
#include "common.cuh"

#ifndef THREADS
#define THREADS 512
#endif

constexpr u32 GUARDS = 1;
constexpr u32 HYBRID = 2;
// 3, the filter, is the host's.
constexpr u32 IMPLICIT_COMPRESSION = 4;
constexpr u32 ONE_DIRECTION = 5;
constexpr u32 TUPLES = 6;
constexpr u32 DATA_DRIVEN = 7;
constexpr u32 EDGE_CENTRIC = 8;

// Rows from this length on are read by a warp.
constexpr u32 LONG_ROW = 4;
// Weights that are drawn to find the threshold.
constexpr u32 SAMPLES = 20;

template <typename K> struct Work {
    // The root of a tree is its smallest vertex, so parents never grow and no cycle can close.
    u32 *parents;
    // Where a vertex is a root: the smallest edge that was offered to its tree in this round, `key << 32 | edge id`.
    u64 *cells;
    // The edge along which a vertex that was a root joined another tree; NONE for those that still are.
    u32 *chosen;
    // The length of the list that is being written. Where there are no lists: whether any edge still joins two trees.
    u32 *count;
    // The last light key.
    K *threshold;
    // Edges that a list can hold.
    u64 room;
};

template <typename K> __device__ __forceinline__ K arc_key_of(const Graph<K> &graph, u64 a) {
    return __ldg(graph.arc_keys + a) ^ graph.flip;
}

__device__ __forceinline__ u64 thread() { return (u64)blockIdx.x * THREADS + threadIdx.x; }

// ---- the forest so far ---------------------------------------------------------------------------------------------

// The root above `v`. The paths are short, because lists hold what was found before; only where they do not are they
// halved. What other threads write meanwhile lies further up the same path.
template <u32 WITHOUT> __device__ __forceinline__ u32 find(u32 *parents, u32 v) {
    u32 child = v, up;
    while (v != (up = parents[v])) {
        if (WITHOUT >= IMPLICIT_COMPRESSION && child != v) parents[child] = up;
        child = v;
        v = up;
    }
    return v;
}

// Makes one tree of two, along an edge.
template <u32 WITHOUT> __device__ __forceinline__ void join(u32 *parents, u32 *chosen, u32 u, u32 v, u32 edge) {
    // In one direction only, no edge meets its own tree: each is the smallest that leaves one of its trees, and no two
    // edges are equal. In two, it may have been here before.
    while (WITHOUT < ONE_DIRECTION || u != v) {
        u32 child = max(u, v);
        u = min(u, v);
        // Fails only when another thread has just put `child` under a root.
        v = atomicCAS(parents + child, child, u);
        if (v == child) {
            chosen[child] = edge;
            return;
        }
    }
}

// Offers an edge to a tree.
template <u32 WITHOUT> __device__ __forceinline__ void offer(const Graph<u32> &, u64 *cell, u64 mine) {
    // The cell only ever gets smaller, so an old value at worst costs a needless atomic.
    if (WITHOUT >= GUARDS || *(volatile u64 *)cell > mine) atomicMin(cell, mine);
}
template <u32 WITHOUT> __device__ __forceinline__ void offer(const Graph<u64> &graph, u64 *cell, u64 mine) {
    u64 there = WITHOUT < GUARDS ? *(volatile u64 *)cell : EMPTY;
    while (there != mine && high(there) >= high(mine)) {
        // Where the short keys are equal, the whole ones decide, then the edge ids.
        if (high(there) == high(mine)) {
            u64 key = key_of(graph, low(mine)), other = key_of(graph, low(there));
            if (other < key || (other == key && low(there) < low(mine))) return;
        }
        u64 old = atomicCAS(cell, there, mine);
        if (old == there) return;
        there = old;
    }
}

// ---- worklists -----------------------------------------------------------------------------------------------------

// Puts an edge on a list: `x` and `y` are its ends, `z` is its key in 32 bits, `w` its id.
template <u32 WITHOUT> __device__ __forceinline__ void append(u32 *list, u64 room, u32 *count, uint4 edge) {
    u64 at = atomicAdd(count, 1u);
    if (WITHOUT < TUPLES) {
        ((uint4 *)list)[at] = edge;
    } else {
        list[at] = edge.x;
        list[room + at] = edge.y;
        list[2 * room + at] = edge.z;
        list[3 * room + at] = edge.w;
    }
}

// Takes a step for each edge that is this thread's: of the list, of the graph in both directions, or of a vertex's row.
template <u32 WITHOUT, typename K, typename Step>
__device__ __forceinline__ void each_edge(const Graph<K> &graph, const u32 *list, u64 room, u64 count, Step step) {
    u64 at = thread();
    if (at >= count) return;
    if constexpr (WITHOUT < TUPLES) {
        step(__ldg((const uint4 *)list + at));
    } else if constexpr (WITHOUT < DATA_DRIVEN) {
        const u32 *u = list + at, *v = u + room, *key = v + room, *edge = key + room;
        step(make_uint4(__ldg(u), __ldg(v), __ldg(key), __ldg(edge)));
    } else if constexpr (WITHOUT < EDGE_CENTRIC) {
        bool back = at >= graph.m;
        u32 e = back ? at - graph.m : at;
        const u32 *from = back ? graph.dst : graph.src, *to = back ? graph.src : graph.dst;
        step(make_uint4(__ldg(from + e), __ldg(to + e), shorten(key_of(graph, e), graph.lowest), e));
    } else {
        for (u64 a = __ldg(graph.rows + at), end = __ldg(graph.rows + at + 1); a < end; a++)
            step(make_uint4(at, __ldg(graph.neighbours + a), shorten(arc_key_of(graph, a), graph.lowest),
                            __ldg(graph.edges + a)));
    }
}

// ---- the steps -----------------------------------------------------------------------------------------------------

// Makes every vertex a tree, and takes the threshold from a sample: its key of that rank, or with NONE the last key
// there is, which filters nothing.
template <typename K> __device__ void prepare(const Graph<K> &graph, const Work<K> &work, u64 seed, u32 rank) {
    u64 v = thread();
    if (v < graph.n) {
        work.parents[v] = v;
        work.cells[v] = EMPTY;
        work.chosen[v] = NONE;
    }
    if (v >= WARP) return;
    K key = key_of(graph, below(mix(mix(seed) + v), graph.m));
    u32 smaller = 0;
    for (u32 i = 0; i < SAMPLES; i++) {
        K other = __shfl_sync(ALL, key, i);
        smaller += other < key || (other == key && i < v);
    }
    if (v < SAMPLES && smaller == rank) *work.threshold = key;
    if (v == 0 && rank == NONE) *work.threshold = ~(K)0;
    if (v == 0) *work.count = 0;
}

// Whether an edge between `tree` and `v` is on the list of the light edges, or on that of the heavy ones; sets the
// second tree. At the light edges' turn every vertex is still a tree of its own.
template <u32 WITHOUT, bool LIGHT, typename K>
__device__ __forceinline__ bool belongs(const Work<K> &work, K threshold, K key, u32 tree, u32 v, u32 &other) {
    if ((key <= threshold) != LIGHT) return false;
    other = LIGHT ? v : find<WITHOUT>(work.parents, v);
    return LIGHT || tree != other;
}

// The list of the light edges, or of the heavy ones that still join two trees, from the rows. These are arguments of
// their own, so that the compiler may read several neighbours ahead of what is written.
template <u32 WITHOUT, bool LIGHT, typename K>
__device__ __forceinline__ void populate_rows(const Graph<K> &graph, const Work<K> &work, u32 *__restrict__ list,
                                              const u32 *__restrict__ rows, const u32 *__restrict__ neighbours,
                                              const u32 *__restrict__ edges, const K *__restrict__ keys) {
    K threshold = *work.threshold;
    auto arc = [&](u32 u, u32 tree, u64 a) {
        u32 v = neighbours[a], other;
        if (WITHOUT < ONE_DIRECTION && u > v) return;
        K key = keys[a] ^ graph.flip;
        if (!belongs<WITHOUT, LIGHT>(work, threshold, key, tree, v, other)) return;
        append<WITHOUT>(list, work.room, work.count, make_uint4(tree, other, shorten(key, graph.lowest), edges[a]));
    };
    u64 u = thread();
    u32 from = 0, to = 0, tree = 0;
    bool is_long = false;
    if (u < graph.n) {
        from = rows[u], to = rows[u + 1];
        tree = LIGHT ? u : find<WITHOUT>(work.parents, u);
        is_long = WITHOUT < HYBRID && to - from >= LONG_ROW;
        if (!is_long)
            for (u64 a = from; a < to; a++) arc(u, tree, a);
    }
    if constexpr (WITHOUT < HYBRID) {
        for (u32 left = __ballot_sync(ALL, is_long); left; left &= left - 1) {
            u32 lane = __ffs(left) - 1;
            u32 of = __shfl_sync(ALL, (u32)u, lane), its_tree = LIGHT ? of : __shfl_sync(ALL, tree, lane);
            u32 begin = __shfl_sync(ALL, from, lane), end = __shfl_sync(ALL, to, lane);
            for (u64 a = (u64)begin + threadIdx.x % WARP; a < end; a += WARP) arc(of, its_tree, a);
        }
    }
}

// The same without rows.
template <bool LIGHT, typename K>
__device__ void populate_edges(const Graph<K> &graph, const Work<K> &work, u32 *list) {
    u64 e = thread();
    if (e >= graph.m) return;
    u32 u = __ldg(graph.src + e), v = __ldg(graph.dst + e), other;
    if (u == v) return;
    K key = key_of(graph, (u32)e);
    u32 tree = LIGHT ? u : find<0>(work.parents, u);
    if (!belongs<0, LIGHT>(work, *work.threshold, key, tree, v, other)) return;
    append<0>(list, work.room, work.count, make_uint4(tree, other, shorten(key, graph.lowest), e));
}

// Finds the trees of every edge; those between two stay on the list and offer themselves to both.
template <u32 WITHOUT, typename K>
__device__ void reserve(const Graph<K> &graph, const Work<K> &work, const u32 *list, u64 count, u32 *next) {
    each_edge<WITHOUT>(graph, list, work.room, count, [&](uint4 edge) {
        u32 u = find<WITHOUT>(work.parents, edge.x), v = find<WITHOUT>(work.parents, edge.y);
        if (u == v) return;
        if (WITHOUT < IMPLICIT_COMPRESSION) edge.x = u, edge.y = v;
        if (WITHOUT < DATA_DRIVEN)
            append<WITHOUT>(next, work.room, work.count, edge);
        else
            *work.count = 1;
        u64 mine = pack(edge.z, edge.w);
        offer<WITHOUT>(graph, work.cells + u, mine);
        offer<WITHOUT>(graph, work.cells + v, mine);
    });
}

// Every edge that a tree has kept joins its trees.
//
// Where lists do not hold the trees, other threads may have joined some since the edges were offered. An edge then may
// find another tree, whose cell it is not in, and has to wait for the next round; but its old tree did join another.
template <u32 WITHOUT, typename K>
__device__ void commit(const Graph<K> &graph, const Work<K> &work, const u32 *list, u64 count) {
    each_edge<WITHOUT>(graph, list, work.room, count, [&](uint4 edge) {
        u32 u = edge.x, v = edge.y;
        if (WITHOUT >= IMPLICIT_COMPRESSION) u = find<WITHOUT>(work.parents, u), v = find<WITHOUT>(work.parents, v);
        u64 mine = pack(edge.z, edge.w);
        if (work.cells[u] == mine || work.cells[v] == mine) join<WITHOUT>(work.parents, work.chosen, u, v, edge.w);
    });
}

// Empties the cells, and the count for the next list.
template <u32 WITHOUT, typename K>
__device__ void clear(const Graph<K> &graph, const Work<K> &work, const u32 *list, u64 count) {
    if (thread() == 0) *work.count = 0;
    each_edge<WITHOUT>(graph, list, work.room, count, [&](uint4 edge) {
        u32 u = edge.x, v = edge.y;
        if (WITHOUT >= IMPLICIT_COMPRESSION) u = find<WITHOUT>(work.parents, u), v = find<WITHOUT>(work.parents, v);
        work.cells[u] = EMPTY;
        work.cells[v] = EMPTY;
    });
}

#define KERNEL extern "C" __global__ void __launch_bounds__(THREADS)
#define ROWS(NAME, WITHOUT, LIGHT, K)                                                                                  \
    KERNEL NAME##_rows_##WITHOUT##_##K(Graph<K> graph, Work<K> work, u32 *__restrict__ list,                           \
                                       const u32 *__restrict__ rows, const u32 *__restrict__ neighbours,               \
                                       const u32 *__restrict__ edges, const K *__restrict__ keys) {                    \
        populate_rows<WITHOUT, LIGHT>(graph, work, list, rows, neighbours, edges, keys);                               \
    }
#define EDGES(NAME, LIGHT, K)                                                                                          \
    KERNEL NAME##_edges_##K(Graph<K> graph, Work<K> work, u32 *list) { populate_edges<LIGHT>(graph, work, list); }
#define ROUND(WITHOUT, K)                                                                                              \
    KERNEL reserve_##WITHOUT##_##K(Graph<K> graph, Work<K> work, const u32 *list, u64 count, u32 *next) {              \
        reserve<WITHOUT>(graph, work, list, count, next);                                                              \
    }                                                                                                                  \
    KERNEL commit_##WITHOUT##_##K(Graph<K> graph, Work<K> work, const u32 *list, u64 count) {                          \
        commit<WITHOUT>(graph, work, list, count);                                                                     \
    }                                                                                                                  \
    KERNEL clear_##WITHOUT##_##K(Graph<K> graph, Work<K> work, const u32 *list, u64 count) {                           \
        clear<WITHOUT>(graph, work, list, count);                                                                      \
    }
// Where removing an optimisation changes nothing in a step, the host takes the kernel of the number before.
#define KERNELS(K)                                                                                                     \
    KERNEL prepare_##K(Graph<K> graph, Work<K> work, u64 seed, u32 rank) { prepare(graph, work, seed, rank); }         \
    EDGES(light, true, K)                                                                                              \
    EDGES(heavy, false, K)                                                                                             \
    ROWS(light, 0, true, K)                                                                                            \
    ROWS(heavy, 0, false, K)                                                                                           \
    ROWS(light, 2, true, K)                                                                                            \
    ROWS(heavy, 2, false, K)                                                                                           \
    ROWS(light, 5, true, K)                                                                                            \
    ROWS(light, 6, true, K)                                                                                            \
    ROUND(0, K)                                                                                                        \
    ROUND(1, K)                                                                                                        \
    ROUND(4, K)                                                                                                        \
    ROUND(5, K)                                                                                                        \
    ROUND(6, K)                                                                                                        \
    ROUND(7, K)                                                                                                        \
    ROUND(8, K)
KERNELS(u32)
KERNELS(u64)
