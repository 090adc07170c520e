// Rounds on edges that threads hold in registers: all, where they can, or a part at a time (sift.cuh).
//
// Nothing is listed or numbered from round to round. Each edge finds the trees at its ends by their links, offers itself to
// both, and sees for itself which chose it; so a round has two barriers and few loads that wait for one another.
#pragma once
#include "kostra/lists.cuh"

struct Held {
    // The trees at the ends.
    u32 x[HOLD], y[HOLD];
    // What stands in the cells of trees that choose it.
    u64 mine[HOLD];
    // Bits of those that join two trees, of those that sleep, and of those that an end may have chosen.
    u32 live, asleep, hopes_x, hopes_y;

    __device__ __forceinline__ bool is_live(u32 i) const { return live >> i & 1; }

    // Holds the edge at a position of a list; what stands in cells is that, or its id.
    __device__ __forceinline__ void take(u32 i, const uint4 *list, u32 position, bool by_id) {
        uint4 edge = list[position];
        x[i] = edge.x, y[i] = edge.y, mine[i] = pack(edge.z, by_id ? edge.w : position);
        live |= 1u << i;
    }

    // Puts those to sleep that are not light.
    __device__ __forceinline__ void send_to_sleep(u32 bound) {
#pragma unroll
        for (u32 i = 0; i < HOLD; i++)
            if (is_live(i) && high(mine[i]) >= bound) asleep |= 1u << i;
        live &= ~asleep;
    }
};

// The place in a list, or the graph, of the edge that is held there. All threads have one before any has two.
__device__ __forceinline__ u32 held_place(const Team &team, u32 i) {
    return (i * team.size + blockIdx.x) * HOLDERS + threadIdx.x;
}

// Takes the edges of a list.
__device__ __forceinline__ Held hold_list(const Team &team, const List &list, bool by_id) {
    Held held;
    held.live = held.asleep = 0, held.hopes_x = held.hopes_y = ALL;
#pragma unroll
    for (u32 i = 0; i < HOLD; i++) {
        u32 at = held_place(team, i);
        if (at < list.count) held.take(i, list.edges, list.position(at), by_id);
    }
    return held;
}

// Takes the graph's edges.
template <typename K> __device__ __forceinline__ Held hold_graph(const Team &team, const Graph<K> &graph) {
    Held held;
    held.live = held.asleep = held.hopes_x = held.hopes_y = 0;
#pragma unroll
    for (u32 i = 0; i < HOLD; i++) {
        u32 e = held_place(team, i);
        if (e >= graph.m) continue;
        held.x[i] = graph.src[e], held.y[i] = graph.dst[e], held.mine[i] = pack(shorten(key_of(graph, e), graph.lowest), e);
        held.live |= (u32)(held.x[i] != held.y[i]) << i;
    }
    return held;
}

// Trees join along the edges that they chose; of two that chose the same one the smaller stays a root. Empties the cells of the
// next round. Returns how many of the thread's edges joined trees.
__device__ __forceinline__ u32 join_held(const Held &held, const uint4 *list, const u64 *cells, u64 *next_cells, u32 *links,
                                         u32 *chosen) {
    u32 hopes_x = held.hopes_x & held.live, hopes_y = held.hopes_y & held.live, joined = 0;
    if (!__any_sync(ALL, hopes_x | hopes_y)) return 0;
    u64 x_cells[HOLD], y_cells[HOLD];
#pragma unroll
    for (u32 i = 0; i < HOLD; i++) {
        x_cells[i] = y_cells[i] = EMPTY;
        if (hopes_x >> i & 1) x_cells[i] = fresh(cells + held.x[i]);
        if (hopes_y >> i & 1) y_cells[i] = fresh(cells + held.y[i]);
    }
#pragma unroll
    for (u32 i = 0; i < HOLD; i++) {
        if (!((hopes_x | hopes_y) >> i & 1)) continue;
        u32 x = held.x[i], y = held.y[i];
        bool for_x = x_cells[i] == held.mine[i], for_y = y_cells[i] == held.mine[i];
        if (for_x) next_cells[x] = EMPTY;
        if (for_y) next_cells[y] = EMPTY;
        if (for_x || for_y) {
            u32 child = for_x && (!for_y || x > y) ? x : y, position = low(held.mine[i]);
            links[child] = x ^ y ^ child;
            chosen[child] = list ? list[position].w : position;
            joined++;
        }
    }
    return joined;
}

