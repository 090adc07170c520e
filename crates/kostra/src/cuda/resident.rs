//! Graphs in a GPU's memory.

use std::ops::Not;
use std::sync::Arc;

use cudarc::driver::{CudaSlice, DevicePtr, DeviceRepr, ValidAsZeroBits, sys};

use super::collect::{Collected, Solved, collect};
use super::edges::Edges;
use super::gpu::{Gpu, launch};
use super::kostra::Scratch;
use super::module::Module;
use super::parts::{Need, memory_limit};
use super::pipe::Load;
use super::{ecl, kostra, pma, strut, uminho, vineet};
use crate::error::Result;
use crate::forest::Forest;
use crate::graph::Graph;
use crate::run::{Algorithm, Run};
use crate::weight::{AnyKeys, Key, Keys};

/// Arcs that rows can point to: their places are 32-bit, and those that a warp reads ahead.
const ARCS: usize = u32::MAX as usize - (1 << 16);

/// Keys that are read together at most: so many behind the last may be read, too.
const TOGETHER: usize = 4;

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
    (8 + bytes_of_key(graph)) * m as u64 + m as u64 / 8 + (1 << 20)
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
        Algorithm::PmaMin | Algorithm::PmaSort | Algorithm::PmaHybrid => (pma::need(run)?, true),
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
                Any::Narrow(solver) => collect(&self.gpu, solved, &solver.edges)?,
                Any::Wide(solver) => collect(&self.gpu, solved, &solver.edges)?,
            },
            None => Collected::nothing()?,
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
