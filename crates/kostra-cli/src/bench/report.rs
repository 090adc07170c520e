//! The figures of a suite, and how they are told: tables for a person, CSV and JSON for programs.

use std::time::{Duration, SystemTime};

use serde::Serialize;

use super::figures::{geometric_mean, median, quotient, spread};
use super::machine::Machine;
use super::measure::{Measured, Row};
use super::suite::{Baseline, Contender, Suite};
use crate::human;
use crate::json::{self, ForestReport};

/// The columns of results.csv. bench/peers adds rows of the same kind.
const COLUMNS: &str = "graph,input,vertices,edges,weights,forest_edges,trees,weight,digest,algorithm,ran,device,threads,\
                       median_seconds,min_seconds,spread,edges_per_second,speedup,peak_bytes,prepare_seconds,seconds";

/// The JSON object, in the order of its keys; the tables and the CSV show the same.
#[derive(Serialize)]
pub(super) struct Report<'a> {
    suite: SuiteReport<'a>,
    kostra: &'static str,
    date: String,
    machine: Machine,
    repeats: usize,
    baseline: Option<&'a Baseline>,
    notes: &'a [String],
    graphs: Vec<GraphReport<'a>>,
    geometric_means: Vec<Mean<'a>>,
}

#[derive(Serialize)]
struct SuiteReport<'a> {
    name: &'a str,
    description: &'a str,
    toml: &'a str,
}

#[derive(Serialize)]
struct GraphReport<'a> {
    name: &'a str,
    input: &'a str,
    vertices: usize,
    edges: usize,
    /// The type of its weights.
    weights: &'static str,
    forest: ForestReport,
    seconds: GraphSeconds,
    results: Vec<Figures<'a>>,
    #[serde(skip)]
    generated: bool,
}

#[derive(Serialize)]
struct GraphSeconds {
    read: f64,
    prepare: Option<f64>,
    verify: f64,
}

/// What is said of a contender on a graph.
#[derive(Serialize)]
struct Figures<'a> {
    #[serde(flatten)]
    who: Who<'a>,
    /// The algorithm that ran: what `auto` chose.
    ran: &'static str,
    median: f64,
    min: f64,
    spread: f64,
    edges_per_second: Option<f64>,
    /// How many times as fast as the baseline.
    speedup: Option<f64>,
    peak_bytes: Option<u64>,
    seconds: Vec<f64>,
}

/// A contender.
#[derive(Clone, Copy, PartialEq, Serialize)]
struct Who<'a> {
    algorithm: &'a str,
    device: &'a str,
    threads: usize,
}

/// The geometric mean of a contender's speedups over all graphs, if it has one on each.
#[derive(Serialize)]
struct Mean<'a> {
    #[serde(flatten)]
    who: Who<'a>,
    speedup: Option<f64>,
}

impl<'a> Report<'a> {
    /// The figures of what was measured.
    pub(super) fn new(suite: &'a Suite, measured: &'a [Measured<'a>]) -> Self {
        let baseline = suite.baseline.as_ref();
        let graphs: Vec<_> = measured.iter().map(|measured| GraphReport::new(measured, baseline)).collect();
        let geometric_means = if baseline.is_some() { means(&graphs) } else { Vec::new() };
        Self {
            suite: SuiteReport { name: &suite.name, description: &suite.description, toml: &suite.text },
            kostra: env!("CARGO_PKG_VERSION"),
            date: humantime::format_rfc3339_seconds(SystemTime::now()).to_string(),
            machine: Machine::this(),
            repeats: suite.repeats,
            baseline,
            notes: &suite.notes,
            graphs,
            geometric_means,
        }
    }

    /// A table per graph, then one of speedups.
    pub(super) fn text(&self) -> String {
        let mut text: String = self.graphs.iter().map(|graph| graph.text(self.baseline.is_some()) + "\n").collect();
        if let Some(baseline) = self.baseline {
            text += &self.speedups(baseline);
        }
        for note in self.notes {
            text += &format!("{note}\n");
        }
        text
    }

    /// A row per contender, a column per graph.
    fn speedups(&self, baseline: &Baseline) -> String {
        let against = match baseline.threads {
            None => "the same number of threads".into(),
            Some(threads) => human::counted(threads, "thread", "threads"),
        };
        let title = format!("speedup: times as fast as {} with {against}\n", baseline.algorithm);
        let names: Vec<String> = self.graphs.iter().map(|graph| human::one_line(graph.name)).collect();
        let headings: Vec<&str> = names.iter().map(String::as_str).chain(["geometric mean"]).collect();
        let rows: Vec<_> = self
            .geometric_means
            .iter()
            .map(|mean| {
                let cells = self.graphs.iter().map(|graph| graph.figures(mean.who).and_then(|figures| figures.speedup));
                (mean.who.algorithm.to_owned(), mean.who, cells.chain([mean.speedup]).map(ratio).collect())
            })
            .collect();
        title + &table(&headings, &rows)
    }

    /// A line per graph and contender.
    pub(super) fn csv(&self) -> String {
        let lines = self.graphs.iter().flat_map(|graph| graph.results.iter().map(|figures| graph.csv_line(figures)));
        std::iter::once(COLUMNS.to_owned()).chain(lines).map(|line| line + "\n").collect()
    }
}

impl<'a> GraphReport<'a> {
    fn new(measured: &'a Measured<'a>, baseline: Option<&Baseline>) -> Self {
        let subject = measured.subject;
        Self {
            name: &subject.name,
            input: &subject.input,
            vertices: measured.vertices,
            edges: measured.edges,
            weights: measured.weights,
            forest: ForestReport::new(measured.forest_edges, measured.trees, measured.weight, measured.digest),
            seconds: GraphSeconds {
                read: json::seconds(measured.load),
                prepare: measured.prepare.map(json::seconds),
                verify: json::seconds(measured.verify),
            },
            results: measured.rows.iter().map(|row| Figures::new(row, measured, baseline)).collect(),
            generated: measured.generated,
        }
    }

