// Lists of edges that join two trees.
//
// What is read once is marked so (`__ldcs`): labels and cells then stay in the cache.
#pragma once
#include "kostra/cells.cuh"
#include "kostra/threshold.cuh"

// Notes how a list was written.
__device__ void end_list(State &state, u32 m, u32 kept) {
    if (threadIdx.x == 0) state.kept[blockIdx.x] = kept, atomicAdd(&state.listed, kept);
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        state.parts = gridDim.x;
        state.part_length = stretch_length(m, gridDim.x);
    }
}

// Numbers that are read together.
template <typename T> struct alignas(16) Run {
    T at[RUN];
};

// Items `first..first + RUN` of an array, as far as they are below `end`; others may be anything.
template <typename T> __device__ __forceinline__ Run<T> load_run(const T *array, u64 first, u64 end) {
    Run<T> run;
    if (first + RUN <= end) {
#pragma unroll
        for (u32 j = 0; j < sizeof(run) / 16; j++) ((uint4 *)&run)[j] = __ldcs((const uint4 *)(array + first) + j);
        return run;
    }
#pragma unroll
    for (u32 j = 0; j < RUN; j++) run.at[j] = first + j < end ? array[first + j] : 0;
    return run;
}

// The trees that vertices are in: those of the first round, or, by the map of these, complete ones. Vertices without edges have labels
// of complete trees from the beginning, and strays since they were found.
struct Labels {
    const u32 *maps, *of_trees;

    __device__ __forceinline__ u32 operator()(u32 v) const {
        u32 label = maps[v];
        return of_trees && !(label & DONE) ? of_trees[label] : label;
    }
};
template <typename K> __device__ __forceinline__ Labels labels_of_trees(const Work<K> &work) { return {work.maps, nullptr}; }
template <typename K> __device__ __forceinline__ Labels labels_of_complete_trees(const Graph<K> &graph, const Work<K> &work) {
    return {work.maps, work.maps + graph.n};
}

// The strays, read into a block's memory, and the giant's label, which is that of all others.
struct Strays {
    u32 *bits;
    u32 shift, giant;

    __device__ void load(const u32 *strays, u32 n) {
        u32 words = ((n - 1) >> shift) / WARP + 1;
        for (u32 i = threadIdx.x; i < words; i += blockDim.x) bits[i] = strays[i];
        __syncthreads();
    }

    __device__ __forceinline__ u32 label(const Labels &labels, u32 v) const {
        u32 group = v >> shift;
        return bits[group / WARP] >> group % WARP & 1 ? labels(v) : giant;
    }
};

