//! The Borůvka of the Universidade do Minho: every round builds the contracted graph's adjacency lists directly.
//!
//! In each round every vertex finds its smallest arc. Where two vertices chose the same edge, the smaller forgets it and
//! stands for its component; all others follow their arcs to it. Components become the vertices of the next graph,
//! numbered in order by a prefix sum; the arcs between components are counted, a prefix sum over the counts lays out its
//! rows, and the arcs are copied straight there. Parallel edges stay: the paper found that dropping them costs more
//! than it saves.
//!
//! Cost: O(m log n) work at worst, as vertices at least halve; all steps parallel, also within one long row. 64 bytes
//! per edge (88 for 64-bit weights) and 24 per vertex, beside the adjacency lists it starts from. Prefer it where
//! edges are few per vertex and neighbours near in memory, as on roads and grids; where edges are many, it copies
//! nearly all of them in every round.
//!
//! Departures. Ties go by the order `(weight, edge id)`, not by the smallest neighbour, so the forest is ours; mirrored
//! pairs are still the only cycles. A vertex reserves room for its arcs while it counts them, not for each arc while it
//! inserts: an atomic operation waits for all stores before it, and those of the insertion go everywhere. Work is cut
//! by arcs, not by vertices, which the paper names as what limits its scaling. Colours spread by path halving, so that
//! a long chain costs O(n log n). Components without arcs are dropped, so that forests end.
//!
//! C. da Silva Sousa, A. Mariano, A. Proença, "A generic and highly efficient parallel variant of Borůvka's algorithm",
//! 2015.

use std::ops::Range;
use std::sync::atomic::{AtomicU8, Ordering::Relaxed};

use bytemuck::Pod;
use rayon::prelude::*;

use crate::csr::Csr;
use crate::error::Result;
use crate::forest::{Forest, mark};
use crate::graph::Graph;
use crate::par::{Shareable, block, scan, shared};
use crate::run::{Run, Stats};
use crate::union_find::root;
use crate::watch::Watch;
use crate::weight::{AnyKeys, Key, Keys};

/// Arcs whose neighbours' components are looked up in one go, before anything waits for them: 16 KiB, half of a
/// first-level cache.
const BATCH: usize = 1 << 12;

/// The minimum spanning forest by the algorithm of Sousa, Mariano and Proença.
pub fn uminho(graph: &Graph, run: &Run) -> Result<Forest> {
    match graph.keys(run.is_maximum()) {
        AnyKeys::Narrow(keys) => with_keys(graph, keys, run),
        AnyKeys::Wide(keys) => with_keys(graph, keys, run),
    }
}

fn with_keys<K: Key + Shareable>(graph: &Graph, keys: Keys<K>, run: &Run) -> Result<Forest> {
    let mut stats = run.stats();
    let mut marks = vec![0u8; graph.edges()];
    let mut begin = |rows: &Rows<K>| {
        if let Some(Stats { rounds, .. }) = &mut stats {
            rounds.push(vec![
                ("vertices", rows.len() as f64),
                ("edges", rows.arcs() as f64 / 2.0),
                ("imbalance", imbalance(rows.offsets, rayon::current_num_threads())),
            ]);
        }
        run.watch().step("uminho", (graph.vertices() - rows.len()) as u64, graph.vertices() as u64)
    };
    let (mut here, mut next, mut targets) = (Lists::new(), Lists::new(), Vec::new());
    let weights = weigh(graph.csr(), keys);
    let first = Rows::of(graph.csr(), &weights);
    begin(&first)?;
    contract(&first, shared(&mut marks), &mut targets, &mut here, run.watch())?;
    next.keys = weights;
    while here.rows().arcs() > 0 {
        begin(&here.rows())?;
        contract(&here.rows(), shared(&mut marks), &mut targets, &mut next, run.watch())?;
        std::mem::swap(&mut here, &mut next);
    }
    Forest::from_marks(graph, &marks, stats)
}

/// By how much the thread with most arcs has more than the average, if every thread is given as many vertices, as in the
/// paper: as a part of the average. Ours cuts by arcs, and does not suffer it.
fn imbalance(offsets: &[u64], threads: usize) -> f64 {
    let (n, threads) = (offsets.len() - 1, threads.max(1));
    let arcs = |i: usize| offsets[n * (i + 1) / threads] - offsets[n * i / threads];
    let most = (0..threads).map(arcs).max().unwrap_or(0) as f64;
    let average = offsets[n] as f64 / threads as f64;
    if average > 0.0 { most / average - 1.0 } else { 0.0 }
}

/// The weights in the order of the arcs, as the paper's graph has them: both steps of a round that read them then
/// stream, and fetching them here, with nothing else in the loop, keeps more of the fetches in flight.
fn weigh<K: Key>(csr: &Csr, keys: Keys<K>) -> Vec<K> {
    let edges = csr.edges();
    edges.par_iter().with_min_len(block(edges.len())).map(|&e| keys.at(e as usize)).collect()
}

