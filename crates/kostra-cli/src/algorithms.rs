//! `kostra algorithms`: what `--algorithm` takes.

use clap::Args;
use kostra::Algorithm;
use serde::Serialize;

use crate::failure::Failure;
use crate::human::Lines;
use crate::json;
use crate::summary::Summary;

/// List the algorithms, their devices and options
#[derive(Args)]
pub(crate) struct Algorithms {
    /// Print a JSON array
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Entry {
    name: &'static str,
    method: &'static str,
    devices: &'static [&'static str],
    options: &'static [&'static str],
}

impl Algorithms {
    /// Lists them.
    pub(crate) fn run(&self) -> Result<Summary, Failure> {
        if self.json {
            let entry = |a: Algorithm| Entry {
                name: a.name(),
                method: a.method(),
                devices: if a.runs_on_cuda() { &["cpu", "cuda"] } else { &["cpu"] },
                options: a.options(),
            };
            return Ok(Summary::new(json::line(&Algorithm::ALL.map(entry))?));
        }
        let mut lines = Lines::default();
        for algorithm in Algorithm::ALL {
            let devices = if algorithm.runs_on_cuda() { "cpu, cuda" } else { "cpu" };
            let options = match algorithm.options() {
                [] => String::new(),
                options => format!("; options: {}", options.join(", ")),
            };
            lines.add(algorithm.name(), format!("{devices:9}  {}{options}", algorithm.method()));
        }
        Ok(Summary::new(lines.to_string()))
    }
}
