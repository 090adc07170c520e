//! The edges of the forest, as rounds choose them.

use std::sync::atomic::AtomicU8;

use crate::buffer::Buffer;
use crate::error::Result;
use crate::forest::{Forest, MARKED};
use crate::graph::Graph;
use crate::par::{shared, split};
use crate::run::Stats;

/// The edges chosen so far: by marks where the graph has few edges per vertex, else by their ids.
pub(super) enum Chosen {
    /// 1 for every edge that is chosen: it does not matter how often.
    Marks(Buffer<u8>),
    /// The first `len` of these, in any order.
    Ids { ids: Buffer<u32>, len: usize },
}

impl Chosen {
    pub(super) fn new(graph: &Graph) -> Result<Self> {
        let (n, m) = (graph.vertices(), graph.edges());
        Ok(if m / MARKED <= n {
            Self::Marks(Buffer::zeroed(m)?)
        } else {
            Self::Ids { ids: Buffer::zeroed(n)?, len: 0 }
        })
    }

    /// The marks, for all threads to set, if there are any.
    pub(super) fn marks(&mut self) -> Option<&[AtomicU8]> {
        match self {
            Self::Marks(marks) => Some(shared(marks)),
            Self::Ids { .. } => None,
        }
    }

    /// Room for the ids of so many more edges in each block; none where they are marked.
    pub(super) fn room(&mut self, counts: &[usize]) -> Vec<&mut [u32]> {
        match self {
            Self::Marks(_) => counts.iter().map(|_| &mut [][..]).collect(),
            Self::Ids { ids, len } => {
                let first = *len;
                *len += counts.iter().sum::<usize>();
                split(&mut ids[first..*len], counts)
            }
        }
    }

    /// One more edge.
    pub(super) fn add(&mut self, e: u32) {
        match self {
            Self::Marks(marks) => marks[e as usize] = 1,
            Self::Ids { ids, len } => {
                ids[*len] = e;
                *len += 1;
            }
        }
    }

    pub(super) fn into_forest(self, graph: &Graph, stats: Option<Stats>) -> Result<Forest> {
        match self {
            Self::Marks(marks) => Forest::from_marks(graph, &marks, stats),
            Self::Ids { ids, len } => Forest::new(graph, &ids[..len], stats),
        }
    }
}
