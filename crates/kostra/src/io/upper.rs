//! The arcs with u <= v of a block, and the signed hashes of all its arcs.
//!
//! Where the processor has the vector instructions of 2013, they take eight arcs at a time, in a third of the time. A mask of
//! those that are kept picks a permutation that moves them to the front; all eight are stored, and the next eight behind those
//! that are kept. The hash is that of [`balance`](super::balance), four arcs to a multiplication: those at even places as they
//! lie, those at odd places shifted down. The instructions of 2017 take sixteen arcs in the same way, and need no table to move
//! those to the front that are kept.

use bytemuck::{Pod, cast_slice, cast_slice_mut};

use super::balance::{Bits, Secrets, signed_hash};

/// Sources, targets and weights of arcs, equally many.
pub(super) type Arcs<'a, W> = (&'a [u32], &'a [u32], &'a [W]);

/// Where the arcs that are kept go: room for all.
pub(super) type Room<'a, W> = (&'a mut [u32], &'a mut [u32], &'a mut [W]);

/// So many words before they are needed, targets and weights are asked for: processors do not do that on their own across the pages
/// of mapped files.
#[cfg(target_arch = "x86_64")]
const AHEAD: usize = 512;

/// What became of the arcs of a block.
pub(super) struct Counted {
    /// How many are kept.
    pub(super) len: usize,
    /// The sum of the signed hashes of all.
    pub(super) sum: u64,
    /// The largest end of all.
    pub(super) last: u32,
}

/// Keeps the arcs with u <= v; returns how many, and the sum of the signed hashes of all. What lies behind those that are
/// kept is overwritten as well.
#[inline(always)]
pub(super) fn keep<W: Bits>(arcs: Arcs<W>, room: Room<W>, secrets: &Secrets) -> Counted {
    let (mut len, mut sum, mut last) = (0, 0u64, 0);
    for ((&u, &v), &weight) in arcs.0.iter().zip(arcs.1).zip(arcs.2) {
        // Each is written behind the last that was kept, and stays if it is kept, too: no branch to mispredict.
        (room.0[len], room.1[len], room.2[len]) = (u, v, weight);
        len += usize::from(u <= v);
        sum = sum.wrapping_add(signed_hash(u, v, weight.bits(), secrets));
        last = u.max(v).max(last);
    }
    Counted { len, sum, last }
}

macro_rules! keep_by_vectors {
    ($name:ident, $module:ident, $lanes:literal, $features:literal) => {
        /// As [`keep`].
        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = $features)]
        pub(super) fn $name<W: Pod + Bits>(arcs: Arcs<W>, room: Room<W>, secrets: &Secrets) -> Counted {
            let ((src, dst), most) = ((&mut *room.0, &mut *room.1), arcs.0.len() / $lanes * $lanes);
            let kept = match size_of::<W>() {
                0 => $module::keep::<0>(arcs.0, arcs.1, &[], src, dst, &mut [], secrets),
                4 => $module::keep::<1>(arcs.0, arcs.1, cast_slice(arcs.2), src, dst, cast_slice_mut(room.2), secrets),
                _ => $module::keep::<2>(arcs.0, arcs.1, cast_slice(arcs.2), src, dst, cast_slice_mut(room.2), secrets),
            };
            let rest = (&arcs.0[most..], &arcs.1[most..], &arcs.2[most..]);
            let rest = keep(rest, (&mut src[kept.len..], &mut dst[kept.len..], &mut room.2[kept.len..]), secrets);
            Counted { len: kept.len + rest.len, sum: kept.sum.wrapping_add(rest.sum), last: kept.last.max(rest.last) }
        }
    };
}
keep_by_vectors!(keep_avx2, avx2, 8, "avx2,popcnt");
keep_by_vectors!(keep_avx512, avx512, 16, "avx512f,bmi2,popcnt");

#[cfg(target_arch = "x86_64")]
mod avx2 {
    use std::arch::x86_64::*;

    use bytemuck::cast;

    use super::{AHEAD, Counted, Secrets};
    use crate::bits::PLACES;
    use crate::par::prefetch;

