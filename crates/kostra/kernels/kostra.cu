// The kernels of `kostra` on CUDA (see src/cuda/kostra.rs for the method and the order in which they run).
//
// Vocabulary: a tree is a set of vertices joined so far. A cell is the smallest edge that leaves a tree, as
// `key << 32 | position`: positions follow edge ids, so ties go to the smaller id. 64-bit keys are shortened to 32 bits
// in cells and compared in full only where the short ones are equal.
//
// Every pass gives each block one stretch of the input in order, and each block writes what it keeps, in order, to a
// stretch of its own. So nothing is appended to a counter that all share, lists stay in edge-id order, and trees are
// numbered in the order of their roots.
#include "common.cuh"

#ifndef THREADS
#define THREADS 512
#endif
// What a thread does while it waits at the barrier.
#ifndef IDLE
#define IDLE()
#endif

constexpr u32 WARPS = THREADS / WARP;
// Edges or trees that a thread looks at in one go: several loads in flight.
constexpr u32 EACH = 4;
constexpr u32 TILE = THREADS * EACH;
constexpr u32 SAMPLES = 1024;
// Rows up to this length are searched by one thread, up to HUB by a warp; longer ones are cut into pieces of that length.
constexpr u32 SHORT_ROW = 32;
constexpr u32 HUB = 2048;
// Arcs that a warp reads at a time.
constexpr u32 STAGE = 512;
// So many steps of a path are walked before the rest is left to another pass over all trees.
constexpr u32 WALK = 64;
// Most blocks of a launch, and most rounds; each halves the trees at least.
constexpr u32 BLOCKS = 1024;
constexpr u32 ROUNDS = 72;
// A private table pays from so many edges per tree.
constexpr u32 DENSE = 8;
// Edges per block below which fewer blocks work: the barrier costs more than the work.
constexpr u32 SHARE = 2048;
// One block goes on alone, with the trees in its shared memory, when there are no more edges and trees than this.
constexpr u32 SOLO_EDGES = 8192;
constexpr u32 SOLO_TREES = 2048;

// A link with this bit tells that the tree is a root; the rest is its number in its block, with DONE where no edge of the
// list leaves it. So are labels, without the first bit. There are fewer than 2^31 vertices and half as many trees.
constexpr u32 ROOT = 1u << 31;
constexpr u32 DONE = 1u << 30;
constexpr u32 NUMBER = DONE - 1;

// Counted for the statistics: the trees and the edges at the start of a round.
struct Round {
    u32 trees, edges;
};

struct State {
    // Blocks that have arrived, and the target of the last barrier that all have reached; for each cooperative launch.
    u32 arrived[4], reached[4];
    u32 again;
    u32 pieces, hubs;
    // Trees to begin with, and those complete so far.
    u32 trees, done;
    // Rounds, and entries of `chosen`, so far.
    u32 rounds, slots;
    // The blocks that wrote the list, and the room of each.
    u32 parts;
    u64 part_length;
    // The last light edge in the order.
    u64 threshold_key;
    u32 threshold_edge;
    Round round[ROUNDS];
    // Of the list, and of roots with edges and without, in each block's stretch.
    u32 kept[BLOCKS], active[BLOCKS], complete[BLOCKS];
};

// A part of a hub's row, and the smallest edge in it.
template <typename K> struct Piece {
    u32 from, to;
    u32 best;
    K key;
};

template <typename K> struct Work {
    State *state;
    // Light edges wanted per vertex; 0 takes all edges as light.
    float factor;
    // Cells that fit into a block's shared memory.
    u32 table;
    u64 *cells, *next_cells;
    // The tree that each tree joins, or its number where it is a root.
    u32 *links;
    // For every vertex and then for the trees of every round: the label in the next round.
    u32 *maps;
    uint4 *list, *next_list;
    // The edge that a tree joined another along, round after round; NONE for roots.
    u32 *chosen;
    Piece<K> *pieces;
    // The hubs, each with its first piece.
    uint2 *hubs;
};

