// After the rounds on light edges: the complete tree of every vertex, and the strays, which have edges but are not in the giant, as the
// last tree that light edges complete is called. A heavy edge that joins two trees has a stray at one end at least.
#pragma once
#include "kostra/lists.cuh"
#include "kostra/rows.cuh"

// The complete tree of a tree, by the maps from that level on, which may meanwhile be made to lead there at once. What was joined last
// has links instead of a map, or as well.
template <typename K>
__device__ __forceinline__ u32 find_end(const Work<K> &work, const u32 *map, u32 level, u32 maps, u32 tree) {
#pragma unroll 1
    for (; level < maps; level++) {
        u32 next = map[tree];
        if (next & DONE) return next;
        map += work.state->level[level];
        tree = next;
    }
    u32 link = work.links[tree];
    while (!(link & ROOT)) link = work.links[link];
    return DONE | (link & NUMBER);
}

// The label that most samples of a warp have, the same for all blocks: that of the giant, where there is one.
template <typename K> __device__ u32 find_giant(const Graph<K> &graph, const Work<K> &work) {
    __shared__ u64 most;
    if (threadIdx.x == 0) most = 0;
    __syncthreads();
    u32 tree = below(mix(threadIdx.x), work.state->level[1]);
    u32 label = find_end(work, work.maps + graph.n, 1, work.state->levels - 1, tree);
    atomicMax(&most, pack(__popc(__match_any_sync(ALL, label)), label));
    __syncthreads();
    return low(most);
}

// A bit for every tree of the first round: whether it is not in the giant.
template <typename K> __device__ __forceinline__ u32 *stray_trees(const Work<K> &work) { return (u32 *)work.next_cells; }
__device__ __forceinline__ bool is_set(const u32 *bits, u32 i) { return bits[i / WARP] >> i % WARP & 1; }

// Makes the map of the first round's trees lead to complete trees, and empties the cells of those. Of the maps between, small ones
// are left to be followed from one to the next. False where there is one tree.
template <typename K> __device__ bool label_trees(const Graph<K> &graph, const Work<K> &work) {
    State &state = *work.state;
    Team team(work, LABELS);
    u32 levels = state.levels, done = state.done;
    u64 first = (u64)blockIdx.x * THREADS + threadIdx.x, step = (u64)gridDim.x * THREADS;
    if (first == 0) state.trees = done, state.listed = 0;
    if (done <= 1) return false;
    u32 giant = find_giant(graph, work);
    if (first == 0) state.giant = giant;
    for (u64 c = first; c < done; c += step) work.cells[c] = EMPTY;
    for (u32 level = levels; level-- > 1;) {
        u32 trees = state.level[level];
        if (level > 1 && level + 1 < levels && trees <= SHARE * 4) continue;
        u32 *map = work.maps + graph.n;
#pragma unroll 1
        for (u32 i = 1; i < level; i++) map += state.level[i];
        u32 maps = level + 1 < levels ? levels : level;
        u64 end = ((u64)trees + WARP - 1) / WARP * WARP;
#pragma unroll 1
        for (u64 c = first; c < end; c += step) {
            u32 label = c < trees ? find_end(work, map, level, maps, c) : giant;
            if (c < trees) map[c] = label;
            u32 bits = __ballot_sync(ALL, label != giant);
            if (level == 1 && threadIdx.x % WARP == 0) stray_trees(work)[c / WARP] = bits;
        }
        team.sync();
    }
    return true;
}

