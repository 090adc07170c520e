//! Sets as words of bits.

/// Whether the processor counts bits in one instruction.
#[cfg(target_arch = "x86_64")]
pub(crate) fn has_popcnt() -> bool {
    std::arch::is_x86_feature_detected!("popcnt")
}

/// Whether it has the vector instructions of 2013, too.
#[cfg(target_arch = "x86_64")]
pub(crate) fn has_avx2() -> bool {
    std::arch::is_x86_feature_detected!("avx2") && has_popcnt()
}

/// Whether the processor has the vector instructions of 2017, on 64 bytes, and those of 2013.
#[cfg(target_arch = "x86_64")]
pub(crate) fn has_avx512() -> bool {
    use std::arch::is_x86_feature_detected as has;
    has!("avx512f") && has!("avx512bw") && has!("bmi2") && has_avx2()
}

/// One bit for each flag of 0 or 1, the first the lowest.
#[inline(always)]
pub(crate) fn pack_flags(flags: &[u8; 64]) -> u64 {
    let mut word = 0;
    for (i, eight) in flags.as_chunks::<8>().0.iter().enumerate() {
        let bytes = u64::from_le_bytes(*eight);
        // The product gathers the lowest bit of every byte in the topmost byte.
        word |= (bytes.wrapping_mul(0x0102_0408_1020_4080) >> 56) << (8 * i);
    }
    word
}

/// The numbers of the bits that are set, ascending.
#[inline(always)]
pub(crate) fn ones(mut word: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let lowest = (word != 0).then(|| word.trailing_zeros() as usize);
        word &= word.wrapping_sub(1);
        lowest
    })
}

/// One bit for each of up to 64 pairs of numbers: whether one or both are not in the set.
#[inline]
pub(crate) fn not_both_in(set: &[u64], first: &[u32], second: &[u32]) -> u64 {
    #[cfg(target_arch = "x86_64")]
    #[allow(unsafe_code)]
    if let (Ok(first), Ok(second)) = (first.try_into(), second.try_into())
        && has_avx512()
    {
        // SAFETY: nothing but the instruction set makes the function unsafe to call, and the processor has it.
        if let Some(bits) = unsafe { not_both_in_avx512(set, first, second) } {
            return bits;
        }
    }
    let is_out = |i: u32| set[i as usize / 64] >> (i % 64) & 1 == 0;
    let mut flags = [0; 64];
    for ((flag, &u), &v) in flags.iter_mut().zip(first).zip(second) {
        *flag = u8::from(is_out(u) | is_out(v));
    }
    pack_flags(&flags)
}

/// The same by vectors; none where a number lies beyond the set's end.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
fn not_both_in_avx512(set: &[u64], first: &[u32; 64], second: &[u32; 64]) -> Option<u64> {
    use std::arch::x86_64::*;
    let words: &[u32] = bytemuck::cast_slice(set);
    let end = _mm512_set1_epi32(words.len().min(1 << 27) as i32);
    // The lowest bit of each lane tells whether the number is in the set.
    let ones = _mm512_set1_epi32(1);
    let look_up = |numbers: __m512i| {
        let places = _mm512_srli_epi32::<5>(numbers);
        let inside = _mm512_cmplt_epu32_mask(places, end);
        // SAFETY: lanes whose word is not in the slice are masked out.
        #[allow(unsafe_code)]
        let found =
            unsafe { _mm512_mask_i32gather_epi32::<4>(_mm512_setzero_si512(), inside, places, words.as_ptr().cast()) };
        (_mm512_srlv_epi32(found, _mm512_and_si512(numbers, _mm512_set1_epi32(31))), inside)
    };
    let (mut both, mut all) = (0, !0);
    for (i, (u, v)) in first.as_chunks::<16>().0.iter().zip(second.as_chunks::<16>().0).enumerate() {
        let numbers: __m512i = bytemuck::cast(*u);
        // Edges are often sorted by their first end, and one look is sooner done than sixteen.
        let is_same = _mm512_cmpeq_epi32_mask(numbers, _mm512_set1_epi32(u[0] as i32)) == !0;
        let (u, u_inside) = match words.get(u[0] as usize / 32) {
            Some(word) if is_same => (_mm512_set1_epi32((word >> (u[0] % 32)) as i32), !0),
            _ => look_up(numbers),
        };
        let (v, v_inside) = look_up(bytemuck::cast(*v));
        both |= u64::from(_mm512_test_epi32_mask(_mm512_and_si512(u, v), ones)) << (16 * i);
        all &= u_inside & v_inside;
    }
    (all == !0).then_some(!both)
}

