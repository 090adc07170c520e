//! Borůvka as a recursion of three primitives: segmented minimum, prefix sum, and split.
//!
//! In each round a segmented minimum finds the smallest arc of every vertex. Where two vertices chose the same edge, the
//! smaller becomes its own successor and stands for its supervertex; pointer doubling leads all others to it. A split
//! of the vertices by representative numbers the supervertices. Arcs inside one are dropped; a split of the rest by
//! `(u, v, weight)` brings parallel arcs together with the smallest first, which alone survives. What is left is the
//! graph of the next round. A split is a radix partition: one stable pass for each eight bits of the key.
//!
//! Cost: O(m log n) work at worst; the splits move every arc about eight times in the first round, fewer arcs later, as
//! parallel ones are gone. 64 bytes per edge and 28 per vertex at the peak, beside the adjacency lists it starts from.
//! For comparison: on a CPU, memory pays for every move, and sorting all edges once is cheaper.
//!
//! Departures. The paper packs weight and neighbour into 32 bits, leaving 8 to 10 for weights. Here an arc is its
//! neighbour and one number of 64 bits, weight before edge id, so the smallest follows the order `(weight, edge id)`
//! rather than the smallest neighbour; 64-bit weights are replaced once by their ranks. Segments are read off the
//! vertex list instead of flags, minima are kept for each segment and not for each arc, and the rounds are a loop:
//! recursion would keep all graphs. Supervertices without arcs are dropped, so that forests end.
//!
//! V. Vineet, P. Harish, S. Patidar, P. J. Narayanan, "Fast minimum spanning tree for large graphs on the GPU", 2009.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering::Relaxed};

use rayon::prelude::*;

use crate::error::Result;
use crate::forest::{Forest, mark};
use crate::graph::Graph;
use crate::par::{self, block, pack, radix_sort, scan, shared};
use crate::run::{Run, Stats};
use crate::watch::Watch;
use crate::weight::{AnyKeys, Key, Keys};

/// The minimum spanning forest by the algorithm of Vineet, Harish, Patidar and Narayanan.
pub fn vineet(graph: &Graph, run: &Run) -> Result<Forest> {
    match graph.keys(run.is_maximum()) {
        AnyKeys::Narrow(keys) => with_weights(graph, |e| keys.ranked(e as usize), run),
        AnyKeys::Wide(keys) => {
            let ranks = rank(keys, graph.edges());
            with_weights(graph, |e| ranks[e as usize].ranked(e), run)
        }
    }
}

/// The place of every edge in the order.
fn rank(keys: Keys<u64>, edges: usize) -> Vec<u32> {
    let mut order: Vec<[u64; 2]> = (0..edges).into_par_iter().map(|e| [keys.at(e), e as u64]).collect();
    radix_sort(&mut order, u64::BITS, |&[key, _]| key);
    let mut ranks = vec![0u32; edges];
    let places = shared(&mut ranks);
    order.par_iter().enumerate().with_min_len(block(edges)).for_each(|(rank, &[_, e])| {
        places[e as usize].store(rank as u32, Relaxed);
    });
    ranks
}

fn with_weights(graph: &Graph, weight: impl Fn(u32) -> u64 + Sync, run: &Run) -> Result<Forest> {
    let (n, watch, mut stats) = (graph.vertices(), run.watch(), run.stats());
    let mut marks = vec![0u8; graph.edges()];
    watch.step("vineet", 0, n as u64)?;
    let csr = graph.csr();
    let edges = csr.edges();
    let mut lists = Lists {
        vertices: csr.offsets().into(),
        neighbours: csr.neighbours().into(),
        weights: edges.par_iter().with_min_len(block(edges.len())).map(|&e| weight(e)).collect(),
    };
    while !lists.weights.is_empty() {
        watch.step("vineet", (n - lists.len()) as u64, n as u64)?;
        let round = [("vertices", lists.len() as f64), ("edges", lists.weights.len() as f64 / 2.0)];
        let alive = stats.as_ref().map_or(0, |_| lists.vertices.par_windows(2).filter(|row| row[0] < row[1]).count());

        let smallest = find_smallest(&lists);
        let mut successors = remove_cycles(&smallest, shared(&mut marks));
        double_pointers(&mut successors);
        watch.check()?;
        let (supervertices, count) = number_supervertices(&lists, &successors);
        let mut arcs = drop_inner(&lists, &supervertices, count);
        let between = arcs.len();
        drop(lists);
        watch.check()?;
        split(&mut arcs, count, watch)?;
        lists = drop_duplicates(&arcs, count);

        if let Some(Stats { rounds, .. }) = &mut stats {
            let left = [
                ("between supervertices", between as f64 / 2.0),
                ("left", lists.weights.len() as f64 / 2.0),
                ("reduction", alive as f64 / count.max(1) as f64),
            ];
            rounds.push(round.into_iter().chain(left).collect());
        }
    }
    Forest::from_marks(graph, &marks, stats)
}

