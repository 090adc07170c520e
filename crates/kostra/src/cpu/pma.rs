//! PMA: many small Prims at once, then contraction, in rounds.
//!
//! In each round every vertex that is in no tree yet starts one, and *partial Prim* grows it by the smallest edge that
//! leaves it, up to gamma vertices. Where that edge leads into another tree, the two touch: the edge is in the forest, the
//! tree that came stops, and the other goes on. Trees that touch become one vertex of the next graph, edges inside it
//! are dropped, and of parallel edges the smallest stays (all with `keep-parallel=true`). The rounds end when no edge is
//! left. A vertex with edges finds at least one other to join, so vertices at least halve.
//!
//! The three differ in how a vertex of a tree finds its smallest edge out of the tree:
//!
//! - [`pma_min`] searches the row, and searches it again when the tree has swallowed what it found.
//! - [`pma_sort`] sorts all rows first and goes on in the row from where it stood. It is for comparison: sorting rows
//!   of which a tree reads only the beginning costs more than it saves, two to three times the time on dense graphs.
//! - [`pma_hybrid`] searches in the first round and sorts in the others, which are denser. Prefer it.
//!
//! Why threads cannot spoil it: a tree grows on one thread, and only that thread adds vertices to it, so it always knows
//! the set whose smallest outgoing edge it takes, whatever others do. In a strict order that edge is in the one minimum
//! forest. Hence no wrong edge, and no cycle, for all chosen edges are in that forest. An edge can be chosen twice, from
//! both ends, and is marked twice in the same place. It is also the only way in which touches close a ring: three
//! trees or more that touch in a ring would have chosen a cycle of as many edges. So following touches ends at a tree
//! that stopped by itself or at two that touched each other. No thread waits for another.
//!
//! Cost: O(gamma m log n) at worst for `pma_min` and O(m log n) for the others; often O(m), as a round leaves a tenth of
//! the vertices or less. Up to 48 bytes per edge (64 for 64-bit weights), as two graphs are held at a time, and 40 per
//! vertex, beside the adjacency lists. Which trees touch, and so the statistics, depends on the threads.
//!
//! Where it departs from the paper: ties go to the smaller edge id. The smallest edge found is kept beside the vertex,
//! not moved to the front of its row, and so is the place in a sorted row: rows stay as they are and all threads read
//! them. The tree that was touched is remembered apart from the claims, so that a claim never changes. Rows are
//! contracted tree by tree, with a hash table in the cache for parallel edges, where the paper sorts all edges. Vertices
//! without edges are dropped one round later, when vertices are numbered anyway.
//!
//! S. Nobari, T.-T. Cao, P. Karras and S. Bressan, "Scalable parallel minimum spanning forest computation", 2012.

use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicU8, AtomicU32};

use rayon::prelude::*;

use super::contract::{Adjacency, Arc, Input, Rows, Wish, contract};
use crate::error::{Error, Result};
use crate::forest::{Forest, mark};
use crate::graph::Graph;
use crate::par::{PARALLEL_FROM, number_trees, shared};
use crate::run::{Run, Stats};
use crate::watch::Watch;
use crate::weight::{AnyKeys, Key, Keys};

/// What `claims` holds for a vertex that is in no tree yet; no vertex has this number.
const UNCLAIMED: u32 = u32::MAX;

/// Tasks for each thread. Hubs make them uneven, so there are more than threads by far.
const TASKS: usize = 16;

/// The smallest and the largest gamma that is chosen for a graph; see [`suitable_gamma`].
const GAMMA: [usize; 2] = [8, 200];

/// The minimum spanning forest by PMA that searches rows for their smallest arcs.
pub fn pma_min(graph: &Graph, run: &Run) -> Result<Forest> {
    pma(graph, run, [false, false])
}

/// The minimum spanning forest by PMA that sorts all rows.
pub fn pma_sort(graph: &Graph, run: &Run) -> Result<Forest> {
    pma(graph, run, [true, true])
}

/// The minimum spanning forest by PMA that searches rows in the first round and sorts them in all others.
pub fn pma_hybrid(graph: &Graph, run: &Run) -> Result<Forest> {
    pma(graph, run, [false, true])
}

