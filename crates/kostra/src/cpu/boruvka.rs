//! Borůvka's algorithm: every tree takes its smallest edge, in rounds.
//!
//! At first every vertex is a tree. In each round every tree finds the smallest edge that leaves it, the trees that
//! these edges join become one, and edges inside a tree are dropped. Since no two edges are equal in the order, the
//! chosen edges close no cycle; two trees may choose the same edge. On one thread, as in the textbook: the yardstick of
//! the parallel algorithms that grew from it.
//!
//! Cost: O(m log n) at worst, as the trees at least halve in each round; often O(m), as the edges shrink as well. 16
//! bytes per edge (32 for 64-bit weights) and 24 per vertex (44). Prefer it where edges are few per vertex: even on one
//! thread it is then faster than sorting them all on two.
//!
//! O. Borůvka, "O jistém problému minimálním" (on a certain minimal problem), 1926.

use crate::error::Result;
use crate::forest::Forest;
use crate::graph::Graph;
use crate::run::{Run, Stats};
use crate::union_find::UnionFind;
use crate::watch::Watch;
use crate::weight::{AnyKeys, Key, Keys};

/// Edges between two looks at the watch, which is a few milliseconds.
const BLOCK: usize = 1 << 16;

/// The minimum spanning forest by Borůvka's algorithm.
pub fn boruvka(graph: &Graph, run: &Run) -> Result<Forest> {
    match graph.keys(run.is_maximum()) {
        AnyKeys::Narrow(keys) => with_keys(graph, keys, run),
        AnyKeys::Wide(keys) => with_keys(graph, keys, run),
    }
}

/// An edge between the trees `u` and `v`.
#[derive(Clone, Copy)]
struct Edge<R> {
    ranked: R,
    u: u32,
    v: u32,
}

fn with_keys<K: Key>(graph: &Graph, keys: Keys<K>, run: &Run) -> Result<Forest> {
    let watch = run.watch();
    let mut stats = run.stats();
    let mut trees = graph.vertices();
    let mut edges = edges_of(graph, keys, watch)?;
    let mut chosen = Vec::with_capacity(trees.saturating_sub(1).min(edges.len()));
    while !edges.is_empty() {
        watch.step("boruvka", chosen.len() as u64, graph.vertices() as u64)?;
        if let Some(Stats { rounds, .. }) = &mut stats {
            rounds.push(vec![("trees", trees as f64), ("edges", edges.len() as f64)]);
        }
        let smallest = find_smallest::<K>(&edges, trees, watch)?;
        let labels = join::<K>(&smallest, &mut chosen);
        drop_inner(&mut edges, &labels, watch)?;
        trees = graph.vertices() - chosen.len();
    }
    Forest::new(graph, &chosen, stats)
}

/// All edges but self-loops.
fn edges_of<K: Key>(graph: &Graph, keys: Keys<K>, watch: &Watch) -> Result<Vec<Edge<K::Ranked>>> {
    let mut edges = Vec::with_capacity(graph.edges());
    let (src, dst) = (graph.sources(), graph.targets());
    for first in (0..graph.edges()).step_by(BLOCK) {
        watch.check()?;
        let block = first..graph.edges().min(first + BLOCK);
        let edge = |e| Edge { ranked: keys.ranked(e), u: src[e], v: dst[e] };
        edges.extend(block.map(edge).filter(|edge| edge.u != edge.v));
    }
    Ok(edges)
}

/// For every tree its smallest edge and the tree at the other end; [`Key::LAST`] where no edge leaves it.
fn find_smallest<K: Key>(edges: &[Edge<K::Ranked>], trees: usize, watch: &Watch) -> Result<Vec<(K::Ranked, u32)>> {
    let mut smallest = vec![(K::LAST, 0); trees];
    for block in edges.chunks(BLOCK) {
        watch.check()?;
        for &Edge { ranked, u, v } in block {
            let offer = |best: &mut (K::Ranked, u32), other| {
                if ranked < best.0 {
                    *best = (ranked, other);
                }
            };
            offer(&mut smallest[u as usize], v);
            offer(&mut smallest[v as usize], u);
        }
    }
    Ok(smallest)
}

/// Joins every tree along its smallest edge, and says which new tree each is in.
fn join<K: Key>(smallest: &[(K::Ranked, u32)], chosen: &mut Vec<u32>) -> Vec<u32> {
    let mut joined = UnionFind::new(smallest.len());
    for (tree, &(ranked, other)) in smallest.iter().enumerate() {
        // Where two trees chose the same edge, the second finds them joined.
        if ranked != K::LAST && joined.union(tree as u32, other) {
            chosen.push(K::edge(ranked));
        }
    }
    joined.labels()
}

/// Renames the ends of edges to the new trees and drops the edges inside one.
fn drop_inner<R: Copy>(edges: &mut Vec<Edge<R>>, labels: &[u32], watch: &Watch) -> Result<()> {
    let mut kept = 0;
    for i in 0..edges.len() {
        if i % BLOCK == 0 {
            watch.check()?;
        }
        let Edge { ranked, u, v } = edges[i];
        let (u, v) = (labels[u as usize], labels[v as usize]);
        edges[kept] = Edge { ranked, u, v };
        kept += usize::from(u != v);
    }
    edges.truncate(kept);
    Ok(())
}