/// For every byte the places of its bits that are set, ascending, and then anything.
pub(crate) static PLACES: [[u8; 8]; 256] = {
    let (mut table, mut byte) = ([[0; 8]; 256], 0);
    while byte < 256 {
        let (mut bit, mut set) = (0, 0);
        while bit < 8 {
            if byte >> bit & 1 == 1 {
                table[byte][set] = bit;
                set += 1;
            }
            bit += 1;
        }
        byte += 1;
    }
    table
};

/// Lists the bits that are set: their numbers, counted from `first`, ascending. There are as many `ids`, or more.
pub(crate) fn list_ones(words: &[u64], first: u32, ids: &mut [u32]) -> usize {
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx512f,popcnt")]
    fn by_avx512(words: &[u64], first: u32, ids: &mut [u32]) -> usize {
        list_each(words.iter().copied(), first, ids, |word, first, room| list_word_avx512(word, first, room))
    }
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,popcnt")]
    fn by_avx2(words: &[u64], first: u32, ids: &mut [u32]) -> usize {
        list_each(words.iter().copied(), first, ids, list_word)
    }
    #[cfg(target_arch = "x86_64")]
    #[allow(unsafe_code)]
    // SAFETY: nothing but the instruction set makes the functions unsafe to call, and the processor has it.
    unsafe {
        if has_avx512() {
            return by_avx512(words, first, ids);
        }
        if has_avx2() {
            return by_avx2(words, first, ids);
        }
    }
    list_each(words.iter().copied(), first, ids, list_word)
}

/// Lists the marks that are 1, the others being 0, as [`list_ones`] does bits.
pub(crate) fn list_marks(marks: &[u8], first: u32, ids: &mut [u32]) -> usize {
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx512f,avx512bw,popcnt")]
    fn by_avx512(marks: &[[u8; 64]], first: u32, ids: &mut [u32]) -> usize {
        use std::arch::x86_64::*;
        let words = marks.iter().map(|marks| {
            let marks: __m512i = bytemuck::cast(*marks);
            _mm512_test_epi8_mask(marks, marks)
        });
        list_each(words, first, ids, |word, first, room| list_word_avx512(word, first, room))
    }
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,popcnt")]
    fn by_avx2(marks: &[[u8; 64]], first: u32, ids: &mut [u32]) -> usize {
        list_each(marks.iter().map(pack_flags), first, ids, list_word)
    }
    let by_any = |marks: &[[u8; 64]], ids: &mut [u32]| {
        #[cfg(target_arch = "x86_64")]
        #[allow(unsafe_code)]
        // SAFETY: as in `list_ones`.
        unsafe {
            if has_avx512() {
                return by_avx512(marks, first, ids);
            }
            if has_avx2() {
                return by_avx2(marks, first, ids);
            }
        }
        list_each(marks.iter().map(pack_flags), first, ids, list_word)
    };
    let (whole, rest) = marks.as_chunks::<64>();
    let at = by_any(whole, ids);
    let mut flags = [0; 64];
    flags[..rest.len()].copy_from_slice(rest);
    at + list_ones(&[pack_flags(&flags)], first.wrapping_add(64 * whole.len() as u32), &mut ids[at..])
}

/// Lists the bits of all words, of each by `list` where there is room for it to write more than it lists; compiled for several
/// processors.
#[inline(always)]
fn list_each(
    words: impl Iterator<Item = u64>,
    first: u32,
    ids: &mut [u32],
    list: impl Fn(u64, u32, &mut [u32; 64]) -> usize,
) -> usize {
    /// So many bits of a word are sooner listed one by one.
    const FEW: u32 = 2;
    let mut at = 0;
    for (word, first) in words.zip((u64::from(first)..).step_by(64)) {
        let count = word.count_ones();
        match ids[at..].first_chunk_mut::<64>().filter(|_| count > FEW) {
            Some(room) => at += list(word, first as u32, room),
            None => {
                ones(word).zip(&mut ids[at..]).for_each(|(bit, id)| *id = first as u32 + bit as u32);
                at += count as usize;
            }
        }
    }
    at
}

