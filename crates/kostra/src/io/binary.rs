//! kostra's own binary: the graph's arrays as they are in memory, mapped instead of parsed. docs/formats.md has every byte.

use bytemuck::Pod;
use rayon::prelude::*;
use xxhash_rust::xxh3::xxh3_64;

use super::edges::{Edges, Keep, Taker, check_waste};
use super::rows::{u32_at, u64_at};
use super::sink::{Sink, Stop};
use super::source::{Source, Whole};
use crate::array::Array;
use crate::error::{Error, Result};
use crate::graph::{Graph, largest};
use crate::numbers::{Kind, Numbers, each_numbers};
use crate::stream::Part;
use crate::weight::{Weights, each_weights};

/// The first bytes of every file: not text, and damaged by any transfer that takes it for text.
pub(super) const MAGIC: [u8; 8] = *b"\x89KOSTRA\n";
const VERSION: u32 = 1;
const HEADER: usize = 64;
/// Every array begins at a multiple of this.
const ALIGNMENT: usize = 64;
/// The checksum is over the checksums of pieces of this size, so that all threads can work on it.
const PIECE: usize = 1 << 20;
/// Edges that four threads read at a time where the file is not mapped: whole pieces of all sections.
const AT_A_TIME: usize = 1 << 18;

/// What the header says, and where the arrays are.
struct Layout {
    vertices: u64,
    edges: u64,
    weight_type: u32,
    checksum: u64,
}

impl Layout {
    /// Bytes of one weight.
    fn weight_size(&self) -> u64 {
        match self.weight_type {
            0 => 0,
            1 | 2 | 4 => 4,
            _ => 8,
        }
    }

    fn kind(&self) -> Kind {
        Kind::ALL[self.weight_type as usize]
    }

    /// Where sources, targets and weights begin, and where the file ends. In 128 bits: no header makes it wrap around.
    fn sections(&self) -> [u128; 4] {
        let aligned = |at: u128| at.next_multiple_of(ALIGNMENT as u128);
        let src = HEADER as u128;
        let dst = aligned(src + 4 * u128::from(self.edges));
        let weights = aligned(dst + 4 * u128::from(self.edges));
        [src, dst, weights, aligned(weights + u128::from(self.weight_size()) * u128::from(self.edges))]
    }
}

pub(super) fn read(mut source: Source) -> Result<Graph<'static>> {
    let file = source.name();
    let whole = source.whole()?;
    let layout = read_header(&whole, Some(whole.len() as u64), &file)?;
    let [src, dst, weights, _] = layout.sections().map(|at| at as usize);
    let m = layout.edges as usize;
    let (src_bytes, dst_bytes) = (&whole[src..src + 4 * m], &whole[dst..dst + 4 * m]);
    let weight_bytes = &whole[weights..weights + layout.weight_size() as usize * m];
    if checksum([src_bytes, dst_bytes, weight_bytes]) != layout.checksum {
        return Err(Error::Byte {
            file,
            byte: 32,
            what: "the checksum does not fit the data; the file is damaged".into(),
        });
    }
    let weights = match layout.weight_type {
        0 => Weights::Unit,
        1 => Weights::U32(array(&whole, weights, m)),
        2 => Weights::I32(array(&whole, weights, m)),
        3 => Weights::I64(array(&whole, weights, m)),
        4 => Weights::F32(array(&whole, weights, m)),
        _ => Weights::F64(array(&whole, weights, m)),
    };
    let (src, dst) = (array(&whole, src, m), array(&whole, dst, m));
    Graph::from_edges(layout.vertices as usize, src, dst, weights)
        .map_err(|error| Error::File { file, what: error.to_string() })
}

