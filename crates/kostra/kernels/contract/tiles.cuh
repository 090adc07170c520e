// Prefix sums in a single pass, for scans and compactions.
//
// A block takes one tile after the other, in the order in which tickets are drawn. It says what its tile sums up to, looks
// back over what the tiles before it have said until one knows the sum of all before, and says its own. Whoever is waited
// for drew its ticket earlier, so it is running. (Merrill and Garland's decoupled look-back.)
//
// CUB's device-wide scan and sort are launched from C++ on the host, which we do not have; these are the same methods by
// hand, in the few lines that our two uses take.
#pragma once
#include "contract/arcs.cuh"

#ifndef TILE_THREADS
#define TILE_THREADS 256
#endif
// Twice as many took the driver half as long again to compile.
constexpr u32 TILE_ITEMS = 4;
constexpr u32 TILE = TILE_THREADS * TILE_ITEMS;
constexpr u32 TILE_WARPS = TILE_THREADS / WARP;

// What is known of a tile: nothing, its own sum, or the sum up to and with it.
constexpr u64 PARTIAL = 1ull << 62;
constexpr u64 WHOLE = 1ull << 63;

__device__ __forceinline__ u64 watched(const u64 *at) { return *(const volatile u64 *)at; }
__device__ __forceinline__ void tell(u64 *at, u64 value) { *(volatile u64 *)at = value; }
__device__ __forceinline__ u64 sum_of(u64 status) { return status & (PARTIAL - 1); }

// The next tile; the counter begins at 0.
__device__ __forceinline__ u32 draw_tile(u64 *ticket) {
    __shared__ u32 tile;
    if (threadIdx.x == 0) tile = (u32)atomicAdd(ticket, 1ull);
    __syncthreads();
    u32 mine = tile;
    __syncthreads();
    return mine;
}

// The sum of the tiles before, for a warp. The words of one tile are read and written whole, so they need no fences.
__device__ __forceinline__ u64 look_back(u64 *status, u32 tile, u64 own) {
    u32 lane = threadIdx.x % WARP;
    if (lane == 0) tell(status + tile, (tile ? PARTIAL : WHOLE) | own);
    u64 before = 0;
    for (long long last = (long long)tile - 1; last >= 0;) {
        long long other = last - lane;
        u64 said = other >= 0 ? watched(status + other) : WHOLE;
        u32 whole = __ballot_sync(ALL, (said & WHOLE) != 0), known = __ballot_sync(ALL, said != 0);
        // Up to the first that knows all before it.
        u32 wanted = whole ? (whole & -whole) * 2 - 1 : ALL;
        if ((known & wanted) != wanted) continue;
        u64 sum = wanted >> lane & 1 ? sum_of(said) : 0;
        for (u32 step = 1; step < WARP; step *= 2) sum += __shfl_xor_sync(ALL, sum, step);
        before += sum;
        if (whole) break;
        last -= WARP;
    }
    if (lane == 0 && tile) tell(status + tile, WHOLE | (before + own));
    return before;
}

// Gives every thing its place behind those before it: load(i, thing) says how much room a thing takes, and
// put(i, thing, place, room) is called by all lanes of a warp together, with a room of 0 behind the end. The sum of all
// goes to `total`. `status` is zeroed: a ticket, and a word per tile.
template <typename Thing, typename Load, typename Put>
__device__ __forceinline__ void place(u64 count, u64 *status, u32 *total, Load load, Put put) {
    __shared__ u32 sums[TILE_ITEMS * TILE_WARPS], start;
    u64 tiles = (count + TILE - 1) / TILE;
    u32 warp = threadIdx.x / WARP, lane = threadIdx.x % WARP;
    for (u32 tile; (tile = draw_tile(status)) < tiles;) {
        Thing things[TILE_ITEMS];
        u32 rooms[TILE_ITEMS], ends[TILE_ITEMS];
        u64 first = (u64)tile * TILE + threadIdx.x;
#pragma unroll
        for (u32 k = 0; k < TILE_ITEMS; k++) {
            u64 i = first + k * TILE_THREADS;
            rooms[k] = i < count ? load(i, things[k]) : 0;
            ends[k] = warp_scan(rooms[k]);
            if (lane == WARP - 1) sums[k * TILE_WARPS + warp] = ends[k];
        }
        __syncthreads();
        if (warp == 0) {
            u32 sum = 0;
            for (u32 i = lane; i < TILE_ITEMS * TILE_WARPS; i += WARP) {
                u32 own = sums[i], end = warp_scan(own);
                sums[i] = sum + end - own;
                sum += __shfl_sync(ALL, end, WARP - 1);
            }
            u64 before = look_back(status + 1, tile, sum);
            if (lane == 0) {
                start = (u32)before;
                if (tile == tiles - 1) *total = (u32)before + sum;
            }
        }
        __syncthreads();
#pragma unroll
        for (u32 k = 0; k < TILE_ITEMS; k++) {
            u32 at = start + sums[k * TILE_WARPS + warp] + ends[k] - rooms[k];
            put(first + k * TILE_THREADS, things[k], at, rooms[k]);
        }
        __syncthreads();
    }
}