struct Shared {
    u32 tile[EACH * WARPS + 1];
    // Where each block's roots begin, with edges and without, and its part of the list; and the end of the last.
    u32 starts[BLOCKS + 1], done_starts[BLOCKS + 1], list_starts[BLOCKS + 1];
};

// Edges that were found light and wait until a whole tile of them can be worked on.
template <typename K> struct Queue {
    u32 tile[EACH * WARPS + 1];
    u32 edges[2 * TILE];
    K keys[2 * TILE];
};

#ifdef EMULATED
__device__ char *shared_memory();
#else
extern __shared__ __align__(16) char dynamic[];
__device__ __forceinline__ char *shared_memory() { return dynamic; }
#endif
__device__ __forceinline__ Shared &shared() { return *(Shared *)shared_memory(); }
__device__ __forceinline__ u64 *table() { return (u64 *)(shared_memory() + (sizeof(Shared) + 15) / 16 * 16); }

// Reads past the block's own cache, for what other blocks may be writing now. (The barrier empties that cache.)
__device__ __forceinline__ u32 fresh(const u32 *at) { return __ldcg(at); }
__device__ __forceinline__ u64 fresh(const u64 *at) { return __ldcg(at); }
__device__ __forceinline__ u32 watched(const u32 *at) { return *(const volatile u32 *)at; }

// The blocks that work together: the first `size` of a cooperative launch.
struct Team {
    State *state;
    // Which of the solve's cooperative launches this is.
    u32 launch;
    u32 size;
    // What the counter of arrivals stands at when all have arrived.
    u32 target;

    __device__ void sync() {
        __syncthreads();
        if (size == 1) return;
        target += size;
        if (threadIdx.x == 0) {
            __threadfence();
            u32 *reached = &state->reached[launch];
            if (atomicAdd(&state->arrived[launch], 1) == target - 1) {
                __threadfence();
                *(volatile u32 *)reached = target;
            } else {
                while ((int)(watched(reached) - target) < 0) IDLE();
            }
            __threadfence();
        }
        __syncthreads();
    }

    // Goes on with fewer blocks; false for those that are sent away.
    __device__ bool shrink(u32 wanted) {
        size = min(size, max(wanted, 1u));
        return blockIdx.x < size;
    }
};

// A block's stretch of `count` things.
struct Stretch {
    u32 from, to;
};

// Whole tiles, and at least one.
__device__ __forceinline__ u64 stretch_length(u32 count, u32 blocks) {
    return max(1ull, ((u64)count + blocks * TILE - 1) / (blocks * TILE)) * TILE;
}

__device__ __forceinline__ Stretch stretch(u32 count, u32 blocks) {
    u64 length = stretch_length(count, blocks);
    u64 from = min((u64)count, length * blockIdx.x);
    return {(u32)from, (u32)min((u64)count, from + length)};
}

// For each of a tile's things that is kept, how many are kept before it; thing `i` of all threads comes before thing
// `i + 1` of any. Returns how many are kept. With `also`, the same for a second choice, in the upper 16 bits.
__device__ __forceinline__ u32 place(u32 *counts, const bool (&keep)[EACH], u32 (&places)[EACH],
                                     const bool *also = nullptr) {
    u32 warp = threadIdx.x / WARP, lane = threadIdx.x % WARP;
#pragma unroll
    for (u32 i = 0; i < EACH; i++) {
        u32 ballot = __ballot_sync(ALL, keep[i]), other = also ? __ballot_sync(ALL, also[i]) : 0;
        places[i] = __popc(ballot & lanes_before()) | __popc(other & lanes_before()) << 16;
        if (lane == 0) counts[i * WARPS + warp] = __popc(ballot) | __popc(other) << 16;
    }
    __syncthreads();
    if (warp == 0) {
        constexpr u32 PER_LANE = (EACH * WARPS + WARP - 1) / WARP;
        u32 sum = 0, before[PER_LANE];
#pragma unroll
        for (u32 i = 0; i < PER_LANE; i++) {
            u32 at = lane * PER_LANE + i;
            before[i] = sum;
            sum += at < EACH * WARPS ? counts[at] : 0;
        }
        u32 end = warp_scan(sum);
#pragma unroll
        for (u32 i = 0; i < PER_LANE; i++) {
            u32 at = lane * PER_LANE + i;
            if (at < EACH * WARPS) counts[at] = end - sum + before[i];
        }
        if (lane == WARP - 1) counts[EACH * WARPS] = end;
    }
    __syncthreads();
#pragma unroll
    for (u32 i = 0; i < EACH; i++) places[i] += counts[i * WARPS + warp];
    u32 total = counts[EACH * WARPS];
    __syncthreads();
    return total;
}

