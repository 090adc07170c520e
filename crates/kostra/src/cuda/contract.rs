//! Contracting a graph on the GPU: what the papers' algorithms share.
//!
//! A round links vertices along chosen edges; [`Trees`] numbers the trees so made, and [`Arcs`] makes them the vertices of
//! the next graph: arcs get new ends, those inside a tree are dropped, and of parallel ones the smallest stays if
//! wished. What arcs lie side by side is settled by radix sort, digit by digit.
//!
//! An arc is four words: ends, key, edge id. 64-bit keys are replaced by the ranks of the edges, once, so all kernels see
//! keys of 32 bits.

use cudarc::driver::{CudaSlice, DeviceRepr, LaunchConfig, ValidAsZeroBits, sys};

use super::gpu::{Gpu, Module, launch};
use super::resident::{DeviceKey, Rows, Slots, Solved, Solver, address};
use crate::error::{Error, Result};
use crate::run::{Run, Stats};

/// As in the kernels.
const ROW_THREADS: u32 = 256;
const TILE_THREADS: u32 = 256;
const TILE: usize = 4 * TILE_THREADS as usize;
const SPLIT_TILE: usize = 8 * TILE_THREADS as usize;
const DIGIT_VALUES: usize = TILE_THREADS as usize;
const DIGIT_BITS: u32 = 8;
const MOST_DIGITS: usize = 8;

/// Blocks for each multiprocessor that take tiles: as many as can be there at a time.
const TILE_BLOCKS: u32 = 8;

/// Pairs of vertices for every arc up to which arcs are crowded. A table of all pairs then takes no more than the arcs.
const CROWD: usize = 2;

/// An arc: from, to, key, edge id.
#[derive(Clone, Copy)]
#[repr(C, align(16))]
pub(super) struct Arc([u32; 4]);

// SAFETY: four integers, as uint4 in the kernels.
#[allow(unsafe_code)]
unsafe impl DeviceRepr for Arc {}
// SAFETY: all bits zero are four zeros.
#[allow(unsafe_code)]
unsafe impl ValidAsZeroBits for Arc {}

/// A word of an arc to sort by.
#[derive(Clone, Copy)]
pub(super) enum Word {
    From,
    To,
    /// So many leading bits of those in which keys differ.
    Key(u32),
}

#[derive(Clone, Copy, Default)]
#[repr(C)]
struct Digit {
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
fn digits(word: u32, shift: u32, bits: u32) -> impl Iterator<Item = Digit> {
    let count = bits.div_ceil(DIGIT_BITS);
    let width = bits.div_ceil(count.max(1));
    (0..count).map(move |i| Digit { word, shift: shift + i * width, bits: width })
}

/// The bits that numbers below `count` take.
fn bits_below(count: usize) -> u32 {
    usize::BITS - count.saturating_sub(1).leading_zeros()
}

/// A thread for each of so many rows.
pub(super) fn over_rows(rows: usize) -> LaunchConfig {
    let blocks = rows.div_ceil(ROW_THREADS as usize).max(1) as u32;
    LaunchConfig { grid_dim: (blocks, 1, 1), block_dim: (ROW_THREADS, 1, 1), shared_mem_bytes: 0 }
}

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

/// The trees of a round.
pub(super) struct Trees<'a> {
    gpu: &'a Gpu,
    /// Where each vertex is linked to; then the number of its tree.
    pub(super) links: CudaSlice<u32>,
    numbers: CudaSlice<u32>,
    pub(super) tally: Tally,
}

/// Which vertices have arcs: those with a row, or those with an edge in their cell.
pub(super) enum Alive<'a> {
    Rows(sys::CUdeviceptr),
    Cells(&'a CudaSlice<u64>),
}

impl<'a> Trees<'a> {
    /// For up to `n` vertices.
    pub(super) fn new(gpu: &'a Gpu, n: usize) -> Result<Self> {
        Ok(Self { gpu, links: gpu.room(n)?, numbers: gpu.room(n)?, tally: Tally::new(gpu, n.div_ceil(TILE))? })
    }

    /// Makes roots of the smaller of two vertices that are linked to each other.
    pub(super) fn make_roots(&self, n: usize) -> Result<()> {
        let (gpu, n) = (self.gpu, n as u64);
        launch!(gpu, Module::Contract, "make_roots", gpu.over(n as usize), &n, &self.links);
        Ok(())
    }

