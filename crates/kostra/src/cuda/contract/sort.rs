//! Putting arcs in order: a radix sort, one split per digit.

use cudarc::driver::DeviceRepr;

use super::{Arcs, TILE_THREADS, over_tiles};
use crate::cuda::gpu::launch;
use crate::cuda::module::Module;
use crate::cuda::resident::address;
use crate::error::Result;

/// As in the kernels.
pub(super) const SPLIT_TILE: usize = 8 * TILE_THREADS as usize;
pub(super) const DIGIT_VALUES: usize = TILE_THREADS as usize;
pub(super) const MOST_DIGITS: usize = 8;
const DIGIT_BITS: u32 = 8;

/// A word of an arc to sort by.
#[derive(Clone, Copy)]
pub(in crate::cuda) enum Word {
    From,
    To,
    /// So many leading bits of those in which keys differ.
    Key(u32),
}

#[derive(Clone, Copy, Default)]
#[repr(C)]
pub(super) struct Digit {
    word: u32,
    shift: u32,
    bits: u32,
}

#[derive(Clone, Copy, Default)]
#[repr(C)]
struct Digits {
    count: u32,
    at: [Digit; MOST_DIGITS],
}

// SAFETY: as the structs in contract/split.cuh.
#[allow(unsafe_code)]
unsafe impl DeviceRepr for Digit {}
// SAFETY: as above.
#[allow(unsafe_code)]
unsafe impl DeviceRepr for Digits {}

/// The digits of so many bits of a word, the last first.
pub(super) fn digits(word: u32, shift: u32, bits: u32) -> impl Iterator<Item = Digit> {
    let count = bits.div_ceil(DIGIT_BITS);
    let width = bits.div_ceil(count.max(1));
    (0..count).map(move |i| Digit { word, shift: shift + i * width, bits: width })
}

/// The bits that numbers below `count` take.
fn bits_below(count: usize) -> u32 {
    usize::BITS - count.saturating_sub(1).leading_zeros()
}

impl Arcs<'_> {
    /// Sorts by these words, the most significant last. Equals keep their order.
    pub(in crate::cuda) fn sort(&mut self, words: &[Word]) -> Result<()> {
        let (ends, keys) = (bits_below(self.vertices), self.key_bits);
        self.sort_by(words.iter().flat_map(|word| match word {
            Word::From => digits(0, 0, ends),
            Word::To => digits(1, 0, ends),
            Word::Key(leading) => digits(2, keys.saturating_sub(*leading), keys.min(*leading)),
        }))
    }

    pub(super) fn sort_by(&mut self, by: impl Iterator<Item = Digit>) -> Result<()> {
        let (gpu, count, shape) = (self.gpu, self.count as u64, over_tiles(self.gpu, self.count));
        let mut digits = Digits::default();
        by.zip(&mut digits.at).for_each(|(digit, at)| {
            *at = digit;
            digits.count += 1;
        });
        gpu.stream.memset_zeros(&mut self.counts)?;
        launch!(gpu, Module::Contract, "count_digits", shape, &self.list, &count, &digits, &self.counts);
        for (i, digit) in digits.at[..digits.count as usize].iter().enumerate() {
            self.tally.reset(gpu, self.count.div_ceil(SPLIT_TILE) * DIGIT_VALUES)?;
            let Self { list, spare, tally, counts, .. } = &*self;
            let counts = address(gpu, counts) + (i * DIGIT_VALUES * size_of::<u32>()) as u64;
            launch!(gpu, Module::Contract, "split", shape, list, spare, &count, digit, &counts, &tally.status);
            std::mem::swap(&mut self.list, &mut self.spare);
        }
        Ok(())
    }
}
