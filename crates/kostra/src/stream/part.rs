//! Edges on their way into a stream.

use rayon::prelude::*;

use super::filter::Filter;
use crate::graph::Graph;
use crate::numbers::{Kind, Numbers, are_beyond_floats, each_numbers};
use crate::weight::{Weights, each_weights};

/// Edges in the order of their ids.
#[derive(Clone, Debug, Default)]
pub(crate) struct Part {
    pub(crate) src: Vec<u32>,
    pub(crate) dst: Vec<u32>,
    /// As many as there are endpoints, or none.
    pub(crate) weights: Numbers,
    left_out: LeftOut,
}

/// Edges that a filter left out of a part.
#[derive(Clone, Debug, Default)]
struct LeftOut {
    count: u64,
    /// Where the edges that are there stand among all that came; empty where none was left out.
    places: Vec<u64>,
    /// Whether integers among their weights are no exact floats.
    is_beyond_floats: bool,
}

impl Part {
    pub(crate) fn new(src: Vec<u32>, dst: Vec<u32>, weights: Numbers) -> Self {
        Self { src, dst, weights, left_out: LeftOut::default() }
    }

    /// A copy of a graph's edges.
    pub(crate) fn of(graph: &Graph) -> Self {
        Self::new(graph.sources().to_vec(), graph.targets().to_vec(), graph.weights().into())
    }

