//! Numbers in fewer bytes, for the way to the GPU, where the bus is the narrowest place.
//!
//! Numbers are taken in blocks. Of each block the smallest is sent, and how far above it every number is, in as many bits as the
//! farthest needs, rounded up to an even count. Sources mostly rise and need six or eight; targets and weights often need some
//! twenty. Bits are taken apart into fields that processors can write many of at a time: halves of a word, bytes, half bytes and
//! quarters. The kernel `unpack` makes numbers of it again.
//!
//! ```text
//! for each block: its smallest number, and at which byte it begins plus half the bits of its numbers
//! for each block, of the lowest bits first: the halves, the bytes, the half bytes, the quarters, each if there are any;
//!     or whole numbers
//! ```

use bytemuck::cast_slice_mut;

#[cfg(target_arch = "x86_64")]
use crate::bits::{has_avx2, has_avx512};
use crate::par::prefetch;

/// Numbers in a block, as in the kernel. In so few, sources that rise need one byte where each has three edges or more, and targets
/// on roads two; half as many would be worth no more than their heads. The last block is filled up.
pub(super) const BLOCK: usize = 256;

/// How far ahead numbers are asked for.
const AHEAD: usize = 2048;

/// Most bytes that so many numbers take.
pub(super) const fn most_bytes(numbers: usize) -> usize {
    heads(numbers) + 4 * numbers.next_multiple_of(BLOCK)
}

/// Bytes before the first block: two words for each, and the blocks begin where any vector may.
const fn heads(numbers: usize) -> usize {
    (8 * numbers.div_ceil(BLOCK)).next_multiple_of(64)
}

