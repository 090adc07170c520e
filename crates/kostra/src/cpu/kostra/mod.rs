//! `kostra`, our own algorithm: Borůvka's rounds, but never on an edge that a lighter one makes needless.
//!
//! ```text
//! if all weights are equal:
//!     join trees along the edges in the order of their ids         (equal)
//! else if there are few edges per vertex:
//!     every edge of the graph offers itself to its ends         (contest)
//!     join every vertex along its smallest edge                  (round)
//!     list the edges that join two of the trees so made          (list)
//!     contract the list
//! else:
//!     list the lightest edges, about 1.8 per vertex (0.8 where they touch few of them); contract it
//!     list the edges of the graph that join two of the trees so made; contract it
//!
//! contract a list:
//!     until no edge is left:
//!         where there are many edges per tree, contract the lightest of them first
//!         else join every tree along its smallest edge
//!         rename the ends of the edges, drop those inside a tree; the others offer themselves
//! ```
//!
//! What makes it fast:
//!
//! 1. A heavy edge inside a tree of lighter edges can never be chosen, and in most graphs nearly all edges are such. They are
//!    read once or twice, in order, and never copied, sorted or joined. That goes for the list of each round as well.
//! 2. One tree soon has most of the vertices. A bit per vertex says who is in it; the bits fit in a cache where the
//!    numbers of the trees do not, and settle nearly every heavy edge.
//! 3. A list shrinks in place, block by block, in the order of edge ids; so a position compares as an id does, and key and
//!    position in one word, a cell, are all that a contest needs. Renaming and the next contest are one pass.
//! 4. Each thread has cells of its own where memory allows, merged at the end: no locked instruction, no core that waits for
//!    another's cache. Elsewhere threads compete by compare-and-swap, but only where they can win.
//! 5. Nothing that chance decides is a branch: offers, roots and survivors are selected, not jumped to.
//! 6. Where a few vertices have most of the edges, the lightest edges leave the majority alone. A bit per vertex or tree says which
//!    are touched, and counting bits numbers these without the others: rounds are then on a third of them.
//! 7. Large arrays lie in huge pages, and the largest is used twice: clearing fresh pages took a tenth of the time.
//! 8. All threads stay awake between the stages of a solve, and each begins with the part that it had in the stage before.
//!
//! 64-bit keys are shortened to 32 bits for the cells, as numbers with 27 significant bits above the smallest in a sample;
//! only where two shortened keys are equal are the keys themselves looked at.
//!
//! The lightest are those before a sampled place in the order `(weight, edge id)`, so many equal weights are no harm.
//!
//! Cost: O(m) expected on random weights, O(m log n) at worst. Memory beyond the graph: 1 bit per edge, 20 bytes per vertex (where there
//! are up to 8 edges per vertex, 16 and one per edge) and 8 more per vertex for each thread after the first (of no more threads than
//! there are edges per vertex), and 16 per listed edge, of either key width: those that the first round leaves (0.4-0.7 of all)
//! where edges are few, about 1.8 per vertex elsewhere, or a quarter of all at worst. Where touched vertices are numbered, a bit per
//! vertex and thread, and 8 bytes per 32 vertices.
//! Prefer it, on any graph; `auto` does.

mod chosen;
mod contest;
mod equal;
mod list;
mod round;
mod touched;

use std::ops::Range;

use self::chosen::Chosen;
use self::contest::{Cells, Contest, Selected};
use self::equal::{are_equal, equal};
use self::list::{List, Names, Purpose, Themselves, Whole, joining, leaving};
use self::round::compose;
use self::touched::{Marks, Touched};
use crate::buffer::Buffer;
use crate::error::Result;
use crate::forest::Forest;
use crate::graph::Graph;
use crate::mix::{below, mix};
use crate::par::{PARALLEL_FROM, block, prefetch};
use crate::run::{Run, Stats};
use crate::team::{as_team, each, is_in_team};
use crate::weight::{AnyKeys, Key, Keys};

/// Edges per vertex above which the lightest come first. Below, too few would be left out to pay for choosing them:
/// at 2 (a grid), 3 (a triangulation) and 4 (random), filtering changed the time by about 0, -13 and -30 %.
const FILTER_FROM: f64 = 2.5;

/// The same for edges per tree of a list, which is cheaper to go through again. 3.2, 6 and 12 differ by less than noise.
const FILTER_LIST_FROM: f64 = 6.0;

/// The lightest edges, per vertex. 1.8 and 2.2 are alike; 1.2 loses a quarter on cliques, 3 a fifth on random graphs.
const LIGHT: f64 = 1.8;

