//! `strut` on CUDA: every vertex takes its smallest edge, and what that joins becomes a vertex.
//!
//! The bipartite view makes this simple on a GPU: the second side is the list of edges, each with two neighbours, and a
//! thread for each offers it to both. So the work is even whatever the degrees, and more edges per vertex cost nothing
//! but their reading. The edges that a vertex kept are the strut; those kept by both ends are the zero-difference
//! vertices. Compaction gives the edges new ends and drops those within a vertex. Of parallel ones it keeps the smallest
//! where these must be many: where vertices have fewer pairs than edges, through a table of the pairs. `keep-parallel=true`
//! keeps all, `keep-parallel=false` drops them in every round, elsewhere by the integer sort that the paper builds on.
//!
//! Departures: the paper's stopping rule, one zero-difference vertex, holds for connected graphs only; this ends when
//! no edge is left. Ties go to the smaller edge id, as in the paper, whose edges are numbered likewise.
//!
//! Cost: `O(m log n)` work; 32 bytes per edge and 24 per vertex beside the graph. Prefer it to
//! the other papers' on dense graphs.
//!
//! J. Vasconcellos, E. Cáceres, H. Mongelli and S. Song, "A parallel algorithm for minimum spanning tree on GPU", 2017.

use super::collect::Solved;
use super::contract::{Alive, Arcs, Chosen, Trees, clear, link_to_self};
use super::gpu::{Gpu, launch};
use super::module::Module;
use super::resident::{DeviceKey, Solver};
use crate::error::Result;
use crate::run::Run;

/// Bytes that it takes beside the graph for each vertex and each edge. Edges are on two lists; a table of pairs and the ranks
/// of 64-bit keys count.
pub(super) const BYTES: (u64, u64) = (24, 53);

/// Solves a graph that is on the GPU. Option: `keep-parallel`.
pub(super) fn solve<K: DeviceKey>(gpu: &Gpu, solver: &mut Solver<K>, run: &Run) -> Result<Solved> {
    let keep_parallel = run.option("keep-parallel")?;
    let mut arcs = Arcs::of_edges(gpu, solver, run)?;
    let n = arcs.vertices;
    let mut chosen = Chosen::new(gpu, n, run)?;
    let mut trees = Trees::new(gpu, n)?;
    let cells = gpu.room::<u64>(n)?;
    let mut zero_difference = gpu.room::<u32>(1)?;
    while arcs.count > 0 {
        let (vertices, count) = (arcs.vertices, arcs.count as u64);
        run.watch().step("strut", (n - vertices) as u64, n as u64)?;
        let (marked, shape) = (chosen.places(vertices), gpu.over(arcs.count));
        clear(gpu, &cells, vertices)?;
        launch!(gpu, Module::Strut, "build_strut", shape, &count, &arcs.list, &cells);
        link_to_self(gpu, &trees.links, vertices)?;
        gpu.stream.memset_zeros(&mut zero_difference)?;
        let (list, links) = (&arcs.list, &trees.links);
        launch!(gpu, Module::Strut, "choose_edges", shape, &count, list, &cells, links, &marked, &zero_difference);
        if let Some(rounds) = chosen.rounds() {
            let doubles = gpu.stream.clone_dtoh(&zero_difference)?;
            rounds.push(vec![
                ("vertices", trees.count_cells(vertices, &cells)? as f64),
                ("edges", arcs.count as f64),
                ("zero-difference", f64::from(doubles[0])),
            ]);
        }
        trees.make_roots(vertices)?;
        trees.double_links(vertices)?;
        let compacted = trees.number(vertices, Alive::Cells(&cells))?;
        arcs.relabel(&trees.links, compacted, true)?;
        if arcs.count > 0 && !keep_parallel.unwrap_or(!arcs.is_crowded()) {
            arcs.unite_parallel()?;
        }
    }
    Ok(chosen.into_solved(solver))
}
