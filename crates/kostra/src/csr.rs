//! Adjacency lists in compressed rows.

use rayon::prelude::*;

use crate::graph::Graph;

/// Below this many edges one thread builds the rows: starting others would cost more.
const PARALLEL_FROM: usize = 1 << 15;

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
    /// Every thread owns a range of rows and scans all edges for it. Scanning is sequential and cheap; in return rows
    /// come out in edge-id order without atomics or sorting.
    pub(crate) fn new(graph: &Graph, loops: bool) -> Self {
        let (n, src, dst) = (graph.vertices(), graph.sources(), graph.targets());
        let parts = if src.len() < PARALLEL_FROM { 1 } else { rayon::current_num_threads() };

        let mut offsets = vec![0u64; n + 1];
        let rows = n.div_ceil(parts).max(1);
        offsets[1..].par_chunks_mut(rows).enumerate().for_each(|(part, degrees)| {
            let first = (part * rows) as u32;
            let mut count = |v: u32| {
                if let Some(degree) = degrees.get_mut(v.wrapping_sub(first) as usize) {
                    *degree += 1;
                }
            };
            for (&u, &v) in src.iter().zip(dst) {
                if u != v {
                    count(u);
                    count(v);
                } else if loops {
                    count(u);
                }
            }
        });
        for v in 0..n {
            offsets[v + 1] += offsets[v];
        }

        let arcs = offsets[n] as usize;
        let (mut neighbours, mut edges) = (vec![0u32; arcs], vec![0u32; arcs]);
        let mut tasks = Vec::with_capacity(parts);
        let (mut rest_neighbours, mut rest_edges) = (&mut neighbours[..], &mut edges[..]);
        let mut first = 0;
        for part in 1..=parts {
            // Ranges of rows with equal shares of the arcs; the last takes what is left.
            let share = (arcs as u128 * part as u128 / parts as u128) as u64;
            let last =
                if part == parts { n } else { offsets.partition_point(|&o| o <= share).saturating_sub(1).max(first) };
            let len = (offsets[last] - offsets[first]) as usize;
            let (part_neighbours, tail) = rest_neighbours.split_at_mut(len);
            rest_neighbours = tail;
            let (part_edges, tail) = rest_edges.split_at_mut(len);
            rest_edges = tail;
            tasks.push((first, last, part_neighbours, part_edges));
            first = last;
        }
        tasks.into_par_iter().for_each(|(first, last, neighbours, edges)| {
            let base = offsets[first];
            let mut cursors: Vec<u64> = offsets[first..last].iter().map(|&o| o - base).collect();
            let mut put = |v: u32, neighbour: u32, e: usize| {
                if let Some(cursor) = cursors.get_mut(v.wrapping_sub(first as u32) as usize) {
                    neighbours[*cursor as usize] = neighbour;
                    edges[*cursor as usize] = e as u32;
                    *cursor += 1;
                }
            };
            for (e, (&u, &v)) in src.iter().zip(dst).enumerate() {
                if u != v {
                    put(u, v, e);
                    put(v, u, e);
                } else if loops {
                    put(u, u, e);
                }
            }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::weight::Weights;

    #[test]
    fn rows_are_in_edge_id_order_for_any_number_of_threads() {
        let n = 1000u32;
        let m = PARALLEL_FROM as u32 * 2;
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
            for threads in [1, 2, 5] {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
                let csr = pool.install(|| Csr::new(&graph, loops));
                for v in 0..n {
                    assert_eq!(csr.row(v).collect::<Vec<_>>(), naive[v as usize]);
                }
            }
        }
    }

    #[test]
    fn empty_graphs_have_empty_rows() {
        let graph = Graph::from_edges(0, &[], &[], Weights::Unit).unwrap();
        assert_eq!(graph.csr().offsets(), [0]);
        let graph = Graph::from_edges(3, &[], &[], Weights::Unit).unwrap();
        assert_eq!(graph.csr().offsets(), [0, 0, 0, 0]);
    }
}
