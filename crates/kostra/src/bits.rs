//! Sets as words of bits.

/// Whether the processor has the vector instructions of 2013, and counts bits.
#[cfg(target_arch = "x86_64")]
pub(crate) fn has_avx2() -> bool {
    std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("popcnt")
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
    #[target_feature(enable = "avx2,popcnt")]
    fn by_avx2(words: &[u64], first: u32, ids: &mut [u32]) -> usize {
        list_ones_by(words, first, ids)
    }
    #[cfg(target_arch = "x86_64")]
    #[allow(unsafe_code)]
    if has_avx2() {
        // SAFETY: nothing but the instruction set makes the function unsafe to call, and the processor has it.
        return unsafe { by_avx2(words, first, ids) };
    }
    list_ones_by(words, first, ids)
}

/// The same, compiled for several processors. Eight bits at a time, as many as vectors have places.
#[inline(always)]
fn list_ones_by(words: &[u64], first: u32, ids: &mut [u32]) -> usize {
    /// So many bits of a word are sooner listed one by one.
    const FEW: u32 = 2;
    let mut at = 0;
    for (&word, first) in words.iter().zip((u64::from(first)..).step_by(64)) {
        let count = word.count_ones();
        let Some(room) = ids[at..].first_chunk_mut::<64>().filter(|_| count > FEW) else {
            ones(word).zip(&mut ids[at..]).for_each(|(bit, id)| *id = first as u32 + bit as u32);
            at += count as usize;
            continue;
        };
        let mut listed = 0;
        for eight in 0..8 {
            let byte = (word >> (8 * eight)) as u8;
            // All eight places are written, and those that stand for no bit are overwritten by the next.
            let places = PLACES[usize::from(byte)];
            room[listed..listed + 8].copy_from_slice(&places.map(|place| first as u32 + 8 * eight + u32::from(place)));
            listed += byte.count_ones() as usize;
        }
        at += listed;
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn set_bits_are_listed_few_or_many_with_and_without_room_behind_them() {
        let words = [0, 1, 1 << 63, u64::MAX, 0xf0f0_f0f0_f0f0_f0f0, 0x8000_0000_0000_0fff, 0x7fff_ffff_0000_0001, 0];
        for words in (0..words.len()).flat_map(|end| [&words[..end], &words[end..]]) {
            let is_set = |bit: &usize| words[bit / 64] >> (bit % 64) & 1 == 1;
            let expected: Vec<u32> = (0..64 * words.len()).filter(is_set).map(|bit| 1000 + bit as u32).collect();
            for (more, list) in
                [(0, list_ones as fn(&[u64], u32, &mut [u32]) -> usize), (1, list_ones_by), (64, list_ones)]
            {
                let mut ids = vec![7; expected.len() + more];
                assert_eq!(list(words, 1000, &mut ids), expected.len());
                assert_eq!(ids[..expected.len()], expected, "{words:x?} {more}");
            }
        }
        let mut last = [0; 64];
        assert_eq!(list_ones(&[u64::MAX], u32::MAX - 63, &mut last), 64);
        assert_eq!(last[63], u32::MAX);
    }
}