// Where each of `blocks` parts begins when they are put one behind the other, and the end of the last.
__device__ void find_starts(const u32 *counts, u32 blocks, u32 *starts) {
    constexpr u32 PER_THREAD = BLOCKS / THREADS;
    u32 *sums = shared().tile;
    u32 lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
    u32 mine[PER_THREAD], sum = 0;
#pragma unroll
    for (u32 i = 0; i < PER_THREAD; i++) {
        u32 at = threadIdx.x * PER_THREAD + i;
        mine[i] = at < blocks ? fresh(counts + at) : 0;
        sum += mine[i];
    }
    u32 end = warp_scan(sum);
    if (lane == WARP - 1) sums[warp] = end;
    __syncthreads();
    u32 before = end - sum;
    for (u32 i = 0; i < warp; i++) before += sums[i];
#pragma unroll
    for (u32 i = 0; i < PER_THREAD; i++) {
        u32 at = threadIdx.x * PER_THREAD + i;
        if (at <= blocks) starts[at] = before;
        before += mine[i];
    }
    if (blocks == BLOCKS && threadIdx.x == THREADS - 1) starts[blocks] = before;
    __syncthreads();
}

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
__device__ __forceinline__ void publish(const Graph<u64> &) { __threadfence(); }

// ---- the threshold -------------------------------------------------------------------------------------------------

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

// ---- round one: the smallest edge of every vertex --------------------------------------------------------------------

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

// ---- a round -------------------------------------------------------------------------------------------------------

// What a tree joins along its smallest edge, and whether that one chose the same edge.
struct Choice {
    u32 other, edge;
    bool mutual;
};

// The first round's choices stand in `links` and `chosen` already. A root's own choice is overwritten while others look at
// it, but those are larger, and larger ones of a pair are no roots whatever they see.
struct FromRows {
    const u32 *links, *chosen;
    __device__ Choice operator()(u32 v) const {
        u32 other = links[v], edge = chosen[v];
        return {other, edge, edge != NONE && fresh(chosen + other) == edge};
    }
};

struct FromList {
    const u64 *cells;
    const uint4 *list;
    __device__ Choice operator()(u32 c) const {
        u64 cell = cells[c];
        if (cell == EMPTY) return {c, NONE, false};
        uint4 edge = list[low(cell)];
        u32 other = edge.x == c ? edge.y : edge.x;
        return {other, edge.w, cells[other] == cell};
    }
};

// Every tree points along its smallest edge, which joins the forest; of two that chose the same edge the smaller is a
// root. Longer cycles cannot be: the chosen edges would have to get smaller all the way round. Roots get a number
// in their block.
template <typename Choose> __device__ void hook(Team &team, u32 *links, u32 *chosen, u32 trees, Choose choose) {
    Stretch mine = stretch(trees, team.size);
    u32 active = 0, complete = 0;
    for (u64 first = mine.from; first < mine.to; first += TILE) {
        bool root[EACH], lonely[EACH];
        u32 places[EACH];
        Choice choices[EACH];
#pragma unroll
        for (u32 i = 0; i < EACH; i++) {
            u64 c = first + i * THREADS + threadIdx.x;
            choices[i] = c < mine.to ? choose((u32)c) : Choice{0, 0, false};
        }
#pragma unroll
        for (u32 i = 0; i < EACH; i++) {
            u64 c = first + i * THREADS + threadIdx.x;
            root[i] = choices[i].mutual && c < choices[i].other;
            lonely[i] = choices[i].edge == NONE;
        }
        u32 count = place(shared().tile, root, places, lonely);
#pragma unroll
        for (u32 i = 0; i < EACH; i++) {
            u64 c = first + i * THREADS + threadIdx.x;
            if (c >= mine.to) continue;
            u32 link = choices[i].other;
            if (root[i]) link = ROOT | (active + (places[i] & 0xffff));
            if (lonely[i]) link = ROOT | DONE | (complete + (places[i] >> 16));
            links[c] = link;
            chosen[c] = root[i] ? NONE : choices[i].edge;
        }
        active += count & 0xffff;
        complete += count >> 16;
    }
    if (threadIdx.x == 0) {
        team.state->active[blockIdx.x] = active;
        team.state->complete[blockIdx.x] = complete;
    }
}

