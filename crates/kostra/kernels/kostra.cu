// The kernels of `kostra` on CUDA (see src/cuda/kostra.rs for the method and the order in which they run).
//
// Vocabulary: a tree is a set of vertices joined so far. A cell is the smallest edge that leaves a tree, as
// `key << 32 | position`: positions follow edge ids, so ties go to the smaller id. 64-bit keys are shortened to 32 bits
// in cells and compared in full only where the short ones are equal.
//
// Every pass gives each block one stretch of the input in order, and each block writes what it keeps, in order, to a
// stretch of its own. So nothing is appended to a counter that all share, lists stay in edge-id order, and trees are
// numbered in the order of their roots.
#include "kostra/lists.cuh"
#include "kostra/rows.cuh"
#include "kostra/trees.cuh"

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

#ifndef KEY
#define KEY u32
#endif
// The host makes room for these.
static_assert(sizeof(State) <= 12952 && sizeof(Shared) <= 12576, "STATE and SHARED in src/cuda/kostra.rs are too small");
static_assert(sizeof(Queue<KEY>) <= 264 + (4 + sizeof(KEY)) * 2 * TILE, "QUEUE in src/cuda/kostra.rs is too small");

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
