//! `uminho` on CUDA: every round builds the contracted graph's adjacency lists directly.
//!
//! The same kernels as on the CPU, in the paper's order, each over vertices. Rows are read by a thread, a warp or a block
//! by their length; a single giant row keeps one block busy, which is where this method loses on skewed graphs.
//! Parallel edges stay, as in the paper, so rows of hubs grow from round to round.
//!
//! Departures are those on the CPU: ties go by the order `(weight, edge id)`, a vertex reserves room for its arcs while
//! it counts them, colours spread by pointer doubling in one launch, components without arcs are dropped.
//!
//! Cost: `O(m log n)` work; 16 bytes per arc twice and 28 per vertex beside the graph. Prefer it on roads and grids.
//!
//! C. da Silva Sousa, A. Mariano and A. Proença, "A generic and highly efficient parallel variant of Borůvka's
//! algorithm", 2015.

use cudarc::driver::CudaSlice;

use super::collect::Solved;
use super::contract::{Alive, Arcs, Chosen, Trees, over_rows, rows_of, scan};
use super::gpu::{Gpu, launch};
use super::module::Module;
use super::resident::{DeviceKey, Solver, address};
use crate::error::Result;
use crate::run::Run;

/// Bytes that it takes beside the graph for each vertex and each edge. Arcs are on two lists; the ranks of 64-bit keys
/// count.
pub(super) const BYTES: (u64, u64) = (28, 70);

/// Solves a graph that is on the GPU.
pub(super) fn solve<K: DeviceKey>(gpu: &Gpu, solver: &mut Solver<K>, run: &Run) -> Result<Solved> {
    let mut arcs = Arcs::of_rows(gpu, solver, run)?;
    let n = arcs.vertices;
    let mut chosen = Chosen::new(gpu, n, run)?;
    let mut trees = Trees::new(gpu, n)?;
    let mut degrees = gpu.room::<u32>(n)?;
    let places = gpu.room::<u32>(n)?;
    // The rows of this round, after the first, and those of the next: vertices at least halve.
    let mut kept: [CudaSlice<u32>; 2] = [gpu.room(n / 2 + 1)?, gpu.room(n / 2 + 1)?];
    let mut rows = address(gpu, &rows_of(solver, run)?.rows);
    while arcs.count > 0 {
        let vertices = arcs.vertices;
        run.watch().step("uminho", (n - vertices) as u64, n as u64)?;
        if let Some(rounds) = chosen.rounds() {
            let [filled, longest] = arcs.measure_rows(rows)?;
            rounds.push(vec![
                ("vertices", filled as f64),
                ("edges", arcs.count as f64 / 2.0),
                // By how much the row of one vertex, which the paper gives to one thread, is longer than the average.
                ("imbalance", (longest * filled) as f64 / arcs.count as f64 - 1.0),
            ]);
        }
        let (marked, count, shape) = (chosen.places(vertices), vertices as u32, over_rows(vertices));
        let Arcs { list, .. } = &arcs;
        launch!(gpu, Module::Uminho, "find_minimum", shape, &count, &rows, list, &trees.links, &marked);
        let wide = vertices as u64;
        launch!(gpu, Module::Uminho, "remove_mirrored", over_rows(vertices), &wide, &trees.links, &marked);
        trees.double_links(vertices)?;
        let components = trees.number(vertices, Alive::Rows(rows))?;

        gpu.stream.memset_zeros(&mut degrees.slice_mut(..components))?;
        launch!(gpu, Module::Uminho, "count_arcs", shape, &count, &rows, list, &trees.links, &degrees, &places);
        let left = scan(gpu, &mut trees.tally, components, &degrees, &kept[0])?;
        if left > 0 {
            let (colours, next_rows, next) = (&trees.links, &kept[0], &arcs.spare);
            #[rustfmt::skip]
            launch!(
                gpu, Module::Uminho, "insert_arcs", shape,
                &count, &rows, list, colours, &places, next_rows, next,
            );
        }
        arcs.replace(components, left);
        rows = address(gpu, &kept[0]);
        kept.swap(0, 1);
    }
    Ok(chosen.into_solved(solver))
}
