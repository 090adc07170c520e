//! Prim's algorithm: grow one tree at a time, always by the smallest edge that leaves it.
//!
//! A heap holds the vertices next to the tree, each under the smallest edge that joins it to the tree. The first one
//! moves into the tree and offers its own edges to its neighbours. When the heap is empty the tree is complete, and the
//! next vertex outside starts another. The heap is 4-ary, flatter than a binary one and as quick to search a level of,
//! and indexed: each vertex knows its place, so a better edge moves it up rather than entering it twice.
//!
//! Cost: O(m + n log n) on most graphs and O(m log n) at worst, on one thread; 20 bytes per vertex (36 for 64-bit
//! weights), beside the adjacency lists. Prefer it where the lists are there already and neighbours are
//! close in memory.
//!
//! V. Jarník, "O jistém problému minimálním" (on a certain minimal problem), 1930; R. C. Prim, "Shortest connection
//! networks and some generalizations", 1957.

use crate::error::Result;
use crate::forest::Forest;
use crate::graph::Graph;
use crate::run::{Run, Stats};
use crate::weight::{AnyKeys, Key, Keys};

/// Arcs between two looks at the watch, which is a few milliseconds.
const BLOCK: usize = 1 << 16;

/// Children of a heap entry: four entries of 16 bytes are one cache line.
const ARITY: usize = 4;

/// The minimum spanning forest by Prim's algorithm.
pub fn prim(graph: &Graph, run: &Run) -> Result<Forest> {
    match graph.keys(run.is_maximum()) {
        AnyKeys::Narrow(keys) => with_keys(graph, keys, run),
        AnyKeys::Wide(keys) => with_keys(graph, keys, run),
    }
}

fn with_keys<K: Key>(graph: &Graph, keys: Keys<K>, run: &Run) -> Result<Forest> {
    let (n, csr) = (graph.vertices(), graph.csr());
    let mut heap = Heap::<K::Ranked>::new(n);
    let mut chosen = Vec::with_capacity(n.saturating_sub(1).min(graph.edges()));
    let mut arcs = 0;
    let (mut pushes, mut decreases) = (0u64, 0u64);
    for start in 0..n as u32 {
        if !heap.take(start) {
            continue;
        }
        let mut next = Some(start);
        while let Some(u) = next {
            for (v, e) in csr.row(u) {
                if arcs % BLOCK == 0 {
                    run.watch().step("prim", arcs as u64, csr.edges().len() as u64)?;
                }
                arcs += 1;
                match heap.offer(v, keys.ranked(e as usize)) {
                    Offer::New => pushes += 1,
                    Offer::Better => decreases += 1,
                    Offer::Refused => {}
                }
            }
            next = heap.pop().map(|(ranked, v)| {
                chosen.push(K::edge(ranked));
                v
            });
        }
    }
    let stats = run.stats().map(|_| Stats {
        facts: vec![("heap pushes", pushes as f64), ("heap decreases", decreases as f64)],
        rounds: Vec::new(),
    });
    Forest::new(graph, &chosen, stats)
}

/// Where a vertex is that is not in the heap: outside the trees, or in one.
const OUTSIDE: u32 = u32::MAX;
const TAKEN: u32 = u32::MAX - 1;

/// What became of an edge that was offered to a vertex.
enum Offer {
    New,
    Better,
    Refused,
}

/// Vertices next to the tree, smallest edge first; no two edges are equal.
struct Heap<R> {
    entries: Vec<(R, u32)>,
    /// The place of each vertex among the entries. A vertex that starts a tree is never an entry, so at most 2^32 - 2
    /// are, and the two marks stay free.
    places: Vec<u32>,
}

impl<R: Copy + Ord> Heap<R> {
    fn new(n: usize) -> Self {
        Self { entries: Vec::new(), places: vec![OUTSIDE; n] }
    }

    /// Moves a vertex from outside into a tree; false when it is in one.
    fn take(&mut self, v: u32) -> bool {
        std::mem::replace(&mut self.places[v as usize], TAKEN) == OUTSIDE
    }

    /// Enters `v` under this edge, or moves it up if the edge is smaller than the one it has.
    #[inline]
    fn offer(&mut self, v: u32, ranked: R) -> Offer {
        match self.places[v as usize] {
            TAKEN => Offer::Refused,
            OUTSIDE => {
                self.entries.push((ranked, v));
                self.sift_up(self.entries.len() - 1, (ranked, v));
                Offer::New
            }
            place if ranked < self.entries[place as usize].0 => {
                self.sift_up(place as usize, (ranked, v));
                Offer::Better
            }
            _ => Offer::Refused,
        }
    }

    /// The vertex with the smallest edge; it is in the tree from now on.
    fn pop(&mut self) -> Option<(R, u32)> {
        let last = self.entries.pop()?;
        let Some(&first) = self.entries.first() else {
            self.places[last.1 as usize] = TAKEN;
            return Some(last);
        };
        self.places[first.1 as usize] = TAKEN;
        self.sift_down(last);
        Some(first)
    }

    /// Puts `entry` where it belongs between `place`, whose content is lost, and the top.
    fn sift_up(&mut self, mut place: usize, entry: (R, u32)) {
        while place > 0 {
            let parent = (place - 1) / ARITY;
            if self.entries[parent].0 < entry.0 {
                break;
            }
            self.put(place, self.entries[parent]);
            place = parent;
        }
        self.put(place, entry);
    }

    /// Puts `entry` where it belongs under the top, whose content is lost.
    fn sift_down(&mut self, entry: (R, u32)) {
        let mut place = 0;
        loop {
            let first = place * ARITY + 1;
            let children = first..self.entries.len().min(first + ARITY);
            let Some(child) = children.min_by_key(|&child| self.entries[child].0) else { break };
            if entry.0 < self.entries[child].0 {
                break;
            }
            self.put(place, self.entries[child]);
            place = child;
        }
        self.put(place, entry);
    }

    #[inline]
    fn put(&mut self, place: usize, entry: (R, u32)) {
        self.entries[place] = entry;
        self.places[entry.1 as usize] = place as u32;
    }
}
