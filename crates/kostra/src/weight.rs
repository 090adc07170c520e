//! Weights in the type they came in, and the unsigned keys that solvers compare instead.
//!
//! A forest depends only on the order of the weights. [`Keys`] maps every weight type to `u32` or `u64` so that the
//! order is kept, computing each key where it is read: no solver sees a float, and no array is copied.

use std::fmt;

use bytemuck::{Pod, cast_slice};
use rayon::prelude::*;

use crate::array::Array;
use crate::bits::pack_flags;
use crate::par::{PARALLEL_FROM, block, prefetch};
use crate::team::each;

/// How many edges ahead the weights of a sum are asked for.
const AHEAD: usize = 32;

/// Floats that are looked up before they are added, and fit in a cache.
const LOOKED_UP: usize = 1 << 18;

/// The weights of a graph's edges, one per edge, in one type.
#[derive(Debug)]
#[non_exhaustive]
pub enum Weights<'a> {
    /// No weights were given: every edge weighs 1.
    Unit,
    /// Unsigned 32-bit integers.
    U32(Array<'a, u32>),
    /// Signed 32-bit integers.
    I32(Array<'a, i32>),
    /// Signed 64-bit integers.
    I64(Array<'a, i64>),
    /// Single-precision floats; no NaN.
    F32(Array<'a, f32>),
    /// Double-precision floats; no NaN.
    F64(Array<'a, f64>),
}

/// One weight, as a value that can be compared and printed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Weight {
    /// An integer of any width.
    Integer(i64),
    /// A float of either precision.
    Float(f64),
}

/// A sum of weights: exact for integers, summed in `f64` for floats.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Total {
    /// The exact sum of integers.
    Integer(i128),
    /// The sum of floats, added in edge-id order.
    Float(f64),
}

/// Runs an expression with the slice behind any weighted variant; `Unit` has its own arm.
macro_rules! each_weights {
    ($weights:expr, Unit => $unit:expr, $slice:ident => $body:expr) => {
        match $weights {
            $crate::weight::Weights::Unit => $unit,
            $crate::weight::Weights::U32($slice) => $body,
            $crate::weight::Weights::I32($slice) => $body,
            $crate::weight::Weights::I64($slice) => $body,
            $crate::weight::Weights::F32($slice) => $body,
            $crate::weight::Weights::F64($slice) => $body,
        }
    };
}
pub(crate) use each_weights;

impl Weights<'_> {
    /// The number of weights; `None` when there are none and every edge weighs 1.
    pub fn count(&self) -> Option<usize> {
        each_weights!(self, Unit => None, w => Some(w.len()))
    }

    /// Whether there are no weights and every edge weighs 1.
    pub fn is_unit(&self) -> bool {
        matches!(self, Weights::Unit)
    }

    /// The name of the type: `unit`, `u32`, `i32`, `i64`, `f32` or `f64`.
    pub fn type_name(&self) -> &'static str {
        match self {
            Weights::Unit => "unit",
            Weights::U32(_) => "u32",
            Weights::I32(_) => "i32",
            Weights::I64(_) => "i64",
            Weights::F32(_) => "f32",
            Weights::F64(_) => "f64",
        }
    }

    /// The weight of edge `e`.
    ///
    /// # Panics
    ///
    /// When `e` is not an edge of a weighted graph.
    pub fn at(&self, e: usize) -> Weight {
        match self {
            Weights::Unit => Weight::Integer(1),
            Weights::U32(w) => Weight::Integer(w[e].into()),
            Weights::I32(w) => Weight::Integer(w[e].into()),
            Weights::I64(w) => Weight::Integer(w[e]),
            Weights::F32(w) => Weight::Float(w[e].into()),
            Weights::F64(w) => Weight::Float(w[e]),
        }
    }

    /// The same weights, borrowed.
    pub fn borrowed(&self) -> Weights<'_> {
        each_weights!(self, Unit => Weights::Unit, w => Weights::from(&**w))
    }

    /// The sum over `edges`, in the order given.
    pub(crate) fn total(&self, edges: &[u32]) -> Total {
        /// The weights in turn, each asked for ahead: where few edges are chosen, they lie too far apart to be guessed.
        fn in_turn<'a, T: Copy>(edges: &'a [u32], w: &'a [T]) -> impl Iterator<Item = T> + 'a {
            edges.iter().enumerate().map(|(i, &e)| {
                if let Some(&ahead) = edges.get(i + AHEAD) {
                    prefetch(w, ahead as usize);
                }
                w[e as usize]
            })
        }
        fn integers<T: Copy + Into<i128> + Sync>(edges: &[u32], w: &[T]) -> Total {
            let sum = |_, part: &[u32]| in_turn(part, w).map(Into::into).sum::<i128>();
            Total::Integer(each(edges.chunks(block(edges.len())), sum).into_iter().sum())
        }
        fn floats<T: Copy + Into<f64> + Sync>(edges: &[u32], w: &[T]) -> Total {
            // From +0.0: the sum of no edges is 0, not the -0.0 that an empty float `sum()` gives.
            let mut sum = 0.0;
            if rayon::current_num_threads() == 1 || edges.len() < PARALLEL_FROM {
                in_turn(edges, w).for_each(|w| sum += w.into());
                return Total::Float(sum);
            }
            // One thread adds, in order, what all look up, which takes three times as long.
            let look_up = |_, part: &[u32]| in_turn(part, w).map(Into::into).collect::<Vec<f64>>();
            for some in edges.chunks(LOOKED_UP) {
                each(some.chunks(block(some.len())), look_up).iter().flatten().for_each(|w| sum += w);
            }
            Total::Float(sum)
        }
        match self {
            Weights::Unit => Total::Integer(edges.len() as i128),
            Weights::U32(w) => integers(edges, w),
            Weights::I32(w) => integers(edges, w),
            Weights::I64(w) => integers(edges, w),
            Weights::F32(w) => floats(edges, w),
            Weights::F64(w) => floats(edges, w),
        }
    }

    /// The sum of the weights of so many edges, of whose keys (for minimum forests) this is the sum; `None` for floats, whose keys
    /// do not add up.
    #[cfg(feature = "cuda")]
    pub(crate) fn total_of_keys(&self, sum: u128, edges: usize) -> Option<Total> {
        let zero = match self {
            Weights::Unit => return Some(Total::Integer(edges as i128)),
            Weights::U32(_) => 0,
            Weights::I32(_) => Map::<u32>::SIGN.into(),
            Weights::I64(_) => Map::<u64>::SIGN.into(),
            Weights::F32(_) | Weights::F64(_) => return None,
        };
        // Of no more than 2^32 keys of 64 bits.
        Some(Total::Integer(sum as i128 - edges as i128 * zero))
    }

    /// The first edge whose weight is NaN.
    pub(crate) fn first_nan(&self) -> Option<usize> {
        match self {
            Weights::F32(w) => first(w, |w| w.is_nan()),
            Weights::F64(w) => first(w, |w| w.is_nan()),
            _ => None,
        }
    }
}

