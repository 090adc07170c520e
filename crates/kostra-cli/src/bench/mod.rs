//! `kostra bench`: measure algorithms on the graphs of a suite.
//!
//! Data flows one way: a [`suite`] says what to run, [`measure`] runs it, [`report`] tells.

mod figures;
mod machine;
mod measure;
mod report;
mod suite;

use std::path::{Path, PathBuf};

use clap::Args;
use clap::builder::RangedU64ValueParser;
use kostra::io::{check_writable, write_text};
use serde::Serialize;

use self::report::Report;
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
  algorithms = [\"kostra\", \"kruskal\", \"ecl:seed=7\"]
  baseline = \"kruskal\"                   # optional; with baseline-threads = 1 always that of one thread
  threads = [1, \"all\"]                   # default: all
  devices = [\"cpu\"]                      # default: auto; GPUs solve a graph that is already there, and with
  end-to-end = [\"kostra\"]              # these also from the caller's arrays to the forest
  repeats = 5                            # default: 5
  [[graph]]
  input = \"rmat:scale=20\"                # a SPEC, or a file, relative to the suite's own
  name = \"social\"                        # optional, as are:
  weight = 181561814202                  # of the forest
  digest = \"bcdf161837d31f18\"
  algorithms = [\"kruskal\"]               # instead of the suite's

Examples:
  kostra bench                           list the suites inside the program
  kostra bench quick
  kostra bench cpu --out results         also write results/results.csv and results/results.json
  kostra bench my.toml --repeat 9 --json";

/// Measure algorithms on the graphs of a suite
#[derive(Args)]
#[command(after_help = SUITES)]
pub(crate) struct Bench {
    /// The name of a suite, or a TOML file; without it the suites are listed
    #[arg(value_name = "SUITE")]
    suite: Option<PathBuf>,
    /// Write results.csv and results.json to this folder
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Measure on this device instead of the suite's: auto, cpu, cuda or cuda:N
    #[arg(long, value_name = "DEVICE")]
    device: Option<String>,
    /// Time every contender N times instead of as often as the suite says
    #[arg(long, value_name = "N", value_parser = RangedU64ValueParser::<usize>::new().range(1..))]
    repeat: Option<usize>,
    /// List the suites inside the program
    #[arg(long, conflicts_with_all = ["suite", "out", "device", "repeat"])]
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
        let suite = Suite::load(name, &Changes { device: self.device.as_deref(), repeats: self.repeat })?;
        let files = self.out.as_deref().map(outputs).transpose()?;
        let measured = measure::measure(&suite, console)?;
        let report = Report::new(&suite, &measured);

        let json = if self.json || files.is_some() { json::line(&report)? } else { String::new() };
        if let Some([csv_file, json_file]) = &files {
            write_text(&report.csv(), csv_file, console.watch())?;
            write_text(&json, json_file, console.watch())?;
        }
        Ok(Summary::new(if self.json { json } else { report.text() }))
    }

    fn list(&self) -> Result<Summary, Failure> {
        if self.out.is_some() || self.device.is_some() || self.repeat.is_some() {
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

/// The files in the folder of results, which is made; that they can be written is found out before the work.
fn outputs(folder: &Path) -> kostra::Result<[PathBuf; 2]> {
    std::fs::create_dir_all(folder)
        .map_err(|source| kostra::Error::Io { file: folder.display().to_string(), source })?;
    let files = [folder.join("results.csv"), folder.join("results.json")];
    files.iter().try_for_each(check_writable)?;
    Ok(files)
}
