//! Single-linkage clustering: the order in which a minimum spanning forest joins its vertices.
//!
//! Every vertex starts as a cluster. The forest's edges in the order `(weight, edge id)` each merge two of them, so the merges
//! are found by sorting the forest and one pass with a union-find: near-linear after the forest (Gower and Ross, 1969).

use rayon::prelude::*;

use crate::graph::Graph;
use crate::union_find::UnionFind;
use crate::weight::{AnyKeys, Key, Keys, Weight};

/// Two clusters that become one. The vertices are the clusters `0..n`; merge `i` makes the cluster `n + i`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Merge {
    /// The two clusters, the smaller number first.
    pub clusters: [u64; 2],
    /// The edge that joins them.
    pub edge: u32,
    /// Its weight.
    pub weight: Weight,
    /// Vertices in the new cluster.
    pub size: u32,
}

/// The merges of the single-linkage clustering of `graph`, from the edges of its minimum spanning forest.
///
/// ```
/// use kostra::{Graph, linkage};
///
/// let graph = Graph::from_edges(4, &[0, 0, 1, 2], &[1, 2, 2, 3], &[5, 7, 6, 1])?;
/// let forest = kostra::minimum_spanning_forest(&graph)?;
/// let merges = linkage(&graph, forest.edges());
/// assert_eq!(merges.iter().map(|merge| merge.clusters).collect::<Vec<_>>(), [[2, 3], [0, 1], [4, 5]]);
/// assert_eq!(merges[2].size, 4);
/// # Ok::<(), kostra::Error>(())
/// ```
///
/// # Panics
///
/// When an edge is not one of the graph, or closes a cycle.
pub fn linkage(graph: &Graph, forest: &[u32]) -> Vec<Merge> {
    let order = match graph.keys(false) {
        AnyKeys::Narrow(keys) => sorted(keys, forest),
        AnyKeys::Wide(keys) => sorted(keys, forest),
    };
    let n = graph.vertices();
    let mut trees = UnionFind::new(n);
    // By the smallest vertex of a tree: the number of its cluster, and its vertices.
    let mut clusters: Vec<(u64, u32)> = (0..n as u64).map(|v| (v, 1)).collect();
    let merge = |(number, edge): (u64, u32)| {
        let (u, v) = graph.endpoints(edge as usize);
        let [a, b] = [u, v].map(|end| clusters[trees.find(end) as usize]);
        assert!(trees.union(u, v), "edge {edge} closes a cycle, so the edges are no forest");
        let size = a.1 + b.1;
        clusters[trees.find(u) as usize] = (number, size);
        let weight = graph.weights().at(edge as usize);
        Merge { clusters: [a.0.min(b.0), a.0.max(b.0)], edge, weight, size }
    };
    (n as u64..).zip(order).map(merge).collect()
}

/// The edges by weight, ties by id.
fn sorted<K: Key>(keys: Keys<K>, forest: &[u32]) -> Vec<u32> {
    let mut ranked: Vec<K::Ranked> = forest.par_iter().map(|&e| keys.ranked(e as usize)).collect();
    ranked.par_sort_unstable();
    ranked.into_par_iter().map(K::edge).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ties_are_merged_in_the_order_of_edge_ids() {
        let graph = Graph::from_edges(5, &[4, 0, 2], &[2, 1, 1], &[1.5, 1.5, 1.5]).unwrap();
        let merges = linkage(&graph, &[0, 1, 2]);
        let clusters: Vec<_> = merges.iter().map(|merge| (merge.clusters, merge.edge, merge.size)).collect();
        assert_eq!(clusters, [([2, 4], 0, 2), ([0, 1], 1, 2), ([5, 6], 2, 4)]);
        assert_eq!(merges[1].weight, Weight::Float(1.5));
        assert!(linkage(&graph, &[]).is_empty());
    }

    #[test]
    #[should_panic(expected = "closes a cycle")]
    fn a_cycle_is_no_forest() {
        let graph = Graph::from_edges(2, &[0, 1], &[1, 0], &[1, 1]).unwrap();
        linkage(&graph, &[0, 1]);
    }
}
