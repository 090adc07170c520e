//! The algorithms on the CPU, one per file.
//!
//! All return the same forest. Prefer [`boruvka`] where edges are few per vertex and [`kruskal`] where they are many or all
//! weigh the same; `auto` does so. [`prim`] is for comparison, and for graphs whose adjacency lists are there already.

use crate::error::Result;
use crate::forest::Forest;
use crate::graph::Graph;
use crate::run::{Algorithm, Run};

mod boruvka;
mod contract;
mod ecl;
mod filter_kruskal;
mod kostra;
mod kruskal;
mod pma;
mod prim;
mod strut;
mod uminho;
mod vineet;

pub use boruvka::boruvka;
pub use ecl::ecl;
pub use filter_kruskal::filter_kruskal;
pub use kostra::kostra;
pub use kruskal::kruskal;
pub use pma::{pma_hybrid, pma_min, pma_sort};
pub use prim::prim;
pub use strut::strut;
pub use uminho::uminho;
pub use vineet::vineet;

/// From this many edges per vertex on, `auto` sorts instead of merging: Kruskal stops early then, and its sort is
/// parallel. Milliseconds of Borůvka and Kruskal with uniform u32 weights, 2 threads of a busy EPYC: 88 and 393 at 2
/// edges per vertex (grid of 2^20), 510 and 760 at 8 (random, n = 10^6), 171 and 197 at 16, 152 and 129 at 32, 83 and
/// 71 at 500. Prim was the fastest only on a path in order, since it has to build adjacency lists first.
const DENSE: usize = 16;

/// The algorithm that `run` stands for on this graph: the one it names, or the one that `auto` chooses.
pub fn resolve(graph: &Graph, run: &Run) -> Algorithm {
    match run.algorithm() {
        // Equal weights are in order already, so Kruskal has nothing to sort.
        Algorithm::Auto if graph.weights().is_unit() => Algorithm::Kruskal,
        Algorithm::Auto if graph.edges() / DENSE > graph.vertices() => Algorithm::Kruskal,
        Algorithm::Auto => Algorithm::Boruvka,
        named => named,
    }
}

pub(crate) fn solve(graph: &Graph, run: &Run) -> Result<Forest> {
    match resolve(graph, run) {
        // `resolve` never gives `Auto`.
        Algorithm::Auto | Algorithm::Kruskal => kruskal(graph, run),
        Algorithm::Prim => prim(graph, run),
        Algorithm::Boruvka => boruvka(graph, run),
        Algorithm::Kostra => kostra(graph, run),
        Algorithm::FilterKruskal => filter_kruskal(graph, run),
        Algorithm::Vineet => vineet(graph, run),
        Algorithm::Uminho => uminho(graph, run),
        Algorithm::Strut => strut(graph, run),
        Algorithm::PmaMin => pma_min(graph, run),
        Algorithm::PmaSort => pma_sort(graph, run),
        Algorithm::PmaHybrid => pma_hybrid(graph, run),
        Algorithm::Ecl => ecl(graph, run),
    }
}
