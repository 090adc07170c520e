//! Reading and writing graphs and forests in the field's formats. docs/formats.md describes each.
//!
//! The format is found from the content where the content is clear, else from the name. `.gz .zst .bz2 .xz` are
//! decompressed and compressed on the way, and `-` is standard input or output.
//!
//! ```
//! # let folder = tempfile::tempdir().expect("a folder");
//! # let path = folder.path().join("grid.gr.gz");
//! let graph = kostra::generate("grid:rows=20,cols=30")?;
//! kostra::write(&graph, &path)?;
//! let again = kostra::read(&path)?;
//! assert_eq!((again.vertices(), again.edges()), (600, 1150));
//! # Ok::<(), kostra::Error>(())
//! ```

use std::path::Path;

pub use self::columns::Columns;
use self::compression::Compression;
use self::edges::{Edges, Taker, Whole};
pub use self::format::Format;
use self::sink::write_file;
use self::source::Source;
pub use self::stream::{StreamOptions, solve_files};
pub use self::verify::{Verified, verify_files, verify_stream};
use crate::error::{Error, Result};
use crate::forest::Forest;
use crate::graph::Graph;
use crate::stream::StreamForest;
use crate::watch::Watch;

mod balance;
mod binary;
mod checkpoint;
mod columns;
mod compression;
mod csv;
mod dimacs;
mod edge_list;
mod edges;
mod egr;
mod forest;
mod format;
mod galois;
mod matrix_market;
mod metis;
#[cfg(feature = "parquet")]
mod parquet;
mod pbbs;
mod row_blocks;
mod rows;
mod scan;
mod sink;
mod source;
mod steinlib;
mod strand;
mod stream;
mod upper;
mod verify;

const _: () = assert!(cfg!(target_endian = "little"), "binary formats are written as they lie in memory");

/// How vertices are named in a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ids {
    /// Integers that are used as they are, so that memory grows with the largest.
    #[default]
    Dense,
    /// Any integers or names, numbered in order of first appearance and put back in the output.
    Sparse,
}

/// How to read.
#[derive(Clone, Debug, Default)]
pub struct ReadOptions {
    /// The format; found from content and name when `None`.
    pub format: Option<Format>,
    /// How vertices are named; [`Ids::Sparse`] is for edge lists and tables.
    pub ids: Ids,
    /// The columns of a table (csv, tsv, parquet) that make up an edge; found by the usual names when `None`.
    pub columns: Option<Columns>,
    /// Who watches.
    pub watch: Watch,
}

/// How to write.
#[derive(Clone, Debug, Default)]
pub struct WriteOptions {
    /// The format's name, with its compression if any, such as `el` or `el.gz`; found from the file's name when `None`.
    pub format: Option<String>,
    /// Write a graph's vertex numbers also where its vertices have names.
    pub numbers: bool,
    /// Who watches.
    pub watch: Watch,
}

/// Reads a graph in any format; `-` is standard input.
pub fn read(path: impl AsRef<Path>) -> Result<Graph<'static>> {
    read_with(path, &ReadOptions::default())
}

/// Reads a graph as `options` say; `-` is standard input.
pub fn read_with(path: impl AsRef<Path>, options: &ReadOptions) -> Result<Graph<'static>> {
    let (mut source, format) = open(path.as_ref(), options)?;
    match format {
        Format::Kostra => binary::read(source),
        Format::Egr => egr::read(source),
        Format::Galois => galois::read(source),
        text => {
            let (edges, vertices) = read_entries(&mut source, text, options, &mut Whole)?;
            edges.into_graph(vertices, &source)
        }
    }
}

/// Opens a file and finds its format.
fn open(path: &Path, options: &ReadOptions) -> Result<(Source, Format)> {
    let mut source = Source::open(path, &options.watch)?;
    let format = match options.format {
        Some(format) => format,
        None => detect(&mut source)?,
    };
    if !matches!(format, Format::Kostra | Format::Egr | Format::Galois | Format::Parquet) {
        source.take_mark()?;
    }
    if options.ids == Ids::Sparse && !format.holds_names() {
        let what =
            format!("{} numbers its vertices densely; sparse ids are for el, csv, tsv and parquet", format.name());
        return Err(source.error(what));
    }
    if options.columns.is_some() && !format.has_columns() {
        let what = format!("{} has no columns to choose from; --columns is for csv, tsv and parquet", format.name());
        return Err(source.error(what));
    }
    Ok((source, format))
}

