// The kernels of `vineet` on CUDA, beside those in contract.cu; the numbers are those of the paper's Algorithm 1
// (see src/cuda/vineet.rs).
#include "contract/arcs.cuh"

#define KERNEL extern "C" __global__ void __launch_bounds__(512)

// 1-3: the smallest arc of every vertex, by a segmented minimum over the list, which is in the order of its vertices.
KERNEL find_minima(u64 count, const Arc *list, u64 *minima) {
    each((count + WARP - 1) / WARP * WARP, [&](u64 i) {
        Arc arc = list[min(i, count - 1)];
        lower_segments(minima, i < count ? arc.x : NONE, ranked(arc));
    });
}

// 4: the successor of every vertex along that arc; `successors` begin as the vertices themselves.
KERNEL find_successors(u64 count, const Arc *list, const u64 *minima, u32 *successors) {
    each(count, [&](u64 i) {
        Arc arc = list[i];
        if (minima[arc.x] == ranked(arc)) successors[arc.x] = arc.y;
    });
}

// 5 and 6: of two vertices that are each other's successors the lower becomes a representative and forgets its edge; all
// others mark theirs. Only those vertices change, so the order of threads does not matter.
KERNEL mark_edges(u64 n, const u64 *minima, u32 *successors, u32 *chosen) {
    each(n, [&](u64 v) {
        u32 successor = __ldcg(successors + v);
        bool forget = minima[v] == EMPTY || (v < successor && __ldcg(successors + successor) == v);
        if (forget) successors[v] = (u32)v;
        chosen[v] = forget ? NONE : low(minima[v]);
    });
}

// 8: every vertex with its representative. Vertices without arcs come last, behind all representatives.
KERNEL list_vertices(u64 n, const u64 *minima, const u32 *successors, Arc *list) {
    each(n, [&](u64 v) { list[v] = make_uint4(minima[v] == EMPTY ? (u32)n : successors[v], (u32)v, 0, 0); });
}

// 9: marks where another representative begins. A scan over the marks numbers the supervertices.
KERNEL mark_segments(u64 n, const Arc *list, u32 *marks) {
    each(n, [&](u64 i) { marks[i] = list[i].x != n && (i == 0 || list[i - 1].x != list[i].x); });
}

// 9: the new id of every vertex: the number of marks up to its place, less one.
KERNEL assign_ids(u64 n, const Arc *list, const u32 *marks_before, u32 *ids) {
    each(n, [&](u64 i) { ids[list[i].y] = marks_before[i + 1] - 1; });
}
