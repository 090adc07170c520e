//! The mixing function of random draws.

/// The finaliser of SplitMix64 (Stafford's variant 13): a bijection that lets every bit of `x` flip every other.
#[inline(always)]
pub(crate) fn mix(mut x: u64) -> u64 {
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// A whole number below `n` from 64 random bits; the top bits count most. 0 when `n` is 0.
#[inline]
pub(crate) fn below(bits: u64, n: u64) -> u64 {
    ((u128::from(bits) * u128::from(n)) >> 64) as u64
}