/// The first item that is wrong. None is the rule, so whole chunks are looked through without a branch per item.
pub(crate) fn first<T: Copy + Sync>(items: &[T], is_wrong: impl Fn(T) -> bool + Sync) -> Option<usize> {
    const CHUNK: usize = 1 << 14;
    let wrong = |chunk: &[T]| chunk.iter().fold(false, |any, &item| any | is_wrong(item));
    let chunk = items.par_chunks(CHUNK).position_first(wrong)? * CHUNK;
    items[chunk..].iter().position(|&item| is_wrong(item)).map(|at| chunk + at)
}

impl fmt::Display for Weight {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Weight::Integer(w) => w.fmt(f),
            Weight::Float(w) => f.write_str(zmij::Buffer::new().format(*w)),
        }
    }
}

impl fmt::Display for Total {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Total::Integer(sum) => sum.fmt(f),
            Total::Float(sum) => f.write_str(zmij::Buffer::new().format(*sum)),
        }
    }
}

macro_rules! weights_from {
    ($($variant:ident $type:ty),*) => {$(
        impl From<Vec<$type>> for Weights<'_> {
            fn from(weights: Vec<$type>) -> Self {
                Weights::$variant(weights.into())
            }
        }
        impl<'a> From<&'a [$type]> for Weights<'a> {
            fn from(weights: &'a [$type]) -> Self {
                Weights::$variant(weights.into())
            }
        }
        impl<'a> From<&'a Vec<$type>> for Weights<'a> {
            fn from(weights: &'a Vec<$type>) -> Self {
                Weights::$variant(weights.into())
            }
        }
        impl<'a, const N: usize> From<&'a [$type; N]> for Weights<'a> {
            fn from(weights: &'a [$type; N]) -> Self {
                Weights::$variant(weights.into())
            }
        }
    )*};
}
weights_from!(U32 u32, I32 i32, I64 i64, F32 f32, F64 f64);

