//! The algorithms on NVIDIA GPUs, one per file, twins of [`cpu`](crate::cpu) by name.
//!
//! [`solve`](crate::solve) with [`Device::cuda`](crate::Device::cuda) goes from the caller's arrays to the forest. A graph
//! that is solved several times is better kept on the GPU: [`Resident`]. One whose arrays are there already need not leave it:
//! [`DeviceGraph`].
//!
//! Nothing here needs the CUDA toolkit: kernels are shipped as PTX, and the driver is looked for when it is first used.

use crate::error::{Error, Result};
use crate::forest::Forest;
use crate::graph::Graph;
use crate::run::{Algorithm, Run};

mod collect;
mod contract;
mod device;
mod ecl;
mod edges;
mod gpu;
mod kostra;
mod module;
mod pack;
mod parts;
mod pipe;
mod pma;
mod resident;
mod strut;
mod uminho;
mod vineet;

pub use device::{DeviceGraph, DeviceIds, DeviceWeights, Found, IdType, WeightType};
pub(crate) use gpu::check;
pub use gpu::{Gpu, Info, devices};
pub use resident::Resident;

/// Edges from which the way to the GPU and back pays, when the GPU has yet to be opened: opening an H200 took 0.15 to 0.35 s,
/// as long as 16 cores need for this many edges.
const WINS_FROM: usize = 1 << 26;

/// The same where it is open already.
const WINS_OPEN_FROM: usize = 1 << 21;

/// The algorithm that `run` stands for on a GPU: the one it names, or the one that `auto` chooses.
pub fn resolve(run: &Run) -> Result<Algorithm> {
    match run.algorithm() {
        Algorithm::Auto => Ok(Algorithm::Kostra),
        named if named.runs_on_cuda() => Ok(named),
        other => Err(Error::Algorithm {
            name: other.name().into(),
            what: "it runs on the CPU only; use the device cpu, or another algorithm".into(),
        }),
    }
}

/// Whether the first GPU, if there is one, finds the forest sooner than the CPU, transfers included.
pub(crate) fn wins(graph: &Graph, run: &Run) -> bool {
    let is_open = gpu::is_open(0);
    let from = if is_open { WINS_OPEN_FROM } else { WINS_FROM };
    let is_supported = || devices().is_ok_and(|devices| devices.first().is_some_and(Info::is_supported));
    let is_fast = matches!(run.algorithm(), Algorithm::Auto | Algorithm::Kostra | Algorithm::Ecl);
    is_fast && graph.edges() >= from && (is_open || is_supported()) && has_room(graph, run).unwrap_or(false)
}

/// Whether the first GPU has room for the graph, whole or in parts, now.
fn has_room(graph: &Graph, run: &Run) -> Result<bool> {
    kostra::check_size(graph)?;
    let limit = parts::memory_limit(&*Gpu::open(0)?, run)?;
    Ok(match run.algorithm() {
        Algorithm::Auto | Algorithm::Kostra => parts::is_possible(graph, limit, &kostra::need(graph)),
        _ => parts::is_possible(graph, limit, &resident::need(graph, run)?),
    })
}

pub(crate) fn solve(graph: &Graph, run: &Run, number: u32) -> Result<Forest> {
    match resolve(run)? {
        Algorithm::Auto | Algorithm::Kostra => kostra::forest(&*Gpu::open(number)?, graph, run),
        _ => {
            let limit = parts::memory_limit(&*Gpu::open(number)?, run)?;
            parts::solve(graph, limit, &resident::need(graph, run)?, |part| {
                let mut resident = Resident::upload(part, number)?;
                resident.solve(run)?;
                resident.download()
            })
        }
    }
}
