//! ECL-MST: every edge reserves its two trees, and whoever holds a reservation joins them.
//!
//! A worklist holds the edges between two trees: the trees, and the edge's place in the order. In each round every edge
//! looks up its trees anew, leaves the list where both are one, and otherwise offers its place to both by an atomic
//! minimum (a deterministic reservation). Then the edges that a tree has kept join their trees. The lookups are stored
//! in the list, so that the next round starts from them (implicit path compression). Two lists come in turn: first the
//! light edges, up to a weight that a sample gives; then the heavy ones that still join two trees, on most graphs few.
//!
//! Cost: O(m log n) at worst, as trees at least halve in each round; on most graphs little more than one pass over the
//! edges and a few over the light ones. 20 bytes per vertex, 16 per edge on the list (1.5 n light edges where there are
//! enough to filter) and a byte per edge. It works on edges throughout, so hubs do no harm. Prefer it where threads are
//! many: no step is left to one of them.
//!
//! Where it departs from the paper:
//! - It reads the edge list, where every edge stands once. The paper walks adjacency lists and skips the half with
//!   `u > v`, which is the same worklist for more work.
//! - The paper's third pass, which empties the reservations, is gone: only one edge can find its place in a tree's cell,
//!   so that edge empties the cell when it is chosen.
//! - As many weights are sampled as meet the share well, thousands where few edges are light, instead of 20.
//! - Lookups halve the paths that they walk: late rounds have many edges to few trees, each of which would walk anew.
//! - It ends without a look at the heavy edges where the light ones leave one tree.
//! - 64-bit weights do not fit into a cell of 64 bits with the id behind them. Their cells hold 32 bits of the key, cut
//!   to the range of the sample, and only where these are equal do the weights themselves decide.
//!
//! A. Fallin, A. Gonzalez, J. Seo and M. Burtscher, "A High-Performance MST Implementation for GPUs", SC 2023.

use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering};

use rayon::prelude::*;

use crate::error::{Error, Result};
use crate::forest::{Forest, mark};
use crate::graph::Graph;
use crate::mix::mix;
use crate::par::{prefetch, shared};
use crate::run::{Run, Stats};
use crate::watch::Watch;
use crate::weight::{AnyKeys, Key, Keys};

/// Edges that one task works on between two looks at the watch. They and their trees stay in cache from step to step.
const BLOCK: usize = 1 << 13;

/// Edges between asking for a tree and using it.
const AHEAD: usize = 12;

/// The filter's factor in the published code (the paper's text says 4): the light edges are as many as make `FACTOR * n`
/// arcs, two to an edge.
const FACTOR: f64 = 3.0;

/// Arcs per vertex from which on the published code filters.
const FILTER_FROM: usize = 4;

/// Weights drawn to find the threshold that should be below it: they then miss their share by an eighth or so.
const DRAWN: f64 = 64.0;

/// Fewest and most weights drawn in all. The fewest also give 64-bit keys the range that they are cut to.
const SAMPLE: (f64, f64) = (1024.0, 65536.0);

/// A cell that no edge has reserved. No edge has the largest id, so no place is as large.
const EMPTY: u64 = u64::MAX;

/// The minimum spanning forest by deterministic reservations. Options: `seed` of the sample, `factor` of the filter.
pub fn ecl(graph: &Graph, run: &Run) -> Result<Forest> {
    match graph.keys(run.is_maximum()) {
        AnyKeys::Narrow(keys) => with_keys(graph, keys, run),
        AnyKeys::Wide(keys) => with_keys(graph, keys, run),
    }
}

