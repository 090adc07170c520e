//! The Euclidean minimum spanning tree of points: Borůvka's rounds on a k-d tree.
//!
//! ```text
//! build a k-d tree: halves along the widest side, boxes around them
//! until all points are one tree:
//!     note for every box whether all its points are in the same tree
//!     every point finds the nearest point that is not in its tree
//!     every tree takes the shortest of what its points found
//! ```
//!
//! The first round makes the nearest-neighbour graph; the later ones extend it by exactly the neighbours that it lacks, so the
//! result is exact, whatever the points. A search leaves out boxes inside the point's own tree and boxes farther away than
//! what the tree has found already. What a point found stays valid while it is in another tree, and a search that was cut
//! short leaves a bound: most points need no search after the first rounds. Pairs are compared by (distance, smaller point, larger
//! point), so the tree is unique.
//!
//! Cost: about O(n log n) for few dimensions; it grows towards O(n^2) with their number. 11 bytes per coordinate and 80 per
//! point.

use std::sync::atomic::{AtomicU64, Ordering};

use rayon::prelude::*;

use crate::error::{Error, Result};
use crate::union_find::UnionFind;
use crate::watch::Watch;

/// Most points in a leaf: about as many as are compared faster than a further box is.
const LEAF: usize = 12;

/// Points that a thread takes at a time.
const BLOCK: usize = 256;

/// No tree has this number.
const MIXED: u32 = u32::MAX;

/// The edges of a tree over points: ends, smaller first, and distances, sorted by the ends.
#[derive(Clone, Debug, Default)]
pub struct PointTree {
    /// The smaller end of every edge.
    pub src: Vec<u32>,
    /// The larger end of every edge.
    pub dst: Vec<u32>,
    /// Its length.
    pub length: Vec<f64>,
}

/// The Euclidean minimum spanning tree of the points whose coordinates follow one another in `coordinates`, `dimensions` each.
///
/// ```
/// let points = [0.0, 0.0, 3.0, 4.0, 0.0, 1.0];
/// let tree = kostra::euclidean_tree(&points, 2, &kostra::Watch::default())?;
/// assert_eq!((tree.src, tree.dst), (vec![0, 1], vec![2, 2]));
/// assert_eq!(tree.length, [1.0, 18f64.sqrt()]);
/// # Ok::<(), kostra::Error>(())
/// ```
pub fn euclidean_tree(coordinates: &[f64], dimensions: usize, watch: &Watch) -> Result<PointTree> {
    let wrong = |what: String| Error::File { file: "the points".into(), what };
    if dimensions == 0 || !coordinates.len().is_multiple_of(dimensions) {
        return Err(wrong(format!("{} numbers are no points of {dimensions} coordinates", coordinates.len())));
    }
    if let Some(at) = coordinates.par_iter().position_first(|x| !x.is_finite()) {
        return Err(wrong(format!(
            "a coordinate of point {} is {}, not a number on the line",
            at / dimensions,
            coordinates[at]
        )));
    }
    let n = coordinates.len() / dimensions;
    if u32::try_from(n).is_err() {
        return Err(Error::TooLarge { what: "points", count: n as u64 });
    }
    let tree = Tree::new(coordinates, dimensions);
    let mut joined = UnionFind::new(n);
    let mut founds = vec![Found::default(); n];
    let mut edges: Vec<Pair> = Vec::with_capacity(n.saturating_sub(1));
    while edges.len() + 1 < n {
        watch.step("trees", edges.len() as u64, n as u64)?;
        let labels = joined.roots().to_vec();
        let round = Round { tree: &tree, owners: tree.owners(&labels), best: vec![], labels };
        for pair in round.shortest(&mut founds, watch)? {
            if joined.union(pair.u, pair.v) {
                edges.push(pair);
            }
        }
    }
    edges.par_sort_unstable_by_key(|pair| (pair.u, pair.v));
    Ok(PointTree {
        src: edges.iter().map(|pair| pair.u).collect(),
        dst: edges.iter().map(|pair| pair.v).collect(),
        length: edges.iter().map(|pair| pair.square.sqrt()).collect(),
    })
}

/// Two points, the smaller number first, and the square of their distance.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
struct Pair {
    square: f64,
    u: u32,
    v: u32,
}

impl Pair {
    const NONE: Self = Self { square: f64::INFINITY, u: MIXED, v: MIXED };
}

/// What a point knows of the points outside its tree.
#[derive(Clone, Copy)]
struct Found {
    /// The nearest, as long as it is outside.
    pair: Pair,
    /// None is nearer than this.
    bound: f64,
}

impl Default for Found {
    fn default() -> Self {
        Self { pair: Pair::NONE, bound: 0.0 }
    }
}

/// A box around points that follow one another in the tree's order.
struct Node {
    start: usize,
    end: usize,
    /// The number of the second half; the first follows this node. 0 in a leaf.
    second: usize,
}