/// What the header in the first bytes of a file says; the file must be as long as it promises, where that is known.
fn read_header(bytes: &[u8], size: Option<u64>, file: &str) -> Result<Layout> {
    let fail = |byte: u64, what: String| Err(Error::Byte { file: file.into(), byte, what });
    if bytes.len() < HEADER {
        return fail(bytes.len() as u64, "the header of 64 bytes is cut short".into());
    }
    if bytes[..8] != MAGIC {
        return fail(0, "not a kostra file: its first eight bytes are others".into());
    }
    let version = u32_at(bytes, 8);
    if version != VERSION {
        return fail(8, format!("version {version}; this program reads version {VERSION}"));
    }
    if u64_at(bytes, 56) != xxh3_64(&bytes[..56]) {
        return fail(56, "the header's checksum does not fit; the file is damaged".into());
    }
    let layout = Layout {
        weight_type: u32_at(bytes, 12),
        vertices: u64_at(bytes, 16),
        edges: u64_at(bytes, 24),
        checksum: u64_at(bytes, 32),
    };
    if layout.weight_type > 5 {
        return fail(12, format!("weight type {}; 0 to 5 are known", layout.weight_type));
    }
    for (what, count) in [("vertices", layout.vertices), ("edges", layout.edges)] {
        if count > u32::MAX.into() {
            return Err(Error::TooLarge { what, count });
        }
    }
    check_waste(layout.vertices, layout.edges, file)?;
    let [.., end] = layout.sections();
    if let Some(size) = size.filter(|&size| u128::from(size) != end) {
        return fail(size, format!("the file ends here, but its header promises {end} bytes"));
    }
    Ok(layout)
}

/// The items at byte `at`, which are inside the file: in place if it is mapped, else copied.
fn array<T: Pod>(whole: &Whole, at: usize, len: usize) -> Array<'static, T> {
    let mapped = match whole {
        Whole::Mapped(map) => Array::mapped(map, at, len),
        Whole::Owned(_) => None,
    };
    mapped.unwrap_or_else(|| bytemuck::allocation::pod_collect_to_vec(&whole[at..at + len * size_of::<T>()]).into())
}

/// XXH3-64 over the XXH3-64 of every piece of every section, in order.
fn checksum(sections: [&[u8]; 3]) -> u64 {
    checksum_of(sections.map(|section| section.par_chunks(PIECE).map(xxh3_64).collect::<Vec<_>>()))
}

fn checksum_of(sums: [Vec<u64>; 3]) -> u64 {
    xxh3_64(bytemuck::cast_slice(&sums.concat()))
}

