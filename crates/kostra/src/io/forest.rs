//! Forest files: a line `u v w edge_id` per edge, vertices from 0; and the lines that go with a forest, such as labels.

use std::path::Path;

use super::Ids;
use super::edge_list::{check_names, named, put_vertex};
use super::edges::{Edges, Lines, Then, Whole, parse};
use super::scan::{Line, SPARSE, Words, shown};
use super::sink::{Sink, Stop, put, put_weight};
use super::source::Source;
use crate::error::Result;
use crate::forest::Forest;
use crate::graph::Graph;
use crate::names::Names;
use crate::stream::Part;
use crate::weight::Weight;

const NO_ID: &str = "the edge id is missing; a line of a forest is \"u v w edge_id\"";

/// Reads the edge ids in file order, each line checked against the graph.
pub(super) fn read(graph: &Graph, source: &mut Source) -> Result<Vec<u32>> {
    Ok(parse(source, &Chosen { graph }, &mut Whole)?.part.src)
}

struct Chosen<'a> {
    graph: &'a Graph<'a>,
}

impl Lines for Chosen<'_> {
    fn line(&self, cursor: &mut Words<'_>, part: &mut Edges) -> Line<Then> {
        if cursor.at_line_end() {
            return cursor.end_line().map(|()| Then::Next);
        }
        if cursor.byte() == b'#' {
            cursor.skip_line();
            return Ok(Then::Next);
        }
        let (u, v) = (self.vertex(cursor)?, self.vertex(cursor)?);
        let w = cursor.weight()?;
        if cursor.at_line_end() {
            return Err(NO_ID.into());
        }
        let e = cursor.count("edge id")?;
        cursor.end_line()?;
        if e >= self.graph.edges() as u64 {
            return Err(format!("edge {e} does not exist; the graph has {} edges, counted from 0", self.graph.edges()));
        }
        let ends = self.graph.endpoints(e as usize);
        if ends != (u, v) && ends != (v, u) {
            return Err(format!("edge {e} joins {} and {}, not {u} and {v}", ends.0, ends.1));
        }
        let weight = self.graph.weights().at(e as usize);
        let is_equal = match (weight, w) {
            (Weight::Float(weight), Weight::Integer(w)) => weight == w as f64,
            (Weight::Integer(weight), Weight::Float(w)) => weight as f64 == w && weight.abs() < 1 << 53,
            (weight, w) => weight == w,
        };
        if !is_equal {
            return Err(format!("edge {e} weighs {weight}, not {w}"));
        }
        // Only the ids are wanted: they take the place of the sources.
        part.part.src.push(e as u32);
        Ok(Then::Next)
    }
}

impl Chosen<'_> {
    fn vertex(&self, cursor: &mut Words<'_>) -> Line<u32> {
        cursor.skip_blanks();
        match self.graph.names() {
            None => cursor.vertex(0, self.graph.vertices() as u64),
            Some(names) => {
                let name = cursor.take_token();
                names.find(name).ok_or_else(|| format!("the graph has no vertex named {}", shown(name)))
            }
        }
    }
}

/// Reads the lines of a forest whose graph is not in memory: the edges, their ids, and the names of vertices if they are sparse.
pub(super) fn read_lines(source: &mut Source, ids: Ids) -> Result<(Part, Vec<u64>, Names)> {
    let edges = parse(source, &Listed { ids }, &mut Whole)?;
    Ok((edges.part, edges.ids, edges.names))
}

struct Listed {
    ids: Ids,
}

impl Lines for Listed {
    fn line(&self, cursor: &mut Words<'_>, part: &mut Edges) -> Line<Then> {
        if cursor.at_line_end() {
            return cursor.end_line().map(|()| Then::Next);
        }
        if cursor.byte() == b'#' {
            cursor.skip_line();
            return Ok(Then::Next);
        }
        let (u, v) = match self.ids {
            Ids::Dense => (cursor.any_vertex(SPARSE)?, cursor.any_vertex(SPARSE)?),
            Ids::Sparse => (named(cursor, part)?, named(cursor, part)?),
        };
        let w = cursor.weight()?;
        if cursor.at_line_end() {
            return Err(NO_ID.into());
        }
        let e = cursor.count("edge id")?;
        cursor.end_line()?;
        part.push(u, v, Some(w));
        part.ids.push(e);
        Ok(Then::Next)
    }
}

/// Writes the forest's lines in edge-id order. `edge` is the position in `graph` and the id of the forest's edge of that number.
pub(super) fn write(
    graph: &Graph,
    len: usize,
    edge: impl Fn(usize) -> (usize, u64) + Sync,
    path: &Path,
    sink: &mut Sink,
) -> Result<(), Stop> {
    check_names(graph, path, "a file of forest lines", "a table of the forest's edges (-o FILE.csv or FILE.tsv)")?;
    sink.lines(len, |text, i| {
        let (e, id) = edge(i);
        let (u, v) = graph.endpoints(e);
        put_vertex(text, graph, u);
        text.push(b' ');
        put_vertex(text, graph, v);
        text.push(b' ');
        put_weight(text, graph.weights(), e);
        text.push(b' ');
        put(text, id);
        text.push(b'\n');
    })
}

/// Writes a line `vertex label` per vertex, between blanks.
pub(super) fn write_labels(graph: &Graph, labels: &[u32], path: &Path, sink: &mut Sink) -> Result<(), Stop> {
    check_names(graph, path, "a file of label lines", "a table (--labels FILE.csv or FILE.tsv)")?;
    sink.lines(labels.len(), |text, v| {
        put_vertex(text, graph, v as u32);
        text.push(b' ');
        put(text, labels[v]);
        text.push(b'\n');
    })
}

/// Writes a line `vertex name` per vertex: what `ids sparse` replaced.
pub(super) fn write_names(graph: &Graph, sink: &mut Sink) -> Result<(), Stop> {
    sink.lines(graph.vertices(), |text, v| {
        put(text, v);
        text.push(b' ');
        put_vertex(text, graph, v as u32);
        text.push(b'\n');
    })
}

/// The forest as a graph of its own: all vertices, and only its edges.
pub(super) fn as_graph(graph: &Graph, forest: &Forest) -> Result<Graph<'static>> {
    use crate::weight::{Weights, each_weights};
    let pick = |ends: &[u32]| forest.edges().iter().map(|&e| ends[e as usize]).collect::<Vec<_>>();
    let weights: Weights<'static> = each_weights!(
        graph.weights(),
        Unit => Weights::Unit,
        w => forest.edges().iter().map(|&e| w[e as usize]).collect::<Vec<_>>().into()
    );
    let tree = Graph::from_edges(graph.vertices(), pick(graph.sources()), pick(graph.targets()), weights)?;
    Ok(match graph.names() {
        Some(names) => tree.with_names(names.clone()),
        None => tree,
    })
}
