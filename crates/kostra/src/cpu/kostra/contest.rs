//! The contest for the smallest edge of every tree.

use std::ops::Range;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicU64};

use crate::bits::ones;
use crate::buffer::Buffer;
use crate::error::Result;
use crate::graph::Graph;
use crate::par::{self, block, prefetch, shared};
use crate::team::each;
use crate::watch::Watch;
use crate::weight::{Key, Keys};

/// How many trees ahead memory is asked for: a miss takes as long as some twenty of them.
pub(super) const AHEAD: usize = 32;

/// Edges that are handled together: all ask for memory before any of them uses it.
pub(super) const BATCH: usize = 128;

/// Cells that are emptied together, as many as a line of the cache holds; and those for whose lines a word has a bit each.
const LINE: usize = 8;
const WORD: usize = 64 * LINE;

/// Edges that a thread offers for each line of its cells below which it empties them by the line. On cliques, sixteen threads
/// together have 6 % less to do; with bits to look at for every offer, other graphs take 2 to 5 % longer.
const FEW_OFFERS: usize = 2;

/// The cell of a tree to which no edge has been offered.
pub(super) const EMPTY: u64 = u64::MAX;

/// For every tree the cell of the smallest edge that was offered to it: short key above, position below.
///
/// Threads that share cells slow each other down: a core waits for every cell that another has touched, and competing
/// takes locked instructions. So where there is room, each thread has cells of its own, which are merged at the end. It
/// empties them when it first needs them, as they are then in its cache: all at once or, where its edges are [few](FEW_OFFERS), by the
/// line, as what it never needs, most of a local graph, is then neither emptied nor merged.
pub(super) struct Cells {
    cells: Buffer<u64>,
    /// For each copy, a bit for every line: whether it was emptied for these trees. Of any value until the copy is in use.
    emptied: Buffer<u64>,
    /// Whether copies are emptied by the line.
    by_line: bool,
    /// For how many threads there may be cells when trees are most.
    most: usize,
    threads: usize,
    trees: usize,
    /// Which copies are in use, and may hold offers: of as many as there are threads, or of one, which is all emptied.
    used: Vec<AtomicBool>,
    /// Whether each thread has its own, or one thread alone is to offer.
    own: bool,
}

/// The cells that one thread offers to.
#[derive(Clone, Copy)]
pub(super) struct Ballot<'a> {
    cells: &'a [AtomicU64],
    /// A bit for every line that is emptied; none where all are.
    emptied: &'a [AtomicU64],
    /// Whether no other thread offers to them.
    own: bool,
}

/// The cells of all threads.
#[derive(Clone, Copy)]
pub(super) struct Ballots<'a> {
    cells: &'a [AtomicU64],
    emptied: &'a [AtomicU64],
    trees: usize,
    used: &'a [AtomicBool],
    /// Whether each thread has its own.
    own: bool,
}

impl<'a> Ballots<'a> {
    /// The calling thread's.
    pub(super) fn mine(&self) -> Ballot<'a> {
        if self.used.len() == 1 {
            return Ballot { cells: self.cells, emptied: &[], own: self.own };
        }
        let (copy, words) = (rayon::current_thread_index().unwrap_or(0), self.trees.div_ceil(WORD));
        let cells = &self.cells[copy * self.trees..][..self.trees];
        let by_line = !self.emptied.is_empty();
        let emptied = if by_line { &self.emptied[copy * words..][..words] } else { &[] };
        // Relaxed: only this thread uses its copy.
        if !self.used[copy].load(Relaxed) {
            match by_line {
                true => emptied.iter().for_each(|word| word.store(0, Relaxed)),
                false => cells.iter().for_each(|cell| cell.store(EMPTY, Relaxed)),
            }
            self.used[copy].store(true, Relaxed);
        }
        Ballot { cells, emptied, own: self.own }
    }
}

impl Ballot<'_> {
    /// Empties the line of a cell, unless that has been done.
    #[inline(always)]
    fn empty(&self, tree: u32) {
        let word = &self.emptied[tree as usize / WORD];
        let (seen, bit) = (word.load(Relaxed), 1 << (tree as usize / LINE % 64));
        if seen & bit == 0 {
            word.store(seen | bit, Relaxed);
            let first = tree as usize / LINE * LINE;
            self.cells[first..].iter().take(LINE).for_each(|cell| cell.store(EMPTY, Relaxed));
        }
    }

    /// Asks for the cell of a tree, which will be needed soon.
    #[inline(always)]
    pub(super) fn prefetch_one(&self, tree: u32) {
        prefetch(self.cells, tree as usize);
    }

    /// Asks for the cells of two trees, which will be needed soon.
    #[inline(always)]
    pub(super) fn prefetch(&self, u: u32, v: u32) {
        self.prefetch_one(u);
        self.prefetch_one(v);
    }
}

