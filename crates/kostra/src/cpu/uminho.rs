//! The Borůvka of the Universidade do Minho: every round builds the contracted graph's adjacency lists directly.
//!
//! In each round every vertex finds its smallest arc. Where two vertices chose the same edge, the smaller forgets it and
//! stands for its component; all others follow their arcs to it. Components become the vertices of the next graph,
//! numbered in order by a prefix sum, and the arcs between components are copied straight into its rows. Parallel
//! edges stay: the paper found that dropping them costs more than it saves.
//!
//! Cost: O(m log n) work at worst, as vertices at least halve; all steps parallel, also within one long row. Two sets of
//! 24 bytes per edge (32 for 64-bit weights), of which only what is written to is touched, and 24 bytes per vertex,
//! beside the adjacency lists it starts from. Prefer it where edges are few per vertex and neighbours near in memory,
//! as on roads and grids; where edges are many, it copies nearly all of them in every round.
//!
//! Departures. Ties go by the order `(weight, edge id)`, not by the smallest neighbour, so the forest is ours; mirrored
//! pairs are still the only cycles. Rows get room for all arcs of their members instead of an exact count, which would
//! take one more lookup of every neighbour's component; the unused ends of rows disappear a round later. Arcs are
//! inserted by the bufferful, not by an atomic increment each. Work is cut by arcs, not by vertices, which the paper
//! names as what limits its scaling. Colours spread by path halving, so that a long chain costs O(n log n). Components
//! without arcs are dropped, so that forests end.
//!
//! C. da Silva Sousa, A. Mariano, A. Proença, "A generic and highly efficient parallel variant of Borůvka's algorithm",
//! 2015.

use std::ops::Range;
use std::sync::atomic::{AtomicU8, AtomicU32, Ordering::Relaxed};

use bytemuck::Pod;
use rayon::prelude::*;

use crate::csr::Csr;
use crate::error::Result;
use crate::forest::{Forest, mark};
use crate::graph::Graph;
use crate::par::{Shareable, block, scan, shared};
use crate::run::{Run, Stats};
use crate::watch::Watch;
use crate::weight::{AnyKeys, Key, Keys};

/// Arcs that a thread collects for one row before it reserves room for them: few enough for the first-level cache, and
/// enough for threads that fill one giant row not to meet at its cursor.
const BUFFER: usize = 256;

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
    let mut begin = |rows: &Rows<K>, edges: usize| {
        if let Some(Stats { rounds, .. }) = &mut stats {
            rounds.push(vec![("vertices", rows.len() as f64), ("edges", edges as f64)]);
        }
        run.watch().step("uminho", (graph.vertices() - rows.len()) as u64, graph.vertices() as u64)
    };
    let (mut here, mut next) = (Lists::new(), Lists::new());
    let weights = weigh(graph.csr(), keys);
    let first = Rows::of(graph.csr(), &weights);
    begin(&first, first.edges.len() / 2)?;
    contract(&first, shared(&mut marks), &mut here, run.watch())?;
    next.keys = weights;
    while here.arcs > 0 {
        let rows = here.rows();
        begin(&rows, here.arcs / 2)?;
        contract(&rows, shared(&mut marks), &mut next, run.watch())?;
        std::mem::swap(&mut here, &mut next);
    }
    Ok(Forest::from_marks(graph, &marks, stats))
}

/// The weights in the order of the arcs, as the paper's graph has them: both steps of a round that read them then
/// stream, and fetching them here, with nothing else in the loop, keeps more of the fetches in flight.
fn weigh<K: Key>(csr: &Csr, keys: Keys<K>) -> Vec<K> {
    let edges = csr.edges();
    edges.par_iter().with_min_len(block(edges.len())).map(|&e| keys.at(e as usize)).collect()
}

/// A round: marks the smallest edge of every vertex and builds the graph of the components they make.
fn contract<K: Key + Shareable>(rows: &Rows<K>, marks: &[AtomicU8], next: &mut Lists<K>, watch: &Watch) -> Result<()> {
    let (smallest, mut successors) = find_smallest(rows);
    watch.check()?;
    remove_mirrored(&smallest, &mut successors, marks);
    drop(smallest);
    let mut colours = propagate_colours(&mut successors);
    let vertices = number(&mut colours, rows);
    watch.check()?;
    assign(rows, &colours, vertices, next);
    insert(rows, &colours, next);
    Ok(())
}

