// What the kernels of `kostra` share: constants, counters, and memory to work in.
#pragma once
#include "common.cuh"

// Which type of key the kernels are compiled for.
#ifndef KEY
#define KEY u32
#endif

constexpr u32 THREADS = 512;
constexpr u32 WARPS = THREADS / WARP;
// Threads of a block that has a multiprocessor for itself: so all of them share what is in its memory.
constexpr u32 WIDE = 1024;
// Edges or trees that a thread looks at in one go: several loads in flight.
constexpr u32 EACH = 4;
constexpr u32 TILE = THREADS * EACH;
// Edges that a thread looks at to tell which are light.
constexpr u32 SAMPLES = 4;
// Rows up to this length are searched by one thread, or where rows are longer on the whole by a group of lanes. Longer ones are cut
// into pieces, which are searched by a warp each.
constexpr u32 SHORT_ROW = 64;
constexpr u32 LONG_ROW = 256;
constexpr u32 PIECE = 2048;
// Up to this length, rows are searched by one thread even then.
constexpr u32 OWN_ROW = 8;
// Lanes of a group, and vectors of a piece that a warp's lanes read at a time.
constexpr u32 GROUP = 8;
constexpr u32 AHEAD = 4;
// Arcs of a stray's row that a lane reads at a time, and edges of such rows that a block keeps before it writes them.
constexpr u32 ROW_STEPS = 2;
constexpr u32 ROWS_QUEUE = 1024;
// So many steps of a path are walked before the rest is left to another pass over all trees; and before it is shortened for others.
constexpr u32 WALK = 64;
constexpr u32 SHORT_WALK = 8;
// Most blocks of a launch, and most rounds that are counted; each on a list halves the trees at least.
constexpr u32 BLOCKS = 1024;
constexpr u32 ROUNDS = 96;
// The cooperative launches of a solve, and how many they are: each has counters of its own for its barriers.
enum Launch { JOIN, LIGHT_ROUNDS, LIGHT_HELD, LABELS, LAST_ROUNDS, LAST_HELD, LAUNCHES };
// A private table pays from so many edges per tree.
constexpr u32 DENSE = 8;
// Edges per block below which fewer blocks work: the barrier costs more than the work.
constexpr u32 SHARE = 2048;
// Edges that a thread reads together, one behind the other, and how often it does so before it chooses some.
constexpr u32 RUN = 4;
constexpr u32 RUNS = 8 / sizeof(KEY);
// Edges that a thread holds at most, in blocks of more threads; edges that one of these blocks can hold.
constexpr u32 HOLD = 4;
constexpr u32 HOLDERS = 1024;
constexpr u32 SOLO = HOLD * HOLDERS;
// Lists that are so many times as long as what the threads can hold are sifted once there are so many times fewer trees.
constexpr u32 SIFT_EDGES = 2;
constexpr u32 SIFT_TREES = 2;
// Longer ones are not.
constexpr u32 SIFT_MOST = 16;
// When more edges than this offer themselves at once, and several to a tree, a few go first.
constexpr u32 CROWD = 8192;

// A link with this bit tells that the tree is a root; the rest is its number in its block, with DONE where no edge of the
// list leaves it. So are labels, without the first bit. There are fewer than 2^31 vertices and half as many trees.
constexpr u32 ROOT = 1u << 31;
constexpr u32 DONE = 1u << 30;
constexpr u32 NUMBER = DONE - 1;

// Counted for the statistics: the trees and the edges at the start of a round.
struct Round {
    u32 trees, edges;
};

// What begins with zeros.
struct Counters {
    // Of each cooperative launch, for every other barrier: blocks that have arrived, and in the upper half what they have brought.
    u64 arrived[LAUNCHES][2];
    u32 pieces, hubs;
};

struct State {
    // Solves take turns with them, and each clears those of the next.
    Counters counters[2];
    // Trees to begin with, and those complete so far.
    u32 trees, done;
    // Rounds, maps, and entries of `chosen`, so far; and how often lists and cells have changed places with the next.
    u32 rounds, levels, slots, swaps;
    // Edges that were handed to the first block.
    u32 handed;
    // Edges on the list as it was built.
    u32 listed;
    // A tree that was joined last, and the label of the giant.
    u32 last, giant;
    // How many strays there are, or groups of vertices that have some; whether one's row is long, and the edges found in their rows.
    u32 strays, has_long_row, found;
    // Whether the list is in no order, and nothing was offered to cells, in which there are to be ids instead of positions.
    u32 by_id;
    // The blocks that wrote the list, and the room of each.
    u32 parts;
    u64 part_length;
    // The first edge in the order that is not light.
    u64 threshold_key;
    u32 threshold_edge;
    Round round[ROUNDS];
    // Labels in each map.
    u32 level[ROUNDS];
    // Of the list, and of roots with edges and without, in each block's stretch.
    u32 kept[BLOCKS], active[BLOCKS], complete[BLOCKS];
};

__device__ __forceinline__ void note_round(State &state, u32 number, u32 trees, u32 edges) {
    if (number < ROUNDS) state.round[number] = {trees, edges};
}

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
    // For every vertex and then for all trees, as often as they are numbered: the next number.
    u32 *maps;
    uint4 *list, *next_list;
    // The edge that a tree joined another along, round after round, or NONE; for some roots, that along which another joined them.
    u32 *chosen;
    Piece<K> *pieces;
    // The hubs, each with its first piece.
    uint2 *hubs;
    // A bit for every 2^shift vertices, one behind the other: whether any is a stray (strays.cuh).
    u32 *strays;
    u32 stray_shift;
    // Which counters are this solve's.
    u32 turn;
};

struct Shared {
    u32 tile[EACH * WARPS + 1];
    // Where each block's roots begin, with edges and without, and its part of the list; and the end of the last.
    u32 starts[BLOCKS + 1], done_starts[BLOCKS + 1], list_starts[BLOCKS + 1];
};

// Edges that were chosen and wait until all of so many threads have some to work on.
template <u32 COUNT> struct Queue {
    u32 tile[EACH * COUNT / WARP + 1];
    u32 edges[COUNT * (EACH + RUN * RUNS)];

    static constexpr u32 bytes() { return (sizeof(Queue) + 15) / 16 * 16; }
};