    /// Links every vertex to its root.
    pub(super) fn double_links(&self, n: usize) -> Result<()> {
        let (gpu, n) = (self.gpu, n as u64);
        launch!(gpu, Module::Contract, "double_links", gpu.over(n as usize), &n, &self.links);
        Ok(())
    }

    /// Replaces every vertex's root by the number of its tree, and returns how many trees have arcs. The others have none.
    pub(super) fn number(&mut self, n: usize, alive: Alive) -> Result<usize> {
        let Self { gpu, links, numbers, tally } = self;
        let (rows, cells) = match alive {
            Alive::Rows(rows) => (rows, 0),
            Alive::Cells(cells) => (0, address(gpu, cells)),
        };
        tally.reset(gpu, n.div_ceil(TILE))?;
        let (len, shape) = (n as u64, over_tiles(gpu, n));
        let Tally { status, total } = &*tally;
        launch!(gpu, Module::Contract, "number_roots", shape, &len, &*links, &rows, &cells, &*numbers, status, total);
        launch!(gpu, Module::Contract, "label", gpu.over(n), &len, &*links, &*numbers);
        Ok(tally.total(gpu)?[0])
    }

    /// How many vertices have an edge in their cell.
    pub(super) fn count_cells(&mut self, n: usize, cells: &CudaSlice<u64>) -> Result<usize> {
        let (gpu, len) = (self.gpu, n as u64);
        gpu.stream.memset_zeros(&mut self.tally.total)?;
        launch!(gpu, Module::Contract, "count_cells", gpu.over(n), &len, cells, &self.tally.total);
        Ok(self.tally.total(gpu)?[0])
    }
}

/// The arcs of a graph.
pub(super) struct Arcs<'a> {
    gpu: &'a Gpu,
    /// Vertices that arcs may have for ends.
    pub(super) vertices: usize,
    pub(super) count: usize,
    pub(super) list: CudaSlice<Arc>,
    /// Where the next list is made.
    pub(super) spare: CudaSlice<Arc>,
    /// The low bits in which keys differ.
    pub(super) key_bits: u32,
    counts: CudaSlice<u32>,
    tally: Tally,
}

impl<'a> Arcs<'a> {
    /// An empty list.
    pub(super) fn with_room(gpu: &'a Gpu, vertices: usize, room: usize) -> Result<Self> {
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
    pub(super) fn of_rows<K: DeviceKey>(gpu: &'a Gpu, solver: &Solver<K>, run: &Run) -> Result<Self> {
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
    pub(super) fn of_edges<K: DeviceKey>(gpu: &'a Gpu, solver: &Solver<K>, run: &Run) -> Result<Self> {
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

    /// Sorts by these words, the most significant last. Equals keep their order.
    pub(super) fn sort(&mut self, words: &[Word]) -> Result<()> {
        let (ends, keys) = (bits_below(self.vertices), self.key_bits);
        self.sort_by(words.iter().flat_map(|word| match word {
            Word::From => digits(0, 0, ends),
            Word::To => digits(1, 0, ends),
            Word::Key(leading) => digits(2, keys.saturating_sub(*leading), keys.min(*leading)),
        }))
    }

    fn sort_by(&mut self, by: impl Iterator<Item = Digit>) -> Result<()> {
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

    /// Gives arcs the labels of their ends for ends and drops those inside a tree. With `ordered` the smaller comes first.
    pub(super) fn relabel(&mut self, labels: &CudaSlice<u32>, trees: usize, ordered: bool) -> Result<()> {
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
    pub(super) fn replace(&mut self, vertices: usize, count: usize) {
        (self.vertices, self.count) = (vertices, count);
        std::mem::swap(&mut self.list, &mut self.spare);
    }

    /// Of neighbouring arcs with the same ends keeps the smallest.
    pub(super) fn drop_parallel(&mut self) -> Result<()> {
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
    pub(super) fn is_crowded(&self) -> bool {
        self.vertices * self.vertices <= CROWD * self.count
    }

    /// Of parallel arcs keeps the smallest, and sorts by ends.
    pub(super) fn unite_parallel(&mut self) -> Result<()> {
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
    pub(super) fn find_rows(&self, rows: &CudaSlice<u32>) -> Result<()> {
        let (gpu, n, count) = (self.gpu, self.vertices as u64, self.count as u64);
        launch!(gpu, Module::Contract, "find_rows", gpu.over(self.vertices), &n, &self.list, &count, rows);
        Ok(())
    }

    /// For statistics: how many vertices have arcs, and how many one of them has at most.
    pub(super) fn measure_rows(&mut self, rows: sys::CUdeviceptr) -> Result<[usize; 2]> {
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
