//! Edges that a forest makes needless, told at a glance.
//!
//! The *height* of a vertex is the largest edge between it and one vertex in the middle of the light edges, the core. No edge on
//! the path between two vertices is larger than the larger of their heights. So an edge that comes later and is not lighter than
//! that will never be in a forest, and two looks into one table of keys tell.
//!
//! Only the largest tree has heights; edges elsewhere are kept. With weights in random order, about n / k of as many edges as came
//! so far are kept of the next 1 / k (after Karger, Klein and Tarjan, 1995): a few of each hundred once many have come.
//!
//! ```text
//! contract the forest until no edge is left, in levels:
//!     every tree picks its smallest edge; trees that picked each other's are one tree of the next level
//! the core: from the largest tree of all down, always the largest of the trees that it was made of
//! height of a tree, from the last level to the vertices: the larger of its pick and the height of the tree it became part of
//! ```
//!
//! The largest edge between two vertices is the largest pick on the way up from both to the tree that has both (King, 1997), so
//! these heights are exact.
//!
//! Cost: O(n) for every merge, on all threads, in at most log n levels; a sort where keys have 64 bits. Two random reads for
//! every edge. Memory: about 70 bytes for every vertex while heights are made.

use std::cmp::Reverse;
use std::ops::Range;
use std::sync::atomic::Ordering::Relaxed;

use rayon::prelude::*;

use super::part::Part;
use crate::bits::{ones, pack_flags};
use crate::numbers::Kind;
use crate::par::{DROPPED, block, number_trees, pack, shared};
use crate::weight::{AnyKeys, Key, Keys, Weights};

/// Edges that a thread looks at in turn.
const BLOCK: usize = 1 << 14;

/// Steps into which heights are rounded up, so that a vertex takes a byte and more of them fit into the cache. The last is for
/// vertices that have none.
const STEPS: usize = 256;
const LAST: u8 = u8::MAX;

/// Heights that are looked at to find out the steps.
const SAMPLE: usize = 1 << 13;

/// The heights of the vertices of a forest.
#[derive(Clone, Debug)]
pub(crate) struct Filter {
    heights: Heights,
    /// The type of the weights that the keys are made of.
    kind: Kind,
    maximum: bool,
}

#[derive(Clone, Debug)]
enum Heights {
    Narrow(Rounded<u32>),
    Wide(Rounded<u64>),
}

/// Heights, rounded up: as many vertices are at one step as at another.
#[derive(Clone, Debug)]
struct Rounded<K> {
    steps: Vec<u8>,
    /// The largest key below the heights of each step, ascending: an edge between vertices up to there is needless above it. The
    /// forest's edges came before, so they win a tie.
    limits: Box<[K; STEPS]>,
}

impl Filter {
    pub(super) fn new(forest: &Part, vertices: u32, maximum: bool) -> Self {
        let weights = forest.weights.weights();
        let heights = match weights.keys(&forest.src, maximum) {
            AnyKeys::Narrow(keys) => {
                let ranks = heights(forest, vertices as usize, |e| keys.ranked(e));
                Heights::Narrow(Rounded::new(&ranks, |rank| ((rank >> 32) as u32).saturating_sub(1)))
            }
            AnyKeys::Wide(keys) => Heights::Wide(wide_heights(forest, vertices as usize, keys)),
        };
        Self { heights, kind: forest.weights.kind(), maximum }
    }

    /// Whether weights of this type have keys that compare with the heights.
    pub(super) fn is_for(&self, kind: Kind) -> bool {
        self.kind == kind
    }

    /// The places in the part of the edges that may be in a forest; told by all threads.
    pub(super) fn kept(&self, part: &Part) -> Vec<u32> {
        let weights = part.weights.weights();
        let blocks = (0..part.len().div_ceil(BLOCK)).into_par_iter();
        let of_block = |block: usize| {
            let range = block * BLOCK..part.len().min((block + 1) * BLOCK);
            self.kept_in(range, &part.src, &part.dst, &weights)
        };
        blocks.map(of_block).collect::<Vec<_>>().concat()
    }

    /// The same for some edges; told by this thread alone.
    pub(super) fn kept_of(&self, src: &[u32], dst: &[u32], weights: &Weights) -> Vec<u32> {
        self.kept_in(0..src.len(), src, dst, weights)
    }