/// A round: marks the smallest edge of every vertex and builds the graph of the components they make.
fn contract<K: Key + Shareable>(
    rows: &Rows<K>,
    marks: &[AtomicU8],
    targets: &mut Vec<u32>,
    next: &mut Lists<K>,
    watch: &Watch,
) -> Result<()> {
    let (smallest, mut successors) = find_smallest(rows);
    watch.check()?;
    remove_mirrored(&smallest, &mut successors, marks);
    let mut colours = propagate_colours(&mut successors);
    let vertices = number(&mut colours, rows);
    watch.check()?;
    grow(targets, rows.arcs());
    let (sizes, places) = count(rows, &colours, vertices, &mut targets[..rows.arcs()]);
    assign(sizes, next);
    watch.check()?;
    insert(rows, &colours, targets, &places, next);
    Ok(())
}

/// A graph to read: the arcs of vertex `v` are `offsets[v]..offsets[v + 1]`.
struct Rows<'a, K> {
    offsets: &'a [u64],
    neighbours: &'a [u32],
    edges: &'a [u32],
    keys: &'a [K],
}

impl<'a, K: Key> Rows<'a, K> {
    fn of(csr: &'a Csr, keys: &'a [K]) -> Self {
        Self { offsets: csr.offsets(), neighbours: csr.neighbours(), edges: csr.edges(), keys }
    }

    /// The number of vertices.
    fn len(&self) -> usize {
        self.offsets.len() - 1
    }

    /// The number of arcs.
    fn arcs(&self) -> usize {
        self.offsets[self.len()] as usize
    }

    /// The rows in a share of the arcs: each vertex that has arcs there, and these.
    fn pieces(&self, share: &Range<usize>) -> impl Iterator<Item = (usize, Range<usize>)> {
        let (start, end) = (share.start, share.end);
        let first = self.offsets.partition_point(|&offset| offset as usize <= start).saturating_sub(1);
        let rows = self.offsets[first..].windows(2).map(|row| row[0] as usize..row[1] as usize);
        rows.zip(first..)
            .take_while(move |(row, _)| row.start < end)
            .map(move |(row, v)| (v, row.start.max(start)..row.end.min(end)))
            .filter(|(_, piece)| !piece.is_empty())
    }

    /// The arcs by the batch, for all threads: the number of each and its arcs.
    fn batches(&self) -> impl IndexedParallelIterator<Item = (usize, Range<usize>)> {
        let arcs = self.arcs();
        let batches = (0..arcs.div_ceil(BATCH)).into_par_iter().with_min_len(block(arcs).div_ceil(BATCH));
        batches.map(move |b| (b, b * BATCH..arcs.min((b + 1) * BATCH)))
    }
}

/// A contracted graph, in memory that is used again two rounds later: fresh pages cost more than what is put there. Only
/// the offsets say how many arcs there are.
struct Lists<K> {
    offsets: Vec<u64>,
    neighbours: Vec<u32>,
    edges: Vec<u32>,
    keys: Vec<K>,
}

impl<K: Key> Lists<K> {
    fn new() -> Self {
        Self { offsets: vec![0], neighbours: vec![], edges: vec![], keys: vec![] }
    }

    fn rows(&self) -> Rows<'_, K> {
        Rows { offsets: &self.offsets, neighbours: &self.neighbours, edges: &self.edges, keys: &self.keys }
    }
}

/// For every vertex its smallest edge and the vertex at the other end; itself where it has no arcs.
fn find_smallest<K: Key>(rows: &Rows<K>) -> (Vec<u32>, Vec<u32>) {
    let n = rows.len();
    let mut smallest = vec![0u32; n];
    let mut successors: Vec<u32> = (0..n as u32).into_par_iter().with_min_len(block(n)).collect();
    let (shared_smallest, shared_successors) = (shared(&mut smallest), shared(&mut successors));
    let share = block(rows.arcs());
    let cut: Vec<Vec<(usize, K::Ranked, u32)>> = (0..rows.arcs().div_ceil(share))
        .into_par_iter()
        .map(|s| {
            let mut cut = Vec::new();
            for (v, piece) in rows.pieces(&(s * share..rows.arcs().min((s + 1) * share))) {
                let whole = piece.len() as u64 == rows.offsets[v + 1] - rows.offsets[v];
                let (mut best, mut at) = (K::LAST, piece.start);
                let ranks = rows.keys[piece.clone()].iter().zip(&rows.edges[piece.clone()]);
                for ((&key, &e), i) in ranks.zip(piece) {
                    let ranked = key.ranked(e);
                    (best, at) = if ranked < best { (ranked, i) } else { (best, at) };
                }
                if whole {
                    shared_smallest[v].store(K::edge(best), Relaxed);
                    shared_successors[v].store(rows.neighbours[at], Relaxed);
                } else {
                    cut.push((v, best, rows.neighbours[at]));
                }
            }
            cut
        })
        .collect();
    // At most two rows of a share are cut, and the pieces of one follow each other.
    for pieces in cut.concat().chunk_by(|a, b| a.0 == b.0) {
        if let Some(&(v, best, neighbour)) = pieces.iter().min_by_key(|&&(_, ranked, _)| ranked) {
            (smallest[v], successors[v]) = (K::edge(best), neighbour);
        }
    }
    (smallest, successors)
}

