//! Forests on their way back from a GPU.
//!
//! Solvers leave edge ids in no order, with gaps. They come back as a bit for every edge of the graph: in order without being sorted,
//! and in fewer bytes unless there are more than 32 edges for each of the forest. Then ids would be less, but the bits are still a
//! hundredth of the edges that were sent, or a millisecond of the bus for 400 million that were there. What the host must know
//! before it can list them, how many there are in each share of the bits, comes with them, and so does the sum of their keys: it
//! waits for the GPU once.

use cudarc::driver::{CudaSlice, LaunchConfig, sys};
use rayon::prelude::*;

use super::edges::Edges;
use super::gpu::{Gpu, THREADS, launch};
use super::module::Module;
use super::resident::{DeviceKey, address};
use crate::bits::list_ones;
use crate::buffer::Buffer;
use crate::error::Result;
use crate::forest::Forest;
use crate::graph::Graph;
use crate::par::split;
use crate::run::Stats;

/// Shares of the bits at most, as in the kernel: each of its blocks counts one.
const SHARES: usize = 512;

/// Words before the bits, as in the kernel: the sum of the lower halves of all keys, that of the upper ones, and the counts.
const HEAD: usize = 2 + SHARES / 2;

/// The forest of a solve, still on the GPU.
pub(super) struct Solved {
    /// Where the edge ids are, with gaps.
    pub(super) chosen: sys::CUdeviceptr,
    pub(super) slots: Slots,
    pub(super) stats: Option<Stats>,
}

/// How many places there are for edge ids.
#[derive(Clone, Copy)]
pub(super) enum Slots {
    /// So many.
    Count(usize),
    /// As many as the 32-bit number at that address says.
    At(sys::CUdeviceptr),
}

/// A forest's edges, marked on the GPU among all of a graph.
pub(super) struct Marked {
    words: CudaSlice<u64>,
    shares: u32,
}

/// The same on the host.
pub(super) struct Collected {
    /// Their ids, ascending.
    pub(super) edges: Buffer<u32>,
    /// The sum of their keys.
    keys: u128,
}

/// Fetches the chosen ones of these edges.
pub(super) fn collect<K: DeviceKey>(gpu: &Gpu, solved: &Solved, edges: &Edges<K>) -> Result<Collected> {
    Marked::new(gpu, solved.chosen, solved.slots, edges)?.fetch(gpu, None)
}

impl Marked {
    /// Has those of the edges marked that a solver will have chosen when it is done.
    pub(super) fn new<K: DeviceKey>(
        gpu: &Gpu,
        chosen: sys::CUdeviceptr,
        slots: Slots,
        edges: &Edges<K>,
    ) -> Result<Self> {
        let pairs = edges.m.div_ceil(64);
        let words = gpu.stream.alloc_zeros::<u64>(HEAD + pairs as usize)?;
        let (count, at) = match slots {
            Slots::Count(count) => (count as u64, 0),
            Slots::At(at) => (u64::from(edges.n), at),
        };
        launch!(gpu, Module::Graph, "mark", gpu.over(count as usize), &chosen, &count, &at, &words);
        // No more blocks than have a word for each thread.
        let (bits, count_marks) = (2 * u64::from(pairs), format!("count_marks_{}", K::SUFFIX));
        let shares = bits.div_ceil(THREADS.into()).clamp(1, SHARES as u64) as u32;
        let shape = LaunchConfig { grid_dim: (shares, 1, 1), block_dim: (THREADS, 1, 1), shared_mem_bytes: 0 };
        launch!(gpu, Module::Graph, &count_marks, shape, &edges.keys, &bits, &words);
        Ok(Self { words, shares })
    }

    /// Lists them, in `room` unless that is too little or far too much.
    pub(super) fn fetch(self, gpu: &Gpu, room: Option<Buffer<u32>>) -> Result<Collected> {
        gpu.with_pipe(|pipe| {
            pipe.wait()?;
            pipe.look_at(address(gpu, &self.words), self.words.len(), |words: &[u64]| self.list(words, room))?
        })
    }

    fn list(&self, words: &[u64], room: Option<Buffer<u32>>) -> Result<Collected> {
        let (head, bits) = words.split_at(HEAD);
        let counts = &bytemuck::cast_slice::<u64, u32>(&head[2..])[..self.shares as usize];
        let counts: Vec<usize> = counts.iter().map(|&count| count as usize).collect();
        let count = counts.iter().sum();
        let mut edges = match room.filter(|room| (count..=2 * count).contains(&room.len())) {
            Some(room) => room,
            None => Buffer::populated(count)?,
        };
        edges.truncate(count);
        list_bits(bits, &counts, &mut edges);
        Ok(Collected { edges, keys: (u128::from(head[1]) << 32) + u128::from(head[0]) })
    }
}

/// Lists the bits that are set, of which each share has so many.
fn list_bits(bits: &[u64], counts: &[usize], ids: &mut [u32]) {
    // As `share_length` in the kernel, in words of twice the length.
    let share = (2 * bits.len()).div_ceil(counts.len() * THREADS as usize) * THREADS as usize / 2;
    let shares = bits.par_chunks(share).zip(split(ids, counts)).enumerate();
    shares.for_each(|(number, (words, mut ids))| {
        // What is copied a few pages at a time is not first read from memory, as what is written number by number is.
        const FEW: usize = 64;
        let mut listed = [0; 64 * FEW + 64];
        for (few, first) in words.chunks(FEW).zip((number * share..).step_by(FEW)) {
            let count = list_ones(few, 64 * first as u32, &mut listed);
            let (to, rest) = ids.split_at_mut(count);
            to.copy_from_slice(&listed[..count]);
            ids = rest;
        }
    });
}

impl Collected {
    /// Of a graph without edges.
    pub(super) fn nothing() -> Result<Self> {
        Ok(Self { edges: Buffer::zeroed(0)?, keys: 0 })
    }

    pub(super) fn into_forest(self, graph: &Graph, stats: Option<Stats>) -> Forest {
        match graph.weights().total_of_keys(self.keys, self.edges.len()) {
            Some(weight) => Forest::from_parts(graph.vertices(), self.edges.into(), weight, stats),
            None => Forest::from_sorted(graph, self.edges, stats),
        }
    }
}
