//! The runs: every contender on every graph, in turns, each result checked.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::{Duration, Instant};

use kostra::io::ReadOptions;
use kostra::{Device, Error, Forest, Graph, Result, Run};
use rayon::{ThreadPool, ThreadPoolBuilder};

use super::machine::peak_of;
use super::results::{Counts, GraphResult, GraphSeconds, Results, Row, Statistic};
use super::suite::{Contender, Subject, Suite};
use crate::console::Console;
use crate::input::{self, Loaded};
use crate::json::{self, ForestReport};
use crate::prepared::Prepared;

/// What is done once for a graph (generating, preparing, verifying) costs about as much as so many solves.
const ONCE: u64 = 4;

/// Runs what of the suite has no results yet. `save` is called after every graph.
pub(super) fn measure(
    suite: &Suite,
    results: &mut Results,
    console: &Console,
    mut save: impl FnMut(&Results) -> Result<()>,
) -> Result<()> {
    let subjects: Vec<&Subject> =
        suite.subjects.iter().filter(|subject| results.graph(&subject.name).is_none()).collect();
    let total = subjects.iter().map(|subject| cost(suite, subject)).sum();
    let limit = results.changes.limit_edges;
    let mut bench =
        Bench { pools: pools(suite)?, suite, limit, console, about: String::new(), notes: Vec::new(), done: 0, total };
    for (i, subject) in subjects.iter().enumerate() {
        bench.about = format!("graph {} of {}: {}", i + 1, subjects.len(), subject.name);
        let end = bench.done + cost(suite, subject);
        match bench.measure(subject)? {
            Some(graph) => results.add(graph),
            None => {
                results.notes.push(format!("skipped {}: it has more edges than the limit, or nobody ran", subject.name))
            }
        }
        results.notes.append(&mut bench.notes);
        bench.done = end;
        save(results)?;
    }
    results.complete = true;
    Ok(())
}

/// The work on a graph, in units of solves times edges: what is known of it before.
fn cost(suite: &Suite, subject: &Subject) -> u64 {
    let solves = (suite.repeats as u64 + 1) * subject.contenders.len() as u64;
    (solves + ONCE) * subject.expected_edges.max(1)
}

/// A graph where its contenders expect it.
struct Ready<'g> {
    graph: &'g Graph<'g>,
    /// On the GPU of that number.
    resident: Option<(u32, Prepared<'g>)>,
    /// Why it is not on the GPU.
    refused: Option<Error>,
    /// Whether anything had to be done.
    is_prepared: bool,
}

/// A contender on a graph, and what it took so far.
struct Entry<'s> {
    contender: &'s Contender,
    row: Row,
    times: Vec<Duration>,
}

struct Bench<'a> {
    pools: BTreeMap<usize, ThreadPool>,
    suite: &'a Suite,
    /// Files with more edges are skipped.
    limit: Option<u64>,
    console: &'a Console,
    /// Which graph this is, for the progress.
    about: String,
    /// Who did not run on a graph, and why.
    notes: Vec<String>,
    /// Work so far, and in all.
    done: u64,
    total: u64,
}

