// The kernels of `kostra` on CUDA (see src/cuda/kostra for the method and the order in which they run).
//
// Vocabulary: a tree is a set of vertices joined so far. A cell is the smallest edge that leaves a tree, as
// `key << 32 | position`: positions follow edge ids, so ties go to the smaller id. 64-bit keys are shortened to 32 bits
// in cells and compared in full only where the short ones are equal.
//
// Every pass over a list gives each block one stretch of the input in order, and each block writes what it keeps, in order, to
// a stretch of its own. So nothing is appended to a counter that all share, lists stay in edge-id order, and trees are
// numbered in the order of their roots. What threads can hold is not listed any more (held.cuh).
#include "kostra/lists.cuh"
#include "kostra/rows.cuh"
#include "kostra/sift.cuh"
#include "kostra/strays.cuh"
#include "kostra/trees.cuh"

// What rounds are to do: begin with the list of light edges and label all complete trees, or begin with another list.
enum Task { LABEL, FINISH };

// Makes the state ready, on one thread, and the next solve's counters.
template <typename K> __device__ void begin(const Graph<K> &graph, const Work<K> &work) {
    State &state = *work.state;
    state.counters[work.turn ^ 1] = {};
    state.done = state.swaps = state.handed = state.listed = state.last = 0;
    state.strays = state.has_long_row = state.found = state.by_id = 0;
    state.rounds = state.levels = 1;
    state.round[0] = {graph.n, graph.m};
    state.level[0] = state.slots = graph.n;
}

// The first round's joins, and before them what is left to do for hubs.
template <typename K> __device__ void join_first(const Graph<K> &graph, const Work<K> &work) {
    Team team(work, JOIN);
    bool is_first = blockIdx.x == 0 && threadIdx.x == 0;
    u32 isolated = 0;
    if (is_first) begin(graph, work);
    if (work.state->counters[work.turn].hubs) {
        merge_pieces(graph, work);
        team.sync();
    }
    u32 trees = join(team, work, work.cells, work.maps, graph.n, isolated, FromRows{work.links});
    if (is_first) work.state->trees = trees;
}

// Whether the rest is left to threads that hold `few` edges: all, or many of each tree at a time. Where the order follows the place,
// the smallest of a list join no more than a part of it, and it is read again and again; so it must not be too long.
__device__ __forceinline__ bool is_for_held(u32 edges, u32 trees, u32 few) {
    return edges <= few || (edges / SIFT_EDGES >= few && edges / SIFT_MOST <= few && trees <= few / SIFT_TREES);
}

// Rounds on the list until the rest can be left to threads that hold edges.
template <typename K> __device__ void contract(const Graph<K> &graph, Work<K> work, u32 launch, u32 few) {
    State &state = *work.state;
    Shared &s = shared();
    if (state.by_id || is_for_held(state.listed, state.trees, few)) return;
    Team team(work, launch);
    u32 parts = state.parts, trees = state.trees, rounds = state.rounds, slots = state.slots, done = 0, levels = 1;
    u64 part_length = state.part_length;
    u32 *map = work.maps + graph.n;
    bool is_first = blockIdx.x == 0 && threadIdx.x == 0;
    for (;;) {
        find_starts(state.kept, parts, s.list_starts);
        u32 edges = s.list_starts[parts];
        if (is_for_held(edges, trees, few)) break;
        // All blocks see the same numbers, so all agree who goes on; but none may change them before all have seen them.
        u32 wanted = (max(edges, trees) - 1) / SHARE + 1;
        if (wanted < team.size) team.sync();
        if (!team.shrink(wanted)) return;
        if (is_first) note_round(state, rounds, trees, edges), state.level[levels] = trees;
        u32 left = join(team, work, work.next_cells, map, trees, done, FromList{work.cells, work.list, work.chosen + slots});
        relabel(team, graph, work, map, List{work.list, s.list_starts, parts, edges, part_length}, left);
        team.sync();
        rounds++, levels++, slots += trees, map += trees, trees = left;
        parts = team.size, part_length = stretch_length(edges, team.size);
        swap(work.list, work.next_list);
        swap(work.cells, work.next_cells);
    }
    if (!is_first) return;
    state.parts = parts, state.part_length = part_length, state.swaps = levels - 1;
    state.trees = trees, state.rounds = rounds, state.slots = slots, state.done = done, state.levels = levels;
}

