//! Edges on their way into a stream, and the forest that it keeps of them.

use rayon::prelude::*;

use crate::graph::Graph;
use crate::numbers::{Kind, Numbers, each_numbers};

/// Edges in the order of their ids. Those of the pool lie behind a gap into which the forest is put when they are merged: so that
/// both are in one piece, the smaller ids first, and no edge is moved.
#[derive(Clone, Debug, Default)]
pub(crate) struct Part {
    pub(crate) src: Vec<u32>,
    pub(crate) dst: Vec<u32>,
    /// As many as there are endpoints, or none.
    pub(crate) weights: Numbers,
    pub(crate) gap: usize,
}

impl Part {
    /// A copy of a graph's edges.
    pub(crate) fn of(graph: &Graph) -> Self {
        let (src, dst) = (graph.sources().to_vec(), graph.targets().to_vec());
        Self { src, dst, weights: graph.weights().into(), gap: 0 }
    }

    /// The number of edges, without the gap.
    pub(crate) fn len(&self) -> usize {
        self.src.len() - self.gap
    }

    /// Makes this an empty part in the memory that it has.
    pub(crate) fn reset(&mut self, gap: usize, kind: Kind) {
        self.truncate(0);
        if self.weights.kind() != kind {
            self.weights = Numbers::zeros(kind, 0);
        }
        self.src.resize(gap, 0);
        self.dst.resize(gap, 0);
        each_numbers!(&mut self.weights, None => {}, all => all.resize(gap, Default::default()));
        self.gap = gap;
    }

    /// Adds the edges of a part without a gap and leaves it empty.
    pub(crate) fn append(&mut self, more: &mut Part) {
        debug_assert_eq!(more.gap, 0);
        self.src.append(&mut more.src);
        self.dst.append(&mut more.dst);
        self.append_weights(&mut more.weights);
    }

    /// Adds copies of the edges of a part without a gap, on all threads. Both have weights of one kind.
    pub(crate) fn copy_from(&mut self, more: &Part) {
        debug_assert_eq!(more.gap, 0);
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

    /// Adds the weights of edges whose ends were added.
    pub(crate) fn append_weights(&mut self, more: &mut Numbers) {
        if self.weights.kind() == Kind::None && self.gap > 0 {
            self.weights = Numbers::zeros(more.kind(), self.gap);
        }
        self.weights.append(more);
    }

    /// The arcs with u <= v from that place on.
    pub(crate) fn upper(&self, from: usize) -> Self {
        let wanted: Vec<usize> = (from..self.src.len()).filter(|&at| self.src[at] <= self.dst[at]).collect();
        let pick = |ends: &[u32]| wanted.iter().map(|&at| ends[at]).collect();
        let mut weights = Numbers::None;
        each_numbers!(&self.weights, None => {}, all => {
            weights = wanted.iter().map(|&at| all[at]).collect::<Vec<_>>().into();
        });
        Self { src: pick(&self.src), dst: pick(&self.dst), weights, gap: 0 }
    }

    /// Forgets all but the first `len` entries of the arrays.
    pub(crate) fn truncate(&mut self, len: usize) {
        self.src.truncate(len);
        self.dst.truncate(len);
        self.weights.truncate(len);
    }
}

/// The forest of all edges that were merged, in the order of their ids.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tree {
    pub(crate) src: Vec<u32>,
    pub(crate) dst: Vec<u32>,
    pub(crate) weights: Numbers,
    pub(crate) ids: Vec<u64>,
}

impl Tree {
    pub(crate) fn len(&self) -> usize {
        self.ids.len()
    }
}
