//! `pma-min`, `pma-sort` and `pma-hybrid` on CUDA: many small Prims at once, then unification, in rounds.
//!
//! A processor has gamma vertices to begin trees with, and grows one after the other to at most gamma vertices, or until
//! it touches another. Why this is safe without waiting is told in [`cpu::pma_min`](crate::cpu::pma_min): a tree is
//! grown by one processor only, which always knows what arcs leave it. Unification numbers the trees that touch, gives
//! arcs their new ends, drops those inside, and of parallel ones keeps the smallest (all with `keep-parallel=true`), by
//! a sort of the whole list as in the paper; for sorted rows it then sorts by weight and by vertex.
//!
//! Departures. A processor is a group of lanes, more of them where rows are longer, not a single thread, so a row is read
//! side by side. The smallest arc of a vertex is kept beside it in the queue, not moved to the front of its row; so is
//! the place in a sorted row. Arcs of equal weight stand in a sorted row in any order, and all are looked at. Parallel
//! arcs are found by both ends only, then a segmented minimum finds the smallest.
//!
//! Cost: `O(gamma m log n)` at worst for `pma-min` and `O(m log n)` for the others; 40 bytes per arc and 60 per vertex
//! beside the graph. Which trees touch, and so the statistics, changes from run to run; the forest never does.
//!
//! S. Nobari, T.-T. Cao, P. Karras and S. Bressan, "Scalable parallel minimum spanning forest computation", 2012.

use cudarc::driver::{CudaSlice, DeviceRepr, LaunchConfig, sys};

use super::contract::{Alive, Arcs, Chosen, Trees, Word, clear, rows_of};
use super::gpu::{Gpu, Module, launch};
use super::resident::{DeviceKey, Solved, Solver, address};
use crate::cpu::{gamma_of, suitable_gamma};
use crate::error::Result;
use crate::run::{Algorithm, Run};

/// As in the kernels.
const THREADS: u32 = 256;

/// Lanes of a processor, and the average degree up to which they do.
const GROUPS: [(usize, usize); 3] = [(1, 1), (8, 8), (32, usize::MAX)];

/// Bytes of a tree's member.
const MEMBER: usize = 24;

/// The trees of a round, as the kernels take them.
#[repr(C)]
struct TreesArgument {
    n: u32,
    gamma: u32,
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
    let keep_parallel = run.option("keep-parallel")?.unwrap_or(false);
    let [mut sorted, sorted_later] = match run.algorithm() {
        Algorithm::PmaMin => [false, false],
        Algorithm::PmaSort => [true, true],
        _ => [false, true],
    };
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
        arcs.sort(&[Word::Key, Word::From])?;
    }
    while arcs.count > 0 {
        let (vertices, count) = (arcs.vertices, arcs.count);
        run.watch().step("pma", (n - vertices) as u64, n as u64)?;
        // A tree of one vertex would choose nothing; one of more than all cannot be.
        let gamma = wanted_gamma.unwrap_or_else(|| suitable_gamma(count, vertices)).clamp(2, vertices.max(2));
        let room = vertices.div_ceil(gamma) * gamma * MEMBER;
        if queues.as_ref().is_none_or(|queues| queues.len() < room) {
            queues = Some(gpu.room(room)?);
        }
        clear(gpu, &trees.links, vertices)?;
        clear(gpu, &touches, vertices)?;
        let argument = TreesArgument {
            n: vertices as u32,
            gamma: gamma as u32,
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
        sorted = sorted_later;
        if !keep_parallel {
            arcs.sort(&[Word::To, Word::From])?;
            arcs.drop_parallel()?;
        }
        match (sorted, keep_parallel) {
            (true, _) => arcs.sort(&[Word::Key, Word::From])?,
            (false, true) => arcs.sort(&[Word::From])?,
            (false, false) => {}
        }
        arcs.find_rows(&later_rows)?;
        rows = address(gpu, &later_rows);
    }
    Ok(chosen.into_solved(solver))
}

/// Partial Prim on all processors, with as many lanes each as suit rows of that length.
fn grow(gpu: &Gpu, trees: &TreesArgument, sorted: bool, degree: usize) -> Result<()> {
    let lanes = GROUPS.iter().find(|(_, up_to)| degree <= *up_to).map_or(32, |(lanes, _)| *lanes);
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