/// A graph to read: the arcs of vertex `v` are `starts[v]..ends[v]`. Rows follow each other, perhaps with gaps.
struct Rows<'a, K> {
    starts: &'a [u64],
    ends: &'a [u64],
    neighbours: &'a [u32],
    edges: &'a [u32],
    keys: &'a [K],
}

impl<'a, K: Key> Rows<'a, K> {
    fn of(csr: &'a Csr, keys: &'a [K]) -> Self {
        let n = csr.offsets().len() - 1;
        let (starts, ends) = (&csr.offsets()[..n], &csr.offsets()[1..]);
        Self { starts, ends, neighbours: csr.neighbours(), edges: csr.edges(), keys }
    }

    /// The number of vertices.
    fn len(&self) -> usize {
        self.starts.len()
    }

    /// Equal shares of the arcs, for all threads.
    fn blocks(&self) -> impl IndexedParallelIterator<Item = Range<usize>> {
        let space = self.ends.last().map_or(0, |&end| end as usize);
        let block = block(space);
        (0..space.div_ceil(block)).into_par_iter().map(move |b| b * block..space.min((b + 1) * block))
    }

    /// The rows in a share of the arcs: each vertex with its arcs there, and whether these are all it has.
    fn pieces(&self, share: Range<usize>) -> impl Iterator<Item = (usize, Range<usize>, bool)> {
        let first = self.ends.partition_point(|&end| end as usize <= share.start);
        let rows = self.starts[first..].iter().zip(&self.ends[first..]);
        rows.map(|(&start, &end)| start as usize..end as usize)
            .zip(first..)
            .take_while(move |(row, _)| row.start < share.end)
            .map(move |(row, v)| {
                let piece = row.start.max(share.start)..row.end.min(share.end);
                let whole = piece == row;
                (v, piece, whole)
            })
            .filter(|(_, piece, _)| !piece.is_empty())
    }
}

/// A contracted graph, in memory that is used again two rounds later: fresh pages cost more than what is put there.
struct Lists<K> {
    starts: Vec<u64>,
    ends: Vec<u64>,
    neighbours: Vec<u32>,
    edges: Vec<u32>,
    keys: Vec<K>,
    arcs: usize,
}

impl<K: Key> Lists<K> {
    fn new() -> Self {
        Self { starts: vec![], ends: vec![], neighbours: vec![], edges: vec![], keys: vec![], arcs: 0 }
    }

    fn rows(&self) -> Rows<'_, K> {
        let Self { starts, ends, neighbours, edges, keys, .. } = self;
        Rows { starts, ends, neighbours, edges, keys }
    }
}

