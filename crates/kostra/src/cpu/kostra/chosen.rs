//! The edges of the forest, as rounds choose them.

use std::sync::atomic::AtomicU8;

use crate::buffer::Buffer;
use crate::error::Result;
use crate::forest::{Forest, MARKED};
use crate::graph::Graph;
use crate::par::{shared, split};
use crate::run::Stats;

/// The edges chosen so far.
pub(super) struct Chosen {
    count: usize,
    edges: Edges,
}

/// Marks where the graph has few edges per vertex, else ids.
enum Edges {
    /// 1 for every edge that is chosen: it does not matter how often.
    Marks(Buffer<u8>),
    /// As many as there are, in any order, and room behind them.
    Ids(Buffer<u32>),
}

impl Chosen {
    pub(super) fn new(graph: &Graph) -> Result<Self> {
        let (n, m) = (graph.vertices(), graph.edges());
        let edges = if m / MARKED <= n { Edges::Marks(Buffer::of_zeros(m)?) } else { Edges::Ids(Buffer::of_any(n)?) };
        Ok(Self { count: 0, edges })
    }

    /// How many there are.
    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// The marks, for all threads to set, if there are any.
    pub(super) fn marks(&mut self) -> Option<&[AtomicU8]> {
        match &mut self.edges {
            Edges::Marks(marks) => Some(shared(marks)),
            Edges::Ids(_) => None,
        }
    }

    /// Counts so many more edges in each block, which are marked already; or else makes room for their ids.
    pub(super) fn add(&mut self, counts: &[usize]) -> Vec<&mut [u32]> {
        let first = self.count;
        self.count += counts.iter().sum::<usize>();
        match &mut self.edges {
            Edges::Marks(_) => counts.iter().map(|_| &mut [][..]).collect(),
            Edges::Ids(ids) => split(&mut ids[first..self.count], counts),
        }
    }

    /// One more edge.
    pub(super) fn push(&mut self, e: u32) {
        match &mut self.edges {
            Edges::Marks(marks) => marks[e as usize] = 1,
            Edges::Ids(ids) => ids[self.count] = e,
        }
        self.count += 1;
    }

    pub(super) fn into_forest(self, graph: &Graph, stats: Option<Stats>) -> Result<Forest> {
        match self.edges {
            Edges::Marks(marks) => Forest::from_marks(graph, &marks, stats),
            Edges::Ids(ids) => Forest::new(graph, &ids[..self.count], stats),
        }
    }
}
