//! Whether arcs are symmetric, without sorting them.
//!
//! Every arc is hashed with its ends in ascending order. Arcs that run upwards add their hash, arcs that run downwards take
//! it away, and self-loops, which are their own mirrors, count for nothing. The sum is zero when the arcs are symmetric as
//! a multiset of (u, v, w), and by a chance of about 2^-64 when they are not.
//!
//! A sum is a weak place for a hash: whatever is linear in it cancels between (a, b) + (c, d) and (a, d) + (c, b). So the ends
//! are multiplied with each other, and the halves of the product, which no longer know them apart, once more, twice over
//! with other secrets so that no zero hides a weight. All factors have 32 bits, for which processors have vector
//! instructions. The secrets are drawn anew by every process: no file can be made to pass for symmetric.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::sync::LazyLock;

use crate::weight::Weight;

/// What the hash is keyed with.
pub(super) type Secrets = [u32; 7];

static SECRETS: LazyLock<Secrets> = LazyLock::new(|| {
    let random = RandomState::new();
    let mut secrets = [0, 1, 2, 3, 4, 5, 6].map(|at: u64| random.hash_one(at) as u32);
    // This one multiplies weights and must not be zero.
    secrets[6] |= 1;
    secrets
});

/// The signed sum of the hashes of the arcs read so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Balance {
    sum: u64,
    secrets: Secrets,
}

impl Default for Balance {
    fn default() -> Self {
        Self { sum: 0, secrets: *SECRETS }
    }
}

impl Balance {
    /// Adds one arc.
    #[inline(always)]
    pub(super) fn add(&mut self, u: u32, v: u32, weight: u64) {
        self.sum = self.sum.wrapping_add(signed_hash(u, v, weight, &self.secrets));
    }

    /// Adds the sum of the signed hashes of several arcs.
    pub(super) fn add_sum(&mut self, sum: u64) {
        self.sum = self.sum.wrapping_add(sum);
    }

    pub(super) fn secrets(&self) -> &Secrets {
        &self.secrets
    }

    /// The sum and the secrets, for another process to go on with.
    pub(super) fn to_words(self) -> Vec<u64> {
        std::iter::once(self.sum).chain(self.secrets.map(u64::from)).collect()
    }

    /// What [`to_words`](Self::to_words) gave. From here on this process hashes with the same secrets.
    pub(super) fn from_words(words: &[u64]) -> Option<Self> {
        let (&sum, secrets) = words.split_first()?;
        let secrets: Vec<u32> = secrets.iter().map(|&word| word as u32).collect();
        Some(Self { sum, secrets: secrets.try_into().ok()? })
    }

    pub(super) fn join(&mut self, other: Self) {
        self.sum = self.sum.wrapping_add(other.sum);
    }

    pub(super) fn is_symmetric(&self) -> bool {
        self.sum == 0
    }
}

/// A weight of binary arcs as bits that are equal where weights of its type are.
pub(super) trait Bits: Copy {
    fn bits(self) -> u64;
}

/// No weight.
impl Bits for () {
    #[inline(always)]
    fn bits(self) -> u64 {
        0
    }
}

impl Bits for u32 {
    #[inline(always)]
    fn bits(self) -> u64 {
        self.into()
    }
}

impl Bits for i32 {
    #[inline(always)]
    fn bits(self) -> u64 {
        (self as u32).into()
    }
}

impl Bits for i64 {
    #[inline(always)]
    fn bits(self) -> u64 {
        self as u64
    }
}

/// The bits of a weight of text: equal for equal weights, whether written `2` or `2.0`.
pub(super) fn bits(weight: Weight) -> u64 {
    match weight {
        Weight::Integer(w) => w as u64,
        Weight::Float(w) if w == w as i64 as f64 && w.abs() < 9e18 => w as i64 as u64,
        Weight::Float(w) => w.to_bits(),
    }
}

/// The signed hash of an arc; [`upper`](super::upper) has it in vector instructions as well.
#[inline(always)]
pub(super) fn signed_hash(u: u32, v: u32, weight: u64, secrets: &Secrets) -> u64 {
    let product = |a: u32, b: u32| u64::from(a) * u64::from(b);
    let ends = product(u.min(v) ^ secrets[0], u.max(v) ^ secrets[1]);
    let mixed = ends ^ product((weight >> 32) as u32, secrets[6]);
    let (low, high, weight) = (mixed as u32, (mixed >> 32) as u32, weight as u32);
    let once = product(low ^ weight ^ secrets[2], high ^ secrets[3]);
    let twice = product(high ^ weight ^ secrets[4], low ^ secrets[5]);
    let hash = once.wrapping_add(twice.rotate_left(32));
    let mask = |condition: bool| u64::from(condition).wrapping_neg();
    (hash & mask(u < v)).wrapping_sub(hash & mask(u > v))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_symmetric(arcs: &[(u32, u32, u64)]) -> bool {
        let mut balance = Balance::default();
        arcs.iter().for_each(|&(u, v, w)| balance.add(u, v, w));
        balance.is_symmetric()
    }

    #[test]
    fn balance_sees_a_missing_mirror_and_a_wrong_weight() {
        assert!(is_symmetric(&[]));
        assert!(is_symmetric(&[(1, 2, 5), (3, 3, 9), (2, 1, 5)]));
        assert!(is_symmetric(&[(1, 2, 5), (1, 2, 6), (2, 1, 6), (2, 1, 5)]));
        assert!(!is_symmetric(&[(1, 2, 5)]));
        assert!(!is_symmetric(&[(1, 2, 5), (2, 1, 6)]));
        assert!(!is_symmetric(&[(1, 2, 5), (2, 1, 5 + (1 << 32))]));
        assert!(!is_symmetric(&[(1, 2, 5), (1, 2, 5)]));
        assert!(!is_symmetric(&[(1, 2, 5), (2, 1, 5), (2, 1, 5)]));
        assert_eq!(bits(Weight::Integer(-3)), bits(Weight::Float(-3.0)));
        assert_eq!(bits(Weight::Float(-0.0)), bits(Weight::Float(0.0)));
        assert_ne!(bits(Weight::Float(0.5)), bits(Weight::Float(0.25)));
    }

    /// What linear hashes are blind to: the same ends, or the same weights, in other combinations.
    #[test]
    fn balance_sees_ends_and_weights_that_were_exchanged() {
        for shift in [0, 1, 5, 16, 20] {
            let [a, b, c, d] = [1, 2, 3, 5].map(|v: u32| v << shift);
            assert!(!is_symmetric(&[(a, c, 0), (b, d, 0), (d, a, 0), (c, b, 0)]));
            assert!(!is_symmetric(&[(a, b, 7), (c, d, 9), (b, a, 9), (d, c, 7)]));
            assert!(!is_symmetric(&[(a, b, 7 << 32), (c, d, 9 << 32), (b, a, 9 << 32), (d, c, 7 << 32)]));
        }
        // Upwards from (x, y) to places whose x ^ y ^ z has even parity, downwards where it is odd: all moments of low
        // degree agree.
        let cube = |parity: u32| (0..1u32 << 12).filter(move |i| i.count_ones() % 2 == parity);
        let ends = |i: u32| (i & 63, 64 + (i >> 6));
        let up = cube(0).map(|i| (ends(i).0, ends(i).1, 1));
        let down = cube(1).map(|i| (ends(i).1, ends(i).0, 1));
        assert!(!is_symmetric(&up.chain(down).collect::<Vec<_>>()));
    }
}