/// The edges of a format of lines or rows that the taker leaves, and the number of vertices.
fn read_entries(
    source: &mut Source,
    format: Format,
    options: &ReadOptions,
    taker: &mut dyn Taker,
) -> Result<(Edges, u64)> {
    let (ids, columns) = (options.ids, options.columns.as_ref());
    match format {
        Format::Dimacs | Format::DimacsEdge => dimacs::read(source, taker),
        Format::SteinLib => steinlib::read(source, taker),
        Format::MatrixMarket => matrix_market::read(source, taker),
        Format::EdgeList => edge_list::read(source, ids, taker),
        Format::Csv => csv::read(source, ids, columns, taker),
        Format::Tsv => csv::read_tabs(source, ids, columns, taker),
        Format::Metis => metis::read(source, taker),
        Format::Pbbs => pbbs::read(source, taker),
        #[cfg(feature = "parquet")]
        Format::Parquet => parquet::read(source, options, taker),
        #[cfg(not(feature = "parquet"))]
        Format::Parquet => Err(no_parquet(source.path())),
        Format::Kostra | Format::Egr | Format::Galois => unreachable!("these are read elsewhere"),
    }
}

#[cfg(not(feature = "parquet"))]
fn no_parquet(path: &Path) -> Error {
    let what = "Parquet was left out of this build; build the crate kostra with its feature `parquet`".into();
    Error::File { file: source::name(path), what }
}

fn detect(source: &mut Source) -> Result<Format> {
    let (size, path) = (source.plain_size(), source.path().to_owned());
    let head = source.head()?;
    if head.is_empty() {
        return Err(source.error("is empty; a graph has at least a header or a line"));
    }
    if let Some(format) = Format::of_content(head, size).or_else(|| Format::of_name(&path)) {
        return Ok(format);
    }
    let is_data = |line: &&[u8]| !line.is_empty() && !line.starts_with(b"#");
    let first = head.split(|&b| b == b'\n').map(<[u8]>::trim_ascii).find(is_data);
    let has_commas = first.is_some_and(|line| line.contains(&b','));
    let (name, _) = Compression::split_name(&path);
    match name.extension() {
        _ if head.contains(&0) => Err(source.error("is binary and in no format that is known; see --format")),
        // Standard input, and files without an extension: the most common plain formats.
        None if has_commas => Ok(Format::Csv),
        None => Ok(Format::EdgeList),
        Some(extension) => Err(source.error(format!(
            "neither the content nor the extension {extension:?} tells the format; add --format {}",
            Format::ALL.map(Format::name).join("|")
        ))),
    }
}

/// Writes a graph in the format that the name says; `-` is standard output, as an edge list.
pub fn write(graph: &Graph, path: impl AsRef<Path>) -> Result<()> {
    write_with(graph, path, &WriteOptions::default())
}

/// Writes a graph as `options` say; `-` is standard output.
///
/// A file is replaced only when the new one is whole.
pub fn write_with(graph: &Graph, path: impl AsRef<Path>, options: &WriteOptions) -> Result<()> {
    let path = path.as_ref();
    let (format, compression) = output_format(path, options)?;
    write_as(graph, path, format, compression, options)
}

fn write_as(
    graph: &Graph,
    path: &Path,
    format: Format,
    compression: Option<Compression>,
    options: &WriteOptions,
) -> Result<()> {
    if graph.names().is_some() && !format.holds_names() && !options.numbers {
        return Err(Error::CannotHold {
            file: path.display().to_string(),
            format: format.name(),
            what: "names of vertices (kostra convert --names FILE keeps them beside it)".into(),
            instead: "el, csv, tsv and parquet",
        });
    }
    edges::check_written(graph, path, format)?;
    let numbered;
    let graph = if graph.names().is_some() && options.numbers {
        let (src, dst, weights) = (graph.sources(), graph.targets(), graph.weights().borrowed());
        numbered = Graph::from_edges(graph.vertices(), src, dst, weights)?;
        &numbered
    } else {
        graph
    };
    write_file(path, compression, &options.watch, |sink| match format {
        Format::Kostra => binary::write(graph, sink),
        Format::Dimacs => dimacs::write_arcs(graph, path, sink),
        Format::DimacsEdge => dimacs::write_edges(graph, sink),
        Format::SteinLib => steinlib::write(graph, sink),
        Format::MatrixMarket => matrix_market::write(graph, sink),
        Format::EdgeList => edge_list::write(graph, path, sink),
        Format::Csv => csv::write(graph, b',', sink),
        Format::Tsv => csv::write(graph, b'\t', sink),
        Format::Metis => metis::write(graph, path, sink),
        Format::Egr => egr::write(graph, path, sink),
        Format::Galois => galois::write(graph, path, sink),
        Format::Pbbs => pbbs::write(graph, path, sink),
        #[cfg(feature = "parquet")]
        Format::Parquet => parquet::write(graph, sink),
        #[cfg(not(feature = "parquet"))]
        Format::Parquet => Err(no_parquet(path).into()),
    })
}

/// The format and compression of an output.
fn output_format(path: &Path, options: &WriteOptions) -> Result<(Format, Option<Compression>)> {
    let (name, compression) = Compression::split_name(path);
    if let Some(wanted) = &options.format {
        let (format, asked) = Compression::split_name(Path::new(wanted));
        return Ok((format.to_string_lossy().parse()?, asked.or(compression)));
    }
    if path == Path::new("-") || is_special(path) {
        return Ok((Format::EdgeList, None));
    }
    Format::of_name(name).map(|format| (format, compression)).ok_or_else(|| Error::File {
        file: path.display().to_string(),
        what: format!(
            "the extension tells no format; use one of {}",
            Format::ALL.map(|format| format!(".{}", format.extensions()[0])).join(" ")
        ),
    })
}

