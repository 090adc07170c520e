//! The graph that a command works on, and the flags that say how to get it.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, RangedU64ValueParser, TypedValueParser};
use kostra::generate::{generate_watched, is_spec};
use kostra::io::{Columns, Format, Ids, ReadOptions, StreamOptions, read_with};
use kostra::{Graph, WeightRule};

use crate::console::{Console, is_dash};
use crate::failure::Failure;

/// More threads than the largest machines have cores are a slip of the finger: 5000 need half a minute to start on two
/// cores, 70,000 did not in a minute.
const MOST_THREADS: u64 = 1024;

/// The GRAPH of a command.
#[derive(Args)]
pub(crate) struct Input {
    /// A file, `-` for standard input, or a SPEC such as rmat:scale=20
    #[arg(value_name = "GRAPH")]
    pub(crate) graph: PathBuf,
    #[command(flatten)]
    pub(crate) reading: Reading,
}

/// The GRAPH of a command that also takes what does not fit in memory.
#[derive(Args)]
pub(crate) struct Inputs {
    /// A file, `-` for standard input, or a SPEC such as rmat:scale=20; or several files or directories, one after another
    #[arg(value_name = "GRAPH", required = true)]
    pub(crate) graphs: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) reading: Reading,
    /// Work in parts and with so much memory, such as 500MB or 4GiB, however large the graph is
    #[arg(long, help_heading = "Graph", value_name = "SIZE", value_parser = size)]
    memory: Option<u64>,
}

/// How to get a graph from its name.
#[derive(Args)]
pub(crate) struct Reading {
    /// The format of the graph's file, where its content and name do not tell
    #[arg(long, help_heading = "Graph", value_name = "FORMAT", ignore_case = true, value_parser = format())]
    format: Option<Format>,
    /// Vertices are numbers counted from 0 or 1 (dense), or any numbers or names (sparse)
    #[arg(long, help_heading = "Graph", value_name = "KIND", default_value = "dense", value_parser = ids())]
    pub(crate) ids: Ids,
    /// The columns of a table (csv, tsv, parquet), where their names do not tell; without WEIGHT every edge weighs 1
    #[arg(long, help_heading = "Graph", value_name = "SRC,DST[,WEIGHT]")]
    columns: Option<Columns>,
    /// Replace the weights: `unit`, `uniform:LO-HI[:SEED]`, `float[:SEED]`, `double[:SEED]` or `ecl`
    #[arg(long, help_heading = "Graph", value_name = "RULE")]
    weights: Option<String>,
    #[command(flatten)]
    threads: Threads,
}

/// How many threads work.
#[derive(Args, Default)]
pub(crate) struct Threads {
    /// Work with N threads (default: one per core)
    #[arg(long, value_name = "N", value_parser = RangedU64ValueParser::<usize>::new().range(1..=MOST_THREADS))]
    threads: Option<usize>,
}

/// A graph, and how it came.
pub(crate) struct Loaded {
    /// The graph.
    pub(crate) graph: Graph<'static>,
    /// Its name as typed.
    pub(crate) name: String,
    /// Whether it was generated rather than read.
    pub(crate) generated: bool,
    /// How long that took.
    pub(crate) time: Duration,
}

impl Input {
    /// Reads or generates the graph.
    pub(crate) fn load(&self, console: &Console) -> kostra::Result<Loaded> {
        self.reading.load(&self.graph, console)
    }
}

impl Inputs {
    /// Whether the graph is worked on in parts: because it was asked for, or because it is more than one file.
    pub(crate) fn is_streamed(&self) -> bool {
        self.memory.is_some() || self.graphs.len() > 1 || self.graphs.iter().any(|graph| graph.is_dir())
    }

    /// Reads or generates the graph, which is one.
    pub(crate) fn load(&self, console: &Console) -> kostra::Result<Loaded> {
        self.reading.load(&self.graphs[0], console)
    }

    /// All names as typed.
    pub(crate) fn name(&self) -> String {
        self.graphs.iter().map(|graph| graph.to_string_lossy()).collect::<Vec<_>>().join(" ")
    }

    /// How to work in parts; starts the threads.
    pub(crate) fn stream_options(
        &self,
        checkpoint: Option<PathBuf>,
        subcommand: &str,
        console: &Console,
    ) -> Result<StreamOptions, Failure> {
        if self.reading.weights.is_some() {
            let message =
                "--weights is for graphs in memory: one file, without --memory; kostra convert gives files weights";
            return Err(Failure::usage(subcommand, message));
        }
        if let Some(spec) = self.graphs.iter().find_map(|graph| spec(graph)) {
            let what = "a generated graph is in memory as a whole; write it to a file first (kostra gen SPEC -o FILE)";
            return Err(kostra::Error::Spec { spec: spec.into(), what: what.into() }.into());
        }
        self.reading.threads.start()?;
        Ok(StreamOptions { read: self.reading.options(console), memory: self.memory, checkpoint })
    }

