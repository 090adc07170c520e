//! What was measured, as results.json has it: written after every graph, and read again by `--resume`.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::average::{geometric_mean, median, quotient, spread};
use super::machine::Machine;
use super::suite::{Baseline, Changes, Contender, Suite};
use crate::json::{self, ForestReport};

/// The JSON object, in the order of its keys.
#[derive(Serialize, Deserialize)]
pub(super) struct Results {
    pub(super) suite: SuiteText,
    pub(super) kostra: String,
    pub(super) date: String,
    pub(super) machine: Machine,
    pub(super) repeats: usize,
    pub(super) baseline: Option<Baseline>,
    pub(super) notes: Vec<String>,
    pub(super) graphs: Vec<GraphResult>,
    pub(super) geometric_means: Vec<Mean>,
    /// The command line.
    pub(super) command: Vec<String>,
    /// What replaced parts of the suite.
    pub(super) changes: Changes,
    /// Whether all graphs are here.
    pub(super) complete: bool,
}

#[derive(Serialize, Deserialize)]
pub(super) struct SuiteText {
    pub(super) name: String,
    pub(super) description: String,
    pub(super) toml: String,
}

/// A graph, its forest, and what its contenders took.
#[derive(Serialize, Deserialize)]
pub(super) struct GraphResult {
    pub(super) name: String,
    pub(super) input: String,
    pub(super) vertices: usize,
    pub(super) edges: usize,
    /// The type of its weights.
    pub(super) weights: String,
    pub(super) forest: ForestReport,
    pub(super) seconds: GraphSeconds,
    pub(super) results: Vec<Row>,
    pub(super) generated: bool,
    /// The paper's file that it is generated in place of.
    pub(super) instead_of: Option<String>,
    /// What was counted beside the contenders.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) statistics: Vec<Statistic>,
}

#[derive(Serialize, Deserialize)]
pub(super) struct GraphSeconds {
    /// Reading or generating it.
    pub(super) read: f64,
    /// Building adjacency lists or uploading, where a contender starts from there.
    pub(super) prepare: Option<f64>,
    /// Proving the forest minimum.
    pub(super) verify: f64,
}

/// What is said of a contender on a graph.
#[derive(Serialize, Deserialize)]
pub(super) struct Row {
    #[serde(flatten)]
    pub(super) who: Who,
    /// The algorithm that ran: what `auto` chose.
    pub(super) ran: String,
    pub(super) median: f64,
    pub(super) min: f64,
    pub(super) spread: f64,
    pub(super) edges_per_second: Option<f64>,
    /// How many times as fast as the baseline.
    pub(super) speedup: Option<f64>,
    /// By how much memory grew, at its peak.
    pub(super) peak_bytes: Option<u64>,
    pub(super) seconds: Vec<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) stats: Option<Counts>,
}

/// A contender.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Who {
    pub(super) algorithm: String,
    pub(super) device: String,
    pub(super) threads: usize,
}

/// What a contender counted in an untimed run: of the whole run, and of every round.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Counts {
    pub(super) facts: BTreeMap<String, f64>,
    pub(super) rounds: Vec<BTreeMap<String, f64>>,
}

/// What was counted on a graph beside the contenders.
#[derive(Serialize, Deserialize)]
pub(super) struct Statistic {
    pub(super) name: String,
    pub(super) stats: Counts,
}

/// The geometric mean of a contender's speedups over all graphs, if it has one on each.
#[derive(Serialize, Deserialize)]
pub(super) struct Mean {
    #[serde(flatten)]
    pub(super) who: Who,
    pub(super) speedup: Option<f64>,
}

impl Results {
    /// Of no graph yet.
    pub(super) fn new(suite: &Suite, changes: &Changes) -> Self {
        Self {
            suite: SuiteText {
                name: suite.name.clone(),
                description: suite.description.clone(),
                toml: suite.text.clone(),
            },
            kostra: env!("CARGO_PKG_VERSION").into(),
            date: humantime::format_rfc3339_seconds(std::time::SystemTime::now()).to_string(),
            machine: Machine::this(),
            repeats: suite.repeats,
            baseline: suite.baseline.clone(),
            notes: suite.notes.clone(),
            graphs: Vec::new(),
            geometric_means: Vec::new(),
            command: std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect(),
            changes: changes.clone(),
            complete: false,
        }
    }

