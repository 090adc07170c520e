//! Adjacency lists in compressed rows.

use std::sync::atomic::{AtomicU32, Ordering};

use rayon::prelude::*;

use crate::graph::Graph;
use crate::par::{block, shared, split};

/// Arcs that a bucket of rows should hold: with what is moved about them they then fit into a core's own cache.
const BUCKET: usize = 1 << 16;

/// Most buckets: more places to write to at a time would be more than the cache and its table of pages can hold.
const BUCKETS: usize = 1 << 8;

/// Adjacency lists: row `v` holds the neighbours of `v` and the ids of the edges to them, in edge-id order.
#[derive(Debug)]
pub struct Csr {
    offsets: Vec<u64>,
    neighbours: Vec<u32>,
    edges: Vec<u32>,
}

impl Csr {
    /// Builds the rows. An edge stands in the rows of both its ends; a self-loop stands in its row once where `loops`
    /// are wanted (files keep them), and nowhere otherwise (solvers never choose them).
    ///
    /// First all arcs go to buckets of neighbouring rows, keeping their order, to where these rows will be; then each
    /// bucket is put in the order of its rows within the cache. Beside the result it takes 4 bytes per arc and
    /// a copy of a bucket per thread.
    pub(crate) fn new(graph: &Graph, loops: bool) -> Self {
        let (n, m) = (graph.vertices(), graph.edges());
        let wanted = (2 * m).div_ceil(BUCKET).clamp(1, BUCKETS);
        // Neighbouring rows share a bucket: those that are equal but for the lowest bits.
        let shift = usize::BITS - (n.div_ceil(wanted).max(1) - 1).leading_zeros();
        let buckets = n.div_ceil(1 << shift);

        let arcs = Arcs { graph, loops, block: block(m) };
        let (starts, bounds) = arcs.count(buckets, shift);
        let arrays = [(); 3].map(|()| vec![0u32; bounds[buckets] as usize]);
        let [mut rows, mut neighbours, mut edges] = arrays;
        arcs.distribute(starts, shift, shared(&mut rows), shared(&mut neighbours), shared(&mut edges));

        let mut offsets = vec![0u64; n + 1];
        let lengths: Vec<usize> = bounds.windows(2).map(|bounds| (bounds[1] - bounds[0]) as usize).collect();
        let parts = split(&mut neighbours, &lengths).into_par_iter().zip(split(&mut edges, &lengths));
        let buckets = offsets[1..].par_chunks_mut(1 << shift).zip(bounds.par_windows(2)).zip(parts);
        buckets.for_each_init(Vec::new, |arcs, ((ends, bounds), (neighbours, edges))| {
            let rows = &rows[bounds[0] as usize..bounds[1] as usize];
            Bucket { start: bounds[0], ends, rows, neighbours, edges }.order(arcs);
        });
        Self { offsets, neighbours, edges }
    }

    /// Where each row begins, and the end of the last: one more entry than vertices.
    pub fn offsets(&self) -> &[u64] {
        &self.offsets
    }

    /// The neighbours, row after row.
    pub fn neighbours(&self) -> &[u32] {
        &self.neighbours
    }

    /// The edge ids, row after row.
    pub fn edges(&self) -> &[u32] {
        &self.edges
    }

    /// The arcs of vertex `v`: each neighbour with the id of the edge to it.
    ///
    /// # Panics
    ///
    /// When there is no such vertex.
    #[inline]
    pub fn row(&self, v: u32) -> impl Iterator<Item = (u32, u32)> {
        let range = self.offsets[v as usize] as usize..self.offsets[v as usize + 1] as usize;
        self.neighbours[range.clone()].iter().copied().zip(self.edges[range].iter().copied())
    }
}

/// The arcs of a graph, in blocks of edges.
struct Arcs<'a> {
    graph: &'a Graph<'a>,
    loops: bool,
    block: usize,
}

impl Arcs<'_> {
    /// For every block where its arcs begin in each bucket; and where each bucket begins, with the end of the last.
    fn count(&self, buckets: usize, shift: u32) -> (Vec<Vec<u64>>, Vec<u64>) {
        let count_block = |block| {
            let mut counts = vec![0u64; buckets];
            self.for_each(block, |row, _, _| counts[row as usize >> shift] += 1);
            counts
        };
        let blocks = self.graph.edges().div_ceil(self.block);
        let mut starts: Vec<Vec<u64>> = (0..blocks).into_par_iter().map(count_block).collect();
        let (mut bounds, mut sum) = (vec![0], 0);
        for bucket in 0..buckets {
            starts.iter_mut().for_each(|counts| sum += std::mem::replace(&mut counts[bucket], sum));
            bounds.push(sum);
        }
        (starts, bounds)
    }

    /// Writes row, neighbour and edge id of every arc to its bucket.
    fn distribute(
        &self,
        starts: Vec<Vec<u64>>,
        shift: u32,
        rows: &[AtomicU32],
        neighbours: &[AtomicU32],
        edges: &[AtomicU32],
    ) {
        starts.into_par_iter().enumerate().for_each(|(block, mut next)| {
            self.for_each(block, |row, neighbour, e| {
                let next = &mut next[row as usize >> shift];
                let at = *next as usize;
                *next += 1;
                // Relaxed: every place is written once, and read after the threads have joined.
                rows[at].store(row, Ordering::Relaxed);
                neighbours[at].store(neighbour, Ordering::Relaxed);
                edges[at].store(e, Ordering::Relaxed);
            });
        });
    }

    /// Calls `visit` with row, neighbour and edge id of every arc of a block, in edge-id order.
    #[inline(always)]
    fn for_each(&self, block: usize, mut visit: impl FnMut(u32, u32, u32)) {
        let (src, dst) = (self.graph.sources(), self.graph.targets());
        for e in block * self.block..src.len().min((block + 1) * self.block) {
            let (u, v) = (src[e], dst[e]);
            if u != v {
                visit(u, v, e as u32);
                visit(v, u, e as u32);
            } else if self.loops {
                visit(u, u, e as u32);
            }
        }
    }
}

