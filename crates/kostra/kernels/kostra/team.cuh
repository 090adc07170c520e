// Blocks that work together: shared memory, the barrier, and how work and results are laid out in stretches.
#pragma once
#include "kostra/state.cuh"

#ifdef EMULATED
__device__ char *shared_memory();
#else
extern __shared__ __align__(16) char dynamic[];
__device__ __forceinline__ char *shared_memory() { return dynamic; }
#endif
__device__ __forceinline__ Shared &shared() { return *(Shared *)shared_memory(); }
__device__ __forceinline__ u64 *table() { return (u64 *)(shared_memory() + (sizeof(Shared) + 15) / 16 * 16); }

// Reads past the block's own cache, for what other blocks may be writing now. (The barrier empties that cache.)
__device__ __forceinline__ u32 fresh(const u32 *at) { return __ldcg(at); }
__device__ __forceinline__ u64 fresh(const u64 *at) { return __ldcg(at); }
__device__ __forceinline__ u32 watched(const u32 *at) { return *(const volatile u32 *)at; }

// The blocks that work together: the first `size` of a cooperative launch.
struct Team {
    State *state;
    // Which of the solve's cooperative launches this is.
    u32 launch;
    u32 size;
    // What the counter of arrivals stands at when all have arrived.
    u32 target;

    __device__ void sync() {
        __syncthreads();
        if (size == 1) return;
        target += size;
        if (threadIdx.x == 0) {
            __threadfence();
            u32 *reached = &state->reached[launch];
            if (atomicAdd(&state->arrived[launch], 1) == target - 1) {
                __threadfence();
                *(volatile u32 *)reached = target;
            } else {
                while ((int)(watched(reached) - target) < 0) IDLE();
            }
            __threadfence();
        }
        __syncthreads();
    }

    // Goes on with fewer blocks; false for those that are sent away.
    __device__ bool shrink(u32 wanted) {
        size = min(size, max(wanted, 1u));
        return blockIdx.x < size;
    }
};

// A block's stretch of `count` things.
struct Stretch {
    u32 from, to;
};

// Whole tiles, and at least one.
__device__ __forceinline__ u64 stretch_length(u32 count, u32 blocks) {
    return max(1ull, ((u64)count + blocks * TILE - 1) / (blocks * TILE)) * TILE;
}

__device__ __forceinline__ Stretch stretch(u32 count, u32 blocks) {
    u64 length = stretch_length(count, blocks);
    u64 from = min((u64)count, length * blockIdx.x);
    return {(u32)from, (u32)min((u64)count, from + length)};
}

// For each of a tile's things that is kept, how many are kept before it; thing `i` of all threads comes before thing
// `i + 1` of any. Returns how many are kept. With `also`, the same for a second choice, in the upper 16 bits.
__device__ __forceinline__ u32 place(u32 *counts, const bool (&keep)[EACH], u32 (&places)[EACH],
                                     const bool *also = nullptr) {
    u32 warp = threadIdx.x / WARP, lane = threadIdx.x % WARP;
#pragma unroll
    for (u32 i = 0; i < EACH; i++) {
        u32 ballot = __ballot_sync(ALL, keep[i]), other = also ? __ballot_sync(ALL, also[i]) : 0;
        places[i] = __popc(ballot & lanes_before()) | __popc(other & lanes_before()) << 16;
        if (lane == 0) counts[i * WARPS + warp] = __popc(ballot) | __popc(other) << 16;
    }
    __syncthreads();
    if (warp == 0) {
        constexpr u32 PER_LANE = (EACH * WARPS + WARP - 1) / WARP;
        u32 sum = 0, before[PER_LANE];
#pragma unroll
        for (u32 i = 0; i < PER_LANE; i++) {
            u32 at = lane * PER_LANE + i;
            before[i] = sum;
            sum += at < EACH * WARPS ? counts[at] : 0;
        }
        u32 end = warp_scan(sum);
#pragma unroll
        for (u32 i = 0; i < PER_LANE; i++) {
            u32 at = lane * PER_LANE + i;
            if (at < EACH * WARPS) counts[at] = end - sum + before[i];
        }
        if (lane == WARP - 1) counts[EACH * WARPS] = end;
    }
    __syncthreads();
#pragma unroll
    for (u32 i = 0; i < EACH; i++) places[i] += counts[i * WARPS + warp];
    u32 total = counts[EACH * WARPS];
    __syncthreads();
    return total;
}

// Where each of `blocks` parts begins when they are put one behind the other, and the end of the last.
__device__ void find_starts(const u32 *counts, u32 blocks, u32 *starts) {
    constexpr u32 PER_THREAD = BLOCKS / THREADS;
    u32 *sums = shared().tile;
    u32 lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
    u32 mine[PER_THREAD], sum = 0;
#pragma unroll
    for (u32 i = 0; i < PER_THREAD; i++) {
        u32 at = threadIdx.x * PER_THREAD + i;
        mine[i] = at < blocks ? fresh(counts + at) : 0;
        sum += mine[i];
    }
    u32 end = warp_scan(sum);
    if (lane == WARP - 1) sums[warp] = end;
    __syncthreads();
    u32 before = end - sum;
    for (u32 i = 0; i < warp; i++) before += sums[i];
#pragma unroll
    for (u32 i = 0; i < PER_THREAD; i++) {
        u32 at = threadIdx.x * PER_THREAD + i;
        if (at <= blocks) starts[at] = before;
        before += mine[i];
    }
    if (blocks == BLOCKS && threadIdx.x == THREADS - 1) starts[blocks] = before;
    __syncthreads();
}
