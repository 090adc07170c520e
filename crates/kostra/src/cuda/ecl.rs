//! `ecl` on CUDA: ECL-MST, the fastest published code, to measure ours by.
//!
//! ```text
//! make every vertex a tree; draw the threshold
//! list the light edges
//! until the list is empty:
//!     reserve: find the trees of every edge; put those between two on the next list; offer them to both trees
//!     commit: every edge that a tree has kept joins its trees
//!     clear: empty the trees' cells
//! the same with the heavy edges that still join two trees
//! ```
//!
//! The algorithm is the paper's, and what matters for speed is as in the authors' code: a list entry is a 4-tuple of
//! trees, key and edge id; rows of four and more are read by a warp, shorter ones by a thread, each edge from its
//! smaller end only; an atomic minimum is tried only where a plain read says that it may succeed; paths are
//! compressed only in that the list keeps what was found; graphs of four arcs per vertex or more are filtered, with a
//! threshold from 20 sampled weights that should make 3 n arcs light; a round is three launches of a thread per entry
//! and one look at a counter. `without=K` removes the first K of eight optimisations, so that the paper's Table 5 can
//! be measured again.
//!
//! Where it departs from the authors' code:
//! - Ties go to the smaller edge id. Any weights will do: 64-bit keys are shortened to 32 bits in entries and cells,
//!   and compared in full only where these are equal.
//! - The sample is drawn on the GPU and counts as part of the solve.
//! - The forest is noted with the roots that it retires, one word per vertex, instead of a flag per arc.
//! - Graphs of more than 2^31 edges have no rows here and are read as an edge list.
//!
//! Cost: `O(m log n)` work at worst; beside the graph it takes 32 bytes per edge and 16 per vertex.
//!
//! A. Fallin, A. Gonzalez, J. Seo and M. Burtscher, "A High-Performance MST Implementation for GPUs", SC 2023.

use cudarc::driver::{CudaSlice, DeviceRepr, LaunchConfig, sys};

use super::collect::{Slots, Solved};
use super::gpu::{Gpu, launch};
use super::module::Module;
use super::resident::{DeviceKey, GraphArgument, Solver, address};
use crate::error::{Error, Result};
use crate::run::{Run, Stats};

/// The light edges are as many as make `FACTOR * n` arcs, two to an edge. (The paper's text says 4, its code 3.)
const FACTOR: f64 = 3.0;

/// Arcs per vertex from which on edges are filtered.
const FILTER_FROM: u64 = 4;

/// As in the kernels.
const THREADS: u32 = 512;
const SAMPLES: u32 = 20;
const NONE: u32 = u32::MAX;

/// The optimisations that the host has a part in; each is in use where `without` is smaller.
const FILTER: u32 = 3;
const ONE_DIRECTION: u32 = 5;
const DATA_DRIVEN: u32 = 7;
const EDGE_CENTRIC: u32 = 8;

/// The values of `without` for which there are kernels of their own; the others change nothing in that step.
const POPULATES: [u32; 4] = [0, 2, 5, 6];
const ROUNDS: [u32; 7] = [0, 1, 4, 5, 6, 7, 8];

/// Memory to work in, as kernels take it.
#[repr(C)]
struct WorkArgument {
    parents: sys::CUdeviceptr,
    cells: sys::CUdeviceptr,
    chosen: sys::CUdeviceptr,
    count: sys::CUdeviceptr,
    threshold: sys::CUdeviceptr,
    room: u64,
}

// SAFETY: as the struct Work in ecl.cu.
#[allow(unsafe_code)]
unsafe impl DeviceRepr for WorkArgument {}

/// Memory to work in, reused from solve to solve.
pub(super) struct Scratch<K> {
    parents: CudaSlice<u32>,
    cells: CudaSlice<u64>,
    chosen: CudaSlice<u32>,
    count: CudaSlice<u32>,
    threshold: CudaSlice<K>,
    /// Entries that a list can hold; each is four words.
    room: usize,
    lists: [CudaSlice<u32>; 2],
}

impl<K: DeviceKey> Scratch<K> {
    fn new(gpu: &Gpu, n: usize, room: usize) -> Result<Self> {
        Ok(Self {
            parents: gpu.room(n)?,
            cells: gpu.room(n)?,
            chosen: gpu.room(n)?,
            count: gpu.room(1)?,
            threshold: gpu.room(1)?,
            room,
            lists: [gpu.room(4 * room)?, gpu.room(4 * room)?],
        })
    }
}

