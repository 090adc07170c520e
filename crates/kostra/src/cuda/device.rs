//! Graphs whose arrays are in a GPU's memory already: those of CuPy, PyTorch and other programs on the GPU.
//!
//! The graph never comes to the host. Its ids are copied to 32 bits and checked, its weights to keys, all on the GPU; of the
//! forest, the edges' ids, ends and weights are fetched. There are no adjacency lists, so only `kostra` and `ecl` run.

use std::sync::Arc;

use cudarc::driver::{result, sys};

use super::collect::{Solved, collect};
use super::edges::{Edges, Map, SAMPLES};
use super::gpu::{Gpu, launch};
use super::kostra::check_vertices;
use super::module::Module;
use super::resident::{DeviceKey, Solver, address};
use crate::array::Array;
use crate::error::{Error, Result};
use crate::forest::Forest;
use crate::graph::Graph;
use crate::mix::{below, mix};
use crate::run::{Algorithm, Run};
use crate::weight::{AnyKeys, Weights};

/// The type of vertex ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum IdType {
    U32,
    I32,
    U64,
    I64,
}

/// The type of weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum WeightType {
    U32,
    I32,
    I64,
    F32,
    F64,
}

/// One end of every edge, in the GPU's memory.
#[derive(Clone, Copy, Debug)]
pub struct DeviceIds {
    /// Where the array begins.
    pub address: u64,
    /// What it holds.
    pub kind: IdType,
}

/// The weight of every edge, in the GPU's memory.
#[derive(Clone, Copy, Debug)]
pub struct DeviceWeights {
    /// Where the array begins.
    pub address: u64,
    /// What it holds.
    pub kind: WeightType,
}

/// A graph from arrays in a GPU's memory, to be solved as often as wanted.
pub struct DeviceGraph {
    gpu: Arc<Gpu>,
    vertices: usize,
    edges: usize,
    weights: Option<DeviceWeights>,
    any: Any,
}

enum Any {
    Narrow(Solver<u32>),
    Wide(Solver<u64>),
}

/// A forest, and what of its graph belongs to it.
#[derive(Debug)]
pub struct Found {
    /// The forest, with the edge ids of the whole graph.
    pub forest: Forest,
    /// The graph of the forest's edges alone: edge `i` is the forest's `i`th.
    pub tree: Graph<'static>,
    /// All edges of that graph.
    pub within: Forest,
}

impl IdType {
    fn name(self) -> &'static str {
        match self {
            IdType::U32 => "u32",
            IdType::I32 => "i32",
            IdType::U64 => "u64",
            IdType::I64 => "i64",
        }
    }
}

impl WeightType {
    /// No weights of this type.
    fn empty(self) -> Weights<'static> {
        match self {
            WeightType::U32 => Vec::<u32>::new().into(),
            WeightType::I32 => Vec::<i32>::new().into(),
            WeightType::I64 => Vec::<i64>::new().into(),
            WeightType::F32 => Vec::<f32>::new().into(),
            WeightType::F64 => Vec::<f64>::new().into(),
        }
    }

    /// The bits of infinity in a type that has NaN, which are above them.
    fn infinity(self) -> Option<u64> {
        match self {
            WeightType::F32 => Some(f32::INFINITY.to_bits().into()),
            WeightType::F64 => Some(f64::INFINITY.to_bits()),
            _ => None,
        }
    }
}

impl DeviceGraph {
    /// The graph of `edges` edges with these ends and weights (1 each for `None`) in the memory of the GPU of that number.
    /// Without `vertices` there are as many as the largest id + 1. Waits for all work that was started on the GPU before.
    ///
    /// # Safety
    ///
    /// Every array has `edges` items of its type, aligned to it, in that GPU's memory, or memory that it can read. The weights
    /// stay there, unchanged, as long as this value lives.
    #[allow(unsafe_code)]
    pub unsafe fn new(
        number: u32,
        vertices: Option<usize>,
        edges: usize,
        src: DeviceIds,
        dst: DeviceIds,
        weights: Option<DeviceWeights>,
    ) -> Result<Self> {
        if u32::try_from(edges).is_err() {
            return Err(Error::TooLarge { what: "edges", count: edges as u64 });
        }
        let gpu = Gpu::open(number)?;
        // The arrays may still be written on streams that we do not know.
        gpu.context.synchronize()?;
        let kinds = weights.map_or(Weights::Unit, |weights| weights.kind.empty());
        let ends = take_ends(&gpu, vertices, edges, src, dst)?;
        let vertices = ends.vertices as usize;
        let any = match kinds.keys(&[], false) {
            AnyKeys::Narrow(keys) => Any::Narrow(solver(&gpu, ends, edges, weights, keys.parts().1)?),
            AnyKeys::Wide(keys) => Any::Wide(solver(&gpu, ends, edges, weights, keys.parts().1)?),
        };
        Ok(Self { gpu, vertices, edges, weights, any })
    }

