// Round one: the smallest edge of every vertex, from its row or from the edges.
#pragma once
#include "kostra/cells.cuh"
#include "kostra/threshold.cuh"

template <typename K> struct Smallest {
    K key;
    u32 at;
    // Rows are in edge-id order, so the earlier of equal keys is the smaller edge.
    __device__ __forceinline__ void take(K other_key, u32 other_at) {
        if (other_key < key || (other_key == key && other_at < at)) key = other_key, at = other_at;
    }
    // The smallest of so many lanes beside one another.
    template <u32 LANES> __device__ __forceinline__ void take_from_lanes() {
#pragma unroll
        for (u32 step = LANES / 2; step; step /= 2) {
            K other_key = __shfl_xor_sync(ALL, key, step);
            u32 other_at = __shfl_xor_sync(ALL, at, step);
            take(other_key, other_at);
        }
    }
};
template <typename K> constexpr Smallest<K> NOTHING = {(K)~(K)0, NONE};

// Keys that a lane reads together, from a place that is a multiple of their number.
template <typename K> struct alignas(16) Vector {
    static constexpr u32 LENGTH = 16 / sizeof(K);
    K keys[LENGTH];

    // Where a lane's first begins.
    __device__ static __forceinline__ u32 start(u32 from, u32 lane) { return (from / LENGTH + lane) * LENGTH; }

    __device__ __forceinline__ void load(const Graph<K> &graph, u32 at) {
        *(uint4 *)keys = __ldcs((const uint4 *)(graph.arc_keys + at));
    }
    // Offers those that are in the row `from..to`. A lane's come one after the other, so none but a smaller key matters.
    __device__ __forceinline__ void offer(const Graph<K> &graph, u32 at, u32 from, u32 to, Smallest<K> &best) const {
#pragma unroll
        for (u32 i = 0; i < LENGTH; i++) {
            K key = keys[i] ^ graph.flip;
            if (at + i - from < to - from && key < best.key) best = {key, at + i};
        }
    }
};

// The smallest arc of a row where none is smaller than the largest key: the first.
__device__ __forceinline__ u32 found(u32 at, u32 from) { return at == NONE ? from : at; }

// The smallest arc of `from..to`, found by the warp's lanes together.
template <typename K> __device__ Smallest<K> search_row(const Graph<K> &graph, u32 from, u32 to) {
    constexpr u32 STEP = WARP * Vector<K>::LENGTH;
    Smallest<K> best = NOTHING<K>;
#pragma unroll 1
    for (u32 at = Vector<K>::start(from, threadIdx.x % WARP); at < to; at += AHEAD * STEP) {
        Vector<K> vectors[AHEAD];
#pragma unroll
        for (u32 i = 0; i < AHEAD; i++)
            if (at + i * STEP < to) vectors[i].load(graph, at + i * STEP);
#pragma unroll
        for (u32 i = 0; i < AHEAD; i++) vectors[i].offer(graph, at + i * STEP, from, to, best);
    }
    best.template take_from_lanes<WARP>();
    return {best.key, found(best.at, from)};
}

// The smallest arcs of those of a warp's rows that are not short, of which a lane has one, `from..to`: each by a group of lanes.
template <typename K> __device__ u32 search_by_groups(const Graph<K> &graph, u32 from, u32 to, bool is_short) {
    constexpr u32 GROUPS = WARP / GROUP, STEP = GROUP * Vector<K>::LENGTH;
    __shared__ u32 all_owners[WARPS][WARP], all_found[WARPS][WARP];
    u32 lane = threadIdx.x % WARP, *owners = all_owners[threadIdx.x / WARP], *found_at = all_found[threadIdx.x / WARP];
    u32 rows = __ballot_sync(ALL, !is_short), count = __popc(rows);
    if (!is_short) owners[__popc(rows & lanes_before())] = lane;
    __syncwarp();
#pragma unroll 1
    for (u32 number = lane / GROUP; number - lane / GROUP < count; number += GROUPS) {
        u32 owner = owners[min(number, count - 1)];
        u32 row = __shfl_sync(ALL, from, owner), end = __shfl_sync(ALL, to, owner);
        if (number >= count) end = row;
        Smallest<K> best = NOTHING<K>;
#pragma unroll 1
        for (u32 at = Vector<K>::start(row, lane % GROUP); at < end; at += STEP) {
            Vector<K> vector;
            vector.load(graph, at);
            vector.offer(graph, at, row, end, best);
        }
        best.template take_from_lanes<GROUP>();
        if (lane % GROUP == 0 && row < end) found_at[owner] = found(best.at, row);
    }
    __syncwarp();
    return is_short ? NONE : found_at[lane];
}

// Cuts the rows of some lanes into pieces, for other warps.
template <typename K> __device__ void cut_rows(const Work<K> &work, u32 v, u32 from, u32 to, bool is_hub) {
    Counters &counters = work.state->counters[work.turn];
    u32 hubs = __ballot_sync(ALL, is_hub), lane = threadIdx.x % WARP;
    if (!hubs) return;
    u32 count = is_hub ? (to - from - 1) / PIECE + 1 : 0, end = warp_scan(count), pieces = 0, hub = 0;
    if (lane == WARP - 1) pieces = atomicAdd(&counters.pieces, end), hub = atomicAdd(&counters.hubs, __popc(hubs));
    u32 first = __shfl_sync(ALL, pieces, WARP - 1) + end - count;
    hub = __shfl_sync(ALL, hub, WARP - 1) + __popc(hubs & lanes_before());
    if (is_hub) work.hubs[hub] = make_uint2(v, first);
    for (; hubs; hubs &= hubs - 1) {
        u32 owner = __ffs(hubs) - 1;
        u32 row = __shfl_sync(ALL, from, owner), row_end = __shfl_sync(ALL, to, owner);
        u32 parts = __shfl_sync(ALL, count, owner), at = __shfl_sync(ALL, first, owner);
        for (u32 i = lane; i < parts; i += WARP) {
            u32 begin = row + i * PIECE;
            work.pieces[at + i] = {begin, row_end - begin > PIECE ? begin + PIECE : row_end, NONE, 0};
        }
    }
}

