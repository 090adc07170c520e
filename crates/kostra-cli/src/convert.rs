//! `kostra convert`: from one format to another.

use std::path::PathBuf;
use std::time::Instant;

use clap::Args;
use kostra::io::{Ids, WriteOptions, check_graph_output, check_writable, write_names, write_with};

use crate::console::{Console, collide, is_dash};
use crate::failure::Failure;
use crate::human::{self, Lines};
use crate::input::Reading;
use crate::summary::Summary;

const EXAMPLES: &str = "\
Examples:
  kostra convert roads.gr.gz roads.mtx
  kostra convert edges.txt edges.wel.zst --weights uniform:1-255
  kostra convert names.csv graph.gr --ids sparse --names graph.names
  kostra convert trips.parquet trips.kostra --columns from_stop,to_stop,minutes
  kostra convert - - --format csv --to el.gz < edges.csv > edges.el.gz";

/// Convert a graph to another format
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Convert {
    /// The graph to read: a file, `-` for standard input, or a SPEC such as rmat:scale=20
    #[arg(value_name = "IN")]
    input: PathBuf,
    /// The file to write, in the format of its extension; `-` for standard output
    #[arg(value_name = "OUT")]
    output: PathBuf,
    /// The format to write, such as el or el.gz, where the extension does not tell
    #[arg(long, value_name = "FORMAT")]
    to: Option<String>,
    /// Write lines `vertex name`: what --ids sparse replaced
    #[arg(long, value_name = "FILE")]
    names: Option<PathBuf>,
    #[command(flatten)]
    reading: Reading,
}

impl Convert {
    /// Reads, writes, tells.
    pub(crate) fn run(&self, console: &Console) -> Result<Summary, Failure> {
        if let Some(names) = &self.names {
            if self.reading.ids != Ids::Sparse {
                return Err(Failure::usage("convert", "--names needs --ids sparse: dense ids have no names"));
            }
            if is_dash(names) && is_dash(&self.output) {
                return Err(Failure::usage("convert", "only one of OUT and --names can go to standard output"));
            }
            if collide(names, &self.output) {
                return Err(Failure::usage("convert", "OUT and --names name the same file"));
            }
        }
        // Beside a file of names stand the numbers that it explains.
        let numbers = self.names.is_some();
        let options = WriteOptions { format: self.to.clone(), numbers, watch: console.watch().clone() };
        check_graph_output(&self.output, &options)?;
        self.names.iter().try_for_each(check_writable)?;
        let loaded = self.reading.load(&self.input, console)?;
        let graph = &loaded.graph;

        let start = Instant::now();
        console.writing(&self.output, || write_with(graph, &self.output, &options))?;
        if let Some(names) = &self.names {
            console.writing(names, || write_names(graph, names, console.watch()))?;
        }
        if is_dash(&self.output) || self.names.as_deref().is_some_and(is_dash) {
            return Ok(Summary::nothing());
        }
        let mut lines = Lines::default();
        lines.add("input", &loaded.name);
        lines.add("output", human::file(&self.output));
        if let Some(names) = &self.names {
            lines.add("names", human::file(names));
        }
        lines.add("vertices", human::count(graph.vertices()));
        lines.add("edges", human::count(graph.edges()));
        lines.add(loaded.verb(), human::time(loaded.time));
        lines.add("write", human::time(start.elapsed()));
        Ok(Summary::new(lines.to_string()))
    }
}