    fn kept_in(&self, range: Range<usize>, src: &[u32], dst: &[u32], weights: &Weights) -> Vec<u32> {
        match (&self.heights, weights.keys(src, self.maximum)) {
            (Heights::Narrow(heights), AnyKeys::Narrow(keys)) => heights.kept(range, src, dst, keys),
            (Heights::Wide(heights), AnyKeys::Wide(keys)) => heights.kept(range, src, dst, keys),
            _ => unreachable!("the type of the weights was asked for"),
        }
    }
}

impl<K: Key> Rounded<K> {
    /// Rounds heights that are given as ranks; `below` is the largest key below that of a rank.
    fn new(ranks: &[u64], below: impl Fn(u64) -> K) -> Self {
        let stride = (ranks.len() / SAMPLE).max(1);
        let mut sample: Vec<u64> = ranks.iter().step_by(stride).copied().filter(|&rank| rank != NONE).collect();
        sample.sort_unstable();
        sample.extend(ranks.par_iter().copied().filter(|&rank| rank != NONE).max());
        let count = STEPS - 1;
        let mut tops = [NONE; STEPS];
        for (step, top) in tops[..count].iter_mut().enumerate() {
            *top = sample.get(((step + 1) * sample.len()).div_ceil(count).saturating_sub(1)).copied().unwrap_or(NONE);
        }
        let steps = ranks.par_iter().map(|rank| tops[..count].partition_point(|top| top < rank) as u8).collect();
        let limits = tops.map(|top| if top == NONE { K::MAX } else { below(top) });
        Self { steps, limits: Box::new(limits) }
    }

    /// The places of the edges in the range that may be in a forest.
    fn kept(&self, range: Range<usize>, src: &[u32], dst: &[u32], keys: Keys<K>) -> Vec<u32> {
        // A vertex that came after the forest is in no tree of it.
        let step = |v: u32| self.steps.get(v as usize).copied().unwrap_or(LAST);
        let mut places = Vec::new();
        for start in range.clone().step_by(64) {
            let end = range.end.min(start + 64);
            let mut flags = [0; 64];
            let ends = src[start..end].iter().zip(&dst[start..end]);
            for ((flag, (&u, &v)), e) in flags.iter_mut().zip(ends).zip(start..) {
                *flag = u8::from(keys.at(e) <= self.limits[step(u).max(step(v)) as usize]);
            }
            // Few are left, so it costs little to look at them one by one.
            let kept = ones(pack_flags(&flags)).map(|i| start + i).filter(|&e| src[e] != dst[e]);
            places.extend(kept.map(|e| e as u32));
        }
        places
    }
}

/// The heights where keys have 64 bits: ranks stand for them.
fn wide_heights(forest: &Part, vertices: usize, keys: Keys<u64>) -> Rounded<u64> {
    let mut order: Vec<_> = (0..forest.len()).into_par_iter().map(|e| keys.ranked(e)).collect();
    order.par_sort_unstable();
    let mut ranks = vec![0u64; order.len()];
    let places = shared(&mut ranks);
    // Rank 0 is below all edges.
    let put = |(at, &ranked): (usize, &_)| places[u64::edge(ranked) as usize].store(at as u64 + 1, Relaxed);
    order.par_iter().enumerate().for_each(put);
    let below = |rank| match rank {
        CORE => 0,
        rank => keys.at(u64::edge(order[rank as usize - 1]) as usize).saturating_sub(1),
    };
    Rounded::new(&heights(forest, vertices, |e| ranks[e]), below)
}

/// The height of the core, below all edges, and that of what is in another tree, above all.
const CORE: u64 = 0;
const NONE: u64 = u64::MAX;

/// An edge of a level, between two of its trees.
#[derive(Clone, Copy)]
struct Edge {
    rank: u64,
    ends: [u32; 2],
}

/// The trees of a level, which are the vertices at first.
struct Level {
    /// The smallest edge at each tree, and `NONE` where there is none.
    picks: Vec<u64>,
    /// The tree of the next level that it became part of, or `DROPPED`.
    parents: Vec<u32>,
    /// How many vertices it has.
    sizes: Vec<u32>,
}

