//! DIMACS: a `p` line, then a line per arc or edge, vertices from 1.
//!
//! `p sp n m` with `a u v w` is the shortest-path format, whose arcs usually come in both directions; `p edge n m` (or
//! `col`) with `e u v [w]` lists edges; `p tw n m` (PACE) lists edges as bare `u v`.

use std::path::Path;

use super::edges::{Edges, Lines, Taker, Then, check_said, parse, parse_arcs};
use super::scan::{Line, Words, shown};
use super::sink::{Sink, Stop, put, put_weight};
use super::source::Source;
use crate::error::{Error, Result};
use crate::graph::Graph;
use crate::weight::Weights;

/// The problems of files that list edges: three of DIMACS, then those of PACE, whose edges have no mark.
pub(super) const EDGE_PROBLEMS: [&[u8]; 8] = [b"edge", b"col", b"edges", b"tw", b"td", b"cep", b"ds", b"vc"];

pub(super) fn read(source: &mut Source, taker: &mut dyn Taker) -> Result<(Edges, u64)> {
    let (problem, vertices, promised) = read_header(source)?;
    let header = source.lines_taken() - 1;
    if vertices > u32::MAX.into() {
        return Err(Error::TooLarge { what: "vertices", count: vertices });
    }
    let (edges, what) = match problem {
        Problem::Arcs => (parse_arcs(source, &Arcs { vertices }, taker)?, "arcs"),
        Problem::Edges => {
            let lines = Listed { vertices, weighted: is_weighted(source, 4)?, mark: Some(b'e') };
            (parse(source, &lines, taker)?, "edges")
        }
        Problem::Bare => {
            let lines = Listed { vertices, weighted: is_weighted(source, 3)?, mark: None };
            (parse(source, &lines, taker)?, "edges")
        }
    };
    if edges.entries != promised {
        let what = format!("the p line promises {promised} {what}, the file holds {}", edges.entries);
        return Err(source.error_at(header, format!("{what}; it may be cut short")));
    }
    check_said(vertices, edges.entries, &source.name())?;
    Ok((edges, vertices))
}

enum Problem {
    Arcs,
    Edges,
    Bare,
}

fn read_header(source: &mut Source) -> Result<(Problem, u64, u64)> {
    loop {
        let Some(line) = source.next_line()? else {
            return Err(source.error("no p line; DIMACS files begin with one, such as \"p sp VERTICES ARCS\""));
        };
        let mut cursor = Words::new(&line);
        if cursor.at_line_end() || cursor.byte() == b'c' {
            continue;
        }
        if cursor.take_token() != b"p" {
            return Err(source.line_error("expected a p line, such as \"p sp VERTICES ARCS\""));
        }
        cursor.skip_blanks();
        let problem = match cursor.take_token() {
            b"sp" => Problem::Arcs,
            b"edge" | b"col" | b"edges" => Problem::Edges,
            problem if EDGE_PROBLEMS.contains(&problem) => Problem::Bare,
            other => {
                let what = format!("problem {} is not a graph's; known are sp, edge, col, tw, td", shown(other));
                return Err(source.line_error(what));
            }
        };
        let counts = cursor.count("vertices").and_then(|n| Ok((n, cursor.count("edges")?)));
        let (vertices, edges) = counts.map_err(|what| source.line_error(what))?;
        return Ok((problem, vertices, edges));
    }
}

/// Whether the first edge has as many fields as one with a weight has. Lines that are not edges are stepped over.
fn is_weighted(source: &mut Source, fields: usize) -> Result<bool> {
    while let Some(line) = source.peek_line()? {
        let first = line.trim_ascii_start().first().copied().unwrap_or(b'c');
        if first == b'e' || first.is_ascii_digit() {
            let count = line.split(|b| b.is_ascii_whitespace()).filter(|field| !field.is_empty()).count();
            return Ok(count >= fields);
        }
        if !matches!(first, b'c' | b'n' | b'd' | b'v' | b'x') {
            break;
        }
        source.next_line()?;
    }
    Ok(false)
}

/// Lines `a u v w`.
struct Arcs {
    vertices: u64,
}

