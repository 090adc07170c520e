//! The list of arcs that a round works on.

use cudarc::driver::{CudaSlice, DeviceRepr, sys};

use super::sort::{DIGIT_VALUES, MOST_DIGITS, SPLIT_TILE, digits};
use super::{TILE, Tally, Word, clear, over_rows, over_tiles, rows_of};
use crate::cuda::gpu::{Gpu, launch};
use crate::cuda::module::Module;
use crate::cuda::resident::{DeviceKey, Rows, Solver, address};
use crate::error::Result;
use crate::run::Run;

/// Pairs of vertices for every arc up to which arcs are crowded. A table of all pairs then takes no more than the arcs.
const CROWD: usize = 2;

/// An arc: from, to, key, edge id.
#[derive(Clone, Copy)]
#[repr(C, align(16))]
pub(in crate::cuda) struct Arc([u32; 4]);

// SAFETY: four integers, as uint4 in the kernels.
#[allow(unsafe_code)]
unsafe impl DeviceRepr for Arc {}

/// The arcs of a graph.
pub(in crate::cuda) struct Arcs<'a> {
    pub(super) gpu: &'a Gpu,
    /// Vertices that arcs may have for ends.
    pub(in crate::cuda) vertices: usize,
    pub(in crate::cuda) count: usize,
    pub(in crate::cuda) list: CudaSlice<Arc>,
    /// Where the next list is made.
    pub(in crate::cuda) spare: CudaSlice<Arc>,
    /// The low bits in which keys differ.
    pub(in crate::cuda) key_bits: u32,
    pub(super) counts: CudaSlice<u32>,
    pub(super) tally: Tally,
}

impl<'a> Arcs<'a> {
    /// An empty list.
    pub(in crate::cuda) fn with_room(gpu: &'a Gpu, vertices: usize, room: usize) -> Result<Self> {
        Ok(Self {
            gpu,
            vertices,
            count: 0,
            list: gpu.room(room)?,
            spare: gpu.room(room)?,
            key_bits: u32::BITS,
            counts: gpu.room(MOST_DIGITS * DIGIT_VALUES)?,
            tally: Tally::new(gpu, room.div_ceil(SPLIT_TILE) * DIGIT_VALUES)?,
        })
    }

    /// Both arcs of every edge, row after row.
    pub(in crate::cuda) fn of_rows<K: DeviceKey>(gpu: &'a Gpu, solver: &Solver<K>, run: &Run) -> Result<Self> {
        let (edges, rows) = (&solver.edges, rows_of(solver, run)?);
        let (n, m) = (edges.n as usize, edges.m as usize);
        let mut arcs = Self::with_room(gpu, n, rows.arcs.max(m))?;
        if rows.arcs == 0 {
            return Ok(arcs);
        }
        let ranks = arcs.ranks(solver, run)?;
        let (ranks, flip) = (ranks.as_ref().map_or(0, |ranks| address(gpu, ranks)), flip(run));
        gpu.stream.memset_zeros(&mut arcs.tally.total)?;
        let Rows { rows: starts, neighbours, edges: ids, keys, .. } = rows;
        let (shape, Self { list, tally, .. }) = (over_rows(n), &arcs);
        #[rustfmt::skip]
        launch!(
            gpu, Module::Contract, "list_arcs", shape,
            &edges.n, starts, neighbours, ids, keys, &ranks, &flip, list, &tally.total,
        );
        arcs.count = rows.arcs;
        arcs.key_bits = u32::BITS - (arcs.tally.total(gpu)?[0] as u32).leading_zeros();
        Ok(arcs)
    }

    /// One arc for every edge, from the smaller to the larger end.
    pub(in crate::cuda) fn of_edges<K: DeviceKey>(gpu: &'a Gpu, solver: &Solver<K>, run: &Run) -> Result<Self> {
        let edges = &solver.edges;
        let mut arcs = Self::with_room(gpu, edges.n as usize, edges.m as usize)?;
        let ranks = arcs.ranks(solver, run)?;
        let (ranks, flip) = (ranks.as_ref().map_or(0, |ranks| address(gpu, ranks)), flip(run));
        let (m, shape, list) = (u64::from(edges.m), gpu.over(edges.m as usize), &arcs.list);
        let (src, dst, keys) = (&edges.src, &edges.dst, &edges.keys);
        launch!(gpu, Module::Contract, "list_edges", shape, &m, src, dst, keys, &ranks, &flip, list);
        arcs.count = edges.m as usize;
        Ok(arcs)
    }

    /// For 64-bit keys, the place of every edge in the order. The list is used up.
    fn ranks<K: DeviceKey>(&mut self, solver: &Solver<K>, run: &Run) -> Result<Option<CudaSlice<u32>>> {
        if size_of::<K>() == size_of::<u32>() {
            return Ok(None);
        }
        let (gpu, m) = (self.gpu, u64::from(solver.edges.m));
        let flip = if run.is_maximum() { u64::MAX } else { 0 };
        let shape = gpu.over(m as usize);
        launch!(gpu, Module::Contract, "list_keys", shape, &m, &solver.edges.keys, &flip, &self.list);
        self.count = m as usize;
        self.sort_by(digits(1, 0, u32::BITS).chain(digits(0, 0, u32::BITS)))?;
        let ranks = gpu.room::<u32>(m as usize)?;
        launch!(gpu, Module::Contract, "rank_edges", shape, &m, &self.list, &ranks);
        Ok(Some(ranks))
    }