// The new label of every tree: the number of the root above it. Complete trees are numbered from `done` on. Also empties as
// many cells as there are labels.
//
// Other threads may shorten the same paths meanwhile; whatever they write lies further up the same path.
__device__ void resolve(Team &team, u32 *links, u64 *clear, u32 *map, u32 trees, u32 done) {
    Shared &s = shared();
    Stretch mine = stretch(trees, team.size);
    u32 length = (u32)stretch_length(trees, team.size), left = s.starts[team.size];
    for (;;) {
        bool unfinished = false;
        for (u64 first = mine.from; first < mine.to; first += TILE) {
            u32 at[EACH], link[EACH];
#pragma unroll
            for (u32 i = 0; i < EACH; i++) {
                u64 c = first + i * THREADS + threadIdx.x;
                at[i] = c;
                link[i] = c < mine.to ? links[c] : ROOT;
            }
            bool walking = true;
#pragma unroll 1
            for (u32 steps = 0; walking && steps < WALK; steps++) {
#pragma unroll
                for (u32 i = 0; i < EACH; i++)
                    if (!(link[i] & ROOT)) at[i] = link[i], link[i] = links[at[i]];
                walking = false;
#pragma unroll
                for (u32 i = 0; i < EACH; i++) walking |= !(link[i] & ROOT);
            }
#pragma unroll
            for (u32 i = 0; i < EACH; i++) {
                u64 c = first + i * THREADS + threadIdx.x;
                if (c >= mine.to) continue;
                if (at[i] != c) links[c] = at[i];
                if (!(link[i] & ROOT)) {
                    unfinished = true;
                    continue;
                }
                u32 block = at[i] / length, number = link[i] & NUMBER;
                map[c] = link[i] & DONE ? DONE | (done + s.done_starts[block] + number) : s.starts[block] + number;
                if (c < left) clear[c] = EMPTY;
            }
        }
        if (__syncthreads_or(unfinished) && threadIdx.x == 0) team.state->again = 1;
        team.sync();
        if (!watched(&team.state->again)) return;
        team.sync();
        if (blockIdx.x == 0 && threadIdx.x == 0) team.state->again = 0;
        team.sync();
    }
}

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

// Notes how a list was written.
__device__ void end_list(State &state, u32 m, u32 kept) {
    if (threadIdx.x == 0) state.kept[blockIdx.x] = kept;
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        state.parts = gridDim.x;
        state.part_length = stretch_length(m, gridDim.x);
    }
}

