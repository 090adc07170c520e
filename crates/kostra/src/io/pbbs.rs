//! PBBS: a line `WeightedEdgeArray`, then `u v w` per edge, vertices from 0; `EdgeArray` has no weights.

use std::path::Path;

use super::edge_list::{needs_count, put_edge};
use super::edges::{Edges, Lines, Taker, Then, parse};
use super::scan::{Line, Words};
use super::sink::{Sink, Stop};
use super::source::Source;
use crate::error::{Error, Result};
use crate::graph::Graph;

/// How to read ids that are no small numbers, which PBBS does not have.
const LIST: &str = "without its first line the file is an edge list, where --format el --ids sparse takes any ids and names, \
                    and numbers only those in use";

pub(super) fn read(source: &mut Source, taker: &mut dyn Taker) -> Result<(Edges, u64)> {
    let header = source.next_line()?.unwrap_or_default();
    let weighted = match header.trim_ascii() {
        b"WeightedEdgeArray" => true,
        b"EdgeArray" => false,
        _ => return Err(source.line_error("expected \"WeightedEdgeArray\" or \"EdgeArray\"")),
    };
    let edges = parse(source, &Array { weighted }, taker)?;
    if edges.entries == 0 {
        return Err(source.error("holds no edges; it may be cut short"));
    }
    edges.shown(source, LIST)
}

struct Array {
    weighted: bool,
}

impl Lines for Array {
    #[inline(always)]
    fn line(&self, cursor: &mut Words<'_>, part: &mut Edges) -> Line<Then> {
        if !cursor.at_line_end() {
            let (u, v) = (cursor.any_vertex(LIST)?, cursor.any_vertex(LIST)?);
            let w = if self.weighted { Some(cursor.weight()?) } else { None };
            part.push(u, v, w);
        }
        cursor.end_line().map(|()| Then::Next)
    }
}

pub(super) fn write(graph: &Graph, path: &Path, sink: &mut Sink) -> Result<(), Stop> {
    if needs_count(graph) {
        return Err(Stop::Other(Error::CannotHold {
            file: path.display().to_string(),
            format: "PBBS",
            what: "vertices without edges behind the last one that has some, or many more vertices than edges".into(),
            instead: "mtx, wel, csv and kostra",
        }));
    }
    sink.text(if graph.weights().is_unit() { "EdgeArray\n" } else { "WeightedEdgeArray\n" })?;
    sink.lines(graph.edges(), |text, e| {
        put_edge(text, graph, e);
        text.push(b'\n');
    })
}