// Rounds on edges that threads hold until none is left: those of a list, or of a whole graph.
template <bool whole, typename K>
__device__ void contract_held(const Graph<K> &graph, Work<K> work, u32 launch, u32 task, u32 few) {
    State &state = *work.state;
    Shared &s = shared();
    Team team(work, launch);
    if (whole && blockIdx.x == 0 && threadIdx.x == 0) begin(graph, work);
    u32 trees = whole ? graph.n : state.trees, slots = whole ? 0 : state.slots, rounds = whole ? 0 : state.rounds;
    u32 parts = whole ? 0 : state.parts, levels = whole ? 0 : state.levels, edges = graph.m;
    if (!whole) {
        find_starts(state.kept, parts, s.list_starts);
        edges = s.list_starts[parts];
    }
    if (!team.shrink((max(edges, trees) - 1) / SHARE + 1)) return;
    if (!whole && state.swaps % 2) {
        swap(work.list, work.next_list);
        swap(work.cells, work.next_cells);
    }
    // Without lists there is room where they would be.
    const uint4 *list = whole ? nullptr : work.list;
    u64 *next_cells = whole ? (u64 *)work.list : work.next_cells;
    u32 *chosen = work.chosen + slots;
    Stretch mine = stretch(trees, team.size);
    for (u32 c = mine.from + threadIdx.x; c < mine.to; c += HOLDERS) {
        work.links[c] = ROOT, chosen[c] = NONE;
        if (whole) work.cells[c] = EMPTY;
    }
    List all = {list, s.list_starts, parts, edges, whole ? 0 : state.part_length};
    bool filtered = whole && work.factor > 0, too_many = !whole && edges > few, is_last = true;
    // The list's order, and what is in the cells, are of use only where it is held as it is.
    bool offered = !whole && !too_many && !state.by_id;
    u32 spared = !whole && state.by_id ? state.giant & NUMBER : NONE;
    u32 left = trees, target = max(few / 4 * 3, 1u);
    for (u32 attempt = 0;; attempt++) {
        Held held;
        if (too_many) {
            restart(work.cells, work.links, mine);
            team.sync();
            Keys<K> keys = {graph.keys, graph.flip, graph.lowest};
            Sifted sifted = sift(keys, all, work.links, target, attempt, team.size);
            if (team.sync(sifted.count > SOLO)) {
                target = max(target / 2, 1u);
                continue;
            }
            held = hold_queued(all, sifted.count), is_last = sifted.is_rest;
        } else {
            held = whole ? hold_graph(team, graph) : hold_list(team, all, !offered);
            u32 bound = filtered ? choose_short(graph, work.factor * graph.n) : 0;
            team.sync();
            if (filtered) held.send_to_sleep(bound);
        }
        join_all_held(team, graph, offered ? list : nullptr, held, work.cells, next_cells, work.links, chosen, work.next_list, mine,
                      left, min(edges, few), filtered, offered, spared, rounds);
        if (is_last) break;
        team.sync();
    }
    if (!whole && task == LABEL) {
        team.sync();
        // All roots are complete trees. Numbers of near ones are near, too.
        for (u64 first = mine.from; first < mine.to; first += HOLDERS) {
            u64 c = first + threadIdx.x;
            bool is_root = c < mine.to && (work.links[c] & ROOT);
            u32 place, count = place_one(s.tile, is_root, place);
            if (threadIdx.x == 0) s.starts[0] = atomicAdd(&state.done, count);
            __syncthreads();
            if (is_root) work.links[c] = ROOT | (s.starts[0] + place);
        }
    }
    if (blockIdx.x || threadIdx.x) return;
    state.level[levels] = trees;
    state.rounds = rounds, state.levels = levels + 1, state.slots = slots + trees, state.swaps = 0;
}

