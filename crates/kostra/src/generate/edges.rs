//! From drawn pairs to the arrays of a graph: simple, sorted by (u, v), in parallel.
//!
//! A pair is one `u64`, `u << 32 | v` with u < v, so that numbers sort as pairs do. Models draw their pairs in
//! blocks. Each block is dealt to buckets by u while it is in cache; then every bucket is collected, sorted and freed
//! of repeats on its own, also in cache. Sorting makes the order of drawing irrelevant, so blocks may come in any
//! order. No step is longer than a block or a bucket, so work stops soon after the watch says so. The peak is 16
//! bytes an edge, 4 more than the finished graph takes.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use rayon::prelude::*;

use super::points::Point;
use super::spec::Spec;
use crate::error::{Error, Result};
use crate::par::split;
use crate::watch::Watch;

/// Pairs in a block: 2 MB, dealt within the cache. No graph depends on it, so tests use less to have several blocks.
pub(super) const BLOCK: u64 = if cfg!(test) { 1 << 11 } else { 1 << 18 };
/// Pairs in a bucket, on average: 256 KB, sorted within the L2 cache.
const BUCKET: u64 = if cfg!(test) { 1 << 9 } else { 1 << 15 };
/// More buckets than this would cut a block into pieces shorter than a few cache lines.
const MAX_BUCKETS: u64 = 1 << 12;

/// What a model makes: edges with u < v, sorted by (u, v).
pub(super) struct Edges {
    /// The number of vertices.
    pub(super) n: u32,
    pub(super) src: Vec<u32>,
    pub(super) dst: Vec<u32>,
    /// Where the vertices lie, when lengths are to be the weights.
    pub(super) points: Option<Vec<Point>>,
}

/// Appends the pair of u and v, unless it is a loop.
#[inline]
pub(super) fn push(pairs: &mut Vec<u64>, u: u32, v: u32) {
    if u != v {
        pairs.push(u64::from(u.min(v)) << 32 | u64::from(u.max(v)));
    }
}

/// Cuts `items` that draw `edges` pairs in all into ranges with at most about a block of either.
pub(super) fn ranges(items: u64, edges: u64) -> Vec<Range<u64>> {
    let blocks = items.max(edges).div_ceil(BLOCK).clamp(1, items.max(1));
    let len = items.div_ceil(blocks).max(1);
    (0..items.div_ceil(len)).map(|block| block * len..((block + 1) * len).min(items)).collect()
}

/// The edges of blocks whose pairs come in any order, with repeats; about `edges` pairs in all on `n` vertices.
pub(super) fn sorted<B: Sync>(
    spec: &Spec,
    watch: &Watch,
    n: u32,
    edges: u64,
    blocks: &[B],
    draw: impl Fn(&B, &mut Vec<u64>) + Sync,
) -> Result<Edges> {
    let buckets = (edges / BUCKET).clamp(1, MAX_BUCKETS).next_power_of_two();
    let shift = 32 + (u32::BITS - n.leading_zeros()).saturating_sub(buckets.trailing_zeros());
    let meter = Meter::new(watch, "generate", blocks.len());
    let dealt: Vec<Dealt> = blocks
        .par_iter()
        .map_init(Vec::new, |pairs, block| {
            pairs.clear();
            draw(block, pairs);
            meter.step()?;
            Ok(deal(pairs, shift, buckets as usize))
        })
        .collect::<Result<_>>()?;

    let meter = Meter::new(watch, "sort", buckets as usize);
    let parts: Vec<Vec<u64>> = (0..buckets as usize)
        .into_par_iter()
        .map_init(Vec::new, |pairs, bucket| {
            pairs.clear();
            for block in &dealt {
                pairs.extend_from_slice(block.bucket(bucket));
            }
            pairs.sort_unstable();
            if !spec.multi {
                pairs.dedup();
            }
            meter.step()?;
            Ok(pairs.as_slice().to_vec())
        })
        .collect::<Result<_>>()?;
    drop(dealt);
    join(n, parts)
}

/// The edges of blocks whose pairs come simple and sorted, block after block.
pub(super) fn in_order<B: Sync>(
    watch: &Watch,
    n: u32,
    blocks: &[B],
    draw: impl Fn(&B, &mut Vec<u64>) + Sync,
) -> Result<Edges> {
    let meter = Meter::new(watch, "generate", blocks.len());
    let parts = blocks
        .par_iter()
        .map_init(Vec::new, |pairs, block| {
            pairs.clear();
            draw(block, pairs);
            meter.step()?;
            Ok(pairs.as_slice().to_vec())
        })
        .collect::<Result<_>>()?;
    join(n, parts)
}

/// A block's pairs, bucket by bucket.
struct Dealt {
    pairs: Vec<u64>,
    /// Where each bucket ends.
    ends: Vec<u32>,
}

impl Dealt {
    fn bucket(&self, bucket: usize) -> &[u64] {
        let start = if bucket == 0 { 0 } else { self.ends[bucket - 1] };
        &self.pairs[start as usize..self.ends[bucket] as usize]
    }
}

/// A counting sort by bucket.
fn deal(pairs: &[u64], shift: u32, buckets: usize) -> Dealt {
    let mut ends = vec![0u32; buckets];
    for pair in pairs {
        ends[(pair >> shift) as usize] += 1;
    }
    let mut start = 0;
    for end in &mut ends {
        // For now where the bucket starts; dealing moves it to the end.
        (*end, start) = (start, start + *end);
    }
    let mut dealt = vec![0u64; pairs.len()];
    for &pair in pairs {
        let cursor = &mut ends[(pair >> shift) as usize];
        dealt[*cursor as usize] = pair;
        *cursor += 1;
    }
    Dealt { pairs: dealt, ends }
}

/// Splits the pairs of all parts into the two arrays, freeing each part as it goes.
fn join(n: u32, parts: Vec<Vec<u64>>) -> Result<Edges> {
    let edges: usize = parts.iter().map(Vec::len).sum();
    if u32::try_from(edges).is_err() {
        return Err(Error::TooLarge { what: "edges", count: edges as u64 });
    }
    let (mut src, mut dst) = (vec![0; edges], vec![0; edges]);
    let lengths: Vec<usize> = parts.iter().map(Vec::len).collect();
    let arrays = split(&mut src, &lengths).into_par_iter().zip(split(&mut dst, &lengths));
    parts.into_par_iter().zip(arrays).for_each(|(pairs, (src, dst))| {
        for (pair, (u, v)) in pairs.into_iter().zip(src.iter_mut().zip(dst)) {
            (*u, *v) = ((pair >> 32) as u32, pair as u32);
        }
    });
    Ok(Edges { n, src, dst, points: None })
}

/// Counts the steps of a phase, from any thread.
pub(super) struct Meter<'a> {
    watch: &'a Watch,
    phase: &'static str,
    done: AtomicU64,
    total: u64,
}

impl<'a> Meter<'a> {
    pub(super) fn new(watch: &'a Watch, phase: &'static str, steps: usize) -> Self {
        Self { watch, phase, done: AtomicU64::new(0), total: steps as u64 }
    }

    /// One more step is done; fails when the work is to stop.
    pub(super) fn step(&self) -> Result<()> {
        // Relaxed: the count orders nothing but itself.
        let done = self.done.fetch_add(1, Ordering::Relaxed) + 1;
        self.watch.step(self.phase, done, self.total)
    }
}
