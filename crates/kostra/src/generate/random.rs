//! Randomness as a function: every draw depends on seed, stream and index alone, never on who drew before.
//!
//! So any thread may draw any part of a graph, in any order, and the graph is the same. Floats are made with exact
//! operations only, so it is the same on every machine, too.

pub(super) use crate::mix::below;
use crate::mix::mix;

/// 2^64 divided by the golden ratio: steps through all 64-bit numbers, far apart.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// What a draw is for. Draws of different streams are independent.
#[derive(Clone, Copy)]
pub(super) enum Stream {
    Weights = 1,
    Shuffle,
    Pairs,
    Ends,
    Sizes,
    Members,
    Tree,
    Places,
    Hubs,
}

/// The draws of one stream under one seed.
#[derive(Clone, Copy)]
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u64, stream: Stream) -> Self {
        Self(mix(mix(seed).wrapping_add((stream as u64).wrapping_mul(STEP))))
    }

    /// The draw at `index`: 64 random bits.
    #[inline]
    pub(super) fn at(self, index: u64) -> u64 {
        mix(self.0.wrapping_add(index.wrapping_mul(STEP)))
    }
}

/// A vertex below `n` other than `v`, from 64 random bits; `v` itself when there is no other.
#[inline]
pub(super) fn other(bits: u64, n: u32, v: u32) -> u32 {
    let w = below(bits, u64::from(n.saturating_sub(1))) as u32;
    if n > 1 { w + u32::from(w >= v) } else { v }
}

/// A float in [0, 1) from 64 random bits: a multiple of 2^-53.
#[inline]
pub(super) fn unit(bits: u64) -> f64 {
    (bits >> 11) as f64 / (1u64 << 53) as f64
}

/// A bijection on the numbers of `bits` bits that looks random: rounds of odd multiply, add and xor-shift, each of
/// which can be undone.
#[derive(Clone, Copy)]
pub(super) struct Shuffle {
    mask: u32,
    shift: u32,
    rounds: [(u32, u32); 4],
}

impl Shuffle {
    /// The shuffle of `bits` (at most 32) bits with this number under this seed.
    pub(super) fn new(seed: u64, number: u64, bits: u32) -> Self {
        let random = Random::new(seed, Stream::Shuffle);
        let rounds = [0, 1, 2, 3].map(|round| {
            let key = random.at(4 * number + round);
            (key as u32 | 1, (key >> 32) as u32)
        });
        Self { mask: ((1u64 << bits) - 1) as u32, shift: bits.div_ceil(2), rounds }
    }

    #[inline]
    pub(super) fn apply(&self, mut x: u32) -> u32 {
        for (multiplier, addend) in self.rounds {
            x = x.wrapping_mul(multiplier).wrapping_add(addend) & self.mask;
            x ^= x >> self.shift;
        }
        x
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shuffles_are_bijections_that_depend_on_the_seed() {
        for bits in 0..=12 {
            let shuffle = Shuffle::new(7, 0, bits);
            let mut images: Vec<u32> = (0..1 << bits).map(|x| shuffle.apply(x)).collect();
            images.sort_unstable();
            assert!(images.into_iter().eq(0..1 << bits), "{bits} bits");
        }
        let [a, b] = [1, 2].map(|seed| Shuffle::new(seed, 0, 31));
        assert!((0..100).filter(|&x| a.apply(x) == b.apply(x)).count() < 3);
        let _ = Shuffle::new(1, 0, 32).apply(u32::MAX);
    }

    #[test]
    fn draws_are_uniform_and_in_range() {
        let random = Random::new(1, Stream::Pairs);
        let mut counts = [0; 10];
        for i in 0..100_000 {
            counts[below(random.at(i), 10) as usize] += 1;
            assert!((0.0..1.0).contains(&unit(random.at(i))));
        }
        assert!(counts.iter().all(|count| (9_700..10_300).contains(count)), "{counts:?}");
        assert_eq!((below(u64::MAX, 0), below(u64::MAX, 5), unit(0)), (0, 4, 0.0));
        assert!(unit(u64::MAX) < 1.0);
        assert!((0..100).all(|i| other(random.at(i), 2, 1) == 0));
        assert_eq!(other(u64::MAX, 1, 0), 0);
    }
}
