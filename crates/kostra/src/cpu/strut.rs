//! The strut algorithm: every vertex holds on to its smallest edge, and edges held from both ends become the vertices
//! of the next round.
//!
//! The paper looks at a graph as a bipartite one: its vertices on one side, its edges on the other, each edge next to
//! its two ends. A *strut* joins every vertex to the smallest edge next to it; those edges are in the forest. An edge
//! joined from both ends is *zero-difference*: its degree in the strut is its degree in the graph. Following the strut
//! from vertex to edge to vertex, edges fall until such an edge is met, so every tree of the strut has exactly one, and
//! its smaller end stands for the tree. Trees are then compacted to vertices, edges inside a tree are dropped, and of
//! edges between the same two trees only the smallest stays (all with `keep-parallel=true`).
//!
//! Cost: O(m log n) at worst, since vertices at least halve in each round; O(m) where parallel edges are many. Up to 48
//! bytes per edge (64 for 64-bit weights), as two graphs are held at a time, and 40 per vertex, beside the adjacency
//! lists. Prefer it where graphs are dense: few rounds, and few edges after the first.
//!
//! Where it departs from the paper: ties go to the smaller edge id. The paper stops at one zero-difference vertex, which
//! is right for connected graphs; here compaction also stops it, when it leaves no edge. The strut is found by searching
//! each row, not by sorting it. Zero-difference edges, not labels propagated in rounds, name the trees.
//!
//! J. F. A. Vasconcellos, E. N. Cáceres, H. Mongelli and S. W. Song, "A parallel algorithm for minimum spanning tree on
//! GPU", 2017.

use std::sync::atomic::AtomicU8;

use rayon::prelude::*;

use super::contract::{Adjacency, Input, Rows, Wish, contract};
use crate::error::Result;
use crate::forest::{Forest, mark};
use crate::graph::Graph;
use crate::par::{PARALLEL_FROM, number_trees, shared};
use crate::run::{Run, Stats};
use crate::watch::Watch;
use crate::weight::{AnyKeys, Key, Keys};

/// Blocks of vertices for each thread. Hubs make them uneven, so there are more than threads by far.
const BLOCKS: usize = 16;

/// The minimum spanning forest by struts.
pub fn strut(graph: &Graph, run: &Run) -> Result<Forest> {
    match graph.keys(run.is_maximum()) {
        AnyKeys::Narrow(keys) => with_keys(graph, keys, run),
        AnyKeys::Wide(keys) => with_keys(graph, keys, run),
    }
}

fn with_keys<K: Key>(graph: &Graph, keys: Keys<K>, run: &Run) -> Result<Forest> {
    let keep_parallel = run.option("keep-parallel")?.unwrap_or(false);
    let wish = Wish { keep_parallel, sorted: false };
    let mut stats = run.stats();
    let mut marks = vec![0u8; graph.edges()];
    let chosen = shared(&mut marks);
    let step = |rows: usize| run.watch().step("strut", (graph.vertices() - rows) as u64, graph.vertices() as u64);

    step(graph.vertices())?;
    let mut rows = shrink(&Input::new(graph.csr(), keys), chosen, wish, &mut stats, run.watch())?;
    while rows.arcs() > 0 {
        step(rows.rows())?;
        rows = shrink(&rows, chosen, wish, &mut stats, run.watch())?;
    }
    Forest::from_marks(graph, &marks, stats)
}

/// One round: the next graph.
fn shrink<K: Key>(
    graph: &impl Adjacency<K>,
    chosen: &[AtomicU8],
    wish: Wish,
    stats: &mut Option<Stats>,
    watch: &Watch,
) -> Result<Rows<K>> {
    let mut strut = build_strut(graph, chosen, watch)?;
    if let Some(Stats { rounds, .. }) = stats {
        rounds.push(vec![
            ("vertices", graph.vertices() as f64),
            ("edges", graph.arcs() as f64 / 2.0),
            ("zero-difference", count_zero_difference(&strut) as f64),
        ]);
    }
    let trees = number_trees(&mut strut, |v| graph.degree(v) > 0);
    // A single tree is connected to nothing else: the paper's stopping rule.
    if trees <= 1 { Ok(Rows::none()) } else { contract(graph, &strut, trees, wish, watch) }
}

/// Chooses the smallest edge of every vertex, and returns for every vertex the other end: itself where there is no edge.
fn build_strut<K: Key>(graph: &impl Adjacency<K>, chosen: &[AtomicU8], watch: &Watch) -> Result<Vec<u32>> {
    let mut ends = vec![0u32; graph.rows()];
    let blocks = if graph.arcs() < PARALLEL_FROM { 1 } else { rayon::current_num_threads() * BLOCKS };
    let block = graph.rows().div_ceil(blocks).max(1);
    ends.par_chunks_mut(block).enumerate().try_for_each(|(number, ends)| -> Result<()> {
        watch.check()?;
        for (end, v) in ends.iter_mut().zip((number * block) as u32..) {
            *end = graph.smallest(v, |_| true).map_or(v, |arc| {
                mark(chosen, arc.edge);
                arc.target
            });
        }
        Ok(())
    })?;
    Ok(ends)
}

/// The edges chosen from both ends. Two vertices that chose each other chose the same edge, the smallest between them.
fn count_zero_difference(ends: &[u32]) -> usize {
    (0..ends.len()).into_par_iter().filter(|&v| (ends[v] as usize) > v && ends[ends[v] as usize] as usize == v).count()
}
