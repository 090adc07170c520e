//! Matrix Market coordinate files: `%%MatrixMarket matrix coordinate FIELD SYMMETRY`, the size, an entry a line.
//!
//! Every entry is an edge between its row and its column, counted from 1; an entry of a `symmetric` matrix stands for
//! both triangles and is one edge all the same.

use super::edges::{Edges, Lines, Taker, Then, check_said, parse};
use super::scan::{Line, Words, shown};
use super::sink::{Sink, Stop, put, put_weight};
use super::source::Source;
use crate::error::{Error, Result};
use crate::graph::Graph;
use crate::weight::{Weight, Weights};

pub(super) fn read(source: &mut Source, taker: &mut dyn Taker) -> Result<(Edges, u64)> {
    let field = read_banner(source)?;
    let size = loop {
        let Some(line) = source.next_line()? else {
            return Err(source.error("no size line (\"ROWS COLUMNS ENTRIES\"); the file may be cut short"));
        };
        if !line.starts_with(b"%") && !Words::new(&line).at_line_end() {
            break line;
        }
    };
    let mut cursor = Words::new(&size);
    let counts = cursor
        .count("rows")
        .and_then(|rows| Ok((rows, cursor.count("columns")?, cursor.count("entries")?)))
        .and_then(|counts| cursor.end_line().map(|()| counts));
    let (vertices, columns, promised) = counts.map_err(|what| source.line_error(what))?;
    if vertices != columns {
        let what = format!("the matrix has {vertices} rows and {columns} columns; a graph's is square");
        return Err(source.line_error(what));
    }
    if vertices > u32::MAX.into() {
        return Err(Error::TooLarge { what: "vertices", count: vertices });
    }
    let header = source.lines_taken() - 1;
    let edges = parse(source, &Entries { vertices, field }, taker)?;
    if edges.entries != promised {
        let what = format!("the size line promises {promised} entries, the file holds {}", edges.entries);
        return Err(source.error_at(header, format!("{what}; it may be cut short")));
    }
    check_said(vertices, edges.entries, &source.name())?;
    Ok((edges, vertices))
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Field {
    Integer,
    Real,
    Pattern,
}

fn read_banner(source: &mut Source) -> Result<Field> {
    let banner = source.next_line()?.unwrap_or_default().to_ascii_lowercase();
    let words: Vec<&[u8]> = banner.split(|b| b.is_ascii_whitespace()).filter(|word| !word.is_empty()).collect();
    let [b"%%matrixmarket", object, format, field, symmetry] = words[..] else {
        return Err(source.line_error("expected \"%%MatrixMarket matrix coordinate FIELD SYMMETRY\""));
    };
    if object != b"matrix" || format != b"coordinate" {
        let (object, format) = (shown(object), shown(format));
        return Err(source.line_error(format!("{object} {format} holds no graph; \"matrix coordinate\" does")));
    }
    if symmetry != b"general" && symmetry != b"symmetric" {
        let what = format!("symmetry {} is not an undirected graph's; general and symmetric are", shown(symmetry));
        return Err(source.line_error(what));
    }
    match field {
        b"integer" => Ok(Field::Integer),
        b"real" | b"double" => Ok(Field::Real),
        b"pattern" => Ok(Field::Pattern),
        _ => Err(source.line_error(format!("field {} has no order; integer, real and pattern do", shown(field)))),
    }
}

struct Entries {
    vertices: u64,
    field: Field,
}

impl Lines for Entries {
    #[inline(always)]
    fn line(&self, cursor: &mut Words<'_>, part: &mut Edges) -> Line<Then> {
        if cursor.at_line_end() {
            return cursor.end_line().map(|()| Then::Next);
        }
        if cursor.byte() == b'%' {
            cursor.skip_line();
            return Ok(Then::Next);
        }
        let (u, v) = (cursor.vertex(1, self.vertices)?, cursor.vertex(1, self.vertices)?);
        let w = match self.field {
            Field::Pattern => None,
            Field::Integer => match cursor.weight()? {
                Weight::Float(w) => return Err(format!("weight {w} is not an integer, but the banner says integer")),
                w => Some(w),
            },
            // The banner settles the type, also where every number happens to be whole.
            Field::Real => Some(cursor.real()?),
        };
        cursor.end_line()?;
        part.push(u, v, w);
        Ok(Then::Next)
    }
}

/// Writes a symmetric matrix: every edge is an entry of the lower triangle.
pub(super) fn write(graph: &Graph, sink: &mut Sink) -> Result<(), Stop> {
    let field = match graph.weights() {
        Weights::Unit => "pattern",
        Weights::U32(_) | Weights::I32(_) | Weights::I64(_) => "integer",
        Weights::F32(_) | Weights::F64(_) => "real",
    };
    let n = graph.vertices();
    sink.text(&format!("%%MatrixMarket matrix coordinate {field} symmetric\n{n} {n} {}\n", graph.edges()))?;
    sink.lines(graph.edges(), |text, e| {
        let (u, v) = graph.endpoints(e);
        put(text, u64::from(u.max(v)) + 1);
        text.push(b' ');
        put(text, u64::from(u.min(v)) + 1);
        if !graph.weights().is_unit() {
            text.push(b' ');
            put_weight(text, graph.weights(), e);
        }
        text.push(b'\n');
    })
}
