// Kernels around every solve: keys from weights before it, ascending edge ids after it.
#include "common.cuh"

constexpr u32 THREADS = 512;

// How the bits of a weight become a key: see `Map` in src/weight.rs.
template <typename K> struct Map {
    K lowest, flip, mask, sign;
};

template <typename K> __device__ void make_keys(K *keys, Map<K> map, u64 from, u64 to) {
    constexpr K LOWEST = (K)1 << (sizeof(K) * 8 - 1);
    u64 step = (u64)gridDim.x * blockDim.x;
    for (u64 e = from + (u64)blockIdx.x * blockDim.x + threadIdx.x; e < to; e += step) {
        K bits = keys[e];
        if (bits == LOWEST) bits = map.lowest;
        if (bits & LOWEST) bits ^= map.flip;
        keys[e] = (bits & map.mask) ^ map.sign;
    }
}

template <typename K> __device__ void gather_keys(const K *keys, const u32 *edges, K *arc_keys, u64 arcs, u64 all) {
    u64 step = (u64)gridDim.x * blockDim.x;
    for (u64 a = (u64)blockIdx.x * blockDim.x + threadIdx.x; a < all; a += step) arc_keys[a] = a < arcs ? keys[edges[a]] : 0;
}

#define KERNELS(K)                                                                                                     \
    extern "C" __global__ void make_keys_##K(K *keys, Map<K> map, u64 from, u64 to) { make_keys(keys, map, from, to); } \
    extern "C" __global__ void gather_keys_##K(const K *keys, const u32 *edges, K *arc_keys, u64 arcs, u64 all) {      \
        gather_keys(keys, edges, arc_keys, arcs, all);                                                                 \
    }
KERNELS(u32)
KERNELS(u64)

// Numbers as src/cuda/pack.rs packs them, so many to a piece: where the first piece is, how far apart pieces are, and where the
// numbers go.
struct Packed {
    const unsigned char *pieces;
    u64 stride;
    u32 *to;
};
struct AllPacked {
    Packed arrays[3];
};
// Numbers in a packed block, and bytes of which blocks begin at a multiple.
constexpr u32 PACKED_BLOCK = 256, PLACES = 64;

// Unpacks one array for each row of blocks, and in each a packed block per warp after the other.
extern "C" __global__ void __launch_bounds__(THREADS) unpack(AllPacked all, u32 count, u32 piece) {
    Packed array = all.arrays[blockIdx.y];
    u32 blocks = (count + PACKED_BLOCK - 1) / PACKED_BLOCK, piece_blocks = piece / PACKED_BLOCK;
    u32 warps = THREADS / WARP, lane = threadIdx.x % WARP;
    for (u32 block = blockIdx.x * warps + threadIdx.x / WARP; block < blocks; block += gridDim.x * warps) {
        const unsigned char *start = array.pieces + block / piece_blocks * array.stride;
        uint2 head = ((const uint2 *)start)[block % piece_blocks];
        u32 bits = head.y % PLACES * 2, first = block * PACKED_BLOCK, length = min(PACKED_BLOCK, count - first);
        const unsigned char *packed = start + head.y / PLACES * PLACES;
#pragma unroll
        for (u32 i = lane; i < PACKED_BLOCK; i += WARP) {
            const unsigned char *field = packed;
            u32 above = 0, done = 0;
            if (bits == 32) above = ((const u32 *)packed)[i];
            if (bits & 16) above = ((const unsigned short *)field)[i], field += 2 * PACKED_BLOCK, done = 16;
            if (bits & 8) above |= (u32)field[i] << done, field += PACKED_BLOCK, done += 8;
            if (bits & 4) above |= (u32)(field[i % (PACKED_BLOCK / 2)] >> i / (PACKED_BLOCK / 2) * 4 & 15) << done, field += PACKED_BLOCK / 2, done += 4;
            if (bits & 2) above |= (u32)(field[i % (PACKED_BLOCK / 4)] >> i / (PACKED_BLOCK / 4) * 2 & 3) << done;
            if (i < length) array.to[first + i] = head.x + above;
        }
    }
}