/// The graph of a round: where each vertex's arcs begin (and the last's end), and for each arc the vertex at its other
/// end and its weight with the edge id behind it.
struct Lists<'a> {
    vertices: Cow<'a, [u64]>,
    neighbours: Cow<'a, [u32]>,
    weights: Vec<u64>,
}

impl Lists<'_> {
    /// The number of vertices.
    fn len(&self) -> usize {
        self.vertices.len() - 1
    }

    /// Equal shares of the arcs, for all threads.
    fn blocks(&self) -> Vec<Range<usize>> {
        blocks(self.weights.len())
    }

    /// The vertices in a share of the arcs, each with its arcs there. The first may have begun before.
    fn segments(&self, share: Range<usize>) -> impl Iterator<Item = (usize, Range<usize>)> {
        let first = self.vertices.partition_point(|&start| start as usize <= share.start).saturating_sub(1);
        let rows = self.vertices[first..].windows(2).zip(first..);
        rows.take_while(move |(row, _)| (row[0] as usize) < share.end)
            .map(move |(row, u)| (u, share.start.max(row[0] as usize)..share.end.min(row[1] as usize)))
    }
}

/// How many bits the numbers below `count` take.
fn bits(count: usize) -> u32 {
    usize::BITS - count.saturating_sub(1).leading_zeros()
}

fn blocks(len: usize) -> Vec<Range<usize>> {
    let block = block(len);
    (0..len).step_by(block).map(|start| start..len.min(start + block)).collect()
}

/// The segmented minimum: for every vertex the smallest of its arcs and the vertex at its other end; the largest number
/// and itself where it has none.
fn find_smallest(lists: &Lists) -> Vec<(u64, u32)> {
    let n = lists.len();
    let mut smallest: Vec<(u64, u32)> =
        (0..n as u32).into_par_iter().with_min_len(block(n)).map(|u| (u64::MAX, u)).collect();
    // Every share writes the vertices whose arcs begin in it, and hands on what it found for the one before them.
    let shares = lists.blocks();
    let mut tasks = Vec::with_capacity(shares.len());
    let (mut rest, mut first) = (&mut smallest[..], 0);
    for share in shares {
        let end = lists.vertices[..n].partition_point(|&start| (start as usize) < share.end);
        let (own, behind) = rest.split_at_mut(end - first);
        tasks.push((share, first, own));
        (rest, first) = (behind, end);
    }
    let carried: Vec<Option<(usize, (u64, u32))>> = tasks
        .into_par_iter()
        .map(|(share, first, own)| {
            let mut carried = None;
            for (u, arcs) in lists.segments(share) {
                let (mut best, mut at) = (u64::MAX, arcs.start);
                for (&weight, i) in lists.weights[arcs.clone()].iter().zip(arcs.clone()) {
                    (best, at) = if weight < best { (weight, i) } else { (best, at) };
                }
                if best == u64::MAX {
                    continue;
                }
                let found = (best, lists.neighbours[at]);
                match u.checked_sub(first) {
                    Some(place) => own[place] = found,
                    None => carried = Some((u, found)),
                }
            }
            carried
        })
        .collect();
    for (u, found) in carried.into_iter().flatten() {
        smallest[u] = smallest[u].min(found);
    }
    smallest
}

/// The successor of every vertex: the other end of its smallest arc, but itself for the smaller of two that chose the
/// same edge. Marks the edges of all others.
///
/// Along a chain of successors edges only get smaller, so the only cycles are those of two.
fn remove_cycles(smallest: &[(u64, u32)], marks: &[AtomicU8]) -> Vec<u32> {
    let successor = |(u, &(weight, other)): (usize, &(u64, u32))| {
        if u < other as usize && smallest[other as usize].0 == weight {
            return u as u32;
        }
        if u != other as usize {
            mark(marks, weight as u32);
        }
        other
    };
    smallest.par_iter().enumerate().with_min_len(block(smallest.len())).map(successor).collect()
}

/// Makes every vertex point to its representative.
fn double_pointers(successors: &mut [u32]) {
    let block = block(successors.len());
    let successors = shared(successors);
    let changed = AtomicBool::new(true);
    // A step that sees what others wrote in the same pass jumps farther, never elsewhere: each vertex is written by one
    // thread, and always with a vertex farther along its chain. So the passes are at most the logarithm of its length.
    while changed.swap(false, Relaxed) {
        successors.par_chunks(block).for_each(|part| {
            let mut any = false;
            for successor in part {
                let next = successor.load(Relaxed);
                let after = successors[next as usize].load(Relaxed);
                if next != after {
                    successor.store(after, Relaxed);
                    any = true;
                }
            }
            changed.fetch_or(any, Relaxed);
        });
    }
}