impl Cells {
    /// Room for so many trees, `most` times.
    pub(super) fn new(trees: usize, most: usize, threads: usize) -> Result<Self> {
        Ok(Self {
            cells: Buffer::of_any(trees * most)?,
            emptied: Buffer::of_any(most * trees.div_ceil(WORD) + threads)?,
            by_line: false,
            most,
            threads,
            trees,
            used: Vec::new(),
            own: false,
        })
    }

    /// Takes new memory for so many trees and fewer, and hands over the old.
    pub(super) fn shrink(&mut self, trees: usize) -> Result<Buffer<u64>> {
        let new = Self::new(trees, self.most, self.threads)?;
        Ok(std::mem::replace(self, new).cells)
    }

    /// Empty cells for so many trees, to which one thread alone offers about so many edges, or all do.
    pub(super) fn clear(&mut self, trees: usize, edges: usize, is_alone: bool) {
        let is_own = !is_alone && trees * self.threads <= self.cells.len();
        let copies = if is_own { self.threads } else { 1 };
        if copies == 1 {
            each(self.cells[..trees].chunks_mut(block(trees)), |_, part| part.fill(EMPTY));
        }
        self.trees = trees;
        self.own = is_alone || is_own;
        self.by_line = copies > 1 && edges * LINE < FEW_OFFERS * copies * trees;
        self.used.clear();
        self.used.resize_with(copies, || AtomicBool::new(copies == 1));
    }

    /// The cells, for all threads to offer to.
    pub(super) fn ballots(&mut self) -> Ballots<'_> {
        let Self { trees, own, by_line, ref used, .. } = *self;
        let bits = if by_line { used.len() * trees.div_ceil(WORD) } else { 0 };
        Ballots {
            cells: shared(&mut self.cells[..trees * used.len()]),
            emptied: shared(&mut self.emptied[..bits]),
            trees,
            used,
            own,
        }
    }

    /// The smallest of all copies, in the first. `id` tells the edge at a position.
    pub(super) fn merge<K: Key>(&mut self, contest: &Contest<K>, id: impl Fn(u32) -> u32 + Sync) -> &mut [u64] {
        let (trees, copies) = (self.trees, self.used.len());
        let (best, others) = self.cells[..trees * copies].split_at_mut(trees);
        if copies == 1 {
            return best;
        }
        let used: Vec<bool> = self.used.iter_mut().map(|used| *used.get_mut()).collect();
        let (emptied, words, by_line): (&[u64], usize, bool) = (&self.emptied, trees.div_ceil(WORD), self.by_line);
        let bits = |copy: usize, word: usize| match (used[copy], by_line) {
            (false, _) => 0,
            (true, false) => u64::MAX,
            (true, true) => emptied[copy * words + word],
        };
        let merge = |best: &mut [u64], others: &[u64]| {
            for (best, &other) in best.iter_mut().zip(others) {
                *best = if contest.smaller(other, *best, &id) { other } else { *best };
            }
        };
        // All copies count: others' cells come from the caches of other cores.
        let block = block(trees * copies).div_ceil(copies).next_multiple_of(WORD);
        each(best.chunks_mut(block), |number, best| {
            for (word, best) in (number * block / WORD..).zip(best.chunks_mut(WORD)) {
                for line in ones(!bits(0, word)) {
                    best.iter_mut().skip(line * LINE).take(LINE).for_each(|cell| *cell = EMPTY);
                }
                for (copy, cells) in (1..).zip(others.chunks_exact(trees)) {
                    let cells = &cells[word * WORD..];
                    match bits(copy, word) {
                        u64::MAX => merge(best, cells),
                        lines => ones(lines).for_each(|line| {
                            let end = best.len().min((line + 1) * LINE);
                            merge(&mut best[line * LINE..end], &cells[line * LINE..]);
                        }),
                    }
                }
            }
        });
        best
    }
}

pub(super) struct Contest<'a, K> {
    pub(super) graph: &'a Graph<'a>,
    pub(super) keys: Keys<'a, K>,
    low: K,
    /// How many edges of the graph one task takes: whole words of a bit set.
    pub(super) block: usize,
    pub(super) threads: usize,
    pub(super) watch: &'a Watch,
}