// Vertex ids of any type as 32-bit ones. What was seen: the first edge with an id that is not below `limit`, and the largest id
// + 1 of the others.
template <typename T> __device__ void take_ids(const T *from, u32 *ids, u64 count, u64 limit, u64 *first_wrong, u64 *largest) {
    u64 step = (u64)gridDim.x * blockDim.x, above = 0;
    for (u64 e = (u64)blockIdx.x * blockDim.x + threadIdx.x; e < count; e += step) {
        // Negative ids become larger than any limit.
        u64 id = (u64)(long long)from[e];
        ids[e] = (u32)id;
        if (id >= limit) atomicMin(first_wrong, e);
        else above = max(above, id + 1);
    }
    if (above) atomicMax(largest, above);
}

#define TAKE_IDS(NAME, T)                                                                                              \
    extern "C" __global__ void take_ids_##NAME(const T *from, u32 *ids, u64 count, u64 limit, u64 *wrong, u64 *largest) { \
        take_ids(from, ids, count, limit, wrong, largest);                                                             \
    }
TAKE_IDS(u32, u32)
TAKE_IDS(i32, int)
TAKE_IDS(u64, u64)
TAKE_IDS(i64, long long)

// The first float that is not a number: its bits but the sign are above infinity's.
template <typename K> __device__ void find_nan(const K *bits, K infinity, u64 count, u64 *first_wrong) {
    u64 step = (u64)gridDim.x * blockDim.x;
    for (u64 e = (u64)blockIdx.x * blockDim.x + threadIdx.x; e < count; e += step)
        if ((K)(bits[e] << 1) > (K)(infinity << 1)) atomicMin(first_wrong, e);
}

extern "C" __global__ void find_nan_u32(const u32 *bits, u32 infinity, u64 count, u64 *wrong) { find_nan(bits, infinity, count, wrong); }
extern "C" __global__ void find_nan_u64(const u64 *bits, u64 infinity, u64 count, u64 *wrong) { find_nan(bits, infinity, count, wrong); }

// The edges of a forest, as src/cuda/collect.rs fetches them: the sums of the lower and of the upper 32 bits of their keys, so that
// neither can overflow, how many bits are set in each share, and a bit for every edge of the graph, in pairs of words.
struct Marked {
    u64 lower, upper;
    u32 counts[512];

    __device__ u32 *bits() { return (u32 *)(this + 1); }
};

// Sets the bit of every edge in a list with gaps, which has as many places as the number at `slots` says, if there is one.
extern "C" __global__ void mark(const u32 *chosen, u64 count, const u32 *slots, Marked *marked) {
    u64 step = (u64)gridDim.x * blockDim.x;
    if (slots) count = *slots;
    for (u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += step) {
        u32 e = chosen[i];
        if (e != NONE) atomicOr(&marked->bits()[e / 32], 1u << (e % 32));
    }
}

// A block's share of the words.
__device__ __forceinline__ u64 share_length(u64 words) {
    u64 tile = (u64)gridDim.x * THREADS;
    return (words + tile - 1) / tile * THREADS;
}

// Counts the bits of each block's share, and adds up the keys: the lanes of a warp take a word's bits one each.
template <typename K> __device__ void count_marks(const K *keys, u64 words, Marked *marked) {
    u64 share = share_length(words), from = share * blockIdx.x, to = min(words, from + share), lower = 0, upper = 0;
    u32 count = 0, lane = threadIdx.x % WARP;
    for (u64 first = from + threadIdx.x - lane; first < to; first += THREADS) {
        u32 word = first + lane < to ? marked->bits()[first + lane] : 0;
        count += __popc(word);
#pragma unroll 8
        for (u32 i = 0; i < WARP; i++) {
            if (!(__shfl_sync(ALL, word, i) >> lane & 1)) continue;
            u64 key = keys[(first + i) * 32 + lane];
            lower += low(key);
            upper += high(key);
        }
    }
    for (u32 lanes = WARP / 2; lanes; lanes /= 2) {
        count += __shfl_down_sync(ALL, count, lanes);
        lower += __shfl_down_sync(ALL, lower, lanes);
        upper += __shfl_down_sync(ALL, upper, lanes);
    }
    if (lane || !count) return;
    atomicAdd(&marked->counts[blockIdx.x], count);
    atomicAdd(&marked->lower, lower);
    if (upper) atomicAdd(&marked->upper, upper);
}

extern "C" __global__ void __launch_bounds__(THREADS) count_marks_u32(const u32 *keys, u64 words, Marked *marked) { count_marks(keys, words, marked); }
extern "C" __global__ void __launch_bounds__(THREADS) count_marks_u64(const u64 *keys, u64 words, Marked *marked) { count_marks(keys, words, marked); }
