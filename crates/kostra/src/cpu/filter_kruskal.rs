//! Filter-Kruskal: Kruskal's algorithm by quicksort, which drops edges inside a tree before it sorts them.
//!
//! A sampled pivot parts the edges into light and heavy ones. The light ones are solved first; then all threads drop the
//! heavy edges whose ends are in one tree by now, and only what is left of them is solved. Short lists are sorted and
//! joined as in Kruskal's algorithm. The work ends as soon as one tree is left.
//!
//! Cost: O(m + n log n log(m/n)) expected for random weights, O(m log m) at worst. Everything but the joins is parallel;
//! these are not, and the first of them, of about n edges, bounds how far more threads help. 4 bytes per vertex and 16
//! to 32 per edge on a list (twice that for 64-bit weights), where the lists hold about n edges. Prefer it to `kruskal`
//! wherever edges are more than vertices.
//!
//! Where it departs from the paper: the first pivot leaves about as many light edges as there are vertices, instead of
//! half of the edges; nothing is partitioned in place, but each part is picked out of the list when its turn has come,
//! the heavy part filtered in the same pass, so that heavy edges are never written at all; and before each filter every
//! vertex is pointed to its root, so that a lookup is one load.
//!
//! V. Osipov, P. Sanders and J. Singler, "The filter-Kruskal minimum spanning tree algorithm", ALENEX 2009.

use bytemuck::Pod;
use rayon::prelude::*;

use crate::error::Result;
use crate::forest::Forest;
use crate::graph::Graph;
use crate::mix::mix;
use crate::par::{radix_sort, split};
use crate::run::{Run, Stats};
use crate::union_find::UnionFind;
use crate::watch::Watch;
use crate::weight::{AnyKeys, Key, Keys};

/// Edges between two looks at the watch: well under a millisecond, and their places in the order fit into cache.
const BLOCK: usize = 1 << 14;

/// Edges between asking for an entry of the disjoint sets and using it.
const AHEAD: usize = 12;

/// Lists up to this long, or up to `SHORT_PER_VERTEX` edges per vertex, are sorted and joined as they are: of so few
/// edges, as on roads, a filter would drop next to none.
const SHORT: usize = 1 << 14;
const SHORT_PER_VERTEX: f64 = 1.5;

/// The pivot leaves so many light edges per vertex, but at most half. On random graphs n edges make a tree of four fifths
/// of the vertices, against which the filter drops two thirds of the rest (58 % with 4 edges per vertex, 77 % with 8).
const LIGHT_PER_VERTEX: f64 = 1.0;

/// Drawn edges that should be lighter than the pivot: it then misses its share by an eighth or so.
const DRAWN: usize = 64;

/// Most edges drawn for one pivot.
const SAMPLE: usize = 1 << 16;

/// Depth at which a list is sorted whatever its length, so that no input costs quadratic time.
const DEPTH: usize = 40;

/// Keys that differ in more bits than these are compared rather than sorted by digits.
const RADIX_BITS: u32 = 40;

/// The minimum spanning forest by filter-Kruskal.
pub fn filter_kruskal(graph: &Graph, run: &Run) -> Result<Forest> {
    match graph.keys(run.is_maximum()) {
        AnyKeys::Narrow(keys) => with_keys(graph, keys, run),
        AnyKeys::Wide(keys) => with_keys(graph, keys, run),
    }
}

fn with_keys<K>(graph: &Graph, keys: Keys<K>, run: &Run) -> Result<Forest>
where
    K: Key<Ranked: Pod + Into<u128>>,
{
    let (n, m) = (graph.vertices(), graph.edges());
    let chosen = Vec::with_capacity(n.saturating_sub(1).min(m));
    let mut growth =
        Growth { graph, watch: run.watch(), trees: UnionFind::new(n), chosen, sorted: 0, settled: 0, depth: 0 };
    growth.split::<K>(m, |e| keys.ranked(e), 1)?;
    let stats = run.stats().map(|_| Stats {
        facts: vec![
            ("edges filtered", (growth.settled - growth.sorted) as f64),
            ("edges sorted", growth.sorted as f64),
            ("depth", growth.depth as f64),
        ],
        rounds: Vec::new(),
    });
    Forest::new(graph, &growth.chosen, stats)
}

/// The forest so far.
struct Growth<'a> {
    graph: &'a Graph<'a>,
    watch: &'a Watch,
    trees: UnionFind,
    chosen: Vec<u32>,
    /// Edges that were sorted.
    sorted: usize,
    /// Edges that were sorted or dropped.
    settled: usize,
    depth: usize,
}

