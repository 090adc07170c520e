//! Edge lists of SNAP, GAP and many others: a line `u v [w]` per edge, vertices from 0, separated by blanks.
//!
//! Lines that begin with `#` or `%` are comments; `# Nodes: N` among the first ones tells the number of vertices if it is
//! larger than the ids show. A fourth column (an edge id, a time) is stepped over.

use std::path::Path;

use super::Ids;
use super::edges::{Edges, Lines, Taker, Then, must_say, parse};
use super::scan::{Line, SPARSE, Words};
use super::sink::{Sink, Stop, put, put_weight};
use super::source::Source;
use crate::error::{Error, Result};
use crate::graph::{Graph, largest};

pub(super) fn read(source: &mut Source, ids: Ids, taker: &mut dyn Taker) -> Result<(Edges, u64)> {
    let nodes = read_comments(source, b"#%")?;
    let Some(first) = source.peek_line()? else {
        return match nodes {
            Some(_) => parse(source, &List { columns: 2, ids }, taker)?.listed(nodes, source),
            None => Err(source.error("holds no edges; a line of an edge list is \"u v\" or \"u v weight\"")),
        };
    };
    let columns = first.split(|b| b.is_ascii_whitespace()).filter(|field| !field.is_empty()).count();
    if !(2..=4).contains(&columns) {
        let (line, what) = (source.lines_taken(), "expected \"u v\" or \"u v weight\"");
        return Err(source.error_at(line, format!("{columns} columns; {what} (for METIS, add --format metis)")));
    }
    parse(source, &List { columns, ids }, taker)?.listed(nodes, source)
}

/// Steps over the comments at the beginning, which begin with one of `marks`; gives `# Nodes: N` among them.
pub(super) fn read_comments(source: &mut Source, marks: &[u8]) -> Result<Option<u64>> {
    let mut nodes = None;
    while let Some(line) = source.peek_line()? {
        if line.trim_ascii_start().first().is_some_and(|first| !marks.contains(first)) {
            break;
        }
        let mut words = line.split(|b| b.is_ascii_whitespace() || *b == b'#').skip_while(|w| *w != b"Nodes:");
        if words.next().is_some() {
            let count = words.find(|word| !word.is_empty()).and_then(|word| std::str::from_utf8(word).ok());
            nodes = count.and_then(|count| count.parse().ok()).or(nodes);
        }
        source.next_line()?;
    }
    Ok(nodes)
}

/// Lines `u v [w [ignored]]`.
struct List {
    columns: usize,
    ids: Ids,
}

impl Lines for List {
    #[inline(always)]
    fn line(&self, cursor: &mut Words<'_>, part: &mut Edges) -> Line<Then> {
        if cursor.at_line_end() {
            return cursor.end_line().map(|()| Then::Next);
        }
        if matches!(cursor.byte(), b'#' | b'%') {
            cursor.skip_line();
            return Ok(Then::Next);
        }
        let (u, v) = match self.ids {
            Ids::Dense => (cursor.any_vertex(SPARSE)?, cursor.any_vertex(SPARSE)?),
            Ids::Sparse => (named(cursor, part)?, named(cursor, part)?),
        };
        let w = if self.columns > 2 { Some(cursor.weight()?) } else { None };
        if self.columns > 3 && !cursor.at_line_end() {
            cursor.take_token();
        }
        cursor.end_line().map_err(|what| format!("{what}: the first line has {} columns", self.columns))?;
        part.push(u, v, w);
        Ok(Then::Next)
    }
}

pub(super) fn named(cursor: &mut Words<'_>, part: &mut Edges) -> Line<u32> {
    cursor.skip_blanks();
    intern(cursor.take_token(), part)
}

/// The number of a name in this part of the file.
pub(super) fn intern(name: &[u8], part: &mut Edges) -> Line<u32> {
    match name {
        b"" => Err("a vertex is missing".into()),
        name => part.names.intern(name).ok_or_else(|| "more than 2^32 different vertices".into()),
    }
}

/// Whether `# Nodes: N` must be written: the ids alone would not show all vertices, or would not be believed.
pub(super) fn needs_count(graph: &Graph) -> bool {
    let (n, m) = (graph.vertices() as u64, graph.edges() as u64);
    let shown = largest(graph.sources()).max(largest(graph.targets()));
    graph.names().is_none() && (m == 0 || shown < n || must_say(n, m))
}

pub(super) fn write(graph: &Graph, path: &Path, sink: &mut Sink) -> Result<(), Stop> {
    if needs_count(graph) {
        sink.text(&format!("# Nodes: {} Edges: {}\n", graph.vertices(), graph.edges()))?;
    }
    check_names(graph, path, "an edge list", "csv and tsv")?;
    sink.lines(graph.edges(), |text, e| {
        put_edge(text, graph, e);
        text.push(b'\n');
    })
}

/// Appends `u v [w]`, with names where the graph has them.
pub(super) fn put_edge(text: &mut Vec<u8>, graph: &Graph, e: usize) {
    let (u, v) = graph.endpoints(e);
    put_vertex(text, graph, u);
    text.push(b' ');
    put_vertex(text, graph, v);
    if !graph.weights().is_unit() {
        text.push(b' ');
        put_weight(text, graph.weights(), e);
    }
}

/// Appends the name of a vertex, or its number.
pub(super) fn put_vertex(text: &mut Vec<u8>, graph: &Graph, v: u32) {
    match graph.names() {
        Some(names) => text.extend_from_slice(names.at(v)),
        None => put(text, v),
    }
}

/// Refuses names with blanks, or that look like comments: they would not be read back. `format` is what cannot hold
/// them and `instead` what can.
pub(super) fn check_names(graph: &Graph, path: &Path, format: &'static str, instead: &'static str) -> Result<()> {
    let Some(names) = graph.names() else { return Ok(()) };
    let is_bad = |name: &[u8]| matches!(name, [] | [b'#' | b'%', ..]) || name.iter().any(u8::is_ascii_whitespace);
    match (0..names.len() as u32).map(|v| names.at(v)).find(|name| is_bad(name)) {
        None => Ok(()),
        Some(name) => Err(Error::CannotHold {
            file: path.display().to_string(),
            format,
            what: format!("the vertex name {}", super::scan::shown(name)),
            instead,
        }),
    }
}