    /// The number of vertices.
    pub fn vertices(&self) -> usize {
        self.vertices
    }

    /// The number of edges.
    pub fn edges(&self) -> usize {
        self.edges
    }

    /// Finds the forest and fetches it.
    pub fn solve(&mut self, run: &Run) -> Result<Found> {
        run.watch().check()?;
        let algorithm = super::resolve(run)?;
        if !matches!(algorithm, Algorithm::Kostra | Algorithm::Ecl) {
            return Err(Error::Algorithm {
                name: algorithm.name().into(),
                what: "it needs adjacency lists, which arrays on a GPU do not come with; use kostra or ecl".into(),
            });
        }
        let gpu = &self.gpu;
        let solved = match &mut self.any {
            _ if self.edges == 0 => None,
            Any::Narrow(solver) => Some(solver.solve(gpu, run)?),
            Any::Wide(solver) => Some(solver.solve(gpu, run)?),
        };
        match &self.any {
            Any::Narrow(solver) => self.fetch(&solver.edges, solved),
            Any::Wide(solver) => self.fetch(&solver.edges, solved),
        }
    }

    fn fetch<K: DeviceKey>(&self, edges: &Edges<K>, solved: Option<Solved>) -> Result<Found> {
        let (gpu, n) = (&self.gpu, self.vertices);
        let ids = match &solved {
            Some(solved) => collect(gpu, solved, edges)?.edges.to_vec(),
            None => Vec::new(),
        };
        let [src, dst] = [&edges.src, &edges.dst].map(|ends| gather::<u32>(gpu, address(gpu, ends), &ids));
        let weights = match self.weights {
            None => Weights::Unit,
            Some(DeviceWeights { address, kind }) => match kind {
                WeightType::U32 => gather::<u32>(gpu, address, &ids)?.into(),
                WeightType::I32 => bytemuck::cast_vec::<u32, i32>(gather(gpu, address, &ids)?).into(),
                WeightType::F32 => bytemuck::cast_vec::<u32, f32>(gather(gpu, address, &ids)?).into(),
                WeightType::I64 => bytemuck::cast_vec::<u64, i64>(gather(gpu, address, &ids)?).into(),
                WeightType::F64 => bytemuck::cast_vec::<u64, f64>(gather(gpu, address, &ids)?).into(),
            },
        };
        let tree = Graph::from_edges(n, src?, dst?, weights)?;
        let within = Forest::from_sorted(&tree, (0..ids.len() as u32).collect::<Vec<_>>(), None);
        let forest = Forest::from_parts(n, Array::from(ids), within.weight(), solved.and_then(|solved| solved.stats));
        Ok(Found { forest, tree, within })
    }
}

/// Ends of edges as 32-bit ids below `vertices`.
struct Ends {
    vertices: u32,
    src: cudarc::driver::CudaSlice<u32>,
    dst: cudarc::driver::CudaSlice<u32>,
}

fn take_ends(gpu: &Gpu, vertices: Option<usize>, edges: usize, src: DeviceIds, dst: DeviceIds) -> Result<Ends> {
    let limit = vertices.map_or(1 << 32, |vertices| vertices as u64);
    // For both ends: the first wrong edge, and the largest id + 1.
    let seen = gpu.stream.clone_htod(&[u64::MAX, u64::MAX, 0])?;
    let [first, second, largest] = [0, 8, 16].map(|offset| address(gpu, &seen) + offset);
    let count = edges as u64;
    let copies = [gpu.room::<u32>(edges)?, gpu.room::<u32>(edges)?];
    for ((ids, copy), wrong) in [src, dst].into_iter().zip(&copies).zip([first, second]) {
        let kernel = format!("take_ids_{}", ids.kind.name());
        launch!(gpu, Module::Graph, &kernel, gpu.over(edges), &ids.address, copy, &count, &limit, &wrong, &largest);
    }
    let seen = gpu.stream.clone_dtoh(&seen)?;
    gpu.stream.synchronize()?;
    let edge = seen[0].min(seen[1]);
    if edge != u64::MAX {
        let (ids, copy) = if seen[0] == edge { (src, &copies[0]) } else { (dst, &copies[1]) };
        return Err(wrong_vertex(gpu, ids, address(gpu, copy), edge, vertices));
    }
    let vertices = vertices.unwrap_or(seen[2] as usize);
    let Ok(n) = u32::try_from(vertices) else {
        return Err(Error::TooLarge { what: "vertices", count: vertices as u64 });
    };
    check_vertices(vertices)?;
    let [src, dst] = copies;
    Ok(Ends { vertices: n, src, dst })
}

