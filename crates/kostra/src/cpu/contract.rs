//! Contracting a graph in adjacency lists: what `strut` and the `pma` algorithms share.
//!
//! A round of either links vertices along chosen edges, [`number_trees`](crate::par::number_trees) names the trees of linked vertices, and
//! [`contract`] makes each tree a vertex of the next graph. A row of the next graph is the rows of the tree's vertices,
//! one after the other, without arcs inside the tree and, if wished, without the heavier of parallel arcs. So no arc is
//! ever sorted to its place: only the vertices are, by tree.
//!
//! Rows stay in the parts in which the threads made them. Putting them end to end would be one more copy of the graph.

use rayon::prelude::*;

use crate::csr::Csr;
use crate::error::Result;
use crate::par::{DROPPED, PARALLEL_FROM, block, pack, radix_sort};
use crate::watch::Watch;
use crate::weight::{Key, Keys};

/// Parts of a graph for each thread. Hubs make them uneven, so there are more than threads by far.
const PARTS: usize = 16;

/// A tree of more vertices than this is gathered by all threads: the giant tree of a skewed graph has most of the arcs.
const GIANT: usize = 1 << 14;

/// Where an edge leads, seen from one of its ends. 12 bytes for 32-bit weights.
#[derive(Clone, Copy)]
pub(super) struct Arc<K> {
    key: K,
    pub(super) edge: u32,
    pub(super) target: u32,
}

impl<K: Key> Arc<K> {
    #[inline(always)]
    pub(super) fn ranked(&self) -> K::Ranked {
        self.key.ranked(self.edge)
    }
}

/// A graph as a round sees it: the input, or what the round before left.
pub(super) trait Adjacency<K: Key>: Sync {
    /// The number of rows; some may be empty.
    fn rows(&self) -> usize;
    /// The length of all rows: twice the edges.
    fn arcs(&self) -> usize;
    /// The arcs of vertex `v`.
    fn row(&self, v: u32) -> impl ExactSizeIterator<Item = Arc<K>>;

    /// The number of arcs of vertex `v`.
    fn degree(&self, v: u32) -> usize {
        self.row(v).len()
    }

    /// The vertices that have edges.
    fn vertices(&self) -> usize {
        (0..self.rows() as u32).into_par_iter().filter(|&v| self.degree(v) > 0).count()
    }

    /// The smallest of the arcs of `v` whose targets `leave`.
    #[inline]
    fn smallest(&self, v: u32, leave: impl Fn(u32) -> bool) -> Option<Arc<K>> {
        let mut best = None;
        let mut bound = K::LAST;
        for arc in self.row(v) {
            if arc.ranked() < bound && leave(arc.target) {
                bound = arc.ranked();
                best = Some(arc);
            }
        }
        best
    }

    /// Appends the arcs of `v` that leave tree `own`, with the tree they lead to.
    #[inline]
    fn outer(&self, v: u32, own: u32, labels: &[u32], arcs: &mut Vec<Arc<K>>) {
        let row = self.row(v);
        arcs.reserve(row.len());
        for arc in row {
            let target = labels[arc.target as usize];
            if target != own {
                arcs.push(Arc { target, ..arc });
            }
        }
    }
}

/// The graph as it was given, with the keys in the order of the arcs: each is fetched from afar once, not in every pass.
pub(super) struct Input<'a, K> {
    csr: &'a Csr,
    keys: Vec<K>,
}

impl<'a, K: Key> Input<'a, K> {
    pub(super) fn new(csr: &'a Csr, keys: Keys<K>) -> Self {
        Self { csr, keys: csr.edges().par_iter().map(|&e| keys.at(e as usize)).collect() }
    }
}

impl<K: Key> Adjacency<K> for Input<'_, K> {
    fn rows(&self) -> usize {
        self.csr.offsets().len() - 1
    }

    fn arcs(&self) -> usize {
        self.keys.len()
    }

    #[inline]
    fn row(&self, v: u32) -> impl ExactSizeIterator<Item = Arc<K>> {
        let range = self.csr.offsets()[v as usize] as usize..self.csr.offsets()[v as usize + 1] as usize;
        let ends = self.csr.neighbours()[range.clone()].iter().zip(&self.csr.edges()[range.clone()]);
        ends.zip(&self.keys[range]).map(|((&target, &edge), &key)| Arc { key, edge, target })
    }
}

/// A contracted graph: part `v >> shift` holds row `v`.
pub(super) struct Rows<K> {
    parts: Vec<Part<K>>,
    shift: u32,
    rows: usize,
    arcs: usize,
}

/// The rows of some vertices, end to end.
struct Part<K> {
    /// Where each row begins, and the end of the last.
    starts: Vec<usize>,
    arcs: Vec<Arc<K>>,
}

impl<K: Key> Rows<K> {
    /// No rows.
    pub(super) fn none() -> Self {
        Self { parts: Vec::new(), shift: 0, rows: 0, arcs: 0 }
    }

    /// The arcs of vertex `v`.
    #[inline]
    pub(super) fn slice(&self, v: u32) -> &[Arc<K>] {
        let Part { starts, arcs } = &self.parts[v as usize >> self.shift];
        let v = v as usize & ((1 << self.shift) - 1);
        &arcs[starts[v]..starts[v + 1]]
    }
}

