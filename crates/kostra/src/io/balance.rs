//! Whether arcs are symmetric, without sorting them.

use crate::mix::mix;
use crate::weight::Weight;

/// A commutative hash that is zero when the arcs read so far are symmetric as a multiset of (u, v, w): each arc adds the
/// hash of its unordered pair, or takes it away when it runs downwards. 64 well-mixed bits: chance does not pass for proof.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Balance(u64);

impl Balance {
    #[inline(always)]
    pub(super) fn add(&mut self, u: u32, v: u32, weight: u64) {
        let pair = u64::from(u.min(v)) << 32 | u64::from(u.max(v));
        let hash = mix(pair ^ mix(weight.wrapping_add(0x9e37_79b9_7f4a_7c15)));
        // A self-loop is its own mirror and counts for nothing.
        let signed = if u < v { hash } else { hash.wrapping_neg() };
        self.0 = self.0.wrapping_add(if u == v { 0 } else { signed });
    }

    pub(super) fn join(&mut self, other: Self) {
        self.0 = self.0.wrapping_add(other.0);
    }

    pub(super) fn is_symmetric(&self) -> bool {
        self.0 == 0
    }
}

/// Bits that are equal for equal weights, whether written `2` or `2.0`.
pub(super) fn bits(weight: Weight) -> u64 {
    match weight {
        Weight::Integer(w) => w as u64,
        Weight::Float(w) if w == w as i64 as f64 && w.abs() < 9e18 => w as i64 as u64,
        Weight::Float(w) => w.to_bits(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn balance_sees_a_missing_mirror_and_a_wrong_weight() {
        let symmetric = |arcs: &[(u32, u32, u64)]| {
            let mut balance = Balance::default();
            arcs.iter().for_each(|&(u, v, w)| balance.add(u, v, w));
            balance.is_symmetric()
        };
        assert!(symmetric(&[]));
        assert!(symmetric(&[(1, 2, 5), (3, 3, 9), (2, 1, 5)]));
        assert!(symmetric(&[(1, 2, 5), (1, 2, 6), (2, 1, 6), (2, 1, 5)]));
        assert!(!symmetric(&[(1, 2, 5)]));
        assert!(!symmetric(&[(1, 2, 5), (2, 1, 6)]));
        assert!(!symmetric(&[(1, 2, 5), (1, 2, 5)]));
        assert!(!symmetric(&[(1, 2, 5), (2, 1, 5), (2, 1, 5)]));
        assert_eq!(bits(Weight::Integer(-3)), bits(Weight::Float(-3.0)));
        assert_eq!(bits(Weight::Float(-0.0)), bits(Weight::Float(0.0)));
        assert_ne!(bits(Weight::Float(0.5)), bits(Weight::Float(0.25)));
    }
}