// The list of the light edges that join two trees, or of the heavy ones. Few edges are; they wait in shared memory until there
// are enough for all threads. Of heavy ones only the labels of strays are looked up.
template <u32 COUNT, typename K>
__device__ void list_some(const Graph<K> &graph, const Work<K> &work, const Strays *strays) {
    constexpr u32 TILE = COUNT * EACH, WIDE_TILE = COUNT * RUN * RUNS;
    Queue<COUNT> &queue = *(Queue<COUNT> *)shared_memory();
    // Heavy edges are so few that their keys can be read again.
    K *queued_keys = (K *)(shared_memory() + Queue<COUNT>::bytes());
    Threshold<K> threshold = Threshold<K>::read(*work.state);
    Stretch mine = stretch(graph.m, gridDim.x);
    Labels labels = strays ? labels_of_complete_trees(graph, work) : labels_of_trees(work);
    u32 kept = 0, waiting = 0;
    Run<K> keys[RUNS];
    auto start = [&](u64 first, u32 i) { return first + (i * COUNT + threadIdx.x) * RUN; };
    auto load_keys = [&](u64 first) {
#pragma unroll
        for (u32 i = 0; i < RUNS; i++) keys[i] = load_run(graph.keys, start(first, i), mine.to);
    };
    load_keys(mine.from);
    for (u64 first = mine.from; first < mine.to; first += WIDE_TILE) {
        u32 chosen[RUNS], counts[RUNS], places[RUNS];
#pragma unroll
        for (u32 i = 0; i < RUNS; i++) {
            chosen[i] = 0;
#pragma unroll
            for (u32 j = 0; j < RUN; j++) {
                u64 e = start(first, i) + j;
                keys[i].at[j] ^= graph.flip;
                if (e < mine.to && threshold.is_light(keys[i].at[j], (u32)e) == !strays) chosen[i] |= 1 << j;
            }
        }
        if (strays) {
            load_keys(first + WIDE_TILE);
            Run<u32> src[RUNS], dst[RUNS];
#pragma unroll
            for (u32 i = 0; i < RUNS; i++) {
                src[i] = load_run(graph.src, start(first, i), mine.to);
                dst[i] = load_run(graph.dst, start(first, i), mine.to);
            }
#pragma unroll
            for (u32 i = 0; i < RUNS; i++)
#pragma unroll
                for (u32 j = 0; j < RUN; j++) {
                    src[i].at[j] = strays->label(labels, src[i].at[j]);
                    dst[i].at[j] = strays->label(labels, dst[i].at[j]);
                }
#pragma unroll
            for (u32 i = 0; i < RUNS; i++)
#pragma unroll
                for (u32 j = 0; j < RUN; j++) chosen[i] &= ~((u32)(src[i].at[j] == dst[i].at[j]) << j);
        }
#pragma unroll
        for (u32 i = 0; i < RUNS; i++) counts[i] = __popc(chosen[i]);
        u32 count = place_runs<COUNT>(queue.tile, counts, places);
#pragma unroll
        for (u32 i = 0; i < RUNS; i++)
#pragma unroll
            for (u32 j = 0; j < RUN; j++) {
                if (!(chosen[i] >> j & 1)) continue;
                u32 at = waiting + places[i]++;
                queue.edges[at] = (u32)start(first, i) + j;
                if (!strays) queued_keys[at] = keys[i].at[j];
            }
        waiting += count;
        if (!strays) load_keys(first + WIDE_TILE);
        __syncthreads();
        bool is_last = first + WIDE_TILE >= mine.to;
        // The first TILE of the queue, and at the end what is left.
        u32 done = 0;
        for (; waiting - done >= TILE || (is_last && done < waiting); done += min(TILE, waiting - done)) {
            bool keep[EACH];
            u32 places[EACH];
            uint4 edges[EACH];
#pragma unroll
            for (u32 i = 0; i < EACH; i++) {
                u32 at = done + i * COUNT + threadIdx.x;
                keep[i] = at < waiting;
                if (!keep[i]) continue;
                u32 e = queue.edges[at];
                K key = strays ? key_of(graph, e) : queued_keys[at];
                edges[i] = make_uint4(__ldcs(graph.src + e), __ldcs(graph.dst + e), shorten(key, graph.lowest), e);
            }
#pragma unroll
            for (u32 i = 0; i < EACH; i++)
                if (keep[i]) edges[i].x = labels(edges[i].x) & NUMBER, edges[i].y = labels(edges[i].y) & NUMBER;
#pragma unroll
            for (u32 i = 0; i < EACH; i++) keep[i] = keep[i] && edges[i].x != edges[i].y;
            u32 count = place<COUNT>(queue.tile, keep, places);
            put(graph, work.list, work.cells, mine.from + kept, keep, places, edges);
            kept += count;
        }
        waiting -= done;
        if (done && waiting) {
            // What is left moves to the front: less than a tile, from behind one.
            for (u32 at = threadIdx.x; at < waiting; at += COUNT) {
                queue.edges[at] = queue.edges[done + at];
                if (!strays) queued_keys[at] = queued_keys[done + at];
            }
            __syncthreads();
        }
    }
    end_list(*work.state, graph.m, kept);
}