// The list of light edges that join two trees. Few edges are light; they wait in shared memory until there are enough
// for all threads.
template <typename K> __device__ void list_light(const Graph<K> &graph, const Work<K> &work) {
    State &state = *work.state;
    Queue<K> &queue = *(Queue<K> *)shared_memory();
    Stretch mine = stretch(graph.m, gridDim.x);
    const u32 *labels = work.maps;
    u32 kept = 0, waiting = 0;
    K keys[EACH];
    auto load_keys = [&](u64 first) {
#pragma unroll
        for (u32 i = 0; i < EACH; i++) {
            u64 e = first + i * THREADS + threadIdx.x;
            keys[i] = e < mine.to ? key_of(graph, (u32)e) : 0;
        }
    };
    load_keys(mine.from);
    for (u64 first = mine.from; first < mine.to; first += TILE) {
        bool keep[EACH];
        u32 places[EACH];
#pragma unroll
        for (u32 i = 0; i < EACH; i++) {
            u64 e = first + i * THREADS + threadIdx.x;
            keep[i] = e < mine.to && is_light(state, keys[i], (u32)e);
        }
        u32 count = place(queue.tile, keep, places);
#pragma unroll
        for (u32 i = 0; i < EACH; i++)
            if (keep[i]) {
                queue.edges[waiting + places[i]] = (u32)(first + i * THREADS + threadIdx.x);
                queue.keys[waiting + places[i]] = keys[i];
            }
        waiting += count;
        load_keys(first + TILE);
        __syncthreads();
        if (waiting < TILE && first + TILE < mine.to) continue;
        // The first TILE of the queue, or what is left at the end.
        for (u32 done = 0; waiting && (waiting >= TILE || first + TILE >= mine.to);) {
            uint4 edges[EACH];
#pragma unroll
            for (u32 i = 0; i < EACH; i++) {
                u32 at = i * THREADS + threadIdx.x;
                keep[i] = at < waiting;
                if (!keep[i]) continue;
                u32 e = queue.edges[done + at];
                edges[i] = make_uint4(graph.src[e], graph.dst[e], shorten(queue.keys[done + at], graph.lowest), e);
            }
#pragma unroll
            for (u32 i = 0; i < EACH; i++)
                if (keep[i]) edges[i].x = labels[edges[i].x] & NUMBER, edges[i].y = labels[edges[i].y] & NUMBER;
#pragma unroll
            for (u32 i = 0; i < EACH; i++) keep[i] = keep[i] && edges[i].x != edges[i].y;
            u32 count = place(queue.tile, keep, places);
            put(graph, work.list, work.cells, mine.from + kept, keep, places, edges);
            kept += count;
            u32 taken = min(waiting, TILE);
            waiting -= taken;
            done += taken;
            if (waiting < TILE) {
                // What is left moves to the front.
                for (u32 at = threadIdx.x; at < waiting; at += THREADS) {
                    queue.edges[at] = queue.edges[done + at];
                    queue.keys[at] = queue.keys[done + at];
                }
                done = 0;
                __syncthreads();
            }
        }
    }
    end_list(state, graph.m, kept);
}

// The list of all edges that join two trees, without the light ones where those were listed before. Ends and keys are read a
// tile ahead.
template <typename K> __device__ void list_all(const Graph<K> &graph, const Work<K> &work, bool without_light) {
    State &state = *work.state;
    Stretch mine = stretch(graph.m, gridDim.x);
    const u32 *labels = work.maps;
    u32 kept = 0;
    K keys[EACH];
    u32 src[EACH], dst[EACH];
    auto load = [&](u64 first) {
#pragma unroll
        for (u32 i = 0; i < EACH; i++) {
            u64 e = min(first + i * THREADS + threadIdx.x, (u64)graph.m - 1);
            keys[i] = key_of(graph, (u32)e), src[i] = graph.src[e], dst[i] = graph.dst[e];
        }
    };
    if (mine.from < mine.to) load(mine.from);
    for (u64 first = mine.from; first < mine.to; first += TILE) {
        bool keep[EACH];
        u32 places[EACH];
        uint4 edges[EACH];
#pragma unroll
        for (u32 i = 0; i < EACH; i++) {
            u64 e = first + i * THREADS + threadIdx.x;
            keep[i] = e < mine.to && !(without_light && is_light(state, keys[i], (u32)e));
            edges[i] = make_uint4(labels[src[i]] & NUMBER, labels[dst[i]] & NUMBER, shorten(keys[i], graph.lowest), (u32)e);
        }
        load(first + TILE);
#pragma unroll
        for (u32 i = 0; i < EACH; i++) keep[i] = keep[i] && edges[i].x != edges[i].y;
        u32 count = place(shared().tile, keep, places);
        put(graph, work.list, work.cells, mine.from + kept, keep, places, edges);
        kept += count;
    }
    end_list(state, graph.m, kept);
}

// The part in which a place is: the last that starts at or before it, and not before `part`.
__device__ __forceinline__ u32 find_part(const u32 *starts, u32 part, u32 parts, u64 at) {
    for (u32 end = parts; end - part > 1;) {
        u32 middle = (part + end) / 2;
        if (starts[middle] <= at) part = middle;
        else end = middle;
    }
    return part;
}

