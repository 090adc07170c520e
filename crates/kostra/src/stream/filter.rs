//! Edges that a forest makes needless, told at a glance.
//!
//! Join the edges of a forest in ascending order, and look back from the last one: each has joined a larger and a smaller
//! tree. The way that always takes the larger one leads to a vertex in the middle of the light edges, the core. A vertex leaves
//! this way at some edge, its *height*: the largest edge between it and the core, because edges were joined in ascending order.
//! No edge on the path between two vertices is larger than the larger of their heights. So an edge that comes later and is not
//! lighter than that will never be in a forest, and two looks into one table of keys tell.
//!
//! Only the largest tree has heights; edges elsewhere are kept. With weights in random order, about n / k of as many edges as came
//! so far are kept of the next 1 / k (after Karger, Klein and Tarjan, 1995): a few of each hundred once many have come.
//!
//! Cost: O(n log n) to sort the forest and O(n) to join it, once for every merge; two random reads for every edge.

use rayon::prelude::*;

use super::part::Part;
use crate::numbers::Kind;
use crate::weight::{AnyKeys, Key, Keys};

/// Edges that a thread looks at in turn.
const BLOCK: usize = 1 << 14;

/// The heights of the vertices of a forest.
#[derive(Clone, Debug)]
pub(super) struct Filter {
    heights: Heights,
    /// The type of the weights that the keys are made of.
    kind: Kind,
    maximum: bool,
}

#[derive(Clone, Debug)]
enum Heights {
    Narrow(Vec<u32>),
    Wide(Vec<u64>),
}

impl Filter {
    pub(super) fn new(forest: &Part, vertices: u32, maximum: bool) -> Self {
        let weights = forest.weights.weights();
        let heights = match weights.keys(&forest.src, maximum) {
            AnyKeys::Narrow(keys) => Heights::Narrow(heights(forest, keys, vertices as usize)),
            AnyKeys::Wide(keys) => Heights::Wide(heights(forest, keys, vertices as usize)),
        };
        Self { heights, kind: forest.weights.kind(), maximum }
    }

    /// Whether weights of this type have keys that compare with the heights.
    pub(super) fn is_for(&self, kind: Kind) -> bool {
        self.kind == kind
    }

    /// The places in the part of the edges that may be in a forest.
    pub(super) fn kept(&self, part: &Part) -> Vec<Vec<u32>> {
        let weights = part.weights.weights();
        match (&self.heights, weights.keys(&part.src, self.maximum)) {
            (Heights::Narrow(heights), AnyKeys::Narrow(keys)) => kept(heights, &part.src, &part.dst, keys),
            (Heights::Wide(heights), AnyKeys::Wide(keys)) => kept(heights, &part.src, &part.dst, keys),
            _ => unreachable!("the type of the weights was asked for"),
        }
    }
}

fn kept<K: Key>(heights: &[K], src: &[u32], dst: &[u32], keys: Keys<K>) -> Vec<Vec<u32>> {
    // A vertex that came after the forest is in no tree of it.
    let height = |v: u32| heights.get(v as usize).copied().unwrap_or(K::MAX);
    let blocks = (0..src.len().div_ceil(BLOCK)).into_par_iter();
    let of_block = |block: usize| {
        let range = block * BLOCK..src.len().min((block + 1) * BLOCK);
        let mut places = vec![0; range.len()];
        let mut count = 0;
        for e in range {
            let (key, highest) = (keys.at(e), height(src[e]).max(height(dst[e])));
            places[count] = e as u32;
            // The forest's edges came before, so they win a tie. The largest key stands for no height.
            let is_needless = (key >= highest) & (key != K::MAX);
            count += usize::from(!is_needless & (src[e] != dst[e]));
        }
        places.truncate(count);
        places
    };
    blocks.map(of_block).collect()
}

/// Where a joined tree stands: on the way to the core, or behind the edge of that place in the order, or in a lesser tree.
const CORE: u32 = u32::MAX;
const LESSER: u32 = u32::MAX - 1;
const UNKNOWN: u32 = u32::MAX - 2;

fn heights<K: Key>(forest: &Part, keys: Keys<K>, vertices: usize) -> Vec<K> {
    let mut order: Vec<K::Ranked> = (0..forest.len()).into_par_iter().map(|e| keys.ranked(e)).collect();
    order.par_sort_unstable();
    let mut trees = Trees::new(vertices);
    let mut joined = Vec::with_capacity(order.len());
    let (mut largest, mut top) = (0, 0);
    for (i, &ranked) in order.iter().enumerate() {
        let e = K::edge(ranked) as usize;
        let (larger, smaller, size) = trees.join(forest.src[e], forest.dst[e], (vertices + i) as u32);
        joined.push((larger, smaller));
        if size > largest {
            (largest, top) = (size, i);
        }
    }
    drop(trees);
    let mut places = vec![UNKNOWN; vertices + order.len()];
    for (i, &(larger, smaller)) in joined.iter().enumerate().rev() {
        let place = match places[vertices + i] {
            UNKNOWN if i == top => CORE,
            UNKNOWN => LESSER,
            place => place,
        };
        places[larger as usize] = place;
        places[smaller as usize] = if place == CORE { i as u32 } else { place };
    }
    let height = |&place: &u32| match place {
        CORE => K::zeroed(),
        LESSER | UNKNOWN => K::MAX,
        i => keys.at(K::edge(order[i as usize]) as usize),
    };
    places[..vertices].par_iter().map(height).collect()
}

/// Disjoint sets that know their size and the number of the edge that joined them last.
struct Trees {
    parent: Vec<u32>,
    size: Vec<u32>,
    name: Vec<u32>,
}

impl Trees {
    fn new(vertices: usize) -> Self {
        let all: Vec<u32> = (0..vertices as u32).collect();
        Self { parent: all.clone(), size: vec![1; vertices], name: all }
    }

    fn root(&mut self, mut v: u32) -> u32 {
        while self.parent[v as usize] != v {
            let up = self.parent[self.parent[v as usize] as usize];
            self.parent[v as usize] = up;
            v = up;
        }
        v
    }

    /// Joins two sets under a new name; gives the old names, the larger set's first, and the new size.
    fn join(&mut self, u: u32, v: u32, name: u32) -> (u32, u32, u32) {
        let (u, v) = (self.root(u), self.root(v));
        let (larger, smaller) = if self.size[u as usize] < self.size[v as usize] { (v, u) } else { (u, v) };
        let names = (self.name[larger as usize], self.name[smaller as usize]);
        self.parent[smaller as usize] = larger;
        self.size[larger as usize] += self.size[smaller as usize];
        self.name[larger as usize] = name;
        (names.0, names.1, self.size[larger as usize])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::Graph;
    use crate::mix::mix;
    use crate::numbers::Numbers;

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
                let forest = Part { src: pick(&src), dst: pick(&dst), weights: Numbers::U32(pick(&weights)) };
                let filter = Filter::new(&forest, n, maximum);
                assert!(filter.is_for(Kind::U32) && !filter.is_for(Kind::I32));
                let rest = |all: &[u32]| all[half..].to_vec();
                let part = Part { src: rest(&src), dst: rest(&dst), weights: Numbers::U32(rest(&weights)) };
                let kept: Vec<u32> = filter.kept(&part).concat();
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
