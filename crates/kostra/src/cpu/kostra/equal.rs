//! Where all weights are equal, the order is that of the edge ids, and nothing is to be sorted or compared.
//!
//! Each thread takes a range of the edges and joins trees along them one by one, as Kruskal's algorithm does. Only the edges that
//! it takes can be in the forest: another closes a cycle of smaller ones. Of two ranges, the forest of the first stays, and
//! the edges taken in the second are tried once more.

use std::ops::Range;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;

use rayon::prelude::*;

use crate::error::Result;
use crate::forest::Forest;
use crate::graph::Graph;
use crate::par::PARALLEL_FROM;
use crate::run::Run;
use crate::union_find::UnionFind;
use crate::watch::Watch;
use crate::weight::{Key, Keys};

/// Edges between two looks at the watch.
const BLOCK: usize = 1 << 15;

/// How many edges ahead the sets of their ends are asked for.
const AHEAD: usize = 16;

/// Vertices from which they are, as the sets do not fit in a core's own cache. Without, a random graph of four million vertices
/// takes 2.5 times as long; with, a crawl of a hundred thousand 1.6 times.
const FAR: usize = 1 << 18;

/// Whether all keys are those of the edges in the sample, which is looked at first.
pub(super) fn are_equal<K: Key>(graph: &Graph, keys: Keys<K>, sample: &[K::Ranked]) -> bool {
    let key = |&ranked: &K::Ranked| keys.at(K::edge(ranked) as usize);
    let Some(first) = sample.first().map(key) else { return true };
    let is_first = |e: usize| keys.at(e) == first;
    sample.iter().all(|ranked| key(ranked) == first)
        && (graph.weights().is_unit()
            || (0..graph.edges().div_ceil(BLOCK)).into_par_iter().all(|block| {
                (block * BLOCK..graph.edges().min((block + 1) * BLOCK)).fold(true, |all, e| all & is_first(e))
            }))
}

/// The first edges that join all vertices they can.
pub(super) fn equal(graph: &Graph, run: &Run) -> Result<Forest> {
    let (n, m) = (graph.vertices(), graph.edges());
    // No more memory for the sets of all ranges than 16 bytes an edge.
    let most = if m < PARALLEL_FROM { 1 } else { 4 * m.div_ceil(n.max(1)) };
    let ranges = rayon::current_num_threads().min(most);
    let search = Search { graph, watch: run.watch(), end: AtomicUsize::new(m) };
    let (_, chosen) = search.forest(0..m, ranges)?;
    let mut stats = run.stats();
    if let Some(stats) = &mut stats {
        stats.facts.push(("ranges", ranges as f64));
    }
    Forest::new(graph, &chosen, stats)
}

struct Search<'a> {
    graph: &'a Graph<'a>,
    watch: &'a Watch,
    /// The edges from here on are not needed: some range before has joined all vertices. A hint, so relaxed.
    end: AtomicUsize,
}

impl Search<'_> {
    /// The sets of vertices that the edges of a range join, and the edges that do.
    fn forest(&self, edges: Range<usize>, ranges: usize) -> Result<(UnionFind, Vec<u32>)> {
        if ranges > 1 {
            let middle = edges.start + edges.len() / 2;
            let (first, second) = rayon::join(
                || self.forest(edges.start..middle, ranges.div_ceil(2)),
                || self.forest(middle..edges.end, ranges / 2),
            );
            let ((mut trees, mut chosen), (_, others)) = (first?, second?);
            self.join(others.len(), |at| others[at], &mut trees, &mut chosen);
            return Ok((trees, chosen));
        }
        let (mut trees, mut chosen) = (UnionFind::new(self.graph.vertices()), Vec::new());
        for first in edges.clone().step_by(BLOCK) {
            self.watch.step("join", first as u64, self.graph.edges() as u64)?;
            if first >= self.end.load(Relaxed) {
                break;
            }
            self.join(BLOCK.min(edges.end - first), |at| (first + at) as u32, &mut trees, &mut chosen);
            if chosen.len() + 1 == self.graph.vertices() {
                self.end.fetch_min(first + 1, Relaxed);
            }
        }
        Ok((trees, chosen))
    }

    /// Takes every edge that joins two trees.
    #[inline(always)]
    fn join(&self, len: usize, edge: impl Fn(usize) -> u32, trees: &mut UnionFind, chosen: &mut Vec<u32>) {
        let (src, dst) = (self.graph.sources(), self.graph.targets());
        let (is_far, mut next) = (self.graph.vertices() >= FAR, chosen.len());
        chosen.resize(next + len, 0);
        for at in 0..len {
            if is_far {
                let ahead = edge((at + AHEAD).min(len - 1)) as usize;
                trees.prefetch(src[ahead]);
                trees.prefetch(dst[ahead]);
            }
            let e = edge(at);
            // Always written, so that there is no branch to mispredict.
            chosen[next] = e;
            next += usize::from(trees.union(src[e as usize], dst[e as usize]));
        }
        chosen.truncate(next);
    }
}