    /// As [`keep`](super::keep) for all arcs but the last few, with `WORDS` words of weight each.
    #[target_feature(enable = "avx2,popcnt")]
    pub(super) fn keep<const WORDS: usize>(
        sources: &[u32],
        targets: &[u32],
        weights: &[u32],
        src: &mut [u32],
        dst: &mut [u32],
        kept_weights: &mut [u32],
        secrets: &Secrets,
    ) -> Counted {
        let secrets = secrets.map(|secret| _mm256_set1_epi32(secret as i32));
        let (mut len, mut sum, mut last) = (0, _mm256_setzero_si256(), _mm256_setzero_si256());
        for (at, (u, v)) in sources.as_chunks::<8>().0.iter().zip(targets.as_chunks::<8>().0).enumerate() {
            let weights = weights[8 * WORDS * at..].as_chunks::<8>().0;
            prefetch(v, AHEAD);
            prefetch(weights.as_flattened(), AHEAD);
            let (u, v): (__m256i, __m256i) = (cast(*u), cast(*v));
            // Unsigned numbers have no comparison, but a minimum.
            let (low, high) = (_mm256_min_epu32(u, v), _mm256_max_epu32(u, v));
            last = _mm256_max_epu32(last, high);
            let (up, level) = (_mm256_cmpeq_epi32(low, u), _mm256_cmpeq_epi32(u, v));
            let ends = [_mm256_xor_si256(low, secrets[0]), _mm256_xor_si256(high, secrets[1])];
            let [mut even, mut odd] = [_mm256_setzero_si256(); 2];
            if WORDS == 1 {
                even = cast(weights[0]);
                odd = _mm256_srli_epi64::<32>(even);
            } else if WORDS == 2 {
                let (first, second) = (cast(weights[0]), cast(weights[1]));
                even = _mm256_permute4x64_epi64::<0b11_01_10_00>(_mm256_unpacklo_epi64(first, second));
                odd = _mm256_permute4x64_epi64::<0b11_01_10_00>(_mm256_unpackhi_epi64(first, second));
            }
            let hash = |ends: [__m256i; 2], weight: __m256i| {
                let mut mixed = _mm256_mul_epu32(ends[0], ends[1]);
                if WORDS == 2 {
                    let high = _mm256_mul_epu32(_mm256_srli_epi64::<32>(weight), secrets[6]);
                    mixed = _mm256_xor_si256(mixed, high);
                }
                let high = _mm256_srli_epi64::<32>(mixed);
                let with_weight = |half| _mm256_xor_si256(half, weight);
                let once = _mm256_mul_epu32(
                    _mm256_xor_si256(with_weight(mixed), secrets[2]),
                    _mm256_xor_si256(high, secrets[3]),
                );
                let twice = _mm256_mul_epu32(
                    _mm256_xor_si256(with_weight(high), secrets[4]),
                    _mm256_xor_si256(mixed, secrets[5]),
                );
                _mm256_add_epi64(once, _mm256_shuffle_epi32::<0b10_11_00_01>(twice))
            };
            // What is taken away from the sum: less than nothing where the arc runs up, nothing where it is a loop.
            let signed = |hash: __m256i, up: __m256i, level: __m256i| {
                _mm256_andnot_si256(level, _mm256_sub_epi64(_mm256_xor_si256(hash, up), up))
            };
            let doubled_even = |mask| _mm256_shuffle_epi32::<0b10_10_00_00>(mask);
            let doubled_odd = |mask| _mm256_shuffle_epi32::<0b11_11_01_01>(mask);
            let evens = hash(ends, even);
            let odds = hash(ends.map(|end| _mm256_srli_epi64::<32>(end)), odd);
            sum = _mm256_sub_epi64(sum, signed(evens, doubled_even(up), doubled_even(level)));
            sum = _mm256_sub_epi64(sum, signed(odds, doubled_odd(up), doubled_odd(level)));

            let mask = _mm256_movemask_ps(_mm256_castsi256_ps(up)) as usize;
            let front = _mm256_cvtepu8_epi32(_mm_cvtsi64_si128(i64::from_le_bytes(PLACES[mask])));
            let to_front = |items: __m256i| cast::<_, [u32; 8]>(_mm256_permutevar8x32_epi32(items, front));
            src[len..len + 8].copy_from_slice(&to_front(u));
            dst[len..len + 8].copy_from_slice(&to_front(v));
            if WORDS == 1 {
                kept_weights[len..len + 8].copy_from_slice(&to_front(even));
            } else if WORDS == 2 {
                // Four at a time: every place stands for two words.
                let mut len = len;
                for (half, &four) in weights[..2].iter().enumerate() {
                    let mask = mask >> (4 * half) & 15;
                    let place = _mm256_cvtepu8_epi64(_mm_cvtsi64_si128(i64::from_le_bytes(PLACES[mask])));
                    let first = _mm256_slli_epi64::<1>(place);
                    let second = _mm256_add_epi64(first, _mm256_set1_epi64x(1));
                    let words = _mm256_or_si256(first, _mm256_slli_epi64::<32>(second));
                    let four: [u32; 8] = cast(_mm256_permutevar8x32_epi32(cast(four), words));
                    kept_weights[2 * len..2 * len + 8].copy_from_slice(&four);
                    len += mask.count_ones() as usize;
                }
            }
            len += mask.count_ones() as usize;
        }
        let (sum, last): ([u64; 4], [u32; 8]) = (cast(sum), cast(last));
        let sum = sum.iter().fold(0, |sum: u64, &part| sum.wrapping_add(part));
        Counted { len, sum, last: last.into_iter().fold(0, u32::max) }
    }
}

