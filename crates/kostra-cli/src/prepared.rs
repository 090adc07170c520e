//! A graph made ready for a solver, and the solver's time.

use std::time::{Duration, Instant};

use kostra::cuda::Resident;
use kostra::{Device, Forest, Graph, Result, Run, Watch};

/// A graph, where a solver expects it.
pub(crate) enum Prepared<'g> {
    /// In memory, with adjacency lists if the algorithm starts from them.
    Host(&'g Graph<'g>),
    /// On a GPU.
    Resident(Box<Resident<'g>>),
}

impl<'g> Prepared<'g> {
    /// Does what does not count as solving: builds adjacency lists for the papers that start from them, or uploads the graph to a
    /// GPU if it fits. Returns how long that took.
    pub(crate) fn new(graph: &'g Graph<'g>, run: &Run, watch: &Watch) -> Result<(Self, Duration)> {
        let start = Instant::now();
        let prepared = match kostra::resolve(graph, run)? {
            (Device::Cuda(number), _) if Resident::fits(graph, run, number)? => {
                watch.step("upload", 0, 0)?;
                Self::upload(graph, number)?
            }
            (Device::Cpu, algorithm) if algorithm.starts_from_csr() => {
                watch.step("prepare", 0, 0)?;
                graph.csr();
                Self::Host(graph)
            }
            _ => return Ok((Self::Host(graph), Duration::ZERO)),
        };
        Ok((prepared, start.elapsed()))
    }

    /// Uploads the graph to the GPU of that number.
    pub(crate) fn upload(graph: &'g Graph<'g>, number: u32) -> Result<Self> {
        Ok(Self::Resident(Box::new(Resident::upload(graph, number)?)))
    }

    /// The forest, and how long it took to find it. Its way back from a GPU is not counted.
    pub(crate) fn solve(&mut self, run: &Run) -> Result<(Forest, Duration)> {
        let start = Instant::now();
        match self {
            Self::Host(graph) => kostra::solve(graph, run).map(|forest| (forest, start.elapsed())),
            Self::Resident(resident) => {
                resident.solve(run)?;
                let time = start.elapsed();
                Ok((resident.download()?, time))
            }
        }
    }
}
