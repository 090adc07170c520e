// The kernels of `uminho` on CUDA, beside those in contract.cu: the steps of the paper's Algorithm 1
// (see src/cuda/uminho.rs).
#include "contract/arcs.cuh"
#include "contract/group.cuh"

#define KERNEL extern "C" __global__ void __launch_bounds__(ROW_THREADS)

// The smallest arc of every vertex: where it leads, the vertex itself where there is none; and its edge.
KERNEL find_minimum(u32 n, const u32 *rows, const Arc *list, u32 *successors, u32 *chosen) {
    each_row(n, rows, [&](auto group, u32 v, u32 from, u32 to) {
        u64 best = EMPTY;
        u32 successor = v;
        for (u64 a = (u64)from + group.rank; a < to; a += group.size) {
            Arc arc = __ldg(list + a);
            if (ranked(arc) < best) {
                best = ranked(arc);
                successor = arc.y;
            }
        }
        // No two arcs of a row are equal, so one thread has the smallest.
        u64 smallest = group.min(best);
        if (best == smallest && (best != EMPTY || group.rank == 0)) {
            successors[v] = successor;
            chosen[v] = low(best);
        }
    });
}

// Where two vertices chose the same edge, the smaller forgets it and stands for its component.
KERNEL remove_mirrored(u64 n, u32 *successors, u32 *chosen) {
    each(n, [&](u64 v) {
        u32 successor = __ldcg(successors + v);
        if (v < successor && __ldcg(successors + successor) == v) {
            successors[v] = (u32)v;
            chosen[v] = NONE;
        }
    });
}

// Counts the arcs of every vertex that leave its component, and reserves room for them in the component's row.
KERNEL count_arcs(u32 n, const u32 *rows, const Arc *list, const u32 *colours, u32 *degrees, u32 *places) {
    each_row(n, rows, [&](auto group, u32 v, u32 from, u32 to) {
        u32 own = colours[v], count = 0;
        for (u64 a = (u64)from + group.rank; a < to; a += group.size) count += colours[__ldg(&list[a].y)] != own;
        count = group.sum(count);
        if (group.rank == 0 && count) places[v] = atomicAdd(&degrees[own], count);
    });
}

// Copies these arcs to their place in the next graph.
KERNEL insert_arcs(u32 n, const u32 *rows, const Arc *list, const u32 *colours, const u32 *places, const u32 *next_rows,
                   Arc *next) {
    each_row(n, rows, [&](auto group, u32 v, u32 from, u32 to) {
        u32 own = colours[v];
        u64 at = NONE;
#pragma unroll 1
        for (u64 a = from; a < to; a += group.size) {
            Arc arc;
            u32 colour = own, all;
            if (a + group.rank < to) {
                arc = __ldg(list + a + group.rank);
                colour = colours[arc.y];
            }
            u32 before = group.voters_before(colour != own, all);
            // A vertex without such arcs has reserved nothing.
            if (at == NONE && all) at = (u64)next_rows[own] + places[v];
            if (colour != own) next[at + before] = make_uint4(own, colour, arc.z, arc.w);
            at += at == NONE ? 0 : all;
        }
    });
}
