//! `pma-min`, `pma-sort` and `pma-hybrid` on CUDA: many small Prims at once, then unification, in rounds.
//!
//! A processor has gamma vertices to begin trees with, and grows one after the other to at most gamma vertices, or until
//! it touches another. Why this is safe without waiting is told in [`cpu::pma_min`](crate::cpu::pma_min): a tree is
//! grown by one processor only, which always knows what arcs leave it. Unification numbers the trees that touch, gives
//! arcs their new ends, drops those inside, and sorts the list by vertex, for sorted rows first by weight, as the paper
//! does.
//!
//! Departures. A processor is a group of lanes, more of them where rows are longer, not a single thread, so a row is
//! read side by side. `pma-hybrid` goes on searching while rows are short. The smallest arc of a vertex is kept beside
//! it in the queue, not moved to the front of its row; so is the place in a sorted row. Rows are sorted by the leading
//! bits of the weight only, as many as tell most arcs of a row apart; those that are alike are all looked at. Unless
//! told, parallel arcs are dropped only in rounds whose vertices have fewer pairs than arcs, through a table of the
//! pairs; else by a sort by both ends and a segmented minimum.
//!
//! Cost: `O(gamma m log n)` at worst for `pma-min` and `O(m log n)` for the others; 40 bytes per arc and 46 per vertex
//! beside the graph. Which trees touch, and so the statistics, changes from run to run; the forest never does.
//!
//! S. Nobari, T.-T. Cao, P. Karras and S. Bressan, "Scalable parallel minimum spanning forest computation", 2012.

use cudarc::driver::{CudaSlice, DeviceRepr, LaunchConfig, sys};

use super::collect::Solved;
use super::contract::{Alive, Arcs, Chosen, Trees, Word, clear, rows_of};
use super::gpu::{Gpu, launch};
use super::module::Module;
use super::resident::{DeviceKey, Solver, address};
use crate::cpu::{gamma_of, suitable_gamma};
use crate::error::Result;
use crate::run::{Algorithm, Run};

/// As in the kernels.
const THREADS: u32 = 256;

/// Up to this average degree a processor is eight lanes, else a warp. On r4 and the USA road eight lanes in the first round
/// took 7 and 30 % less than a warp; single threads took up to 90 times as long, most of it in later rounds.
const LONG_ROW: usize = 8;

/// The smallest gamma that is chosen, and processors that there should be: 16 was best on roads and grids, 64 on r4 and
/// R-MAT, 4 to 8 on dense graphs, where larger trees leave most of the GPU idle.
const GAMMA: usize = 16;
const PROCESSORS: usize = 1024;

/// With fewer arcs a round takes as long as its largest tree grows, so trees stay smaller.
const FEW_ARCS: usize = 1 << 20;
const GAMMA_OF_FEW: usize = 32;

/// The average length from which on `pma-hybrid` sorts rows. A group reads shorter ones at a glance.
const SORTED_FROM: usize = 16;

/// Bytes of a tree's member.
const MEMBER: usize = 24;

/// Bytes that it takes beside the graph for each vertex and each edge. Arcs are on two lists; sorting, a table of pairs and
/// the ranks of 64-bit keys count. So do trees of any size: the last may have all but one of its places beyond the vertices.
pub(super) fn need(run: &Run) -> Result<(u64, u64)> {
    let beyond = if gamma_of(run)?.is_some() { MEMBER as u64 } else { 0 };
    Ok((48 + beyond, 102))
}

/// The trees of a round, as the kernels take them.
#[repr(C)]
struct TreesArgument {
    n: u32,
    gamma: u32,
    key_shift: u32,
    unused: u32,
    rows: sys::CUdeviceptr,
    list: sys::CUdeviceptr,
    claims: sys::CUdeviceptr,
    touches: sys::CUdeviceptr,
    chosen: sys::CUdeviceptr,
    queues: sys::CUdeviceptr,
}

// SAFETY: as the struct Trees in pma.cu.
#[allow(unsafe_code)]
unsafe impl DeviceRepr for TreesArgument {}

