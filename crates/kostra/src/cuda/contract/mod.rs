//! Contracting a graph on the GPU: what the papers' algorithms share.
//!
//! A round links vertices along chosen edges; [`Trees`] numbers the trees so made, and [`Arcs`] makes them the vertices of
//! the next graph: arcs get new ends, those inside a tree are dropped, and of parallel ones the smallest stays if
//! wished. What arcs lie side by side is settled by radix sort, digit by digit.
//!
//! An arc is four words: ends, key, edge id. 64-bit keys are replaced by the ranks of the edges, once, so all kernels see
//! keys of 32 bits.

mod arcs;
mod sort;
mod trees;

use cudarc::driver::{CudaSlice, LaunchConfig, sys};

pub(super) use self::arcs::Arcs;
pub(super) use self::sort::Word;
pub(super) use self::trees::{Alive, Trees};
use super::collect::{Slots, Solved};
use super::gpu::{Gpu, launch};
use super::module::Module;
use super::resident::{Rows, Solver, address};
use crate::error::{Error, Result};
use crate::run::{Run, Stats};

/// As in the kernels.
const ROW_THREADS: u32 = 256;
const TILE_THREADS: u32 = 256;
const TILE: usize = 4 * TILE_THREADS as usize;

/// Blocks for each multiprocessor that take tiles: as many as can be there at a time.
const TILE_BLOCKS: u32 = 8;

/// A thread for each of so many rows.
pub(super) fn over_rows(rows: usize) -> LaunchConfig {
    let blocks = rows.div_ceil(ROW_THREADS as usize).max(1) as u32;
    LaunchConfig { grid_dim: (blocks, 1, 1), block_dim: (ROW_THREADS, 1, 1), shared_mem_bytes: 0 }
}

/// Blocks for the tiles of so many things.
fn over_tiles(gpu: &Gpu, count: usize) -> LaunchConfig {
    let blocks = (count.div_ceil(TILE) as u32).clamp(1, gpu.multiprocessors * TILE_BLOCKS);
    LaunchConfig { grid_dim: (blocks, 1, 1), block_dim: (TILE_THREADS, 1, 1), shared_mem_bytes: 0 }
}

/// Sets all bits of an array: no edge, no vertex, an empty cell.
pub(super) fn clear<T>(gpu: &Gpu, array: &CudaSlice<T>, len: usize) -> Result<()> {
    let words = (len * size_of::<T>() / 4) as u64;
    launch!(gpu, Module::Contract, "clear", gpu.over(words as usize), &words, array);
    Ok(())
}

/// Links every vertex to itself.
pub(super) fn link_to_self(gpu: &Gpu, links: &CudaSlice<u32>, n: usize) -> Result<()> {
    let n = n as u64;
    launch!(gpu, Module::Contract, "link_to_self", gpu.over(n as usize), &n, links);
    Ok(())
}

/// What tiles tell each other, and numbers that kernels count.
pub(super) struct Tally {
    status: CudaSlice<u64>,
    total: CudaSlice<u32>,
}

impl Tally {
    /// For so many words.
    fn new(gpu: &Gpu, words: usize) -> Result<Self> {
        Ok(Self { status: gpu.room(1 + words)?, total: gpu.stream.alloc_zeros(2)? })
    }

    /// Forgets what was told of so many words.
    fn reset(&mut self, gpu: &Gpu, words: usize) -> Result<()> {
        Ok(gpu.stream.memset_zeros(&mut self.status.slice_mut(..=words))?)
    }

    /// Waits for what the kernels have counted.
    fn total(&self, gpu: &Gpu) -> Result<[usize; 2]> {
        let mut total = [0; 2];
        gpu.stream.memcpy_dtoh(&self.total, &mut total)?;
        gpu.stream.synchronize()?;
        Ok(total.map(|count| count as usize))
    }
}

/// The sum before each of `count` numbers, and before the end, in `sums`; the last is returned.
pub(super) fn scan(
    gpu: &Gpu,
    tally: &mut Tally,
    count: usize,
    numbers: &CudaSlice<u32>,
    sums: &CudaSlice<u32>,
) -> Result<usize> {
    tally.reset(gpu, count.div_ceil(TILE))?;
    let len = count as u64;
    launch!(gpu, Module::Contract, "scan", over_tiles(gpu, count), &len, numbers, sums, &tally.status, &tally.total);
    Ok(tally.total(gpu)?[0])
}

/// The rows that a solver starts from.
pub(super) fn rows_of<'s, K>(solver: &'s Solver<K>, run: &Run) -> Result<&'s Rows<K>> {
    solver.rows.as_ref().ok_or_else(|| Error::Algorithm {
        name: run.algorithm().name().into(),
        what: "this graph has no adjacency lists on the GPU; use kostra, ecl or strut there, or the device cpu".into(),
    })
}

/// The edges that rounds choose: each has a place for every vertex, and vertices at least halve.
pub(super) struct Chosen<'a> {
    gpu: &'a Gpu,
    edges: CudaSlice<u32>,
    used: usize,
    stats: Option<Stats>,
}

impl<'a> Chosen<'a> {
    /// For a graph of `n` vertices.
    pub(super) fn new(gpu: &'a Gpu, n: usize, run: &Run) -> Result<Self> {
        let edges = gpu.room(2 * n)?;
        clear(gpu, &edges, 2 * n)?;
        Ok(Self { gpu, edges, used: 0, stats: run.stats() })
    }

    /// The places of a round of `n` vertices.
    pub(super) fn places(&mut self, n: usize) -> sys::CUdeviceptr {
        let first = self.used;
        self.used += n;
        debug_assert!(self.used <= self.edges.len());
        address(self.gpu, &self.edges) + (first * size_of::<u32>()) as u64
    }

    /// The rounds so far, where statistics are wanted.
    pub(super) fn rounds(&mut self) -> Option<&mut Vec<Vec<(&'static str, f64)>>> {
        self.stats.as_mut().map(|stats| &mut stats.rounds)
    }

    /// What the solve found; the solver keeps the edges.
    pub(super) fn into_solved<K>(self, solver: &mut Solver<K>) -> Solved {
        let chosen = address(self.gpu, &self.edges);
        solver.chosen = Some(self.edges);
        Solved { chosen, slots: Slots::Count(self.used), stats: self.stats }
    }
}