#[cfg(target_arch = "x86_64")]
mod avx512 {
    use std::arch::x86_64::*;

    use bytemuck::cast;

    use super::{AHEAD, Counted, Secrets};
    use crate::par::prefetch;

    /// As [`keep`](super::keep) for all arcs but the last few, with `WORDS` words of weight each.
    #[target_feature(enable = "avx512f,bmi2,popcnt")]
    pub(super) fn keep<const WORDS: usize>(
        sources: &[u32],
        targets: &[u32],
        weights: &[u32],
        src: &mut [u32],
        dst: &mut [u32],
        kept_weights: &mut [u32],
        secrets: &Secrets,
    ) -> Counted {
        let secrets = secrets.map(|secret| _mm512_set1_epi32(secret as i32));
        let (mut len, mut sum, mut last) = (0, _mm512_setzero_si512(), _mm512_setzero_si512());
        for (at, (u, v)) in sources.as_chunks::<16>().0.iter().zip(targets.as_chunks::<16>().0).enumerate() {
            let weights = weights[16 * WORDS * at..].as_chunks::<16>().0;
            prefetch(v, AHEAD);
            prefetch(weights.as_flattened(), AHEAD);
            let (u, v): (__m512i, __m512i) = (cast(*u), cast(*v));
            let (low, high) = (_mm512_min_epu32(u, v), _mm512_max_epu32(u, v));
            last = _mm512_max_epu32(last, high);
            let ends = [_mm512_xor_si512(low, secrets[0]), _mm512_xor_si512(high, secrets[1])];
            let [mut even, mut odd] = [_mm512_setzero_si512(); 2];
            if WORDS == 1 {
                even = cast(weights[0]);
                odd = _mm512_srli_epi64::<32>(even);
            } else if WORDS == 2 {
                let (first, second) = (cast(weights[0]), cast(weights[1]));
                let places = _mm512_set_epi64(14, 12, 10, 8, 6, 4, 2, 0);
                even = _mm512_permutex2var_epi64(first, places, second);
                odd = _mm512_permutex2var_epi64(first, _mm512_add_epi64(places, _mm512_set1_epi64(1)), second);
            }
            let hash = |ends: [__m512i; 2], weight: __m512i| {
                let mut mixed = _mm512_mul_epu32(ends[0], ends[1]);
                if WORDS == 2 {
                    let high = _mm512_mul_epu32(_mm512_srli_epi64::<32>(weight), secrets[6]);
                    mixed = _mm512_xor_si512(mixed, high);
                }
                let high = _mm512_srli_epi64::<32>(mixed);
                let three = |a, b, c| _mm512_ternarylogic_epi32::<0b1001_0110>(a, b, c);
                let once = _mm512_mul_epu32(three(mixed, weight, secrets[2]), _mm512_xor_si512(high, secrets[3]));
                let twice = _mm512_mul_epu32(three(high, weight, secrets[4]), _mm512_xor_si512(mixed, secrets[5]));
                _mm512_add_epi64(once, _mm512_rol_epi64::<32>(twice))
            };
            let (rises, falls) = (_mm512_cmplt_epu32_mask(u, v), _mm512_cmpgt_epu32_mask(u, v));
            let evens = |mask: __mmask16| _pext_u32(mask.into(), 0x5555) as __mmask8;
            let odds = |mask: __mmask16| _pext_u32(mask.into(), 0xaaaa) as __mmask8;
            let hashed = hash(ends, even);
            sum = _mm512_mask_add_epi64(sum, evens(rises), sum, hashed);
            sum = _mm512_mask_sub_epi64(sum, evens(falls), sum, hashed);
            let hashed = hash(ends.map(|end| _mm512_srli_epi64::<32>(end)), odd);
            sum = _mm512_mask_add_epi64(sum, odds(rises), sum, hashed);
            sum = _mm512_mask_sub_epi64(sum, odds(falls), sum, hashed);

            let kept = !falls;
            let to_front = |items| cast::<_, [u32; 16]>(_mm512_maskz_compress_epi32(kept, items));
            src[len..len + 16].copy_from_slice(&to_front(u));
            dst[len..len + 16].copy_from_slice(&to_front(v));
            if WORDS == 1 {
                kept_weights[len..len + 16].copy_from_slice(&to_front(even));
            } else if WORDS == 2 {
                let mut len = len;
                for (&eight, kept) in weights[..2].iter().zip([kept as u8, (kept >> 8) as u8]) {
                    let eight: [u32; 16] = cast(_mm512_maskz_compress_epi64(kept, cast(eight)));
                    kept_weights[2 * len..2 * len + 16].copy_from_slice(&eight);
                    len += kept.count_ones() as usize;
                }
            }
            len += kept.count_ones() as usize;
        }
        let last = _mm512_reduce_max_epu32(last);
        Counted { len, sum: _mm512_reduce_add_epi64(sum) as u64, last }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    #[cfg(target_arch = "x86_64")]
    use crate::bits::{has_avx2, has_avx512};
    use crate::io::balance::Balance;
    use crate::mix::mix;

    /// What is kept of arcs by a plain loop, by [`keep`] and, where the processor can, by [`keep_avx2`].
    fn check<W: Pod + Bits + PartialEq + std::fmt::Debug>(weight: impl Fn(u64) -> W) {
        let secrets = *Balance::default().secrets();
        for len in [0, 1, 7, 8, 9, 64, 1000, 1023] {
            for ends in [1, 3, 1 << 20, u64::from(u32::MAX) + 1] {
                let draw = |seed: u64, e: u64| (mix(seed << 32 | e) % ends) as u32;
                let (u, v): (Vec<u32>, Vec<u32>) = (0..len).map(|e| (draw(1, e), draw(2, e))).unzip();
                let w: Vec<W> = (0..len).map(|e| weight(mix(e))).collect();
                let all = || u.iter().zip(&v).zip(&w).map(|((&u, &v), &w)| (u, v, w));
                let expected: Vec<(u32, u32, W)> = all().filter(|(u, v, _)| u <= v).collect();
                let mut balance = Balance::default();
                all().for_each(|(u, v, w)| balance.add(u, v, w.bits()));
                let last = u.iter().chain(&v).copied().max().unwrap_or(0);
                let agrees = |keep: fn(Arcs<W>, Room<W>, &Secrets) -> Counted| {
                    let (mut src, mut dst, mut weights) = (u.clone(), v.clone(), w.clone());
                    let kept = keep((&u, &v, &w), (&mut src, &mut dst, &mut weights), &secrets);
                    let edges = src.iter().zip(&dst).zip(&weights).map(|((&u, &v), &w)| (u, v, w));
                    assert!(edges.take(kept.len).eq(expected.iter().copied()), "{len} arcs, {ends} ends");
                    let mut sum = Balance::default();
                    sum.add_sum(kept.sum);
                    assert_eq!((format!("{sum:?}"), kept.last), (format!("{balance:?}"), last));
                };
                agrees(keep);
                #[cfg(target_arch = "x86_64")]
                if has_avx2() {
                    // SAFETY: the processor has the instructions.
                    #[allow(unsafe_code)]
                    agrees(|arcs, room, secrets| unsafe { keep_avx2(arcs, room, secrets) });
                }
                #[cfg(target_arch = "x86_64")]
                if has_avx512() {
                    // SAFETY: the processor has the instructions.
                    #[allow(unsafe_code)]
                    agrees(|arcs, room, secrets| unsafe { keep_avx512(arcs, room, secrets) });
                }
            }
        }
    }

    #[test]
    fn vectors_keep_and_hash_what_a_plain_loop_does() {
        check(|_| ());
        check(|random| random as u32);
        check(|random| random as i32);
        check(|random| random as i64);
    }
}