/// Where n ln n times this are few among the edges, so many are taken instead: then they most likely connect all
/// vertices (half would do if weights were random), and the other edges need not be looked at at all.
const CONNECTING: f64 = 0.65;

/// Graphs are skewed if this share of the ends of some edges, or more, are ends of those before: 0.19 and 0.27 on R-MAT and
/// Kronecker graphs of .57, .19, .19, whose lightest edges touch a third of the vertices, 0.03 to 0.07 on others of a million.
const SKEWED: f64 = 0.125;

/// Vertices from which graphs may be skewed: of few, most are touched.
const SKEWED_FROM: usize = 1 << 17;

/// The lightest edges of skewed graphs, per vertex and square root of the edges per vertex: each costs its place in a list, and
/// the more there are, the fewer of the others are left. 0.8 per vertex were best of 8 edges per vertex, 1.2 of 16, 1.5 or more
/// of 40. Web graphs and cliques, which are not skewed, would take half as long again with 0.8.
const LIGHT_SKEWED: f64 = 0.3;

/// Few is one in so many.
const FEW: f64 = 16.0;

/// Edges that are looked at to guess where the lightest end.
const SAMPLES: usize = 4096;

/// Places in memory that one thread looks up at a time: some 3 us of work.
const TOGETHER: usize = 256;

/// Lists up to this long are not filtered again, and those up to the next are sorted and joined one by one.
const SHORT: usize = 1 << 13;
const SHORTEST: usize = 1 << 9;

/// The minimum spanning forest by our own algorithm.
pub fn kostra(graph: &Graph, run: &Run) -> Result<Forest> {
    match graph.keys(run.is_maximum()) {
        AnyKeys::Narrow(keys) => with_keys(graph, keys, run),
        AnyKeys::Wide(keys) => with_keys(graph, keys, run),
    }
}

/// Asks all threads to join in for the whole of the solve; small graphs are solved before they have come.
fn with_keys<K: Key>(graph: &Graph, keys: Keys<K>, run: &Run) -> Result<Forest> {
    if graph.edges() < PARALLEL_FROM {
        return solve(graph, keys, run);
    }
    as_team(|| solve(graph, keys, run))
}

fn solve<K: Key>(graph: &Graph, keys: Keys<K>, run: &Run) -> Result<Forest> {
    let (n, m) = (graph.vertices(), graph.edges());
    let mut sample = sample(keys, m);
    if are_equal(graph, keys, &sample) {
        return equal(graph, run);
    }
    let mut work = Work::new(graph, keys, &sample, run)?;
    if m as f64 <= FILTER_FROM * n as f64 {
        work.solve_whole()?;
    } else {
        work.solve_light_first(&mut sample)?;
    }
    let Work { chosen, stats, cells, links, .. } = work;
    drop((cells, links));
    chosen.into_forest(graph, stats)
}

/// What `look` says of some edges.
fn sampled<T: Send>(m: usize, prefetch: impl Fn(usize) + Sync, look: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let edges: Vec<usize> = (0..SAMPLES.min(m.div_ceil(16)) as u64).map(|i| below(mix(i), m as u64) as usize).collect();
    look_up(&edges, prefetch, look)
}

/// What `look` says of places far apart. All ask for memory before any is looked at.
fn look_up<T: Send>(places: &[usize], prefetch: impl Fn(usize) + Sync, look: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let some = |_, places: &[usize]| {
        places.iter().copied().for_each(&prefetch);
        places.iter().copied().map(&look).collect::<Vec<T>>()
    };
    // Too little for threads that sleep.
    let together = if is_in_team() { TOGETHER } else { places.len().max(1) };
    each(places.chunks(together), some).into_iter().flatten().collect()
}

/// The ranks of some edges.
fn sample<K: Key>(keys: Keys<K>, m: usize) -> Vec<K::Ranked> {
    sampled(m, |e| keys.prefetch(e), |e| keys.ranked(e))
}

/// Whether some vertices have so many of the edges that the lightest will touch few others.
fn is_skewed(graph: &Graph) -> bool {
    if graph.vertices() < SKEWED_FROM {
        return false;
    }
    let (src, dst) = (graph.sources(), graph.targets());
    let (mut seen, mut ends, mut repeated) = ([0u64; 2048], 0, 0);
    let prefetch = |e| {
        prefetch(src, e);
        prefetch(dst, e);
    };
    for v in sampled(graph.edges(), prefetch, |e| [src[e], dst[e]]).into_iter().flatten() {
        let place = mix(v.into()) as usize % (64 * seen.len());
        let word = &mut seen[place / 64];
        repeated += *word >> (place % 64) & 1;
        *word |= 1 << (place % 64);
        ends += 1;
    }
    repeated as f64 > SKEWED * f64::from(ends)
}