/// A k-d tree.
struct Tree {
    dimensions: usize,
    /// The points in the tree's order, and their numbers.
    points: Vec<f64>,
    ids: Vec<u32>,
    nodes: Vec<Node>,
    /// Lowest, then highest coordinates of every node.
    boxes: Vec<f64>,
}

impl Tree {
    fn new(coordinates: &[f64], dimensions: usize) -> Self {
        let n = coordinates.len() / dimensions;
        let mut tree = Self {
            dimensions,
            points: Vec::with_capacity(coordinates.len()),
            ids: (0..n as u32).collect(),
            nodes: Vec::new(),
            boxes: Vec::new(),
        };
        let mut ids = std::mem::take(&mut tree.ids);
        if n > 0 {
            tree.build(coordinates, &mut ids, 0);
        }
        for &id in &ids {
            let at = id as usize * dimensions;
            tree.points.extend_from_slice(&coordinates[at..at + dimensions]);
        }
        tree.ids = ids;
        tree
    }

    /// Adds the node of these points, the first of which will be the `start`th, and all below it.
    fn build(&mut self, coordinates: &[f64], ids: &mut [u32], start: usize) {
        let d = self.dimensions;
        let (mut low, mut high) = (vec![f64::INFINITY; d], vec![f64::NEG_INFINITY; d]);
        for &id in &*ids {
            for axis in 0..d {
                let x = coordinates[id as usize * d + axis];
                (low[axis], high[axis]) = (low[axis].min(x), high[axis].max(x));
            }
        }
        let widest = (0..d).max_by(|&a, &b| (high[a] - low[a]).total_cmp(&(high[b] - low[b]))).unwrap_or(0);
        self.boxes.extend_from_slice(&low);
        self.boxes.extend_from_slice(&high);
        let number = self.nodes.len();
        self.nodes.push(Node { start, end: start + ids.len(), second: 0 });
        if ids.len() > LEAF {
            let middle = ids.len() / 2;
            let along = |id: &u32| coordinates[*id as usize * d + widest];
            ids.select_nth_unstable_by(middle, |a, b| along(a).total_cmp(&along(b)));
            let (first, second) = ids.split_at_mut(middle);
            self.build(coordinates, first, start);
            self.nodes[number].second = self.nodes.len();
            self.build(coordinates, second, start + middle);
        }
    }

    fn point(&self, at: usize) -> &[f64] {
        &self.points[at * self.dimensions..(at + 1) * self.dimensions]
    }

    /// The square of the distance from a point to a box: never more than to any point in it, rounding included, as each
    /// step rounds like that of `square` and never falls where its operands do not.
    fn to_box(&self, point: &[f64], node: usize) -> f64 {
        let bounds = &self.boxes[node * 2 * self.dimensions..(node + 1) * 2 * self.dimensions];
        let (low, high) = bounds.split_at(self.dimensions);
        let sides = point.iter().zip(low).zip(high);
        sides.map(|((&x, &low), &high)| (low - x).max(x - high).max(0.0)).fold(0.0, |sum, side| sum + side * side)
    }

    /// For every node the tree that all its points are in, or `MIXED`.
    fn owners(&self, labels: &[u32]) -> Vec<u32> {
        let mut owners = vec![MIXED; self.nodes.len()];
        // The halves come after their node.
        for (number, node) in self.nodes.iter().enumerate().rev() {
            owners[number] = if node.second == 0 {
                let label = |at: usize| labels[self.ids[at] as usize];
                let first = label(node.start);
                if (node.start + 1..node.end).all(|at| label(at) == first) { first } else { MIXED }
            } else if owners[number + 1] == owners[node.second] {
                owners[number + 1]
            } else {
                MIXED
            };
        }
        owners
    }
}

fn square(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a - b).fold(0.0, |sum, side| sum + side * side)
}

/// A round of Borůvka's.
struct Round<'a> {
    tree: &'a Tree,
    /// The tree of every point, by its smallest.
    labels: Vec<u32>,
    owners: Vec<u32>,
    /// The bits of the smallest square that a point of the tree has found; bits of positive floats are ordered as they are.
    best: Vec<AtomicU64>,
}

