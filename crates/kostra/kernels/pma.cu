// The kernels of `pma-min`, `pma-sort` and `pma-hybrid` on CUDA, beside those in contract.cu (see src/cuda/pma.rs).
//
// A processor of the paper is a group of SIZE lanes here, which read a row together.
#include "contract/arcs.cuh"
#include "contract/group.cuh"

#ifndef THREADS
#define THREADS 256
#endif
#define KERNEL extern "C" __global__ void __launch_bounds__(THREADS)

// A vertex of a growing tree with the smallest of its arcs that leave the tree.
struct Member {
    // EMPTY where none leaves it.
    u64 smallest;
    u32 v, target;
    // Where in the vertex's sorted row that arc was found.
    u32 at, unused;
};

// The trees of a round.
struct Trees {
    u32 n, gamma;
    // Rows are sorted by keys without so many low bits.
    u32 key_shift, unused;
    const u32 *rows;
    const Arc *list;
    // For every vertex the one that its tree began with; NONE while it is in no tree.
    u32 *claims;
    // For every vertex that a tree began with: the one that the tree which stopped it began with, or NONE.
    u32 *touches;
    // The edge along which a vertex came into its tree; where a tree began with it, the edge along which it touched.
    u32 *chosen;
    // `gamma` members for each processor.
    Member *queues;
};

// One tree while it grows. Only its group adds vertices to it, so the group always knows which arcs leave it: claims of
// others that it has not seen yet do not matter.
template <u32 SIZE, bool SORTED> struct Tree {
    Group<SIZE> group;
    const Trees &trees;
    Member *queue;
    u32 start;

    __device__ __forceinline__ bool is_outside(u32 v) const { return __ldcg(trees.claims + v) != start; }

    // Finds the smallest arc of member `i`, vertex `v`, that leaves the tree.
    __device__ void find(u32 i, u32 v, u32 at) {
        u64 from = trees.rows[v], to = trees.rows[v + 1], best = EMPTY;
        u32 target = NONE;
        auto offer = [&](Arc arc) {
            if (ranked(arc) < best && is_outside(arc.y)) {
                best = ranked(arc);
                target = arc.y;
            }
        };
        if (SORTED) {
            // The first that leaves, from where the last was found.
            u64 first = from + at;
            for (u32 votes = 0; first < to; first += SIZE) {
                u64 a = first + group.rank;
                votes = group.votes(a < to && is_outside(__ldg(&trees.list[a].y)));
                if (votes) {
                    first += __ffs(votes) - 1;
                    break;
                }
            }
            at = (u32)(first - from);
            // Its equals in the order of the row follow.
            auto order = [&](u64 a) { return __ldg(&trees.list[a].z) >> trees.key_shift; };
            for (u32 same = first < to ? order(first) : 0; first < to; first += SIZE) {
                u64 a = first + group.rank;
                bool equal = a < to && order(a) == same;
                if (equal) offer(__ldg(trees.list + a));
                if (!(group.votes(equal) >> (SIZE - 1))) break;
            }
        } else {
            for (u64 a = from + group.rank; a < to; a += SIZE) offer(__ldg(trees.list + a));
        }
        u64 smallest = group.min(best);
        // No two arcs of a row are equal, so one thread has the smallest.
        if (best == smallest && (best != EMPTY || group.rank == 0)) queue[i] = {smallest, v, target, at, 0};
    }

    // The smallest edge that leaves the tree, and where it leads.
    __device__ u64 smallest(u32 size, u32 &target) {
        u64 best = EMPTY;
        for (u32 i = group.rank; i < size; i += SIZE) {
            if (queue[i].smallest < best) {
                best = queue[i].smallest;
                target = queue[i].target;
            }
        }
        u64 smallest = group.min(best);
        // An edge that leaves the tree has one end in it, so one member has it.
        if (smallest != EMPTY) target = group.share(target, __ffs(group.votes(best == smallest)) - 1);
        return smallest;
    }

    // Claims a vertex for this tree; returns the start of the tree that has it already, or NONE.
    __device__ u32 claim(u32 v) {
        u32 owner = 0;
        if (group.rank == 0) owner = atomicCAS(trees.claims + v, NONE, start);
        return group.share(owner, 0);
    }

    // Partial Prim: grows the tree to at most gamma vertices, unless its start is in a tree.
    __device__ void grow() {
        if (group.share(__ldcg(trees.claims + start), 0) != NONE || claim(start) != NONE) return;
        find(0, start, 0);
        for (u32 size = 1; size < trees.gamma;) {
            group.sync();
            u32 target = NONE;
            u64 edge = smallest(size, target);
            if (edge == EMPTY) break;
            u32 owner = claim(target);
            if (group.rank == 0) {
                trees.chosen[owner == NONE ? target : start] = low(edge);
                if (owner != NONE) trees.touches[start] = owner;
            }
            if (owner != NONE || size + 1 == trees.gamma) break;
            // Whoever wanted to go there looks for another way.
            for (u32 first = 0; first < size; first += SIZE) {
                u32 i = first + group.rank;
                u32 votes = group.votes(i < size && queue[i].smallest != EMPTY && queue[i].target == target);
                for (; votes; votes &= votes - 1) {
                    u32 j = first + __ffs(votes) - 1;
                    u32 v = queue[j].v, at = queue[j].at;
                    group.sync();
                    find(j, v, at);
                }
            }
            find(size++, target, 0);
        }
    }
};

// Each processor has `gamma` vertices to begin trees with.
template <u32 SIZE, bool SORTED> __device__ void grow(const Trees &trees) {
    u64 processors = ((u64)trees.n + trees.gamma - 1) / trees.gamma, step = (u64)gridDim.x * THREADS / SIZE;
    for (u64 p = ((u64)blockIdx.x * THREADS + threadIdx.x) / SIZE; p < processors; p += step) {
        u64 first = p * trees.gamma, end = min(first + trees.gamma, (u64)trees.n);
        for (u64 v = first; v < end; v++) {
            Tree<SIZE, SORTED>{{}, trees, trees.queues + first, (u32)v}.grow();
        }
    }
}

#define GROW(SIZE)                                                                                                     \
    KERNEL grow_min_##SIZE(Trees trees) { grow<SIZE, false>(trees); }                                                  \
    KERNEL grow_sort_##SIZE(Trees trees) { grow<SIZE, true>(trees); }
GROW(8)
GROW(32)

// Links every vertex to the one that its tree began with, and that to where its tree touched another.
KERNEL link(u64 n, u32 *claims, const u32 *touches) {
    each(n, [&](u64 v) {
        if (claims[v] == v && touches[v] != NONE) claims[v] = touches[v];
    });
}
