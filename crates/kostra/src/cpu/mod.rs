//! The algorithms on the CPU, one per file.

use crate::error::Result;
use crate::forest::Forest;
use crate::graph::Graph;
use crate::run::{Algorithm, Run};

mod boruvka;
mod kruskal;
mod prim;

pub use boruvka::boruvka;
pub use kruskal::kruskal;
pub use prim::prim;

/// The algorithm that `run` stands for on this graph: the one it names, or what `auto` chooses.
pub fn resolve(graph: &Graph, run: &Run) -> Algorithm {
    let _ = graph;
    match run.algorithm() {
        Algorithm::Auto => Algorithm::Kruskal,
        named => named,
    }
}

pub(crate) fn solve(graph: &Graph, run: &Run) -> Result<Forest> {
    match resolve(graph, run) {
        Algorithm::Auto | Algorithm::Kruskal => kruskal(graph, run),
        Algorithm::Prim => prim(graph, run),
        Algorithm::Boruvka => boruvka(graph, run),
    }
}
