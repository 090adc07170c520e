//! `kostra`, our own algorithm: Borůvka's rounds, but never on an edge that a lighter one makes needless.
//!
//! ```text
//! if there are few edges per vertex:
//!     every edge of the graph offers itself to its ends         (contest)
//!     join every vertex along its smallest edge                  (round)
//!     list the edges that join two of the trees so made          (list)
//!     contract the list
//! else:
//!     list the lightest edges, about 1.8 per vertex; contract it
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
//! 6. Large arrays lie in huge pages.
//!
//! 64-bit keys are shortened to 32 bits for the cells, as numbers with 27 significant bits above the smallest in a sample;
//! only where two shortened keys are equal are the keys themselves looked at.
//!
//! Cost: O(m) expected on random weights, O(m log n) at worst. Memory beyond the graph: 1 byte per edge, 16 per vertex and 8 more
//! per vertex for each thread after the first (of no more threads than there are edges per vertex), and 16 per listed edge, of
//! either key width: those that the first round leaves (0.4-0.7 of all) where edges are few, about 1.8 per vertex elsewhere.
//! Prefer it, on any graph; `auto` does.

mod contest;
mod list;
mod round;

use rayon::prelude::*;

use self::contest::{Cells, Contest};
use self::list::{List, Whole, joining};
use self::round::compose;
use crate::buffer::Buffer;
use crate::error::Result;
use crate::forest::Forest;
use crate::graph::Graph;
use crate::mix::mix;
use crate::par;
use crate::run::{Run, Stats};
use crate::weight::{AnyKeys, Key, Keys};

pub(crate) fn knob(name: &str, default: f64) -> f64 {
    std::env::var(name).ok().and_then(|v| v.parse().ok()).unwrap_or(default)
}

/// Edges that are looked at to guess where a share of the lightest ends.
const SAMPLES: usize = 4096;

/// The minimum spanning forest by our own algorithm.
pub fn kostra(graph: &Graph, run: &Run) -> Result<Forest> {
    match graph.keys(run.is_maximum()) {
        AnyKeys::Narrow(keys) => with_keys(graph, keys, run),
        AnyKeys::Wide(keys) => with_keys(graph, keys, run),
    }
}

/// Enters the caller's pool once rather than for each pass; small graphs are solved before that is done.
fn with_keys<K: Key>(graph: &Graph, keys: Keys<K>, run: &Run) -> Result<Forest> {
    if graph.edges() < par::PARALLEL_FROM {
        return solve(graph, keys, run);
    }
    rayon::join(|| solve(graph, keys, run), || ()).0
}

pub(crate) struct Timer(Option<std::time::Instant>);
impl Timer {
    pub(crate) fn new() -> Self {
        Self(std::env::var_os("KOSTRA_TIME").map(|_| std::time::Instant::now()))
    }
    #[allow(clippy::print_stderr)]
    pub(crate) fn lap(&mut self, what: &str, a: usize, b: usize) {
        if let Some(t) = &mut self.0 {
            eprintln!("  {what:14} {:8.3} ms  {a} {b}", t.elapsed().as_secs_f64() * 1e3);
            *t = std::time::Instant::now();
        }
    }
}

fn solve<K: Key>(graph: &Graph, keys: Keys<K>, run: &Run) -> Result<Forest> {
    let (n, m) = (graph.vertices(), graph.edges());
    let (src, dst) = (graph.sources(), graph.targets());
    let sample = sample(keys, m);
    let threads = if m < par::PARALLEL_FROM { 1 } else { rayon::current_num_threads() };
    let copies = if n == 0 { 1 } else { threads.min(m.div_ceil(n)).max(1) };
    let mut work = Work {
        contest: Contest::new(graph, keys, sample.first().map(|&r| keys.at(K::edge(r) as usize)), run.watch()),
        cells: Cells::new(n * copies)?,
        parent: Buffer::zeroed(n)?,
        marks: Buffer::zeroed(m)?,
        chosen: 0,
        stats: run.stats(),
        timer: Timer::new(),
        filter_from: knob("FILTER_FROM", 3.2),
        light: knob("LIGHT", 1.8),
        finish_below: knob("FINISH", 128.0) as usize,
        filter_above: knob("FILTER_ABOVE", 8192.0) as usize,
    };
    work.clear(n);
    work.timer.lap("prepare", n, m);
    if m as f64 <= work.filter_from * n as f64 {
        work.contest.offer_all(work.cells.ballots(threads))?;
        work.timer.lap("offer all", n, m);
        let mut complete = 0;
        let (labels, trees) = work.round(&Whole { src, dst }, n, &mut complete)?;
        work.clear(trees);
        let mut selected = Buffer::zeroed(m.div_ceil(64))?;
        let labels: &[u32] = &labels;
        let counts = work.contest.select(&mut selected, |edges| joining(labels, &src[edges.clone()], &dst[edges]))?;
        work.timer.lap("select", n, m);
        let list = List::selected(&work.contest, &selected, &counts, Some(labels), work.cells.ballots(threads))?;
        work.timer.lap("extract", trees, list.len());
        work.contract(list, trees, false)?;
    } else {
        let connected = 0.65 * n as f64 * (n as f64).ln();
        let light = if connected < m as f64 / 16.0 { connected } else { work.light * n as f64 };
        let threshold = sample[((sample.len() as f64 * light / m as f64) as usize).min(sample.len() - 1)];
        let mut selected = Buffer::zeroed(m.div_ceil(64))?;
        let counts = work.contest.select(&mut selected, |edges| keys.at_most(edges, threshold))?;
        work.timer.lap("select light", n, m);
        let list = List::selected(&work.contest, &selected, &counts, None, work.cells.ballots(threads))?;
        work.timer.lap("extract light", n, list.len());
        let (labels, trees) = work.contract(list, n, true)?;
        if trees > 1 {
            let inside = giant(&labels);
            work.timer.lap("giant", trees, n);
            work.clear(trees);
            let list = List::leaving(&work.contest, &inside, &labels, work.cells.ballots(threads))?;
            work.timer.lap("extract heavy", trees, list.len());
            work.contract(list, trees, false)?;
        }
    }
    let forest = Forest::from_marks(graph, &work.marks, work.stats);
    work.timer.lap("forest", 0, 0);
    Ok(forest)
}

