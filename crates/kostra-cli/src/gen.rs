//! `kostra gen`: write a generated graph to a file.

use std::path::PathBuf;
use std::time::Instant;

use clap::Args;
use kostra::generate::generate_watched;
use kostra::io::{WriteOptions, check_graph_output, write_with};

use crate::console::{Console, is_dash};
use crate::failure::Failure;
use crate::human::{self, Lines};
use crate::input::Threads;
use crate::summary::Summary;

const SPECS: &str = "\
SPEC is kind:key=value,... with these kinds, keys and defaults:
  rmat        scale, degree=16, a=0.45, b=0.22, c=0.22   R-MAT, shuffled ids
  kronecker   scale, degree=32                           Graph500
  er          n, degree=8                                Erdős-Rényi
  regular     n, degree=8                                every vertex draws degree/2 neighbours
  ssca2       scale, max-clique=32                       SSCA#2 cliques
  ws          n, degree=8, p=0.1                         Watts-Strogatz
  grid        rows, cols                                 a grid
  road        n, degree=2.4                              a road network
  delaunay    n                                          triangulated random points
  dense       n, density=0.1                             Johnsonbaugh-Kalin, connected
  cliques     n, degree=56                               overlapping cliques
  web         n, degree=20                               pages, local links and hubs

degree is the average number of neighbours that is drawn, 2m/n; it need not be even or whole.
Every kind also takes seed=1, multi=true (keep repeated edges) and weights=RULE:
  unit, uniform:LO-HI[:SEED], float[:SEED], double[:SEED] or ecl

Examples:
  kostra gen rmat:scale=20 -o rmat20.el.gz
  kostra gen road:n=100000,seed=7 -o roads.gr
  kostra gen grid:rows=3,cols=3,weights=unit -o - --format mtx";

/// Write a generated graph to a file
#[derive(Args)]
#[command(after_help = SPECS)]
pub(crate) struct Gen {
    /// What to generate, such as rmat:scale=20
    #[arg(value_name = "SPEC")]
    spec: String,
    /// The file to write, in the format of its extension; `-` for standard output
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// The format to write, such as el or el.gz, where the extension does not tell
    #[arg(long, value_name = "FORMAT")]
    format: Option<String>,
    #[command(flatten)]
    threads: Threads,
}

impl Gen {
    /// Generates, writes, tells.
    pub(crate) fn run(&self, console: &Console) -> Result<Summary, Failure> {
        let options =
            WriteOptions { format: self.format.clone(), watch: console.watch().clone(), ..WriteOptions::default() };
        check_graph_output(&self.output, &options)?;
        self.threads.start()?;
        let start = Instant::now();
        let graph = generate_watched(&self.spec, console.watch())?;
        let generated = start.elapsed();

        let start = Instant::now();
        console.writing(&self.output, || write_with(&graph, &self.output, &options))?;
        if is_dash(&self.output) {
            return Ok(Summary::nothing());
        }
        let mut lines = Lines::default();
        lines.add("input", &self.spec);
        lines.add("output", human::file(&self.output));
        lines.add("vertices", human::count(graph.vertices()));
        lines.add("edges", human::count(graph.edges()));
        lines.add("generate", human::time(generated));
        lines.add("write", human::time(start.elapsed()));
        Ok(Summary::new(lines.to_string()))
    }
}
