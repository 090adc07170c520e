//! Numbers in fewer bytes, for the way to the GPU, where the bus is the narrowest place.
//!
//! Numbers are taken in blocks. Of each block the smallest is sent, and how far above it every number is, in as many bytes as the
//! farthest needs: none to four. Sources mostly rise and need one; targets and weights often need three. The kernel
//! `unpack` makes numbers of it again.
//!
//! ```text
//! for each block: its smallest number, and at which byte it begins plus how many bytes its numbers have
//! for each block: the lower halves of its numbers, and behind them the third bytes; or single bytes; or whole numbers
//! ```

use bytemuck::cast_slice_mut;

#[cfg(target_arch = "x86_64")]
use crate::bits::{has_avx2, has_avx512};
use crate::par::prefetch;

/// Numbers in a block, as in the kernel. In so few, sources that rise need one byte where each has three edges or more, and targets
/// on roads two; half as many would be worth no more than their heads.
pub(super) const BLOCK: usize = 256;

/// How far ahead numbers are asked for.
const AHEAD: usize = 2048;

/// Most bytes that so many numbers take.
pub(super) const fn most_bytes(numbers: usize) -> usize {
    heads(numbers) + 4 * numbers
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
    for (block, head) in numbers.chunks(BLOCK).zip(cast_slice_mut::<u8, [u32; 2]>(heads)) {
        let (mut low, mut high) = (u32::MAX, 0);
        for &x in block {
            (low, high) = (low.min(x), high.max(x));
        }
        let bytes = 4 - (high - low).leading_zeros() as usize / 8;
        *head = [low, (at + bytes) as u32];
        let (packed, rest) = room.split_at_mut(bytes * block.len());
        match bytes {
            0 => {}
            1 => each(block, packed, |x| (x - low) as u8),
            2 => each(block, cast_slice_mut(packed), |x| (x - low) as u16),
            3 => {
                let (halves, thirds) = packed.split_at_mut(2 * block.len());
                each(block, cast_slice_mut(halves), |x| (x - low) as u16);
                each(block, thirds, |x| ((x - low) >> 16) as u8);
            }
            _ => each(block, cast_slice_mut(packed), |x| x - low),
        }
        at += bytes * block.len();
        room = rest;
    }
    at
}

/// Writes what becomes of each number, and asks for later ones. With plain loops: where the program is not optimised as
/// a whole, iterators' functions may stay calls, to code for any processor.
#[inline(always)]
#[allow(clippy::needless_range_loop)]
fn each<T>(block: &[u32], packed: &mut [T], becomes: impl Fn(u32) -> T) {
    let ((lines, rest), (packed, behind)) = (block.as_chunks::<16>(), packed.as_chunks_mut::<16>());
    for i in 0..lines.len() {
        let (line, packed) = (&lines[i], &mut packed[i]);
        prefetch(line, AHEAD);
        for j in 0..16 {
            packed[j] = becomes(line[j]);
        }
    }
    for i in 0..rest.len() {
        behind[i] = becomes(rest[i]);
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
            let (low, place) = (word(i / BLOCK * 8), word(i / BLOCK * 8 + 4) as usize);
            let (len, within) = (BLOCK.min(count - i / BLOCK * BLOCK), i % BLOCK);
            let (bytes, at) = (place % 8, place / 8 * 8);
            let byte = |at: usize| u32::from(packed[at]);
            let above = match bytes {
                3 => byte(at + 2 * within) | byte(at + 2 * within + 1) << 8 | byte(at + 2 * len + within) << 16,
                bytes => (0..bytes).map(|k| byte(at + bytes * within + k) << (8 * k)).sum(),
            };
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