// Labels the strays, and marks groups of vertices that have some.
template <typename K> __device__ void mark_strays(const Graph<K> &graph, const Work<K> &work) {
    __shared__ u32 strays;
    u64 first = (u64)blockIdx.x * THREADS + threadIdx.x, step = (u64)gridDim.x * THREADS;
    const u32 *trees = stray_trees(work);
    Labels labels = labels_of_complete_trees(graph, work);
    u32 shift = work.stray_shift, lane = threadIdx.x % WARP, count = 0, n = graph.n;
    u64 words = ((n - 1) >> shift) / WARP + 1;
    if (threadIdx.x == 0) strays = 0;
    __syncthreads();
    // A warp's lanes take the vertices of all bits in a word, 32 at a time.
#pragma unroll 1
    for (u64 word = first / WARP; word < words; word += step / WARP) {
        u32 bits = 0;
#pragma unroll 1
        for (u32 part = 0; part < 1u << shift; part++) {
            u64 v = ((word << shift) + part) * WARP + lane;
            u32 tree = v < n ? work.maps[v] : DONE;
            bool is_stray = !(tree & DONE) && is_set(trees, tree);
            if (is_stray) work.maps[v] = labels(v);
            u32 here = __ballot_sync(ALL, is_stray);
            if (shift < 5) {
                u32 groups = WARP >> shift;
                bool has_any = lane < groups && (here >> (lane << shift) & ((1u << (1 << shift)) - 1));
                bits |= __ballot_sync(ALL, has_any) << part * groups;
            } else if (here) {
                bits |= 1u << (part >> (shift - 5));
            }
        }
        if (lane == 0) work.strays[word] = bits;
        count += __popc(bits);
    }
    if (lane == 0) atomicAdd(&strays, count);
    __syncthreads();
    if (threadIdx.x == 0) atomicAdd(&work.state->strays, strays);
}

// Whether groups with strays are few.
template <typename K> __device__ __forceinline__ bool has_giant(const Graph<K> &graph, const Work<K> &work) {
    return work.state->strays < ((graph.n - 1) >> work.stray_shift) / 2;
}

// Lists the strays. Vertices that had labels of complete trees from the beginning have no edges.
template <typename K> __device__ void queue_strays(const Graph<K> &graph, const Work<K> &work) {
    __shared__ u32 all_waiting[WARPS][(EACH + 1) * WARP];
    const u32 *trees = stray_trees(work);
    u32 *strays = (u32 *)work.next_list, *waiting = all_waiting[threadIdx.x / WARP], lane = threadIdx.x % WARP, count = 0;
    // Moves the last of those that wait to the list.
    auto flush = [&](u32 some) {
        u32 at = lane == 0 ? atomicAdd(&work.state->strays, some) : 0;
        at = __shfl_sync(ALL, at, 0);
        count -= some;
        if (lane < some) strays[at + lane] = waiting[count + lane];
    };
    u64 step = (u64)gridDim.x * THREADS * EACH;
#pragma unroll 1
    for (u64 first = ((u64)blockIdx.x * THREADS + threadIdx.x - lane) * EACH; first < graph.n; first += step) {
        u32 v = first + lane * EACH, found = 0;
        // Behind the last vertex there is room.
        uint4 run = first + lane * EACH < graph.n ? __ldcs((const uint4 *)(work.maps + v)) : make_uint4(DONE, DONE, DONE, DONE);
        u32 tree[EACH] = {run.x, run.y, run.z, run.w};
#pragma unroll
        for (u32 i = 0; i < EACH; i++)
            if (v + i < graph.n && !(tree[i] & DONE) && is_set(trees, tree[i])) found |= 1 << i;
        if (!__any_sync(ALL, found)) continue;
        u32 mine = __popc(found), end = warp_scan(mine), at = count + end - mine;
        for (; found; found &= found - 1) waiting[at++] = v + __ffs(found) - 1;
        count += __shfl_sync(ALL, end, WARP - 1);
        __syncwarp();
        while (count >= WARP) flush(WARP);
        __syncwarp();
    }
    if (count) flush(count);
}

// Whether it pays to read the strays' rows.
template <typename K> __device__ __forceinline__ bool has_few_strays(const Graph<K> &graph, const State &state) {
    return state.strays < graph.n / 2;
}

