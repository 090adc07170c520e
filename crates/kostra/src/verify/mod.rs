//! Proof that a set of edges is the minimum spanning forest.
//!
//! A set of edges is the minimum spanning forest exactly when it closes no cycle and every other edge of the graph
//! joins two vertices that the set joins already, by a path of edges that are all smaller in the order `(weight, edge
//! id)`. This is checked edge by edge, without solving anything and without any code of the solvers, as V. King does in
//! "A simpler minimum spanning tree verification algorithm" (1997), with plain climbs in place of her bit tricks:
//!
//! 1. Merge the set alone, level by level: every tree finds its smallest edge in the set and is linked to the tree that
//!    these edges make of it, one level up. Each level has at most half as many trees as the one below, so all of
//!    this takes linear time, and there are at most log2(n) levels. An edge that ends inside a tree without having been
//!    anyone's smallest closes a cycle.
//! 2. The largest edge on the path between `u` and `v` in the forest is the largest one on the ways from `u` and from
//!    `v` up to where they meet (King's theorem). So for each other edge of the graph climb from both ends, in step.
//!    If the climbs meet along links smaller than the edge, it is rightly left out.
//!
//! Most climbs are never made: an edge within the largest tree that is larger than all on the whole ways up from its ends
//! is rightly left out, and a table of four bytes per vertex tells.
//!
//! Cost: O(n) to merge and at most O(m log n) to climb; in practice about two cache misses per edge. All but following the
//! links of a level is parallel. At most 48 bytes per vertex (72 for 64-bit weights) and a bit per edge.

mod stream;

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

use rayon::prelude::*;

pub use self::stream::Proof;
use crate::buffer::check_room;
use crate::error::Result;
use crate::graph::Graph;
use crate::watch::Watch;
use crate::weight::{AnyKeys, Key, Keys, Weight};

/// What the levels take at the least; a graph without edges holds no array of its vertices.
const BYTES_PER_VERTEX: u64 = 16;

/// Edges between two looks at the watch, which is a few milliseconds; also the share of work of a thread.
const BLOCK: usize = 1 << 16;

/// No edge has this id: a graph has fewer than 2^32 of them.
const NO_EDGE: u32 = u32::MAX;

/// Edges that climb together: they stay in the first-level cache.
const BATCH: usize = 1 << 11;

/// An edge as flaws name it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Edge {
    /// Its id.
    pub id: u64,
    /// Its first endpoint.
    pub u: u32,
    /// Its second endpoint.
    pub v: u32,
    /// Its weight.
    pub weight: Weight,
}

impl fmt::Display for Edge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { id, u, v, weight } = self;
        write!(f, "edge {id} ({u} to {v}, weight {weight})")
    }
}

/// What makes a set of edges not the minimum spanning forest. Where several edges do, the smallest id is named.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Flaw {
    /// The set names an edge that the graph does not have.
    #[error("not a forest of this graph: there is no edge {id}, as the graph has {edges} edges, numbered from 0")]
    NoSuchEdge {
        /// The id of the edge.
        id: u64,
        /// The number of edges of the graph.
        edges: u64,
    },
    /// The set has an edge otherwise than the graph has it.
    #[error("not a forest of this graph: it has {given}, but in the graph that is {actual}")]
    Foreign {
        /// The edge as the set has it.
        given: Edge,
        /// The edge of that id in the graph.
        actual: Edge,
    },
    /// The set names an edge more than once.
    #[error("not a forest: {0} is named more than once")]
    Duplicate(Edge),
    /// The set contains a self-loop.
    #[error("not a forest: {0} joins a vertex to itself")]
    SelfLoop(Edge),
    /// An edge of the set closes a cycle with smaller ones.
    #[error("not a forest: {0} closes a cycle with smaller edges of the forest")]
    Cycle(Edge),
    /// An edge of the graph joins two trees of the set.
    #[error("not a spanning forest: {0} joins two of its trees, so an edge is missing")]
    Missing(Edge),
    /// An edge of the set is on the path between the ends of a better edge of the graph.
    #[error("not the {} forest: {chosen} is on the path between the ends of {better}, which is {}",
        if *.maximum { "maximum" } else { "minimum" },
        why(.chosen, .better, *.maximum))]
    NotMinimum {
        /// The edge of the set.
        chosen: Edge,
        /// The edge of the graph that belongs in its place.
        better: Edge,
        /// Whether the set was to be the maximum spanning forest.
        maximum: bool,
    },
}