/// Entries of a list for each edge.
fn entries(without: u32) -> u64 {
    match without {
        0..ONE_DIRECTION => 1,
        ONE_DIRECTION..DATA_DRIVEN => 2,
        _ => 0,
    }
}

/// Bytes that it takes beside the graph for each vertex and each edge, and whether it cannot do without adjacency lists.
pub(super) fn need(run: &Run) -> Result<((u64, u64), bool)> {
    let without = without(run, true)?;
    Ok(((16, 32 * entries(without)), without >= ONE_DIRECTION))
}

/// Solves a graph that is on the GPU. Options: `seed` of the sample, `factor` of the filter, `without` optimisations.
pub(super) fn solve<K: DeviceKey>(gpu: &Gpu, solver: &mut Solver<K>, run: &Run) -> Result<Solved> {
    let Solver { edges, rows, ecl: scratch, .. } = solver;
    let (n, m) = (u64::from(edges.n), u64::from(edges.m));
    let seed: u64 = run.option("seed")?.unwrap_or(0);
    let factor = factor(run)?;
    let without = without(run, rows.is_some())?;
    let filtered = without < FILTER && 2 * m >= FILTER_FROM * n;

    let room = (entries(without) * m) as usize;
    if scratch.as_ref().is_some_and(|scratch| scratch.room < room) {
        // The old memory goes before the new is asked for.
        *scratch = None;
    }
    let scratch = match scratch {
        Some(scratch) => scratch,
        None => scratch.insert(Scratch::new(gpu, n as usize, room)?),
    };

    let graph = GraphArgument::new(gpu, edges, rows.as_ref(), run);
    let stats = run.stats();
    let mut solve = Solve { gpu, run, without, graph, work: work_argument(gpu, scratch), scratch, stats };
    let rank = if filtered { sample_rank(factor, n, m) } else { NONE };
    solve.prepare(seed, rank)?;
    let light = solve.populate("light")?;
    solve.contract(light)?;
    let heavy = if filtered { solve.populate("heavy")? } else { 0 };
    solve.contract(heavy)?;

    if let (Some(Stats { facts, .. }), 0..ONE_DIRECTION) = (&mut solve.stats, without) {
        facts.push(("light share", light as f64 / m as f64));
        facts.push(("edges filtered", (m - light - heavy) as f64));
        if filtered && factor > 0.0 {
            facts.push(("off target", light as f64 / (factor * n as f64 / 2.0) - 1.0));
        }
    }
    Ok(Solved { chosen: solve.work.chosen, slots: Slots::Count(n as usize), stats: solve.stats })
}

fn factor(run: &Run) -> Result<f64> {
    let factor: f64 = run.option("factor")?.unwrap_or(FACTOR);
    if factor.is_nan() || factor < 0.0 {
        return Err(wrong(run, format!("factor={factor}: must be 0 or more")));
    }
    Ok(factor)
}

/// How many optimisations are removed; 0 unless asked for.
fn without(run: &Run, has_rows: bool) -> Result<u32> {
    let Some(text) = run.option::<String>("without")? else { return Ok(0) };
    match text.parse() {
        Ok(without @ 1..ONE_DIRECTION) => Ok(without),
        Ok(without @ ONE_DIRECTION..=EDGE_CENTRIC) if has_rows => Ok(without),
        Ok(ONE_DIRECTION..=EDGE_CENTRIC) => {
            Err(wrong(run, format!("without={text}: the graph has too many edges for both directions; use 1 to 4")))
        }
        _ => Err(wrong(run, format!("without={text}: must be 1 to 8, the number of optimisations to remove"))),
    }
}

fn wrong(run: &Run, what: String) -> Error {
    Error::Algorithm { name: run.algorithm().name().into(), what }
}

/// Which of the sampled keys, in their order, is the threshold.
fn sample_rank(factor: f64, n: u64, m: u64) -> u32 {
    let light = factor * n as f64 / (2 * m) as f64;
    (light * f64::from(SAMPLES)).min(f64::from(SAMPLES - 1)) as u32
}

/// A solve under way.
struct Solve<'a, K> {
    gpu: &'a Gpu,
    run: &'a Run,
    without: u32,
    graph: GraphArgument<K>,
    work: WorkArgument,
    /// The list of this round is the first.
    scratch: &'a mut Scratch<K>,
    stats: Option<Stats>,
}