impl Growth<'_> {
    fn is_complete(&self) -> bool {
        self.chosen.len() + 1 >= self.graph.vertices()
    }

    /// Solves a list in edge-id order: in one go if it is short, else the light part and what it leaves of the heavy one.
    fn solve<K>(&mut self, list: Vec<K::Ranked>, depth: usize) -> Result<()>
    where
        K: Key<Ranked: Pod + Into<u128>>,
    {
        if is_short(list.len(), self.graph.vertices()) || depth >= DEPTH {
            self.join::<K>(list)
        } else {
            self.split::<K>(list.len(), |i| list[i], depth + 1)
        }
    }

    /// Solves the edges `at(0), .. at(len - 1)`, which are in edge-id order, the light ones first.
    fn split<K>(&mut self, len: usize, at: impl Fn(usize) -> K::Ranked + Sync, depth: usize) -> Result<()>
    where
        K: Key<Ranked: Pod + Into<u128>>,
    {
        self.depth = self.depth.max(depth);
        self.watch.step("filter-kruskal", self.settled as u64, self.graph.edges() as u64)?;
        let pivot = find_pivot::<K>(len, &at, self.graph.vertices());
        let light = pick(len, self.watch, |i| (at(i), at(i) < pivot))?;
        let heavy_len = len - light.len();
        self.solve::<K>(light, depth)?;

        if heavy_len == 0 || self.is_complete() {
            self.settled += heavy_len;
            return Ok(());
        }
        let (src, dst, roots) = (self.graph.sources(), self.graph.targets(), self.trees.roots());
        let heavy = pick(len, self.watch, |i| {
            let ranked = at(i);
            let e = K::edge(ranked) as usize;
            (ranked, (ranked >= pivot) & (roots[src[e] as usize] != roots[dst[e] as usize]))
        })?;
        self.settled += heavy_len - heavy.len();
        self.solve::<K>(heavy, depth)
    }

    /// Kruskal's algorithm on a list in edge-id order.
    fn join<K>(&mut self, mut list: Vec<K::Ranked>) -> Result<()>
    where
        K: Key<Ranked: Pod + Into<u128>>,
    {
        sort::<K>(&mut list);
        self.sorted += list.len();
        // Fetched on all threads, since the sort has scattered them.
        let (src, dst) = (self.graph.sources(), self.graph.targets());
        let ends_of = |&ranked: &K::Ranked| [src[K::edge(ranked) as usize], dst[K::edge(ranked) as usize]];
        let ends: Vec<[u32; 2]> = list.par_iter().map(ends_of).collect();
        for (list, ends) in list.chunks(BLOCK).zip(ends.chunks(BLOCK)) {
            self.watch.step("filter-kruskal", self.settled as u64, self.graph.edges() as u64)?;
            self.settled += list.len();
            if self.is_complete() {
                continue;
            }
            for (i, (&ranked, &[u, v])) in list.iter().zip(ends).enumerate() {
                if let Some(soon) = ends.get(i + AHEAD) {
                    soon.iter().for_each(|&v| self.trees.prefetch(v));
                }
                if self.trees.union(u, v) {
                    self.chosen.push(K::edge(ranked));
                }
            }
        }
        Ok(())
    }
}

/// Whether a list is to be sorted as it is.
fn is_short(len: usize, n: usize) -> bool {
    len <= SHORT || len as f64 <= SHORT_PER_VERTEX * n as f64
}

/// A place in the order with about [`LIGHT_PER_VERTEX`] edges before it; [`Key::LAST`] for a short list.
fn find_pivot<K: Key>(len: usize, at: impl Fn(usize) -> K::Ranked, n: usize) -> K::Ranked {
    if is_short(len, n) {
        return K::LAST;
    }
    let light = SHORT.max((LIGHT_PER_VERTEX * n as f64) as usize).min(len / 2);
    let draws = (DRAWN * (len / light)).min(SAMPLE);
    let mut sample: Vec<K::Ranked> =
        (0..draws as u64).map(|i| at((mix(mix(len as u64) + i) % len as u64) as usize)).collect();
    sample.sort_unstable();
    sample[(draws as f64 * light as f64 / len as f64) as usize]
}

/// The edges of `0..len` that `at` says to keep, in order.
fn pick<R: Pod + Send + Sync>(len: usize, watch: &Watch, at: impl Fn(usize) -> (R, bool) + Sync) -> Result<Vec<R>> {
    let parts: Vec<Vec<R>> = (0..len.div_ceil(BLOCK))
        .into_par_iter()
        .map_init(
            || vec![R::zeroed(); BLOCK.min(len)],
            |buffer, block| {
                watch.check()?;
                let mut kept = 0;
                for i in block * BLOCK..len.min((block + 1) * BLOCK) {
                    // Always writes: a branch would often be mispredicted, and would stop the loads that run ahead.
                    let (edge, keep) = at(i);
                    buffer[kept] = edge;
                    kept += usize::from(keep);
                }
                Ok(buffer[..kept].to_vec())
            },
        )
        .collect::<Result<_>>()?;
    let mut all = vec![R::zeroed(); parts.iter().map(Vec::len).sum()];
    let lengths: Vec<usize> = parts.iter().map(Vec::len).collect();
    split(&mut all, &lengths).into_par_iter().zip(parts).for_each(|(place, part)| place.copy_from_slice(&part));
    Ok(all)
}

/// Sorts a list that is in edge-id order: by key alone, keeping the order of equals.
fn sort<K>(list: &mut Vec<K::Ranked>)
where
    K: Key<Ranked: Pod + Into<u128>>,
{
    let key = |&ranked: &K::Ranked| (ranked.into() >> 32) as u64;
    let range = list.par_iter().map(key).fold(|| (u64::MAX, 0), |(low, high), key| (low.min(key), high.max(key)));
    let (low, high) = range.reduce(|| (u64::MAX, 0), |a, b| (a.0.min(b.0), a.1.max(b.1)));
    let bits = u64::BITS - high.saturating_sub(low).leading_zeros();
    if bits <= RADIX_BITS {
        radix_sort(list, bits, |ranked| key(ranked) - low);
    } else {
        list.par_sort_unstable();
    }
}
