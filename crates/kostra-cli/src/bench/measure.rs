//! The runs: every contender on every graph, in turns, each result checked.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::{Duration, Instant};

use kostra::io::Ids;
use kostra::{Device, Error, Forest, Graph, Result, Run, Total};
use rayon::{ThreadPool, ThreadPoolBuilder};

use super::machine::peak_of;
use super::suite::{Contender, Subject, Suite};
use crate::console::Console;
use crate::input::{self, Loaded};
use crate::prepared::Prepared;

/// A graph, its forest, and what its contenders took.
pub(super) struct Measured<'a> {
    pub(super) subject: &'a Subject,
    pub(super) vertices: usize,
    pub(super) edges: usize,
    /// The type of its weights.
    pub(super) weights: &'static str,
    pub(super) forest_edges: usize,
    pub(super) trees: usize,
    pub(super) weight: Total,
    pub(super) digest: u64,
    /// Reading or generating it.
    pub(super) load: Duration,
    pub(super) generated: bool,
    /// Building adjacency lists, where a contender starts from them.
    pub(super) prepare: Option<Duration>,
    /// Proving the forest minimum.
    pub(super) verify: Duration,
    /// In the order of the contenders.
    pub(super) rows: Vec<Row<'a>>,
}

/// What a contender took.
pub(super) struct Row<'a> {
    pub(super) contender: &'a Contender,
    /// The algorithm that ran: what `auto` chose.
    pub(super) ran: &'static str,
    /// By how many bytes memory grew, at its peak.
    pub(super) peak: Option<u64>,
    /// One per repetition.
    pub(super) times: Vec<Duration>,
}

/// Runs the suite.
pub(super) fn measure<'a>(suite: &'a Suite, console: &Console) -> Result<Vec<Measured<'a>>> {
    let runs = suite.subjects.iter().map(|subject| subject.contenders.len() * (suite.repeats + 1)).sum::<usize>();
    let mut bench = Bench { pools: pools(suite)?, repeats: suite.repeats, console, done: 0, total: runs as u64 };
    suite.subjects.iter().map(|subject| bench.measure(subject)).collect()
}

/// A graph where its contenders expect it.
struct Ready<'g> {
    graph: &'g Graph<'g>,
    /// On the GPU of that number.
    resident: Option<(u32, Prepared<'g>)>,
    /// Whether anything had to be done.
    is_prepared: bool,
}

struct Bench<'a> {
    pools: BTreeMap<usize, ThreadPool>,
    repeats: usize,
    console: &'a Console,
    /// Runs so far, and in all.
    done: u64,
    total: u64,
}