/// The bits of a word, eight at a time, as many as vectors have places.
#[inline(always)]
fn list_word(word: u64, first: u32, room: &mut [u32; 64]) -> usize {
    let mut listed = 0;
    for eight in 0..8 {
        let byte = (word >> (8 * eight)) as u8;
        // All eight places are written, and those that stand for no bit are overwritten by the next.
        let places = PLACES[usize::from(byte)];
        room[listed..listed + 8].copy_from_slice(&places.map(|place| first + 8 * eight + u32::from(place)));
        listed += byte.count_ones() as usize;
    }
    listed
}

/// The same by vectors of sixteen.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,popcnt")]
#[inline]
fn list_word_avx512(word: u64, first: u32, room: &mut [u32; 64]) -> usize {
    use std::arch::x86_64::*;
    let mut numbers = _mm512_add_epi32(
        _mm512_set1_epi32(first as i32),
        _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0),
    );
    let mut listed = 0;
    for sixteen in 0..4 {
        let mask = (word >> (16 * sixteen)) as u16;
        let front: [u32; 16] = bytemuck::cast(_mm512_maskz_compress_epi32(mask, numbers));
        room[listed..listed + 16].copy_from_slice(&front);
        listed += mask.count_ones() as usize;
        numbers = _mm512_add_epi32(numbers, _mm512_set1_epi32(16));
    }
    listed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_and_marks_are_listed_few_or_many_with_and_without_room_behind_them() {
        let words = [0, 1, 1 << 63, u64::MAX, 0xf0f0_f0f0_f0f0_f0f0, 0x8000_0000_0000_0fff, 0x7fff_ffff_0000_0001, 0];
        for words in (0..words.len()).flat_map(|end| [&words[..end], &words[end..]]) {
            let is_set = |bit: &usize| words[bit / 64] >> (bit % 64) & 1 == 1;
            let expected: Vec<u32> = (0..64 * words.len()).filter(is_set).map(|bit| 1000 + bit as u32).collect();
            let plain = |words: &[u64], first, ids: &mut [u32]| list_each(words.iter().copied(), first, ids, list_word);
            let marks: Vec<u8> = (0..64 * words.len()).map(|bit| u8::from(is_set(&bit))).collect();
            for more in [0, 1, 64] {
                let mut ids = vec![7; expected.len() + more];
                let agree = |count: usize, ids: &mut [u32]| {
                    assert_eq!(count, expected.len());
                    assert_eq!(ids[..count], expected, "{words:x?} {more}");
                    ids.fill(7);
                };
                agree(list_ones(words, 1000, &mut ids), &mut ids);
                agree(plain(words, 1000, &mut ids), &mut ids);
                agree(list_marks(&marks, 1000, &mut ids), &mut ids);
                // Up to the last mark, wherever that is in a word.
                let end = marks.iter().rposition(|&mark| mark == 1).map_or(0, |last| last + 1);
                agree(list_marks(&marks[..end], 1000, &mut ids), &mut ids);
            }
        }
        let mut last = [0; 64];
        assert_eq!(list_ones(&[u64::MAX], u32::MAX - 63, &mut last), 64);
        assert_eq!(last[63], u32::MAX);
    }

    #[test]
    fn pairs_of_which_one_is_not_in_a_set() {
        let set: Vec<u64> = (0..9).map(crate::mix::mix).collect();
        let is_in = |i: u32| set[i as usize / 64] >> (i % 64) & 1 == 1;
        let draw = |seed: u64| (0..64).map(|i| crate::mix::mix(seed << 8 | i) as u32 % 576).collect::<Vec<u32>>();
        for (seed, len) in (0..100).zip([64, 63, 64, 1, 0].into_iter().cycle()) {
            let (mut first, second) = (draw(2 * seed), draw(2 * seed + 1));
            if seed % 2 == 1 {
                // Runs of the same number, as where pairs are sorted.
                (0..64).for_each(|i| first[i] = first[i & !15]);
            }
            let (first, second) = (&first[..len], &second[..len]);
            let pairs = first.iter().zip(second).rev();
            let expected = pairs.fold(0, |bits, (&u, &v)| bits << 1 | u64::from(!is_in(u) || !is_in(v)));
            assert_eq!(not_both_in(&set, first, second), expected);
        }
    }

    #[test]
    #[should_panic(expected = "out of bounds")]
    fn numbers_beyond_the_end_of_a_set_are_not_looked_up() {
        let mut second = [0; 64];
        second[40] = 128;
        not_both_in(&[0, 0], &[0; 64], &second);
    }
}