/// An unsigned key: `u32` for 32-bit weights, `u64` for 64-bit ones.
pub trait Key: Pod + Ord + Send + Sync + fmt::Debug + sealed::Sealed {
    /// A key with an edge id behind it; compares as the design's order `(weight, edge id)`.
    type Ranked: Copy + Ord + Send + Sync + fmt::Debug;
    /// The largest key.
    const MAX: Self;
    /// Larger than every ranked key.
    const LAST: Self::Ranked;
    /// Puts the edge id behind the key.
    fn ranked(self, edge: u32) -> Self::Ranked;
    /// The edge id behind the key.
    fn edge(ranked: Self::Ranked) -> u32;
    /// How far down [`squeezed`](Self::squeezed) must shift to keep `low..=high` below 2^31.
    #[doc(hidden)]
    fn squeeze(low: Self::Ranked, high: Self::Ranked) -> u32;
    /// The place above `low` in 32 bits, below `u32::MAX`: never falls where the rank rises, but may stay the same.
    #[doc(hidden)]
    fn squeezed(ranked: Self::Ranked, low: Self::Ranked, shift: u32) -> u32;
    /// Whether [`shortened`](Self::shortened) loses nothing.
    #[doc(hidden)]
    const SHORT: bool;
    /// The key in 32 bits.
    #[doc(hidden)]
    fn shortened(self, low: Self) -> u64;
    #[doc(hidden)]
    fn transform(self, map: &Map<Self>) -> Self;
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for u32 {}
    impl Sealed for u64 {}
}

/// How bits become keys: `((zero-fixed bits ^ (flip where negative)) & mask) ^ sign`.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct Map<K> {
    /// What the bit pattern "sign bit alone" is read as: 0 for floats (`-0.0` equals `0.0`), itself for integers.
    lowest: K,
    /// Bits to flip where the sign bit is set.
    flip: K,
    /// 0 for unit weights, whose bits are any array of the right length, else all ones.
    mask: K,
    /// Flipped last: the sign bit of signed types; everything for maximum forests.
    sign: K,
}

macro_rules! key {
    ($key:ty, $signed:ty, $ranked:ty, $last:expr, |$self:ident, $edge:ident| $rank:expr, $shorten:expr) => {
        impl Key for $key {
            const SHORT: bool = <$key>::BITS == 32;
            #[inline(always)]
            fn shortened(self, low: Self) -> u64 {
                $shorten(self, low)
            }
            type Ranked = $ranked;
            const MAX: $key = <$key>::MAX;
            const LAST: $ranked = $last;
            #[inline(always)]
            fn ranked($self, $edge: u32) -> $ranked {
                $rank
            }
            #[inline(always)]
            fn edge(ranked: $ranked) -> u32 {
                ranked as u32
            }
            fn squeeze(low: $ranked, high: $ranked) -> u32 {
                (<$ranked>::BITS - high.saturating_sub(low).leading_zeros()).saturating_sub(31)
            }
            #[inline(always)]
            fn squeezed(ranked: $ranked, low: $ranked, shift: u32) -> u32 {
                (ranked.saturating_sub(low) >> shift).min(<$ranked>::from(u32::MAX - 1)) as u32
            }
            #[inline(always)]
            fn transform(self, map: &Map<$key>) -> $key {
                const LOWEST: $key = 1 << (<$key>::BITS - 1);
                let bits = if self == LOWEST { map.lowest } else { self };
                let negative = (bits as $signed >> (<$key>::BITS - 1)) as $key;
                ((bits ^ (negative & map.flip)) & map.mask) ^ map.sign
            }
        }

        impl Map<$key> {
            const SIGN: $key = 1 << (<$key>::BITS - 1);
            const SIGNED: Self = Self { lowest: Self::SIGN, flip: 0, mask: !0, sign: Self::SIGN };
            const FLOAT: Self = Self { lowest: 0, flip: !Self::SIGN, mask: !0, sign: Self::SIGN };

            fn reversed_if(self, maximum: bool) -> Self {
                // All keys of a unit graph are equal, and stay so.
                if maximum { Self { sign: !self.sign, ..self } } else { self }
            }
        }
    };
}
impl Map<u32> {
    const UNSIGNED: Self = Self { sign: 0, ..Self::SIGNED };
    const UNIT: Self = Self { mask: 0, ..Self::UNSIGNED };
}
key!(u32, i32, u64, u64::MAX, |self, edge| (self as u64) << 32 | edge as u64, |key, _| key as u64);
key!(u64, i64, u128, u128::MAX, |self, edge| (self as u128) << 32 | edge as u128, shorten);

