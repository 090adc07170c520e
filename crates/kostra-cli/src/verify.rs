//! `kostra verify`: prove that a forest is minimum, or show where it is not.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::Args;
use kostra::io::{Verified, read_forest, verify_files};
use serde::Serialize;

use crate::console::{Console, is_dash};
use crate::failure::Failure;
use crate::human::{self, Lines};
use crate::input::Inputs;
use crate::json;
use crate::summary::Summary;

const EXAMPLES: &str = "\
Examples:
  kostra solve roads.gr.gz -o roads.forest && kostra verify roads.gr.gz roads.forest
  kostra verify rmat:scale=16 rmat.forest --json
  kostra verify crawl/ crawl.forest --memory 4GiB    in parts, whatever the size

FOREST holds lines `u v w edge_id`, as `kostra solve -o FILE` writes them.
Exit status: 0 it is the minimum spanning forest; 1 it is not, with the edge that shows it.";

/// Prove that a forest is the minimum (or maximum) spanning forest of a graph
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Verify {
    #[command(flatten)]
    input: Inputs,
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
    vertices: u64,
    edges: u64,
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
        if self.input.graphs.iter().any(|graph| is_dash(graph)) && is_dash(&self.forest) {
            return Err(Failure::usage("verify", "only one of GRAPH and FOREST can come from standard input"));
        }
        if self.input.is_streamed() {
            return self.run_in_parts(console);
        }
        let loaded = self.input.load(console)?;
        let graph = &loaded.graph;

        let start = Instant::now();
        let chosen = console.reading(&self.forest, || read_forest(graph, &self.forest, console.watch()))?;
        let read = loaded.time + start.elapsed();

        let start = Instant::now();
        kostra::verify(graph, &chosen, self.maximum, console.watch())?;
        let verify = start.elapsed();

        let (vertices, edges) = (graph.vertices() as u64, graph.edges() as u64);
        self.tell(&loaded.name, Verified { vertices, edges, forest: chosen.len() }, Some(read), verify)
    }

    /// The forest is read, and the graph passes by.
    fn run_in_parts(&self, console: &Console) -> Result<Summary, Failure> {
        let options = self.input.stream_options(None, "verify", console)?;
        let start = Instant::now();
        let verify = || verify_files(&self.input.graphs, &self.forest, self.maximum, &options);
        let verified = self.input.reading_from(console, verify)?;
        self.tell(&self.input.name(), verified, None, start.elapsed())
    }

    fn tell(
        &self,
        input: &str,
        verified: Verified,
        read: Option<Duration>,
        verify: Duration,
    ) -> Result<Summary, Failure> {
        let Verified { vertices, edges, forest } = verified;
        // A proven forest has as many edges as vertices less trees.
        let trees = vertices as usize - forest;
        let file = self.forest.to_string_lossy().into_owned();
        if self.json {
            return Ok(Summary::new(json::line(&Report {
                input,
                vertices,
                edges,
                forest: ForestReport { file, edges: forest, trees },
                seconds: Seconds { read: json::seconds(read.unwrap_or_default()), verify: json::seconds(verify) },
                verified: true,
            })?));
        }
        let forest_edges = human::counted(forest, "edge", "edges");
        let kind = if self.maximum { "maximum" } else { "minimum" };
        let mut lines = Lines::default();
        lines.add("input", input);
        lines.add("vertices", human::count(vertices as usize));
        lines.add("edges", human::count(edges as usize));
        lines.add("forest", format!("{forest_edges} in {}, from {file}", human::counted(trees, "tree", "trees")));
        if let Some(read) = read {
            lines.add("read", human::time(read));
        }
        lines.add("verified", format!("yes, the {kind} spanning forest, in {}", human::time(verify)));
        Ok(Summary::new(lines.to_string()))
    }
}
