//! Galois binary `.gr`, version 1: little-endian `u64` version, bytes per edge datum, vertices, arcs; `u64` row ends; `u32`
//! neighbours, padded to 8 bytes; the edge data. The file does not tell the type of its data: 4 bytes are read as `u32`,
//! 8 as `i64`.

use std::path::Path;

use super::edges::{Edges, Taker};
use super::egr::write_u32;
use super::row_blocks::{RowFile, pass as pass_rows};
use super::rows::{Rows, edges_of, items, u64_at};
use super::sink::{Sink, Stop};
use super::source::Source;
use crate::buffer::Buffer;
use crate::csr::Csr;
use crate::error::{Error, Result};
use crate::graph::Graph;
use crate::weight::Weights;

const HEADER: usize = 32;

/// Whether a file begins as this format does.
pub(super) fn is_header(head: &[u8]) -> bool {
    head.len() >= HEADER && u64_at(head, 0) == 1 && matches!(u64_at(head, 8), 0 | 4 | 8)
}

/// What the header says, and where targets and data begin.
struct Layout {
    datum: u64,
    vertices: u64,
    arcs: u64,
    targets_at: u64,
    data_at: u64,
}

fn read_header(head: &[u8], size: u64, file: &str) -> Result<Layout> {
    let fail = |byte, what: String| Error::Byte { file: file.into(), byte, what };
    if size < HEADER as u64 {
        return Err(fail(size, "the header of 32 bytes is cut short".into()));
    }
    let [version, datum, vertices, arcs] = [0, 8, 16, 24].map(|at| u64_at(head, at));
    if version != 1 {
        return Err(fail(0, format!("version {version}; version 1 is known")));
    }
    if !matches!(datum, 0 | 4 | 8) {
        return Err(fail(8, format!("edge data of {datum} bytes; 0, 4 and 8 are known")));
    }
    // In 128 bits, so that no header can make it wrap around.
    let targets = HEADER as u128 + 8 * u128::from(vertices);
    let data = (targets + 4 * u128::from(arcs)).next_multiple_of(8);
    let expected = data + u128::from(datum) * u128::from(arcs);
    // Some writers leave the padding out when no data follow it.
    let unpadded = targets + 4 * u128::from(arcs);
    if u128::from(size) != expected && !(datum == 0 && u128::from(size) == unpadded) {
        let what = format!("the header promises {vertices} vertices and {arcs} arcs, that is {expected} bytes");
        return Err(fail(size, format!("{what}; the file has {size}")));
    }
    if vertices > u32::MAX.into() {
        return Err(Error::TooLarge { what: "vertices", count: vertices });
    }
    Ok(Layout { datum, vertices, arcs, targets_at: targets as u64, data_at: data as u64 })
}

/// Passes the edges on, a part at a time.
pub(super) fn pass(source: &mut Source, taker: &mut dyn Taker) -> Result<(Edges, u64)> {
    let size = source.length()?;
    let head = source.head()?;
    let head = head[..head.len().min(HEADER)].to_vec();
    let Layout { datum, vertices, arcs, targets_at, data_at } = read_header(&head, size, &source.name())?;
    let mut ends = Buffer::<u64>::zeroed(vertices as usize)?;
    source.at(HEADER as u64)?.read_exact(bytemuck::cast_slice_mut(&mut ends))?;
    let rows = RowFile { ends, arcs: arcs as usize, targets_at, ends_at: HEADER as u64, weights_at: data_at };
    match datum {
        0 => pass_rows::<_, ()>(source, &rows, taker),
        4 => pass_rows::<_, u32>(source, &rows, taker),
        _ => pass_rows::<_, i64>(source, &rows, taker),
    }
}

pub(super) fn read(mut source: Source) -> Result<Graph<'static>> {
    let (file, watch) = (source.name(), source.watch().clone());
    let bytes = source.whole()?;
    let Layout { datum, vertices, arcs, targets_at, data_at } = read_header(&bytes, bytes.len() as u64, &file)?;
    if arcs / 2 > u32::MAX.into() {
        return Err(Error::TooLarge { what: "edges", count: arcs / 2 });
    }
    let (vertices, arcs, targets_at, data_at) =
        (vertices as usize, arcs as usize, targets_at as usize, data_at as usize);
    let ends = items::<u64>(&bytes[HEADER..targets_at]);
    let targets = items(&bytes[targets_at..targets_at + 4 * arcs]);
    let data = &bytes[data_at.min(bytes.len())..];
    let (ends, ends_at, targets, targets_at) = (&*ends, HEADER as u64, &*targets, targets_at as u64);
    let (src, dst, weights) = match datum {
        0 => {
            let rows = Rows { file, ends, first: 0, targets, weights: &vec![(); arcs], ends_at, targets_at };
            let (src, dst, _) = edges_of(&rows, &watch)?;
            (src, dst, Weights::Unit)
        }
        4 => {
            let rows = Rows { file, ends, first: 0, targets, weights: &items(data), ends_at, targets_at };
            let (src, dst, weights) = edges_of(&rows, &watch)?;
            (src, dst, Weights::U32(weights))
        }
        _ => {
            let rows = Rows { file, ends, first: 0, targets, weights: &items(data), ends_at, targets_at };
            let (src, dst, weights) = edges_of(&rows, &watch)?;
            (src, dst, Weights::I64(weights))
        }
    };
    Ok(Graph::from_proved_edges(vertices as u32, src, dst, weights))
}

pub(super) fn write(graph: &Graph, path: &Path, sink: &mut Sink) -> Result<(), Stop> {
    let cannot = |what: String| {
        let (file, format) = (path.display().to_string(), "Galois .gr");
        Stop::Other(Error::CannotHold { file, format, what, instead: "mtx, wel, csv and kostra" })
    };
    match graph.weights() {
        weights @ (Weights::F32(_) | Weights::F64(_)) => {
            return Err(cannot(format!("{} weights", weights.type_name())));
        }
        Weights::I32(w) if w.iter().any(|&w| w < 0) => return Err(cannot("negative 32-bit weights".into())),
        _ => {}
    }
    let datum: u64 = match graph.weights() {
        Weights::Unit => 0,
        Weights::I64(_) => 8,
        _ => 4,
    };
    let csr = Csr::new(graph, true);
    let arcs = csr.neighbours().len();
    sink.bytes(bytemuck::cast_slice(&[1, datum, graph.vertices() as u64, arcs as u64]))?;
    sink.bytes(bytemuck::cast_slice(&csr.offsets()[1..]))?;
    sink.bytes(bytemuck::cast_slice(csr.neighbours()))?;
    if arcs % 2 == 1 {
        sink.bytes(&[0; 4])?;
    }
    match graph.weights() {
        Weights::U32(w) => write_u32(sink, csr.edges(), |&e| w[e as usize]),
        Weights::I32(w) => write_u32(sink, csr.edges(), |&e| w[e as usize] as u32),
        Weights::I64(w) => {
            for part in csr.edges().chunks(1 << 20) {
                let piece: Vec<i64> = part.iter().map(|&e| w[e as usize]).collect();
                sink.bytes(bytemuck::cast_slice(&piece))?;
            }
            Ok(())
        }
        _ => Ok(()),
    }
}
