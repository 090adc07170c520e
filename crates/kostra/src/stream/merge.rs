//! One merge: the forest so far and the next edges make the next forest.
//!
//! The forest of a union is the forest of the union of the forests, under one strict order. Ids rise from the forest to the
//! part and within both, so positions compare as ids do, and any solver breaks ties as the order wants.

use std::time::{Duration, Instant};

use rayon::prelude::*;

use super::part::{Part, Tree};
use crate::error::Result;
use crate::graph::Graph;
use crate::numbers::{Kind, Numbers, each_numbers};
use crate::run::Run;
use crate::weight::Weights;

/// What a merge works on.
pub(super) struct Job {
    pub(super) tree: Tree,
    pub(super) part: Part,
    /// The id of the part's first edge.
    pub(super) first: u64,
    pub(super) vertices: u32,
    pub(super) run: Run,
}

/// What comes of it: the new forest, and the memory of the part.
pub(super) struct Merged {
    pub(super) tree: Tree,
    pub(super) part: Part,
    pub(super) time: Duration,
}

/// Merges, on the threads of the caller's pool.
pub(super) fn merge(job: Job) -> Result<Merged> {
    let start = Instant::now();
    let Job { tree: Tree { src, dst, mut weights, ids }, mut part, first, vertices, run } = job;
    weights.unify(&mut part.weights);
    let (old, from) = (ids.len(), part.gap - ids.len());
    part.src[from..part.gap].copy_from_slice(&src);
    part.dst[from..part.gap].copy_from_slice(&dst);
    copy_weights(&mut part.weights, from, &weights);
    drop((src, dst, weights));

    let [src, dst] = [&part.src, &part.dst].map(|ends| &ends[from..]);
    let weights = part.weights.weights_from(from);
    let graph = Graph::from_proved_edges(vertices, src.into(), dst.into(), weights);
    let forest = crate::solve(&graph, &run)?;
    let chosen = forest.edges();
    let id = |e: u32| ids.get(e as usize).copied().unwrap_or_else(|| first + (e as usize - old) as u64);
    let tree = Tree {
        src: chosen.par_iter().map(|&e| src[e as usize]).collect(),
        dst: chosen.par_iter().map(|&e| dst[e as usize]).collect(),
        weights: pick(&part.weights, from, chosen),
        ids: chosen.par_iter().map(|&e| id(e)).collect(),
    };
    drop(graph);
    Ok(Merged { tree, part, time: start.elapsed() })
}

/// Puts the weights of the forest into the gap; both are of one kind, or the forest is empty.
fn copy_weights(all: &mut Numbers, from: usize, weights: &Numbers) {
    fn put<T: Copy>(all: &mut [T], from: usize, weights: &[T]) {
        all[from..from + weights.len()].copy_from_slice(weights);
    }
    match (all, weights) {
        (Numbers::U32(all), Numbers::U32(w)) => put(all, from, w),
        (Numbers::I32(all), Numbers::I32(w)) => put(all, from, w),
        (Numbers::I64(all), Numbers::I64(w)) => put(all, from, w),
        (Numbers::F32(all), Numbers::F32(w)) => put(all, from, w),
        (Numbers::F64(all), Numbers::F64(w)) => put(all, from, w),
        (_, rest) => debug_assert!(rest.kind() == Kind::None, "unification made the kinds equal"),
    }
}

/// Some of these numbers, in the order of their places.
pub(crate) fn pick(numbers: &Numbers, from: usize, places: &[u32]) -> Numbers {
    fn some<T: Copy + Send + Sync>(all: &[T], places: &[u32]) -> Vec<T> {
        places.par_iter().map(|&at| all[at as usize]).collect()
    }
    match numbers {
        Numbers::None => Numbers::None,
        Numbers::U32(all) => Numbers::U32(some(&all[from..], places)),
        Numbers::I32(all) => Numbers::I32(some(&all[from..], places)),
        Numbers::I64(all) => Numbers::I64(some(&all[from..], places)),
        Numbers::F32(all) => Numbers::F32(some(&all[from..], places)),
        Numbers::F64(all) => Numbers::F64(some(&all[from..], places)),
    }
}

/// Adds weights of any type behind those of a part.
pub(crate) fn extend(numbers: &mut Numbers, weights: &Weights, range: std::ops::Range<usize>) {
    let mut more = match weights {
        Weights::Unit => Numbers::None,
        Weights::U32(w) => Numbers::U32(w[range].to_vec()),
        Weights::I32(w) => Numbers::I32(w[range].to_vec()),
        Weights::I64(w) => Numbers::I64(w[range].to_vec()),
        Weights::F32(w) => Numbers::F32(w[range].to_vec()),
        Weights::F64(w) => Numbers::F64(w[range].to_vec()),
    };
    numbers.append(&mut more);
    debug_assert!(each_numbers!(&more, None => true, w => w.is_empty()));
}
