// Kernels that the papers' algorithms share: lists of arcs, their order, and the graph that a round leaves
// (see src/cuda/contract).
#include "contract/group.cuh"
#include "contract/split.cuh"

#define KERNEL(THREADS) extern "C" __global__ void __launch_bounds__(THREADS)

// Sets all bits of so many words: no edge, no vertex, an empty cell.
KERNEL(512) clear(u64 words, u32 *array) {
    each(words, [&](u64 i) { array[i] = NONE; });
}

// ---- lists ---------------------------------------------------------------------------------------------------------

// Notes in which bits keys differ from the first.
__device__ __forceinline__ void note_bits(u32 *varying, u32 bits) {
    for (u32 step = 1; step < WARP; step *= 2) bits |= __shfl_xor_sync(ALL, bits, step);
    if (threadIdx.x % WARP == 0 && (bits & ~__ldcg(varying))) atomicOr(varying, bits);
}

// Lists the arcs of all rows, with ranks for keys where there are ranks.
KERNEL(ROW_THREADS) list_arcs(u32 n, const u32 *rows, const u32 *neighbours, const u32 *edges, const u32 *keys,
                              const u32 *ranks, u32 flip, Arc *list, u32 *varying) {
    auto key_at = [&](u32 a) { return ranks ? ranks[edges[a]] : keys[a] ^ flip; };
    u32 first = key_at(0), bits = 0;
    each_row(n, rows, [&](auto group, u32 v, u32 from, u32 to) {
#pragma unroll 1
        for (u64 a = (u64)from + group.rank; a < to; a += group.size) {
            u32 key = key_at(a);
            bits |= key ^ first;
            list[a] = make_uint4(v, neighbours[a], key, edges[a]);
        }
    });
    note_bits(varying, bits);
}

// Lists every edge once, from its smaller to its larger end.
KERNEL(512) list_edges(u64 m, const u32 *src, const u32 *dst, const u32 *keys, const u32 *ranks, u32 flip, Arc *list) {
    each(m, [&](u64 e) {
        u32 u = src[e], v = dst[e];
        list[e] = make_uint4(min(u, v), max(u, v), ranks ? ranks[e] : keys[e] ^ flip, (u32)e);
    });
}

// Lists 64-bit keys, to be sorted by the second and then the first word.
KERNEL(512) list_keys(u64 m, const u64 *keys, u64 flip, Arc *list) {
    each(m, [&](u64 e) {
        u64 key = keys[e] ^ flip;
        list[e] = make_uint4(high(key), low(key), 0, (u32)e);
    });
}

// The place of each edge in the list.
KERNEL(512) rank_edges(u64 m, const Arc *list, u32 *ranks) {
    each(m, [&](u64 i) { ranks[list[i].w] = (u32)i; });
}

// ---- order ---------------------------------------------------------------------------------------------------------

KERNEL(TILE_THREADS) count_digits(const Arc *list, u64 count, Digits digits, u32 *counts) {
    count_values(list, count, digits, counts);
}

KERNEL(TILE_THREADS) split(const Arc *from, Arc *to, u64 count, Digit digit, const u32 *counts, u64 *status) {
    split_by(from, to, count, digit, counts, status);
}

// The sum before each of these numbers, and before the end.
KERNEL(TILE_THREADS) scan(u64 count, const u32 *numbers, u32 *sums, u64 *status, u32 *total) {
    place<u32>(count, status, total, [&](u64 i, u32 &number) { return number = numbers[i]; },
               [&](u64 i, u32 number, u32 before, u32) {
                   if (i < count) sums[i] = before;
                   if (i + 1 == count) sums[count] = before + number;
               });
}

// Where each row of a list in the order of its rows begins, and the end of the last.
KERNEL(512) find_rows(u64 n, const Arc *list, u64 count, u32 *rows) {
    each(n + 1, [&](u64 v) {
        u64 from = 0, to = count;
        while (from < to) {
            u64 middle = (from + to) / 2;
            if (list[middle].x < v)
                from = middle + 1;
            else
                to = middle;
        }
        rows[v] = (u32)from;
    });
}

// ---- trees ---------------------------------------------------------------------------------------------------------

KERNEL(512) link_to_self(u64 n, u32 *links) {
    each(n, [&](u64 v) { links[v] = (u32)v; });
}

// The smaller of two vertices that are linked to each other becomes a root. It is the only one to change, so whatever
// order the threads come in, they see the same pairs.
KERNEL(512) make_roots(u64 n, u32 *links) {
    each(n, [&](u64 v) {
        u32 link = __ldcg(links + v);
        if (v < link && __ldcg(links + link) == v) links[v] = (u32)v;
    });
}