// Each vertex's smallest arc: the neighbour in `links`, the edge in `chosen`; itself and NONE where there is none.
//
// A warp takes 32 rows, which lie one behind the other. Each is searched by a thread, or where rows are longer on the whole by a
// group of lanes, unless it is short. Those of hubs are cut into pieces. The first block meanwhile tells which edges are light.
template <bool BY_GROUPS, typename K> __device__ void find_smallest(const Graph<K> &graph, const Work<K> &work) {
    constexpr u32 MOST = BY_GROUPS ? LONG_ROW : SHORT_ROW;
    if (blockIdx.x == 0) return Threshold<K>::choose_for(graph, work);
    u32 lane = threadIdx.x % WARP;
    u64 step = (u64)(gridDim.x - 1) * THREADS;
    for (u64 first = (u64)(blockIdx.x - 1) * THREADS + threadIdx.x - lane; first < graph.n; first += step) {
        u32 v = first + lane;
        bool inside = first + lane < graph.n;
        u32 from = inside ? graph.rows[v] : 0, to = inside ? graph.rows[v + 1] : 0;
        bool is_hub = to - from > MOST;
        cut_rows(work, v, from, to, is_hub);
        if (is_hub) to = from;
        bool is_short = !BY_GROUPS || to - from <= OWN_ROW;
        u32 best = BY_GROUPS ? search_by_groups(graph, from, to, is_short) : NONE;
        if (is_short) {
            Smallest<K> smallest = NOTHING<K>;
#pragma unroll 1
            for (u32 at = from; at < to; at += EACH) {
                K keys[EACH];
#pragma unroll
                for (u32 i = 0; i < EACH; i++) keys[i] = at + i < to ? graph.arc_keys[at + i] : 0;
#pragma unroll
                for (u32 i = 0; i < EACH; i++)
                    if (at + i < to) smallest.take(keys[i] ^ graph.flip, at + i);
            }
            best = smallest.at;
        }
        if (inside) {
            work.links[v] = best == NONE ? v : graph.neighbours[best];
            work.chosen[v] = best == NONE ? NONE : graph.edges[best];
        }
    }
}

template <typename K> __device__ void search_hubs(const Graph<K> &graph, const Work<K> &work) {
    u32 pieces = work.state->counters[work.turn].pieces;
    for (u32 i = blockIdx.x * WARPS + threadIdx.x / WARP; i < pieces; i += gridDim.x * WARPS) {
        Piece<K> &piece = work.pieces[i];
        Smallest<K> best = search_row(graph, piece.from, piece.to);
        if (threadIdx.x % WARP == 0) piece.key = best.key, piece.best = best.at;
    }
}

template <typename K> __device__ void merge_pieces(const Graph<K> &graph, const Work<K> &work) {
    u32 hubs = work.state->counters[work.turn].hubs;
    u32 lane = threadIdx.x % GROUP, step = gridDim.x * THREADS / GROUP;
    for (u32 first = (blockIdx.x * THREADS + threadIdx.x) / WARP * WARP / GROUP; first < hubs; first += step) {
        u32 i = first + threadIdx.x % WARP / GROUP;
        uint2 hub = work.hubs[min(i, hubs - 1)];
        u32 count = (graph.rows[hub.x + 1] - graph.rows[hub.x] - 1) / PIECE + 1;
        Smallest<K> best = NOTHING<K>;
        for (u32 at = hub.y + lane; at < hub.y + count; at += GROUP) best.take(work.pieces[at].key, work.pieces[at].best);
        best.template take_from_lanes<GROUP>();
        if (i < hubs && lane == 0) work.links[hub.x] = graph.neighbours[best.at], work.chosen[hub.x] = graph.edges[best.at];
    }
}

// The same from cells that hold the id of each vertex's smallest edge.
template <typename K> __device__ void look_up(const Graph<K> &graph, const Work<K> &work) {
    if (blockIdx.x == 0) return Threshold<K>::choose_for(graph, work);
    u64 step = (u64)(gridDim.x - 1) * THREADS;
    for (u64 v = (u64)(blockIdx.x - 1) * THREADS + threadIdx.x; v < graph.n; v += step) {
        u64 cell = work.cells[v];
        u32 e = low(cell);
        work.links[v] = cell == EMPTY ? (u32)v : graph.src[e] ^ graph.dst[e] ^ (u32)v;
        work.chosen[v] = cell == EMPTY ? NONE : e;
    }
}

// Offers the edges of a range to both ends, by id: round one of a graph without adjacency lists.
template <typename K> __device__ void offer_range(const Graph<K> &graph, u64 *cells, u32 from, u32 to) {
    u64 e = (u64)from + blockIdx.x * blockDim.x + threadIdx.x;
    for (; e < to; e += (u64)gridDim.x * blockDim.x) {
        u32 u = graph.src[e], v = graph.dst[e];
        if (u == v) continue;
        u64 mine = pack(shorten(key_of(graph, (u32)e), graph.lowest), (u32)e);
        u64 seen_u = *(volatile u64 *)(cells + u), seen_v = *(volatile u64 *)(cells + v);
        offer(graph, nullptr, cells + u, mine, seen_u);
        offer(graph, nullptr, cells + v, mine, seen_v);
    }
}
