//! One step of a stream: what is needed of the next edges joins those that wait, and a full pool is merged into the forest.
//!
//! The forest of a union is the forest of the union of the forests, under one strict order. Ids rise from the forest to the
//! pool and within both, so positions compare as ids do, and any solver breaks ties as the order wants.

use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rayon::prelude::*;

use super::filter::Filter;
use super::part::{Part, keep};
use crate::error::Result;
use crate::numbers::{Kind, Numbers};
use crate::run::Run;
use crate::weight::{Weights, each_weights};

/// A filter that leaves more than this share of edges costs more than it saves.
const USELESS: f64 = 0.6;

/// What a stream knows of all edges that were taken: the forest of those that were merged, and behind it, with larger ids, the
/// pool of those that wait for a merge. Both are in one piece, as the solver wants them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Known {
    pub(crate) edges: Part,
    pub(crate) ids: Vec<u64>,
    /// How many of them are the forest.
    pub(crate) forest: usize,
    /// For the reader, too: what was needless once is so for ever.
    pub(super) filter: Option<Arc<Filter>>,
    /// Edges that filters have seen since the last merge, and left.
    seen: u64,
    left: u64,
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
        if self.known.waiting() >= self.capacity {
            self.known.shrink(self.vertices, &self.run)?;
        }
        self.known.time += start.elapsed();
        Ok((self.known, self.part))
    }
}

impl Known {
    pub(crate) fn new(edges: Part, ids: Vec<u64>, forest: usize) -> Self {
        Self { edges, ids, forest, ..Self::default() }
    }

    /// The type of the weights.
    pub(crate) fn kind(&self) -> Kind {
        self.edges.weights.kind()
    }

    /// Edges of the pool.
    pub(super) fn waiting(&self) -> usize {
        self.ids.len() - self.forest
    }

    /// Adds the edges of a part to the pool, but those that the filter knows to be needless.
    fn add(&mut self, part: &mut Part, first: u64) {
        part.weights.unify(&mut self.edges.weights);
        self.filter = self.filter.take().filter(|filter| filter.is_for(self.kind()));
        if let Some(places) = part.places() {
            // They went through a filter on their way.
            self.count(part.came(), part.len());
            self.ids.par_extend(places.par_iter().map(|&at| first + at));
            self.edges.copy_from(part);
        } else if let Some(filter) = self.filter.clone() {
            let places = filter.kept(part);
            self.count(part.came(), places.len());
            self.ids.par_extend(places.par_iter().map(|&at| first + u64::from(at)));
            self.edges.copy_some(part, &places);
        } else {
            self.ids.par_extend(first..first + part.len() as u64);
            self.edges.copy_from(part);
        }
    }

    fn count(&mut self, seen: u64, left: usize) {
        (self.seen, self.left) = (self.seen + seen, self.left + left as u64);
    }

    /// Merges the pool into the forest and leaves it empty.
    pub(crate) fn merge(&mut self, vertices: u32, run: &Run) -> Result<()> {
        if self.waiting() == 0 {
            return Ok(());
        }
        self.filter = None;
        let forest = crate::solve(&self.edges.graph(vertices), run)?;
        self.edges.keep(forest.edges());
        keep(&mut self.ids, forest.edges());
        self.forest = forest.len();
        self.merges += 1;
        Ok(())
    }

    /// Merges, and makes a filter of the forest unless the last one was of little use.
    pub(super) fn shrink(&mut self, vertices: u32, run: &Run) -> Result<()> {
        self.merge(vertices, run)?;
        let was_useless = self.left as f64 > USELESS * self.seen as f64;
        (self.seen, self.left) = (0, 0);
        self.filter = (!was_useless).then(|| Arc::new(Filter::new(&self.edges, vertices, run.is_maximum())));
        Ok(())
    }
}

/// Adds some of these weights behind those of a part.
pub(crate) fn extend(numbers: &mut Numbers, weights: &Weights, range: Range<usize>) {
    numbers.append(&mut each_weights!(weights, Unit => Numbers::None, w => w[range].to_vec().into()));
}