/// Passes the edges on, a part at a time: the sections are read side by side.
///
/// Reading that was interrupted begins again at the first edge, so that the checksum holds; what was taken is not passed again.
pub(super) fn pass(source: &mut Source, taker: &mut dyn Taker) -> Result<(Edges, u64)> {
    let (size, file) = (source.plain_size(), source.name());
    let head = source.head()?;
    let head = head[..head.len().min(HEADER)].to_vec();
    let layout = read_header(&head, size, &file)?;
    let [src_at, dst_at, weights_at, end] = layout.sections().map(|at| at as u64);
    let resume = taker.resume();
    let mut edges = taker.begin(Keep::All)?;
    let done = resume.map_or(0, |resume| resume.entries);
    let (mut src, mut dst, mut weights) = (source.strand(src_at)?, source.strand(dst_at)?, source.strand(weights_at)?);
    let mut sums = [Vec::new(), Vec::new(), Vec::new()];
    let at_a_time = AT_A_TIME * (rayon::current_num_threads() / 4).max(1);
    while edges.entries < layout.edges {
        let first = edges.entries;
        let count = (layout.edges - first).min(at_a_time as u64) as usize;
        let part = &mut edges.part;
        let old = part.len();
        let src_bytes = grown(&mut part.src, count);
        let dst_bytes = grown(&mut part.dst, count);
        // In place, unless another file of the stream had weights of another type.
        let is_in_place = part.weights.kind() == layout.kind();
        let mut column = if is_in_place { std::mem::take(&mut part.weights) } else { Numbers::zeros(layout.kind(), 0) };
        let weights_old = column.count().unwrap_or(0);
        let weight_bytes = each_numbers!(&mut column, None => &mut [], all => grown(all, count));
        let (of_src, (of_dst, of_weights)) = rayon::join(
            || src.read(src_bytes, PIECE, xxh3_64),
            || rayon::join(|| dst.read(dst_bytes, PIECE, xxh3_64), || weights.read(weight_bytes, PIECE, xxh3_64)),
        );
        sums.iter_mut().zip([of_src?, of_dst?, of_weights?]).for_each(|(sums, more)| sums.extend(more));
        let largest = largest(&part.src[old..]).max(largest(&part.dst[old..]));
        let nan = column.weights().first_nan();
        if largest > layout.vertices || nan.is_some() {
            let what = match nan {
                Some(at) => Error::Nan { edge: first + (at - weights_old) as u64 },
                None => {
                    let (edge, vertices) = (first + wrong(part, old, layout.vertices), layout.vertices);
                    Error::Vertex { edge, vertex: largest - 1, vertices }
                }
            };
            return Err(Error::File { file, what: what.to_string() });
        }
        if is_in_place {
            part.weights = column;
        } else {
            part.weights.append(&mut column);
        }
        edges.entries += count as u64;
        part.remove(old, done.saturating_sub(first).min(count as u64) as usize);
        (edges.vertices, edges.spot.offset) = (edges.vertices.max(largest), edges.entries);
        source.report(edges.entries, layout.edges)?;
        if edges.entries > done {
            taker.take(&mut edges)?;
        }
    }
    if size.is_none() && !weights.ends_at(end)? {
        let what = "more follows where the header says that the file ends; it is damaged".into();
        return Err(Error::Byte { file, byte: end, what });
    }
    if checksum_of(sums) != layout.checksum {
        let what = "the checksum does not fit the data; the file is damaged".into();
        return Err(Error::Byte { file, byte: 32, what });
    }
    Ok((edges, layout.vertices))
}

/// Adds so many zeros, on all threads; gives the bytes of what was added.
fn grown<T: Pod + Send + Sync>(all: &mut Vec<T>, count: usize) -> &mut [u8] {
    let old = all.len();
    all.par_extend(rayon::iter::repeat_n(T::zeroed(), count));
    bytemuck::cast_slice_mut(&mut all[old..])
}

/// The first edge behind `old` that names a vertex which is not there.
fn wrong(part: &Part, old: usize, vertices: u64) -> u64 {
    let ends = part.src[old..].iter().zip(&part.dst[old..]);
    ends.take_while(|&(&u, &v)| u64::from(u.max(v)) < vertices).count() as u64
}

pub(super) fn write(graph: &Graph, sink: &mut Sink) -> Result<(), Stop> {
    let weights: &[u8] = each_weights!(graph.weights(), Unit => &[], w => bytemuck::cast_slice(w));
    let sections = [bytemuck::cast_slice(graph.sources()), bytemuck::cast_slice(graph.targets()), weights];
    let weight_type: u32 = match graph.weights() {
        Weights::Unit => 0,
        Weights::U32(_) => 1,
        Weights::I32(_) => 2,
        Weights::I64(_) => 3,
        Weights::F32(_) => 4,
        Weights::F64(_) => 5,
    };
    let mut header = [0; HEADER];
    header[..8].copy_from_slice(&MAGIC);
    header[8..12].copy_from_slice(&VERSION.to_le_bytes());
    header[12..16].copy_from_slice(&weight_type.to_le_bytes());
    header[16..24].copy_from_slice(&(graph.vertices() as u64).to_le_bytes());
    header[24..32].copy_from_slice(&(graph.edges() as u64).to_le_bytes());
    header[32..40].copy_from_slice(&checksum(sections).to_le_bytes());
    let header_checksum = xxh3_64(&header[..56]);
    header[56..].copy_from_slice(&header_checksum.to_le_bytes());
    sink.bytes(&header)?;
    for section in sections {
        sink.bytes(section)?;
        sink.bytes(&[0; ALIGNMENT][..section.len().next_multiple_of(ALIGNMENT) - section.len()])?;
    }
    Ok(())
}
