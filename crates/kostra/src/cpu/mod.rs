//! The algorithms on the CPU, one per file.
//!
//! All return the same forest. Prefer [`kostra`](fn@kostra), as `auto` does: it was the fastest on every graph that was
//! measured, whatever the weights. The others are the classics and the papers' methods, for comparison.

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
#[cfg(feature = "cuda")]
pub(crate) use pma::{gamma_of, suitable_gamma};
pub use pma::{pma_hybrid, pma_min, pma_sort};
pub use prim::prim;
pub use strut::strut;
pub use uminho::uminho;
pub use vineet::vineet;

/// The algorithm that `run` stands for on the CPU: the one it names, or the one that `auto` chooses. An error when it has an
/// option that is for GPUs.
pub fn resolve(run: &Run) -> Result<Algorithm> {
    run.refuse(&["hold", "memory", "without"], "is for GPUs; use the device cuda, or leave it out")?;
    Ok(match run.algorithm() {
        Algorithm::Auto => Algorithm::Kostra,
        named => named,
    })
}

pub(crate) fn solve(graph: &Graph, run: &Run) -> Result<Forest> {
    match resolve(run)? {
        // `resolve` never gives `Auto`.
        Algorithm::Auto | Algorithm::Kostra => kostra(graph, run),
        Algorithm::Kruskal => kruskal(graph, run),
        Algorithm::Prim => prim(graph, run),
        Algorithm::Boruvka => boruvka(graph, run),
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