// The host makes room for these.
static_assert(sizeof(State) <= 13736 && sizeof(Shared) <= 12576, "STATE and SHARED in src/cuda/kostra/scratch.rs are too small");
static_assert(Queue<WIDE>::bytes() <= WIDE / 2 + 16 + 4 * WIDE * (4 + 8 / sizeof(KEY) * 4), "the queue of src/cuda/kostra/scratch.rs is too small");

#define KERNEL(threads, blocks) extern "C" __global__ void __launch_bounds__(threads, blocks)

KERNEL(THREADS, 4) search_rows(Graph<KEY> graph, Work<KEY> work) { find_smallest<false>(graph, work); }
KERNEL(THREADS, 4) search_groups(Graph<KEY> graph, Work<KEY> work) { find_smallest<true>(graph, work); }
KERNEL(THREADS, 4) search_pieces(Graph<KEY> graph, Work<KEY> work) { search_hubs(graph, work); }

KERNEL(THREADS, 4) offer_edges(Graph<KEY> graph, u64 *cells, u32 from, u32 to) { offer_range(graph, cells, from, to); }
KERNEL(THREADS, 4) look_up_edges(Graph<KEY> graph, Work<KEY> work) { look_up(graph, work); }

KERNEL(THREADS, 3) join_vertices(Graph<KEY> graph, Work<KEY> work) { join_first(graph, work); }

KERNEL(THREADS, 2) build_light(Graph<KEY> graph, Work<KEY> work) { list_some<THREADS>(graph, work, nullptr); }

KERNEL(WIDE, 1) build_heavy(Graph<KEY> graph, Work<KEY> work) {
    if (work.state->done <= 1 || !has_giant(graph, work)) return;
    Strays strays = {(u32 *)(shared_memory() + Queue<WIDE>::bytes()), work.stray_shift, work.state->giant};
    strays.load(work.strays, graph.n);
    list_some<WIDE>(graph, work, &strays);
}

KERNEL(THREADS, 4) list_strays(Graph<KEY> graph, Work<KEY> work) {
    if (work.state->done <= 1) return;
    if (has_few_strays(graph, *work.state)) list_rows(graph, work);
    else label_all(graph, work);
}

// All edges where none are light, and the heavy ones where strays are too many for the two above.
KERNEL(THREADS, 2) build_all(Graph<KEY> graph, Work<KEY> work, u32 heavy, u32 few) {
    State &state = *work.state;
    if (heavy && (state.done <= 1 || (!graph.rows && has_giant(graph, work)))) return;
    if (heavy && graph.rows && can_be_held(graph, state, few)) return end_rows(state);
    list_all(graph, work, heavy);
}

// After light edges there may be a single tree.
__device__ __forceinline__ bool is_over(const State &state, u32 task) { return task == FINISH && state.trees <= 1; }

KERNEL(THREADS, 2) rounds(Graph<KEY> graph, Work<KEY> work, u32 task, u32 few) {
    if (!is_over(*work.state, task)) contract(graph, work, task == LABEL ? LIGHT_ROUNDS : LAST_ROUNDS, few);
}

KERNEL(HOLDERS, 1) solve_held(Graph<KEY> graph, Work<KEY> work) { contract_held<true>(graph, work, LAST_HELD, FINISH, graph.m); }

KERNEL(HOLDERS, 1) held_rounds(Graph<KEY> graph, Work<KEY> work, u32 task, u32 few) {
    if (!is_over(*work.state, task)) contract_held<false>(graph, work, task == LABEL ? LIGHT_HELD : LAST_HELD, task, few);
}

KERNEL(THREADS, 4) label(Graph<KEY> graph, Work<KEY> work) {
    if (label_trees(graph, work)) mark_strays(graph, work);
}
KERNEL(THREADS, 4) find_strays(Graph<KEY> graph, Work<KEY> work) {
    if (label_trees(graph, work)) queue_strays(graph, work);
}
