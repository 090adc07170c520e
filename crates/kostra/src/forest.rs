//! The result: the edges of a spanning forest.

use std::sync::OnceLock;

use rayon::prelude::*;
use xxhash_rust::xxh3::Xxh3Default;

use crate::graph::Graph;
use crate::run::Stats;
use crate::union_find::UnionFind;
use crate::weight::Total;

/// A spanning forest: ascending edge ids, with what follows from them.
#[derive(Clone, Debug)]
pub struct Forest {
    edges: Vec<u32>,
    vertices: usize,
    weight: Total,
    digest: OnceLock<u64>,
    stats: Option<Stats>,
}

impl Forest {
    /// The forest of `graph` that consists of these edges, in any order. Solvers end with this.
    pub(crate) fn new(graph: &Graph, mut edges: Vec<u32>, stats: Option<Stats>) -> Self {
        edges.par_sort_unstable();
        let weight = graph.weights().total(&edges);
        Self { edges, vertices: graph.vertices(), weight, digest: OnceLock::new(), stats }
    }

    /// The ids of the edges, ascending.
    pub fn edges(&self) -> &[u32] {
        &self.edges
    }

    /// The number of edges.
    pub fn len(&self) -> usize {
        self.edges.len()
    }

    /// Whether there is no edge.
    pub fn is_empty(&self) -> bool {
        self.edges.is_empty()
    }

    /// The number of trees; a vertex without edges is a tree of its own.
    pub fn trees(&self) -> usize {
        self.vertices - self.edges.len()
    }

    /// The sum of the weights: exact for integers; for floats, added in `f64` in edge-id order.
    pub fn weight(&self) -> Total {
        self.weight
    }

    /// XXH3-64 over the edge ids as little-endian `u64`: equal digests mean equal forests of one graph.
    pub fn digest(&self) -> u64 {
        *self.digest.get_or_init(|| {
            let mut hash = Xxh3Default::new();
            for part in self.edges.chunks(1024) {
                let bytes: Vec<u8> = part.iter().flat_map(|&e| u64::from(e).to_le_bytes()).collect();
                hash.update(&bytes);
            }
            hash.digest()
        })
    }

    /// The endpoints of every forest edge, in edge-id order. `graph` is the graph that was solved.
    pub fn endpoints<'a>(&'a self, graph: &'a Graph) -> impl ExactSizeIterator<Item = (u32, u32)> + 'a {
        self.edges.iter().map(|&e| graph.endpoints(e as usize))
    }

    /// The tree of every vertex; trees are numbered from 0 by their smallest vertex.
    pub fn labels(&self, graph: &Graph) -> Vec<u32> {
        let mut trees = UnionFind::new(self.vertices);
        for (u, v) in self.endpoints(graph) {
            trees.union(u, v);
        }
        trees.labels()
    }

    /// What the algorithm counted, when the run asked for it.
    pub fn stats(&self) -> Option<&Stats> {
        self.stats.as_ref()
    }
}
