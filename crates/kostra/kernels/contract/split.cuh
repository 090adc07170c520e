// Split: puts arcs in the order of one digit of one of their words and keeps the order of equals. From the last digit to
// the first it is a radix sort. Each arc is read and written once per digit (Adinets and Merrill's one-sweep).
#pragma once
#include "contract/tiles.cuh"

// Arcs of a tile: enough that those of one value are written in runs of several.
constexpr u32 SPLIT_ITEMS = 8;
constexpr u32 SPLIT_TILE = TILE_THREADS * SPLIT_ITEMS;
constexpr u32 DIGIT_VALUES = TILE_THREADS;
constexpr u32 MOST_DIGITS = 8;

// So many bits of a word.
struct Digit {
    u32 word, shift, bits;
};

// What to sort by, the last digit first.
struct Digits {
    u32 count;
    Digit at[MOST_DIGITS];
};

__device__ __forceinline__ u32 value_of(Arc arc, Digit digit) {
    u32 word = digit.word == 0 ? arc.x : digit.word == 1 ? arc.y : digit.word == 2 ? arc.z : arc.w;
    return word >> digit.shift & ((1u << digit.bits) - 1);
}

// How often each value occurs in each digit.
__device__ void count_values(const Arc *list, u64 count, const Digits &digits, u32 *counts) {
    __shared__ u32 own[MOST_DIGITS * DIGIT_VALUES];
    for (u32 i = threadIdx.x; i < digits.count * DIGIT_VALUES; i += TILE_THREADS) own[i] = 0;
    __syncthreads();
    each(count, [&](u64 i) {
        Arc arc = list[i];
        for (u32 d = 0; d < digits.count; d++) atomicAdd(&own[d * DIGIT_VALUES + value_of(arc, digits.at[d])], 1u);
    });
    __syncthreads();
    for (u32 i = threadIdx.x; i < digits.count * DIGIT_VALUES; i += TILE_THREADS)
        if (own[i]) atomicAdd(&counts[i], own[i]);
}

// The sum over the threads of the block before this one.
__device__ __forceinline__ u32 sum_before(u32 x) {
    __shared__ u32 sums[TILE_WARPS];
    u32 warp = threadIdx.x / WARP, end = warp_scan(x);
    if (threadIdx.x % WARP == WARP - 1) sums[warp] = end;
    __syncthreads();
    for (u32 i = 0; i < warp; i++) end += sums[i];
    __syncthreads();
    return end - x;
}

// `status` is zeroed: a ticket, and for every tile a word per value. `counts` are those of this digit.
__device__ void split_by(const Arc *from, Arc *to, u64 count, Digit digit, const u32 *counts, u64 *status) {
    __shared__ Arc sorted[SPLIT_TILE];
    __shared__ u32 places[TILE_WARPS][DIGIT_VALUES], firsts[DIGIT_VALUES], bases[DIGIT_VALUES];
    u32 warp = threadIdx.x / WARP, lane = threadIdx.x % WARP, value = threadIdx.x;
    u32 start = sum_before(counts[value]);
    for (u64 tile, tiles = (count + SPLIT_TILE - 1) / SPLIT_TILE; (tile = draw_tile(status)) < tiles;) {
        for (u32 i = 0; i < TILE_WARPS; i++) places[i][value] = 0;
        __syncthreads();
        // A warp counts its arcs, in order: each learns how many of its value came before it in the warp.
        Arc arcs[SPLIT_ITEMS];
        u32 values[SPLIT_ITEMS], ranks[SPLIT_ITEMS];
        u64 first = tile * SPLIT_TILE + warp * WARP * SPLIT_ITEMS + lane;
#pragma unroll
        for (u32 k = 0; k < SPLIT_ITEMS; k++) {
            bool exists = first + k * WARP < count;
            if (exists) arcs[k] = from[first + k * WARP];
            values[k] = exists ? value_of(arcs[k], digit) : DIGIT_VALUES;
            u32 equals = __match_any_sync(ALL, values[k]);
            u32 before = exists ? places[warp][values[k]] : 0;
            ranks[k] = before + __popc(equals & lanes_before());
            __syncwarp();
            if (exists && lane == __ffs(equals) - 1) places[warp][values[k]] = before + __popc(equals);
            __syncwarp();
        }
        __syncthreads();
        // A thread for each value: where in the tile its arcs begin, also those of each warp, and where in the list.
        u32 own = 0;
        for (u32 i = 0; i < TILE_WARPS; i++) {
            u32 here = places[i][value];
            places[i][value] = own;
            own += here;
        }
        u64 *said = status + 1 + value;
        tell(said + tile * DIGIT_VALUES, (tile ? PARTIAL : WHOLE) | own);
        u32 before_in_tile = sum_before(own);
        u64 before = 0;
        for (u64 other = tile; other > 0;) {
            u64 known = watched(said + (other - 1) * DIGIT_VALUES);
            if (!known) continue;
            before += sum_of(known);
            if (known & WHOLE) break;
            other--;
        }
        if (tile) tell(said + tile * DIGIT_VALUES, WHOLE | (before + own));
        firsts[value] = before_in_tile;
        bases[value] = start + (u32)before - before_in_tile;
        __syncthreads();
        // Through shared memory, so that arcs of a value are written side by side.
#pragma unroll
        for (u32 k = 0; k < SPLIT_ITEMS; k++)
            if (values[k] < DIGIT_VALUES) sorted[firsts[values[k]] + places[warp][values[k]] + ranks[k]] = arcs[k];
        __syncthreads();
        u32 here = (u32)min((u64)SPLIT_TILE, count - tile * SPLIT_TILE);
        for (u32 i = threadIdx.x; i < here; i += TILE_THREADS) {
            Arc arc = sorted[i];
            to[bases[value_of(arc, digit)] + i] = arc;
        }
        __syncthreads();
    }
}