/// For every vertex the rank of the largest edge between it and the core; `rank` tells those of the forest's edges.
fn heights(forest: &Part, vertices: usize, rank: impl Fn(usize) -> u64 + Sync) -> Vec<u64> {
    let edge = |e: usize| Edge { rank: rank(e), ends: [forest.src[e], forest.dst[e]] };
    let mut edges: Vec<Edge> = (0..forest.len()).into_par_iter().map(edge).collect();
    let mut sizes = vec![1; vertices];
    let mut levels: Vec<Level> = Vec::new();
    // The largest tree of the forest: its size, its level and its number there.
    let mut top = (0, 0, 0);
    loop {
        let (picks, parents, count) = contract(&edges, sizes.len());
        let is_whole = |tree: &usize| parents[*tree] == DROPPED;
        let whole = (0..sizes.len()).into_par_iter().filter(is_whole).map(|tree| (sizes[tree], levels.len(), tree));
        top = top.max(whole.max().unwrap_or(top));
        let next_sizes = measure(&parents, &sizes, count);
        edges = pack(edges.len(), |e| {
            let Edge { rank, ends } = edges[e];
            let ends = ends.map(|tree| parents[tree as usize]);
            (ends[0] != ends[1]).then_some(Edge { rank, ends })
        });
        levels.push(Level { picks, parents, sizes });
        sizes = next_sizes;
        if count == 0 {
            return descend(&levels, top.1, top.2);
        }
    }
}

/// The smallest edge at each tree, the tree of the next level that each becomes part of, and how many of those there are.
fn contract(edges: &[Edge], trees: usize) -> (Vec<u64>, Vec<u32>, usize) {
    let mut picks = vec![NONE; trees];
    let places = shared(&mut picks);
    let each = |act: &(dyn Fn(u32, u32, u64) + Sync)| {
        edges.par_chunks(block(edges.len())).for_each(|edges| {
            for &Edge { rank, ends: [u, v] } in edges {
                act(u, v, rank);
                act(v, u, rank);
            }
        });
    };
    each(&|tree, _, rank| {
        if rank < places[tree as usize].load(Relaxed) {
            places[tree as usize].fetch_min(rank, Relaxed);
        }
    });
    let mut parents: Vec<u32> = (0..trees as u32).collect();
    let links = shared(&mut parents);
    each(&|tree, other, rank| {
        if rank == picks[tree as usize] {
            links[tree as usize].store(other, Relaxed);
        }
    });
    let count = number_trees(&mut parents, |tree| picks[tree as usize] != NONE);
    (picks, parents, count)
}

/// The sizes of the trees of the next level.
fn measure(parents: &[u32], sizes: &[u32], count: usize) -> Vec<u32> {
    let mut sums = vec![0u32; count];
    let sum_of = shared(&mut sums);
    let block = block(parents.len());
    parents.par_chunks(block).zip(sizes.par_chunks(block)).for_each(|(parents, sizes)| {
        // Sums are gathered here first: else all threads would wait for each other at the sum of a giant tree.
        let mut gathered = [(DROPPED, 0); 64];
        let add = |(parent, size): (u32, u32)| {
            if parent != DROPPED {
                sum_of[parent as usize].fetch_add(size, Relaxed);
            }
        };
        for (&parent, &size) in parents.iter().zip(sizes) {
            let slot = &mut gathered[parent as usize % 64];
            if slot.0 != parent {
                add(std::mem::replace(slot, (parent, 0)));
            }
            slot.1 += size;
        }
        gathered.into_iter().for_each(add);
    });
    sums
}