fn with_keys<K: Key + Into<u64>>(graph: &Graph, keys: Keys<K>, run: &Run) -> Result<Forest> {
    let (n, m) = (graph.vertices(), graph.edges());
    let seed = run.option("seed")?.unwrap_or(0);
    let factor = run.option("factor")?.unwrap_or(FACTOR);
    if factor.is_nan() || factor < 0.0 {
        let what = format!("factor={factor}: must be 0 or more");
        return Err(Error::Algorithm { name: run.algorithm().name().into(), what });
    }
    let mut stats = run.stats();
    let share = if 2 * m < FILTER_FROM * n { 1.0 } else { factor * n as f64 / (2 * m) as f64 };
    let (order, threshold) = draw(keys, m, share, seed);
    let is_light = |place: u64| (place >> 32) as u32 <= threshold;

    let nodes = (0..n as u32).into_par_iter().map(|v| Node { cell: EMPTY.into(), parent: v.into() }).collect();
    let mut marks = vec![0u8; m];
    let trees = Trees { nodes, marks: shared(&mut marks), order };
    let mut chosen = 0;

    let light = trees.populate(graph, is_light, |v| v, run.watch())?;
    let light_edges = light.iter().map(Vec::len).sum::<usize>();
    trees.join(light, &mut chosen, run, &mut stats)?;

    let mut heavy_edges = 0;
    if threshold < u32::MAX && chosen + 1 < n {
        // Each of the many lookups to come is then one load from a small array.
        let roots: Vec<u32> = (0..n as u32).into_par_iter().map(|v| trees.find(v)).collect();
        let heavy = trees.populate(graph, |place| !is_light(place), |v| roots[v as usize], run.watch())?;
        heavy_edges = heavy.iter().map(Vec::len).sum();
        trees.join(heavy, &mut chosen, run, &mut stats)?;
    }
    if let Some(Stats { facts, .. }) = &mut stats {
        facts.push(("light share", light_edges as f64 / m.max(1) as f64));
        facts.push(("edges filtered", (m - light_edges - heavy_edges) as f64));
        // How far the draw missed the number of light edges that was aimed at.
        if share > 0.0 && share < 1.0 {
            facts.push(("off target", light_edges as f64 / (share * m as f64) - 1.0));
        }
    }
    Forest::from_marks(graph, &marks, stats)
}

/// Draws edges: the order, cut to their range where it has to be, and the key below which that share of the edges is.
fn draw<K: Key + Into<u64>>(keys: Keys<K>, m: usize, share: f64, seed: u64) -> (Order<K>, u32) {
    let draws = if m == 0 { 0 } else { (DRAWN / share).clamp(SAMPLE.0, SAMPLE.1) as u64 };
    let edges = (0..draws).map(|i| (mix(mix(seed).wrapping_add(i)) % m as u64) as usize);
    let ranks = || edges.clone().map(|e| keys.ranked(e));
    let (low, high) = (ranks().min().unwrap_or(K::LAST), ranks().max().unwrap_or(K::LAST));
    let order = Order { keys, low, shift: K::squeeze(low, high) };
    let mut sample: Vec<u32> = edges.clone().map(|e| (order.place(e) >> 32) as u32).collect();
    sample.sort_unstable();
    let threshold = sample.get((share * draws as f64) as usize).copied().unwrap_or(u32::MAX);
    (order, threshold)
}

/// The order of the edges as numbers: 32 bits of the key, and the edge id behind them.
struct Order<'a, K: Key> {
    keys: Keys<'a, K>,
    low: K::Ranked,
    shift: u32,
}

impl<K: Key + Into<u64>> Order<'_, K> {
    /// Whether 32 bits are the whole key.
    const WHOLE: bool = size_of::<K>() == 4;

    /// The place of edge `e`. Never [`EMPTY`]: squeezed keys are smaller than `u32::MAX`, and so are edge ids.
    #[inline(always)]
    fn place(&self, e: usize) -> u64 {
        let key = if Self::WHOLE {
            self.keys.at(e).into()
        } else {
            K::squeezed(self.keys.ranked(e), self.low, self.shift).into()
        };
        key << 32 | e as u64
    }

    /// Whether the edge at place `a` is smaller than the one at place `b`, which may be [`EMPTY`].
    #[inline(always)]
    fn precedes(&self, a: u64, b: u64) -> bool {
        if Self::WHOLE || a >> 32 != b >> 32 {
            return a < b;
        }
        self.keys.ranked(a as u32 as usize) < self.keys.ranked(b as u32 as usize)
    }
}

/// An edge on the worklist, between the trees `u` and `v`.
#[derive(Clone, Copy)]
struct Edge {
    u: u32,
    v: u32,
    place: u64,
}

/// Edges that may join two trees, in blocks of at most [`BLOCK`] that each thread shortens in place.
type Worklist = Vec<Vec<Edge>>;

