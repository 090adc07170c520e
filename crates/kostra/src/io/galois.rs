//! Galois binary `.gr`, version 1: little-endian `u64` version, bytes per edge datum, vertices, arcs; `u64` row ends; `u32`
//! neighbours, padded to 8 bytes; the edge data. The file does not tell the type of its data: 4 bytes are read as `u32`,
//! 8 as `i64`.

use std::path::Path;

use super::egr::write_u32;
use super::rows::{Rows, edges_of, items, u64_at};
use super::sink::{Sink, Stop};
use super::source::Source;
use crate::csr::Csr;
use crate::error::{Error, Result};
use crate::graph::Graph;
use crate::weight::Weights;

const HEADER: usize = 32;

/// Whether a file begins as this format does.
pub(super) fn is_header(head: &[u8]) -> bool {
    head.len() >= HEADER && u64_at(head, 0) == 1 && matches!(u64_at(head, 8), 0 | 4 | 8)
}

pub(super) fn read(mut source: Source) -> Result<Graph<'static>> {
    let (file, watch) = (source.name(), source.watch().clone());
    let bytes = source.whole()?;
    let fail = |byte, what: String| Error::Byte { file: file.clone(), byte, what };
    if bytes.len() < HEADER {
        return Err(fail(bytes.len() as u64, "the header of 32 bytes is cut short".into()));
    }
    let [version, datum, vertices, arcs] = [0, 8, 16, 24].map(|at| u64_at(&bytes, at));
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
    let size = bytes.len() as u128;
    if size != expected && !(datum == 0 && size == unpadded) {
        let what = format!("the header promises {vertices} vertices and {arcs} arcs, that is {expected} bytes");
        return Err(fail(bytes.len() as u64, format!("{what}; the file has {size}")));
    }
    for (what, count) in [("vertices", vertices), ("edges", arcs / 2)] {
        if count > u32::MAX.into() {
            return Err(Error::TooLarge { what, count });
        }
    }
    let (vertices, arcs, targets_at, data_at) = (vertices as usize, arcs as usize, targets as usize, data as usize);
    let ends = items::<u64>(&bytes[HEADER..targets_at]);
    let targets = items(&bytes[targets_at..targets_at + 4 * arcs]);
    let data = &bytes[data_at.min(bytes.len())..];
    let (ends, ends_at, targets, targets_at) = (&*ends, HEADER as u64, &*targets, targets_at as u64);
    let (src, dst, weights) = match datum {
        0 => {
            let rows = Rows { file, ends, targets, weights: &vec![(); arcs], ends_at, targets_at };
            let (src, dst, _) = edges_of(&rows, &watch)?;
            (src, dst, Weights::Unit)
        }
        4 => {
            let rows = Rows { file, ends, targets, weights: &items(data), ends_at, targets_at };
            let (src, dst, weights) = edges_of(&rows, &watch)?;
            (src, dst, Weights::U32(weights))
        }
        _ => {
            let rows = Rows { file, ends, targets, weights: &items(data), ends_at, targets_at };
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
