//! How far the first iteration of Bader and Cong's MST-BC shrinks a graph: a statistic to compare others with, not a solver.
//!
//! Each of `p` processors grows a tree with Prim's algorithm from a vertex of its own and claims what it reaches. When
//! the smallest edge that leaves a tree leads to a vertex of another one, that tree ends, without the edge, and its
//! processor begins a new tree at an unclaimed vertex. When all vertices are claimed, every tree becomes one vertex. The
//! reduction is the number of vertices before over that after, both without those that have no edges.
//!
//! Processors claim vertices, without colouring their neighbours: trees grow a little further than in the original, as in
//! the comparison of Nobari and others. They take turns, a vertex each, so the numbers are the same on every machine.
//! Processor `i` looks for unclaimed vertices from `i * n / p` on, and around.
//!
//! D. Bader, G. Cong, "Fast shared-memory algorithms for computing the minimum spanning forest of sparse graphs", 2005.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::str::FromStr;

use kostra::{AnyKeys, Graph, Key, Keys, Result, Watch};

const UNCLAIMED: u32 = u32::MAX;

/// More are no small number of processors, and each would look through all vertices.
const MOST: usize = 1 << 16;

/// The statistic with a number of processors: `mst-bc:p=8`.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct MstBc {
    pub(super) processors: usize,
}

impl FromStr for MstBc {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let processors = text.strip_prefix("mst-bc:p=").and_then(|number| number.parse().ok());
        match processors.filter(|processors| (1..=MOST).contains(processors)) {
            Some(processors) => Ok(Self { processors }),
            None => Err(format!("{text:?} is no statistic; there is mst-bc:p=P with P from 1 to {MOST}")),
        }
    }
}

impl MstBc {
    /// As it is written.
    pub(super) fn name(&self) -> String {
        format!("mst-bc:p={}", self.processors)
    }

    /// The vertices before and after the first iteration.
    pub(super) fn first_iteration(&self, graph: &Graph, watch: &Watch) -> Result<(usize, usize)> {
        match graph.keys(false) {
            AnyKeys::Narrow(keys) => self.with_keys(graph, keys, watch),
            AnyKeys::Wide(keys) => self.with_keys(graph, keys, watch),
        }
    }

    fn with_keys<K: Key>(&self, graph: &Graph, keys: Keys<K>, watch: &Watch) -> Result<(usize, usize)> {
        let csr = graph.csr();
        let n = graph.vertices();
        let mut claims = vec![UNCLAIMED; n];
        let mut trees = 0u32;
        let start = |i: usize| i * n / self.processors;
        let mut processors: Vec<_> = (0..self.processors)
            .map(|i| Processor::<K> { border: BinaryHeap::new(), tree: None, unseen: (start(i)..n).chain(0..start(i)) })
            .collect();
        let mut turns = 0u64;
        while !processors.is_empty() {
            turns += 1;
            if turns % 1024 == 1 {
                watch.check()?;
            }
            processors.retain_mut(|processor| {
                let claimed = match processor.tree {
                    Some(tree) => processor.grow(&claims, tree).map(|v| (v, tree)),
                    // A vertex without edges is done before anything begins.
                    None => {
                        match processor.unseen.find(|&v| claims[v] == UNCLAIMED && csr.row(v as u32).next().is_some()) {
                            None => return false,
                            Some(v) => {
                                trees += 1;
                                Some((v as u32, trees - 1))
                            }
                        }
                    }
                };
                processor.tree = claimed.map(|(_, tree)| tree);
                match claimed {
                    None => processor.border.clear(),
                    Some((v, tree)) => {
                        claims[v as usize] = tree;
                        processor.border.extend(csr.row(v).map(|(u, e)| Reverse((keys.ranked(e as usize), u))));
                    }
                }
                true
            });
        }
        let vertices = claims.iter().filter(|&&claim| claim != UNCLAIMED).count();
        Ok((vertices, trees as usize))
    }
}

/// Who grows one tree after another.
struct Processor<K: Key> {
    /// The arcs from the tree, the smallest on top; some may lead back into it.
    border: BinaryHeap<Reverse<(K::Ranked, u32)>>,
    tree: Option<u32>,
    /// Where it has not yet looked for a vertex to begin at.
    unseen: std::iter::Chain<std::ops::Range<usize>, std::ops::Range<usize>>,
}

impl<K: Key> Processor<K> {
    /// The vertex at the end of the smallest edge that leaves the tree, unless another tree has it or there is none.
    fn grow(&mut self, claims: &[u32], tree: u32) -> Option<u32> {
        while let Some(Reverse((_, v))) = self.border.pop() {
            let claim = claims[v as usize];
            if claim != tree {
                return (claim == UNCLAIMED).then_some(v);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reduced(graph: &Graph, processors: usize) -> (usize, usize) {
        MstBc { processors }.first_iteration(graph, &Watch::default()).expect("a reduction")
    }

    /// The path 0 -1- 1 -3- 2 -2- 3 and a vertex alone.
    #[test]
    fn trees_end_where_they_meet() {
        let weights: &[u32] = &[1, 3, 2];
        let graph = Graph::from_edges(5, &[0, 1, 2][..], &[1, 2, 3][..], weights).expect("a graph");
        // One processor is Prim.
        assert_eq!(reduced(&graph, 1), (4, 1));
        // They begin at 0 and 2, reach 1 and 3, and meet at the edge of weight 3.
        assert_eq!(reduced(&graph, 2), (4, 2));
        // At 0, 1, 2, 3 and 4: everyone's smallest edge leads to somebody else.
        assert_eq!(reduced(&graph, 5), (4, 4));
    }

    #[test]
    fn one_processor_takes_a_tree_per_component() {
        let graph = kostra::generate("er:n=500,degree=2").expect("a graph");
        let forest = kostra::minimum_spanning_forest(&graph).expect("a forest");
        let alone = graph.vertices() - reduced(&graph, 1).0;
        assert_eq!(reduced(&graph, 1).1, forest.trees() - alone);
        assert!(reduced(&graph, 8).1 >= reduced(&graph, 1).1);
    }

    #[test]
    fn processors_are_few() {
        assert_eq!("mst-bc:p=8".parse(), Ok(MstBc { processors: 8 }));
        for text in ["mst-bc", "mst-bc:p=0", "mst-bc:p=x", "bc:p=8", "mst-bc:p=99999"] {
            assert!(text.parse::<MstBc>().is_err(), "{text}");
        }
    }
}