/// What is known of a vertex, in one cache line.
struct Node {
    /// Where the vertex is a root: the smallest edge that has been offered to its tree in this round; [`EMPTY`] between
    /// rounds.
    cell: AtomicU64,
    /// The root of a tree is its smallest vertex, so parents never grow and no cycle can close.
    parent: AtomicU32,
}

/// The forest so far, open to all threads. All accesses are relaxed: in each step the threads touch single words only,
/// whose final values do not depend on who comes first, and the threads join between steps.
struct Trees<'a, K: Key> {
    nodes: Vec<Node>,
    marks: &'a [AtomicU8],
    order: Order<'a, K>,
}

impl<K: Key + Into<u64>> Trees<'_, K> {
    /// Puts the edges that are `wanted` and join two trees on a list, and makes their first reservations.
    fn populate(
        &self,
        graph: &Graph,
        wanted: impl Fn(u64) -> bool + Sync,
        tree: impl Fn(u32) -> u32 + Sync,
        watch: &Watch,
    ) -> Result<Worklist> {
        let (src, dst, m) = (graph.sources(), graph.targets(), graph.edges());
        let populate_block = |buffer: &mut Vec<Edge>, block| {
            watch.check()?;
            let mut kept = 0;
            for e in block * BLOCK..m.min((block + 1) * BLOCK) {
                // Always writes: a branch would often be mispredicted, and would stop the loads that run ahead.
                let edge = Edge { u: tree(src[e]), v: tree(dst[e]), place: self.order.place(e) };
                buffer[kept] = edge;
                kept += usize::from(wanted(edge.place) & (edge.u != edge.v));
            }
            let edges = buffer[..kept].to_vec();
            self.reserve(&edges);
            Ok(edges)
        };
        let buffer = || vec![Edge { u: 0, v: 0, place: 0 }; BLOCK.min(m)];
        (0..m.div_ceil(BLOCK)).into_par_iter().map_init(buffer, populate_block).collect()
    }

    /// Joins trees until no edge of the list is left.
    fn join(&self, mut list: Worklist, chosen: &mut usize, run: &Run, stats: &mut Option<Stats>) -> Result<()> {
        list.retain(|edges| !edges.is_empty());
        while !list.is_empty() {
            run.watch().step("ecl", *chosen as u64, self.nodes.len() as u64)?;
            let joined = self.commit(&list, run.watch())?;
            *chosen += joined;
            if let Some(Stats { rounds, .. }) = stats {
                let edges = list.iter().map(Vec::len).sum::<usize>();
                rounds.push(vec![("edges", edges as f64), ("chosen", joined as f64)]);
            }
            self.renew(&mut list, run.watch())?;
            list.retain(|edges| !edges.is_empty());
        }
        Ok(())
    }

    /// Offers every edge to the two trees that it joins.
    fn reserve(&self, edges: &[Edge]) {
        for (i, &Edge { u, v, place }) in edges.iter().enumerate() {
            self.prefetch(edges, i + AHEAD);
            for tree in [u, v] {
                let cell = &self.nodes[tree as usize].cell;
                // Most offers are refused by this load, which is cheaper than an atomic minimum.
                let mut held = cell.load(Ordering::Relaxed);
                while self.order.precedes(place, held) {
                    match cell.compare_exchange_weak(held, place, Ordering::Relaxed, Ordering::Relaxed) {
                        Ok(_) => break,
                        Err(now) => held = now,
                    }
                }
            }
        }
    }

    /// Chooses every edge that holds a reservation, and says how many do. They close no cycle, since each is the
    /// smallest edge that leaves one of its trees and no two edges are equal.
    fn commit(&self, list: &Worklist, watch: &Watch) -> Result<usize> {
        let commit_block = |edges: &Vec<Edge>| {
            watch.check()?;
            let mut joined = 0;
            for (i, &Edge { u, v, place }) in edges.iter().enumerate() {
                self.prefetch(edges, i + AHEAD);
                // Both are asked, since both have to be emptied. Every other edge finds the cell unequal to its own
                // place before and after.
                let holds = [u, v].map(|tree| {
                    let cell = &self.nodes[tree as usize].cell;
                    let holds = cell.load(Ordering::Relaxed) == place;
                    if holds {
                        cell.store(EMPTY, Ordering::Relaxed);
                    }
                    holds
                });
                if holds[0] | holds[1] {
                    self.unite(u, v);
                    mark(self.marks, place as u32);
                    joined += 1;
                }
            }
            Ok(joined)
        };
        list.par_iter().map(commit_block).sum()
    }

    /// Looks up the trees of every edge, drops the edges inside one, and makes the reservations of the next round.
    fn renew(&self, list: &mut Worklist, watch: &Watch) -> Result<()> {
        list.par_iter_mut().try_for_each(|edges| {
            watch.check()?;
            let mut kept = 0;
            for i in 0..edges.len() {
                self.prefetch(edges, i + AHEAD);
                let Edge { u, v, place } = edges[i];
                let (u, v) = (self.find(u), self.find(v));
                edges[kept] = Edge { u, v, place };
                kept += usize::from(u != v);
            }
            edges.truncate(kept);
            self.reserve(edges);
            Ok(())
        })
    }

    /// Asks for the trees of edge `i`, if there is one, ahead of their use.
    #[inline(always)]
    fn prefetch(&self, edges: &[Edge], i: usize) {
        if let Some(edge) = edges.get(i) {
            prefetch(&self.nodes, edge.u as usize);
            prefetch(&self.nodes, edge.v as usize);
        }
    }

    /// The root of the tree of `v`; halves the path on the way. What other threads do meanwhile is harmless: the parent
    /// of a vertex that is no root only ever changes to another of its ancestors.
    #[inline(always)]
    fn find(&self, mut v: u32) -> u32 {
        let parent = |v: u32| &self.nodes[v as usize].parent;
        loop {
            let up = parent(v).load(Ordering::Relaxed);
            let further_up = parent(up).load(Ordering::Relaxed);
            if up == further_up {
                return up;
            }
            parent(v).store(further_up, Ordering::Relaxed);
            v = further_up;
        }
    }

    /// Makes one tree of two that are not one yet.
    fn unite(&self, mut u: u32, mut v: u32) {
        loop {
            (u, v) = (self.find(u), self.find(v));
            let (root, child) = (u.min(v), u.max(v));
            let parent = &self.nodes[child as usize].parent;
            // Fails, and is tried again, only when another thread has just put `child` under a root.
            if parent.compare_exchange(child, root, Ordering::Relaxed, Ordering::Relaxed).is_ok() {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate;

    #[test]
    fn options_change_the_way_but_not_the_forest() {
        for spec in ["er:n=3000,degree=40", "er:n=3000,degree=40,weights=double", "grid:rows=40,cols=60,weights=unit"] {
            let graph = generate(spec).unwrap();
            let solve = |options: &str| ecl(&graph, &Run::new(&format!("ecl:{options}")).unwrap());
            let plain = solve("").unwrap();
            for options in ["seed=7", "factor=0", "factor=0.5,seed=18446744073709551615", "factor=1e9", "factor=inf"] {
                assert!(solve(options).unwrap().edges() == plain.edges(), "{spec} {options}");
            }
            for options in ["factor=-1", "factor=nan", "factor=x", "seed=-1"] {
                assert!(matches!(solve(options), Err(Error::Algorithm { .. })), "{options}");
            }
        }
    }

    #[test]
    fn squeezed_keys_that_are_equal_are_told_apart() {
        // One weight so large that all others are squeezed to the same 32 bits.
        let (src, dst) = ((0..2000u32).map(|e| e % 100).collect::<Vec<_>>(), (0..2000u32).map(|e| e * 7 % 101));
        let weights: Vec<i64> =
            (0..2000).map(|e| if e % 9 == 0 { i64::MAX - e } else { mix(e as u64) as i64 & 0xff }).collect();
        let graph = Graph::from_edges(101, src, dst.collect::<Vec<_>>(), weights).unwrap();
        for maximum in [false, true] {
            let run = Run::new("ecl").unwrap().maximum(maximum);
            assert_eq!(ecl(&graph, &run).unwrap().edges(), super::super::kruskal(&graph, &run).unwrap().edges());
        }
    }
}
