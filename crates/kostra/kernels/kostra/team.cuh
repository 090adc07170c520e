// Blocks that work together: shared memory, the barrier, and how work and results are laid out in stretches.
#pragma once
#include "kostra/state.cuh"

// Without a GPU, tests/emulator/device.h has its own.
#ifdef __CUDACC__
extern __shared__ __align__(16) char dynamic[];
__device__ __forceinline__ char *shared_memory() { return dynamic; }

// Orders what the block's threads wrote before the last `__syncthreads` before what any thread that sees it reads afterwards.
// Cheaper than `__threadfence`, which also orders fences of all blocks.
__device__ __forceinline__ void fence() { asm volatile("fence.acq_rel.gpu;" ::: "memory"); }
__device__ __forceinline__ u64 add_in_order(u64 *at, u64 amount) {
    u64 before;
    asm volatile("atom.acq_rel.gpu.add.u64 %0, [%1], %2;" : "=l"(before) : "l"(at), "l"(amount) : "memory");
    return before + amount;
}
__device__ __forceinline__ u64 read_in_order(const u64 *at) {
    u64 value;
    asm volatile("ld.acquire.gpu.u64 %0, [%1];" : "=l"(value) : "l"(at) : "memory");
    return value;
}
#endif

__device__ __forceinline__ Shared &shared() { return *(Shared *)shared_memory(); }
__device__ __forceinline__ u64 *table() { return (u64 *)(shared_memory() + (sizeof(Shared) + 15) / 16 * 16); }

// Reads past the block's own cache, for what other blocks may be writing now. (The barrier empties that cache.)
__device__ __forceinline__ u32 fresh(const u32 *at) { return __ldcg(at); }
__device__ __forceinline__ u64 fresh(const u64 *at) { return __ldcg(at); }

// The blocks that work together: the first `size` of a cooperative launch.
struct Team {
    State *state;
    // Whose turn it is with the counters, and which of the solve's cooperative launches this is.
    u32 turn, launch;
    u32 size;

    template <typename K>
    __device__ Team(const Work<K> &work, u32 launch) : state(work.state), turn(work.turn), launch(launch), size(gridDim.x) {
        if (threadIdx.x == 0) barriers() = {};
    }

    // What a block's first thread knows of barriers so far.
    struct Barriers {
        // They take turns with two counters, as one that waits may look at its own after others came to the next.
        u32 phase;
        // Of each counter: arrivals, and what was brought there.
        u32 target[2], brought[2];
    };
    __device__ static Barriers &barriers() {
        __shared__ Barriers barriers;
        return barriers;
    }

    // Waits until all have come. Adds up what the blocks bring, each one number that its threads agree on.
    __device__ u32 sync(u32 mine = 0) {
        __shared__ u32 sum;
        __syncthreads();
        if (size == 1) return mine;
        if (threadIdx.x == 0) {
            Barriers &all = barriers();
            u32 phase = all.phase ^= 1, target = all.target[phase] += size;
            u64 *counter = &state->counters[turn].arrived[launch][phase], arrived = add_in_order(counter, pack(mine, 1));
            while (low(arrived) != target) arrived = read_in_order(counter);
            sum = high(arrived) - all.brought[phase];
            all.brought[phase] = high(arrived);
        }
        __syncthreads();
        return sum;
    }

