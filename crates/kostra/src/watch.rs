//! Watching long work: where progress goes, and the flag that stops it.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::error::{Error, Result};

/// How far a piece of work has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// What is being done: "read", "generate", "sort", ...
    pub phase: &'static str,
    /// Units done so far.
    pub done: u64,
    /// Units in all; 0 when unknown.
    pub total: u64,
}

/// Carries progress out of long work and the wish to stop into it.
///
/// The default watches nothing and never stops.
///
/// ```
/// use std::sync::{Arc, atomic::AtomicBool};
/// use kostra::{Run, Watch};
///
/// let stop = Arc::new(AtomicBool::new(true));
/// let run = Run::new("kruskal")?.watched_by(Watch::new().stop_when(stop));
/// let graph = kostra::generate("grid:rows=9,cols=9")?;
/// assert!(matches!(kostra::solve(&graph, &run), Err(kostra::Error::Cancelled)));
/// # Ok::<(), kostra::Error>(())
/// ```
#[derive(Clone, Default)]
pub struct Watch {
    report: Option<Arc<dyn Fn(Progress) + Send + Sync>>,
    stop: Option<Arc<AtomicBool>>,
}

impl Watch {
    /// Watches nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Calls `report` now and then, from any thread. Work may be held up meanwhile, so it must not wait for that, nor for rayon.
    pub fn report_to(mut self, report: impl Fn(Progress) + Send + Sync + 'static) -> Self {
        self.report = Some(Arc::new(report));
        self
    }

    /// Ends the work with [`Error::Cancelled`] soon after `stop` becomes true.
    pub fn stop_when(mut self, stop: Arc<AtomicBool>) -> Self {
        self.stop = Some(stop);
        self
    }

    /// The same without reports: what it stops is part of a larger work.
    pub(crate) fn silent(&self) -> Self {
        Self { report: None, stop: self.stop.clone() }
    }

    /// The same for one of several files that are streamed: the bytes before it are added, and the total is that of all (0 when
    /// unknown).
    pub(crate) fn streaming(&self, before: u64, total: u64) -> Self {
        let Some(report) = self.report.clone() else { return self.clone() };
        let add = move |progress: Progress| report(Progress { phase: "stream", done: before + progress.done, total });
        Self { report: Some(Arc::new(add)), stop: self.stop.clone() }
    }

    /// Reports progress and fails when the work is to stop. Cheap, but call it per block, not per edge.
    pub fn step(&self, phase: &'static str, done: u64, total: u64) -> Result<()> {
        if let Some(report) = &self.report {
            report(Progress { phase, done, total });
        }
        self.check()
    }

    /// Fails when the work is to stop.
    pub fn check(&self) -> Result<()> {
        match &self.stop {
            // Relaxed: the flag orders nothing but itself.
            Some(stop) if stop.load(Ordering::Relaxed) => Err(Error::Cancelled),
            _ => Ok(()),
        }
    }
}

impl fmt::Debug for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watch").field("report", &self.report.is_some()).field("stop", &self.stop).finish()
    }
}
