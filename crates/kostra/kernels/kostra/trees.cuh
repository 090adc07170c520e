// Joining trees along their smallest edges.
#pragma once
#include "kostra/team.cuh"

// What a tree joins along its smallest edge, itself where it has none, and whether that one chose the same edge.
struct Choice {
    u32 other;
    bool mutual;
};

// The first round's choices stand in `links` already. Two that chose each other chose the same edge, the smallest between them.
// A root's own choice is overwritten while others look at it, but none of them mistakes that for itself, and its partner is the
// larger, which is no root whatever it sees.
struct FromRows {
    const u32 *links;
    // Whether links are still to be written.
    static constexpr bool is_new = false;
    __device__ Choice operator()(u32 v) const {
        u32 other = links[v];
        return {other, other != v && fresh(links + other) == v};
    }
};

struct FromList {
    const u64 *cells;
    const uint4 *list;
    u32 *chosen;
    static constexpr bool is_new = true;
    __device__ Choice operator()(u32 c) const {
        u64 cell = cells[c];
        if (cell == EMPTY) {
            chosen[c] = NONE;
            return {c, false};
        }
        uint4 edge = list[low(cell)];
        u32 other = edge.x == c ? edge.y : edge.x;
        chosen[c] = edge.w;
        return {other, cells[other] == cell};
    }
};

// Every tree points along its smallest edge, which joins the forest; of two that chose the same edge the smaller is a
// root. Longer cycles cannot be: the chosen edges would have to get smaller all the way round. Roots get a number
// in their block.
template <typename Choose> __device__ void hook(Team &team, u32 *links, u32 trees, Choose choose) {
    Stretch mine = stretch(trees, team.size);
    u32 active = 0, complete = 0;
    for (u64 first = mine.from; first < mine.to; first += TILE) {
        bool root[EACH], lonely[EACH];
        u32 places[EACH];
        Choice choices[EACH];
#pragma unroll
        for (u32 i = 0; i < EACH; i++) {
            u64 c = first + i * THREADS + threadIdx.x;
            choices[i] = c < mine.to ? choose((u32)c) : Choice{NONE, false};
        }
#pragma unroll
        for (u32 i = 0; i < EACH; i++) {
            u64 c = first + i * THREADS + threadIdx.x;
            root[i] = choices[i].mutual && c < choices[i].other;
            lonely[i] = choices[i].other == c;
        }
        u32 count = place(shared().tile, root, places, lonely);
#pragma unroll
        for (u32 i = 0; i < EACH; i++) {
            u64 c = first + i * THREADS + threadIdx.x;
            if (c >= mine.to) continue;
            u32 link = choices[i].other;
            if (root[i]) link = ROOT | (active + (places[i] & 0xffff));
            if (lonely[i]) link = ROOT | DONE | (complete + (places[i] >> 16));
            if (choose.is_new || link & ROOT) links[c] = link;
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
// Other threads may shorten the same long paths meanwhile; whatever they write lies further up the same path.
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
            u32 steps = 0;
#pragma unroll 1
            for (; walking && steps < WALK; steps++) {
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
                if (steps > SHORT_WALK && at[i] != c) links[c] = at[i];
                if (!(link[i] & ROOT)) {
                    unfinished = true;
                    continue;
                }
                u32 block = at[i] / length, number = link[i] & NUMBER;
                map[c] = link[i] & DONE ? DONE | (done + s.done_starts[block] + number) : s.starts[block] + number;
                if (c < left) clear[c] = EMPTY;
            }
        }
        if (!team.sync(__syncthreads_or(unfinished))) return;
    }
}

// Hooks and resolves; returns how many trees are left that have edges.
template <typename K, typename Choose>
__device__ u32 join(Team &team, const Work<K> &work, u64 *clear, u32 *map, u32 trees, u32 &done, Choose choose) {
    Shared &s = shared();
    hook(team, work.links, trees, choose);
    team.sync();
    find_starts(team.state->active, team.size, s.starts);
    find_starts(team.state->complete, team.size, s.done_starts);
    u32 left = s.starts[team.size];
    resolve(team, work.links, clear, map, trees, done);
    done += s.done_starts[team.size];
    return left;
}
