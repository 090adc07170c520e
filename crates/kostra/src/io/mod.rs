//! (placeholder)
use std::path::Path;
use std::str::FromStr;

use crate::{Error, Forest, Graph, Result, Watch};

/// A file format, without its compression.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    /// placeholder
    EdgeList,
}
impl Format {
    /// Every format.
    pub const ALL: [Format; 1] = [Format::EdgeList];
    /// The name, as in `--format NAME`.
    pub fn name(self) -> &'static str {
        todo!()
    }
}
impl FromStr for Format {
    type Err = Error;
    fn from_str(_name: &str) -> Result<Self> {
        todo!()
    }
}
/// How vertices are named in a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ids {
    /// Small integers.
    #[default]
    Dense,
    /// Any 64-bit integers or strings.
    Sparse,
}
/// How to read.
#[derive(Clone, Debug, Default)]
pub struct ReadOptions {
    /// The format; found from content and name when `None`.
    pub format: Option<Format>,
    /// How vertices are named.
    pub ids: Ids,
    /// Who watches.
    pub watch: Watch,
}
/// How to write.
#[derive(Clone, Debug, Default)]
pub struct WriteOptions {
    /// The format with its compression, such as `el` or `el.gz`; found from the name when `None`.
    pub format: Option<String>,
    /// Who watches.
    pub watch: Watch,
}
/// Reads a graph; `-` is standard input.
pub fn read(path: impl AsRef<Path>) -> Result<Graph<'static>> {
    read_with(path, &ReadOptions::default())
}
/// placeholder
pub fn read_with(path: impl AsRef<Path>, options: &ReadOptions) -> Result<Graph<'static>> {
    let _ = (path.as_ref(), options);
    todo!()
}
/// Writes a graph; `-` is standard output.
pub fn write(graph: &Graph, path: impl AsRef<Path>) -> Result<()> {
    write_with(graph, path, &WriteOptions::default())
}
/// placeholder
pub fn write_with(graph: &Graph, path: impl AsRef<Path>, options: &WriteOptions) -> Result<()> {
    let _ = (graph, path.as_ref(), options);
    todo!()
}
/// Writes a forest: lines `u v w edge_id`, or a graph where the name has a graph format's extension.
pub fn write_forest(graph: &Graph, forest: &Forest, path: impl AsRef<Path>, options: &WriteOptions) -> Result<()> {
    let _ = (graph, forest, path.as_ref(), options);
    todo!()
}
/// Reads the lines `u v w edge_id` of a forest of `graph`, checks each against the graph, and returns the edge ids in
/// file order (so that a verifier sees duplicates).
pub fn read_forest(graph: &Graph, path: impl AsRef<Path>, options: &ReadOptions) -> Result<Vec<u32>> {
    let _ = (graph, path.as_ref(), options);
    todo!()
}
/// Writes lines `vertex label`.
pub fn write_labels(graph: &Graph, labels: &[u32], path: impl AsRef<Path>, options: &WriteOptions) -> Result<()> {
    let _ = (graph, labels, path.as_ref(), options);
    todo!()
}
/// Writes lines `vertex name`: what `ids sparse` replaced.
pub fn write_names(graph: &Graph, path: impl AsRef<Path>, options: &WriteOptions) -> Result<()> {
    let _ = (graph, path.as_ref(), options);
    todo!()
}