/// Whether a path is a device or a pipe, whose name says nothing of a format.
fn is_special(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|metadata| !metadata.is_file() && !metadata.is_dir())
}

/// Writes a forest: lines `u v w edge_id` with `.forest`, `.txt` or no extension, else a graph in the format that the
/// extension says, without ids. `-` is standard output, with lines.
pub fn write_forest(graph: &Graph, forest: &Forest, path: impl AsRef<Path>, options: &WriteOptions) -> Result<()> {
    let path = path.as_ref();
    if has_lines(path, options) {
        let edge = |i: usize| (forest.edges()[i] as usize, forest.edges()[i].into());
        return write_lines(graph, forest.len(), edge, path, options);
    }
    write_with(&forest::as_graph(graph, forest)?, path, options)
}

/// Writes the forest of a stream, as [`write_forest`] does.
pub fn write_stream_forest(forest: &StreamForest, path: impl AsRef<Path>, options: &WriteOptions) -> Result<()> {
    let path = path.as_ref();
    if has_lines(path, options) {
        return write_lines(forest.graph(), forest.len(), |i| (i, forest.edges()[i]), path, options);
    }
    write_with(forest.graph(), path, options)
}

/// Writes lines `u v w edge_id`; see [`forest::write`].
fn write_lines(
    graph: &Graph,
    len: usize,
    edge: impl Fn(usize) -> (usize, u64) + Sync,
    path: &Path,
    options: &WriteOptions,
) -> Result<()> {
    let (_, compression) = Compression::split_name(path);
    write_file(path, compression, &options.watch, |sink| forest::write(graph, len, edge, path, sink))
}

/// Whether a forest goes to `path` as lines rather than as a graph.
fn has_lines(path: &Path, options: &WriteOptions) -> bool {
    let (name, _) = Compression::split_name(path);
    let extension = name.extension().and_then(|e| e.to_str()).map(str::to_ascii_lowercase);
    options.format.is_none() && (matches!(extension.as_deref(), None | Some("forest" | "txt")) || is_special(path))
}

/// Reads the lines `u v w edge_id` of a forest of `graph`, checks each against the graph, and returns the edge ids in
/// file order: duplicates, and anything else that a verifier must see, are kept.
pub fn read_forest(graph: &Graph, path: impl AsRef<Path>, watch: &Watch) -> Result<Vec<u32>> {
    let mut source = Source::open(path.as_ref(), watch)?;
    source.take_mark()?;
    forest::read(graph, &mut source)
}

/// Writes a line `vertex label` per vertex, with names where the graph has them; to `.csv` and `.tsv` a table with a header.
pub fn write_labels(graph: &Graph, labels: &[u32], path: impl AsRef<Path>, watch: &Watch) -> Result<()> {
    let path = path.as_ref();
    let (_, compression) = Compression::split_name(path);
    write_file(path, compression, watch, |sink| match Format::of_name(path) {
        Some(Format::Csv) => csv::write_labels(graph, labels, b',', sink),
        Some(Format::Tsv) => csv::write_labels(graph, labels, b'\t', sink),
        _ => forest::write_labels(graph, labels, path, sink),
    })
}

/// Writes a line `vertex name` per vertex: what [`Ids::Sparse`] replaced.
pub fn write_names(graph: &Graph, path: impl AsRef<Path>, watch: &Watch) -> Result<()> {
    let path = path.as_ref();
    let (_, compression) = Compression::split_name(path);
    write_file(path, compression, watch, |sink| forest::write_names(graph, sink))
}

/// Writes text as it is, compressed if the name says so: reports, for example, replaced whole like every other file.
pub fn write_text(text: &str, path: impl AsRef<Path>, watch: &Watch) -> Result<()> {
    let path = path.as_ref();
    let (_, compression) = Compression::split_name(path);
    write_file(path, compression, watch, |sink| sink.text(text))
}

/// Fails if `path` cannot be written: worth asking before long work rather than after it.
pub fn check_writable(path: impl AsRef<Path>) -> Result<()> {
    sink::check_writable(path.as_ref())
}

/// Fails if a graph cannot be written to `path`, because of the place or because the format is not known.
pub fn check_graph_output(path: impl AsRef<Path>, options: &WriteOptions) -> Result<()> {
    output_format(path.as_ref(), options)?;
    check_writable(path)
}

/// Fails if a forest cannot be written to `path`, because of the place or because the format is not known.
pub fn check_forest_output(path: impl AsRef<Path>, options: &WriteOptions) -> Result<()> {
    if !has_lines(path.as_ref(), options) {
        output_format(path.as_ref(), options)?;
    }
    check_writable(path)
}