/// The rank below which this share of a sample lies, which is not empty.
fn at_share<R: Copy + Ord>(sample: &mut [R], share: f64) -> R {
    let place = ((sample.len() as f64 * share) as usize).min(sample.len() - 1);
    *sample.select_nth_unstable(place).1
}

/// Whether a list is long and has more edges per tree than that.
fn is_dense(edges: usize, trees: usize, densest: f64) -> bool {
    edges > SHORT && edges as f64 > densest * trees as f64
}

/// A bit for every vertex in what seems to be the largest tree.
fn largest(labels: &[u32]) -> Result<Buffer<u64>> {
    let places: Vec<usize> = (0..1024).map(|i| below(mix(i), labels.len() as u64) as usize).collect();
    let mut sample = look_up(&places, |at| prefetch(labels, at), |at| labels[at]);
    sample.sort_unstable();
    let largest = sample.chunk_by(|a, b| a == b).max_by_key(|run| run.len()).map_or(0, |run| run[0]);
    let word = |part: &[u32]| part.iter().rev().fold(0, |word, &label| word << 1 | u64::from(label == largest));
    let mut inside = Buffer::<u64>::of_any(labels.len().div_ceil(64))?;
    let block = block(labels.len()).next_multiple_of(64);
    each(inside.chunks_mut(block / 64).zip(labels.chunks(block)), |_, (words, labels)| {
        words.iter_mut().zip(labels.chunks(64)).for_each(|(place, part)| *place = word(part));
    });
    Ok(inside)
}

/// What one solve works on.
struct Work<'a, K> {
    contest: Contest<'a, K>,
    cells: Cells,
    /// What [`round`](Self::round) links trees by.
    links: Buffer<u32>,
    chosen: Chosen,
    stats: Option<Stats>,
}

impl<'a, K: Key> Work<'a, K> {
    fn new(graph: &'a Graph<'a>, keys: Keys<'a, K>, sample: &[K::Ranked], run: &'a Run) -> Result<Self> {
        let (n, m) = (graph.vertices(), graph.edges());
        let low = sample.iter().min().map_or(K::MAX, |&ranked| keys.at(K::edge(ranked) as usize));
        let contest = Contest::new(graph, keys, low, run.watch());
        // No more memory for cells of their own than the edges would take.
        let copies = contest.threads.min(m.div_ceil(n.max(1))).max(1);
        Ok(Self {
            cells: Cells::new(n, copies, contest.threads)?,
            contest,
            links: Buffer::of_any(n)?,
            chosen: Chosen::new(graph)?,
            stats: run.stats(),
        })
    }

    /// A round on the whole graph, then on the edges that it leaves.
    fn solve_whole(&mut self) -> Result<()> {
        let graph = self.contest.graph;
        let (n, src, dst) = (graph.vertices(), graph.sources(), graph.targets());
        self.begin_round(n, graph.edges())?;
        self.cells.clear(n, graph.edges(), false);
        self.contest.offer_all(self.cells.ballots())?;
        let (labels, trees) = self.round(&Whole { src, dst }, n, &mut 0)?;
        let labels: &[u32] = &labels;
        let joining = |edges: Range<usize>| joining(labels, &src[edges.clone()], &dst[edges]);
        let selected = self.contest.select(joining)?;
        // The trees are at most half as many as the vertices; what their cells do not need is room for the list.
        let room = self.cells.shrink(trees)?;
        self.cells.clear(trees, selected.len(), false);
        let list = List::selected(&self.contest, &selected, labels, Purpose::Offer(self.cells.ballots()), |len| {
            room.again(len)
        })?;
        self.contract(list, trees)?;
        Ok(())
    }