impl<K: Key> Adjacency<K> for Rows<K> {
    fn rows(&self) -> usize {
        self.rows
    }

    fn arcs(&self) -> usize {
        self.arcs
    }

    #[inline]
    fn row(&self, v: u32) -> impl ExactSizeIterator<Item = Arc<K>> {
        self.slice(v).iter().copied()
    }
}

/// How rows are to come out.
#[derive(Clone, Copy)]
pub(super) struct Wish {
    /// Keep the heavier of parallel arcs.
    pub(super) keep_parallel: bool,
    /// Sort each row, smallest arc first.
    pub(super) sorted: bool,
}

/// The graph whose vertices are the `trees` that `labels` names.
pub(super) fn contract<K: Key>(
    graph: &impl Adjacency<K>,
    labels: &[u32],
    trees: usize,
    wish: Wish,
    watch: &Watch,
) -> Result<Rows<K>> {
    let members = group(labels, trees);
    let firsts = pack(members.len(), |i| (i == 0 || members[i - 1][0] != members[i][0]).then_some(i));
    let parts = if graph.arcs() < PARALLEL_FROM { 1 } else { rayon::current_num_threads() * PARTS };
    let width = trees.div_ceil(parts).next_power_of_two();
    let parts = (0..trees.div_ceil(width)).into_par_iter().map(|part| {
        watch.check()?;
        let own = part * width..trees.min((part + 1) * width);
        let (mut starts, mut arcs, mut table) = (Vec::with_capacity(own.len() + 1), Vec::new(), Vec::new());
        for tree in own {
            let start = arcs.len();
            starts.push(start);
            let end = firsts.get(tree + 1).copied().unwrap_or(members.len());
            gather(graph, &members[firsts[tree]..end], labels, wish, &mut arcs);
            if !wish.keep_parallel {
                drop_parallel(&mut arcs, start, &mut table);
            }
            match &mut arcs[start..] {
                row if !wish.sorted => _ = row,
                row if row.len() < PARALLEL_FROM => row.sort_unstable_by_key(Arc::ranked),
                row => row.par_sort_unstable_by_key(Arc::ranked),
            }
        }
        starts.push(arcs.len());
        Ok(Part { starts, arcs })
    });
    let parts = parts.collect::<Result<Vec<Part<K>>>>()?;
    let arcs = parts.iter().map(|part| part.arcs.len()).sum();
    Ok(Rows { parts, shift: width.trailing_zeros(), rows: trees, arcs })
}

/// All pairs of tree and vertex, by tree.
fn group(labels: &[u32], trees: usize) -> Vec<[u32; 2]> {
    let mut members = pack(labels.len(), |v| (labels[v] != DROPPED).then_some([labels[v], v as u32]));
    if !members.is_sorted() {
        radix_sort(&mut members, usize::BITS - trees.leading_zeros(), |member| member[0].into());
    }
    members
}

/// Appends the arcs that leave a tree, given its vertices.
fn gather<K: Key>(graph: &impl Adjacency<K>, members: &[[u32; 2]], labels: &[u32], wish: Wish, arcs: &mut Vec<Arc<K>>) {
    if members.len() <= GIANT {
        members.iter().for_each(|&[tree, v]| graph.outer(v, tree, labels, arcs));
        return;
    }
    let parts: Vec<Vec<Arc<K>>> = members
        .par_chunks(block(members.len()))
        .map(|members| {
            let mut arcs = Vec::new();
            members.iter().for_each(|&[tree, v]| graph.outer(v, tree, labels, &mut arcs));
            if !wish.keep_parallel {
                drop_parallel(&mut arcs, 0, &mut Vec::new());
            }
            arcs
        })
        .collect();
    parts.into_iter().for_each(|part| arcs.extend(part));
}

/// Of the arcs from `start` on that lead to the same vertex, keeps the smallest. `table` is a hash table to use.
///
/// Such arcs are never sorted to lie side by side: most rows fit into the first-level cache, and so does their table.
fn drop_parallel<K: Key>(arcs: &mut Vec<Arc<K>>, start: usize, table: &mut Vec<u32>) {
    const FREE: u32 = u32::MAX;
    let row = &mut arcs[start..];
    if row.len() < 2 {
        return;
    }
    let size = (2 * row.len()).next_power_of_two();
    table.clear();
    table.resize(size, FREE);
    let mut kept = 0;
    for i in 0..row.len() {
        let arc = row[i];
        // Fibonacci hashing: the high bits of the product are well mixed.
        let mut at =
            (u64::from(arc.target).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (64 - size.trailing_zeros())) as usize;
        loop {
            match table[at] {
                FREE => {
                    table[at] = kept as u32;
                    row[kept] = arc;
                    kept += 1;
                    break;
                }
                other if row[other as usize].target == arc.target => {
                    let other = &mut row[other as usize];
                    if arc.ranked() < other.ranked() {
                        *other = arc;
                    }
                    break;
                }
                _ => at = (at + 1) & (size - 1),
            }
        }
    }
    arcs.truncate(start + kept);
}
