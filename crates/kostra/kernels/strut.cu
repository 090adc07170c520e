// The kernels of `strut` on CUDA, beside those in contract.cu (see src/cuda/strut.rs).
//
// The list holds the vertices of the bipartite graph's second side: each stands for an edge and has two neighbours.
#include "contract/arcs.cuh"

#define KERNEL extern "C" __global__ void __launch_bounds__(512)

// Offers every edge to its two ends; each keeps the smallest. `cells` begin empty.
KERNEL build_strut(u64 count, const Arc *list, u64 *cells) {
    each(count, [&](u64 i) {
        Arc arc = __ldg(list + i);
        if (arc.x == arc.y) return;
        lower(cells + arc.x, ranked(arc));
        lower(cells + arc.y, ranked(arc));
    });
}

// Chooses the edges of the strut, links the ends that kept them, and counts those kept by both: the zero-difference
// vertices. `links` begin as the vertices themselves, `chosen` with no edges.
KERNEL choose_edges(u64 count, const Arc *list, const u64 *cells, u32 *links, u32 *chosen, u32 *zero_difference) {
    each(count, [&](u64 i) {
        Arc arc = __ldg(list + i);
        bool first = __ldg(cells + arc.x) == ranked(arc), second = __ldg(cells + arc.y) == ranked(arc);
        if (first) {
            links[arc.x] = arc.y;
            chosen[arc.x] = arc.w;
        }
        if (second) {
            links[arc.y] = arc.x;
            chosen[arc.y] = arc.w;
        }
        if (first && second) atomicAdd(zero_difference, 1u);
    });
}