impl Flaw {
    /// The same with other numbers for the vertices.
    pub(crate) fn with_vertices(self, number: impl Fn(u32) -> u32) -> Self {
        let other = |edge: Edge| Edge { u: number(edge.u), v: number(edge.v), ..edge };
        match self {
            Flaw::NoSuchEdge { .. } => self,
            Flaw::Foreign { given, actual } => Flaw::Foreign { given: other(given), actual: other(actual) },
            Flaw::Duplicate(edge) => Flaw::Duplicate(other(edge)),
            Flaw::SelfLoop(edge) => Flaw::SelfLoop(other(edge)),
            Flaw::Cycle(edge) => Flaw::Cycle(other(edge)),
            Flaw::Missing(edge) => Flaw::Missing(other(edge)),
            Flaw::NotMinimum { chosen, better, maximum } => {
                Flaw::NotMinimum { chosen: other(chosen), better: other(better), maximum }
            }
        }
    }
}

fn why(chosen: &Edge, better: &Edge, maximum: bool) -> &'static str {
    match (chosen.weight == better.weight, maximum) {
        (true, _) => "as heavy and has the smaller id, which wins a tie",
        (false, false) => "lighter",
        (false, true) => "heavier",
    }
}

/// Proves that `edges`, in any order, are exactly the minimum (or `maximum`) spanning forest of `graph`.
///
/// ```
/// use kostra::{Graph, Watch, verify};
///
/// let graph = Graph::from_edges(3, &[0, 1, 2], &[1, 2, 0], &[5, 3, 4])?;
/// verify(&graph, &[2, 1], false, &Watch::new())?;
/// let flaw = verify(&graph, &[0, 1], false, &Watch::new()).unwrap_err().to_string();
/// assert!(flaw.contains("edge 0 (0 to 1, weight 5) is on the path between the ends of edge 2 (2 to 0, weight 4)"));
/// # Ok::<(), kostra::Error>(())
/// ```
///
/// # Errors
///
/// [`Error::Flaw`](crate::Error::Flaw) says what is wrong; [`Error::Cancelled`](crate::Error::Cancelled) that the watch
/// stopped the proof.
pub fn verify(graph: &Graph, edges: &[u32], maximum: bool, watch: &Watch) -> Result<()> {
    check_room(graph.vertices() as u64 * BYTES_PER_VERTEX)?;
    let members = check_members(graph, edges)?;
    match graph.keys(maximum) {
        AnyKeys::Narrow(keys) => with_keys(graph, keys, edges, &members, maximum, watch),
        AnyKeys::Wide(keys) => with_keys(graph, keys, edges, &members, maximum, watch),
    }
}

fn with_keys<K: Key>(
    graph: &Graph,
    keys: Keys<K>,
    edges: &[u32],
    members: &Bits,
    maximum: bool,
    watch: &Watch,
) -> Result<()> {
    let levels = merge(graph, keys, edges, watch)?;
    let heights = Heights::new(&levels, watch)?;
    match find_better(graph, keys, members, &levels, &heights, watch)? {
        None => Ok(()),
        Some(e) => Err(explain(graph, &levels, e, maximum).into()),
    }
}

/// A set of edge ids.
struct Bits(Vec<u64>);

impl Bits {
    fn contains(&self, e: usize) -> bool {
        self.0[e / 64] >> (e % 64) & 1 == 1
    }

    /// False when it is there already.
    fn insert(&mut self, e: usize) -> bool {
        let new = !self.contains(e);
        self.0[e / 64] |= 1 << (e % 64);
        new
    }
}