/// Solves a graph that is on the GPU. Options: `gamma`, `keep-parallel`.
pub(super) fn solve<K: DeviceKey>(gpu: &Gpu, solver: &mut Solver<K>, run: &Run) -> Result<Solved> {
    let wanted_gamma = gamma_of(run)?;
    let keep_parallel = run.option("keep-parallel")?;
    let mut sorted = run.algorithm() == Algorithm::PmaSort;
    let mut arcs = Arcs::of_rows(gpu, solver, run)?;
    let n = arcs.vertices;
    let mut chosen = Chosen::new(gpu, n, run)?;
    // The claims of vertices are the links of the trees.
    let mut trees = Trees::new(gpu, n)?;
    let touches = gpu.room::<u32>(n)?;
    // Of the rounds after the first.
    let later_rows = gpu.room::<u32>(n / 2 + 1)?;
    let mut rows = address(gpu, &rows_of(solver, run)?.rows);
    let mut queues: Option<CudaSlice<u8>> = None;
    if sorted && arcs.count > 0 {
        arcs.sort(&[Word::Key(leading_bits(&arcs)), Word::From])?;
    }
    while arcs.count > 0 {
        let (vertices, count) = (arcs.vertices, arcs.count);
        run.watch().step("pma", (n - vertices) as u64, n as u64)?;
        // A tree of one vertex would choose nothing; one of more than all cannot be.
        let gamma = wanted_gamma.unwrap_or_else(|| gamma_for(count, vertices)).clamp(2, vertices.max(2));
        let room = vertices.div_ceil(gamma) * gamma * MEMBER;
        if queues.as_ref().is_none_or(|queues| queues.len() < room) {
            queues = Some(gpu.room(room)?);
        }
        clear(gpu, &trees.links, vertices)?;
        clear(gpu, &touches, vertices)?;
        let argument = TreesArgument {
            n: vertices as u32,
            gamma: gamma as u32,
            key_shift: arcs.key_bits.saturating_sub(leading_bits(&arcs)).min(u32::BITS - 1),
            unused: 0,
            rows,
            list: address(gpu, &arcs.list),
            claims: address(gpu, &trees.links),
            touches: address(gpu, &touches),
            chosen: chosen.places(vertices),
            queues: queues.as_ref().map_or(0, |queues| address(gpu, queues)),
        };
        grow(gpu, &argument, sorted, count / vertices)?;
        let wide = vertices as u64;
        launch!(gpu, Module::Pma, "link", over(vertices), &wide, &trees.links, &touches);
        trees.make_roots(vertices)?;
        trees.double_links(vertices)?;
        let unified = trees.number(vertices, Alive::Rows(rows))?;
        if let Some(rounds) = chosen.rounds() {
            let filled = arcs.measure_rows(rows)?[0] as f64;
            rounds.push(vec![
                ("vertices", filled),
                ("edges", count as f64 / 2.0),
                ("gamma", gamma as f64),
                ("reduction", filled / unified.max(1) as f64),
            ]);
        }
        arcs.relabel(&trees.links, unified, false)?;
        if arcs.count == 0 {
            break;
        }
        sorted |= run.algorithm() == Algorithm::PmaHybrid && arcs.count / unified >= SORTED_FROM;
        let keep = keep_parallel.unwrap_or(!arcs.is_crowded());
        if !keep {
            arcs.unite_parallel()?;
        }
        if sorted {
            arcs.sort(&[Word::Key(leading_bits(&arcs)), Word::From])?;
        } else if keep {
            arcs.sort(&[Word::From])?;
        }
        arcs.find_rows(&later_rows)?;
        rows = address(gpu, &later_rows);
    }
    Ok(chosen.into_solved(solver))
}

/// A gamma that suits the graph, as on the CPU, but for many processors.
fn gamma_for(arcs: usize, vertices: usize) -> usize {
    let gamma = suitable_gamma(arcs, vertices).max(GAMMA);
    if arcs < FEW_ARCS { gamma.min(GAMMA_OF_FEW) } else { gamma.min(vertices / PROCESSORS).max(GAMMA / 2) }
}

/// Leading bits of keys by which rows are sorted: enough to tell most arcs of a row apart. The few that are alike are
/// looked at one by one.
fn leading_bits(arcs: &Arcs) -> u32 {
    if arcs.count / arcs.vertices.max(1) < 256 { 8 } else { 16 }
}

/// Partial Prim on all processors, with as many lanes each as suit rows of that length.
fn grow(gpu: &Gpu, trees: &TreesArgument, sorted: bool, degree: usize) -> Result<()> {
    let lanes = if degree <= LONG_ROW { 8 } else { 32 };
    let kernel = format!("grow_{}_{lanes}", if sorted { "sort" } else { "min" });
    let processors = (trees.n as usize).div_ceil(trees.gamma as usize);
    launch!(gpu, Module::Pma, &kernel, over(processors * lanes), trees);
    Ok(())
}

/// So many threads.
fn over(threads: usize) -> LaunchConfig {
    let blocks = (threads as u64).div_ceil(THREADS.into()).clamp(1, i32::MAX as u64) as u32;
    LaunchConfig { grid_dim: (blocks, 1, 1), block_dim: (THREADS, 1, 1), shared_mem_bytes: 0 }
}