// Lists the edges of strays from their rows, in any order: of those to the giant each stray's smallest, which is all that may join
// the forest, and those to other strays. No light edge joins two trees any more.
template <typename K> __device__ void list_rows(const Graph<K> &graph, const Work<K> &work) {
    __shared__ u32 queued, start;
    __shared__ uint4 queue[ROWS_QUEUE];
    State &state = *work.state;
    const u32 *strays = (const u32 *)work.next_list, *trees = stray_trees(work), *of_trees = work.maps + graph.n;
    u32 giant = state.giant, lane = threadIdx.x % GROUP, count = state.strays;
    if (threadIdx.x == 0) queued = 0;
    __syncthreads();
    auto put = [&](bool is_there, u32 x, u32 y, K key, u32 at) {
        u32 ballot = __ballot_sync(ALL, is_there), to = 0;
        if (!ballot) return;
        if (threadIdx.x % WARP == 0) to = atomicAdd(&queued, __popc(ballot));
        to = __shfl_sync(ALL, to, 0) + __popc(ballot & lanes_before());
        if (!is_there) return;
        uint4 edge = make_uint4(x & NUMBER, y & NUMBER, shorten(key, graph.lowest), graph.edges[at]);
        if (to < ROWS_QUEUE) queue[to] = edge;
        else work.list[atomicAdd(&state.found, 1)] = edge;
    };
    u32 step = gridDim.x * (THREADS / GROUP);
#pragma unroll 1
    for (u32 first = (blockIdx.x * THREADS + threadIdx.x) / WARP * (WARP / GROUP); first < count; first += step) {
        u32 number = first + threadIdx.x % WARP / GROUP, v = 0, own = giant, at = 0, to = 0;
        if (number < count) v = strays[number], own = of_trees[work.maps[v]], at = graph.rows[v] + lane, to = graph.rows[v + 1];
        // A hub's row is too long for a group of lanes.
        if (to - at > PIECE && at < to) state.has_long_row = 1, to = at;
        Smallest<K> best = NOTHING<K>;
#pragma unroll 1
        while (__any_sync(ALL, at < to)) {
            u32 others[ROW_STEPS], labels[ROW_STEPS];
            K keys[ROW_STEPS];
#pragma unroll
            for (u32 i = 0; i < ROW_STEPS; i++) {
                bool inside = at + i * GROUP < to;
                others[i] = inside ? graph.neighbours[at + i * GROUP] : v;
                keys[i] = inside ? graph.arc_keys[at + i * GROUP] ^ graph.flip : 0;
            }
#pragma unroll
            for (u32 i = 0; i < ROW_STEPS; i++) labels[i] = others[i] == v ? DONE : work.maps[others[i]];
#pragma unroll
            for (u32 i = 0; i < ROW_STEPS; i++)
                labels[i] = labels[i] & DONE ? own : is_set(trees, labels[i]) ? of_trees[labels[i]] : giant;
#pragma unroll
            for (u32 i = 0; i < ROW_STEPS; i++) {
                bool is_there = labels[i] != own && labels[i] != giant && v < others[i];
                if (labels[i] == giant && labels[i] != own) best.take(keys[i], at + i * GROUP);
                put(is_there, own, labels[i], keys[i], at + i * GROUP);
            }
            at += ROW_STEPS * GROUP;
        }
        best.template take_from_lanes<GROUP>();
        put(lane == 0 && best.at != NONE, own, giant, best.key, best.at);
    }
    __syncthreads();
    u32 kept = min(queued, ROWS_QUEUE);
    if (threadIdx.x == 0) start = atomicAdd(&state.found, kept);
    __syncthreads();
    for (u32 i = threadIdx.x; i < kept; i += THREADS) work.list[start + i] = queue[i];
}

// Labels all vertices, as those of all edges will be looked at.
template <typename K> __device__ void label_all(const Graph<K> &graph, const Work<K> &work) {
    Labels labels = labels_of_complete_trees(graph, work);
    u64 step = (u64)gridDim.x * THREADS;
    for (u64 v = (u64)blockIdx.x * THREADS + threadIdx.x; v < graph.n; v += step) work.maps[v] = labels(v);
}

// Whether threads can hold the edges of strays' rows, all, or many of each tree at a time.
template <typename K> __device__ __forceinline__ bool can_be_held(const Graph<K> &graph, const State &state, u32 few) {
    bool can_be_sifted = state.found / SIFT_MOST <= few && state.done <= few / SIFT_TREES;
    return has_few_strays(graph, state) && !state.has_long_row && (state.found <= few || can_be_sifted);
}

// Notes that the list is the one that was made of strays' rows.
__device__ void end_rows(State &state) {
    if (blockIdx.x || threadIdx.x) return;
    state.listed = state.kept[0] = state.part_length = state.found;
    state.parts = state.by_id = 1;
}
