// Round one: the smallest edge of every vertex, from its row or from the edges.
#pragma once
#include "kostra/cells.cuh"

template <typename K> struct Smallest {
    K key;
    u32 at;
    // Rows are in edge-id order, so the earlier of equal keys is the smaller edge.
    __device__ void take(K other_key, u32 other_at) {
        if (other_key < key || (other_key == key && other_at < at)) key = other_key, at = other_at;
    }
    __device__ void take_from_lanes() {
        for (u32 step = WARP / 2; step; step /= 2) {
            K other_key = __shfl_xor_sync(ALL, key, step);
            u32 other_at = __shfl_xor_sync(ALL, at, step);
            take(other_key, other_at);
        }
    }
};

// The smallest arc of `from..to`, found by the warp's lanes together.
template <typename K> __device__ Smallest<K> search_row(const Graph<K> &graph, u32 from, u32 to) {
    Smallest<K> best = {(K)~(K)0, NONE};
#pragma unroll 4
    for (u32 at = from + threadIdx.x % WARP; at < to; at += WARP) best.take(graph.arc_keys[at] ^ graph.flip, at);
    best.take_from_lanes();
    return best;
}

// Each vertex's smallest arc: the neighbour in `links`, the edge in `chosen`; itself and NONE where there is none.
//
// A warp takes 32 rows, which lie one behind the other, reads them into shared memory and searches them there: short ones by
// a thread each, longer ones together. Where rows are short throughout, each thread reads its own at once.
template <typename K> __device__ void find_smallest(const Graph<K> &graph, const Work<K> &work, bool staged) {
    State &state = *work.state;
    u32 lane = threadIdx.x % WARP;
    u32 warps = gridDim.x * WARPS;
    K *stage = (K *)shared_memory() + threadIdx.x / WARP * STAGE;
    for (u64 first = (u64)(blockIdx.x * WARPS + threadIdx.x / WARP) * WARP; first < graph.n; first += (u64)warps * WARP) {
        u32 v = first + lane;
        bool inside = first + lane < graph.n;
        u32 from = inside ? graph.rows[v] : 0, to = inside ? graph.rows[v + 1] : 0;
        Smallest<K> best = {(K)~(K)0, NONE};
        u32 hubs = __ballot_sync(ALL, to - from > HUB);
        u32 rest = __ballot_sync(ALL, inside && to - from <= HUB);
        u32 longs = __ballot_sync(ALL, to - from > SHORT_ROW && to - from <= HUB);
        if (!staged) {
            if (to - from <= SHORT_ROW)
#pragma unroll 4
                for (u32 at = from; at < to; at++) best.take(graph.arc_keys[at] ^ graph.flip, at);
            for (; longs; longs &= longs - 1) {
                u32 owner = __ffs(longs) - 1;
                Smallest<K> found = search_row(graph, __shfl_sync(ALL, from, owner), __shfl_sync(ALL, to, owner));
                if (lane == owner) best = found;
            }
            rest = 0;
        }
        while (rest) {
            // Rows `begin..end` lie one behind the other, without a hub among them.
            u32 begin = __ffs(rest) - 1, beyond = ~(rest >> begin);
            u32 end = beyond ? min(begin + __ffs(beyond) - 1, WARP) : WARP;
            rest &= end < WARP ? ALL << end : 0;
            u32 start = __shfl_sync(ALL, from, begin), stop = __shfl_sync(ALL, to, end - 1);
            for (u32 part = start; part < stop; part += STAGE) {
                u32 count = min(stop - part, STAGE);
#pragma unroll 8
                for (u32 i = lane; i < count; i += WARP) stage[i] = graph.arc_keys[part + i] ^ graph.flip;
                __syncwarp();
                u32 here = max(from, part), last = min(to, part + count);
                bool is_here = lane >= begin && lane < end && here < last;
                if (is_here && to - from <= SHORT_ROW)
                    for (u32 at = here; at < last; at++) best.take(stage[at - part], at);
                u32 together = __ballot_sync(ALL, is_here && to - from > SHORT_ROW);
                for (; together; together &= together - 1) {
                    u32 owner = __ffs(together) - 1;
                    u32 row = __shfl_sync(ALL, here, owner), row_end = __shfl_sync(ALL, last, owner);
                    Smallest<K> found = {(K)~(K)0, NONE};
                    for (u32 at = row + lane; at < row_end; at += WARP) found.take(stage[at - part], at);
                    found.take_from_lanes();
                    if (lane == owner) best.take(found.key, found.at);
                }
                __syncwarp();
            }
        }
        for (; hubs; hubs &= hubs - 1) {
            u32 owner = __ffs(hubs) - 1;
            u32 row = __shfl_sync(ALL, from, owner), end = __shfl_sync(ALL, to, owner);
            u32 count = (end - row - 1) / HUB + 1, piece = 0;
            if (lane == 0) {
                piece = atomicAdd(&state.pieces, count);
                work.hubs[atomicAdd(&state.hubs, 1)] = make_uint2(first + owner, piece);
            }
            piece = __shfl_sync(ALL, piece, 0);
            for (u32 i = lane; i < count; i += WARP) {
                u32 begin = row + i * HUB;
                work.pieces[piece + i] = {begin, end - begin > HUB ? begin + HUB : end, NONE, 0};
            }
        }
        if (inside) {
            work.links[v] = best.at == NONE ? v : graph.neighbours[best.at];
            work.chosen[v] = best.at == NONE ? NONE : graph.edges[best.at];
        }
    }
}

template <typename K> __device__ void search_hubs(const Graph<K> &graph, const Work<K> &work) {
    u32 pieces = work.state->pieces;
    for (u32 i = blockIdx.x * WARPS + threadIdx.x / WARP; i < pieces; i += gridDim.x * WARPS) {
        Piece<K> &piece = work.pieces[i];
        Smallest<K> best = search_row(graph, piece.from, piece.to);
        if (threadIdx.x % WARP == 0) piece.key = best.key, piece.best = best.at;
    }
}

template <typename K> __device__ void merge_pieces(const Graph<K> &graph, const Work<K> &work) {
    u32 hubs = work.state->hubs;
    for (u32 i = blockIdx.x * WARPS + threadIdx.x / WARP; i < hubs; i += gridDim.x * WARPS) {
        uint2 hub = work.hubs[i];
        u32 count = (graph.rows[hub.x + 1] - graph.rows[hub.x] - 1) / HUB + 1;
        Smallest<K> best = {(K)~(K)0, NONE};
        for (u32 at = threadIdx.x % WARP; at < count; at += WARP) {
            const Piece<K> &piece = work.pieces[hub.y + at];
            best.take(piece.key, piece.best);
        }
        best.take_from_lanes();
        if (threadIdx.x % WARP == 0) work.links[hub.x] = graph.neighbours[best.at], work.chosen[hub.x] = graph.edges[best.at];
    }
}

// The same from cells that hold the id of each vertex's smallest edge.
template <typename K> __device__ void look_up(const Graph<K> &graph, const Work<K> &work) {
    for (u64 v = (u64)blockIdx.x * THREADS + threadIdx.x; v < graph.n; v += (u64)gridDim.x * THREADS) {
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