impl Lines for Arcs {
    #[inline(always)]
    fn line(&self, cursor: &mut Words<'_>, part: &mut Edges) -> Line<Then> {
        cursor.skip_blanks();
        if cursor.take_mark(b'a') {
            let (u, v) = (cursor.vertex(1, self.vertices)?, cursor.vertex(1, self.vertices)?);
            let w = cursor.weight()?;
            cursor.end_line()?;
            part.push_arc(u, v, Some(w));
        } else {
            other_line(cursor, b"c", "a line of an arc begins with \"a\"")?;
        }
        Ok(Then::Next)
    }
}

/// Lines `e u v [w]`, or bare `u v [w]`.
struct Listed {
    vertices: u64,
    weighted: bool,
    mark: Option<u8>,
}

impl Lines for Listed {
    #[inline(always)]
    fn line(&self, cursor: &mut Words<'_>, part: &mut Edges) -> Line<Then> {
        cursor.skip_blanks();
        let is_edge = match self.mark {
            Some(mark) => cursor.take_mark(mark),
            None => cursor.byte().is_ascii_digit(),
        };
        if is_edge {
            let (u, v) = (cursor.vertex(1, self.vertices)?, cursor.vertex(1, self.vertices)?);
            let w = if self.weighted { Some(cursor.weight()?) } else { None };
            cursor.end_line()?;
            part.push(u, v, w);
        } else {
            other_line(cursor, b"cndvx", "a line of an edge begins with \"e\", or is \"u v\" after \"p tw\"")?;
        }
        Ok(Then::Next)
    }
}

/// Steps over an empty line or one of these kinds.
fn other_line(cursor: &mut Words<'_>, kinds: &[u8], expected: &str) -> Line<()> {
    if !cursor.at_line_end() && !kinds.contains(&cursor.byte()) {
        return Err(format!("{} is no known kind of line; {expected}", shown(cursor.token())));
    }
    cursor.skip_line();
    Ok(())
}

/// Writes `p sp`: both arcs of every edge, one arc of a self-loop.
pub(super) fn write_arcs(graph: &Graph, path: &Path, sink: &mut Sink) -> Result<(), Stop> {
    let weights = graph.weights();
    if matches!(weights, Weights::F32(_) | Weights::F64(_)) {
        return Err(Stop::Other(Error::CannotHold {
            file: path.display().to_string(),
            format: "DIMACS sp",
            what: format!("{} weights", weights.type_name()),
            instead: "mtx, wel, csv and kostra",
        }));
    }
    let loops = graph.sources().iter().zip(graph.targets()).filter(|(u, v)| u == v).count();
    sink.text(&format!("p sp {} {}\n", graph.vertices(), 2 * graph.edges() - loops))?;
    sink.lines(graph.edges(), |text, e| {
        let (u, v) = graph.endpoints(e);
        let mut arc = |u: u32, v: u32| {
            text.extend_from_slice(b"a ");
            put(text, u64::from(u) + 1);
            text.push(b' ');
            put(text, u64::from(v) + 1);
            text.push(b' ');
            put_weight(text, weights, e);
            text.push(b'\n');
        };
        arc(u, v);
        if u != v {
            arc(v, u);
        }
    })
}

/// Writes `p edge`: one line an edge.
pub(super) fn write_edges(graph: &Graph, sink: &mut Sink) -> Result<(), Stop> {
    sink.text(&format!("p edge {} {}\n", graph.vertices(), graph.edges()))?;
    sink.lines(graph.edges(), |text, e| marked_edge(text, b"e ", graph, e))
}

/// Appends `mark u v [w]` with vertices from 1.
pub(super) fn marked_edge(text: &mut Vec<u8>, mark: &[u8], graph: &Graph, e: usize) {
    let (u, v) = graph.endpoints(e);
    text.extend_from_slice(mark);
    put(text, u64::from(u) + 1);
    text.push(b' ');
    put(text, u64::from(v) + 1);
    if !graph.weights().is_unit() {
        text.push(b' ');
        put_weight(text, graph.weights(), e);
    }
    text.push(b'\n');
}
