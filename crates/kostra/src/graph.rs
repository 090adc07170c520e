//! The graph: an undirected multigraph as arrays of endpoints and weights.

use std::sync::OnceLock;

use rayon::prelude::*;

use crate::array::Array;
use crate::csr::Csr;
use crate::error::{Error, Result};
use crate::names::Names;
#[cfg(feature = "cuda")]
use crate::weight::each_weights;
use crate::weight::{AnyKeys, Weights, first};

/// An undirected multigraph. Edge `e` joins `sources()[e]` and `targets()[e]`; its id is its position.
///
/// Self-loops and parallel edges are legal. The arrays are borrowed from the caller, owned, or read in place from a
/// mapped file. Every endpoint is below [`vertices`](Self::vertices), and no weight is NaN.
///
/// ```
/// use kostra::Graph;
///
/// let graph = Graph::from_edges(4, &[0, 1, 2], &[1, 2, 0], &[2.5, -1.0, 2.5])?;
/// let forest = kostra::minimum_spanning_forest(&graph)?;
/// assert_eq!(forest.edges(), [0, 1]);
/// assert_eq!(forest.trees(), 2);
/// # Ok::<(), kostra::Error>(())
/// ```
#[derive(Debug)]
pub struct Graph<'a> {
    vertices: u32,
    src: Array<'a, u32>,
    dst: Array<'a, u32>,
    weights: Weights<'a>,
    names: Option<Names>,
    csr: OnceLock<Csr>,
}

impl<'a> Graph<'a> {
    /// A graph of `vertices` vertices from arrays of endpoints and weights ([`Weights::Unit`] for none).
    ///
    /// Slices are borrowed, vectors are taken over; nothing is copied.
    pub fn from_edges(
        vertices: usize,
        src: impl Into<Array<'a, u32>>,
        dst: impl Into<Array<'a, u32>>,
        weights: impl Into<Weights<'a>>,
    ) -> Result<Self> {
        let (src, dst, weights) = (src.into(), dst.into(), weights.into());
        check_lengths(&src, &dst, &weights)?;
        let Ok(n) = u32::try_from(vertices) else {
            return Err(Error::TooLarge { what: "vertices", count: vertices as u64 });
        };
        let outside = |ends: &[u32]| first(ends, |v| v >= n);
        if let Some(edge) = [outside(&src), outside(&dst)].into_iter().flatten().min() {
            return Err(Error::Vertex {
                edge: edge as u64,
                vertex: src[edge].max(dst[edge]).into(),
                vertices: n.into(),
            });
        }
        check_weights(&weights)?;
        Ok(Self { vertices: n, src, dst, weights, names: None, csr: OnceLock::new() })
    }

    /// The same with as many vertices as the edges name: the largest id + 1, none without edges.
    ///
    /// ```
    /// let graph = kostra::Graph::from_all_edges(&[0, 1], &[1, 7], kostra::Weights::Unit)?;
    /// assert_eq!(graph.vertices(), 8);
    /// # Ok::<(), kostra::Error>(())
    /// ```
    pub fn from_all_edges(
        src: impl Into<Array<'a, u32>>,
        dst: impl Into<Array<'a, u32>>,
        weights: impl Into<Weights<'a>>,
    ) -> Result<Self> {
        let (src, dst, weights) = (src.into(), dst.into(), weights.into());
        check_lengths(&src, &dst, &weights)?;
        let vertices = largest(&src).max(largest(&dst));
        let Ok(vertices) = u32::try_from(vertices) else {
            return Err(Error::TooLarge { what: "vertices", count: vertices });
        };
        check_weights(&weights)?;
        Ok(Self::from_proved_edges(vertices, src, dst, weights))
    }

    /// The same without the checks, for a reader that has proved what [`from_edges`](Self::from_edges) would look for: as
    /// many targets as sources (and weights, if any), fewer than 2^32, each below `vertices`, and no weight NaN.
    pub(crate) fn from_proved_edges(
        vertices: u32,
        src: Array<'a, u32>,
        dst: Array<'a, u32>,
        weights: Weights<'a>,
    ) -> Self {
        debug_assert!(dst.len() == src.len() && weights.count().is_none_or(|count| count == src.len()));
        debug_assert!(src.iter().chain(dst.iter()).all(|&v| v < vertices));
        Self { vertices, src, dst, weights, names: None, csr: OnceLock::new() }
    }

    /// The number of vertices.
    pub fn vertices(&self) -> usize {
        self.vertices as usize
    }

    /// The number of edges, self-loops and parallel edges counted.
    pub fn edges(&self) -> usize {
        self.src.len()
    }

