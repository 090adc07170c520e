//! `kostra bench`: measure algorithms on the graphs of a suite.
//!
//! Data flows one way: a [`suite`] says what to run, [`measure`] runs it, [`results`] holds what came out, [`report`] tells.

mod average;
mod machine;
mod measure;
mod mst_bc;
mod report;
mod results;
mod resume;
mod suite;

use std::path::{Path, PathBuf};

use clap::Args;
use clap::builder::RangedU64ValueParser;
use kostra::Watch;
use kostra::io::{check_writable, write_text};
use serde::Serialize;

use self::results::Results;
use self::suite::{Changes, EMBEDDED, Suite, description};
use crate::console::Console;
use crate::failure::Failure;
use crate::human::Lines;
use crate::input::Threads;
use crate::json;
use crate::summary::Summary;

const SUITES: &str = "\
Every contender (an algorithm on a device with a number of threads) runs once untimed and then N times, in turns with
the others. Every forest is compared with the first, and the first is proven minimum. Shown are the median, the
minimum, the spread (max - min) / median, millions of edges a second, the speedup (the baseline's median / its own)
and by how much memory grew at its peak.

A suite in TOML:
  description = \"small and large\"
  algorithms = [\"kostra\", \"kruskal@cpu\", \"ecl:seed={1..5}\"]   # @DEVICE: there only; {a,b}, {1..5}: one for each
  baseline = \"kruskal\"                   # optional; with baseline-threads = 1 always that of one thread
  threads = [1, \"all\"]                   # default: all
  devices = [\"cpu\"]                      # default: auto; GPUs solve a graph that is already there, and with
  end-to-end = [\"kostra\"]              # these also from the caller's arrays to the forest
  repeats = 5                            # default: 5; with seconds = 2 fewer for who has run so long on a graph
  [[graph]]
  input = \"er:n=100000,degree={4,8}\"    # a SPEC, or a file, relative to the suite's own; {a,b}: a graph for each
  name = \"random\"                        # optional, as are:
  groups = [\"degrees\"]                   # what figures call it
  file = \"USA-road-d.NY\"                 # taken instead of the SPEC if it is in --graphs DIR, with any extension,
  weights = \"ecl\"                        # and, if it has no weights, with these
  weight = 181561814202                  # of the forest
  digest = \"bcdf161837d31f18\"
  algorithms = [\"kruskal\"]               # instead of the suite's, as are
  threads = [1]
  statistics = [\"mst-bc:p=8\"]            # how far Bader and Cong's first iteration with 8 processors shrinks the graph
  paper = { \"their GPU\" = 0.039 }        # seconds
  [[figure]]                             # of the report, in this order
  title = \"Times by degree\"
  kind = \"line\"                          # table, line, bar or box
  groups = [\"degrees\"]                   # default: all graphs
  x = \"degree\"                           # graph, vertices, edges, density, threads, round, a key of SPECs, an option
  y = [\"time\"]                           # throughput, speedup, efficiency, iterations, a statistic; tables take several
  algorithms = [\"kostra\"]                # default: all
  log = \"xy\"                             # default of lines; \"x\", \"y\", \"\"
  note = \"what it shows\"
  facts = [\"vertices\", \"trees\"]        # of graphs, in tables
  paper = [\"their GPU\"]                  # columns, in tables

Examples:
  kostra bench                           list the suites inside the program
  kostra bench quick
  kostra bench cpu --out results         also write report.html, report.md, results.csv and results.json
  kostra bench cpu --out results --resume            go on after Ctrl-C
  kostra bench fallin2023 --out results --graphs ~/graphs --limit-edges 5000000
  kostra bench my.toml --repeat 9 --json";

/// Measure algorithms on the graphs of a suite
#[derive(Args)]
#[command(after_help = SUITES)]
pub(crate) struct Bench {
    /// The name of a suite, or a TOML file; without it the suites are listed
    #[arg(value_name = "SUITE")]
    suite: Option<PathBuf>,
    /// Write report.html, report.md, results.csv and results.json to this folder
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Go on from the results in that folder: graphs that are there are not measured again
    #[arg(long, requires = "out")]
    resume: bool,
    /// Take the papers' own files from this folder, where they are
    #[arg(long, value_name = "DIR")]
    graphs: Option<PathBuf>,
    /// Skip graphs that are expected to have more edges
    #[arg(long, value_name = "N")]
    limit_edges: Option<u64>,
    /// Measure on this device instead of the suite's: auto, cpu, cuda or cuda:N
    #[arg(long, value_name = "DEVICE")]
    device: Option<String>,
    /// Time every contender N times instead of as often as the suite says
    #[arg(long, value_name = "N", value_parser = RangedU64ValueParser::<usize>::new().range(1..))]
    repeat: Option<usize>,
    /// List the suites inside the program
    #[arg(long, conflicts_with_all = ["suite", "out", "resume", "graphs", "limit_edges", "device", "repeat"])]
    list: bool,
    /// Print one JSON object, as in results.json
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Entry {
    name: &'static str,
    description: String,
}

impl Bench {
    /// Measures, writes, tells; or lists.
    pub(crate) fn run(&self, console: &Console) -> Result<Summary, Failure> {
        let Some(name) = &self.suite else { return self.list() };
        Threads::default().start()?;
        let changes = Changes {
            device: self.device.clone(),
            repeats: self.repeat,
            graphs: self.graphs.clone(),
            limit_edges: self.limit_edges,
        };
        if let Some(folder) = self.graphs.as_ref().filter(|folder| !folder.is_dir()) {
            let what = "is no folder; --graphs names one with the papers' files".into();
            return Err(kostra::Error::File { file: folder.display().to_string(), what }.into());
        }
        let suite = Suite::load(name, &changes)?;
        let files = self.out.as_deref().map(Files::new).transpose()?;
        let mut results = Results::new(&suite, &changes);
        if let Some(files) = files.as_ref().filter(|_| self.resume) {
            results = resume::continued(&files.json, results)?;
        }
        let already = results.graphs.len();
        let outcome = measure::measure(&suite, &mut results, console, |results| match &files {
            Some(files) => files.save(results),
            None => Ok(()),
        });
        let mut text = if self.json { json::line(&results)? } else { report::text(&results) };
        if let Some(files) = &files
            && (outcome.is_ok() || results.graphs.len() > already)
        {
            files.write(&suite, &results)?;
            if !self.json {
                text += &format!("report: {}\n", files.html.display());
            }
        }
        outcome?;
        Ok(Summary::new(text))
    }

    fn list(&self) -> Result<Summary, Failure> {
        let measures = self.out.is_some() || self.device.is_some() || self.repeat.is_some();
        if measures || self.graphs.is_some() || self.limit_edges.is_some() {
            return Err(Failure::usage("bench", "there is no SUITE to measure; `kostra bench --list` lists them"));
        }
        if self.json {
            let entry = |(name, text)| Entry { name, description: description(text) };
            return Ok(Summary::new(json::line(&EMBEDDED.map(entry))?));
        }
        let mut lines = Lines::default();
        EMBEDDED.into_iter().for_each(|(name, text)| lines.add(name, description(text)));
        Ok(Summary::new(lines.to_string()))
    }
}

/// The files in the folder of results.
struct Files {
    html: PathBuf,
    markdown: PathBuf,
    csv: PathBuf,
    json: PathBuf,
}

impl Files {
    /// Makes the folder. That the files can be written is found out before the work.
    fn new(folder: &Path) -> kostra::Result<Self> {
        std::fs::create_dir_all(folder)
            .map_err(|source| kostra::Error::Io { file: folder.display().to_string(), source })?;
        let file = |name| folder.join(name);
        let files = Self {
            html: file("report.html"),
            markdown: file("report.md"),
            csv: file("results.csv"),
            json: file("results.json"),
        };
        [&files.html, &files.markdown, &files.csv, &files.json].into_iter().try_for_each(check_writable)?;
        Ok(files)
    }

    /// Writes what `--resume` needs: after every graph, so that no end of the process loses more than one.
    fn save(&self, results: &Results) -> kostra::Result<()> {
        // A file is replaced whole. The watch is nobody's: what is done is kept after Ctrl-C, too.
        write_text(&json::text(results)?, &self.json, &Watch::new())
    }

    /// Writes everything.
    fn write(&self, suite: &Suite, results: &Results) -> kostra::Result<()> {
        self.save(results)?;
        write_text(&report::csv(results), &self.csv, &Watch::new())?;
        write_text(&report::markdown(suite, results), &self.markdown, &Watch::new())?;
        write_text(&report::html(suite, results), &self.html, &Watch::new())
    }
}
