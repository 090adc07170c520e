//! `vineet` on CUDA: Borůvka's rounds from scans and splits.
//!
//! The steps are those of the paper's Algorithm 1, and their numbers stand beside them. A vertex is never looked at by
//! one thread alone, so rows of any length cost the same.
//!
//! Departures. Weights are not packed with vertices into 32 bits, nor ends and weight into 64: the segmented minimum runs
//! over (key, edge id), so ties are ours, and duplicate edges are split by both ends only, then a segmented minimum finds
//! the smallest of each pair. This saves the digits of the weight. Sources of arcs are kept in the list, where the
//! paper finds them by another scan, so there is no vertex list to build. Supervertices without arcs are dropped, so
//! that forests end. Pointers double without waiting for one another, in one launch.
//!
//! Cost: `O(m log n)` work, dominated by the split: some seven passes over the arcs that are left. 40 bytes per arc and 64
//! per vertex beside the graph. Prefer it to the other papers' on skewed graphs.
//!
//! V. Vineet, P. Harish, S. Patidar and P. J. Narayanan, "Fast minimum spanning tree for large graphs on the GPU", 2009.

use cudarc::driver::{CudaSlice, sys};

use super::collect::Solved;
use super::contract::{Arcs, Chosen, Trees, Word, clear, link_to_self, scan};
use super::gpu::{Gpu, launch};
use super::module::Module;
use super::resident::{DeviceKey, Solver, address};
use crate::error::Result;
use crate::run::Run;

/// Bytes that it takes beside the graph for each vertex and each edge. Arcs are on two lists; sorting and the ranks of 64-bit
/// keys count.
pub(super) const BYTES: (u64, u64) = (66, 86);

/// Solves a graph that is on the GPU.
pub(super) fn solve<K: DeviceKey>(gpu: &Gpu, solver: &mut Solver<K>, run: &Run) -> Result<Solved> {
    let mut arcs = Arcs::of_rows(gpu, solver, run)?;
    let n = arcs.vertices;
    let mut chosen = Chosen::new(gpu, n, run)?;
    let mut vertices = Vertices::new(gpu, n)?;
    while arcs.count > 0 {
        run.watch().step("vineet", (n - arcs.vertices) as u64, n as u64)?;
        let left = arcs.count;
        vertices.find_minima(&arcs)?; // 1-3
        vertices.find_successors(&arcs)?; // 4
        vertices.mark_edges(chosen.places(arcs.vertices))?; // 5, 6
        vertices.trees.double_links(arcs.vertices)?; // 7
        let supervertices = vertices.number_supervertices()?; // 8, 9
        let before = arcs.vertices;
        arcs.relabel(&vertices.trees.links, supervertices, false)?; // 10, 11
        let between = arcs.count;
        if between > 0 {
            arcs.sort(&[Word::To, Word::From])?; // 12
            arcs.drop_parallel()?; // 12, 13
        }
        vertices.n = supervertices;
        if let Some(rounds) = chosen.rounds() {
            rounds.push(vec![
                ("vertices", before as f64),
                ("edges", left as f64 / 2.0),
                ("between supervertices", between as f64 / 2.0),
                ("left", arcs.count as f64 / 2.0),
            ]);
        }
    }
    Ok(chosen.into_solved(solver))
}

/// What is known of the vertices of a round.
struct Vertices<'a> {
    gpu: &'a Gpu,
    n: usize,
    /// The smallest arc of each: `key << 32 | edge id`.
    minima: CudaSlice<u64>,
    /// Links are successors, then representatives, then new ids.
    trees: Trees<'a>,
    /// Every vertex with its representative.
    list: Arcs<'a>,
    marks: CudaSlice<u32>,
    marks_before: CudaSlice<u32>,
}

impl<'a> Vertices<'a> {
    fn new(gpu: &'a Gpu, n: usize) -> Result<Self> {
        Ok(Self {
            gpu,
            n,
            minima: gpu.room(n)?,
            trees: Trees::new(gpu, n)?,
            list: Arcs::with_room(gpu, n + 1, n)?,
            marks: gpu.room(n)?,
            marks_before: gpu.room(n + 1)?,
        })
    }

    fn find_minima(&self, arcs: &Arcs) -> Result<()> {
        clear(self.gpu, &self.minima, self.n)?;
        let (gpu, count) = (self.gpu, arcs.count as u64);
        launch!(gpu, Module::Vineet, "find_minima", gpu.over(arcs.count), &count, &arcs.list, &self.minima);
        Ok(())
    }

    fn find_successors(&self, arcs: &Arcs) -> Result<()> {
        let Self { gpu, n, minima, trees, .. } = self;
        link_to_self(gpu, &trees.links, *n)?;
        let count = arcs.count as u64;
        launch!(gpu, Module::Vineet, "find_successors", gpu.over(arcs.count), &count, &arcs.list, minima, &trees.links);
        Ok(())
    }

    /// Removes cycles and marks the edges that are left.
    fn mark_edges(&self, chosen: sys::CUdeviceptr) -> Result<()> {
        let Self { gpu, minima, trees, .. } = self;
        let n = self.n as u64;
        launch!(gpu, Module::Vineet, "mark_edges", gpu.over(self.n), &n, minima, &trees.links, &chosen);
        Ok(())
    }

    /// Splits the vertices by representative, and gives each run of equals a number.
    fn number_supervertices(&mut self) -> Result<usize> {
        let Self { gpu, n, minima, trees, list, marks, marks_before } = self;
        let (shape, count) = (gpu.over(*n), *n as u64);
        launch!(gpu, Module::Vineet, "list_vertices", shape, &count, &*minima, &trees.links, &list.list);
        (list.count, list.vertices) = (*n, *n + 1);
        list.sort(&[Word::From])?;
        launch!(gpu, Module::Vineet, "mark_segments", shape, &count, &list.list, &*marks);
        let supervertices = scan(gpu, &mut trees.tally, *n, marks, marks_before)?;
        let ids = address(gpu, &trees.links);
        launch!(gpu, Module::Vineet, "assign_ids", shape, &count, &list.list, &*marks_before, &ids);
        Ok(supervertices)
    }
}
