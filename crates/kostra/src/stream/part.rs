//! Edges on their way into a stream.

use rayon::prelude::*;

use crate::graph::Graph;
use crate::numbers::{Kind, Numbers, each_numbers};

/// Edges in the order of their ids.
#[derive(Clone, Debug, Default)]
pub(crate) struct Part {
    pub(crate) src: Vec<u32>,
    pub(crate) dst: Vec<u32>,
    /// As many as there are endpoints, or none.
    pub(crate) weights: Numbers,
}

impl Part {
    /// A copy of a graph's edges.
    pub(crate) fn of(graph: &Graph) -> Self {
        Self { src: graph.sources().to_vec(), dst: graph.targets().to_vec(), weights: graph.weights().into() }
    }

    /// The graph of these edges, whose ends are vertices of it.
    pub(crate) fn graph(&self, vertices: u32) -> Graph<'_> {
        Graph::from_proved_edges(vertices, (&self.src).into(), (&self.dst).into(), self.weights.weights())
    }

    pub(crate) fn len(&self) -> usize {
        self.src.len()
    }

    /// Adds the edges of the next part and leaves it empty.
    pub(crate) fn append(&mut self, more: &mut Part) {
        self.src.append(&mut more.src);
        self.dst.append(&mut more.dst);
        self.weights.append(&mut more.weights);
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
        self.truncate(0);
        if self.weights.kind() != kind {
            self.weights = Numbers::zeros(kind, 0);
        }
    }

    /// Forgets all but the first `len` edges.
    pub(crate) fn truncate(&mut self, len: usize) {
        self.src.truncate(len);
        self.dst.truncate(len);
        self.weights.truncate(len);
    }

    /// Forgets `count` edges from that place on.
    pub(crate) fn remove(&mut self, at: usize, count: usize) {
        self.src.drain(at..at + count);
        self.dst.drain(at..at + count);
        each_numbers!(&mut self.weights, None => {}, all => _ = all.drain(at..at + count));
    }

    /// The arcs with u <= v from that place on. It waits for no other thread.
    pub(crate) fn upper(&self, from: usize) -> Self {
        let wanted: Vec<usize> = (from..self.len()).filter(|&at| self.src[at] <= self.dst[at]).collect();
        let pick = |all: &[u32]| wanted.iter().map(|&at| all[at]).collect();
        let weights = each_numbers!(&self.weights, None => Numbers::None, all => {
            wanted.iter().map(|&at| all[at]).collect::<Vec<_>>().into()
        });
        Self { src: pick(&self.src), dst: pick(&self.dst), weights }
    }
}

/// Keeps only the items at these places, in this order.
pub(crate) fn keep<T: Copy + Send + Sync>(items: &mut Vec<T>, places: &[u32]) {
    let kept: Vec<T> = places.par_iter().map(|&at| items[at as usize]).collect();
    items.truncate(places.len());
    items.copy_from_slice(&kept);
}
