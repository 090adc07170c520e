//! `kostra solve`: the forest of a graph, and how long it took.

mod stream;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::Args;
use clap::builder::RangedU64ValueParser;
use kostra::io::{WriteOptions, check_forest_output, check_writable, write_forest, write_labels};
use kostra::{Device, Forest, Graph, Run, Stats};
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use crate::console::{Console, collide, is_dash};
use crate::failure::Failure;
use crate::human::{self, Lines};
use crate::input::{Inputs, Loaded};
use crate::json::{self, ForestReport, Number, StreamReport};
use crate::prepared::Prepared;
use crate::summary::Summary;

const EXAMPLES: &str = "\
Examples:
  kostra solve roads.gr.gz                          a file, in any format
  kostra solve rmat:scale=20 --verify               a generated graph; prove the forest minimum
  kostra solve roads.gr.gz -o roads.forest          write lines `u v w edge_id`
  kostra solve roads.gr.gz -o roads.mtx             write the forest as a graph
  zcat edges.csv.gz | kostra solve - --ids sparse -o -
  kostra solve crawl/ --memory 4GiB --checkpoint crawl.checkpoint -o crawl.forest
                                                    all files of a directory, of any size
  kostra solve web:n=1000000 --algorithm boruvka --repeat 5 --json

`kostra algorithms` lists the algorithms, `kostra gen --help` the SPECs.";

/// Find the minimum (or maximum) spanning forest of a graph
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Solve {
    #[command(flatten)]
    input: Inputs,
    /// Write the forest as lines `u v w edge_id`, or as a graph if FILE has a graph's extension; `-` for standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Solve with this algorithm
    #[arg(short, long, value_name = "NAME[:KEY=VALUE,...]", default_value = "auto")]
    algorithm: String,
    /// Solve on this device: auto, cpu, cuda or cuda:N
    #[arg(long, value_name = "DEVICE", default_value = "auto")]
    device: String,
    /// Find the maximum spanning forest
    #[arg(long)]
    maximum: bool,
    /// Prove that the forest is minimum before writing it
    #[arg(long)]
    verify: bool,
    /// Solve N times and show each time
    #[arg(long, value_name = "N", default_value = "1", value_parser = RangedU64ValueParser::<usize>::new().range(1..))]
    repeat: usize,
    /// Write lines `vertex tree`, or a table to .csv or .tsv; trees are numbered by their smallest vertex
    #[arg(long, value_name = "FILE")]
    labels: Option<PathBuf>,
    /// Save the work of a graph in parts here now and then, go on from it if it exists, remove it when all is done
    #[arg(long, value_name = "FILE")]
    checkpoint: Option<PathBuf>,
    /// Show what the algorithm counted
    #[arg(long)]
    stats: bool,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// What was found and how long each step took.
struct Solved<'a> {
    loaded: &'a Loaded,
    forest: &'a Forest,
    algorithm: &'a str,
    device: &'a str,
    prepare: Duration,
    solve: Vec<Duration>,
    verify: Option<Duration>,
}

impl Solve {
    /// Reads, solves, proves, writes; then tells.
    pub(crate) fn run(&self, console: &Console) -> Result<Summary, Failure> {
        let data_on_stdout = self.data_on_stdout()?;
        let device: Device = self.device.parse()?;
        let run = Run::new(&self.algorithm)?
            .on(device)
            .maximum(self.maximum)
            .with_stats(self.stats)
            .watched_by(console.watch().clone());

        self.output.iter().try_for_each(|path| check_forest_output(path, &WriteOptions::default()))?;
        self.labels.iter().try_for_each(check_writable)?;
        if self.input.is_streamed() || self.checkpoint.is_some() {
            return stream::run(self, &run, console);
        }
        let loaded = self.input.load(console)?;
        let graph = &loaded.graph;
        let (device, ran) = kostra::resolve(graph, &run)?;
        let (mut prepared, prepare) = Prepared::new(graph, &run, console.watch())?;
        let (forest, solve) = solve_repeatedly(&mut prepared, &run, self.repeat)?;
        let verify = if self.verify { Some(prove(graph, &forest, &run)?) } else { None };
        self.write(graph, &forest, console)?;

        let device = &device.to_string();
        // As typed, with its options; but what `auto` chose rather than `auto`.
        let algorithm = if ran == run.algorithm() { &self.algorithm } else { ran.name() };
        let solved = Solved { loaded: &loaded, forest: &forest, algorithm, device, prepare, solve, verify };
        let text = if self.json { json::line(&Report::from(&solved))? } else { solved.text() };
        Ok(Summary::new(text).beside_data(data_on_stdout))
    }

