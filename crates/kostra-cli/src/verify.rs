//! `kostra verify`: prove that a forest is minimum, or show where it is not.

use std::path::PathBuf;
use std::time::Instant;

use clap::Args;
use kostra::io::read_forest;
use serde::Serialize;

use crate::console::{Console, is_dash};
use crate::failure::Failure;
use crate::human::{self, Lines};
use crate::input::Input;
use crate::json;
use crate::summary::Summary;

const EXAMPLES: &str = "\
Examples:
  kostra solve roads.gr.gz -o roads.forest && kostra verify roads.gr.gz roads.forest
  kostra verify rmat:scale=16 rmat.forest --json

FOREST holds lines `u v w edge_id`, as `kostra solve -o FILE` writes them.
Exit status: 0 it is the minimum spanning forest; 1 it is not, with the edge that shows it.";

/// Prove that a forest is the minimum (or maximum) spanning forest of a graph
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Verify {
    #[command(flatten)]
    input: Input,
    /// The forest: lines `u v w edge_id`; `-` for standard input
    #[arg(value_name = "FOREST")]
    forest: PathBuf,
    /// The forest is to be the maximum spanning forest
    #[arg(long)]
    maximum: bool,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// The JSON object, in the order of its keys.
#[derive(Serialize)]
struct Report<'a> {
    input: &'a str,
    vertices: usize,
    edges: usize,
    forest: ForestReport,
    seconds: Seconds,
    verified: bool,
}

#[derive(Serialize)]
struct ForestReport {
    file: String,
    edges: usize,
    trees: usize,
}

#[derive(Serialize)]
struct Seconds {
    read: f64,
    verify: f64,
}

impl Verify {
    /// Reads both, proves, tells.
    pub(crate) fn run(&self, console: &Console) -> Result<Summary, Failure> {
        if is_dash(&self.input.graph) && is_dash(&self.forest) {
            return Err(Failure::usage("verify", "only one of GRAPH and FOREST can come from standard input"));
        }
        let loaded = self.input.load(console)?;
        let graph = &loaded.graph;

        let start = Instant::now();
        let edges = console.reading(&self.forest, || read_forest(graph, &self.forest, console.watch()))?;
        let read = loaded.time + start.elapsed();

        let start = Instant::now();
        kostra::verify(graph, &edges, self.maximum, console.watch())?;
        let verify = start.elapsed();

        // A proven forest has as many edges as vertices less trees.
        let trees = graph.vertices() - edges.len();
        let file = self.forest.to_string_lossy().into_owned();
        if self.json {
            return Ok(Summary::new(json::line(&Report {
                input: &loaded.name,
                vertices: graph.vertices(),
                edges: graph.edges(),
                forest: ForestReport { file, edges: edges.len(), trees },
                seconds: Seconds { read: json::seconds(read), verify: json::seconds(verify) },
                verified: true,
            })?));
        }
        let forest_edges = human::counted(edges.len(), "edge", "edges");
        let kind = if self.maximum { "maximum" } else { "minimum" };
        let mut lines = Lines::default();
        lines.add("input", &loaded.name);
        lines.add("vertices", human::count(graph.vertices()));
        lines.add("edges", human::count(graph.edges()));
        lines.add("forest", format!("{forest_edges} in {}, from {file}", human::counted(trees, "tree", "trees")));
        lines.add("read", human::time(read));
        lines.add("verified", format!("yes, the {kind} spanning forest, in {}", human::time(verify)));
        Ok(Summary::new(lines.to_string()))
    }
}