/// The edges as a set, if each exists, is named once and joins two vertices.
fn check_members(graph: &Graph, edges: &[u32]) -> Result<Bits, Flaw> {
    let m = graph.edges();
    if let Some(&id) = edges.iter().filter(|&&e| e as usize >= m).min() {
        return Err(Flaw::NoSuchEdge { id: id.into(), edges: m as u64 });
    }
    let mut members = Bits(vec![0; m.div_ceil(64)]);
    if let Some(&e) = edges.iter().filter(|&&e| !members.insert(e as usize)).min() {
        return Err(Flaw::Duplicate(edge_at(graph, e)));
    }
    let is_loop = |&&e: &&u32| graph.sources()[e as usize] == graph.targets()[e as usize];
    match edges.iter().filter(is_loop).min() {
        Some(&e) => Err(Flaw::SelfLoop(edge_at(graph, e))),
        None => Ok(members),
    }
}

fn edge_at(graph: &Graph, e: u32) -> Edge {
    let (u, v) = graph.endpoints(e as usize);
    Edge { id: e.into(), u, v, weight: graph.weights().at(e as usize) }
}

/// An edge on its way up, between two trees of the level.
#[derive(Clone, Copy, Debug)]
struct Span<K> {
    key: K,
    edge: u32,
    u: u32,
    v: u32,
}

impl<K: Key> Span<K> {
    #[inline(always)]
    fn ranked(self) -> K::Ranked {
        self.key.ranked(self.edge)
    }
}

/// Edge `e`, from the arrays of its ends: looked up once by the caller, not once an edge.
#[inline(always)]
fn span<K: Key>((src, dst): (&[u32], &[u32]), keys: Keys<K>, e: u32) -> Span<K> {
    Span { key: keys.at(e as usize), edge: e, u: src[e as usize], v: dst[e as usize] }
}

/// The way up from a tree: its smallest edge, and the tree it is part of one level up.
#[derive(Clone, Copy, Debug)]
struct Link<K> {
    key: K,
    edge: u32,
    up: u32,
}

impl<K: Key> Link<K> {
    /// Where there is no way up; ranks behind all edges.
    const NONE: Self = Self { key: K::MAX, edge: NO_EDGE, up: u32::MAX };

    #[inline(always)]
    fn ranked(self) -> K::Ranked {
        self.key.ranked(self.edge)
    }
}

/// Merges the set's edges and gives the links of every level: first the vertices', last those of trees without an edge.
fn merge<K: Key>(graph: &Graph, keys: Keys<K>, edges: &[u32], watch: &Watch) -> Result<Vec<Vec<Link<K>>>> {
    let ends = (graph.sources(), graph.targets());
    let mut members: Vec<Span<K>> = edges.par_iter().map(|&e| span(ends, keys, e)).collect();
    let mut levels = Vec::new();
    let mut trees = graph.vertices();
    let mut cycle = None;
    while !members.is_empty() {
        watch.step("merge", (edges.len() - members.len()) as u64, edges.len() as u64)?;
        let mut links = find_smallest(&members, trees, watch)?;
        trees = link(&mut links, watch)?;
        let closing = drop_inner(&mut members, &links, watch)?;
        cycle = cycle.into_iter().chain(closing).min();
        levels.push(links);
    }
    levels.push(vec![Link::NONE; trees]);
    match cycle {
        Some(e) => Err(Flaw::Cycle(edge_at(graph, e)).into()),
        None => Ok(levels),
    }
}

/// For every tree its smallest edge, with the tree at the other end for now.
///
/// Every thread owns a range of trees and looks through all edges for it, so that no two write to one tree.
fn find_smallest<K: Key>(members: &[Span<K>], trees: usize, watch: &Watch) -> Result<Vec<Link<K>>> {
    let mut links = vec![Link::NONE; trees];
    let parts = if members.len() < BLOCK { 1 } else { rayon::current_num_threads() };
    let range = trees.div_ceil(parts).max(1);
    links.par_chunks_mut(range).enumerate().try_for_each(|(part, links)| -> Result<()> {
        let first = (part * range) as u32;
        for block in members.chunks(BLOCK) {
            watch.check()?;
            for &Span { key, edge, u, v } in block {
                for (tree, up) in [(u, v), (v, u)] {
                    if let Some(link) = links.get_mut(tree.wrapping_sub(first) as usize)
                        && key.ranked(edge) < link.ranked()
                    {
                        *link = Link { key, edge, up };
                    }
                }
            }
        }
        Ok(())
    })?;
    Ok(links)
}