    /// Whether standard output holds data. It has room for one thing.
    fn data_on_stdout(&self) -> Result<bool, Failure> {
        let dashes = [&self.output, &self.labels].into_iter().flatten().filter(|path| is_dash(path)).count();
        if dashes + usize::from(self.json) > 1 {
            let message = "only one of the forest (--output -), the labels (--labels -) and the summary (--json) can go \
                           to standard output";
            return Err(Failure::usage("solve", message));
        }
        let files = [("--output", &self.output), ("--labels", &self.labels), ("--checkpoint", &self.checkpoint)];
        let files: Vec<_> = files.into_iter().filter_map(|(name, path)| Some((name, path.as_deref()?))).collect();
        for (i, (name, path)) in files.iter().enumerate() {
            if let Some((other, _)) = files[..i].iter().find(|(_, other)| collide(other, path)) {
                return Err(Failure::usage("solve", &format!("{other} and {name} name the same file")));
            }
        }
        Ok(dashes > 0)
    }

    fn write(&self, graph: &Graph, forest: &Forest, console: &Console) -> kostra::Result<()> {
        let options = WriteOptions { watch: console.watch().clone(), ..WriteOptions::default() };
        if let Some(path) = &self.output {
            console.writing(path, || write_forest(graph, forest, path, &options))?;
        }
        if let Some(path) = &self.labels {
            console.writing(path, || write_labels(graph, &forest.labels(graph), path, console.watch()))?;
        }
        Ok(())
    }
}

/// Solves `times` times. Every run must give the same forest: that is the law, so it is checked.
fn solve_repeatedly(prepared: &mut Prepared, run: &Run, times: usize) -> kostra::Result<(Forest, Vec<Duration>)> {
    let (first, time) = prepared.solve(run)?;
    let mut all = vec![time];
    for number in 2..=times {
        let (forest, time) = prepared.solve(run)?;
        if forest.edges() != first.edges() {
            return Err(kostra::Error::Algorithm {
                name: run.algorithm().name().into(),
                what: format!("run {number} gave another forest than run 1; this is a bug, please report it"),
            });
        }
        all.push(time);
    }
    Ok((first, all))
}

fn prove(graph: &Graph, forest: &Forest, run: &Run) -> kostra::Result<Duration> {
    let start = Instant::now();
    kostra::verify(graph, forest.edges(), run.is_maximum(), run.watch())?;
    Ok(start.elapsed())
}

impl Solved<'_> {
    fn text(&self) -> String {
        let Loaded { graph, name, .. } = self.loaded;
        let forest = self.forest;
        let threads = human::counted(rayon::current_num_threads(), "thread", "threads");
        let edges = human::counted(forest.len(), "edge", "edges");
        let trees = human::counted(forest.trees(), "tree", "trees");

        let mut lines = Lines::default();
        lines.add("input", name);
        lines.add("vertices", human::count(graph.vertices()));
        lines.add("edges", human::count(graph.edges()));
        lines.add("algorithm", format!("{} on {}, {threads}", self.algorithm, self.device));
        lines.add("forest", format!("{edges} in {trees}"));
        lines.add("weight", forest.weight());
        lines.add("digest", format!("{:016x}", forest.digest()));
        lines.add(self.loaded.verb(), human::time(self.loaded.time));
        if !self.prepare.is_zero() {
            lines.add("prepare", human::time(self.prepare));
        }
        for line in solve_times(&self.solve) {
            lines.add("solve", line);
        }
        if let Some(time) = self.verify {
            lines.add("verified", format!("yes, in {}", human::time(time)));
        }
        let mut text = lines.to_string();
        if let Some(stats) = forest.stats() {
            text += &stats_text(stats);
        }
        text
    }
}

/// The time of one run; or of each, and their median.
fn solve_times(times: &[Duration]) -> Vec<String> {
    let shown: Vec<String> = times.iter().map(|&time| human::time(time)).collect();
    let mut sorted = times.to_vec();
    sorted.sort();
    match sorted[..] {
        [] | [_] => shown,
        [min, .., max] => {
            let median = (sorted[(sorted.len() - 1) / 2] + sorted[sorted.len() / 2]) / 2;
            let [min, median, max] = [min, median, max].map(human::time);
            vec![shown.join(", "), format!("median {median}, min {min}, max {max}")]
        }
    }
}

