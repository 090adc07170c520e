//! Graphs in a GPU's memory, and forests on their way back.

use std::ops::Not;
use std::sync::Arc;

use cudarc::driver::{CudaSlice, DevicePtr, DeviceRepr, LaunchConfig, ValidAsZeroBits, sys};
use rayon::prelude::*;

use super::edges::Edges;
use super::gpu::{Gpu, Module, launch};
use super::kostra::Scratch;
use super::parts::{Need, memory_limit};
use super::pipe::Load;
use super::{ecl, kostra, pma, strut, uminho, vineet};
use crate::bits::list_ones;
use crate::buffer::Buffer;
use crate::error::Result;
use crate::forest::Forest;
use crate::graph::Graph;
use crate::par::split;
use crate::run::{Algorithm, Run, Stats};
use crate::weight::{AnyKeys, Key, Keys};

/// Arcs that rows can point to: their places are 32-bit, and those that a warp reads ahead.
const ARCS: usize = u32::MAX as usize - (1 << 16);

/// Keys that are read together at most: so many behind the last may be read, too.
const TOGETHER: usize = 4;

/// Blocks that collect edge ids, at most; each has a thread for every block before it.
const COLLECTORS: u32 = 512;

/// A key on the GPU.
pub(super) trait DeviceKey: Key + DeviceRepr + ValidAsZeroBits + Not<Output = Self> {
    /// What the names of kernels for these keys end with.
    const SUFFIX: &'static str;
    /// `kostra` for these keys.
    const KOSTRA: Module;
}

impl DeviceKey for u32 {
    const SUFFIX: &'static str = "u32";
    const KOSTRA: Module = Module::KostraU32;
}

impl DeviceKey for u64 {
    const SUFFIX: &'static str = "u64";
    const KOSTRA: Module = Module::KostraU64;
}

/// The address of an array in the GPU's memory. The array must outlive whatever is launched with it.
pub(super) fn address<T>(gpu: &Gpu, array: &CudaSlice<T>) -> sys::CUdeviceptr {
    array.device_ptr(&gpu.stream).0
}

/// Adjacency lists in the GPU's memory, rows in edge-id order: 4 bytes per vertex, and 12 or 16 for each of two arcs per
/// edge.
pub(super) struct Rows<K> {
    pub(super) rows: CudaSlice<u32>,
    pub(super) neighbours: CudaSlice<u32>,
    pub(super) edges: CudaSlice<u32>,
    pub(super) keys: CudaSlice<K>,
    /// Rows that are not empty; arcs in the longest, and in all.
    pub(super) filled: usize,
    pub(super) longest: usize,
    pub(super) arcs: usize,
}

impl<K: DeviceKey> Rows<K> {
    /// The graph's rows; none where they have too many arcs.
    fn send(gpu: &Gpu, graph: &Graph, edges: &Edges<K>) -> Result<Option<Self>> {
        if 2 * graph.edges() > ARCS {
            return Ok(None);
        }
        let csr = graph.csr();
        let arcs = csr.edges().len();
        let offsets: Vec<u32> = csr.offsets().iter().map(|&offset| offset as u32).collect();
        let rows = Self {
            rows: gpu.room(offsets.len())?,
            neighbours: gpu.room(arcs)?,
            edges: gpu.room(arcs)?,
            keys: gpu.room(arcs + TOGETHER)?,
            filled: offsets.windows(2).filter(|row| row[0] < row[1]).count(),
            longest: offsets.windows(2).map(|row| (row[1] - row[0]) as usize).max().unwrap_or(0),
            arcs,
        };
        gpu.with_pipe(|pipe| {
            pipe.wait()?;
            let loads = vec![
                Load::new(&offsets, address(gpu, &rows.rows)),
                Load::new(csr.neighbours(), address(gpu, &rows.neighbours)),
                Load::new(csr.edges(), address(gpu, &rows.edges)),
            ];
            pipe.send(&[loads], |_| Ok(()))
        })?;
        let (count, all, gather_keys) = (arcs as u64, (arcs + TOGETHER) as u64, format!("gather_keys_{}", K::SUFFIX));
        launch!(gpu, Module::Graph, &gather_keys, gpu.over(arcs), &edges.keys, &rows.edges, &rows.keys, &count, &all);
        Ok(Some(rows))
    }
}