/// Turns every link from the tree at the other end to the new tree of both, and says how many new trees there are.
///
/// Following smallest edges from tree to tree, the edges fall, until two trees have chosen the same. These two, and all
/// from which one comes to them, make a new tree. Trees without an edge are complete and stay behind.
fn link<K: Key>(links: &mut [Link<K>], watch: &Watch) -> Result<usize> {
    const UNKNOWN: u32 = u32::MAX;
    let mut new = vec![UNKNOWN; links.len()];
    let mut count = 0;
    for start in 0..links.len() {
        if start % BLOCK == 0 {
            watch.check()?;
        }
        if links[start].edge == NO_EDGE {
            continue;
        }
        let mut tree = start;
        while new[tree] == UNKNOWN {
            let other = links[tree].up as usize;
            if links[other].edge == links[tree].edge {
                (new[tree], new[other]) = (count, count);
                count += 1;
            }
            tree = other;
        }
        let found = new[tree];
        tree = start;
        while new[tree] == UNKNOWN {
            new[tree] = found;
            tree = links[tree].up as usize;
        }
    }
    for (link, new) in links.iter_mut().zip(new) {
        link.up = new;
    }
    Ok(count as usize)
}

/// Moves the edges one level up and drops those inside a tree; gives the smallest id that closes a cycle.
fn drop_inner<K: Key>(members: &mut Vec<Span<K>>, links: &[Link<K>], watch: &Watch) -> Result<Option<u32>> {
    let blocks: Vec<(Vec<Span<K>>, Option<u32>)> = members
        .par_chunks(BLOCK)
        .map(|block| {
            watch.check()?;
            let (mut kept, mut cycle) = (Vec::with_capacity(block.len() / 2), None);
            for &member in block {
                let (from, to) = (links[member.u as usize], links[member.v as usize]);
                if from.up != to.up {
                    kept.push(Span { u: from.up, v: to.up, ..member });
                } else if from.edge != member.edge && to.edge != member.edge {
                    cycle = Some(cycle.map_or(member.edge, |least: u32| least.min(member.edge)));
                }
            }
            Ok((kept, cycle))
        })
        .collect::<Result<_>>()?;
    members.clear();
    blocks.iter().for_each(|(kept, _)| members.extend_from_slice(kept));
    Ok(blocks.into_iter().filter_map(|(_, cycle)| cycle).min())
}

/// For every vertex of the largest tree, how large an edge must be for its climb to be skipped; see [`Heights::settle`].
#[derive(Debug)]
struct Heights<K: Key> {
    /// The largest edge on a vertex's whole way up, squeezed; `u32::MAX` in all other trees, whose edges are few.
    of: Vec<u32>,
    low: K::Ranked,
    shift: u32,
}

impl<K: Key> Heights<K> {
    /// Top-down: the largest edge of a way is the larger of its first link's and the rest's.
    fn new(levels: &[Vec<Link<K>>], watch: &Watch) -> Result<Self> {
        let mut tops = 0;
        let mut above: Vec<Link<K>> = Vec::new();
        for links in levels.iter().rev() {
            watch.check()?;
            let summit = |&link: &Link<K>| match above.get(link.up as usize) {
                Some(&higher) if higher.ranked() < link.ranked() => Link { up: higher.up, ..link },
                Some(&higher) => higher,
                None => {
                    tops += 1;
                    Link { key: K::zeroed(), edge: 0, up: tops - 1 }
                }
            };
            above = links.iter().map(summit).collect();
        }
        let mut sizes = vec![0u32; tops as usize];
        above.iter().for_each(|summit| sizes[summit.up as usize] += 1);
        let largest = (0..tops).max_by_key(|&top| sizes[top as usize]).unwrap_or(0);
        let ranks = || above.par_iter().filter(|summit| summit.up == largest).map(|summit| summit.ranked());
        let zero = K::zeroed().ranked(0);
        let (low, high) = (ranks().min().unwrap_or(zero), ranks().max().unwrap_or(zero));
        let shift = K::squeeze(low, high);
        let height = |summit: &Link<K>| {
            if summit.up == largest { K::squeezed(summit.ranked(), low, shift) } else { u32::MAX }
        };
        Ok(Self { of: above.par_iter().map(height).collect(), low, shift })
    }

