//! Vertices, or trees, that some edges touch, numbered without the others.
//!
//! Where a few vertices have most of the edges, the lightest edges leave most vertices alone. A round on the others only, with
//! new, dense numbers, takes less time and less of the cache.

use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;

use super::list::Names;
use crate::bits::ones;
use crate::buffer::Buffer;
use crate::error::Result;
use crate::par::{block, scan, shared};
use crate::team::each;

/// Bits in a word.
const BITS: usize = 32;

/// Which are touched: of every 32 a bit each, below how many are touched before.
pub(super) struct Touched {
    words: Buffer<u64>,
    /// How many are touched, and how many there are in all.
    pub(super) count: usize,
    all: usize,
}

/// A bit for every vertex or tree, set by edges that touch it.
pub(super) struct Marks {
    /// Each thread has its own: a core waits for what another has written.
    bits: Buffer<u32>,
    len: usize,
    all: usize,
}

impl Marks {
    /// None yet of so many.
    pub(super) fn new(all: usize, threads: usize) -> Result<Self> {
        let len = all.div_ceil(BITS).next_multiple_of(16);
        Ok(Self { bits: Buffer::of_zeros(len * threads)?, len, all })
    }

    /// For all threads to set.
    pub(super) fn shared(&mut self) -> SharedMarks<'_> {
        SharedMarks { bits: shared(&mut self.bits), len: self.len }
    }

    /// Those that are marked, by any thread.
    pub(super) fn touched(&self) -> Result<Touched> {
        let (bits, len): (&[u32], usize) = (&self.bits, self.len);
        let mut words = Buffer::<u64>::of_any(self.all.div_ceil(BITS))?;
        let block = words_of_block(self.all);
        let count = |number: usize, words: &mut [u64]| {
            let mut count = 0;
            for (at, word) in (number * block..).zip(words) {
                let any = bits[at..].iter().step_by(len).fold(0, |any, bits| any | bits);
                *word = count << BITS | u64::from(any);
                count += u64::from(any.count_ones());
            }
            count as usize
        };
        let mut starts: Vec<usize> = each(words.chunks_mut(block), count);
        let count = scan(&mut starts);
        each(words.chunks_mut(block).zip(starts), |_, (words, start)| {
            words.iter_mut().for_each(|word| *word += (start as u64) << BITS);
        });
        Ok(Touched { words, count, all: self.all })
    }
}

/// How many words one task takes.
fn words_of_block(all: usize) -> usize {
    block(all).div_ceil(BITS)
}

/// The marks of all threads.
#[derive(Clone, Copy)]
pub(super) struct SharedMarks<'a> {
    bits: &'a [AtomicU32],
    len: usize,
}

impl<'a> SharedMarks<'a> {
    /// The calling thread's.
    #[inline(always)]
    pub(super) fn mine(&self) -> &'a [AtomicU32] {
        let is_alone = self.bits.len() == self.len;
        let copy = if is_alone { 0 } else { rayon::current_thread_index().unwrap_or(0) };
        &self.bits[self.len * copy..][..self.len]
    }
}

/// Marks one. No other thread writes to these.
#[inline(always)]
pub(super) fn mark(own: &[AtomicU32], v: u32) {
    let word = &own[v as usize / BITS];
    word.store(word.load(Relaxed) | 1 << (v as usize % BITS), Relaxed);
}

impl Touched {
    /// The new numbers of those that are touched.
    pub(super) fn numbers(&self) -> Numbers<'_> {
        Numbers(&self.words)
    }

    /// The label of each, from the labels of those that are touched, `trees` of them; the others get labels of their own behind.
    pub(super) fn spread(&self, labels: &[u32], trees: usize) -> Result<Buffer<u32>> {
        let mut all = Buffer::of_any(self.all)?;
        let block = words_of_block(self.all);
        let words: &[u64] = &self.words;
        let blocks = all.chunks_mut(block * BITS).zip(words.chunks(block));
        each(blocks, |number, (all, words)| {
            let firsts = (number * block * BITS..).step_by(BITS);
            for ((part, &word), first) in all.chunks_mut(BITS).zip(words).zip(firsts) {
                let (before, bits) = ((word >> BITS) as usize, word as u32);
                let others = (trees + first - before) as u32;
                for (label, i) in part.iter_mut().zip(0..) {
                    *label = others + i - (bits & ((1 << i) - 1)).count_ones();
                }
                ones(bits.into()).zip(&labels[before..]).for_each(|(bit, &label)| part[bit] = label);
            }
        });
        Ok(all)
    }

    /// How many trees there are with those that are not touched.
    pub(super) fn with_others(&self, trees: usize) -> usize {
        trees + self.all - self.count
    }
}

/// Vertices by their new numbers.
#[derive(Clone, Copy)]
pub(super) struct Numbers<'a>(&'a [u64]);

impl Names for Numbers<'_> {
    #[inline(always)]
    fn of(self, v: u32) -> u32 {
        let word = self.0[v as usize / BITS];
        (word >> BITS) as u32 + (word as u32 & ((1 << (v as usize % BITS)) - 1)).count_ones()
    }
    #[inline(always)]
    fn prefetch(self, _: u32) {}
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use rayon::prelude::*;

    use crate::mix::mix;

    #[test]
    fn touched_ones_get_new_numbers_and_labels_come_back_to_all() {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
        for (all, some) in [(1, 1), (64, 2), (65, 1), (1000, 3), (100_000, 50), (200_000, 2)] {
            let is_touched = |v: u32| mix(v.into()).is_multiple_of(some);
            let expected: Vec<u32> = (0..all).filter(|&v| is_touched(v)).collect();
            let mut marks = Marks::new(all as usize, 3).unwrap();
            let shared = marks.shared();
            pool.install(|| expected.par_iter().for_each(|&v| mark(shared.mine(), v)));
            let touched = pool.install(|| marks.touched()).unwrap();
            assert_eq!(touched.count, expected.len());
            assert!(expected.iter().map(|&v| touched.numbers().of(v)).eq(0..expected.len() as u32), "{all}");

            // Labels of three trees; the others are alone, in order.
            let labels: Vec<u32> = (0..touched.count as u32).map(|i| i % 3).collect();
            let (mut next, mut alone) = (0..touched.count, 3..);
            let plain =
                (0..all).map(|v| if is_touched(v) { labels[next.next().unwrap()] } else { alone.next().unwrap() });
            let plain: Vec<u32> = plain.collect();
            assert!(pool.install(|| touched.spread(&labels, 3)).unwrap()[..] == plain, "{all}");
            assert_eq!(touched.with_others(3), 3 + all as usize - touched.count);
        }
    }
}