impl<K: DeviceKey> Solve<'_, K> {
    /// Makes every vertex a tree, and the key of that rank in a sample the threshold.
    fn prepare(&self, seed: u64, rank: u32) -> Result<()> {
        let kernel = format!("prepare_{}", K::SUFFIX);
        launch!(self.gpu, Module::Ecl, &kernel, over(self.graph.n.into()), &self.graph, &self.work, &seed, &rank);
        Ok(())
    }

    /// Lists the `light` or the `heavy` edges, and says how many. Where no list is kept: how many threads a pass takes.
    fn populate(&mut self, which: &str) -> Result<u64> {
        let Self { gpu, graph, work, .. } = &*self;
        let (n, m) = (u64::from(graph.n), u64::from(graph.m));
        match self.without {
            0..DATA_DRIVEN => {}
            DATA_DRIVEN => return Ok(2 * m),
            _ => return Ok(n),
        }
        let list = address(gpu, &self.scratch.lists[0]);
        if graph.rows == 0 {
            launch!(gpu, Module::Ecl, &format!("{which}_edges_{}", K::SUFFIX), over(m), graph, work, &list);
        } else {
            let kernel = format!("{which}_rows_{}_{}", last_up_to(&POPULATES, self.without), K::SUFFIX);
            let GraphArgument { rows, neighbours, edges, arc_keys, .. } = graph;
            launch!(gpu, Module::Ecl, &kernel, over(n), graph, work, &list, rows, neighbours, edges, arc_keys);
        }
        let count = self.count()?;
        self.gpu.stream.memset_zeros(&mut self.scratch.count)?;
        Ok(count)
    }

    /// Joins trees until no edge of the list is left.
    fn contract(&mut self, mut length: u64) -> Result<()> {
        let version = last_up_to(&ROUNDS, self.without);
        let [reserve, commit, clear] =
            ["reserve", "commit", "clear"].map(|step| format!("{step}_{version}_{}", K::SUFFIX));
        let all = length;
        while length > 0 {
            self.run.watch().step("ecl", all - length, all)?;
            let [list, next] = [0, 1].map(|i| address(self.gpu, &self.scratch.lists[i]));
            let Self { gpu, graph, work, .. } = &*self;
            launch!(gpu, Module::Ecl, &reserve, over(length), graph, work, &list, &length, &next);
            let count = self.count()?;
            if count == 0 {
                break;
            }
            if self.without < DATA_DRIVEN {
                length = count;
                self.scratch.lists.swap(0, 1);
            }
            if let Some(Stats { rounds, .. }) = &mut self.stats {
                rounds.push(vec![("edges", length as f64)]);
            }
            let list = address(self.gpu, &self.scratch.lists[0]);
            let Self { gpu, graph, work, .. } = &*self;
            launch!(gpu, Module::Ecl, &commit, over(length), graph, work, &list, &length);
            // Also sets the count to 0 for the next list.
            launch!(gpu, Module::Ecl, &clear, over(length), graph, work, &list, &length);
        }
        Ok(())
    }

    /// Waits, and reads what the kernels have counted.
    fn count(&self) -> Result<u64> {
        let mut count = [0];
        self.gpu.stream.memcpy_dtoh(&self.scratch.count, &mut count)?;
        self.gpu.stream.synchronize()?;
        Ok(count[0].into())
    }
}

/// A thread for each of so many things.
fn over(count: u64) -> LaunchConfig {
    // Fewer than 2^33 things, so fewer than 2^24 blocks.
    let blocks = count.div_ceil(THREADS.into()) as u32;
    LaunchConfig { grid_dim: (blocks, 1, 1), block_dim: (THREADS, 1, 1), shared_mem_bytes: 0 }
}

fn last_up_to(versions: &[u32], without: u32) -> u32 {
    versions.iter().copied().filter(|&version| version <= without).max().unwrap_or(0)
}

fn work_argument<K>(gpu: &Gpu, scratch: &Scratch<K>) -> WorkArgument {
    WorkArgument {
        parents: address(gpu, &scratch.parents),
        cells: address(gpu, &scratch.cells),
        chosen: address(gpu, &scratch.chosen),
        count: address(gpu, &scratch.count),
        threshold: address(gpu, &scratch.threshold),
        room: scratch.room as u64,
    }
}