/// A graph, as kernels take it.
#[repr(C)]
pub(super) struct GraphArgument<K> {
    pub(super) n: u32,
    pub(super) m: u32,
    src: sys::CUdeviceptr,
    dst: sys::CUdeviceptr,
    keys: sys::CUdeviceptr,
    pub(super) rows: sys::CUdeviceptr,
    pub(super) neighbours: sys::CUdeviceptr,
    pub(super) edges: sys::CUdeviceptr,
    pub(super) arc_keys: sys::CUdeviceptr,
    flip: K,
    lowest: K,
}

// SAFETY: as the struct Graph in common.cuh.
#[allow(unsafe_code)]
unsafe impl<K: DeviceRepr> DeviceRepr for GraphArgument<K> {}

impl<K: DeviceKey> GraphArgument<K> {
    /// The graph of these edges and rows, for the run's minimum or maximum forest.
    pub(super) fn new(gpu: &Gpu, edges: &Edges<K>, rows: Option<&Rows<K>>, run: &Run) -> Self {
        Self {
            n: edges.n,
            m: edges.m,
            src: address(gpu, &edges.src),
            dst: address(gpu, &edges.dst),
            keys: address(gpu, &edges.keys),
            rows: rows.map_or(0, |rows| address(gpu, &rows.rows)),
            neighbours: rows.map_or(0, |rows| address(gpu, &rows.neighbours)),
            edges: rows.map_or(0, |rows| address(gpu, &rows.edges)),
            arc_keys: rows.map_or(0, |rows| address(gpu, &rows.keys)),
            flip: if run.is_maximum() { K::MAX } else { K::zeroed() },
            lowest: if run.is_maximum() { !edges.largest } else { edges.smallest },
        }
    }
}

/// Bytes on the GPU for so many edges of a graph, and for the forest on its way back.
pub(super) fn bytes_of_edges(graph: &Graph, m: usize) -> u64 {
    let (n, m) = (graph.vertices() as u64, m as u64);
    (8 + bytes_of_key(graph)) * m + m / 8 + 4 * n + (1 << 20)
}

fn bytes_of_key(graph: &Graph) -> u64 {
    if matches!(graph.keys(false), AnyKeys::Wide(_)) { 8 } else { 4 }
}

/// What it takes to solve a graph that stays on the GPU, with adjacency lists.
pub(super) fn need<'a>(graph: &'a Graph<'a>, run: &Run) -> Result<Need<impl Fn(usize) -> u64 + 'a>> {
    let algorithm = super::resolve(run)?;
    // What each takes beside the graph, as its file tells, and whether it cannot do without adjacency lists.
    let ((per_vertex, per_edge), by_rows) = match algorithm {
        Algorithm::Vineet => (vineet::BYTES, true),
        Algorithm::Uminho => (uminho::BYTES, true),
        Algorithm::PmaMin | Algorithm::PmaSort | Algorithm::PmaHybrid => (pma::BYTES, true),
        Algorithm::Strut => (strut::BYTES, false),
        Algorithm::Ecl => ecl::need(run)?,
        _ => ((0, 0), false),
    };
    let (n, key) = (graph.vertices() as u64, bytes_of_key(graph));
    let bytes = move |m: usize| {
        let rows = 4 * n + 2 * (8 + key) * m as u64;
        rows + match algorithm {
            Algorithm::Kostra => kostra::bytes_for(graph, m),
            _ => bytes_of_edges(graph, m) + per_vertex * n + per_edge * m as u64,
        }
    };
    Ok(Need { bytes, most: if by_rows { ARCS / 2 } else { usize::MAX } })
}

/// A graph in a GPU's memory, to be solved as often as wanted.
///
/// ```no_run
/// use kostra::{Run, cuda};
///
/// let graph = kostra::generate("rmat:scale=20")?;
/// let mut resident = cuda::Resident::upload(&graph, 0)?;
/// resident.solve(&Run::new("kostra")?)?;
/// let forest = resident.download()?;
/// # Ok::<(), kostra::Error>(())
/// ```
pub struct Resident<'g> {
    graph: &'g Graph<'g>,
    gpu: Arc<Gpu>,
    any: Any,
    /// Where the last solve left the forest.
    solved: Option<Solved>,
}