/// Packs numbers into `room`, which has [`most_bytes`] and begins where any number may; returns how many bytes it takes.
pub(super) fn pack(numbers: &[u32], room: &mut [u8]) -> usize {
    #[cfg(target_arch = "x86_64")]
    #[allow(unsafe_code)]
    if has_avx512() {
        // SAFETY: nothing but the instruction set makes the function unsafe to call, and the processor has it.
        return unsafe { pack_avx512(numbers, room) };
    } else if has_avx2() {
        // SAFETY: the same.
        return unsafe { pack_avx2(numbers, room) };
    }
    pack_by(numbers, room)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw")]
fn pack_avx512(numbers: &[u32], room: &mut [u8]) -> usize {
    pack_by(numbers, room)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn pack_avx2(numbers: &[u32], room: &mut [u8]) -> usize {
    pack_by(numbers, room)
}

/// Compiled for several processors, whose vector instructions it is made for.
#[inline(always)]
fn pack_by(numbers: &[u32], room: &mut [u8]) -> usize {
    let mut at = heads(numbers.len());
    let (heads, mut room) = room.split_at_mut(at);
    let (blocks, rest) = numbers.as_chunks::<BLOCK>();
    // Filled up with what is there, so that it needs no more bits.
    let filled = rest.first().map(|&first| {
        let mut filled = [first; BLOCK];
        filled[..rest.len()].copy_from_slice(rest);
        filled
    });
    for (block, head) in blocks.iter().chain(&filled).zip(cast_slice_mut::<u8, [u32; 2]>(heads)) {
        let (low, high) = range(block);
        let pairs = (u32::BITS - (high - low).leading_zeros()).div_ceil(2);
        *head = [low, at as u32 + pairs];
        let (packed, rest) = room.split_at_mut(pairs as usize * (BLOCK / 4));
        pack_block(block, low, pairs, packed);
        at += packed.len();
        room = rest;
    }
    at
}

/// The smallest and the largest number; asks for later ones.
#[inline(always)]
fn range(block: &[u32; BLOCK]) -> (u32, u32) {
    let (mut low, mut high) = ([u32::MAX; 16], [0; 16]);
    for line in block.as_chunks::<16>().0 {
        prefetch(line, AHEAD);
        for i in 0..16 {
            (low[i], high[i]) = (low[i].min(line[i]), high[i].max(line[i]));
        }
    }
    low.iter().zip(high).fold((u32::MAX, 0), |(low, high), (&l, h)| (low.min(l), high.max(h)))
}

/// Packs numbers that are less than `2 << 2 * pairs - 1` above `low`. With plain loops: where the program is not optimised as a
/// whole, iterators' functions may stay calls, to code for any processor.
#[inline(always)]
#[allow(clippy::needless_range_loop)]
fn pack_block(block: &[u32; BLOCK], low: u32, pairs: u32, packed: &mut [u8]) {
    let above = |i: usize| block[i] - low;
    if pairs == 16 {
        let whole = cast_slice_mut::<u8, u32>(packed);
        for i in 0..BLOCK {
            whole[i] = above(i);
        }
        return;
    }
    let (halves, rest) = packed.split_at_mut(if pairs & 8 == 0 { 0 } else { 2 * BLOCK });
    let (bytes, rest) = rest.split_at_mut(if pairs & 4 == 0 { 0 } else { BLOCK });
    let (half_bytes, quarters) = rest.split_at_mut(if pairs & 2 == 0 { 0 } else { BLOCK / 2 });
    let mut done = 0;
    if let [halves] = cast_slice_mut::<u8, u16>(halves).as_chunks_mut::<BLOCK>().0 {
        for i in 0..BLOCK {
            halves[i] = above(i) as u16;
        }
        done += 16;
    }
    if let [bytes] = bytes.as_chunks_mut::<BLOCK>().0 {
        for i in 0..BLOCK {
            bytes[i] = (above(i) >> done) as u8;
        }
        done += 8;
    }
    if let [half_bytes] = half_bytes.as_chunks_mut::<{ BLOCK / 2 }>().0 {
        let bits = |i: usize| above(i) >> done & 15;
        for i in 0..BLOCK / 2 {
            half_bytes[i] = (bits(i) | bits(i + BLOCK / 2) << 4) as u8;
        }
        done += 4;
    }
    if let [quarters] = quarters.as_chunks_mut::<{ BLOCK / 4 }>().0 {
        let bits = |i: usize| above(i) >> done & 3;
        for i in 0..BLOCK / 4 {
            let [a, b, c, d] = [0, 1, 2, 3].map(|k| bits(i + k * BLOCK / 4));
            quarters[i] = (a | b << 2 | c << 4 | d << 6) as u8;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mix::mix;

    /// What the kernel makes of it.
    fn unpacked(packed: &[u8], count: usize) -> Vec<u32> {
        let word = |at: usize| u32::from_le_bytes(packed[at..at + 4].try_into().unwrap());
        let number = |i: usize| {
            let (low, place, within) = (word(i / BLOCK * 8), word(i / BLOCK * 8 + 4) as usize, i % BLOCK);
            let (pairs, mut at, mut done, mut above) = (place % 64, place / 64 * 64, 0, 0);
            if pairs == 16 {
                return low + word(at + 4 * within);
            }
            for bits in [16, 8, 4, 2].into_iter().filter(|bits| (2 * pairs) & bits != 0) {
                // Fields of less than a byte: the first of each byte, then the second of each.
                let (bytes, part) = if bits == 16 { (2, 0) } else { (1, within / (BLOCK * bits / 8)) };
                let from = at + within % (BLOCK * bits / 8 / bytes) * bytes;
                let field = (0..bytes).map(|k| u32::from(packed[from + k]) << (8 * k)).sum::<u32>() >> (bits * part);
                above |= (field & ((1 << bits) - 1)) << done;
                (at, done) = (at + BLOCK * bits / 8, done + bits);
            }
            low + above
        };
        (0..count).map(number).collect()
    }

    type Pack = fn(&[u32], &mut [u8]) -> usize;

    #[test]
    fn numbers_of_any_range_are_packed_and_come_back() {
        for count in [0, 1, 15, 17, BLOCK - 1, BLOCK, BLOCK + 1, 5 * BLOCK + 77] {
            for (low, range) in
                [(9, 1), (1 << 31, 256), (5, 257), (70_000, 1 << 16), (0, 1 << 24), (1, (1 << 24) + 1), (0, 1 << 32)]
            {
                let numbers: Vec<u32> = (0..count as u64).map(|i| low + (mix(i) % range) as u32).collect();
                for pack in [pack as Pack, pack_by] {
                    let mut room = vec![0u64; most_bytes(count).div_ceil(8)];
                    let bytes = pack(&numbers, bytemuck::cast_slice_mut(&mut room));
                    assert!(bytes <= most_bytes(count));
                    assert_eq!(unpacked(bytemuck::cast_slice(&room), count), numbers, "{count} {low} {range}");
                }
            }
        }
        // Blocks that are not like the one before.
        let mixed: Vec<u32> = (0..40 * BLOCK as u64)
            .map(|i| {
                let (block, random) = (i / BLOCK as u64, mix(i));
                let low = if block % 3 == 0 { i } else { mix(block) >> 33 };
                low as u32 + (random >> (35 + 5 * (mix(block) % 6))) as u32
            })
            .collect();
        for pack in [pack as Pack, pack_by] {
            let mut room = vec![0u64; most_bytes(mixed.len()) / 8];
            pack(&mixed, bytemuck::cast_slice_mut(&mut room));
            assert_eq!(unpacked(bytemuck::cast_slice(&room), mixed.len()), mixed);
        }
        let rising: Vec<u32> = (0..1 << 16).collect();
        let mut room = vec![0u64; most_bytes(rising.len()) / 8];
        assert_eq!(pack(&rising, bytemuck::cast_slice_mut(&mut room)), heads(rising.len()) + rising.len());
    }
}
