//! One step of a stream: what is needed of the next edges joins those that wait, and a full pool is merged into the forest.
//!
//! The forest of a union is the forest of the union of the forests, under one strict order. Ids rise from the forest to the
//! pool and within both, so positions compare as ids do, and any solver breaks ties as the order wants.

use std::ops::Range;
use std::time::{Duration, Instant};

use rayon::prelude::*;

use super::filter::Filter;
use super::part::{Part, Tree};
use crate::error::Result;
use crate::graph::Graph;
use crate::numbers::{Kind, Numbers, each_numbers};
use crate::run::Run;
use crate::weight::{Weights, each_weights};

/// With more threads there is no filter: it is made on one of them, in which time the others could merge. On 67 million edges of a
/// million vertices and two threads it saved 0 (a pool of 16 edges per vertex) to 60 % (one of 1.2); of 16 threads it took twenty
/// times what the merges took.
const FILTER_UP_TO: usize = 4;

/// A filter that leaves more than this share of edges costs more than it saves.
const USELESS: f64 = 0.6;

/// What a stream knows of all edges that were taken.
#[derive(Clone, Debug, Default)]
pub(crate) struct Known {
    /// The forest of those that were merged.
    pub(crate) tree: Tree,
    /// Those that wait for a merge, behind a gap that holds the forest.
    pub(crate) pool: Part,
    /// Their ids, without the gap.
    pub(crate) ids: Vec<u64>,
    filter: Option<Filter>,
    /// Edges that the filter has seen, and left.
    seen: usize,
    left: usize,
    pub(crate) merges: usize,
    pub(crate) time: Duration,
}

/// What a step works on.
pub(super) struct Step {
    pub(super) known: Known,
    pub(super) part: Part,
    /// The id of the part's first edge.
    pub(super) first: u64,
    pub(super) vertices: u32,
    /// Edges from which on the pool is full.
    pub(super) capacity: usize,
    pub(super) run: Run,
}

impl Step {
    /// Takes the step, on the threads of the caller's pool; gives the part's memory back.
    pub(super) fn take(mut self) -> Result<(Known, Part)> {
        let start = Instant::now();
        self.known.add(&mut self.part, self.first);
        if self.known.ids.len() >= self.capacity {
            self.known.merge(self.vertices, &self.run)?;
            if rayon::current_num_threads() <= FILTER_UP_TO {
                self.known.build_filter(self.vertices, self.run.is_maximum());
            }
        }
        self.known.time += start.elapsed();
        Ok((self.known, self.part))
    }
}

impl Known {
    pub(crate) fn new(tree: Tree, pool: Part, ids: Vec<u64>) -> Self {
        Self { tree, pool, ids, ..Self::default() }
    }

    /// The type of the weights.
    pub(crate) fn kind(&self) -> Kind {
        self.pool.weights.kind()
    }

    /// Adds the edges of a part to the pool, but those that the filter knows to be needless.
    fn add(&mut self, part: &mut Part, first: u64) {
        // Of one type: the forest's, too, so that its keys compare with those of the filter.
        part.weights.unify(&mut self.pool.weights);
        self.tree.weights.unify(&mut self.pool.weights);
        part.weights.promote(self.pool.weights.kind());
        let Some(filter) = self.filter.take().filter(|filter| filter.is_for(part.weights.kind())) else {
            self.ids.par_extend(first..first + part.len() as u64);
            self.pool.copy_from(part);
            return;
        };
        let kept = filter.kept(part);
        self.filter = Some(filter);
        self.seen += part.len();
        for places in kept {
            self.left += places.len();
            self.ids.extend(places.iter().map(|&at| first + u64::from(at)));
            self.pool.src.extend(places.iter().map(|&at| part.src[at as usize]));
            self.pool.dst.extend(places.iter().map(|&at| part.dst[at as usize]));
            self.pool.append_weights(&mut pick(&part.weights, &places));
        }
    }

    /// Merges the pool into the forest and leaves it empty.
    pub(crate) fn merge(&mut self, vertices: u32, run: &Run) -> Result<()> {
        if self.ids.is_empty() {
            return Ok(());
        }
        self.filter = None;
        let Self { tree, pool, ids, .. } = self;
        debug_assert_eq!(pool.gap, tree.len());
        pool.src[..pool.gap].copy_from_slice(&tree.src);
        pool.dst[..pool.gap].copy_from_slice(&tree.dst);
        copy_weights(&mut pool.weights, &tree.weights);
        (tree.src, tree.dst) = (Vec::new(), Vec::new());
        tree.weights = Numbers::zeros(pool.weights.kind(), 0);

        let (src, dst) = (&pool.src[..], &pool.dst[..]);
        let graph = Graph::from_proved_edges(vertices, src.into(), dst.into(), pool.weights.weights());
        let forest = crate::solve(&graph, run)?;
        let (chosen, old) = (forest.edges(), &tree.ids);
        let id = |&e: &u32| old.get(e as usize).copied().unwrap_or_else(|| ids[e as usize - old.len()]);
        let new: Vec<u64> = chosen.par_iter().map(id).collect();
        tree.src = chosen.par_iter().map(|&e| src[e as usize]).collect();
        tree.dst = chosen.par_iter().map(|&e| dst[e as usize]).collect();
        drop(graph);
        tree.weights = pick(&pool.weights, chosen);
        tree.ids = new;
        self.ids.clear();
        self.pool.reset(self.tree.len(), self.tree.weights.kind());
        self.merges += 1;
        Ok(())
    }

    /// Makes a filter of the forest, unless the last one was of little use.
    fn build_filter(&mut self, vertices: u32, maximum: bool) {
        let was_useless = self.left as f64 > USELESS * self.seen as f64;
        (self.seen, self.left) = (0, 0);
        self.filter = (!was_useless).then(|| Filter::new(&self.tree, vertices, maximum));
    }
}

/// Puts the weights of the forest into the gap; both are of one kind, or the forest is empty.
fn copy_weights(all: &mut Numbers, weights: &Numbers) {
    fn put<T: Copy>(all: &mut [T], weights: &[T]) {
        all[..weights.len()].copy_from_slice(weights);
    }
    match (all, weights) {
        (Numbers::U32(all), Numbers::U32(w)) => put(all, w),
        (Numbers::I32(all), Numbers::I32(w)) => put(all, w),
        (Numbers::I64(all), Numbers::I64(w)) => put(all, w),
        (Numbers::F32(all), Numbers::F32(w)) => put(all, w),
        (Numbers::F64(all), Numbers::F64(w)) => put(all, w),
        (_, rest) => debug_assert!(rest.kind() == Kind::None, "unification made the kinds equal"),
    }
}

/// Some of these numbers, in the order of their places.
pub(crate) fn pick(numbers: &Numbers, places: &[u32]) -> Numbers {
    fn some<T: Copy + Send + Sync>(all: &[T], places: &[u32]) -> Vec<T> {
        places.par_iter().map(|&at| all[at as usize]).collect()
    }
    each_numbers!(numbers, None => Numbers::None, all => some(all, places).into())
}

/// Adds some of these weights behind those of a part.
pub(crate) fn extend(numbers: &mut Numbers, weights: &Weights, range: Range<usize>) {
    numbers.append(&mut each_weights!(weights, Unit => Numbers::None, w => w[range].to_vec().into()));
}