    /// The first endpoint of every edge.
    pub fn sources(&self) -> &[u32] {
        &self.src
    }

    /// The second endpoint of every edge.
    pub fn targets(&self) -> &[u32] {
        &self.dst
    }

    /// The endpoints of edge `e`.
    ///
    /// # Panics
    ///
    /// When there is no such edge.
    #[inline]
    pub fn endpoints(&self, e: usize) -> (u32, u32) {
        (self.src[e], self.dst[e])
    }

    /// The weights.
    pub fn weights(&self) -> &Weights<'a> {
        &self.weights
    }

    /// The same graph with other weights.
    pub fn with_weights<'b>(self, weights: impl Into<Weights<'b>>) -> Result<Graph<'b>>
    where
        'a: 'b,
    {
        let graph = Graph::from_edges(self.vertices(), self.src, self.dst, weights)?;
        Ok(Graph { names: self.names, ..graph })
    }

    /// The graph of these edges only, with new ids in the order given.
    #[cfg(feature = "cuda")]
    pub(crate) fn with_edges(&self, edges: &[u32]) -> Graph<'static> {
        fn pick<T: Copy + Send + Sync>(edges: &[u32], items: &[T]) -> Vec<T> {
            edges.par_iter().map(|&e| items[e as usize]).collect()
        }
        let weights = each_weights!(&self.weights, Unit => Weights::Unit, w => Weights::from(pick(edges, w)));
        let [src, dst] = [&self.src, &self.dst].map(|ends| pick(edges, ends).into());
        Graph::from_proved_edges(self.vertices, src, dst, weights)
    }

    /// The names of the vertices, where the graph was read with sparse ids.
    pub fn names(&self) -> Option<&Names> {
        self.names.as_ref()
    }

    pub(crate) fn with_names(mut self, names: Names) -> Self {
        debug_assert_eq!(names.len(), self.vertices());
        self.names = Some(names);
        self
    }

    /// The order-preserving keys of the weights; reversed for a `maximum` spanning forest.
    pub fn keys(&self, maximum: bool) -> AnyKeys<'_> {
        self.weights.keys(&self.src, maximum)
    }

    /// The adjacency lists, without self-loops: built in parallel on first use, then kept.
    pub fn csr(&self) -> &Csr {
        match self.csr.get() {
            Some(csr) => csr,
            // Not in the cell's own function: there a thread that helps others meanwhile might come here again, and wait for itself.
            None => {
                let csr = Csr::new(self, false);
                self.csr.get_or_init(|| csr)
            }
        }
    }
}

pub(crate) fn check_lengths(src: &[u32], dst: &[u32], weights: &Weights) -> Result<()> {
    let edges = src.len();
    if dst.len() != edges || weights.count().is_some_and(|count| count != edges) {
        return Err(Error::Lengths { src: edges, dst: dst.len(), weights: weights.count().unwrap_or(edges) });
    }
    if edges > u32::MAX as usize {
        return Err(Error::TooLarge { what: "edges", count: edges as u64 });
    }
    Ok(())
}

fn check_weights(weights: &Weights) -> Result<()> {
    match weights.first_nan() {
        Some(edge) => Err(Error::Nan { edge: edge as u64 }),
        None => Ok(()),
    }
}

/// The largest id + 1; 0 where there are none.
pub(crate) fn largest(ids: &[u32]) -> u64 {
    let largest_of = |part: &[u32]| part.iter().fold(0, |largest, &id| largest.max(id));
    ids.par_chunks(1 << 14).map(largest_of).max().map_or(0, |largest| u64::from(largest) + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_vertices_is_found_where_none_is_given() {
        let none: [u32; 0] = [];
        assert_eq!(Graph::from_all_edges(&none, &none, Weights::Unit).unwrap().vertices(), 0);
        let src: Vec<u32> = (0..100_000).collect();
        let graph = Graph::from_all_edges(&src, vec![7; src.len()], Weights::Unit).unwrap();
        assert_eq!((graph.vertices(), graph.edges()), (100_000, 100_000));
        let last = Graph::from_all_edges(&[0], &[u32::MAX], Weights::Unit);
        assert!(matches!(last, Err(Error::TooLarge { what: "vertices", count }) if count == 1 << 32));
        assert!(matches!(Graph::from_all_edges(&[0], &none, Weights::Unit), Err(Error::Lengths { .. })));
        assert!(matches!(Graph::from_all_edges(&[0], &[1], &[f32::NAN]), Err(Error::Nan { edge: 0 })));
    }
}