/// For every vertex its smallest edge and the vertex at the other end; itself where it has no arcs.
fn find_smallest<K: Key>(rows: &Rows<K>) -> (Vec<u32>, Vec<u32>) {
    let n = rows.len();
    let mut smallest = vec![0u32; n];
    let mut successors: Vec<u32> = (0..n as u32).into_par_iter().with_min_len(block(n)).collect();
    let (shared_smallest, shared_successors) = (shared(&mut smallest), shared(&mut successors));
    let cut: Vec<Vec<(usize, K::Ranked, u32)>> = rows
        .blocks()
        .map(|share| {
            let mut cut = Vec::new();
            for (v, piece, whole) in rows.pieces(share) {
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
    // At most two rows of a block are cut, and the pieces of one follow each other.
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
///
/// Path halving: threads only ever replace a successor by one farther up the same chain, so all find the same root
/// whatever the others do meanwhile.
fn propagate_colours(successors: &mut [u32]) -> Vec<u32> {
    let n = successors.len();
    let successors: &[AtomicU32] = shared(successors);
    let root = |mut v: u32| loop {
        let parent = successors[v as usize].load(Relaxed);
        let next = successors[parent as usize].load(Relaxed);
        if next == parent {
            return parent;
        }
        successors[v as usize].store(next, Relaxed);
        v = next;
    };
    (0..n as u32).into_par_iter().with_min_len(block(n)).map(root).collect()
}

/// Replaces every colour by the number of its vertex in the next graph, and returns how many there are. Vertices without
/// arcs get none: their trees are complete, and what stands in their place is never read.
fn number<K: Key>(colours: &mut [u32], rows: &Rows<K>) -> usize {
    let block = block(colours.len());
    let is_root = |(v, &colour): (usize, &u32)| u32::from(colour as usize == v && rows.starts[v] < rows.ends[v]);
    let mut numbers: Vec<u32> = colours.par_iter().enumerate().with_min_len(block).map(is_root).collect();
    let vertices = scan(&mut numbers);
    colours.par_iter_mut().with_min_len(block).for_each(|colour| *colour = numbers[*colour as usize]);
    vertices as usize
}

/// Gives every row of the next graph room for the arcs of all its members.
fn assign<K: Key>(rows: &Rows<K>, labels: &[u32], vertices: usize, next: &mut Lists<K>) {
    let mut sizes = vec![0u64; vertices];
    let shared_sizes = shared(&mut sizes);
    let block = block(rows.len());
    (0..rows.len().div_ceil(block)).into_par_iter().for_each(|b| {
        let members = b * block..rows.len().min((b + 1) * block);
        // One addition for a run of members, since threads would queue for a giant component's count.
        let (mut label, mut size) = (0, 0);
        for v in members.filter(|&v| rows.starts[v] < rows.ends[v]) {
            if labels[v] != label && size > 0 {
                shared_sizes[label as usize].fetch_add(size, Relaxed);
                size = 0;
            }
            label = labels[v];
            size += rows.ends[v] - rows.starts[v];
        }
        if size > 0 {
            shared_sizes[label as usize].fetch_add(size, Relaxed);
        }
    });
    let space = scan(&mut sizes) as usize;
    grow(&mut next.neighbours, space);
    grow(&mut next.edges, space);
    grow(&mut next.keys, space);
    next.ends.clone_from(&sizes);
    next.starts = sizes;
}

/// Makes room for `len` items, whatever they are. Pages of zeros come from the system when they are first touched.
fn grow<T: Pod>(items: &mut Vec<T>, len: usize) {
    if items.len() < len {
        *items = vec![T::zeroed(); len];
    }
}

/// Copies the arcs between components to the rows of the next graph; `ends` are the cursors.
fn insert<K: Key + Shareable>(rows: &Rows<K>, labels: &[u32], next: &mut Lists<K>) {
    let (neighbours, edges) = (shared(&mut next.neighbours), shared(&mut next.edges));
    let (keys, ends) = (shared(&mut next.keys), shared(&mut next.ends));
    let flush = |label: u32, arcs: &[(u32, u32, K)]| {
        if arcs.is_empty() {
            return;
        }
        let start = ends[label as usize].fetch_add(arcs.len() as u64, Relaxed) as usize;
        let room = start..start + arcs.len();
        let places = neighbours[room.clone()].iter().zip(&edges[room.clone()]).zip(&keys[room]);
        for (((to, edge), key), &arc) in places.zip(arcs) {
            to.store(arc.0, Relaxed);
            edge.store(arc.1, Relaxed);
            K::put(key, arc.2);
        }
    };
    next.arcs = rows
        .blocks()
        .map(|share| {
            let mut buffer = [(0, 0, K::zeroed()); BUFFER];
            let (mut label, mut len, mut copied) = (0, 0, 0);
            for (v, piece, _) in rows.pieces(share) {
                if labels[v] != label {
                    flush(label, &buffer[..len]);
                    copied += len;
                    (label, len) = (labels[v], 0);
                }
                let arcs = rows.neighbours[piece.clone()].iter().zip(&rows.edges[piece.clone()]).zip(&rows.keys[piece]);
                for ((&neighbour, &e), &key) in arcs {
                    let to = labels[neighbour as usize];
                    buffer[len] = (to, e, key);
                    len += usize::from(to != label);
                    if len == BUFFER {
                        flush(label, &buffer);
                        copied += len;
                        len = 0;
                    }
                }
            }
            flush(label, &buffer[..len]);
            copied + len
        })
        .sum();
}