// Steps after which a path is shortened.
constexpr u32 SHORT_PATH = 8;

// The root above a tree that is none, the first of these two. Every second tree on the way is linked to the one after the next: where many walk a chain at the
// same time, it is half as long with each step. They find old links or new ones, and both lead to the root.
__device__ __noinline__ u32 shorten_path(u32 *links, u32 c, u32 link) {
    for (;;) {
        u32 next = fresh(links + link);
        if (next & ROOT) return link;
        links[c] = next;
        c = link, link = next;
    }
}

// The trees that the ends belong to now.
__device__ __forceinline__ void rename_held(Held &held, u32 *links) {
    if (!__any_sync(ALL, held.live)) return;
    u32 x_links[HOLD], y_links[HOLD];
#pragma unroll
    for (u32 i = 0; i < HOLD; i++) {
        x_links[i] = y_links[i] = ROOT;
        if (held.is_live(i)) x_links[i] = links[held.x[i]], y_links[i] = links[held.y[i]];
    }
    bool walking = true;
#pragma unroll 1
    for (u32 steps = 0; walking && steps < SHORT_PATH; steps++) {
        walking = false;
#pragma unroll
        for (u32 i = 0; i < HOLD; i++) {
            if (!(x_links[i] & ROOT)) held.x[i] = x_links[i], x_links[i] = links[held.x[i]];
            if (!(y_links[i] & ROOT)) held.y[i] = y_links[i], y_links[i] = links[held.y[i]];
        }
#pragma unroll
        for (u32 i = 0; i < HOLD; i++) walking |= !(x_links[i] & y_links[i] & ROOT);
    }
    if (walking) {
#pragma unroll
        for (u32 i = 0; i < HOLD; i++) {
            if (!(x_links[i] & ROOT)) held.x[i] = shorten_path(links, held.x[i], x_links[i]);
            if (!(y_links[i] & ROOT)) held.y[i] = shorten_path(links, held.y[i], y_links[i]);
        }
    }
#pragma unroll
    for (u32 i = 0; i < HOLD; i++)
        if (held.x[i] == held.y[i]) held.live &= ~(1u << i);
}

// Offers the edges to their trees, but for `spared`: one tree at a time may do without, as the others choose it. Where many are
// to offer themselves to few trees, a few do so before all others look at the cells.
template <typename K>
__device__ __forceinline__ void offer_held(const Graph<K> &graph, const uint4 *list, Held &held, u64 *cells, u32 spared,
                                           bool crowded) {
    if (crowded) {
        u32 x = held.x[0], y = held.y[0];
        if (threadIdx.x % WARP == 0 && held.is_live(0)) {
            u64 seen_x = *(volatile u64 *)(cells + x), seen_y = *(volatile u64 *)(cells + y);
            if (x != spared) offer(graph, list, cells + x, held.mine[0], seen_x);
            if (y != spared) offer(graph, list, cells + y, held.mine[0], seen_y);
            __threadfence();
        }
        __syncthreads();
    }
    held.hopes_x = held.hopes_y = 0;
    if (!__any_sync(ALL, held.live)) return;
    // Through the cache: where trees are few, all blocks look at the same cells, and what was seen may be old.
    u64 seen[HOLD][2];
#pragma unroll
    for (u32 i = 0; i < HOLD; i++) {
        seen[i][0] = seen[i][1] = 0;
        if (held.is_live(i) && held.x[i] != spared) seen[i][0] = cells[held.x[i]];
        if (held.is_live(i) && held.y[i] != spared) seen[i][1] = cells[held.y[i]];
    }
#pragma unroll
    for (u32 i = 0; i < HOLD; i++) {
        if (!held.is_live(i)) continue;
        bool for_x = held.x[i] != spared && high(seen[i][0]) >= high(held.mine[i]);
        bool for_y = held.y[i] != spared && high(seen[i][1]) >= high(held.mine[i]);
        held.hopes_x |= (u32)for_x << i;
        held.hopes_y |= (u32)for_y << i;
        if (for_x) offer(graph, list, cells + held.x[i], held.mine[i], seen[i][0]);
        if (for_y) offer(graph, list, cells + held.y[i], held.mine[i], seen[i][1]);
    }
}