/// The supervertex of every vertex, and how many there are: a split by representative brings the members together, and
/// a prefix sum numbers the groups. Vertices without arcs are left out: their trees are complete.
fn number_supervertices(lists: &Lists, representatives: &[u32]) -> (Vec<u32>, usize) {
    let n = lists.len();
    let mut members = pack(n, |u| {
        (lists.vertices[u] < lists.vertices[u + 1]).then(|| u64::from(representatives[u]) << 32 | u as u64)
    });
    radix_sort(&mut members, bits(n), |member| member >> 32);
    let block = block(members.len());
    let is_last = |i: usize| members.get(i + 1).is_none_or(|next| next >> 32 != members[i] >> 32);
    let mut numbers: Vec<u32> =
        (0..members.len()).into_par_iter().with_min_len(block).map(|i| u32::from(is_last(i))).collect();
    // Up to and without itself, the last of a group has seen as many groups as the others.
    let count = scan(&mut numbers) as usize;
    let mut supervertices = vec![0u32; n];
    let places = shared(&mut supervertices);
    members.par_iter().zip(numbers).with_min_len(block).for_each(|(&member, number)| {
        places[member as u32 as usize].store(number, Relaxed);
    });
    (supervertices, count)
}

/// An arc to split: its supervertices `u` and `v` in one number, then weight and edge id.
type Arc = [u64; 2];

/// The arcs between different supervertices.
fn drop_inner(lists: &Lists, supervertices: &[u32], count: usize) -> Vec<Arc> {
    let shift = bits(count);
    let between = |u: usize, i: usize| {
        let (u, v) = (supervertices[u], supervertices[lists.neighbours[i] as usize]);
        (u != v).then(|| [u64::from(u) << shift | u64::from(v), lists.weights[i]])
    };
    let arcs = |share: &Range<usize>| {
        let segments = lists.segments(share.clone());
        segments.flat_map(|(u, arcs)| arcs.filter_map(move |i| between(u, i)))
    };
    fill(
        &lists.blocks(),
        |share| arcs(share).count(),
        |share, places| {
            places.iter_mut().zip(arcs(share)).for_each(|(place, arc)| *place = arc);
        },
    )
}

/// What `write` puts into as many places as `count` says for each share, one share after the other.
fn fill(
    shares: &[Range<usize>],
    count: impl Fn(&Range<usize>) -> usize + Sync,
    write: impl Fn(&Range<usize>, &mut [Arc]) + Sync,
) -> Vec<Arc> {
    let counts: Vec<usize> = shares.par_iter().map(&count).collect();
    let mut arcs = vec![[0u64; 2]; counts.iter().sum()];
    shares.par_iter().zip(par::split(&mut arcs, &counts)).for_each(|(share, places)| write(share, places));
    arcs
}

/// The split by `(u, v, weight)`.
fn split(arcs: &mut Vec<Arc>, count: usize, watch: &Watch) -> Result<()> {
    radix_sort(arcs, u32::BITS, |&[_, weight]| weight >> 32);
    watch.check()?;
    radix_sort(arcs, 2 * bits(count), |&[ends, _]| ends);
    watch.check()
}

/// The graph of the first arc of each `(u, v)`.
fn drop_duplicates(arcs: &[Arc], count: usize) -> Lists<'static> {
    let shift = bits(count);
    let (source, target) = (|i: usize| arcs[i][0] >> shift, |i: usize| (arcs[i][0] & ((1 << shift) - 1)) as u32);
    let is_first = |&i: &usize| i == 0 || arcs[i - 1][0] != arcs[i][0];
    // Equal weights come in any order; among them the edge id decides.
    let smallest = |i: usize| {
        let ties = arcs[i..].iter().take_while(|arc| arc[0] == arcs[i][0] && arc[1] >> 32 == arcs[i][1] >> 32);
        ties.map(|arc| arc[1]).fold(u64::MAX, u64::min)
    };
    let shares = blocks(arcs.len());
    let survivors = |share: &Range<usize>| share.clone().filter(is_first);
    let mut starts: Vec<u64> = shares.par_iter().map(|share| survivors(share).count() as u64).collect();
    let total = scan(&mut starts);

    // Where the source changes, all vertices up to the new one begin: those between have no arcs.
    let mut vertices = vec![0u64; count + 1];
    let begins = shared(&mut vertices);
    let (mut neighbours, mut weights) = (vec![0u32; total as usize], vec![0u64; total as usize]);
    let (shared_neighbours, shared_weights) = (shared(&mut neighbours), shared(&mut weights));
    shares.par_iter().zip(starts).for_each(|(share, start)| {
        for (i, place) in survivors(share).zip(start..) {
            shared_neighbours[place as usize].store(target(i), Relaxed);
            shared_weights[place as usize].store(smallest(i), Relaxed);
            let before = if i == 0 { 0 } else { source(i - 1) + 1 };
            (before..=source(i)).for_each(|u| begins[u as usize].store(place, Relaxed));
        }
    });
    let last = arcs.len().checked_sub(1).map_or(0, |last| source(last) as usize + 1);
    vertices[last..].fill(total);
    Lists { vertices: vertices.into(), neighbours: neighbours.into(), weights }
}