    /// Adds a graph; the means are those of all so far.
    pub(super) fn add(&mut self, graph: GraphResult) {
        self.graphs.push(graph);
        if self.baseline.is_some() {
            self.geometric_means = means(&self.graphs);
        }
    }

    /// The graph of that name, if it was measured.
    pub(super) fn graph(&self, name: &str) -> Option<&GraphResult> {
        self.graphs.iter().find(|graph| graph.name == name)
    }
}

impl GraphResult {
    /// What is said of a contender.
    pub(super) fn row(&self, who: &Who) -> Option<&Row> {
        self.results.iter().find(|row| row.who == *who)
    }

    /// Sets everyone's speedup over the baseline, where that ran.
    pub(super) fn compare_with(&mut self, baseline: &Baseline) {
        let unit = |row: &Row| {
            let Baseline { algorithm, device, threads } = baseline;
            let device = device.as_ref().unwrap_or(&row.who.device);
            let threads = threads.unwrap_or(row.who.threads);
            let is_unit = |other: &&Row| {
                other.who.algorithm == *algorithm && other.who.device == *device && other.who.threads == threads
            };
            let unit = self.results.iter().find(is_unit)?;
            (row.median > 0.0).then(|| unit.median / row.median)
        };
        let speedups: Vec<Option<f64>> = self.results.iter().map(unit).collect();
        for (row, speedup) in self.results.iter_mut().zip(speedups) {
            row.speedup = speedup;
        }
    }
}

impl Row {
    /// Of a contender that has not been timed yet.
    pub(super) fn new(contender: &Contender, ran: &str, peak_bytes: Option<u64>) -> Self {
        let Contender { algorithm, device, threads, .. } = contender;
        Self {
            who: Who { algorithm: algorithm.clone(), device: device.clone(), threads: *threads },
            ran: ran.into(),
            median: 0.0,
            min: 0.0,
            spread: 0.0,
            edges_per_second: None,
            speedup: None,
            peak_bytes,
            seconds: Vec::new(),
            stats: None,
        }
    }

    /// The figures of its times; the speedup comes when all have run.
    pub(super) fn set_times(&mut self, times: &[Duration], edges: usize) {
        let middle = median(times);
        self.median = json::seconds(middle);
        self.min = json::seconds(times.iter().min().copied().unwrap_or_default());
        self.spread = spread(times);
        self.edges_per_second = quotient(Duration::from_secs(1), middle).map(|speed| speed * edges as f64);
        self.seconds = times.iter().copied().map(json::seconds).collect();
    }
}

impl From<&kostra::Stats> for Counts {
    fn from(stats: &kostra::Stats) -> Self {
        // JSON has no infinite numbers, and nobody counts to them.
        let named = |facts: &[(&'static str, f64)]| {
            facts.iter().filter(|(_, value)| value.is_finite()).map(|&(name, value)| (name.to_owned(), value)).collect()
        };
        Self { facts: named(&stats.facts), rounds: stats.rounds.iter().map(|round| named(round)).collect() }
    }
}

/// Everyone who ran somewhere, with the mean of their speedups if they ran everywhere.
fn means(graphs: &[GraphResult]) -> Vec<Mean> {
    let mut all: Vec<&Who> = Vec::new();
    for row in graphs.iter().flat_map(|graph| &graph.results) {
        if !all.contains(&&row.who) {
            all.push(&row.who);
        }
    }
    let mean = |who: &Who| {
        let speedups: Option<Vec<f64>> = graphs.iter().map(|graph| graph.row(who)?.speedup).collect();
        Mean { who: who.clone(), speedup: speedups.and_then(|speedups| geometric_mean(&speedups)) }
    };
    all.into_iter().map(mean).collect()
}