// Notes a tree that was joined last, from an edge that lies in it since then.
__device__ __forceinline__ void note_last(State &state, const Held &held, u32 were_live) {
#pragma unroll
    for (u32 i = 0; i < HOLD; i++)
        if (were_live >> i & 1) state.last = held.x[i];
}

// Hands all edges that are left to the first block. To the tree that is `spared` none was offered, so its cell may be anything.
__device__ __forceinline__ void hand_over(Team &team, Held &held, uint4 *room, u32 left, u32 spared) {
#pragma unroll
    for (u32 i = 0; i < HOLD; i++) {
        u32 ballot = __ballot_sync(ALL, held.is_live(i)), first = 0;
        if (ballot == 0) continue;
        if (threadIdx.x % WARP == 0) first = atomicAdd(&team.state->handed, __popc(ballot));
        u32 at = __shfl_sync(ALL, first, 0) + __popc(ballot & lanes_before());
        if (held.is_live(i)) room[at] = make_uint4(held.x[i], held.y[i], high(held.mine[i]), low(held.mine[i]));
    }
    team.sync();
    if (blockIdx.x) return;
    if (threadIdx.x == 0) team.state->handed = 0;
    held.live = held.hopes_x = held.hopes_y = 0;
#pragma unroll
    for (u32 i = 0; i < HOLD; i++) {
        u32 at = i * HOLDERS + threadIdx.x;
        if (at >= left) continue;
        uint4 given = room[at];
        held.x[i] = given.x, held.y[i] = given.y, held.mine[i] = pack(given.z, given.w);
        held.live |= 1u << i;
        held.hopes_x |= (u32)(given.x != spared) << i, held.hopes_y |= (u32)(given.y != spared) << i;
    }
}

// Makes ready for other edges: empties a block's stretch of the cells, and lets each tree's link lead to its root at once.
__device__ __forceinline__ void restart(u64 *cells, u32 *links, Stretch mine) {
    for (u32 c = mine.from + threadIdx.x; c < mine.to; c += HOLDERS) {
        cells[c] = EMPTY;
        u32 root = c, link = links[c];
        for (u32 steps = 0; !(link & ROOT); steps++) {
            if (steps == SHORT_PATH) {
                root = shorten_path(links, root, link);
                break;
            }
            root = link, link = links[root];
        }
        if (root != c) links[c] = root;
    }
}

// Rounds until no edge is left. Positions are those in `list`, or ids, where there is none; all may have been `offered` to `cells`
// before, and one tree may be `spared` from the beginning. `chosen` is NONE for roots, and for others the edge along which they joined.
// After a hand-over the first block alone knows how many trees are left.
template <typename K>
__device__ void join_all_held(Team &team, const Graph<K> &graph, const uint4 *list, Held &held, u64 *cells, u64 *next_cells,
                              u32 *links, u32 *chosen, uint4 *room, Stretch mine_of_trees, u32 &trees, u32 edges, bool sleeping,
                              bool offered, u32 spared, u32 &rounds) {
    // One block does not wait for others, though these are still there.
    Team alone = team;
    alone.size = 1;
    bool solo = team.size == 1;
    for (;; offered = false) {
        if (!offered) {
            u32 before = held.live;
            rename_held(held, links);
            offer_held(graph, list, held, cells, spared, edges > CROWD && edges / 4 > trees);
            u32 mine = __popc(held.live);
            edges = solo ? alone.count(mine) : team.count(mine);
            if (edges == 0) note_last(*team.state, held, before);
        }
        if (edges == 0 && sleeping) {
            // Cells of trees that were complete without the others may be old, and paths long.
            sleeping = false, held.live = held.asleep, edges = 0;
            restart(cells, links, mine_of_trees);
            team.sync();
            spared = fresh(&team.state->last);
            continue;
        }
        if (edges == 0) return;
        if (edges <= SOLO && !solo && !sleeping) {
            hand_over(team, held, room, edges, spared);
            if (blockIdx.x) return;
            solo = true;
        }
        if (blockIdx.x == 0 && threadIdx.x == 0) note_round(*team.state, rounds, trees, edges);
        rounds++;
        u32 joined = join_held(held, list, cells, next_cells, links, chosen);
        trees -= solo ? alone.count(joined) : team.count(joined);
        swap(cells, next_cells);
    }
}