    /// The graph of these edges, whose ends are vertices of it.
    pub(crate) fn graph(&self, vertices: u32) -> Graph<'_> {
        Graph::from_proved_edges(vertices, (&self.src).into(), (&self.dst).into(), self.weights.weights())
    }

    /// The edges that are there.
    pub(crate) fn len(&self) -> usize {
        self.src.len()
    }

    /// The edges that came, whether they are there or were left out.
    pub(crate) fn came(&self) -> u64 {
        self.src.len() as u64 + self.left_out.count
    }

    /// Where the edges that are there stand among those that came, if some were left out.
    pub(crate) fn places(&self) -> Option<&[u64]> {
        (self.left_out.count > 0).then_some(&self.left_out.places)
    }

    /// Whether integers among the weights that came are no exact floats.
    pub(crate) fn is_beyond_floats(&self) -> bool {
        self.left_out.is_beyond_floats || self.weights.is_beyond_floats()
    }

    /// Leaves out what the filter can tell to be needless, on this thread alone. Nothing was left out before.
    pub(crate) fn sieve(&mut self, filter: &Filter) {
        let is_even = self.weights.count().is_none_or(|count| count == self.src.len());
        if !is_even || !filter.is_for(self.weights.kind()) {
            return;
        }
        let kept = filter.kept_of(&self.src, &self.dst, &self.weights.weights());
        self.left_out = LeftOut::new(self.src.len(), &kept, self.weights.is_beyond_floats());
        keep_in_place(&mut self.src, &kept);
        keep_in_place(&mut self.dst, &kept);
        each_numbers!(&mut self.weights, None => {}, all => keep_in_place(all, &kept));
    }

    /// Adds the next edges, without those that the filter can tell to be needless, on this thread alone.
    pub(crate) fn add(&mut self, src: &[u32], dst: &[u32], weights: &Weights, filter: Option<&Filter>) {
        let Some(filter) = filter.filter(|filter| filter.is_for(weights.into())) else {
            self.add_places(src.len() as u64, &LeftOut::default());
            self.src.extend_from_slice(src);
            self.dst.extend_from_slice(dst);
            return self.weights.append(&mut weights.into());
        };
        let kept = filter.kept_of(src, dst, weights);
        let pick = |all: &[u32]| kept.iter().map(|&at| all[at as usize]).collect();
        let some = each_weights!(weights, Unit => Numbers::None, all => {
            kept.iter().map(|&at| all[at as usize]).collect::<Vec<_>>().into()
        });
        let left_out = LeftOut::new(src.len(), &kept, matches!(weights, Weights::I64(all) if are_beyond_floats(all)));
        self.append(&mut Self { src: pick(src), dst: pick(dst), weights: some, left_out });
    }

    /// Adds the edges of the next part and leaves it empty.
    pub(crate) fn append(&mut self, more: &mut Part) {
        let is_roomy = self.src.capacity() > 2 * more.src.capacity();
        if self.came() == 0 && self.weights.kind() == more.weights.kind() && !is_roomy {
            // They change places, where no room was made for more.
            return std::mem::swap(self, more);
        }
        self.add_places(more.came(), &more.left_out);
        more.left_out.clear();
        self.src.append(&mut more.src);
        self.dst.append(&mut more.dst);
        self.weights.append(&mut more.weights);
    }

    /// Notes where the next edges stand, of which so many came; they are not there yet.
    fn add_places(&mut self, more: u64, left_out: &LeftOut) {
        let came = self.came();
        if self.left_out.count == 0 && left_out.count > 0 {
            self.left_out.places.extend(0..came);
        }
        if left_out.count > 0 {
            self.left_out.places.extend(left_out.places.iter().map(|&at| came + at));
        } else if self.left_out.count > 0 {
            self.left_out.places.extend(came..came + more);
        }
        self.left_out.count += left_out.count;
        self.left_out.is_beyond_floats |= left_out.is_beyond_floats;
    }

    /// Adds copies of the edges of the next part, on all threads. Both have weights of one kind.
    pub(crate) fn copy_from(&mut self, more: &Part) {
        self.src.par_extend(&more.src);
        self.dst.par_extend(&more.dst);
        match (&mut self.weights, &more.weights) {
            (Numbers::U32(all), Numbers::U32(more)) => all.par_extend(more),
            (Numbers::I32(all), Numbers::I32(more)) => all.par_extend(more),
            (Numbers::I64(all), Numbers::I64(more)) => all.par_extend(more),
            (Numbers::F32(all), Numbers::F32(more)) => all.par_extend(more),
            (Numbers::F64(all), Numbers::F64(more)) => all.par_extend(more),
            (all, more) => debug_assert_eq!(all.kind(), more.kind()),
        }
    }

    /// Adds copies of the edges at some places of another part, on all threads.
    pub(crate) fn copy_some(&mut self, more: &Part, places: &[u32]) {
        self.src.par_extend(places.par_iter().map(|&at| more.src[at as usize]));
        self.dst.par_extend(places.par_iter().map(|&at| more.dst[at as usize]));
        self.weights.append(&mut each_numbers!(&more.weights, None => Numbers::None, all => {
            places.par_iter().map(|&at| all[at as usize]).collect::<Vec<_>>().into()
        }));
    }

    /// Keeps only the edges at these places, in this order, in the memory that it has.
    pub(crate) fn keep(&mut self, places: &[u32]) {
        keep(&mut self.src, places);
        keep(&mut self.dst, places);
        each_numbers!(&mut self.weights, None => {}, all => keep(all, places));
    }

    /// Makes this an empty part with weights of that kind, in the memory that it has.
    pub(crate) fn clear(&mut self, kind: Kind) {
        self.src.clear();
        self.dst.clear();
        self.weights.truncate(0);
        self.left_out.clear();
        if self.weights.kind() != kind {
            self.weights = Numbers::zeros(kind, 0);
        }
    }

    /// The arcs with u <= v from that place on. It waits for no other thread.
    pub(crate) fn upper(&self, from: usize) -> Self {
        let wanted: Vec<usize> = (from..self.len()).filter(|&at| self.src[at] <= self.dst[at]).collect();
        let pick = |all: &[u32]| wanted.iter().map(|&at| all[at]).collect();
        let weights = each_numbers!(&self.weights, None => Numbers::None, all => {
            wanted.iter().map(|&at| all[at]).collect::<Vec<_>>().into()
        });
        Self::new(pick(&self.src), pick(&self.dst), weights)
    }
}