    fn figures(&self, who: Who) -> Option<&Figures<'a>> {
        self.results.iter().find(|figures| figures.who == who)
    }

    fn text(&self, with_speedup: bool) -> String {
        let time = |seconds| human::time(Duration::from_secs_f64(seconds));
        let verb = if self.generated { "generated" } else { "read" };
        let prepared = self.seconds.prepare.map_or(String::new(), |seconds| format!(", prepared in {}", time(seconds)));
        let head = format!(
            "{}: {}\n{} and {} ({}); forest of {} in {}, weight {}\n{verb} in {}{prepared}, verified in {}\n",
            human::one_line(self.name),
            human::one_line(self.input),
            human::counted(self.vertices, "vertex", "vertices"),
            human::counted(self.edges, "edge", "edges"),
            self.weights,
            human::counted(self.forest.edges, "edge", "edges"),
            human::counted(self.forest.trees, "tree", "trees"),
            self.forest.weight,
            time(self.seconds.read),
            time(self.seconds.verify),
        );
        let mut headings = vec!["median", "min", "spread", "Medges/s"];
        headings.extend(with_speedup.then_some("speedup"));
        headings.push("memory");
        let row = |figures: &Figures<'a>| {
            let mut cells = vec![
                time(figures.median),
                time(figures.min),
                format!("{:.0} %", figures.spread * 100.0),
                figures.edges_per_second.map_or(String::new(), |speed| format!("{:.1}", speed / 1e6)),
            ];
            cells.extend(with_speedup.then(|| ratio(figures.speedup)));
            cells.push(figures.peak_bytes.map_or(String::new(), human::bytes));
            let name = match figures.who.algorithm {
                "auto" => format!("auto ({})", figures.ran),
                named => named.into(),
            };
            (name, figures.who, cells)
        };
        head + &table(&headings, &self.results.iter().map(row).collect::<Vec<_>>())
    }

    fn csv_line(&self, figures: &Figures) -> String {
        let Who { algorithm, device, threads } = figures.who;
        let seconds: Vec<String> = figures.seconds.iter().map(f64::to_string).collect();
        [
            quoted(self.name),
            quoted(self.input),
            self.vertices.to_string(),
            self.edges.to_string(),
            self.weights.into(),
            self.forest.edges.to_string(),
            self.forest.trees.to_string(),
            self.forest.weight.to_string(),
            self.forest.digest.clone(),
            quoted(algorithm),
            figures.ran.into(),
            device.into(),
            threads.to_string(),
            figures.median.to_string(),
            figures.min.to_string(),
            figures.spread.to_string(),
            cell(figures.edges_per_second),
            cell(figures.speedup),
            cell(figures.peak_bytes),
            cell(self.seconds.prepare),
            seconds.join(" "),
        ]
        .join(",")
    }
}