impl Bench<'_> {
    /// The results on a graph; none if it is too large or nobody ran.
    fn measure(&mut self, subject: &Subject) -> Result<Option<GraphResult>> {
        let named = |error| about(&subject.name, error);
        self.tell(subject, "generate or read", 0)?;
        let watch = self.console.quiet();
        let options = ReadOptions { watch: watch.clone(), ..ReadOptions::default() };
        let loaded = input::load(&subject.path, &options, self.console).map_err(named)?;
        let Loaded { mut graph, generated, time: load, .. } = loaded;
        if self.limit.is_some_and(|limit| !generated && graph.edges() as u64 > limit) {
            return Ok(None);
        }
        if let Some(rule) = subject.weights.as_ref().filter(|_| !generated && graph.weights().is_unit()) {
            let weights = rule.weights(&graph).map_err(named)?;
            graph = graph.with_weights(weights).map_err(named)?;
        }
        let start = Instant::now();
        let mut ready = self.prepare(&graph, subject).map_err(named)?;
        let prepare = ready.is_prepared.then(|| start.elapsed());
        let mut entries = Vec::new();
        let Some((forest, verify)) = self.warm_up(&mut ready, subject, &mut entries)? else { return Ok(None) };
        self.repeat(&mut ready, subject, &forest, &mut entries)?;
        let mut result = GraphResult {
            name: subject.name.clone(),
            input: subject.input.clone(),
            vertices: graph.vertices(),
            edges: graph.edges(),
            weights: graph.weights().type_name().into(),
            forest: ForestReport::new(forest.len(), forest.trees(), forest.weight(), forest.digest()),
            seconds: GraphSeconds {
                read: json::seconds(load),
                prepare: prepare.map(json::seconds),
                verify: json::seconds(verify),
            },
            results: entries.into_iter().map(|entry| entry.row).collect(),
            generated,
            instead_of: subject.instead_of.clone(),
            statistics: self.statistics(&graph, subject)?,
        };
        if let Some(baseline) = &self.suite.baseline {
            result.compare_with(baseline);
        }
        Ok(Some(result))
    }

    /// Builds the adjacency lists if a contender starts from them, and uploads the graph if one expects it on a GPU: once for
    /// all, with most threads.
    fn prepare<'g>(&self, graph: &'g Graph<'g>, subject: &Subject) -> Result<Ready<'g>> {
        let mut ready = Ready { graph, resident: None, refused: None, is_prepared: false };
        for contender in &subject.contenders {
            match (contender.run.device(), kostra::resolve(graph, &contender.run)?) {
                (Device::Cuda(number), _) if !contender.end_to_end => {
                    if ready.resident.as_ref().is_none_or(|(other, _)| *other != number) {
                        match Prepared::upload(graph, number) {
                            Ok(resident) => ready.resident = Some((number, resident)),
                            Err(error) => ready.refused = Some(error),
                        }
                    }
                }
                (_, (Device::Cpu, algorithm)) if algorithm.starts_from_csr() => {
                    graph.csr();
                }
                _ => continue,
            }
            ready.is_prepared = true;
        }
        Ok(ready)
    }

    /// One run of everyone: proves the first forest minimum, compares the others with it, reads peaks of memory and what
    /// is to be counted. It is not timed, for counting and cold caches cost time; but who takes longer than the seconds
    /// of the suite, where neither matters, need not run again. Whoever fails on a GPU, mostly for want of its memory, is left out, with a note.
    fn warm_up<'s>(
        &mut self,
        ready: &mut Ready,
        subject: &'s Subject,
        entries: &mut Vec<Entry<'s>>,
    ) -> Result<Option<(Forest, Duration)>> {
        let graph = ready.graph;
        let mut first = None;
        for contender in &subject.contenders {
            self.tell(subject, contender, 1)?;
            let (outcome, peak) = peak_of(|| self.solve(ready, contender, contender.counts));
            let (forest, time) = match outcome {
                Ok(solved) => solved,
                Err(Error::Cancelled) => return Err(Error::Cancelled),
                Err(error) if is_on_gpu(&contender.run) => {
                    self.notes.push(format!("skipped {contender}, on {}: {error}", subject.name));
                    continue;
                }
                Err(error) => return Err(about(&subject.name, error)),
            };
            let mut row = Row::new(contender, kostra::resolve(graph, &contender.run)?.1.name(), peak);
            row.stats = forest.stats().map(Counts::from);
            let is_enough = !contender.counts && time >= self.enough();
            entries.push(Entry { contender, row, times: if is_enough { vec![time] } else { Vec::new() } });
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
        }
        Ok(first)
    }

    /// What is counted on the graph beside the contenders.
    fn statistics(&mut self, graph: &Graph, subject: &Subject) -> Result<Vec<Statistic>> {
        let mut statistics = Vec::new();
        for statistic in &subject.statistics {
            self.tell(subject, statistic.name(), 0)?;
            let (before, after) = statistic.first_iteration(graph, &self.console.quiet())?;
            let round = [("vertices", before as f64), ("reduction", before as f64 / after.max(1) as f64)];
            let rounds = vec![round.map(|(name, value)| (name.to_owned(), value)).into()];
            statistics.push(Statistic { name: statistic.name(), stats: Counts { rounds, ..Counts::default() } });
        }
        Ok(statistics)
    }

    /// The timed runs. Everyone has a turn in every repetition, each time in another order: what the machine does
    /// meanwhile hits all alike, and nobody always comes after the one who leaves the caches full. Who has had the
    /// seconds of the suite has no further turn.
    fn repeat(&mut self, ready: &mut Ready, subject: &Subject, first: &Forest, entries: &mut [Entry]) -> Result<()> {
        let enough = self.enough();
        let mut order: Vec<usize> = (0..entries.len()).collect();
        for repetition in 0..self.suite.repeats {
            order.sort_by_key(|&contender| shuffled(repetition, contender));
            for &i in &order {
                let Entry { contender, times, .. } = &mut entries[i];
                self.tell(subject, &contender, 1)?;
                if times.iter().sum::<Duration>() >= enough {
                    continue;
                }
                let (forest, time) =
                    self.solve(ready, contender, false).map_err(|error| about(&subject.name, error))?;
                compare(&forest, first, subject, contender)?;
                times.push(time);
            }
        }
        for Entry { row, times, .. } in entries {
            row.set_times(times, ready.graph.edges());
        }
        Ok(())
    }

    /// The time after which a contender has run often enough on a graph.
    fn enough(&self) -> Duration {
        self.suite.seconds.map_or(Duration::MAX, Duration::from_secs_f64)
    }

    /// The forest, and the time to find it: for a graph that is on a GPU without the forest's way back.
    fn solve(&self, ready: &mut Ready, contender: &Contender, stats: bool) -> Result<(Forest, Duration)> {
        let run: Run = contender.run.clone().with_stats(stats).watched_by(self.console.quiet());
        // GPUs are launched by the thread that asks, as in other programs: in a pool it would be another one each time, which has
        // nothing of the driver in its cache and takes 20 us longer.
        if !is_on_gpu(&run) {
            return self.pools[&contender.threads].install(|| Prepared::Host(ready.graph).solve(&run));
        }
        match &mut ready.resident {
            _ if contender.end_to_end => Prepared::Host(ready.graph).solve(&run),
            Some((_, resident)) => resident.solve(&run),
            None => Err(Error::Device {
                name: contender.device.clone(),
                what: ready.refused.as_ref().map_or("the graph is not there".into(), Error::to_string),
            }),
        }
    }

    /// Shows what comes next, after so many more solves, and stops if it is to.
    fn tell(&mut self, subject: &Subject, next: impl std::fmt::Display, solves: u64) -> Result<()> {
        self.done += solves * subject.expected_edges.max(1);
        self.console.say(|| format!("{}, {next}", self.about));
        self.console.watch().step("measure", self.done, self.total)
    }
}

fn is_on_gpu(run: &Run) -> bool {
    matches!(run.device(), Device::Cuda(_))
}

/// A number that puts the contenders of a repetition in an order, the same one whenever the suite is run.
fn shuffled(repetition: usize, contender: usize) -> u64 {
    let mut hasher = DefaultHasher::new();
    (repetition, contender).hash(&mut hasher);
    hasher.finish()
}

/// A pool per number of threads, kept for the whole suite, for those that do not run on a GPU.
fn pools(suite: &Suite) -> Result<BTreeMap<usize, ThreadPool>> {
    let mut pools = BTreeMap::new();
    let contenders = suite.subjects.iter().flat_map(|subject| &subject.contenders);
    for contender in contenders.filter(|contender| !is_on_gpu(&contender.run)) {
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
    Err(Error::File {
        file: subject.name.clone(),
        what: format!(
            "{contender} found another forest than the first, which is minimum; this is a bug, please report it"
        ),
    })
}

/// The same error with whom it is about; interruptions are about nobody.
fn about(whom: &str, error: Error) -> Error {
    match error {
        Error::Cancelled => Error::Cancelled,
        error => Error::File { file: whom.into(), what: error.to_string() },
    }
}