impl LeftOut {
    /// What was left out of so many edges, given where the others stand.
    fn new(came: usize, kept: &[u32], is_beyond_floats: bool) -> Self {
        let count = (came - kept.len()) as u64;
        let places = if count == 0 { Vec::new() } else { kept.iter().map(|&at| at.into()).collect() };
        Self { count, places, is_beyond_floats }
    }

    /// Nothing, in the memory that it has.
    fn clear(&mut self) {
        self.places.clear();
        (self.count, self.is_beyond_floats) = (0, false);
    }
}

/// Keeps only the items at these places, which ascend, on this thread alone.
fn keep_in_place<T: Copy>(items: &mut Vec<T>, places: &[u32]) {
    places.iter().enumerate().for_each(|(to, &at)| items[to] = items[at as usize]);
    items.truncate(places.len());
}

/// Keeps only the items at these places, in this order.
pub(crate) fn keep<T: Copy + Send + Sync>(items: &mut Vec<T>, places: &[u32]) {
    let kept: Vec<T> = places.par_iter().map(|&at| items[at as usize]).collect();
    items.truncate(places.len());
    items.copy_from_slice(&kept);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mix::mix;

    /// However edges come, those that are there know where they stand.
    #[test]
    fn places_are_those_among_all_that_came() {
        let draw = |seed: u64, below: u64| mix(seed) % below;
        let tree: Vec<u32> = (1..50).collect();
        let forest = Part::new(vec![0; 49], tree.clone(), Numbers::I64(vec![500; 49]));
        let filter = Filter::new(&forest, 50, false);
        let none = Filter::new(&Part::new(vec![0; 49], tree, Numbers::U32(vec![500; 49])), 50, false);
        for seed in 0..200 {
            let (mut part, mut came) = (Part::default(), Vec::new());
            for turn in 0..draw(seed, 6) {
                let seed = seed << 8 | turn;
                let edges = (0..draw(seed, 40)).map(|e| {
                    let e = seed << 8 | e;
                    (draw(3 * e, 50) as u32, draw(3 * e + 1, 50) as u32, draw(3 * e + 2, 600) as i64 - 50)
                });
                let edges: Vec<(u32, u32, i64)> = edges.collect();
                let is_sieved = draw(seed ^ 1, 3) > 0;
                came.extend(edges.iter().map(|&(u, v, w)| (!is_sieved || w < 500 && u != v).then_some((u, v, w))));
                let src: Vec<u32> = edges.iter().map(|edge| edge.0).collect();
                let dst: Vec<u32> = edges.iter().map(|edge| edge.1).collect();
                let weights: Vec<i64> = edges.iter().map(|edge| edge.2).collect();
                if draw(seed ^ 2, 2) == 0 {
                    // One that is for other weights changes nothing.
                    part.add(&src, &dst, &Weights::from(&weights), Some(if is_sieved { &filter } else { &none }));
                } else {
                    let mut more = Part::new(src, dst, weights.into());
                    more.sieve(if is_sieved { &filter } else { &none });
                    part.append(&mut more);
                    assert_eq!((more.len(), more.came()), (0, 0));
                }
            }
            assert_eq!(part.came(), came.len() as u64);
            let there = (0u64..).zip(&came).filter_map(|(at, edge)| edge.map(|edge| (at, edge)));
            let places = part.places().map_or_else(|| (0..part.came()).collect(), <[u64]>::to_vec);
            let Numbers::I64(weights) = &part.weights else {
                assert!(came.is_empty() || part.len() == 0);
                continue;
            };
            let edges = part.src.iter().zip(&part.dst).zip(weights).map(|((&u, &v), &w)| (u, v, w));
            assert!(places.into_iter().zip(edges).eq(there), "{seed}");
            part.clear(Kind::I64);
            assert_eq!((part.came(), part.places()), (0, None));
        }
    }
}