/// The ranks of some edges, ascending.
fn sample<K: Key>(keys: Keys<K>, m: usize) -> Vec<K::Ranked> {
    let count = SAMPLES.min(m.div_ceil(16));
    let place = |i: usize| if count == m { i } else { (u128::from(mix(i as u64)) * m as u128 >> 64) as usize };
    let mut sample: Vec<_> = (0..count).map(|i| keys.ranked(place(i))).collect();
    sample.sort_unstable();
    sample
}

/// A bit for every vertex in what seems to be the largest tree.
fn giant(labels: &[u32]) -> Vec<u64> {
    let place = |i| (u128::from(mix(i)) * labels.len() as u128 >> 64) as usize;
    let mut sample: Vec<u32> = (0..1024u64).map(|i| labels[place(i)]).collect();
    sample.sort_unstable();
    let largest = sample.chunk_by(|a, b| a == b).max_by_key(|run| run.len()).map_or(0, |run| run[0]);
    let bits = |part: &[u32]| part.iter().rev().fold(0, |word, &label| word << 1 | u64::from(label == largest));
    labels.par_chunks(64).with_min_len(1 << 10).map(bits).collect()
}

/// What one solve works on.
struct Work<'a, K> {
    contest: Contest<'a, K>,
    cells: Cells,
    parent: Buffer<u32>,
    /// 1 for every edge of the forest.
    marks: Buffer<u8>,
    chosen: usize,
    stats: Option<Stats>,
    timer: Timer,
    filter_from: f64,
    light: f64,
    finish_below: usize,
    filter_above: usize,
}

impl<K: Key> Work<'_, K> {
    /// Takes back all offers to the first trees.
    fn clear(&mut self, trees: usize) {
        self.cells.clear(trees, self.contest.threads);
    }

    /// Borůvka's rounds on a list whose edges have offered themselves, until none is left. Where `keep`, returns the
    /// tree in which each tree ends, numbered from 0, and how many these are.
    fn contract(&mut self, mut list: List, mut trees: usize, keep: bool) -> Result<(Buffer<u32>, usize)> {
        let (mut maps, mut complete, mut offered) = (Vec::new(), 0, true);
        loop {
            let edges = list.len();
            if let Some(stats) = &mut self.stats {
                stats.rounds.push(vec![("trees", trees as f64), ("edges", edges as f64)]);
            }
            self.contest.watch.step("join", self.chosen as u64, self.contest.graph.vertices() as u64)?;
            if edges <= self.finish_below && trees <= 4 * self.finish_below {
                let (labels, sets) = self.finish(&list, trees, complete)?;
                self.timer.lap("finish", trees, edges);
                return Ok((compose(labels, maps), complete + sets));
            }
            if !offered && (edges <= self.filter_above || edges as f64 <= self.filter_from * trees as f64) {
                list.offer(&self.contest, self.cells.ballots(self.contest.threads))?;
                offered = true;
            }
            let (labels, live) = if offered {
                self.round(&list.edges(), trees, &mut complete)?
            } else {
                let light = self.light * trees as f64 / edges as f64;
                let light = list.lightest(&self.contest, light, self.cells.ballots(self.contest.threads))?;
                self.timer.lap("lightest", trees, light.len());
                self.contract(light, trees, true)?
            };
            list.gather();
            self.clear(live);
            offered = edges <= self.filter_above || edges as f64 <= self.filter_from * live as f64;
            list.relabel(&self.contest, &labels, offered.then(|| self.cells.ballots(self.contest.threads)))?;
            self.timer.lap("relabel", live, list.len());
            if keep {
                maps.push(labels);
            }
            trees = live;
        }
    }
}
