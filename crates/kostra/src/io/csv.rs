//! Tables of edges, separated by commas, semicolons or tabs, with or without a header row.
//!
//! With a header the columns are those that the caller names, else those with the usual names; without one, or when the
//! names say nothing, they are the first, second and third. A single column beside the endpoints is the weight,
//! whatever its name; where there are several, one must be named as it. Other columns are stepped over, but a row has no more cells than
//! the first. Cells may be quoted; a line break inside quotes is not possible, because lines are parsed on many threads.

use std::borrow::Cow;

use super::Ids;
use super::columns::{Columns, Found, usual_endpoints, usual_weight};
use super::edge_list::{intern, needs_count, put_vertex, read_comments};
use super::edges::{Edges, Lines, Taker, Then, parse};
use super::scan::{Cursor, Line, SPARSE, parse_weight, shown};
use super::sink::{Sink, Stop, put, put_weight};
use super::source::Source;
use crate::error::Result;
use crate::graph::Graph;
use crate::weight::Weight;

pub(super) fn read(
    source: &mut Source,
    ids: Ids,
    wanted: Option<&Columns>,
    taker: &mut dyn Taker,
) -> Result<(Edges, u64)> {
    let nodes = read_comments(source, b"#")?;
    // What spreadsheets are told is seen from the rows.
    if source
        .peek_line()?
        .is_some_and(|line| line.starts_with(b"sep=") && line.trim_ascii_end().len() <= b"sep=,".len())
    {
        source.next_line()?;
    }
    let Some(first) = source.peek_line()? else {
        return match nodes {
            Some(_) => {
                parse(source, &Table::<b','> { columns: FIRST_THREE, width: 3, ids }, taker)?.listed(nodes, source)
            }
            None => Err(source.error("holds no rows; a row of edges is \"u,v\" or \"u,v,weight\"")),
        };
    };
    let first = first.to_vec();
    match [b',', b';', b'\t'].into_iter().find(|&delimiter| split_row(&first, delimiter).len() > 1) {
        Some(b';') => read_table::<b';'>(source, &first, nodes, ids, wanted, taker),
        Some(b'\t') => read_table::<b'\t'>(source, &first, nodes, ids, wanted, taker),
        _ => read_table::<b','>(source, &first, nodes, ids, wanted, taker),
    }
}

/// As [`read`], with tabs between the cells whatever else is in them.
pub(super) fn read_tabs(
    source: &mut Source,
    ids: Ids,
    wanted: Option<&Columns>,
    taker: &mut dyn Taker,
) -> Result<(Edges, u64)> {
    let nodes = read_comments(source, b"#")?;
    let first = source.peek_line()?.unwrap_or_default().to_vec();
    if first.is_empty() && nodes.is_none() {
        return Err(source.error("holds no rows; a row of edges is \"u\\tv\" or \"u\\tv\\tweight\""));
    }
    read_table::<b'\t'>(source, &first, nodes, ids, wanted, taker)
}

fn read_table<const DELIMITER: u8>(
    source: &mut Source,
    first: &[u8],
    nodes: Option<u64>,
    ids: Ids,
    wanted: Option<&Columns>,
    taker: &mut dyn Taker,
) -> Result<(Edges, u64)> {
    let cells = split_row(first, DELIMITER);
    if cells.len() < 2 && !first.is_empty() {
        let what = "one column only; a row of edges is \"u,v\" or \"u,v,weight\"";
        return Err(source.error_at(source.lines_taken(), what.into()));
    }
    let found = match wanted {
        Some(wanted) if !first.is_empty() => Some(wanted.find(&cells)),
        _ => find_columns(&cells, ids),
    };
    let columns = match found {
        Some(Ok(columns)) => {
            source.next_line()?;
            columns
        }
        Some(Err(what)) => return Err(source.error_at(source.lines_taken(), what)),
        None => Found { weight: FIRST_THREE.weight.filter(|_| cells.len() > 2), ..FIRST_THREE },
    };
    parse(source, &Table::<DELIMITER> { columns, width: cells.len(), ids }, taker)?.listed(nodes, source)
}

/// The cells of a row, without quotes and the blanks around them.
fn split_row(row: &[u8], delimiter: u8) -> Vec<String> {
    let mut quoted = false;
    let cells = row.split(|&b| {
        quoted ^= b == b'"';
        b == delimiter && !quoted
    });
    cells.map(|cell| String::from_utf8_lossy(cell).trim().trim_matches('"').to_owned()).collect()
}

const FIRST_THREE: Found = Found { source: 0, target: 1, weight: Some(2) };

/// The columns if the first row is a header, `None` if it is data.
fn find_columns(cells: &[String], ids: Ids) -> Option<Line<Found>> {
    let is_number = |cell: &String| parse_weight(cell.as_bytes()).is_ok();
    let named = usual_endpoints(cells);
    let is_header = match ids {
        Ids::Dense => cells.iter().take(2).all(|cell| !is_number(cell)),
        // Names may look like anything, a weight does not; without one, only whole words are taken for a header.
        Ids::Sparse if cells.len() > 2 => !cells.iter().any(is_number),
        Ids::Sparse => named.is_some() && cells.iter().all(|cell| cell.len() > 1),
    };
    if !is_header {
        return None;
    }
    let (source, target) = named.unwrap_or((FIRST_THREE.source, FIRST_THREE.target));
    Some(usual_weight(cells, (source, target)).map(|weight| Found { source, target, weight }))
}

struct Table<const DELIMITER: u8> {
    columns: Found,
    /// The cells of the first row.
    width: usize,
    ids: Ids,
}

