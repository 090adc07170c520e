// Lists of edges that join two trees.
#pragma once
#include "kostra/cells.cuh"
#include "kostra/threshold.cuh"

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
