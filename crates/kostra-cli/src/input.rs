//! The graph that a command works on, and the flags that say how to get it.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, RangedU64ValueParser, TypedValueParser};
use kostra::generate::{generate_watched, is_spec};
use kostra::io::{Columns, Format, Ids, ReadOptions, read_with};
use kostra::{Graph, WeightRule};

use crate::console::{Console, is_dash};

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

impl Reading {
    /// Reads or generates the graph of that name, with the weights that were asked for.
    pub(crate) fn load(&self, name: &Path, console: &Console) -> kostra::Result<Loaded> {
        let rule = self.weights.as_deref().map(str::parse::<WeightRule>).transpose()?;
        self.threads.start()?;
        let start = Instant::now();
        let options = ReadOptions {
            format: self.format,
            ids: self.ids,
            columns: self.columns.clone(),
            watch: console.watch().clone(),
        };
        let loaded = load(name, &options, console)?;
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

fn ids() -> impl TypedValueParser<Value = Ids> {
    PossibleValuesParser::new(["dense", "sparse"]).map(|kind| match kind.as_str() {
        "sparse" => Ids::Sparse,
        _ => Ids::Dense,
    })
}