impl<'a, K: Key> Contest<'a, K> {
    pub(super) fn new(graph: &'a Graph<'a>, keys: Keys<'a, K>, low: K, watch: &'a Watch) -> Self {
        let threads = if graph.edges() < par::PARALLEL_FROM { 1 } else { rayon::current_num_threads() };
        let block = par::block(graph.edges()).min(1 << 15).next_multiple_of(64);
        Self { graph, keys, low, block, threads, watch }
    }

    /// The upper half of the cell of edge `e`.
    #[inline(always)]
    pub(super) fn short(&self, e: usize) -> u64 {
        self.keys.at(e).shortened(self.low) << 32
    }

    /// The rank of an edge of which this is the short key with the id behind it.
    #[inline(always)]
    pub(super) fn ranked(&self, entry: u64) -> K::Ranked {
        if K::SHORT {
            // The short key is the whole, and need not be looked up.
            let key: K = bytemuck::cast((entry >> 32) as u32);
            return key.ranked(entry as u32);
        }
        self.keys.ranked(entry as u32 as usize)
    }

    /// Whether the first cell is the smaller. `id` tells the edge at a position.
    #[inline(always)]
    fn smaller(&self, mine: u64, seen: u64, id: impl Fn(u32) -> u32) -> bool {
        if !K::SHORT && (mine ^ seen) >> 32 == 0 && mine != seen { self.precedes(mine, seen, id) } else { mine < seen }
    }

    /// As [`smaller`](Self::smaller) where the short keys are equal: looks at the keys themselves.
    #[cold]
    fn precedes(&self, mine: u64, seen: u64, id: impl Fn(u32) -> u32) -> bool {
        let rank = |cell: u64| self.keys.ranked(id(cell as u32) as usize);
        rank(mine) < rank(seen)
    }

    /// Offers a batch of edges to their trees: ends and cell of each, at most [`BATCH`].
    #[inline(always)]
    pub(super) fn offer(&self, ballot: Ballot, edges: impl Iterator<Item = (u32, u32, u64)>, id: impl Fn(u32) -> u32) {
        if ballot.own {
            let put = |tree: u32, mine: u64| {
                let cell = &ballot.cells[tree as usize];
                let seen = cell.load(Relaxed);
                // Always a store, so that there is no branch to mispredict.
                let mut least = mine.min(seen);
                if !K::SHORT && (mine ^ seen) >> 32 == 0 {
                    least = if self.smaller(mine, seen, &id) { mine } else { seen };
                }
                cell.store(least, Relaxed);
            };
            if ballot.emptied.is_empty() {
                for (u, v, mine) in edges {
                    put(u, mine);
                    put(v, mine);
                }
            } else {
                for (u, v, mine) in edges {
                    for tree in [u, v] {
                        ballot.empty(tree);
                        put(tree, mine);
                    }
                }
            }
            return;
        }
        // First find who has a chance, without a branch to mispredict; then let them compete.
        let (mut hopeful, mut count) = ([(0u32, 0u64); 2 * BATCH], 0);
        for (u, v, mine) in edges {
            for tree in [u, v] {
                let seen = ballot.cells[tree as usize].load(Relaxed);
                hopeful[count % (2 * BATCH)] = (tree, mine);
                count += usize::from(if K::SHORT { mine < seen } else { mine >> 32 <= seen >> 32 });
            }
        }
        for &(tree, mine) in &hopeful[..count] {
            let cell = &ballot.cells[tree as usize];
            let mut seen = cell.load(Acquire);
            while self.smaller(mine, seen, &id) {
                match cell.compare_exchange_weak(seen, mine, Release, Acquire) {
                    Ok(_) => break,
                    Err(other) => seen = other,
                }
            }
        }
    }

    /// Offers every edge of the graph to its ends; self-loops offer nothing.
    pub(super) fn offer_all(&self, ballots: Ballots) -> Result<()> {
        let block = self.block;
        let (src, dst) = (self.graph.sources().chunks(block), self.graph.targets().chunks(block));
        let blocks = each(src.zip(dst), |number, (src, dst)| {
            self.watch.check()?;
            let (ballot, first, all_src, all_dst) = (ballots.mine(), number * block, src, dst);
            for (number, (src, dst)) in src.chunks(BATCH).zip(dst.chunks(BATCH)).enumerate() {
                let ahead = (number + 1) * BATCH..(number + 2) * BATCH;
                for &v in all_src.get(ahead.clone()).into_iter().chain(all_dst.get(ahead)).flatten() {
                    ballot.prefetch_one(v);
                }
                let edges = (first + number * BATCH..).zip(src.iter().zip(dst));
                let cell = |e: usize, loops: bool| if loops { EMPTY } else { self.short(e) | e as u64 };
                self.offer(ballot, edges.map(|(e, (&u, &v))| (u, v, cell(e, u == v))), |e| e);
            }
            Ok(())
        });
        blocks.into_iter().collect()
    }