/// The heights of the vertices, given all levels and the largest tree.
fn descend(levels: &[Level], top_level: usize, top: usize) -> Vec<u64> {
    // The trees of the core, from the top down, and their heights from the core up.
    let mut core = vec![top];
    for Level { picks, parents, sizes } in levels[..top_level].iter().rev() {
        let is_part = |tree: &usize| parents[*tree] as usize == core[core.len() - 1];
        let parts = (0..parents.len()).into_par_iter().filter(is_part);
        // Among vertices, which are all of one size, the lightest pick is nearest to the others.
        core.extend(parts.max_by_key(|&tree| (sizes[tree], Reverse(picks[tree]))));
    }
    core.reverse();
    let steps = levels.iter().zip(&core[..top_level]).scan(CORE, |height, (level, &tree)| {
        *height = level.picks[tree].max(*height);
        Some(*height)
    });
    let core_heights: Vec<u64> = std::iter::once(CORE).chain(steps).collect();
    let mut heights = Vec::new();
    for (number, Level { picks, parents, .. }) in levels.iter().enumerate().rev() {
        let height = |(&pick, &parent): (&u64, &u32)| match parent {
            DROPPED => NONE,
            parent => pick.max(heights[parent as usize]),
        };
        let mut own: Vec<u64> = picks.par_iter().zip(parents).map(height).collect();
        if number <= top_level && !own.is_empty() {
            own[core[number]] = core_heights[number];
        }
        heights = own;
    }
    heights
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::Graph;
    use crate::mix::mix;
    use crate::numbers::Numbers;
    use crate::union_find::UnionFind;

    /// Heights by walking over the tree from the core, which is the one vertex without an edge between it and itself.
    #[test]
    fn heights_are_the_largest_edges_on_the_way_to_the_core() {
        type Parent = fn(u32) -> u32;
        let shapes: [Parent; 3] = [|v| v - 1, |_| 0, |v| (mix(v.into()) % u64::from(v)) as u32];
        for (n, parent) in [2, 3, 100, 40_000].iter().flat_map(|&n| shapes.map(|parent| (n, parent))) {
            // A smaller tree and lone vertices come behind the large one, and edges in no order.
            let large = (n - n / 4).max(2);
            let mut ends: Vec<(u32, u32)> = (1..n)
                .filter(|v| *v != large && v % 50 != 49)
                .map(|v| (v, if v < large { parent(v) } else { large }))
                .collect();
            ends.sort_by_key(|&(v, _)| mix(u64::from(v) << 20));
            let (src, dst) = ends.iter().copied().unzip();
            let forest = Part::new(src, dst, Numbers::None);
            let rank = |e: usize| (mix(e as u64) % 1000 + 1) << 32 | e as u64;
            let heights = heights(&forest, n as usize, rank);
            let core: Vec<usize> = (0..n as usize).filter(|&v| heights[v] == CORE).collect();
            assert_eq!(core.len(), 1, "{n}");
            let mut near = vec![Vec::new(); n as usize];
            for (e, &(u, v)) in ends.iter().enumerate() {
                near[u as usize].push((v as usize, rank(e)));
                near[v as usize].push((u as usize, rank(e)));
            }
            let (mut expected, mut waiting) = (vec![NONE; n as usize], core.clone());
            expected[core[0]] = CORE;
            while let Some(v) = waiting.pop() {
                for &(to, rank) in near[v].iter().filter(|(to, _)| *to != core[0]) {
                    if expected[to] == NONE {
                        expected[to] = rank.max(expected[v]);
                        waiting.push(to);
                    }
                }
            }
            assert!(heights == expected, "{n}");
            let mut trees = UnionFind::new(n as usize);
            ends.iter().for_each(|&(u, v)| _ = trees.union(u, v));
            let mut sizes = vec![0; n as usize];
            trees.labels().iter().for_each(|&tree| sizes[tree as usize] += 1);
            assert_eq!(expected.iter().filter(|&&height| height != NONE).count(), sizes.into_iter().max().unwrap());
        }
    }

    /// What is left out must never be in the forest of all; and of many edges most must be left out.
    #[test]
    fn what_is_left_out_is_in_no_forest() {
        for (n, range) in [(2, 3), (50, 7), (50, 1 << 20), (3000, 40), (3000, u32::MAX)] {
            let m = 40 * n as usize;
            let draw = |i: usize, below: u32| (mix(i as u64) % u64::from(below)) as u32;
            let src: Vec<u32> = (0..m).map(|e| draw(3 * e, n)).collect();
            let dst: Vec<u32> = (0..m).map(|e| draw(3 * e + 1, n)).collect();
            // The largest key is among them.
            let weights: Vec<u32> = (0..m).map(|e| u32::MAX - draw(3 * e + 2, range)).collect();
            for maximum in [false, true] {
                let run = crate::Run::default().maximum(maximum);
                let half = m / 2;
                let first = Graph::from_edges(n as usize, &src[..half], &dst[..half], &weights[..half]).unwrap();
                let forest = crate::solve(&first, &run).unwrap();
                let pick = |all: &[u32]| forest.edges().iter().map(|&e| all[e as usize]).collect::<Vec<_>>();
                let forest = Part::new(pick(&src), pick(&dst), Numbers::U32(pick(&weights)));
                let filter = Filter::new(&forest, n, maximum);
                assert!(filter.is_for(Kind::U32) && !filter.is_for(Kind::I32));
                let rest = |all: &[u32]| all[half..].to_vec();
                let part = Part::new(rest(&src), rest(&dst), Numbers::U32(rest(&weights)));
                let kept: Vec<u32> = filter.kept(&part);
                assert!(kept.is_sorted() && kept.len() < half / 4, "{n} {range}: {} of {half}", kept.len());
                let whole = Graph::from_edges(n as usize, &src, &dst, &weights).unwrap();
                let forest = crate::solve(&whole, &run).unwrap();
                for &e in forest.edges().iter().filter(|&&e| e as usize >= half) {
                    assert!(kept.contains(&(e - half as u32)), "{n} {range}: edge {e}");
                }
            }
        }
    }
}