enum Any {
    Narrow(Solver<u32>),
    Wide(Solver<u64>),
}

/// What solvers of one type of key work with.
pub(super) struct Solver<K> {
    pub(super) edges: Edges<K>,
    pub(super) rows: Option<Rows<K>>,
    pub(super) scratch: Option<Scratch<K>>,
    pub(super) ecl: Option<ecl::Scratch<K>>,
    /// The edges that the other papers' algorithms chose last.
    pub(super) chosen: Option<CudaSlice<u32>>,
}

/// The forest of a solve, still on the GPU.
pub(super) struct Solved {
    /// Where the edge ids are, with gaps.
    pub(super) chosen: sys::CUdeviceptr,
    pub(super) slots: Slots,
    pub(super) stats: Option<Stats>,
}

/// How many places there are for edge ids.
pub(super) enum Slots {
    /// So many.
    Count(usize),
    /// As many as the 32-bit number at that address says.
    At(sys::CUdeviceptr),
}

impl<'g> Resident<'g> {
    /// Whether the graph and what it takes to solve it fit into the GPU's memory, or the part that the run allows. If not,
    /// [`solve`](crate::solve) still does, in parts.
    pub fn fits(graph: &Graph, run: &Run, number: u32) -> Result<bool> {
        Ok(need(graph, run)?.is_met(graph.edges(), memory_limit(&*Gpu::open(number)?, run)?))
    }

    /// Copies a graph to the GPU of that number.
    pub fn upload(graph: &'g Graph<'g>, number: u32) -> Result<Self> {
        kostra::check_size(graph)?;
        let gpu = Gpu::open(number)?;
        let any = match graph.keys(false) {
            AnyKeys::Narrow(keys) => Any::Narrow(Solver::new(&gpu, graph, keys)?),
            AnyKeys::Wide(keys) => Any::Wide(Solver::new(&gpu, graph, keys)?),
        };
        gpu.stream.synchronize()?;
        Ok(Self { graph, gpu, any, solved: None })
    }

    /// Finds the forest; it stays on the GPU until it is [downloaded](Self::download) or the next is found.
    pub fn solve(&mut self, run: &Run) -> Result<()> {
        run.watch().check()?;
        self.solved = None;
        if self.graph.edges() == 0 {
            return Ok(());
        }
        let gpu = &self.gpu;
        self.solved = Some(match &mut self.any {
            Any::Narrow(solver) => solver.solve(gpu, run)?,
            Any::Wide(solver) => solver.solve(gpu, run)?,
        });
        Ok(())
    }

    /// The forest that was found last; of no edges before the first.
    pub fn download(&self) -> Result<Forest> {
        let collected = match &self.solved {
            Some(solved) => match &self.any {
                Any::Narrow(solver) => collect(&self.gpu, solved, &solver.edges, None)?,
                Any::Wide(solver) => collect(&self.gpu, solved, &solver.edges, None)?,
            },
            None => Collected { edges: Buffer::zeroed(0)?, keys: 0 },
        };
        Ok(collected.into_forest(self.graph, self.solved.as_ref().and_then(|solved| solved.stats.clone())))
    }
}

impl<K: DeviceKey> Solver<K> {
    fn new(gpu: &Gpu, graph: &Graph, keys: Keys<K>) -> Result<Self> {
        let edges = Edges::room(gpu, graph, keys)?;
        edges.send(gpu, graph, keys, None, |_, _| Ok(()))?;
        let rows = Rows::send(gpu, graph, &edges)?;
        Ok(Self { rows, ..Self::of_edges(edges) })
    }

    /// Without rows.
    pub(super) fn of_edges(edges: Edges<K>) -> Self {
        Self { edges, rows: None, scratch: None, ecl: None, chosen: None }
    }

    pub(super) fn solve(&mut self, gpu: &Gpu, run: &Run) -> Result<Solved> {
        match super::resolve(run)? {
            Algorithm::Ecl => ecl::solve(gpu, self, run),
            Algorithm::Vineet => vineet::solve(gpu, self, run),
            Algorithm::Uminho => uminho::solve(gpu, self, run),
            Algorithm::Strut => strut::solve(gpu, self, run),
            Algorithm::PmaMin | Algorithm::PmaSort | Algorithm::PmaHybrid => pma::solve(gpu, self, run),
            _ => kostra::solve(gpu, self, run),
        }
    }
}