/// `sorted` says whether rows are sorted in the first round, and in the others.
fn pma(graph: &Graph, run: &Run, sorted: [bool; 2]) -> Result<Forest> {
    match graph.keys(run.is_maximum()) {
        AnyKeys::Narrow(keys) => with_keys(graph, keys, run, sorted),
        AnyKeys::Wide(keys) => with_keys(graph, keys, run, sorted),
    }
}

fn with_keys<K: Key>(graph: &Graph, keys: Keys<K>, run: &Run, [sorted_first, sorted]: [bool; 2]) -> Result<Forest> {
    let gamma = gamma_of(run)?;
    let keep_parallel = run.option("keep-parallel")?.unwrap_or(false);
    let mut marks = vec![0u8; graph.edges()];
    let (n, watch) = (graph.vertices(), run.watch());
    let step = |rows: usize| watch.step("pma", (n - rows) as u64, n as u64);
    let mut round =
        Round { gamma, wish: Wish { keep_parallel, sorted }, chosen: shared(&mut marks), stats: run.stats(), watch };

    step(n)?;
    let mut rows = {
        let input = Input::new(graph.csr(), keys);
        if sorted_first {
            let own: Vec<u32> = (0..n as u32).collect();
            contract(&input, &own, n, round.wish, watch)?
        } else {
            round.searching(&input)?
        }
    };
    while rows.arcs() > 0 {
        step(rows.rows())?;
        rows = if sorted { round.on_sorted(&rows)? } else { round.searching(&rows)? };
    }
    let stats = round.stats;
    Forest::from_marks(graph, &marks, stats)
}

/// The gamma that was asked for.
pub(crate) fn gamma_of(run: &Run) -> Result<Option<usize>> {
    let gamma = run.option("gamma")?;
    if gamma == Some(0) {
        let what = "gamma=0: a tree has at least one vertex; give gamma=2 or more".into();
        return Err(Error::Algorithm { name: run.algorithm().name().into(), what });
    }
    Ok(gamma)
}

/// What all rounds share.
struct Round<'a> {
    gamma: Option<usize>,
    wish: Wish,
    chosen: &'a [AtomicU8],
    stats: Option<Stats>,
    watch: &'a Watch,
}

impl Round<'_> {
    /// A round that searches the whole row of a vertex for the smallest arc that leaves the tree.
    fn searching<K: Key>(&mut self, graph: &impl Adjacency<K>) -> Result<Rows<K>> {
        self.shrink(graph, |v, _, outside| Some((graph.smallest(v, |target| outside.contains(target))?, 0)))
    }

    /// A round that goes on in the sorted row of a vertex to the first arc that leaves the tree.
    fn on_sorted<K: Key>(&mut self, graph: &Rows<K>) -> Result<Rows<K>> {
        self.shrink(graph, |v, from, outside| {
            let row = graph.slice(v);
            let at = from + row[from..].iter().position(|arc| outside.contains(arc.target))?;
            Some((row[at], at))
        })
    }

    /// Grows trees and makes each set of touching ones a vertex.
    fn shrink<K: Key>(&mut self, graph: &impl Adjacency<K>, find: impl Find<K>) -> Result<Rows<K>> {
        let n = graph.rows();
        // A tree of one vertex would choose nothing.
        let gamma = self.gamma.unwrap_or_else(|| suitable_gamma(graph.arcs(), n)).max(2);
        let mut claims = vec![UNCLAIMED; n];
        let mut touches: Vec<u32> = (0..n as u32).collect();
        let trees = Trees {
            claims: shared(&mut claims),
            touches: shared(&mut touches),
            chosen: self.chosen,
            gamma,
            watch: self.watch,
        };
        let ranges = n.div_ceil(gamma);
        let alone =
            if graph.arcs() < PARALLEL_FROM { ranges } else { ranges.div_ceil(rayon::current_num_threads() * TASKS) };
        (0..ranges).into_par_iter().with_min_len(alone).try_for_each_init(Vec::new, |border, range| -> Result<()> {
            for start in range * gamma..n.min((range + 1) * gamma) {
                trees.grow(start as u32, &find, border)?;
            }
            Ok(())
        })?;
        // Members are linked to the vertex that their tree began with, and that to the tree it touched.
        let links = &mut touches;
        links.par_iter_mut().zip(&claims).enumerate().for_each(|(v, (link, &claim))| {
            if claim as usize != v {
                *link = claim;
            }
        });
        let trees = number_trees(links, |v| graph.degree(v) > 0);
        let next = if trees <= 1 { Rows::none() } else { contract(graph, links, trees, self.wish, self.watch)? };
        if let Some(Stats { rounds, .. }) = &mut self.stats {
            let vertices = graph.vertices() as f64;
            rounds.push(vec![
                ("vertices", vertices),
                ("edges", graph.arcs() as f64 / 2.0),
                ("gamma", gamma as f64),
                ("reduction", vertices / trees.max(1) as f64),
            ]);
        }
        Ok(next)
    }
}

