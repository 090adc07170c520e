// Arcs of a graph that shrinks from round to round.
#pragma once
#include "common.cuh"

// `x` and `y` are the vertices that it leads from and to, `z` is its key, `w` its edge id. A list holds both arcs of an
// edge, or just one of them where direction does not matter.
typedef uint4 Arc;

__device__ __forceinline__ u64 ranked(Arc arc) { return pack(arc.z, arc.w); }

// Takes a step for each of so many things that is this thread's.
template <typename Step> __device__ __forceinline__ void each(u64 count, Step step) {
    for (u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += (u64)gridDim.x * blockDim.x) step(i);
}

// Lowers a cell that many threads may lower. It only ever gets smaller, so an old value at worst costs a needless atomic.
__device__ __forceinline__ void lower(u64 *cell, u64 value) {
    if (__ldcg(cell) > value) atomicMin(cell, value);
}

// The smallest value over the lanes up to this one that belong to the same segment. Lanes of one segment lie together.
__device__ __forceinline__ u64 segmented_minimum(u32 segment, u64 value) {
    for (u32 step = 1; step < WARP; step *= 2) {
        u64 other = __shfl_up_sync(ALL, value, step);
        u32 its = __shfl_up_sync(ALL, segment, step);
        if (threadIdx.x % WARP >= step && its == segment) value = min(value, other);
    }
    return value;
}

// Lowers the cell of every lane's segment to its value: one try for each segment that the warp sees. A lane without
// a value has the segment NONE.
__device__ __forceinline__ void lower_segments(u64 *cells, u32 segment, u64 value) {
    value = segmented_minimum(segment, value);
    u32 next = __shfl_sync(ALL, segment, (threadIdx.x + 1) % WARP);
    bool last = threadIdx.x % WARP == WARP - 1 || next != segment;
    if (last && segment != NONE) lower(cells + segment, value);
}