/// The facts of the run, then a table of its rounds, each after an empty line.
fn stats_text(stats: &Stats) -> String {
    let mut text = String::new();
    if !stats.facts.is_empty() {
        let mut lines = Lines::default();
        for &(name, value) in &stats.facts {
            lines.add(name, value);
        }
        text += &format!("\n{lines}");
    }
    if let Some(first) = stats.rounds.first() {
        let names = || first.iter().map(|&(name, _)| name);
        // By name: a round may lack a fact that the first has.
        let value = |round: &[(&str, f64)], name| {
            round.iter().find(|&&(other, _)| other == name).map_or(String::new(), |(_, value)| value.to_string())
        };
        let row = |(i, round): (usize, &Vec<_>)| {
            std::iter::once((i + 1).to_string()).chain(names().map(|name| value(round, name))).collect()
        };
        let rows: Vec<Vec<String>> = stats.rounds.iter().enumerate().map(row).collect();
        let headings: Vec<&str> = std::iter::once("round").chain(names()).collect();
        text += &format!("\n{}", human::table(&headings, &rows));
    }
    text
}

/// The JSON object, in the order of its keys.
#[derive(Serialize)]
struct Report<'a> {
    input: &'a str,
    vertices: usize,
    edges: u64,
    algorithm: &'a str,
    device: &'a str,
    threads: usize,
    forest: ForestReport,
    seconds: Seconds,
    verified: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stats: Option<StatsReport<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stream: Option<StreamReport>,
}

#[derive(Serialize)]
struct Seconds {
    read: f64,
    prepare: f64,
    solve: Vec<f64>,
}

#[derive(Serialize)]
struct StatsReport<'a> {
    #[serde(flatten)]
    facts: Facts<'a>,
    rounds: Vec<Facts<'a>>,
}

/// Named numbers as an object.
struct Facts<'a>(&'a [(&'static str, f64)]);

impl Serialize for Facts<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for &(name, value) in self.0 {
            // Most facts are counts; they need no `.0`.
            let whole = value.fract() == 0.0 && value.abs() < 1e15;
            map.serialize_entry(name, &if whole { Number::Integer(value as i128) } else { Number::Double(value) })?;
        }
        map.end()
    }
}

impl<'a> From<&Solved<'a>> for Report<'a> {
    fn from(solved: &Solved<'a>) -> Self {
        let Loaded { graph, name, .. } = solved.loaded;
        let forest = solved.forest;
        Self {
            input: name,
            vertices: graph.vertices(),
            edges: graph.edges() as u64,
            algorithm: solved.algorithm,
            device: solved.device,
            threads: rayon::current_num_threads(),
            forest: ForestReport::new(forest.len(), forest.trees(), forest.weight(), forest.digest()),
            seconds: Seconds {
                read: json::seconds(solved.loaded.time),
                prepare: json::seconds(solved.prepare),
                solve: solved.solve.iter().copied().map(json::seconds).collect(),
            },
            verified: solved.verify.map(|_| true),
            stats: forest.stats().map(|stats| StatsReport {
                facts: Facts(&stats.facts),
                rounds: stats.rounds.iter().map(|round| Facts(round)).collect(),
            }),
            stream: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeats_show_every_time_and_their_median() {
        let ms = |ms: &[u64]| solve_times(&ms.iter().map(|&ms| Duration::from_millis(ms)).collect::<Vec<_>>());
        assert_eq!(ms(&[8]), ["8.00 ms"]);
        assert_eq!(ms(&[9, 7]), ["9.00 ms, 7.00 ms", "median 8.00 ms, min 7.00 ms, max 9.00 ms"]);
        assert_eq!(ms(&[9, 7, 30])[1], "median 9.00 ms, min 7.00 ms, max 30.0 ms");
    }

    #[test]
    fn stats_are_an_object_with_its_facts_and_rounds() {
        let stats = Stats {
            facts: vec![("sorted", 12.0), ("ratio", 0.5)],
            rounds: vec![vec![("trees", 6.0), ("edges", 12.0)], vec![("trees", 1.0)]],
        };
        let report =
            StatsReport { facts: Facts(&stats.facts), rounds: stats.rounds.iter().map(|round| Facts(round)).collect() };
        let json = r#"{"sorted":12,"ratio":0.5,"rounds":[{"trees":6,"edges":12},{"trees":1}]}"#;
        assert_eq!(serde_json::to_string(&report).expect("JSON"), json);
        let text = "\nsorted  12\nratio   0.5\n\nround  trees  edges\n    1      6     12\n    2      1       \n";
        assert_eq!(stats_text(&stats), text);
        assert_eq!(stats_text(&Stats::default()), "");
    }
}