impl Bench<'_> {
    fn measure<'a>(&mut self, subject: &'a Subject) -> Result<Measured<'a>> {
        let named = |error| about(&subject.name, error);
        let Loaded { graph, generated, time: load, .. } =
            input::load(&subject.path, None, Ids::Dense, self.console).map_err(named)?;
        let start = Instant::now();
        let mut ready = self.prepare(&graph, subject).map_err(named)?;
        let prepare = ready.is_prepared.then(|| start.elapsed());
        let (mut rows, forest, verify) = self.warm_up(&mut ready, subject)?;
        self.repeat(&mut ready, subject, &forest, &mut rows)?;
        Ok(Measured {
            subject,
            vertices: graph.vertices(),
            edges: graph.edges(),
            weights: graph.weights().type_name(),
            forest_edges: forest.len(),
            trees: forest.trees(),
            weight: forest.weight(),
            digest: forest.digest(),
            load,
            generated,
            prepare,
            verify,
            rows,
        })
    }

    /// Builds the adjacency lists if a contender starts from them, and uploads the graph if one expects it on a GPU: once for
    /// all, with most threads.
    fn prepare<'g>(&self, graph: &'g Graph<'g>, subject: &Subject) -> Result<Ready<'g>> {
        let mut ready = Ready { graph, resident: None, is_prepared: false };
        for contender in &subject.contenders {
            match (contender.run.device(), kostra::resolve(graph, &contender.run)?) {
                (Device::Cuda(number), _) if !contender.end_to_end => {
                    if ready.resident.as_ref().is_none_or(|(other, _)| *other != number) {
                        self.console.watch().step("upload", 0, 0)?;
                        ready.resident = Some((number, Prepared::upload(graph, number)?));
                    }
                }
                (_, (Device::Cpu, algorithm)) if algorithm.starts_from_csr() => {
                    self.console.watch().step("prepare", 0, 0)?;
                    graph.csr();
                }
                _ => continue,
            }
            ready.is_prepared = true;
        }
        Ok(ready)
    }

    /// One run of everyone, untimed: proves the first forest minimum, compares the others with it, reads peaks of
    /// memory.
    fn warm_up<'a>(&mut self, ready: &mut Ready, subject: &'a Subject) -> Result<(Vec<Row<'a>>, Forest, Duration)> {
        let graph = ready.graph;
        let mut rows = Vec::new();
        let mut first = None;
        for contender in &subject.contenders {
            let (outcome, peak) = peak_of(|| self.solve(ready, contender));
            let (forest, _) = outcome.map_err(|error| about(&subject.name, error))?;
            match &first {
                None => {
                    let start = Instant::now();
                    kostra::verify(graph, forest.edges(), false, &self.console.quiet())
                        .map_err(|error| about(&format!("{}: {contender}", subject.name), error))?;
                    subject.check(&forest)?;
                    first = Some((forest, start.elapsed()));
                }
                Some((first, _)) => compare(&forest, first, subject, contender)?,
            }
            let ran = kostra::resolve(graph, &contender.run)?.1.name();
            rows.push(Row { contender, ran, peak, times: Vec::new() });
            self.step()?;
        }
        let (forest, verify) = first
            .ok_or_else(|| Error::File { file: subject.name.clone(), what: "nobody runs on this graph".into() })?;
        Ok((rows, forest, verify))
    }

    /// The timed runs. Everyone has a turn in every repetition, each time in another order: what the machine does
    /// meanwhile hits all alike, and nobody always comes after the one who leaves the caches full.
    fn repeat(&mut self, ready: &mut Ready, subject: &Subject, first: &Forest, rows: &mut [Row]) -> Result<()> {
        let mut order: Vec<usize> = (0..rows.len()).collect();
        for repetition in 0..self.repeats {
            order.sort_by_key(|&contender| shuffled(repetition, contender));
            for &contender in &order {
                let row = &mut rows[contender];
                let (forest, time) = self.solve(ready, row.contender).map_err(|error| about(&subject.name, error))?;
                compare(&forest, first, subject, row.contender)?;
                row.times.push(time);
                self.step()?;
            }
        }
        Ok(())
    }

    /// The forest, and the time to find it: for a graph that is on a GPU without the forest's way back.
    fn solve(&self, ready: &mut Ready, contender: &Contender) -> Result<(Forest, Duration)> {
        let run: Run = contender.run.clone().watched_by(self.console.quiet());
        self.pools[&contender.threads].install(|| match (&mut ready.resident, run.device()) {
            (Some((_, resident)), Device::Cuda(_)) if !contender.end_to_end => resident.solve(&run),
            _ => Prepared::Host(ready.graph).solve(&run),
        })
    }

    fn step(&mut self) -> Result<()> {
        self.done += 1;
        self.console.watch().step("measure", self.done, self.total)
    }
}

/// A number that puts the contenders of a repetition in an order, the same one whenever the suite is run.
fn shuffled(repetition: usize, contender: usize) -> u64 {
    let mut hasher = DefaultHasher::new();
    (repetition, contender).hash(&mut hasher);
    hasher.finish()
}

/// A pool per number of threads, kept for the whole suite.
fn pools(suite: &Suite) -> Result<BTreeMap<usize, ThreadPool>> {
    let mut pools = BTreeMap::new();
    for contender in suite.subjects.iter().flat_map(|subject| &subject.contenders) {
        let threads = contender.threads;
        if let std::collections::btree_map::Entry::Vacant(place) = pools.entry(threads) {
            let pool = ThreadPoolBuilder::new().num_threads(threads).build();
            place.insert(pool.map_err(|error| Error::Device {
                name: contender.device.clone(),
                what: format!("{threads} threads did not start ({error})"),
            })?);
        }
    }
    Ok(pools)
}

/// Every forest must be the first one, edge for edge: that is the law.
fn compare(forest: &Forest, first: &Forest, subject: &Subject, contender: &Contender) -> Result<()> {
    if forest.edges() == first.edges() {
        return Ok(());
    }
    let first = &subject.contenders[0];
    Err(Error::File {
        file: subject.name.clone(),
        what: format!("{contender} found another forest than {first}; this is a bug, please report it"),
    })
}

/// The same error with whom it is about; interruptions are about nobody.
fn about(whom: &str, error: Error) -> Error {
    match error {
        Error::Cancelled => Error::Cancelled,
        error => Error::File { file: whom.into(), what: error.to_string() },
    }
}