/// What is wrong with the id of that edge's end.
fn wrong_vertex(gpu: &Gpu, ids: DeviceIds, copy: sys::CUdeviceptr, edge: u64, vertices: Option<usize>) -> Error {
    // The lower half is in the copy; the whole of a wide one in the caller's array.
    let vertex = match ids.kind {
        IdType::U32 => gather::<u32>(gpu, copy, &[edge as u32]).map(|id| i128::from(id[0])),
        IdType::I32 => gather::<u32>(gpu, copy, &[edge as u32]).map(|id| i128::from(id[0] as i32)),
        IdType::U64 => gather::<u64>(gpu, ids.address, &[edge as u32]).map(|id| i128::from(id[0])),
        IdType::I64 => gather::<u64>(gpu, ids.address, &[edge as u32]).map(|id| i128::from(id[0] as i64)),
    };
    match (vertex, vertices) {
        (Err(error), _) => error,
        (Ok(vertex), _) if vertex < 0 => Error::File {
            file: "the graph".into(),
            what: format!("edge {edge} names vertex {vertex}, but vertices are numbered from 0"),
        },
        (Ok(vertex), None) => Error::TooLarge { what: "vertices", count: vertex as u64 },
        (Ok(vertex), Some(vertices)) => Error::Vertex { edge, vertex: vertex as u64, vertices: vertices as u64 },
    }
}

/// Keys from weights, and what solves with them.
fn solver<K: DeviceKey>(
    gpu: &Gpu,
    ends: Ends,
    edges: usize,
    weights: Option<DeviceWeights>,
    map: [K; 4],
) -> Result<Solver<K>> {
    let count = edges as u64;
    let keys = match weights {
        _ if edges == 0 => gpu.room(0)?,
        None => gpu.stream.alloc_zeros::<K>(edges)?,
        Some(DeviceWeights { address: from, kind }) => {
            let keys = gpu.room::<K>(edges)?;
            if let Some(infinity) = kind.infinity() {
                check_floats::<K>(gpu, from, infinity, count)?;
            }
            // SAFETY: by the contract of `DeviceGraph::new` there are as many weights, of the keys' size.
            #[allow(unsafe_code)]
            unsafe {
                let bytes = edges * size_of::<K>();
                result::memcpy_dtod_async(address(gpu, &keys), from, bytes, gpu.stream.cu_stream())?;
            }
            let (make_keys, map, zero) = (format!("make_keys_{}", K::SUFFIX), Map(map), 0u64);
            launch!(gpu, Module::Graph, &make_keys, gpu.over(edges), &keys, &map, &zero, &count);
            keys
        }
    };
    let sample: Vec<u32> = (0..SAMPLES.min(count)).map(|i| below(mix(i), count) as u32).collect();
    let sample = gather::<K>(gpu, address(gpu, &keys), &sample)?;
    let (smallest, largest) =
        sample.into_iter().fold((K::MAX, K::zeroed()), |(low, high), key| (low.min(key), high.max(key)));
    let Ends { vertices: n, src, dst } = ends;
    Ok(Solver::of_edges(Edges { n, m: edges as u32, src, dst, keys, smallest, largest }))
}

/// Fails where a weight is NaN.
fn check_floats<K: DeviceKey>(gpu: &Gpu, weights: sys::CUdeviceptr, infinity: u64, count: u64) -> Result<()> {
    let wrong = gpu.stream.clone_htod(&[u64::MAX])?;
    let (kernel, shape) = (format!("find_nan_{}", K::SUFFIX), gpu.over(count as usize));
    if size_of::<K>() == 4 {
        let infinity = infinity as u32;
        launch!(gpu, Module::Graph, &kernel, shape, &weights, &infinity, &count, &wrong);
    } else {
        launch!(gpu, Module::Graph, &kernel, shape, &weights, &infinity, &count, &wrong);
    }
    let wrong = gpu.stream.clone_dtoh(&wrong)?;
    gpu.stream.synchronize()?;
    if wrong[0] == u64::MAX { Ok(()) } else { Err(Error::Nan { edge: wrong[0] }) }
}

/// The items of these edges from an array on the GPU.
fn gather<K: DeviceKey>(gpu: &Gpu, from: sys::CUdeviceptr, edges: &[u32]) -> Result<Vec<K>> {
    if edges.is_empty() {
        return Ok(Vec::new());
    }
    let (ids, items, count) = (gpu.stream.clone_htod(edges)?, gpu.room::<K>(edges.len())?, edges.len() as u64);
    let kernel = format!("gather_keys_{}", K::SUFFIX);
    launch!(gpu, Module::Graph, &kernel, gpu.over(edges.len()), &from, &ids, &items, &count, &count);
    let mut host = vec![K::zeroed(); edges.len()];
    gpu.with_pipe(|pipe| {
        pipe.wait()?;
        pipe.receive(address(gpu, &items), &mut host)
    })?;
    Ok(host)
}
