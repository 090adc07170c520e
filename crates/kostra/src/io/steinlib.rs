//! SteinLib and PACE 2018: `SECTION Graph` with `Nodes n`, `Edges m` and lines `E u v w`, vertices from 1.
//!
//! Only the graph's section is read. `A` lines (arcs of directed instances) are edges like the others.

use super::dimacs::marked_edge;
use super::edges::{Edges, Lines, Taker, Then, check_said, parse};
use super::scan::{Line, Words, shown};
use super::sink::{Sink, Stop};
use super::source::Source;
use crate::error::{Error, Result};
use crate::graph::Graph;

pub(super) fn read(source: &mut Source, taker: &mut dyn Taker) -> Result<(Edges, u64)> {
    find_section(source)?;
    let (mut vertices, mut promised) = (None, None);
    while let Some(line) = source.peek_line()? {
        let line = line.to_ascii_lowercase();
        let mut words = line.split(|b| b.is_ascii_whitespace()).filter(|word| !word.is_empty());
        let count = match words.next() {
            None | Some([b'#', ..] | b"obstacles") => None,
            Some(b"nodes") => Some(&mut vertices),
            Some(b"edges" | b"arcs") => Some(&mut promised),
            Some(_) => break,
        };
        let taken = source.next_line()?.unwrap_or_default();
        if let Some(count) = count {
            let mut cursor = Words::new(&taken);
            cursor.skip_blanks();
            cursor.take_token();
            *count = Some(cursor.count("vertices or edges").map_err(|what| source.line_error(what))?);
        }
    }
    let Some(vertices) = vertices else {
        return Err(source.line_error("the graph's section has no line \"Nodes N\" before its edges"));
    };
    if vertices > u32::MAX.into() {
        return Err(Error::TooLarge { what: "vertices", count: vertices });
    }
    let weighted = source
        .peek_line()?
        .is_some_and(|line| line.split(|b| b.is_ascii_whitespace()).filter(|field| !field.is_empty()).count() >= 4);
    let header = source.lines_taken() - 1;
    let edges = parse(source, &Section { vertices, weighted }, taker)?;
    if let Some(promised) = promised.filter(|&promised| promised != edges.entries) {
        let what = format!("the graph's section promises {promised} edges and holds {}", edges.entries);
        return Err(source.error_at(header, format!("{what}; it may be cut short")));
    }
    check_said(vertices, edges.entries, &source.name())?;
    Ok((edges, vertices))
}

fn find_section(source: &mut Source) -> Result<()> {
    while let Some(line) = source.next_line()? {
        let line = line.to_ascii_lowercase();
        let mut words = line.split(|b| b.is_ascii_whitespace()).filter(|word| !word.is_empty());
        if words.next() == Some(b"section") && words.next() == Some(b"graph") {
            return Ok(());
        }
    }
    Err(source.error("no line \"SECTION Graph\"; SteinLib and PACE files have one"))
}

struct Section {
    vertices: u64,
    weighted: bool,
}

impl Lines for Section {
    #[inline(always)]
    fn line(&self, cursor: &mut Words<'_>, part: &mut Edges) -> Line<Then> {
        cursor.skip_blanks();
        match cursor.take_token() {
            b"E" | b"A" | b"e" | b"a" => {
                let (u, v) = (cursor.vertex(1, self.vertices)?, cursor.vertex(1, self.vertices)?);
                let w = if self.weighted { Some(cursor.weight()?) } else { None };
                if !self.weighted || cursor.at_line_end() {
                    cursor.end_line()?;
                } else {
                    // Directed instances give the cost of the other direction too.
                    cursor.weight()?;
                    cursor.end_line()?;
                }
                part.push(u, v, w);
                Ok(Then::Next)
            }
            b"" => cursor.end_line().map(|()| Then::Next),
            [b'#', ..] => {
                cursor.skip_line();
                Ok(Then::Next)
            }
            word if word.eq_ignore_ascii_case(b"end") => Ok(Then::End),
            word => Err(format!("{} is no known kind of line; an edge is \"E u v w\"", shown(word))),
        }
    }
}

pub(super) fn write(graph: &Graph, sink: &mut Sink) -> Result<(), Stop> {
    sink.text("33D32945 STP File, STP Format Version 1.0\n\nSECTION Graph\n")?;
    sink.text(&format!("Nodes {}\nEdges {}\n", graph.vertices(), graph.edges()))?;
    sink.lines(graph.edges(), |text, e| marked_edge(text, b"E ", graph, e))?;
    sink.text("END\n\nEOF\n")
}
