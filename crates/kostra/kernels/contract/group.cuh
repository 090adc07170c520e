// Threads that work on one row of arcs together: one thread, some lanes of a warp, or a block.
#pragma once
#include "common.cuh"

// So many neighbouring lanes of a warp, a power of two.
template <u32 SIZE> struct Group {
    static constexpr u32 size = SIZE;
    // This thread's number in the group, and the lanes of the group.
    u32 rank = threadIdx.x % SIZE;
    u32 first = threadIdx.x % WARP / SIZE * SIZE;
    u32 lanes = (SIZE == WARP ? ALL : (1u << SIZE % WARP) - 1) << first;

    __device__ __forceinline__ void sync() const {
        if (SIZE > 1) __syncwarp(lanes);
    }
    // What the thread of that rank has.
    __device__ __forceinline__ u32 share(u32 x, u32 from) const {
        return SIZE > 1 ? __shfl_sync(lanes, x, first + from) : x;
    }
    // A bit for every thread, by rank.
    __device__ __forceinline__ u32 votes(bool vote) const {
        return SIZE > 1 ? (__ballot_sync(lanes, vote) & lanes) >> first : vote;
    }
    __device__ __forceinline__ u64 min(u64 x) const {
        for (u32 step = SIZE / 2; step; step /= 2) {
            u64 other = __shfl_xor_sync(lanes, x, step);
            x = other < x ? other : x;
        }
        return x;
    }
    __device__ __forceinline__ u32 sum(u32 x) const {
        for (u32 step = SIZE / 2; step; step /= 2) x += __shfl_xor_sync(lanes, x, step);
        return x;
    }
    // How many threads before this one vote, and how many in all.
    __device__ __forceinline__ u32 voters_before(bool vote, u32 &all) const {
        u32 bits = votes(vote);
        all = __popc(bits);
        return __popc(bits & ((1u << rank) - 1));
    }
};

// All threads of a block, for long rows.
template <u32 THREADS> struct Block {
    static constexpr u32 size = THREADS;
    static constexpr u32 WARPS = THREADS / WARP;
    u32 rank = threadIdx.x;

    __device__ u64 min(u64 x) const {
        __shared__ u64 smallest[WARPS];
        x = Group<WARP>().min(x);
        if (rank % WARP == 0) smallest[rank / WARP] = x;
        __syncthreads();
        for (u32 i = 0; i < WARPS; i++) x = smallest[i] < x ? smallest[i] : x;
        __syncthreads();
        return x;
    }
    __device__ u32 sum(u32 x) const {
        __shared__ u32 sums[WARPS];
        x = Group<WARP>().sum(x);
        if (rank % WARP == 0) sums[rank / WARP] = x;
        __syncthreads();
        u32 all = 0;
        for (u32 i = 0; i < WARPS; i++) all += sums[i];
        __syncthreads();
        return all;
    }
    __device__ u32 voters_before(bool vote, u32 &all) const {
        __shared__ u32 counts[WARPS];
        u32 bits = __ballot_sync(ALL, vote);
        if (rank % WARP == 0) counts[rank / WARP] = __popc(bits);
        __syncthreads();
        u32 before = __popc(bits & lanes_before());
        all = 0;
        for (u32 i = 0; i < WARPS; i++) {
            if (i < rank / WARP) before += counts[i];
            all += counts[i];
        }
        __syncthreads();
        return before;
    }
};

// Threads of a block that goes through rows.
#ifndef ROW_THREADS
#define ROW_THREADS 256
#endif
// Rows from this length on are taken by a warp, and by a block.
#ifndef LONG_ROW
#define LONG_ROW 8
#define HUB_ROW 2048
#endif

// Takes a step for each row, of ROW_THREADS rows to a block: step(group, v, from, to). Short rows are taken by a thread
// each, so neighbouring rows are read together; long ones by as many threads as keep busy. One giant row still keeps a
// single block busy while the others wait.
template <typename Step> __device__ __forceinline__ void each_row(u32 n, const u32 *rows, Step step) {
    __shared__ u32 hubs[ROW_THREADS], hub_count;
    for (u64 block = (u64)blockIdx.x * ROW_THREADS; block < n; block += (u64)gridDim.x * ROW_THREADS) {
        u64 v = block + threadIdx.x;
        u32 from = v < n ? rows[v] : 0, to = v < n ? rows[v + 1] : 0, length = to - from;
        if (v < n && length < LONG_ROW) step(Group<1>(), (u32)v, from, to);
        for (u32 left = __ballot_sync(ALL, length >= LONG_ROW && length < HUB_ROW); left; left &= left - 1) {
            u32 lane = __ffs(left) - 1;
            u32 its_from = __shfl_sync(ALL, from, lane), its_to = __shfl_sync(ALL, to, lane);
            step(Group<WARP>(), (u32)(v - threadIdx.x % WARP + lane), its_from, its_to);
        }
        if (!__syncthreads_or(length >= HUB_ROW)) continue;
        if (threadIdx.x == 0) hub_count = 0;
        __syncthreads();
        if (length >= HUB_ROW) hubs[atomicAdd(&hub_count, 1u)] = (u32)v;
        __syncthreads();
        for (u32 i = 0; i < hub_count; i++) step(Block<ROW_THREADS>(), hubs[i], rows[hubs[i]], rows[hubs[i] + 1]);
        __syncthreads();
    }
}