impl<'a> Figures<'a> {
    fn new(row: &'a Row, measured: &Measured, baseline: Option<&Baseline>) -> Self {
        let middle = median(&row.times);
        let is_unit = |other: &&Row| {
            let Contender { algorithm, device, threads, .. } = other.contender;
            baseline.is_some_and(|baseline| {
                *algorithm == baseline.algorithm
                    && *device == row.contender.device
                    && *threads == baseline.threads.unwrap_or(row.contender.threads)
            })
        };
        let unit = measured.rows.iter().find(is_unit).map(|other| median(&other.times));
        Self {
            who: Who::from(row.contender),
            ran: row.ran,
            median: json::seconds(middle),
            min: json::seconds(row.times.iter().min().copied().unwrap_or_default()),
            spread: spread(&row.times),
            edges_per_second: quotient(Duration::from_secs(1), middle).map(|speed| speed * measured.edges as f64),
            speedup: unit.and_then(|unit| quotient(unit, middle)),
            peak_bytes: row.peak,
            seconds: row.times.iter().copied().map(json::seconds).collect(),
        }
    }
}

impl<'a> From<&'a Contender> for Who<'a> {
    fn from(contender: &'a Contender) -> Self {
        let Contender { algorithm, device, threads, .. } = contender;
        Self { algorithm, device, threads: *threads }
    }
}

/// Everyone who ran somewhere, with the mean of their speedups if they ran everywhere.
fn means<'a>(graphs: &[GraphReport<'a>]) -> Vec<Mean<'a>> {
    let mut all: Vec<Who> = Vec::new();
    for figures in graphs.iter().flat_map(|graph| &graph.results) {
        if !all.contains(&figures.who) {
            all.push(figures.who);
        }
    }
    let mean = |who| {
        let speedups: Option<Vec<f64>> = graphs.iter().map(|graph| graph.figures(who)?.speedup).collect();
        Mean { who, speedup: speedups.and_then(|speedups| geometric_mean(&speedups)) }
    };
    all.into_iter().map(mean).collect()
}

/// A table whose rows begin with a contender, at the left.
fn table(headings: &[&str], rows: &[(String, Who, Vec<String>)]) -> String {
    let width = rows.iter().map(|(name, ..)| name.chars().count()).max().unwrap_or(0).max("algorithm".len());
    let several_devices = rows.iter().any(|(_, who, _)| who.device != rows[0].1.device);
    let first = format!("{:width$}", "algorithm");
    let mut all_headings = vec![first.as_str()];
    all_headings.extend(several_devices.then_some("device"));
    all_headings.push("threads");
    all_headings.extend(headings);
    let row = |(name, who, cells): &(String, Who, Vec<String>)| {
        let mut row = vec![format!("{name:width$}")];
        row.extend(several_devices.then(|| who.device.to_owned()));
        row.push(who.threads.to_string());
        row.extend(cells.iter().cloned());
        row
    };
    let table = human::table(&all_headings, &rows.iter().map(row).collect::<Vec<_>>());
    // Empty cells at the end of a line need no blanks.
    table.lines().map(|line| line.trim_end().to_owned() + "\n").collect()
}

fn ratio(ratio: Option<f64>) -> String {
    ratio.map_or(String::new(), |ratio| format!("{ratio:.2}"))
}

fn cell(value: Option<impl ToString>) -> String {
    value.map_or(String::new(), |value| value.to_string())
}

/// A cell of text, in quotes where it would not be one cell without.
fn quoted(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_with_commas_and_quotes_are_quoted() {
        assert_eq!(quoted("kruskal"), "kruskal");
        assert_eq!(quoted("grid:rows=2,cols=3"), "\"grid:rows=2,cols=3\"");
        assert_eq!(quoted("a \"b\""), "\"a \"\"b\"\"\"");
    }

    #[test]
    fn devices_are_shown_where_they_differ() {
        let who = |algorithm, device| Who { algorithm, device, threads: 2 };
        let row = |who: Who<'static>| (who.algorithm.to_owned(), who, vec!["1.00".into()]);
        let one = [row(who("filter-kruskal", "cpu")), row(who("ecl:seed=7", "cpu"))];
        assert_eq!(
            table(&["speedup"], &one),
            "algorithm       threads  speedup\nfilter-kruskal        2     1.00\necl:seed=7            2     1.00\n"
        );
        let two = [row(who("ecl", "cpu")), row(who("ecl", "cuda:0"))];
        assert!(table(&["speedup"], &two).contains("ecl        cuda:0        2     1.00\n"));
    }
}