// Renames the ends of the list's edges, drops those inside a tree, and offers the others to their trees. The list
// consists of a part per block of the team that wrote it; `list_starts` tells how they would follow one another.
template <typename K>
__device__ void relabel(Team &team, const Graph<K> &graph, const Work<K> &work, const u32 *map, u32 edges, u32 trees,
                        u32 parts, u64 part_length) {
    State &state = *work.state;
    Shared &s = shared();
    Stretch mine = stretch(edges, team.size);
    Minima<K> minima = {graph, work.next_list, work.next_cells, trees, team.size > 1 && trees <= work.table && edges / DENSE > trees};
    u64 *cells = minima.begin();
    u32 kept = 0;
    u32 part = 0;
    for (u64 first = mine.from; first < mine.to; first += TILE) {
        // The part in which the tile begins: the last that starts at or before it.
        u64 last = min((u64)mine.to, first + TILE);
        part = find_part(s.list_starts, part, parts, first);
        bool whole = s.list_starts[part + 1] >= last;
        uint4 held[EACH];
        bool keep[EACH];
        u32 places[EACH];
#pragma unroll
        for (u32 i = 0; i < EACH; i++) {
            u64 at = first + i * THREADS + threadIdx.x;
            keep[i] = at < last;
            if (!keep[i]) continue;
            u32 here = whole ? part : find_part(s.list_starts, part, parts, at);
            held[i] = work.list[here * part_length + (at - s.list_starts[here])];
        }
#pragma unroll
        for (u32 i = 0; i < EACH; i++)
            if (keep[i]) held[i].x = map[held[i].x], held[i].y = map[held[i].y];
#pragma unroll
        for (u32 i = 0; i < EACH; i++) keep[i] = keep[i] && held[i].x != held[i].y;
        u32 count = place(s.tile, keep, places);
        put(graph, work.next_list, cells, mine.from + kept, keep, places, held);
        kept += count;
    }
    minima.end();
    if (threadIdx.x == 0) state.kept[blockIdx.x] = kept;
}

// ---- the whole -----------------------------------------------------------------------------------------------------

// Hooks and resolves; returns how many trees are left that have edges.
template <typename K, typename Choose>
__device__ u32 join(Team &team, const Work<K> &work, u64 *clear, u32 *chosen, u32 *map, u32 trees, u32 &done, Choose choose) {
    Shared &s = shared();
    hook(team, work.links, chosen, trees, choose);
    team.sync();
    find_starts(team.state->active, team.size, s.starts);
    find_starts(team.state->complete, team.size, s.done_starts);
    u32 left = s.starts[team.size];
    resolve(team, work.links, clear, map, trees, done);
    done += s.done_starts[team.size];
    return left;
}

// Rounds on the list until no edge is left. Where `labelled`, until every tree is complete and has its label, too.
template <typename K> __device__ void contract(const Graph<K> &graph, Work<K> work, u32 launch, bool labelled) {
    State &state = *work.state;
    Shared &s = shared();
    Team team = {work.state, launch, gridDim.x, 0};
    u32 parts = state.parts, trees = state.trees, rounds = state.rounds, slots = state.slots, done = 0;
    u64 part_length = state.part_length;
    u32 *map = work.maps + graph.n;
    bool solo = false;
    for (;;) {
        find_starts(state.kept, parts, s.list_starts);
        u32 edges = s.list_starts[parts];
        if (edges == 0 && (!labelled || trees == 0)) break;
        // All blocks see the same numbers, so all agree who goes on.
        bool few = edges <= SOLO_EDGES && trees <= SOLO_TREES;
        if (!team.shrink(few ? 1 : (max(edges, trees) - 1) / SHARE + 1)) return;
        if (team.size == 1 && !solo && trees <= SOLO_TREES) {
            solo = true;
            for (u32 c = threadIdx.x; c < trees; c += THREADS) table()[c] = work.cells[c];
            work.cells = table();
            work.next_cells = table() + SOLO_TREES;
            work.links = (u32 *)(table() + 2 * SOLO_TREES);
            __syncthreads();
        }
        if (blockIdx.x == 0 && threadIdx.x == 0) state.round[rounds] = {trees, edges};
        u32 left = join(team, work, work.next_cells, work.chosen + slots, map, trees, done, FromList{work.cells, work.list});
        relabel(team, graph, work, map, edges, left, parts, part_length);
        team.sync();
        rounds++, slots += trees, map += trees, trees = left;
        parts = team.size, part_length = stretch_length(edges, team.size);
        uint4 *list = work.list;
        work.list = work.next_list, work.next_list = list;
        u64 *cells = work.cells;
        work.cells = work.next_cells, work.next_cells = cells;
    }
    if (blockIdx.x == 0 && threadIdx.x == 0) state.rounds = rounds, state.slots = slots, state.done = state.trees = done;
}