impl Round<'_> {
    /// The shortest pair out of every tree.
    fn shortest(mut self, founds: &mut [Found], watch: &Watch) -> Result<Vec<Pair>> {
        let n = self.labels.len();
        self.best = (0..n).map(|_| AtomicU64::new(f64::INFINITY.to_bits())).collect();
        // What is still valid bounds the searches.
        founds.par_iter_mut().zip(&self.tree.ids).with_min_len(BLOCK).for_each(|(found, &id)| {
            let Pair { u, v, square } = found.pair;
            if u != MIXED && self.labels[u as usize] != self.labels[v as usize] {
                self.offer(id, square);
            } else if u != MIXED {
                *found = Found { pair: Pair::NONE, bound: square };
            }
        });
        founds.par_chunks_mut(BLOCK).enumerate().try_for_each(|(block, founds)| {
            watch.check()?;
            for (at, found) in (block * BLOCK..).zip(founds) {
                let best = self.best_of(self.tree.ids[at]);
                if found.pair == Pair::NONE && found.bound <= best {
                    self.search(at, found);
                }
            }
            Ok::<(), Error>(())
        })?;
        let mut shortest = vec![Pair::NONE; n];
        for (found, &id) in founds.iter().zip(&self.tree.ids) {
            let of_tree = &mut shortest[self.labels[id as usize] as usize];
            if found.pair < *of_tree {
                *of_tree = found.pair;
            }
        }
        Ok(shortest.into_iter().filter(|pair| *pair != Pair::NONE).collect())
    }

    // Relaxed: a value read late only makes a search longer.
    fn best_of(&self, id: u32) -> f64 {
        f64::from_bits(self.best[self.labels[id as usize] as usize].load(Ordering::Relaxed))
    }

    fn offer(&self, id: u32, square: f64) {
        self.best[self.labels[id as usize] as usize].fetch_min(square.to_bits(), Ordering::Relaxed);
    }

    /// Looks for the nearest point outside the tree of the point at that place, no farther than the tree's best.
    fn search(&self, at: usize, found: &mut Found) {
        let (tree, id) = (self.tree, self.tree.ids[at]);
        let (own, point) = (self.labels[id as usize], tree.point(at));
        let limit = self.best_of(id);
        let mut pair = Pair::NONE;
        // Boxes still to be looked into, with their distances; the nearer half is looked into first.
        let mut waiting = vec![(0.0, 0)];
        while let Some((distance, number)) = waiting.pop() {
            // Ties must be seen: a pair of smaller points may be as near.
            if distance > pair.square.min(limit) || self.owners[number] == own {
                continue;
            }
            let node = &tree.nodes[number];
            if node.second == 0 {
                for other in node.start..node.end {
                    let other_id = tree.ids[other];
                    if self.labels[other_id as usize] != own {
                        let square = square(point, tree.point(other));
                        let candidate = Pair { square, u: id.min(other_id), v: id.max(other_id) };
                        if candidate < pair {
                            pair = candidate;
                        }
                    }
                }
            } else {
                let halves = [number + 1, node.second].map(|half| (tree.to_box(point, half), half));
                let [near, far] = if halves[0].0 <= halves[1].0 { halves } else { [halves[1], halves[0]] };
                waiting.extend([far, near]);
            }
        }
        if pair.square <= limit {
            *found = Found { pair, bound: pair.square };
            self.offer(id, pair.square);
        } else {
            // None is as near as the limit.
            *found = Found { pair: Pair::NONE, bound: limit.max(found.bound) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mix::mix;
    use crate::{Graph, minimum_spanning_forest};

    /// All pairs, and the forest of that graph.
    fn naive(coordinates: &[f64], dimensions: usize) -> (f64, usize) {
        let points: Vec<&[f64]> = coordinates.chunks(dimensions).collect();
        let (mut src, mut dst, mut squares) = (vec![], vec![], vec![]);
        for u in 0..points.len() {
            for v in u + 1..points.len() {
                src.push(u as u32);
                dst.push(v as u32);
                squares.push(square(points[u], points[v]));
            }
        }
        let graph = Graph::from_edges(points.len(), &src, &dst, &squares).unwrap();
        let forest = minimum_spanning_forest(&graph).unwrap();
        (forest.edges().iter().map(|&e| squares[e as usize].sqrt()).sum(), forest.len())
    }

    #[test]
    fn the_tree_is_that_of_all_pairs() {
        for dimensions in [1, 2, 3, 7] {
            for (seed, n) in [(1, 1), (2, 2), (3, 50), (4, 400)] {
                // Few values, so that many distances are equal and points fall together.
                for values in [3, 1000, 1 << 40] {
                    let random = |i: usize| (mix(seed << 32 | i as u64) % values) as f64;
                    let coordinates: Vec<f64> = (0..n * dimensions).map(random).collect();
                    let tree = euclidean_tree(&coordinates, dimensions, &Watch::default()).unwrap();
                    let (total, count) = naive(&coordinates, dimensions);
                    let found: f64 = tree.length.iter().sum();
                    assert_eq!(tree.src.len(), count);
                    assert!((found - total).abs() <= 1e-9 * total, "{dimensions} {n} {values}: {found} {total}");
                    let graph = Graph::from_edges(n, tree.src, tree.dst, tree.length).unwrap();
                    assert_eq!(minimum_spanning_forest(&graph).unwrap().len(), n - 1);
                }
            }
        }
    }

    #[test]
    fn what_is_no_point_is_refused() {
        let watch = Watch::default();
        assert!(euclidean_tree(&[0.0, f64::NAN], 1, &watch).unwrap_err().to_string().contains("point 1"));
        assert!(euclidean_tree(&[0.0, 1.0, 2.0], 2, &watch).is_err());
        assert!(euclidean_tree(&[], 0, &watch).is_err());
        assert!(euclidean_tree(&[], 2, &watch).unwrap().src.is_empty());
    }
}