    // Waits until all have come, and adds up what their threads bring.
    __device__ u32 count(u32 mine) {
        __shared__ u32 sums[WARP];
        mine = warp_sum(mine);
        if (threadIdx.x % WARP == 0) sums[threadIdx.x / WARP] = mine;
        __syncthreads();
        u32 sum = threadIdx.x % WARP < blockDim.x / WARP ? sums[threadIdx.x % WARP] : 0;
        return sync(warp_sum(sum));
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

// Turns the counts of a tile, one for each warp and thing, into sums of those before; returns the sum of all.
template <u32 COUNT> __device__ __forceinline__ u32 scan_tile(u32 *counts) {
    __syncthreads();
    if (threadIdx.x < WARP) {
        constexpr u32 PER_LANE = (COUNT + WARP - 1) / WARP;
        u32 lane = threadIdx.x, sum = 0, before[PER_LANE];
#pragma unroll
        for (u32 i = 0; i < PER_LANE; i++) {
            u32 at = lane * PER_LANE + i;
            before[i] = sum;
            sum += at < COUNT ? counts[at] : 0;
        }
        u32 end = warp_scan(sum);
#pragma unroll
        for (u32 i = 0; i < PER_LANE; i++) {
            u32 at = lane * PER_LANE + i;
            if (at < COUNT) counts[at] = end - sum + before[i];
        }
        if (lane == WARP - 1) counts[COUNT] = end;
    }
    __syncthreads();
    return counts[COUNT];
}

// For each of a tile's things that is kept, how many are kept before it; thing `i` of all threads comes before thing
// `i + 1` of any. Returns how many are kept. With `also`, the same for a second choice, in the upper 16 bits.
template <u32 COUNT = THREADS>
__device__ __forceinline__ u32 place(u32 *counts, const bool (&keep)[EACH], u32 (&places)[EACH],
                                     const bool *also = nullptr) {
    u32 warp = threadIdx.x / WARP, lane = threadIdx.x % WARP;
#pragma unroll
    for (u32 i = 0; i < EACH; i++) {
        u32 ballot = __ballot_sync(ALL, keep[i]), other = also ? __ballot_sync(ALL, also[i]) : 0;
        places[i] = __popc(ballot & lanes_before()) | __popc(other & lanes_before()) << 16;
        if (lane == 0) counts[i * (COUNT / WARP) + warp] = __popc(ballot) | __popc(other) << 16;
    }
    u32 total = scan_tile<EACH * COUNT / WARP>(counts);
#pragma unroll
    for (u32 i = 0; i < EACH; i++) places[i] += counts[i * (COUNT / WARP) + warp];
    __syncthreads();
    return total;
}

// The same for one thing of each thread, in a block of any size.
__device__ __forceinline__ u32 place_one(u32 *counts, bool keep, u32 &place) {
    u32 warp = threadIdx.x / WARP, lane = threadIdx.x % WARP, ballot = __ballot_sync(ALL, keep);
    if (lane == 0) counts[warp] = __popc(ballot);
    __syncthreads();
    u32 end = warp_scan(lane < blockDim.x / WARP ? counts[lane] : 0);
    place = __shfl_sync(ALL, end, warp) - __popc(ballot) + __popc(ballot & lanes_before());
    __syncthreads();
    return __shfl_sync(ALL, end, WARP - 1);
}

// The same for runs of things, of each of which a thread keeps so many.
template <u32 COUNT = THREADS>
__device__ __forceinline__ u32 place_runs(u32 *counts, const u32 (&kept)[RUNS], u32 (&places)[RUNS]) {
    u32 warp = threadIdx.x / WARP, lane = threadIdx.x % WARP;
#pragma unroll
    for (u32 i = 0; i < RUNS; i++) {
        u32 end = warp_scan(kept[i]);
        places[i] = end - kept[i];
        if (lane == WARP - 1) counts[i * (COUNT / WARP) + warp] = end;
    }
    u32 total = scan_tile<RUNS * COUNT / WARP>(counts);
#pragma unroll
    for (u32 i = 0; i < RUNS; i++) places[i] += counts[i * (COUNT / WARP) + warp];
    __syncthreads();
    return total;
}

// Where each of `blocks` parts begins when they are put one behind the other, and the end of the last.
__device__ void find_starts(const u32 *counts, u32 blocks, u32 *starts) {
    u32 *sums = shared().tile;
    u32 lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
#pragma unroll 1
    for (u32 at = threadIdx.x; at < blocks; at += blockDim.x) starts[at] = fresh(counts + at);
    __syncthreads();
    u32 each = (blocks + blockDim.x - 1) / blockDim.x, from = min(blocks, threadIdx.x * each), to = min(blocks, from + each);
    u32 sum = 0;
#pragma unroll 1
    for (u32 at = from; at < to; at++) sum += starts[at];
    u32 end = warp_scan(sum);
    if (lane == WARP - 1) sums[warp] = end;
    __syncthreads();
    u32 others = warp_scan(lane < blockDim.x / WARP ? sums[lane] : 0), before = __shfl_sync(ALL, others, warp) - sums[warp];
    before += end - sum;
#pragma unroll 1
    for (u32 at = from; at < to; at++) {
        u32 count = starts[at];
        starts[at] = before;
        before += count;
    }
    // The last thread stands behind all.
    if (threadIdx.x == blockDim.x - 1) starts[blocks] = before;
    __syncthreads();
}