    /// Gives arcs the labels of their ends for ends and drops those inside a tree. With `ordered` the smaller comes first.
    pub(in crate::cuda) fn relabel(&mut self, labels: &CudaSlice<u32>, trees: usize, ordered: bool) -> Result<()> {
        let (gpu, count, ordered) = (self.gpu, self.count as u64, u32::from(ordered));
        self.tally.reset(gpu, self.count.div_ceil(TILE))?;
        let (shape, Self { list, spare, tally, .. }) = (over_tiles(gpu, self.count), &*self);
        let Tally { status, total } = tally;
        launch!(gpu, Module::Contract, "relabel", shape, &count, list, labels, &ordered, spare, status, total);
        let count = self.tally.total(gpu)?[0];
        self.replace(trees, count);
        Ok(())
    }

    /// Takes what was written to the spare list for the next graph.
    pub(in crate::cuda) fn replace(&mut self, vertices: usize, count: usize) {
        (self.vertices, self.count) = (vertices, count);
        std::mem::swap(&mut self.list, &mut self.spare);
    }

    /// Of neighbouring arcs with the same ends keeps the smallest.
    pub(in crate::cuda) fn drop_parallel(&mut self) -> Result<()> {
        let (gpu, count) = (self.gpu, self.count as u64);
        let cells = gpu.room::<u64>(self.count)?;
        clear(gpu, &cells, self.count)?;
        self.tally.reset(gpu, self.count.div_ceil(TILE))?;
        let (shape, Self { list, spare, tally, .. }) = (over_tiles(gpu, self.count), &*self);
        let Tally { status, total } = tally;
        launch!(gpu, Module::Contract, "find_parallel", shape, &count, list, spare, &cells, status, total);
        let count = self.tally.total(gpu)?[0];
        let len = count as u64;
        launch!(gpu, Module::Contract, "keep_smallest", gpu.over(count), &len, &self.spare, &cells);
        self.replace(self.vertices, count);
        Ok(())
    }

    /// Whether many arcs must be parallel, for there are so many for so few pairs of vertices. Only then does dropping them
    /// pay: on sparse graphs it made `strut` and `pma` up to 1.7 times slower, on a dense one twice as fast.
    pub(in crate::cuda) fn is_crowded(&self) -> bool {
        self.vertices * self.vertices <= CROWD * self.count
    }

    /// Of parallel arcs keeps the smallest, and sorts by ends.
    pub(in crate::cuda) fn unite_parallel(&mut self) -> Result<()> {
        if !self.is_crowded() {
            self.sort(&[Word::To, Word::From])?;
            return self.drop_parallel();
        }
        let (gpu, count, n) = (self.gpu, self.count as u64, self.vertices as u64);
        let pairs = self.vertices * self.vertices;
        let cells = gpu.room::<u64>(pairs)?;
        clear(gpu, &cells, pairs)?;
        launch!(gpu, Module::Contract, "fill_table", gpu.over(self.count), &count, &self.list, &n, &cells);
        self.tally.reset(gpu, pairs.div_ceil(TILE))?;
        let (shape, Tally { status, total }) = (over_tiles(gpu, pairs), &self.tally);
        launch!(gpu, Module::Contract, "list_table", shape, &n, &cells, &self.spare, status, total);
        let count = self.tally.total(gpu)?[0];
        self.replace(self.vertices, count);
        Ok(())
    }

    /// Where the row of each vertex begins, in a list that is sorted by them.
    pub(in crate::cuda) fn find_rows(&self, rows: &CudaSlice<u32>) -> Result<()> {
        let (gpu, n, count) = (self.gpu, self.vertices as u64, self.count as u64);
        launch!(gpu, Module::Contract, "find_rows", gpu.over(self.vertices), &n, &self.list, &count, rows);
        Ok(())
    }

    /// For statistics: how many vertices have arcs, and how many one of them has at most.
    pub(in crate::cuda) fn measure_rows(&mut self, rows: sys::CUdeviceptr) -> Result<[usize; 2]> {
        let (gpu, n) = (self.gpu, self.vertices as u64);
        gpu.stream.memset_zeros(&mut self.tally.total)?;
        let filled = address(gpu, &self.tally.total);
        let (longest, shape) = (filled + 4, gpu.over(self.vertices));
        launch!(gpu, Module::Contract, "measure_rows", shape, &n, &rows, &filled, &longest);
        self.tally.total(gpu)
    }
}

fn flip(run: &Run) -> u32 {
    if run.is_maximum() { u32::MAX } else { 0 }
}