    /// The lightest edges, then those that join two of the trees so made.
    fn solve_light_first(&mut self, sample: &mut [K::Ranked]) -> Result<()> {
        let (n, m) = (self.contest.graph.vertices(), self.contest.graph.edges());
        let connecting = CONNECTING * n as f64 * (n as f64).ln();
        let is_connected = connecting * FEW < m as f64;
        let is_skewed = !is_connected && is_skewed(self.contest.graph);
        let per_vertex = if is_skewed { LIGHT_SKEWED * (m as f64 / n as f64).sqrt() } else { LIGHT };
        let light = if is_connected { connecting } else { per_vertex * n as f64 };
        let threshold = at_share(sample, light / m as f64);
        let keys = self.contest.keys;
        let mut selected = self.contest.select(|edges| keys.at_most(edges, threshold))?;
        if let Some(stats) = &mut self.stats {
            stats.facts.push(("light edges", selected.len() as f64));
        }
        let (labels, trees) = if is_skewed {
            let (maps, trees, touched) = self.contract_touched(&selected, Themselves, n)?;
            let labels = compose(maps);
            (touched.spread(&labels, trees)?, touched.with_others(trees))
        } else {
            let (maps, trees) = self.contract_selected(&selected, Themselves, n)?;
            (compose(maps), trees)
        };
        if trees > 1 {
            let labels: &[u32] = &labels;
            let (src, dst) = (self.contest.graph.sources(), self.contest.graph.targets());
            let inside: &[u64] = &largest(labels)?;
            let leaving = |edges: Range<usize>| leaving(inside, labels, &src[edges.clone()], &dst[edges]);
            self.contest.select_again(&mut selected, leaving)?;
            // Where edges are fewer than trees, they most likely leave many alone.
            if is_skewed || selected.len() < trees {
                self.contract_touched(&selected, labels, trees)?;
            } else {
                self.contract_selected(&selected, labels, trees)?;
            }
        }
        Ok(())
    }

    /// Lists selected edges of the graph between so many trees, as the names say, and contracts the list.
    fn contract_selected(
        &mut self,
        selected: &Selected,
        names: impl Names,
        trees: usize,
    ) -> Result<(Vec<Buffer<u32>>, usize)> {
        self.cells.clear(trees, selected.len(), false);
        let list =
            List::selected(&self.contest, selected, names, Purpose::Offer(self.cells.ballots()), Buffer::of_any)?;
        self.contract(list, trees)
    }

    /// The same with the trees alone that these edges touch, which are returned as well.
    fn contract_touched(
        &mut self,
        selected: &Selected,
        names: impl Names,
        trees: usize,
    ) -> Result<(Vec<Buffer<u32>>, usize, Touched)> {
        let mut marks = Marks::new(trees, self.contest.threads)?;
        let mut list = List::selected(&self.contest, selected, names, Purpose::Mark(marks.shared()), Buffer::of_any)?;
        let touched = marks.touched()?;
        self.cells.clear(touched.count, list.len(), list.is_alone());
        list.relabel(&self.contest, touched.numbers(), Some(self.cells.ballots()))?;
        let (maps, left) = self.contract(list, touched.count)?;
        Ok((maps, left, touched))
    }

    /// Joins trees along the edges of a list that have offered themselves, until none is left. Returns the maps of all rounds,
    /// for [`compose`], and how many trees are left.
    fn contract(&mut self, mut list: List, mut trees: usize) -> Result<(Vec<Buffer<u32>>, usize)> {
        let (mut maps, mut complete, mut offered) = (Vec::new(), 0, true);
        let mut densest = FILTER_LIST_FROM;
        loop {
            let (edges, before) = (list.len(), self.chosen.count());
            self.begin_round(trees, edges)?;
            if edges <= SHORTEST && trees <= 4 * SHORTEST {
                let (labels, sets) = self.finish(&list, trees, complete)?;
                maps.push(labels);
                return Ok((maps, complete + sets));
            }
            if !offered && !is_dense(edges, trees, densest) {
                list.offer(&self.contest, self.cells.ballots())?;
                offered = true;
            }
            let (labels, left) = if offered {
                self.round(&list.edges(), trees, &mut complete)?
            } else {
                let share = LIGHT * trees as f64 / edges as f64;
                let light = list.lightest(&self.contest, share, self.cells.ballots())?;
                let (maps, left) = self.contract(light, trees)?;
                // Light edges that join little lie close together, as equal weights in the order of ids may. A plain
                // round at least halves the trees.
                if left > trees / 2 {
                    densest = f64::INFINITY;
                }
                (compose(maps), left)
            };
            list.gather();
            self.cells.clear(left, list.len(), list.is_alone());
            // Edges that will be filtered need not offer themselves now. How many stay is not known yet, but no
            // more than those that are not chosen, and hardly fewer.
            offered = !is_dense(edges - (self.chosen.count() - before), left, densest);
            list.relabel(&self.contest, &*labels, offered.then(|| self.cells.ballots()))?;
            maps.push(labels);
            trees = left;
        }
    }

    fn begin_round(&mut self, trees: usize, edges: usize) -> Result<()> {
        if let Some(stats) = &mut self.stats {
            stats.rounds.push(vec![("trees", trees as f64), ("edges", edges as f64)]);
        }
        self.contest.watch.step("join", self.chosen.count() as u64, self.contest.graph.vertices() as u64)
    }
}
