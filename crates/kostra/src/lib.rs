#![doc = include_str!("../README.md")]

mod array;
mod bits;
mod buffer;
pub mod cpu;
mod csr;
#[cfg(feature = "cuda")]
pub mod cuda;
mod error;
mod euclid;
mod forest;
pub mod generate;
mod graph;
pub mod io;
mod linkage;
mod mix;
mod names;
mod numbers;
mod par;
mod run;
mod spare;
mod stream;
mod team;
mod union_find;
pub mod verify;
mod watch;
mod weight;

pub use array::Array;
pub use csr::Csr;
pub use error::{Error, Result};
pub use euclid::{PointTree, euclidean_tree};
pub use forest::Forest;
pub use generate::{WeightRule, generate};
pub use graph::Graph;
pub use io::{read, write};
pub use linkage::{Merge, linkage};
pub use names::Names;
pub use run::{Algorithm, Device, Run, Stats};
pub use spare::release_memory;
pub use stream::{Stream, StreamForest};
pub use verify::verify;
pub use watch::{Progress, Watch};
pub use weight::{AnyKeys, Key, Keys, Total, Weight, Weights};

/// The minimum spanning forest, by the fastest algorithm for this graph and machine.
///
/// ```
/// let graph = kostra::generate("rmat:scale=10")?;
/// let forest = kostra::minimum_spanning_forest(&graph)?;
/// assert_eq!(forest.len() + forest.trees(), graph.vertices());
/// # Ok::<(), kostra::Error>(())
/// ```
pub fn minimum_spanning_forest(graph: &Graph) -> Result<Forest> {
    solve(graph, &Run::default())
}

/// What solvers take beside the graph, for the smallest edge of every tree at least. Vertices without edges are not in the
/// graph's own arrays, so this may be the first time that they take memory.
pub(crate) const BYTES_PER_VERTEX: u64 = 16;

/// The spanning forest that `run` asks for.
pub fn solve(graph: &Graph, run: &Run) -> Result<Forest> {
    run.watch().check()?;
    match resolve(graph, run)?.0 {
        #[cfg(feature = "cuda")]
        Device::Cuda(number) => cuda::solve(graph, run, number),
        #[cfg(not(feature = "cuda"))]
        Device::Cuda(number) => Err(run::no_engine(number)),
        Device::Auto | Device::Cpu => {
            buffer::check_room(graph.vertices() as u64 * BYTES_PER_VERTEX)?;
            cpu::solve(graph, run)
        }
    }
}

/// The device and the algorithm that `run` stands for on this graph: those it names, or those that `auto` chooses. An error
/// when the device does not have the algorithm.
#[cfg_attr(not(feature = "cuda"), allow(unused_variables))]
pub fn resolve(graph: &Graph, run: &Run) -> Result<(Device, Algorithm)> {
    match run.device() {
        #[cfg(feature = "cuda")]
        Device::Cuda(number) => Ok((Device::Cuda(number), cuda::resolve(run)?)),
        #[cfg(feature = "cuda")]
        Device::Auto if cuda::wins(graph, run) => Ok((Device::Cuda(0), cuda::resolve(run)?)),
        #[cfg(not(feature = "cuda"))]
        Device::Cuda(number) => Err(run::no_engine(number)),
        Device::Auto | Device::Cpu => Ok((Device::Cpu, cpu::resolve(run)?)),
    }
}