/// Where two vertices chose the same edge, makes the smaller its own successor; marks the edges of all others.
///
/// Along a chain of successors edges only get smaller, so a cycle could only be one edge there and back: what is left
/// are trees, each with one root.
fn remove_mirrored(smallest: &[u32], successors: &mut [u32], marks: &[AtomicU8]) {
    let block = block(successors.len());
    successors.par_iter_mut().enumerate().with_min_len(block).for_each(|(v, successor)| {
        let other = *successor as usize;
        if v < other && smallest[v] == smallest[other] {
            *successor = v as u32;
        } else if v != other {
            mark(marks, smallest[v]);
        }
    });
}

/// The root of every vertex.
fn propagate_colours(successors: &mut [u32]) -> Vec<u32> {
    let n = successors.len();
    let successors = shared(successors);
    (0..n as u32).into_par_iter().with_min_len(block(n)).map(|v| root(successors, v)).collect()
}

/// Replaces every colour by the number of its vertex in the next graph, and returns how many there are. Vertices without
/// arcs get none: their trees are complete, and what stands in their place is never read.
fn number<K: Key>(colours: &mut [u32], rows: &Rows<K>) -> usize {
    let block = block(colours.len());
    let is_root =
        |(v, &colour): (usize, &u32)| u32::from(colour as usize == v && rows.offsets[v] < rows.offsets[v + 1]);
    let mut numbers: Vec<u32> = colours.par_iter().enumerate().with_min_len(block).map(is_root).collect();
    let vertices = scan(&mut numbers);
    colours.par_iter_mut().with_min_len(block).for_each(|colour| *colour = numbers[*colour as usize]);
    vertices as usize
}

/// Looks up the new vertex at the other end of every arc and counts the arcs between components for each new vertex.
/// Returns the counts and, at `v + b`, the place in its new row where the arcs of vertex `v` in batch `b` begin: from
/// one piece of a row to the next either rises, so these sums are all different.
fn count<K: Key>(rows: &Rows<K>, labels: &[u32], vertices: usize, targets: &mut [u32]) -> (Vec<u64>, Vec<u64>) {
    let mut sizes = vec![0u64; vertices + 1];
    let mut places = vec![0u64; rows.len() + rows.arcs().div_ceil(BATCH)];
    let (shared_sizes, shared_places) = (shared(&mut sizes), shared(&mut places));
    rows.batches().zip(targets.par_chunks_mut(BATCH)).for_each(|((b, batch), targets)| {
        for (target, &neighbour) in targets.iter_mut().zip(&rows.neighbours[batch.clone()]) {
            *target = labels[neighbour as usize];
        }
        for (v, piece) in rows.pieces(&batch) {
            let targets = &targets[piece.start - batch.start..piece.end - batch.start];
            let between = targets.iter().map(|&target| u64::from(target != labels[v])).sum();
            if between > 0 {
                let place = shared_sizes[labels[v] as usize].fetch_add(between, Relaxed);
                shared_places[v + b].store(place, Relaxed);
            }
        }
    });
    (sizes, places)
}

/// Lays out the rows of the next graph.
fn assign<K: Key>(mut sizes: Vec<u64>, next: &mut Lists<K>) {
    let arcs = scan(&mut sizes) as usize;
    next.offsets = sizes;
    grow(&mut next.neighbours, arcs);
    grow(&mut next.edges, arcs);
    grow(&mut next.keys, arcs);
}

/// Makes room for `len` items, whatever they are. Pages of zeros come from the system when they are first touched.
fn grow<T: Pod>(items: &mut Vec<T>, len: usize) {
    if items.len() < len {
        *items = vec![T::zeroed(); len];
    }
}

/// Copies the arcs between components to their places in the rows of the next graph.
fn insert<K: Key + Shareable>(rows: &Rows<K>, labels: &[u32], targets: &[u32], places: &[u64], next: &mut Lists<K>) {
    let (neighbours, edges, keys) = (shared(&mut next.neighbours), shared(&mut next.edges), shared(&mut next.keys));
    rows.batches().for_each(|(b, batch)| {
        for (v, piece) in rows.pieces(&batch) {
            let mut place = (next.offsets[labels[v] as usize] + places[v + b]) as usize;
            let arcs = targets[piece.clone()].iter().zip(&rows.edges[piece.clone()]).zip(&rows.keys[piece]);
            for ((&target, &e), &key) in arcs {
                if target != labels[v] {
                    neighbours[place].store(target, Relaxed);
                    edges[place].store(e, Relaxed);
                    K::put(&keys[place], key);
                    place += 1;
                }
            }
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn imbalance_is_what_the_busiest_thread_has_more() {
        // Rows of 1, 1, 4 and 2 arcs.
        let offsets = [0, 1, 2, 6, 8];
        assert_eq!(imbalance(&offsets, 1), 0.0);
        assert_eq!(imbalance(&offsets, 2), 0.5);
        assert_eq!(imbalance(&offsets, 4), 1.0);
        assert_eq!(imbalance(&[0], 3), 0.0);
    }
}