// The list of all edges that join two trees, without the light ones where those were listed before. Ends and keys are read a
// tile ahead.
template <typename K> __device__ void list_all(const Graph<K> &graph, const Work<K> &work, bool without_light) {
    Threshold<K> threshold = Threshold<K>::read(*work.state);
    Stretch mine = stretch(graph.m, gridDim.x);
    Labels labels = without_light ? labels_of_complete_trees(graph, work) : labels_of_trees(work);
    u32 kept = 0;
    K keys[EACH];
    u32 src[EACH], dst[EACH];
    auto load = [&](u64 first) {
#pragma unroll
        for (u32 i = 0; i < EACH; i++) {
            u64 e = min(first + i * THREADS + threadIdx.x, (u64)graph.m - 1);
            keys[i] = __ldcs(graph.keys + e) ^ graph.flip;
            src[i] = __ldcs(graph.src + e), dst[i] = __ldcs(graph.dst + e);
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
            keep[i] = e < mine.to && !(without_light && threshold.is_light(keys[i], (u32)e));
            edges[i] = make_uint4(labels(src[i]) & NUMBER, labels(dst[i]) & NUMBER, shorten(keys[i], graph.lowest), (u32)e);
        }
        load(first + TILE);
#pragma unroll
        for (u32 i = 0; i < EACH; i++) keep[i] = keep[i] && edges[i].x != edges[i].y;
        u32 count = place(shared().tile, keep, places);
        put(graph, work.list, work.cells, mine.from + kept, keep, places, edges);
        kept += count;
    }
    end_list(*work.state, graph.m, kept);
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

// A list in parts, one for each block of the team that wrote it; `starts` tells how they would follow one another.
struct List {
    const uint4 *edges;
    const u32 *starts;
    u32 parts, count;
    u64 part_length;

    // Where an edge is. It is not before `part`.
    __device__ __forceinline__ u32 position(u32 at, u32 part = 0) const {
        return place_in(find_part(starts, part, parts, at), at);
    }

    // The same for those of `first..last` that a thread takes, each `step` behind the one before; `keep` tells which there are. `part`
    // becomes that of the first, which mostly is that of all.
    template <u32 COUNT>
    __device__ __forceinline__ void positions(u64 first, u64 last, u32 step, u32 &part, u32 (&places)[COUNT],
                                              bool (&keep)[COUNT]) const {
        part = find_part(starts, part, parts, first);
        bool is_one_part = starts[part + 1] >= last;
#pragma unroll
        for (u32 i = 0; i < COUNT; i++) {
            u64 at = first + i * step + threadIdx.x;
            keep[i] = at < last;
            if (keep[i]) places[i] = is_one_part ? place_in(part, at) : position(at, part);
        }
    }

  private:
    __device__ __forceinline__ u32 place_in(u32 part, u32 at) const { return part * part_length + (at - starts[part]); }
};

// Renames the ends of a list's edges, drops those inside a tree, and offers the others to their trees.
template <typename K>
__device__ void relabel(Team &team, const Graph<K> &graph, const Work<K> &work, const u32 *map, const List &list, u32 trees) {
    State &state = *work.state;
    Shared &s = shared();
    Stretch mine = stretch(list.count, team.size);
    bool is_private = team.size > 1 && trees <= work.table && list.count / DENSE > trees;
    Minima<K> minima = {graph, work.next_list, work.next_cells, trees, is_private};
    u64 *cells = minima.begin();
    u32 kept = 0, part = 0;
    for (u64 first = mine.from; first < mine.to; first += TILE) {
        uint4 held[EACH];
        bool keep[EACH];
        u32 places[EACH];
        list.positions(first, min((u64)mine.to, first + TILE), THREADS, part, places, keep);
#pragma unroll
        for (u32 i = 0; i < EACH; i++)
            if (keep[i]) held[i] = __ldcs(list.edges + places[i]);
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
