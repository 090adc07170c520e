//! The result: the edges of a spanning forest.

use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, OnceLock};

use xxhash_rust::xxh3::Xxh3Default;

use crate::array::Array;
use crate::bits::list_marks;
use crate::buffer::Buffer;
use crate::error::Result;
use crate::graph::Graph;
use crate::par::{block, shared, sorted_distinct, split};
use crate::run::Stats;
use crate::team::each;
use crate::union_find::UnionFind;
use crate::weight::Total;

/// Where at least one in so many edges is in the forest, marking them in an array of all and collecting the marks is quicker
/// than sorting their ids: on a grid by 10 %.
pub(crate) const MARKED: usize = 8;

/// Marks edge `e` as one of the forest.
#[inline(always)]
pub(crate) fn mark(marks: &[AtomicU8], e: u32) {
    // Relaxed: the marks are read after the threads have joined.
    marks[e as usize].store(1, Ordering::Relaxed);
}

/// A spanning forest: ascending edge ids, with what follows from them.
#[derive(Clone, Debug)]
pub struct Forest {
    edges: Arc<Array<'static, u32>>,
    vertices: usize,
    weight: Total,
    digest: OnceLock<u64>,
    stats: Option<Stats>,
}

impl Forest {
    /// The forest of `graph` that consists of these edges, in any order. Solvers end with this.
    pub(crate) fn new(graph: &Graph, edges: &[u32], stats: Option<Stats>) -> Result<Self> {
        if edges.is_sorted() {
            return Ok(Self::from_sorted(graph, edges.to_vec(), stats));
        }
        if graph.edges() / MARKED <= edges.len() {
            let mut marks = Buffer::of_zeros(graph.edges())?;
            let shared_marks = shared(&mut marks);
            each(edges.chunks(block(edges.len())), |_, part| part.iter().for_each(|&e| mark(shared_marks, e)));
            return Self::from_marks(graph, &marks, stats);
        }
        Ok(Self::from_sorted(graph, sorted_distinct(edges, graph.edges())?, stats))
    }

    /// The same for edges that are known to be in ascending order.
    pub(crate) fn from_sorted(graph: &Graph, edges: impl Into<Array<'static, u32>>, stats: Option<Stats>) -> Self {
        let edges = edges.into();
        let weight = graph.weights().total(&edges);
        Self::from_parts(graph.vertices(), edges, weight, stats)
    }

    /// A forest whose graph is elsewhere: ascending edges, and their weight.
    pub(crate) fn from_parts(vertices: usize, edges: Array<'static, u32>, weight: Total, stats: Option<Stats>) -> Self {
        debug_assert!(edges.is_sorted());
        Self { edges: Arc::new(edges), vertices, weight, digest: OnceLock::new(), stats }
    }

    /// The forest of the edges whose mark is 1; the others' are 0.
    pub(crate) fn from_marks(graph: &Graph, marks: &[u8], stats: Option<Stats>) -> Result<Self> {
        let block = block(marks.len()).next_multiple_of(64);
        let sum = |_, part: &[u8]| part.chunks(255).map(|few| usize::from(few.iter().sum::<u8>())).sum();
        let counts: Vec<usize> = each(marks.chunks(block), sum);
        let mut edges = Buffer::of_any_to_keep(counts.iter().sum())?;
        each(marks.chunks(block).zip(split(&mut edges, &counts)), |number, (part, ids)| {
            list_marks(part, (number * block) as u32, ids);
        });
        Ok(Self::from_sorted(graph, edges, stats))
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