impl<const DELIMITER: u8> Lines<DELIMITER> for Table<DELIMITER> {
    #[inline(always)]
    fn line(&self, cursor: &mut Cursor<'_, DELIMITER>, part: &mut Edges) -> Line<Then> {
        let Found { source, target, weight } = self.columns;
        if (source, target, weight.unwrap_or(2)) == (0, 1, 2)
            && self.ids == Ids::Dense
            && let Some((u, v, w)) = cursor.plain_row(weight.is_some())
        {
            part.push(u, v, w);
            return Ok(Then::Next);
        }
        if cursor.at_line_end() {
            return cursor.end_line().map(|()| Then::Next);
        }
        if cursor.byte() == b'#' {
            cursor.skip_line();
            return Ok(Then::Next);
        }
        let last = source.max(target).max(weight.unwrap_or(0));
        let (mut u, mut v, mut w) = (0, 0, None);
        for column in 0..=last {
            if column > 0 && !cursor.next_field() {
                return Err(format!("{column} columns, but an edge needs {}", last + 1));
            }
            if column == source {
                u = self.vertex(cursor, part)?;
            } else if column == target {
                v = self.vertex(cursor, part)?;
            } else if Some(column) == weight {
                w = Some(read_weight(cursor)?);
            } else {
                cell(cursor)?;
            }
            if !cursor.at_line_end() && cursor.byte() != DELIMITER {
                return Err(format!("unexpected {} in column {}", shown(cursor.token()), column + 1));
            }
        }
        // A weight that no column was made for must not be lost; an empty cell at the end is none.
        if last + 1 == self.width && cursor.next_field() && !(cell(cursor)?.is_empty() && cursor.at_line_end()) {
            return Err(format!("more cells than the {} of the first row", self.width));
        }
        if cursor.byte() == DELIMITER {
            cursor.skip_line();
        } else {
            cursor.end_line()?;
        }
        part.push(u, v, w);
        Ok(Then::Next)
    }
}

impl<const DELIMITER: u8> Table<DELIMITER> {
    #[inline(always)]
    fn vertex(&self, cursor: &mut Cursor<'_, DELIMITER>, part: &mut Edges) -> Line<u32> {
        cursor.skip_blanks();
        match self.ids {
            Ids::Dense if cursor.byte() != b'"' => cursor.any_vertex(SPARSE),
            Ids::Dense => {
                let name = cell(cursor)?;
                let id = std::str::from_utf8(&name).ok().and_then(|name| name.trim().parse::<u32>().ok());
                id.filter(|&id| id < u32::MAX)
                    .ok_or_else(|| format!("{} stands where a vertex id belongs; {SPARSE}", shown(&name)))
            }
            Ids::Sparse => intern(&cell(cursor)?, part),
        }
    }
}

#[inline(always)]
fn read_weight<const DELIMITER: u8>(cursor: &mut Cursor<'_, DELIMITER>) -> Line<Weight> {
    cursor.skip_blanks();
    if cursor.byte() == b'"' { parse_weight(cell(cursor)?.trim_ascii()) } else { cursor.weight() }
}

/// Takes one cell, without its quotes.
fn cell<'a, const DELIMITER: u8>(cursor: &mut Cursor<'a, DELIMITER>) -> Line<Cow<'a, [u8]>> {
    cursor.skip_blanks();
    if cursor.byte() != b'"' {
        return Ok(Cow::Borrowed(cursor.take_cell().trim_ascii_end()));
    }
    cursor.step();
    let mut text = Vec::new();
    loop {
        match cursor.byte() {
            b'\n' => return Err("a quote is not closed in its line; a cell cannot hold a line break".into()),
            b'"' => {
                cursor.step();
                if cursor.byte() != b'"' {
                    return Ok(Cow::Owned(text));
                }
                text.push(b'"');
            }
            byte => text.push(byte),
        }
        cursor.step();
    }
}

pub(super) fn write(graph: &Graph, delimiter: u8, sink: &mut Sink) -> Result<(), Stop> {
    if needs_count(graph) {
        sink.text(&format!("# Nodes: {} Edges: {}\n", graph.vertices(), graph.edges()))?;
    }
    let weighted = !graph.weights().is_unit();
    let header = if weighted { "src,dst,weight\n" } else { "src,dst\n" };
    sink.bytes(&header.bytes().map(|b| if b == b',' { delimiter } else { b }).collect::<Vec<_>>())?;
    sink.lines(graph.edges(), |text, e| {
        let (u, v) = graph.endpoints(e);
        put_cell(text, graph, u, delimiter);
        text.push(delimiter);
        put_cell(text, graph, v, delimiter);
        if weighted {
            text.push(delimiter);
            put_weight(text, graph.weights(), e);
        }
        text.push(b'\n');
    })
}

/// Writes a table of the vertices and their labels.
pub(super) fn write_labels(graph: &Graph, labels: &[u32], delimiter: u8, sink: &mut Sink) -> Result<(), Stop> {
    sink.bytes(&[&b"vertex"[..], &[delimiter], b"label\n"].concat())?;
    sink.lines(labels.len(), |text, v| {
        put_cell(text, graph, v as u32, delimiter);
        text.push(delimiter);
        put(text, labels[v]);
        text.push(b'\n');
    })
}

fn put_cell(text: &mut Vec<u8>, graph: &Graph, v: u32, delimiter: u8) {
    let start = text.len();
    put_vertex(text, graph, v);
    let name = &text[start..];
    let is_plain = !name.iter().any(|&b| b == delimiter || matches!(b, b'"' | b'\r' | b'\n'));
    let has_blank_ends = name.trim_ascii().len() != name.len();
    if is_plain && !has_blank_ends && !name.is_empty() && name[0] != b'#' {
        return;
    }
    let name = text.split_off(start);
    text.push(b'"');
    for byte in name {
        text.push(byte);
        if byte == b'"' {
            text.push(b'"');
        }
    }
    text.push(b'"');
}
