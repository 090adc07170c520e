//! METIS `.graph`: a header `n m [fmt [ncon]]`, then a line per vertex with its neighbours, counted from 1, each followed
//! by the edge's weight where `fmt` says so. Lines whose first character that is no blank is `%` are comments.

use std::path::Path;

use super::edges::{Edges, Lines, Taker, Then, parse_arcs};
use super::scan::{Line, Words, shown};
use super::sink::{Sink, Stop, put, put_weight};
use super::source::Source;
use crate::csr::Csr;
use crate::error::{Error, Result};
use crate::graph::Graph;
use crate::weight::Weights;

pub(super) fn read(source: &mut Source, taker: &mut dyn Taker) -> Result<(Edges, u64)> {
    let header = loop {
        let Some(line) = source.next_line()? else {
            return Err(source.error("no header (\"VERTICES EDGES [FORMAT]\"); the file is empty or cut short"));
        };
        if !line.trim_ascii_start().starts_with(b"%") && !Words::new(&line).at_line_end() {
            break line;
        }
    };
    let (rows, promised) = read_header(&header, source).map_err(|what| source.line_error(what))?;
    let header = source.lines_taken() - 1;
    if rows.vertices > u32::MAX.into() {
        return Err(Error::TooLarge { what: "vertices", count: rows.vertices });
    }
    let edges = parse_arcs(source, &rows, taker)?;
    let lines = source.rows_taken() - rows.first_row;
    if lines < rows.vertices {
        let what = format!("the header promises {} vertices, the file has lines for {lines}", rows.vertices);
        return Err(source.error_at(header, format!("{what}; it may be cut short")));
    }
    if edges.entries != promised.saturating_mul(2) {
        let what = format!("the header promises {promised} edges, that is twice as many neighbours, the file holds");
        return Err(source.error_at(header, format!("{what} {}; correct the header", edges.entries)));
    }
    Ok((edges, rows.vertices))
}

fn read_header(header: &[u8], source: &Source) -> Line<(Rows, u64)> {
    let mut cursor = Words::new(header);
    let (vertices, edges) = (cursor.count("vertices")?, cursor.count("edges")?);
    cursor.skip_blanks();
    let format = cursor.take_token();
    let flags = match format {
        b"" | b"0" | b"00" | b"000" => (false, false, false),
        b"1" | b"01" | b"001" => (false, false, true),
        b"10" | b"010" => (false, true, false),
        b"11" | b"011" => (false, true, true),
        b"100" => (true, false, false),
        b"101" => (true, false, true),
        b"110" => (true, true, false),
        b"111" => (true, true, true),
        other => return Err(format!("format {} is not three digits of 0 and 1", shown(other))),
    };
    let (sizes, vertex_weights, weighted) = flags;
    let constraints = if cursor.at_line_end() { u64::from(vertex_weights) } else { cursor.count("vertex weights")? };
    if constraints > 0 && !vertex_weights {
        return Err("the header counts vertex weights, but its format says that there are none".into());
    }
    cursor.end_line()?;
    Ok((Rows { vertices, skip: u64::from(sizes) + constraints, weighted, first_row: source.rows_taken() }, edges))
}

/// The lines of the vertices.
struct Rows {
    vertices: u64,
    /// Numbers of the vertex itself at the beginning of its line.
    skip: u64,
    weighted: bool,
    first_row: u64,
}

impl Lines for Rows {
    // A hub's neighbours are all in one line.
    const LONGEST_LINE: usize = u32::MAX as usize;

    #[inline(always)]
    fn line(&self, cursor: &mut Words<'_>, part: &mut Edges) -> Line<Then> {
        cursor.skip_blanks();
        if cursor.byte() == b'%' {
            cursor.skip_line();
            return Ok(Then::Next);
        }
        let u = part.row - self.first_row;
        part.row += 1;
        if u >= self.vertices {
            if !cursor.at_line_end() {
                return Err(format!("a line for vertex {}, but the header promises {}", u + 1, self.vertices));
            }
            return cursor.end_line().map(|()| Then::Next);
        }
        for _ in 0..self.skip {
            cursor.weight()?;
        }
        while !cursor.at_line_end() {
            let v = cursor.vertex(1, self.vertices)?;
            let w = if self.weighted { Some(cursor.weight()?) } else { None };
            part.push_arc(u as u32, v, w);
        }
        cursor.end_line()?;
        Ok(Then::Next)
    }
}

pub(super) fn write(graph: &Graph, path: &Path, sink: &mut Sink) -> Result<(), Stop> {
    let cannot = |what: String| {
        let (file, format) = (path.display().to_string(), "METIS");
        Stop::Other(Error::CannotHold { file, format, what, instead: "mtx, wel, csv and kostra" })
    };
    match graph.weights() {
        weights @ (Weights::F32(_) | Weights::F64(_)) => {
            return Err(cannot(format!("{} weights", weights.type_name())));
        }
        Weights::I32(w) if w.iter().any(|&w| w < 0) => return Err(cannot("negative weights".into())),
        Weights::I64(w) if w.iter().any(|&w| w < 0) => return Err(cannot("negative weights".into())),
        _ => {}
    }
    if (0..graph.edges()).any(|e| graph.sources()[e] == graph.targets()[e]) {
        return Err(cannot("self-loops".into()));
    }
    let weighted = !graph.weights().is_unit();
    let csr = Csr::new(graph, false);
    sink.text(&format!("{} {}{}\n", graph.vertices(), graph.edges(), if weighted { " 001" } else { "" }))?;
    sink.lines(graph.vertices(), |text, v| {
        for (i, (neighbour, e)) in csr.row(v as u32).enumerate() {
            if i > 0 {
                text.push(b' ');
            }
            put(text, u64::from(neighbour) + 1);
            if weighted {
                text.push(b' ');
                put_weight(text, graph.weights(), e as usize);
            }
        }
        text.push(b'\n');
    })
}