// Links every vertex to its root by pointer doubling. What other threads write meanwhile lies further along the same
// path.
KERNEL(512) double_links(u64 n, u32 *links) {
    each(n, [&](u64 v) {
        u32 link = __ldcg(links + v);
        for (u32 next; (next = __ldcg(links + link)) != link; link = next) links[v] = next;
    });
}

// Numbers the roots that are alive: those with arcs.
KERNEL(TILE_THREADS) number_roots(u64 n, const u32 *links, const u32 *rows, const u64 *cells, u32 *numbers, u64 *status,
                                  u32 *total) {
    auto is_alive = [&](u64 v) { return rows ? rows[v] != rows[v + 1] : cells[v] != EMPTY; };
    place<u32>(n, status, total, [&](u64 v, u32 &) -> u32 { return links[v] == v && is_alive(v); },
               [&](u64 v, u32, u32 number, u32 counted) {
                   if (v < n) numbers[v] = counted ? number : NONE;
               });
}

// Replaces the root of every vertex by its number.
KERNEL(512) label(u64 n, u32 *links, const u32 *numbers) {
    each(n, [&](u64 v) { links[v] = numbers[links[v]]; });
}

// For statistics: how many vertices have arcs, and how many arcs one of them has at most.
KERNEL(512) measure_rows(u64 n, const u32 *rows, u32 *filled, u32 *longest) {
    each(n, [&](u64 v) {
        u32 length = rows[v + 1] - rows[v];
        if (length) atomicAdd(filled, 1u);
        if (length > __ldcg(longest)) atomicMax(longest, length);
    });
}

// The same where there are no rows.
KERNEL(512) count_cells(u64 n, const u64 *cells, u32 *filled) {
    each(n, [&](u64 v) {
        if (cells[v] != EMPTY) atomicAdd(filled, 1u);
    });
}

// ---- the next graph ------------------------------------------------------------------------------------------------

// Gives arcs the labels of their ends and drops those inside a tree. With `ordered` the smaller end comes first.
KERNEL(TILE_THREADS) relabel(u64 count, const Arc *list, const u32 *labels, u32 ordered, Arc *next, u64 *status,
                             u32 *total) {
    place<Arc>(count, status, total,
               [&](u64 i, Arc &arc) -> u32 {
                   arc = list[i];
                   u32 u = labels[arc.x], v = labels[arc.y];
                   arc.x = ordered ? min(u, v) : u;
                   arc.y = ordered ? max(u, v) : v;
                   return u != v;
               },
               [&](u64, const Arc &arc, u32 at, u32 kept) {
                   if (kept) next[at] = arc;
               });
}

// Of neighbouring arcs with the same ends, finds the smallest: its ends go to `next`, the rest to `cells`, which are
// empty.
KERNEL(TILE_THREADS) find_parallel(u64 count, const Arc *list, Arc *next, u64 *cells, u64 *status, u32 *total) {
    place<Arc>(count, status, total,
               [&](u64 i, Arc &arc) -> u32 {
                   arc = list[i];
                   if (i == 0) return 1;
                   uint2 before = *(const uint2 *)(list + i - 1);
                   return before.x != arc.x || before.y != arc.y;
               },
               [&](u64 i, const Arc &arc, u32 before, u32 first) {
                   u32 segment = i < count ? before + first - 1 : NONE;
                   if (first) *(uint2 *)(next + segment) = make_uint2(arc.x, arc.y);
                   lower_segments(cells, segment, ranked(arc));
               });
}

// The same where there are fewer pairs of vertices than arcs, more or less: a cell for each pair. `cells` are empty.
KERNEL(512) fill_table(u64 count, const Arc *list, u64 n, u64 *cells) {
    each(count, [&](u64 i) {
        Arc arc = __ldg(list + i);
        lower(cells + arc.x * n + arc.y, ranked(arc));
    });
}

KERNEL(TILE_THREADS) list_table(u64 n, const u64 *cells, Arc *next, u64 *status, u32 *total) {
    place<u64>(n * n, status, total, [&](u64 i, u64 &cell) -> u32 { return (cell = cells[i]) != EMPTY; },
               [&](u64 i, u64 cell, u32 at, u32 kept) {
                   if (kept) next[at] = make_uint4((u32)(i / n), (u32)(i % n), high(cell), low(cell));
               });
}

KERNEL(512) keep_smallest(u64 count, Arc *list, const u64 *cells) {
    each(count, [&](u64 i) { *((uint2 *)(list + i) + 1) = make_uint2(high(cells[i]), low(cells[i])); });
}