/// The distance above `low` in 32 bits, as a number with 27 significant bits and an exponent.
#[inline(always)]
fn shorten(key: u64, low: u64) -> u64 {
    let above = key.saturating_sub(low);
    let shift = (64 - above.leading_zeros()).saturating_sub(27);
    (u64::from(shift) << 26) + (above >> shift)
}

/// The order-preserving keys of a graph's weights, computed where they are read.
#[derive(Clone, Copy, Debug)]
pub struct Keys<'a, K> {
    bits: &'a [K],
    map: Map<K>,
}

impl<K: Key> Keys<'_, K> {
    /// The key of edge `e`.
    #[inline(always)]
    pub fn at(&self, e: usize) -> K {
        self.bits[e].transform(&self.map)
    }

    /// The weights' own bits, and what makes keys of them: see [`Map`]'s fields, in their order.
    #[cfg(feature = "cuda")]
    pub(crate) fn parts(&self) -> (&[K], [K; 4]) {
        let Map { lowest, flip, mask, sign } = self.map;
        (self.bits, [lowest, flip, mask, sign])
    }

    /// Asks for the key of an edge that will be needed soon.
    #[inline(always)]
    pub(crate) fn prefetch(&self, e: usize) {
        prefetch(self.bits, e);
    }

    /// One bit for each of up to 64 edges, the first the lowest: whether it is `last` or before it in the order.
    ///
    /// Not inlined, so that the loop over 64 keys becomes vector instructions whatever stands around it.
    #[inline(never)]
    pub(crate) fn at_most(&self, edges: std::ops::Range<usize>, last: K::Ranked) -> u64 {
        let (map, key, e) = (self.map, self.at(K::edge(last) as usize), K::edge(last) as usize);
        let mut flags = [0; 64];
        match <&[K; 64]>::try_from(&self.bits[edges.clone()]) {
            Ok(bits) if edges.end <= e => {
                flags.iter_mut().zip(bits).for_each(|(flag, bits)| *flag = u8::from(bits.transform(&map) <= key));
            }
            Ok(bits) if edges.start > e => {
                flags.iter_mut().zip(bits).for_each(|(flag, bits)| *flag = u8::from(bits.transform(&map) < key));
            }
            _ => flags.iter_mut().zip(edges).for_each(|(flag, e)| *flag = u8::from(self.ranked(e) <= last)),
        }
        pack_flags(&flags)
    }

    /// The place of edge `e` in the order: its key with its id behind it.
    #[inline(always)]
    pub fn ranked(&self, e: usize) -> K::Ranked {
        self.at(e).ranked(e as u32)
    }
}