/// Neighbouring rows, whose arcs are in edge-id order but not yet in that of the rows.
struct Bucket<'a> {
    /// Where its first row begins.
    start: u64,
    /// Where each of its rows ends: to be filled.
    ends: &'a mut [u64],
    rows: &'a [u32],
    neighbours: &'a mut [u32],
    edges: &'a mut [u32],
}

impl Bucket<'_> {
    /// Puts the arcs in the order of the rows. `arcs` is room for a copy of them.
    fn order(self, arcs: &mut Vec<(u32, u32)>) {
        let Self { start, ends, rows, neighbours, edges } = self;
        // Buckets have a power of two rows, all but the last, so the lowest bits are the row within the bucket.
        let mask = ends.len().next_power_of_two() - 1;
        rows.iter().for_each(|&row| ends[row as usize & mask] += 1);
        // The cursor of a row begins where the row does, and ends where it ends.
        let mut sum = 0;
        ends.iter_mut().for_each(|end| sum += std::mem::replace(end, sum));
        arcs.clear();
        arcs.extend(neighbours.iter().copied().zip(edges.iter().copied()));
        for (&row, &(neighbour, e)) in rows.iter().zip(&*arcs) {
            let at = &mut ends[row as usize & mask];
            neighbours[*at as usize] = neighbour;
            edges[*at as usize] = e;
            *at += 1;
        }
        ends.iter_mut().for_each(|end| *end += start);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::weight::Weights;

    #[test]
    fn rows_are_in_edge_id_order_for_any_number_of_threads() {
        let n = 1000u32;
        // Several blocks and several buckets.
        let m = BUCKET as u32 * 2;
        let mix = |i: u32| i.wrapping_mul(2654435761).rotate_left(13) % n;
        let src: Vec<u32> = (0..m).map(|e| if e % 3 == 0 { 17 } else { mix(e) }).collect();
        let dst: Vec<u32> = (0..m).map(|e| mix(e + 77)).collect();
        let graph = Graph::from_edges(n as usize, &src, &dst, Weights::Unit).unwrap();
        for loops in [false, true] {
            let mut naive = vec![vec![]; n as usize];
            for e in 0..m {
                let (u, v) = graph.endpoints(e as usize);
                if u != v {
                    naive[u as usize].push((v, e));
                    naive[v as usize].push((u, e));
                } else if loops {
                    naive[u as usize].push((u, e));
                }
            }
            for threads in [1, 2, 5, 16] {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
                let csr = pool.install(|| Csr::new(&graph, loops));
                assert_eq!(csr.offsets().len(), n as usize + 1);
                for v in 0..n {
                    assert!(csr.row(v).eq(naive[v as usize].iter().copied()), "row {v} with {threads} threads");
                }
            }
        }
    }

    #[test]
    fn buckets_without_arcs_and_a_short_last_one() {
        let (n, m) = (100_001u32, BUCKET as u32 * 4);
        let src: Vec<u32> = (0..m).map(|e| 40_000 + e % 7).collect();
        let dst: Vec<u32> = (0..m).map(|e| if e % 1000 == 0 { n - 1 } else { 70_000 - e % 5000 }).collect();
        let graph = Graph::from_edges(n as usize, &src, &dst, Weights::Unit).unwrap();
        let csr = graph.csr();
        assert_eq!(csr.edges().len(), 2 * m as usize);
        for v in [0, 39_999, 40_006, 65_001, 70_000, n - 1] {
            let row = (0..m).filter(|&e| src[e as usize] == v || dst[e as usize] == v);
            let row = row.map(|e| (src[e as usize] ^ dst[e as usize] ^ v, e));
            assert!(csr.row(v).eq(row), "row {v}");
        }
    }

    #[test]
    fn empty_graphs_have_empty_rows() {
        let graph = Graph::from_edges(0, &[], &[], Weights::Unit).unwrap();
        assert_eq!(graph.csr().offsets(), [0]);
        let graph = Graph::from_edges(3, &[], &[], Weights::Unit).unwrap();
        assert_eq!(graph.csr().offsets(), [0, 0, 0, 0]);
        let graph = Graph::from_edges(2, &[1, 1], &[1, 1], Weights::Unit).unwrap();
        assert_eq!(graph.csr().offsets(), [0, 0, 0]);
        assert_eq!(Csr::new(&graph, true).offsets(), [0, 0, 2]);
    }
}
