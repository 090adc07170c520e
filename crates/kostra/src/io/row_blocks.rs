//! Binary adjacency lists that are passed on, block by block, and never held or mapped as a whole; [`rows`](super::rows) has
//! the work on the arcs.

use std::marker::PhantomData;

use bytemuck::Pod;

use super::balance::Bits;
use super::edges::{Blocks, Edges, Keep, Resume, Taker, Then, Wrong, join};
use super::rows::{PIECE, Part, Rows};
use super::source::Source;
use super::strand::Strand;
use crate::buffer::Buffer;
use crate::error::Result;
use crate::stream::Filter;
use crate::weight::Weights;

/// Pieces that a thread reads at a time.
const PIECES: usize = 4;

/// A weight of arcs as it is kept: `()` where there are none.
pub(super) trait Kept: Pod + Bits + Send + Sync {
    fn weights(all: &[Self]) -> Weights<'_>;
}

macro_rules! kept {
    ($($type:ty, $all:ident => $weights:expr);*) => {$(
        impl Kept for $type {
            fn weights($all: &[Self]) -> Weights<'_> {
                $weights
            }
        }
    )*};
}
kept!((), _all => Weights::Unit; u32, all => all.into(); i32, all => all.into(); i64, all => all.into());

/// A file of rows that is read a part at a time, at up to three places at once.
pub(super) struct RowFile<E> {
    pub(super) ends: Buffer<E>,
    pub(super) arcs: usize,
    pub(super) targets_at: u64,
    pub(super) ends_at: u64,
    pub(super) weights_at: u64,
}

impl<E: Pod + Ord + Into<u64> + Send + Sync> RowFile<E> {
    fn check_ends(&self, file: &str) -> Result<()> {
        let (ends_at, targets_at) = (self.ends_at, self.targets_at);
        let rows = Rows {
            file: file.into(),
            ends: &self.ends,
            first: 0,
            targets: &[],
            weights: &[(); 0],
            ends_at,
            targets_at,
        };
        rows.check_ends(self.arcs)
    }
}

/// Passes the edges on, block by block: those with u <= v, and then all arcs if they turn out not to be symmetric.
pub(super) fn pass<E, W>(source: &mut Source, file: &RowFile<E>, taker: &mut dyn Taker) -> Result<(Edges, u64)>
where
    E: Pod + Ord + Into<u64> + Send + Sync,
    W: Kept,
{
    let resume = taker.resume();
    let vertices = file.ends.len() as u64;
    file.check_ends(&source.name())?;
    let keep = resume.map_or(Keep::Upper, |resume| resume.keep);
    let edges = pass_keeping::<E, W>(source, file, keep, resume, taker)?;
    if keep == Keep::All || edges.balance.is_symmetric() {
        return Ok((edges, vertices));
    }
    taker.again(edges)?;
    Ok((pass_keeping::<E, W>(source, file, Keep::All, None, taker)?, vertices))
}

fn pass_keeping<E, W>(
    source: &mut Source,
    file: &RowFile<E>,
    keep: Keep,
    resume: Option<Resume>,
    taker: &mut dyn Taker,
) -> Result<Edges>
where
    E: Pod + Ord + Into<u64> + Send + Sync,
    W: Kept,
{
    let mut edges = taker.begin(keep)?;
    if let Some(Resume { spot, entries, balance, .. }) = resume {
        (edges.spot, edges.entries, edges.balance) = (spot, entries, balance);
    }
    let done = edges.entries as usize;
    let targets = source.strand(file.targets_at + 4 * done as u64)?;
    let weights = source.strand(file.weights_at + (size_of::<W>() * done) as u64)?;
    join(
        source,
        &Passed { file, name: source.name(), keep, done, targets, weights, kind: PhantomData::<W> },
        edges,
        taker,
    )
}

/// Rows that are passed on.
struct Passed<'a, E, W> {
    file: &'a RowFile<E>,
    name: String,
    keep: Keep,
    /// Arcs that were taken before, and are not read again.
    done: usize,
    targets: Strand,
    weights: Strand,
    kind: PhantomData<W>,
}

/// Some arcs, and what was kept of a piece of them.
struct Block<W> {
    first: usize,
    targets: Vec<u32>,
    weights: Vec<W>,
    part: Part<W>,
}

impl<W: Pod> Default for Block<W> {
    fn default() -> Self {
        Self { first: 0, targets: Vec::new(), weights: Vec::new(), part: Part::default() }
    }
}

impl<W: Pod> Block<W> {
    /// The bytes of targets and weights.
    fn bytes(&mut self) -> [&mut [u8]; 2] {
        let weights = if size_of::<W>() > 0 { bytemuck::cast_slice_mut(&mut self.weights) } else { &mut [] };
        [bytemuck::cast_slice_mut(&mut self.targets), weights]
    }
}

impl<E, W> Blocks for Passed<'_, E, W>
where
    E: Pod + Ord + Into<u64> + Send + Sync,
    W: Kept,
{
    type Block = Block<W>;

    fn next(&self, source: &mut Source, number: u64, block: &mut Block<W>) -> Result<bool> {
        block.first = self.done + number as usize * PIECES * PIECE;
        let count = self.file.arcs.saturating_sub(block.first).min(PIECES * PIECE);
        if count == 0 {
            return Ok(false);
        }
        block.targets.resize(count, 0);
        block.weights.resize(count, W::zeroed());
        source.report(block.first as u64, self.file.arcs as u64)?;
        let [targets, weights] = block.bytes();
        self.targets.read_in_order(targets)?;
        self.weights.read_in_order(weights)?;
        Ok(true)
    }

    fn read(&self, block: &mut Block<W>, part: &mut Edges, filter: Option<&Filter>) -> Result<Then, Wrong> {
        let (first, done) = (block.first, block.first - self.done);
        let [targets, weights] = block.bytes();
        self.targets.read_at(4 * done as u64, targets)?;
        self.weights.read_at((size_of::<W>() * done) as u64, weights)?;
        let Block { targets, weights, part: kept, .. } = block;
        let RowFile { ends, ends_at, targets_at, .. } = self.file;
        let (file, ends_at, targets_at) = (self.name.clone(), *ends_at, *targets_at);
        let rows = Rows { file, ends: &ends[..], first, targets, weights, ends_at, targets_at };
        for start in (0..targets.len()).step_by(PIECE) {
            let piece = start..(start + PIECE).min(targets.len());
            if self.keep == Keep::Upper {
                kept.keep_upper(&rows, piece);
            } else {
                kept.keep_all(&rows, piece);
            }
            if kept.is_wrong {
                return Err(rows.wrong_target().into());
            }
            part.balance.join(kept.balance);
            let len = kept.len;
            part.part.add(&kept.src[..len], &kept.dst[..len], &W::weights(&kept.weights[..len]), filter);
        }
        (part.entries, part.vertices) = (targets.len() as u64, ends.len() as u64);
        part.spot.offset = first as u64 + part.entries;
        Ok(Then::Next)
    }
}