    /// Drops the edges that need not climb: self-loops, and those within the largest tree that are larger than all on
    /// both ways up. One small table answers for most edges, where climbing would look into several large ones.
    fn settle(&self, batch: &mut Vec<Span<K>>) {
        let mut kept = 0;
        for i in 0..batch.len() {
            let edge = batch[i];
            let highest = self.of[edge.u as usize].max(self.of[edge.v as usize]);
            let is_settled = K::squeezed(edge.ranked(), self.low, self.shift) > highest;
            batch[kept] = edge;
            kept += usize::from((edge.u != edge.v) & !is_settled);
        }
        batch.truncate(kept);
    }
}

/// The first edge outside the set whose ends no smaller edges of the set join.
fn find_better<K: Key>(
    graph: &Graph,
    keys: Keys<K>,
    members: &Bits,
    levels: &[Vec<Link<K>>],
    heights: &Heights<K>,
    watch: &Watch,
) -> Result<Option<u32>> {
    let (m, ends) = (graph.edges(), (graph.sources(), graph.targets()));
    let done = AtomicU64::new(0);
    let found = (0..m.div_ceil(BLOCK)).into_par_iter().find_map_first(|block| {
        let block = block * BLOCK..m.min((block + 1) * BLOCK);
        // Relaxed: the count is for display only.
        let done = done.fetch_add(block.len() as u64, Ordering::Relaxed);
        if let Err(stop) = watch.step("climb", done, m as u64) {
            return Some(Err(stop));
        }
        let mut batch = Vec::with_capacity(BATCH);
        block.clone().step_by(BATCH).find_map(|first| {
            let ids = first..block.end.min(first + BATCH);
            batch.clear();
            for e in ids {
                if !members.contains(e) {
                    batch.push(span(ends, keys, e as u32));
                }
            }
            heights.settle(&mut batch);
            climb(&mut batch, levels).map(Ok)
        })
    });
    found.transpose()
}

/// Climbs from both ends of all edges of a batch until they meet; gives the smallest id of those that do not.
///
/// Level by level for the whole batch, without branches that depend on an edge: so loads do not wait for each other.
fn climb<K: Key>(batch: &mut Vec<Span<K>>, levels: &[Vec<Link<K>>]) -> Option<u32> {
    let mut better = NO_EDGE;
    for links in levels {
        let mut kept = 0;
        for i in 0..batch.len() {
            let edge = batch[i];
            let (a, b) = (links[edge.u as usize], links[edge.v as usize]);
            // A tree at the top has no link, which is as good as one behind all edges.
            let smaller = a.ranked().max(b.ranked()) < edge.ranked();
            better = better.min(if smaller { NO_EDGE } else { edge.edge });
            batch[kept] = Span { u: a.up, v: b.up, ..edge };
            kept += usize::from(smaller & (a.up != b.up));
        }
        batch.truncate(kept);
    }
    (better != NO_EDGE).then_some(better)
}

/// Why edge `e` is not rightly left out.
fn explain<K: Key>(graph: &Graph, levels: &[Vec<Link<K>>], e: u32, maximum: bool) -> Flaw {
    let better = edge_at(graph, e);
    match largest_between(levels, better.u, better.v) {
        None => Flaw::Missing(better),
        Some(largest) => Flaw::NotMinimum { chosen: edge_at(graph, K::edge(largest)), better, maximum },
    }
}

/// The largest edge of the set between two vertices; `None` where they are in two trees.
fn largest_between<K: Key>(levels: &[Vec<Link<K>>], mut u: u32, mut v: u32) -> Option<K::Ranked> {
    let mut largest = K::zeroed().ranked(0);
    for links in levels {
        let (a, b) = (links[u as usize], links[v as usize]);
        if a.edge == NO_EDGE || b.edge == NO_EDGE {
            return None;
        }
        largest = largest.max(a.ranked()).max(b.ranked());
        (u, v) = (a.up, b.up);
        if u == v {
            break;
        }
    }
    Some(largest)
}