    /// Reads from all of them; see [`Console::reading`].
    pub(crate) fn reading_from<T>(&self, console: &Console, read: impl FnOnce() -> T) -> T {
        let is_blocking =
            |graph: &&PathBuf| is_dash(graph) || graph.metadata().is_ok_and(|meta| !meta.is_file() && !meta.is_dir());
        match self.graphs.iter().find(is_blocking) {
            Some(path) => console.reading(path, read),
            None => read(),
        }
    }
}

impl Reading {
    fn options(&self, console: &Console) -> ReadOptions {
        let watch = console.watch().clone();
        ReadOptions { format: self.format, ids: self.ids, columns: self.columns.clone(), watch }
    }

    /// Reads or generates the graph of that name, with the weights that were asked for.
    pub(crate) fn load(&self, name: &Path, console: &Console) -> kostra::Result<Loaded> {
        let rule = self.weights.as_deref().map(str::parse::<WeightRule>).transpose()?;
        let is_for_files = self.format.is_some() || self.ids != Ids::default() || self.columns.is_some();
        if let Some(spec) = spec(name).filter(|_| is_for_files) {
            let what = "--format, --ids and --columns say how a file is read; leave them out for a generated graph";
            return Err(kostra::Error::Spec { spec: spec.into(), what: what.into() });
        }
        self.threads.start()?;
        let start = Instant::now();
        let loaded = load(name, &self.options(console), console)?;
        let Some(rule) = rule else { return Ok(loaded) };
        let weights = rule.weights(&loaded.graph)?;
        Ok(Loaded { graph: loaded.graph.with_weights(weights)?, time: start.elapsed(), ..loaded })
    }
}

/// Reads or generates the graph of that name. An existing file wins over a SPEC.
pub(crate) fn load(name: &Path, options: &ReadOptions, console: &Console) -> kostra::Result<Loaded> {
    let start = Instant::now();
    let spec = spec(name);
    let graph = match spec {
        Some(spec) => generate_watched(spec, &options.watch)?,
        None => console.reading(name, || read_with(name, options))?,
    };
    let generated = spec.is_some();
    Ok(Loaded { graph, name: name.to_string_lossy().into_owned(), generated, time: start.elapsed() })
}

/// The SPEC that a name is meant as, unless it is a file.
pub(crate) fn spec(name: &Path) -> Option<&str> {
    name.to_str().filter(|text| !is_dash(name) && !name.exists() && looks_like_spec(text))
}

impl Threads {
    /// Starts the threads, before any work does.
    pub(crate) fn start(&self) -> kostra::Result<()> {
        // Without a number rayon decides; starting the pool here turns its panic for want of threads into an error.
        let threads = self.threads.unwrap_or(0);
        rayon::ThreadPoolBuilder::new().num_threads(threads).build_global().map_err(|error| kostra::Error::Device {
            name: "cpu".into(),
            what: format!("the threads did not start ({error}); try --threads 1"),
        })
    }
}

impl Loaded {
    /// What was done to get it: "read" or "generate".
    pub(crate) fn verb(&self) -> &'static str {
        if self.generated { "generate" } else { "read" }
    }
}

/// Whether a name that is no file is meant as a SPEC: a known kind, or `word:...`, so that the generator can say which
/// kinds there are. A drive of one letter (`C:`) is no word.
fn looks_like_spec(text: &str) -> bool {
    let is_word = |word: &str| word.len() > 1 && word.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
    is_spec(text) || text.split_once(':').is_some_and(|(word, _)| is_word(word))
}

fn format() -> impl TypedValueParser<Value = Format> {
    let named = |format: Format| PossibleValue::new(format.name()).aliases(format.extensions());
    PossibleValuesParser::new(Format::ALL.map(named)).try_map(|name| name.parse::<Format>())
}

/// Bytes: a number and a unit, `kB MB GB` by thousands and `KiB MiB GiB` by 1024.
fn size(text: &str) -> Result<u64, String> {
    parse_size::parse_size(text).map_err(|_| "it is a number of bytes, such as 500MB, 4GiB or 4G".into())
}

fn ids() -> impl TypedValueParser<Value = Ids> {
    PossibleValuesParser::new(["dense", "sparse"]).map(|kind| match kind.as_str() {
        "sparse" => Ids::Sparse,
        _ => Ids::Dense,
    })
}