    /// The edges that `mask` says, 64 at a time.
    pub(super) fn select(&self, mask: impl Fn(Range<usize>) -> u64 + Sync) -> Result<Selected> {
        let mut selected = Selected { bits: Buffer::of_any(self.graph.edges().div_ceil(64))?, counts: Vec::new() };
        self.select_again(&mut selected, mask)?;
        Ok(selected)
    }

    /// The same in memory that is there.
    pub(super) fn select_again(
        &self,
        selected: &mut Selected,
        mask: impl Fn(Range<usize>) -> u64 + Sync,
    ) -> Result<()> {
        let (m, block) = (self.graph.edges(), self.block);
        let select = |number: usize, words: &mut [u64]| {
            self.watch.check()?;
            let mut count = 0;
            for (word, start) in words.iter_mut().zip((number * block..).step_by(64)) {
                *word = mask(start..m.min(start + 64));
                count += word.count_ones() as usize;
            }
            Ok(count)
        };
        selected.counts = each(selected.bits.chunks_mut(block / 64), select).into_iter().collect::<Result<_>>()?;
        Ok(())
    }

    /// Hands over the selected edges of a block, in batches, after asking for their ends and keys.
    #[inline(always)]
    pub(super) fn each_batch(&self, number: usize, selected: &[u64], mut act: impl FnMut(&[u32])) -> Result<()> {
        self.watch.check()?;
        let (src, dst) = (self.graph.sources(), self.graph.targets());
        let (mut batch, mut held) = ([0; BATCH], 0);
        for (&word, first) in selected.iter().zip(((number * self.block) as u32..).step_by(64)) {
            if held + 64 > BATCH {
                act(&batch[..held]);
                held = 0;
            }
            for e in ones(word).map(|bit| first + bit as u32) {
                prefetch(src, e as usize);
                prefetch(dst, e as usize);
                self.keys.prefetch(e as usize);
                batch[held] = e;
                held += 1;
            }
        }
        act(&batch[..held]);
        Ok(())
    }
}

/// Some edges of the graph: a bit for each, and how many there are in each block.
pub(super) struct Selected {
    pub(super) bits: Buffer<u64>,
    pub(super) counts: Vec<usize>,
}

impl Selected {
    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.counts.iter().sum()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::weight::AnyKeys;

    #[test]
    fn offers_of_any_threads_are_merged_and_nothing_else() {
        const OFFERING: [&[usize]; 6] = [&[0, 1, 2], &[2], &[1], &[], &[0], &[1, 2]];
        let graph = Graph::from_edges(3, &[0, 1], &[1, 2], vec![5u32, 7]).unwrap();
        let AnyKeys::Narrow(keys) = graph.keys(false) else { unreachable!("weights of 32 bits") };
        let watch = Watch::default();
        let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
        pool.install(|| {
            let contest = Contest { graph: &graph, keys, low: 0u32, block: 64, threads: 3, watch: &watch };
            // Room for a copy each, emptied by the line or at once, and for one that all share. Trees become fewer.
            for (most, edges) in [(3, 0), (3, 10_000), (1, 0)] {
                let mut cells = Cells::new(1003, most, 3).unwrap();
                for (trees, offering) in
                    [1003, 1000, 513, 512, 20].into_iter().flat_map(|trees| OFFERING.map(|o| (trees, o)))
                {
                    cells.clear(trees, edges, false);
                    let (middle, last) = (trees as u32 / 2, trees as u32 - 1);
                    let ballots = cells.ballots();
                    // Every thread of the pool says something else of two trees, and all something of a third.
                    rayon::broadcast(|context| {
                        let thread = context.index() as u64;
                        if offering.contains(&context.index()) {
                            let far = middle + 1 + thread as u32;
                            let edges = [(thread as u32, middle, 90 - thread), (last, far, 70 + thread)];
                            contest.offer(ballots.mine(), edges.into_iter(), |at| at);
                        }
                    });
                    let mut expected = vec![EMPTY; trees];
                    for &thread in offering {
                        let (mine, other, far) = (90 - thread as u64, 70 + thread as u64, middle as usize + 1 + thread);
                        for (tree, cell) in
                            [(thread, mine), (middle as usize, mine), (last as usize, other), (far, other)]
                        {
                            expected[tree] = expected[tree].min(cell);
                        }
                    }
                    assert!(
                        *cells.merge(&contest, |at| at) == expected[..],
                        "{most} copies, {trees} trees, {edges} edges, offers of {offering:?}"
                    );
                }
            }
        });
    }
}