/// The chosen edges, from the GPU.
pub(super) struct Collected {
    /// Their ids, ascending.
    pub(super) edges: Buffer<u32>,
    /// The sum of their keys.
    keys: u128,
}

impl Collected {
    pub(super) fn into_forest(self, graph: &Graph, stats: Option<Stats>) -> Forest {
        match graph.weights().total_of_keys(self.keys, self.edges.len()) {
            Some(weight) => Forest::from_parts(graph.vertices(), self.edges.into(), weight, stats),
            None => Forest::from_sorted(graph, self.edges, stats),
        }
    }
}

/// Fetches the chosen ones of these edges, to `room` unless that is too little or far too much.
pub(super) fn collect<K: DeviceKey>(
    gpu: &Gpu,
    solved: &Solved,
    edges: &Edges<K>,
    room: Option<Buffer<u32>>,
) -> Result<Collected> {
    // A bit for every edge, in pairs of words.
    let words = 2 * u64::from(edges.m.div_ceil(64));
    let bits = gpu.stream.alloc_zeros::<u32>(words as usize)?;
    let slots = match solved.slots {
        Slots::Count(slots) => slots,
        Slots::At(address) => {
            let mut slots = [0u32];
            // SAFETY: the address is that of a number which the solver wrote before it was done.
            #[allow(unsafe_code)]
            unsafe {
                cudarc::driver::result::memcpy_dtoh_sync(&mut slots, address)?;
            }
            slots[0] as usize
        }
    };
    let (count, chosen) = (slots as u64, solved.chosen);
    launch!(gpu, Module::Graph, "mark", gpu.over(slots), &chosen, &count, &bits);
    // No more blocks than have a word for each thread.
    let collectors = words.div_ceil(COLLECTORS.into()).clamp(1, COLLECTORS.into()) as u32;
    let counts = gpu.room::<u32>(collectors as usize)?;
    let shape = LaunchConfig { grid_dim: (collectors, 1, 1), block_dim: (COLLECTORS, 1, 1), shared_mem_bytes: 0 };
    launch!(gpu, Module::Graph, "count_bits", shape, &bits, &words, &counts);
    let host_counts: Vec<usize> = gpu.stream.clone_dtoh(&counts)?.into_iter().map(|count| count as usize).collect();
    let count = host_counts.iter().sum();
    let ids = gpu.room::<u32>(count)?;
    let (sums, sum_keys, items) = (gpu.stream.alloc_zeros::<u64>(2)?, format!("sum_keys_{}", K::SUFFIX), count as u64);
    let mut fetched = match room.filter(|room| (count..=2 * count).contains(&room.len())) {
        Some(room) => room,
        None => Buffer::populated(count)?,
    };
    fetched.truncate(count);
    gpu.with_pipe(|pipe| {
        if (count as u64) < words {
            launch!(gpu, Module::Graph, "collect_bits", shape, &bits, &words, &counts, &ids);
            pipe.wait()?;
            launch!(gpu, Module::Graph, &sum_keys, gpu.over(count), &edges.keys, &ids, &items, &sums);
            return pipe.receive(address(gpu, &ids), &mut fetched);
        }
        // The bits are less to fetch than the ids. Meanwhile the keys are added up.
        pipe.wait()?;
        launch!(gpu, Module::Graph, "collect_bits", shape, &bits, &words, &counts, &ids);
        launch!(gpu, Module::Graph, &sum_keys, gpu.over(count), &edges.keys, &ids, &items, &sums);
        pipe.look_at(address(gpu, &bits), words as usize / 2, |bits| list_bits(bits, &host_counts, &mut fetched))
    })?;
    let sums = gpu.stream.clone_dtoh(&sums)?;
    Ok(Collected { edges: fetched, keys: (u128::from(sums[1]) << 32) + u128::from(sums[0]) })
}

/// Lists the bits that are set, of which each collector has counted its share.
fn list_bits(bits: &[u64], counts: &[usize], ids: &mut [u32]) {
    // As `share_length` in the kernels.
    let share = (2 * bits.len()).div_ceil(counts.len() * COLLECTORS as usize) * COLLECTORS as usize / 2;
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
