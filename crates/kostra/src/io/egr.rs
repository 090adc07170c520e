//! ECL `.egr`: little-endian `i32` vertices, `i32` arcs, row starts, neighbours, and weights if the file has room for them.

use std::path::Path;

use super::edges::{Edges, Taker};
use super::row_blocks::{RowFile, pass as pass_rows};
use super::rows::{Rows, edges_of, items, u32_at};
use super::sink::{Sink, Stop};
use super::source::Source;
use crate::buffer::Buffer;
use crate::csr::Csr;
use crate::error::{Error, Result};
use crate::graph::Graph;
use crate::weight::Weights;

const HEADER: u64 = 8;

/// Whether a file that begins so and is so long can be `.egr`, and if it has weights.
pub(super) fn layout(head: &[u8], size: u64) -> Option<bool> {
    let counts = (u32_at(head, 0), u32_at(head, 4));
    let (Ok(vertices), Ok(arcs)) = (i32::try_from(counts.0), i32::try_from(counts.1)) else { return None };
    if head.len() < 12 || u32_at(head, 8) != 0 {
        return None;
    }
    let bare = HEADER + 4 * (vertices as u64 + 1) + 4 * arcs as u64;
    // A graph without arcs has no weights either way.
    [bare, bare + 4 * arcs as u64].iter().position(|&expected| expected == size).map(|weighted| weighted == 1)
}

pub(super) fn read(mut source: Source) -> Result<Graph<'static>> {
    let (file, watch) = (source.name(), source.watch().clone());
    let bytes = source.whole()?;
    let weighted = check_layout(&bytes, bytes.len() as u64, &file)?;
    let (vertices, arcs) = (u32_at(&bytes, 0) as usize, u32_at(&bytes, 4) as usize);
    let at = HEADER as usize + 4 * (vertices + 1);
    let starts = items::<u32>(&bytes[HEADER as usize..at]);
    let (ends, targets) = (&starts[1..], &*items(&bytes[at..at + 4 * arcs]));
    let (ends_at, targets_at) = (HEADER + 4, at as u64);
    let (src, dst, weights) = if weighted {
        let weights = items(&bytes[at + 4 * arcs..]);
        let rows = Rows { file, ends, first: 0, targets, weights: &weights, ends_at, targets_at };
        let (src, dst, weights) = edges_of(&rows, &watch)?;
        (src, dst, Weights::I32(weights))
    } else {
        let rows = Rows { file, ends, first: 0, targets, weights: &vec![(); arcs], ends_at, targets_at };
        let (src, dst, _) = edges_of(&rows, &watch)?;
        (src, dst, Weights::Unit)
    };
    Ok(Graph::from_proved_edges(vertices as u32, src, dst, weights))
}

/// Whether the file has weights; an error where it is none of this format.
fn check_layout(head: &[u8], size: u64, file: &str) -> Result<bool> {
    let file = file.to_owned();
    if size >= 12 && u32_at(head, 8) != 0 {
        let what = format!("the first row begins at arc {}, not at 0; not an .egr file, or damaged", u32_at(head, 8));
        return Err(Error::Byte { file, byte: HEADER, what });
    }
    layout(head, size).ok_or_else(|| {
        let (n, m) = (u64::from(u32_at(head, 0)), u64::from(u32_at(head, 4)));
        let bare = HEADER + 4 * (n + 1) + 4 * m;
        let what = format!(
            "{size} bytes; .egr with the {n} vertices and {m} arcs of its header has {bare}, or {} with weights",
            bare + 4 * m
        );
        Error::File { file, what }
    })
}

/// Passes the edges on, a part at a time.
pub(super) fn pass(source: &mut Source, taker: &mut dyn Taker) -> Result<(Edges, u64)> {
    let size = source.length()?;
    let head = source.head()?;
    let counts = (u32_at(head, 0) as usize, u32_at(head, 4) as usize);
    let head = head[..head.len().min(12)].to_vec();
    let weighted = check_layout(&head, size, &source.name())?;
    let (vertices, arcs) = counts;
    let targets_at = HEADER + 4 * (vertices as u64 + 1);
    let mut ends = Buffer::<u32>::zeroed(vertices)?;
    source.at(HEADER + 4)?.read_exact(bytemuck::cast_slice_mut(&mut ends))?;
    let rows = RowFile { ends, arcs, targets_at, ends_at: HEADER + 4, weights_at: targets_at + 4 * arcs as u64 };
    if weighted { pass_rows::<_, i32>(source, &rows, taker) } else { pass_rows::<_, ()>(source, &rows, taker) }
}

pub(super) fn write(graph: &Graph, path: &Path, sink: &mut Sink) -> Result<(), Stop> {
    let cannot = |what: String, instead| {
        Stop::Other(Error::CannotHold { file: path.display().to_string(), format: ".egr", what, instead })
    };
    let weight: Option<&[u32]> = match graph.weights() {
        Weights::Unit => None,
        Weights::I32(w) => Some(bytemuck::cast_slice(w)),
        Weights::U32(w) if w.iter().all(|&w| w <= i32::MAX as u32) => Some(w),
        Weights::U32(_) => return Err(cannot("weights above 2^31 - 1".into(), "mtx, wel, sgr and kostra")),
        other => return Err(cannot(format!("{} weights", other.type_name()), "mtx, wel, csv and kostra")),
    };
    let csr = Csr::new(graph, true);
    let arcs = csr.neighbours().len();
    if graph.vertices() > i32::MAX as usize || arcs > i32::MAX as usize {
        return Err(cannot("more than 2^31 - 1 vertices or arcs".into(), "sgr and kostra"));
    }
    let header = [graph.vertices() as u32, arcs as u32];
    sink.bytes(bytemuck::cast_slice(&header))?;
    write_u32(sink, csr.offsets(), |&start| start as u32)?;
    sink.bytes(bytemuck::cast_slice(csr.neighbours()))?;
    if let Some(weight) = weight {
        write_u32(sink, csr.edges(), |&e| weight[e as usize])?;
    }
    Ok(())
}

/// Writes what `value` makes of the items, a piece at a time.
pub(super) fn write_u32<T>(sink: &mut Sink, items: &[T], value: impl Fn(&T) -> u32) -> Result<(), Stop> {
    let mut piece: Vec<u32> = Vec::new();
    for part in items.chunks(1 << 20) {
        piece.clear();
        piece.extend(part.iter().map(&value));
        sink.bytes(bytemuck::cast_slice(&piece))?;
    }
    Ok(())
}
