//! Graphs that a GPU's memory cannot hold, or its kernels cannot number, part by part.
//!
//! The forest of a union is the forest of the union of the forests. So each part of the edges is solved together with the
//! forest of the parts before it. The forest's edges come first, so new ids are in the order of the old ones.

use super::gpu::Gpu;
use crate::error::{Error, Result};
use crate::forest::Forest;
use crate::graph::Graph;
use crate::run::Run;

/// Of the free memory one part in so many stays so: what is asked for in pieces is never had to the last byte.
const SPARED: u64 = 32;

/// A part has at least one edge for so many of a forest.
const LEAST: usize = 16;

/// Bytes of the GPU's memory that may be used.
pub(super) fn memory_limit(gpu: &Gpu, run: &Run) -> Result<u64> {
    match run.option("memory")? {
        Some(bytes) => Ok(bytes),
        None => gpu.free_memory().map(|free| free - free / SPARED),
    }
}

/// What solving a graph takes of a GPU.
pub(super) struct Need<B> {
    /// Bytes of its memory for so many edges of the graph.
    pub(super) bytes: B,
    /// Edges that the kernels can number.
    pub(super) most: usize,
}

impl<B: Fn(usize) -> u64> Need<B> {
    /// Whether a graph of so many edges can be solved as a whole.
    pub(super) fn is_met(&self, edges: usize, limit: u64) -> bool {
        edges <= self.most && (self.bytes)(edges) <= limit
    }
}

/// Whether there is room for a graph as a whole or in parts.
pub(super) fn is_possible<B: Fn(usize) -> u64>(graph: &Graph, limit: u64, need: &Need<B>) -> bool {
    need.is_met(graph.edges(), limit) || part_of(graph, limit, need).is_ok()
}

/// The forest of a graph from forests of its parts, or at once if that is possible.
pub(super) fn solve<B: Fn(usize) -> u64>(
    graph: &Graph,
    limit: u64,
    need: &Need<B>,
    whole: impl Fn(&Graph) -> Result<Forest>,
) -> Result<Forest> {
    let m = graph.edges();
    if need.is_met(m, limit) {
        return whole(graph);
    }
    let part = part_of(graph, limit, need)?;
    let (mut ids, mut stats): (Vec<u32>, _) = (Vec::new(), None);
    for from in (0..m).step_by(part) {
        ids.extend((from..m.min(from + part)).map(|e| e as u32));
        let forest = whole(&graph.with_edges(&ids))?;
        ids = forest.edges().iter().map(|&e| ids[e as usize]).collect();
        stats = forest.stats().cloned();
    }
    if let Some(stats) = &mut stats {
        stats.facts.push(("parts", m.div_ceil(part) as f64));
    }
    Ok(Forest::from_sorted(graph, ids, stats))
}

/// How many edges there is room for beside a forest. Few would not do: every part costs a solve of the forest.
fn part_of<B: Fn(usize) -> u64>(graph: &Graph, limit: u64, need: &Need<B>) -> Result<usize> {
    const STEP: usize = 1 << 20;
    let (n, kept) = (graph.vertices(), graph.vertices().saturating_sub(1).min(graph.edges()));
    let least = kept / LEAST + 1;
    let [forest, needed, more] = [0, least, STEP].map(|part| (need.bytes)(kept + part));
    let per_edge = (more - forest).div_ceil(STEP as u64).max(1);
    let room = limit.saturating_sub(forest) / per_edge;
    let part = room.min(need.most.saturating_sub(kept) as u64) as usize;
    if part < least {
        let what = format!(
            "a forest of {n} vertices and a part of the edges need {needed} bytes of the GPU's memory, and there are \
             {limit}; use the device cpu"
        );
        return Err(Error::Device { name: "cuda".into(), what });
    }
    Ok(part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_hold_what_the_limit_and_the_numbers_leave_beside_a_forest() {
        let graph = crate::generate("er:n=300,degree=40").unwrap();
        let kruskal = |graph: &Graph| crate::solve(graph, &Run::new("kruskal")?.with_stats(true));
        let expected = kruskal(&graph).unwrap();
        let parts_of = |limit, most| {
            let largest = std::cell::Cell::new(0);
            let forest = solve(&graph, limit, &Need { bytes: |m| 1000 + 10 * m as u64, most }, |part| {
                largest.set(largest.get().max(part.edges()));
                kruskal(part)
            })?;
            assert!(forest.edges() == expected.edges() && forest.weight() == expected.weight(), "{limit} {most}");
            assert!(largest.get() <= most && 1000 + 10 * largest.get() as u64 <= limit, "{limit} {most}");
            let facts = &forest.stats().unwrap().facts;
            Ok::<_, Error>(facts.iter().find(|(name, _)| *name == "parts").map_or(1, |&(_, parts)| parts as usize))
        };
        let m = graph.edges();
        assert_eq!(parts_of(u64::MAX, m).unwrap(), 1);
        assert_eq!(parts_of(u64::MAX, m - 1).unwrap(), 2);
        assert_eq!(parts_of(u64::MAX, 299 + 100).unwrap(), m.div_ceil(100));
        assert_eq!(parts_of(1000 + 10 * m as u64, usize::MAX).unwrap(), 1);
        assert_eq!(parts_of(1000 + 10 * (299 + 50), usize::MAX).unwrap(), m.div_ceil(50));
        // 299 / 16 + 1 edges are the least.
        assert_eq!(parts_of(1000 + 10 * (299 + 19), usize::MAX).unwrap(), m.div_ceil(19));
        assert!(matches!(parts_of(1000 + 10 * (299 + 19) - 1, usize::MAX), Err(Error::Device { .. })));
        assert!(matches!(parts_of(u64::MAX, 299 + 18), Err(Error::Device { .. })));

        let possible = |limit, most| is_possible(&graph, limit, &Need { bytes: |m| 1000 + 10 * m as u64, most });
        assert!(possible(u64::MAX, m) && possible(1000 + 10 * (299 + 19), m));
        assert!(!possible(1000 + 10 * (299 + 19) - 1, m) && !possible(u64::MAX, 299 + 18));
    }
}