// After the rounds on light edges: the complete tree of every vertex, and empty cells for these trees. Follows the maps from
// round to round; those of large rounds are first made to lead to the end at once.
template <typename K> __device__ void label_vertices(const Work<K> &work, u32 n, u32 launch) {
    State &state = *work.state;
    Team team = {work.state, launch, gridDim.x, 0};
    u32 levels = state.rounds, done = state.done;
    if (done <= 1) return;
    u64 first = (u64)blockIdx.x * THREADS + threadIdx.x, step = (u64)gridDim.x * THREADS;
    for (u64 c = first; c < done; c += step) work.cells[c] = EMPTY;
    for (u32 level = levels; level-- > 0;) {
        u32 trees = state.round[level].trees;
        if (level && trees <= SHARE * 4) continue;
        u32 *map = work.maps;
#pragma unroll 1
        for (u32 i = 0; i < level; i++) map += state.round[i].trees;
#pragma unroll 1
        for (u64 c = first; c < trees; c += step) {
            u32 label = map[c];
            u32 *next = map + trees;
#pragma unroll 1
            for (u32 above = level + 1; above < levels && !(label & DONE); above++) {
                label = next[label];
                next += state.round[above].trees;
            }
            map[c] = label;
        }
        if (level) team.sync();
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

#ifndef KEY
#define KEY u32
#endif
#define KERNEL(threads, blocks) extern "C" __global__ void __launch_bounds__(threads, blocks)

KERNEL(1024, 1) sample(Graph<KEY> graph, Work<KEY> work) { choose_threshold(graph, work); }

KERNEL(THREADS, 4) search_rows(Graph<KEY> graph, Work<KEY> work, u32 staged) { find_smallest(graph, work, staged); }
KERNEL(THREADS, 4) search_pieces(Graph<KEY> graph, Work<KEY> work) { search_hubs(graph, work); }
KERNEL(THREADS, 4) join_pieces(Graph<KEY> graph, Work<KEY> work) { merge_pieces(graph, work); }

KERNEL(THREADS, 4) offer_edges(Graph<KEY> graph, u64 *cells, u32 from, u32 to) { offer_range(graph, cells, from, to); }
KERNEL(THREADS, 4) look_up_edges(Graph<KEY> graph, Work<KEY> work) { look_up(graph, work); }

KERNEL(THREADS, 3) join_vertices(Graph<KEY> graph, Work<KEY> work) {
    Team team = {work.state, 0, gridDim.x, 0};
    u32 isolated = 0;
    u32 trees = join(team, work, work.cells, work.chosen, work.maps, graph.n, isolated, FromRows{work.links, work.chosen});
    if (blockIdx.x == 0 && threadIdx.x == 0) work.state->trees = trees;
}

KERNEL(THREADS, 2) build(Graph<KEY> graph, Work<KEY> work, u32 light) {
    if (light && work.factor > 0) list_light(graph, work);
    else if (light || work.state->done > 1) list_all(graph, work, !light);
}

KERNEL(THREADS, 2) rounds(Graph<KEY> graph, Work<KEY> work, u32 light, u32 labelled) {
    if (light || work.state->done > 1) contract(graph, work, light ? 1 : 3, labelled);
}

KERNEL(THREADS, 4) label(Graph<KEY> graph, Work<KEY> work) { label_vertices(work, graph.n, 2); }