/// The keys of a graph, by width. Solvers match once and go on in code that is generic over [`Key`].
#[derive(Clone, Copy, Debug)]
pub enum AnyKeys<'a> {
    /// Unit, `u32`, `i32` and `f32` weights.
    Narrow(Keys<'a, u32>),
    /// `i64` and `f64` weights.
    Wide(Keys<'a, u64>),
}

impl Weights<'_> {
    /// The keys in ascending or, for `maximum`, descending order of weight. `filler` has one entry per edge and stands
    /// in for the bits of unit weights, which are masked away.
    pub(crate) fn keys<'a>(&'a self, filler: &'a [u32], maximum: bool) -> AnyKeys<'a> {
        let narrow = |bits, map: Map<u32>| AnyKeys::Narrow(Keys { bits, map: map.reversed_if(maximum) });
        let wide = |bits, map: Map<u64>| AnyKeys::Wide(Keys { bits, map: map.reversed_if(maximum) });
        match self {
            Weights::Unit => narrow(filler, Map::<u32>::UNIT),
            Weights::U32(w) => narrow(w, Map::<u32>::UNSIGNED),
            Weights::I32(w) => narrow(cast_slice(w), Map::<u32>::SIGNED),
            Weights::F32(w) => narrow(cast_slice(w), Map::<u32>::FLOAT),
            Weights::I64(w) => wide(cast_slice(w), Map::<u64>::SIGNED),
            Weights::F64(w) => wide(cast_slice(w), Map::<u64>::FLOAT),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mix::mix;

    fn keys_of(weights: &Weights, maximum: bool) -> Vec<u64> {
        let filler = [7, 1, 9, 3];
        match weights.keys(&filler, maximum) {
            AnyKeys::Narrow(keys) => (0..weights.count().unwrap_or(4)).map(|e| keys.at(e).into()).collect(),
            AnyKeys::Wide(keys) => (0..weights.count().unwrap_or(4)).map(|e| keys.at(e)).collect(),
        }
    }

    #[test]
    fn floats_are_added_in_order_by_any_number_of_threads() {
        // Large ones swallow the small ones after them, so every other order has another sum.
        let weights: Vec<f64> = (0..LOOKED_UP as u64 + 12_345).map(|e| 1.5f64.powi((mix(e) % 90) as i32)).collect();
        let edges: Vec<u32> = (0..weights.len() as u32).filter(|&e| e % 7 > 0).rev().collect();
        let expected = edges.iter().fold(0.0, |sum, &e| sum + weights[e as usize]);
        for (edges, expected) in [(&edges[..], expected), (&edges[..1], weights[edges[0] as usize]), (&[], 0.0)] {
            for threads in [1, 3] {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
                let total = pool.install(|| Weights::from(&weights).total(edges));
                assert_eq!(total, Total::Float(expected), "{} edges, {threads} threads", edges.len());
            }
        }
    }

    #[test]
    #[cfg(feature = "cuda")]
    fn keys_add_up_to_the_weights() {
        let all: [Weights; 4] = [
            (&[0, 1, 1 << 31, u32::MAX]).into(),
            (&[i32::MIN, -1, 5, i32::MAX]).into(),
            (&[i64::MIN, -1, 5, i64::MIN]).into(),
            Weights::Unit,
        ];
        for weights in all {
            let sum = keys_of(&weights, false).into_iter().map(u128::from).sum();
            assert_eq!(weights.total_of_keys(sum, 4), Some(weights.total(&[0, 1, 2, 3])), "{weights:?}");
        }
        assert_eq!(Weights::from(&[0.5f32]).total_of_keys(7, 1), None);
    }

    fn assert_ascending(weights: Weights) {
        assert!(keys_of(&weights, false).is_sorted_by(|a, b| a < b), "{weights:?}");
        assert!(keys_of(&weights, true).is_sorted_by(|a, b| a > b), "{weights:?}");
    }

    #[test]
    fn keys_keep_the_order_of_every_type() {
        assert_ascending((&[0, 1, 1 << 31, u32::MAX]).into());
        assert_ascending((&[i32::MIN, -1, 0, 1, i32::MAX]).into());
        assert_ascending((&[i64::MIN, -1, 0, 1, (1 << 53) + 1, i64::MAX]).into());
        assert_ascending(
            (&[f32::NEG_INFINITY, f32::MIN, -1.0, -1e-45, 0.0, 1e-45, 1.0, f32::MAX, f32::INFINITY]).into(),
        );
        assert_ascending((&[f64::NEG_INFINITY, f64::MIN, -5e-324, 0.0, 5e-324, f64::MAX, f64::INFINITY]).into());
    }

    #[test]
    fn both_zeros_are_one_and_units_are_all_equal() {
        for maximum in [false, true] {
            let zeros = keys_of(&(&[0.0f32, -0.0]).into(), maximum);
            assert_eq!(zeros[0], zeros[1]);
            let zeros = keys_of(&(&[0.0f64, -0.0]).into(), maximum);
            assert_eq!(zeros[0], zeros[1]);
            let units = keys_of(&Weights::Unit, maximum);
            assert!(units.iter().all(|&k| k == units[0]));
        }
    }

    #[test]
    fn totals_are_exact_beyond_the_type() {
        assert_eq!((Weights::from(&[i64::MAX, i64::MAX])).total(&[0, 1]), Total::Integer(2 * i128::from(i64::MAX)));
        assert_eq!((Weights::from(&[u32::MAX; 3])).total(&[0, 2]), Total::Integer(2 * i128::from(u32::MAX)));
        assert_eq!(Weights::Unit.total(&[4, 5, 6]), Total::Integer(3));
        assert_eq!(Weights::from(&[0.5f32, 0.25]).total(&[]).to_string(), "0.0");
    }
}
