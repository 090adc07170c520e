//! Kruskal's algorithm: sort all edges, join trees in that order.
//!
//! Every edge becomes one number, its key with its id behind it, so that sorting plain integers puts the edges in the
//! design's order. Then each edge that joins two trees is in the forest; the rest would close a cycle. The sort is
//! parallel, the scan is not, and it stops as soon as one tree is left.
//!
//! Cost: O(m log m) work and 8 bytes per edge (16 for 64-bit weights), beside 4 per vertex. Prefer it where edges are
//! many per vertex, as the scan then stops early, and where they come almost in order.
//!
//! J. B. Kruskal, "On the shortest spanning subtree of a graph and the traveling salesman problem", 1956.

use std::sync::atomic::{AtomicU64, Ordering};

use rayon::prelude::*;

use crate::error::Result;
use crate::forest::Forest;
use crate::graph::Graph;
use crate::run::{Run, Stats};
use crate::union_find::UnionFind;
use crate::watch::Watch;
use crate::weight::{AnyKeys, Key, Keys};

/// Edges between two looks at the watch, which is a few milliseconds.
const BLOCK: usize = 1 << 16;

/// At most this many edges are sorted in one go, by one thread, between two looks at the watch: about 40 ms.
const RUN: usize = 1 << 20;

/// Halvings after which a range is sorted in one go whatever its length, so that no input costs quadratic time.
const DEPTH: u32 = 40;

/// The minimum spanning forest by Kruskal's algorithm.
pub fn kruskal(graph: &Graph, run: &Run) -> Result<Forest> {
    match graph.keys(run.is_maximum()) {
        AnyKeys::Narrow(keys) => with_keys(graph, keys, run),
        AnyKeys::Wide(keys) => with_keys(graph, keys, run),
    }
}

fn with_keys<K: Key>(graph: &Graph, keys: Keys<K>, run: &Run) -> Result<Forest> {
    // Self-loops come along: they join nothing.
    let mut order: Vec<K::Ranked> = (0..graph.edges()).into_par_iter().map(|e| keys.ranked(e)).collect();
    sort(&mut order, DEPTH, &Sorting { watch: run.watch(), done: AtomicU64::new(0), total: graph.edges() as u64 })?;
    join::<K>(graph, &order, run)
}

/// How far the sort has come.
struct Sorting<'a> {
    watch: &'a Watch,
    done: AtomicU64,
    total: u64,
}

/// Quicksort down to runs that fit between two looks at the watch. No two edges are equal, so plain halves will do.
fn sort<R: Copy + Ord + Send>(order: &mut [R], depth: u32, sorting: &Sorting) -> Result<()> {
    if order.len() <= RUN || depth == 0 {
        order.sort_unstable();
        // Relaxed: the count is for display only.
        let done = sorting.done.fetch_add(order.len() as u64, Ordering::Relaxed) + order.len() as u64;
        return sorting.watch.step("sort", done, sorting.total);
    }
    sorting.watch.check()?;
    let middle = partition(order);
    let (low, high) = order.split_at_mut(middle);
    let (low, high) = rayon::join(|| sort(low, depth - 1, sorting), || sort(high, depth - 1, sorting));
    low.and(high)
}

/// Moves what is smaller than a sampled median to the front, and says where the rest begins.
fn partition<R: Copy + Ord>(order: &mut [R]) -> usize {
    let mut sample: Vec<R> = order.iter().copied().step_by(order.len() / 256).collect();
    sample.sort_unstable();
    let pivot = sample[sample.len() / 2];
    let mut middle = 0;
    for i in 0..order.len() {
        // Always swaps, so that there is no branch to mispredict.
        order.swap(i, middle);
        middle += usize::from(order[middle] < pivot);
    }
    middle
}

/// Takes every edge that joins two trees.
fn join<K: Key>(graph: &Graph, order: &[K::Ranked], run: &Run) -> Result<Forest> {
    let mut trees = UnionFind::new(graph.vertices());
    let most = graph.vertices().saturating_sub(1);
    let mut chosen = Vec::with_capacity(most.min(order.len()));
    let mut examined = 0;
    let (src, dst) = (graph.sources(), graph.targets());
    for block in order.chunks(BLOCK) {
        run.watch().step("join", examined as u64, order.len() as u64)?;
        if chosen.len() == most {
            break;
        }
        for &ranked in block {
            let e = K::edge(ranked);
            if trees.union(src[e as usize], dst[e as usize]) {
                chosen.push(e);
            }
        }
        examined += block.len();
    }
    let stats = run.stats().map(|_| Stats { facts: vec![("edges examined", examined as f64)], rounds: Vec::new() });
    Forest::new(graph, &chosen, stats)
}