/// A gamma that suits the graph: half the square of the average degree, from 8 to 200.
///
/// The paper found 8 best on roads, 5 or 6 on sparse random graphs, 14 on dense R-MAT and up to 200 at high degrees. One
/// sweep here, on a busy machine, leaned the same way: at average degrees of 2.4 and 4 anything from 3 to 14 was alike and
/// 100 slower; at 16 and 21 (random and R-MAT) 100 was faster than 8.
pub(crate) fn suitable_gamma(arcs: usize, vertices: usize) -> usize {
    let degree = arcs / vertices.max(1);
    (degree.saturating_mul(degree) / 2).clamp(GAMMA[0], GAMMA[1])
}

/// From the arc numbered so of a vertex on, the smallest one that leads outside, and its number.
trait Find<K>: Fn(u32, usize, Outside) -> Option<(Arc<K>, usize)> + Sync {}
impl<K, F: Fn(u32, usize, Outside) -> Option<(Arc<K>, usize)> + Sync> Find<K> for F {}

/// The vertices that are not in the tree that began with `start`.
#[derive(Clone, Copy)]
struct Outside<'a> {
    start: u32,
    claims: &'a [AtomicU32],
}

impl Outside<'_> {
    #[inline(always)]
    fn contains(self, v: u32) -> bool {
        // Relaxed: only the thread that asks claims vertices for this tree, and it sees its own stores.
        self.claims[v as usize].load(Relaxed) != self.start
    }
}

/// A vertex of a growing tree with the smallest of its arcs that leave the tree.
struct Border<K> {
    v: u32,
    arc: Arc<K>,
    /// The arc's number in the row.
    at: usize,
}

/// The trees of a round while they grow.
struct Trees<'a> {
    /// For every vertex the one that its tree began with.
    claims: &'a [AtomicU32],
    /// For every vertex that a tree began with, the one that the tree began with that stopped it, or itself.
    touches: &'a [AtomicU32],
    chosen: &'a [AtomicU8],
    gamma: usize,
    watch: &'a Watch,
}

impl Trees<'_> {
    /// Partial Prim: grows a tree from `start` to at most gamma vertices, unless `start` is in a tree.
    fn grow<K: Key>(&self, start: u32, find: &impl Find<K>, border: &mut Vec<Border<K>>) -> Result<()> {
        let claim = |v: u32| self.claims[v as usize].compare_exchange(UNCLAIMED, start, Relaxed, Relaxed);
        if self.claims[start as usize].load(Relaxed) != UNCLAIMED || claim(start).is_err() {
            return Ok(());
        }
        let outside = Outside { start, claims: self.claims };
        let seen_from = |v: u32| find(v, 0, outside).map(|(arc, at)| Border { v, arc, at });
        border.clear();
        border.extend(seen_from(start));
        for size in 2..=self.gamma {
            // Each step looks through the whole border: with a large gamma a single tree takes long.
            self.watch.check()?;
            let Some(Border { arc, .. }) = border.iter().min_by_key(|b| b.arc.ranked()) else { break };
            let v = arc.target;
            mark(self.chosen, arc.edge);
            if let Err(other) = claim(v) {
                self.touches[start as usize].store(other, Relaxed);
                break;
            }
            if size == self.gamma {
                break;
            }
            border.retain_mut(|b| {
                b.arc.target != v || find(b.v, b.at, outside).map(|(arc, at)| (b.arc, b.at) = (arc, at)).is_some()
            });
            border.extend(seen_from(v));
        }
        Ok(())
    }
}
