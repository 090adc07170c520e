//! kostra's own binary: the graph's arrays as they are in memory, mapped instead of parsed. docs/formats.md has every byte.

use std::sync::atomic::{AtomicU64, Ordering};

use bytemuck::Pod;
use rayon::prelude::*;
use xxhash_rust::xxh3::{Xxh3Default, xxh3_64};

use super::edges::{Blocks, Edges, Keep, Taker, Then, Wrong, check_meant, join};
use super::rows::{u32_at, u64_at};
use super::sink::{Sink, Stop};
use super::source::{Source, Spot, Whole};
use super::strand::Strand;
use crate::array::Array;
use crate::error::{Error, Result};
use crate::graph::Graph;
use crate::numbers::{Kind, Numbers, each_numbers};
use crate::stream::Filter;
use crate::weight::{Weights, each_weights};

/// The first bytes of every file: not text, and damaged by any transfer that takes it for text.
pub(super) const MAGIC: [u8; 8] = *b"\x89KOSTRA\n";
const VERSION: u32 = 1;
const HEADER: usize = 64;
/// Every array begins at a multiple of this.
const ALIGNMENT: usize = 64;
/// The checksum is over the checksums of pieces of this size, so that all threads can work on it.
const PIECE: usize = 1 << 20;
/// Edges that a thread takes at a time where the file is not mapped: whole pieces of all sections.
const BLOCK: usize = 1 << 18;
/// Edges of a block that it reads at a time if it can: they fit into a core's own cache.
const STEP: usize = 1 << 16;

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
    check_meant(layout.vertices, layout.edges, file)?;
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

/// Passes the edges on, block by block.
///
/// Reading that was interrupted begins again at the first edge, so that the checksum holds; what was taken is not passed again.
pub(super) fn pass(source: &mut Source, taker: &mut dyn Taker) -> Result<(Edges, u64)> {
    let (size, file) = (source.plain_size(), source.name());
    let head = source.head()?;
    let head = head[..head.len().min(HEADER)].to_vec();
    let layout = read_header(&head, size, &file)?;
    let vertices = layout.vertices;
    let [src, dst, weights, end] = layout.sections().map(|at| at as u64);
    let column = |at, width| source.strand(at).map(|strand| Column::new(strand, width, layout.edges));
    let columns = [column(src, 4)?, column(dst, 4)?, column(weights, layout.weight_size())?];
    let resume = taker.resume();
    if resume.is_some_and(|resume| resume.spot.hash != layout.checksum) {
        return Err(source.is_other());
    }
    let done = resume.map_or(0, |resume| resume.entries);
    let passed = Passed { columns, layout, is_in_order: size.is_none(), done, file };
    let edges = join(source, &passed, taker.begin(Keep::All)?, taker)?;
    let Passed { columns, layout, file, .. } = passed;
    let sums = columns.each_ref().map(Column::sums);
    let [.., weights] = columns;
    if !weights.strand.ends_at(end)? {
        let what = "more follows where the header says that the file ends; it is damaged".into();
        return Err(Error::Byte { file, byte: end, what });
    }
    if checksum_of(sums) != layout.checksum {
        let what = "the checksum does not fit the data; the file is damaged".into();
        return Err(Error::Byte { file, byte: 32, what });
    }
    Ok((edges, vertices))
}

/// A file whose edges are passed on.
struct Passed {
    layout: Layout,
    columns: [Column; 3],
    /// Whether blocks are read when they are taken.
    is_in_order: bool,
    /// Edges that were taken before.
    done: u64,
    file: String,
}

/// A section that is passed on, and what the checksum is made of.
struct Column {
    strand: Strand,
    width: u64,
    sums: Vec<AtomicU64>,
}

impl Column {
    fn new(strand: Strand, width: u64, edges: u64) -> Self {
        let pieces = (width * edges).div_ceil(PIECE as u64);
        Self { strand, width, sums: (0..pieces).map(|_| AtomicU64::new(0)).collect() }
    }

    /// Reads the items of the next edges of a block, of which this is the first.
    fn read(&self, first: u64, bytes: &mut [u8], hash: &mut Xxh3Default) -> Result<()> {
        let at = self.width * first;
        self.strand.read_at(at, bytes)?;
        for (bytes, at) in bytes.chunks(PIECE).zip((at..).step_by(PIECE)) {
            if at % PIECE as u64 == 0 {
                hash.reset();
            }
            hash.update(bytes);
            // Relaxed: sums are read when the threads have ended. The last one of a piece stays.
            self.sums[at as usize / PIECE].store(hash.digest(), Ordering::Relaxed);
        }
        Ok(())
    }

    fn sums(&self) -> Vec<u64> {
        self.sums.iter().map(|sum| sum.load(Ordering::Relaxed)).collect()
    }
}

/// Edges of a block: all of them in a file that is read in order, else as many as are read at a time.
#[derive(Default)]
struct Block {
    first: u64,
    count: usize,
    src: Vec<u32>,
    dst: Vec<u32>,
    weights: Numbers,
}

impl Block {
    /// Makes room for so many edges; gives the bytes of the three columns.
    fn bytes(&mut self, kind: Kind, count: usize) -> [&mut [u8]; 3] {
        if self.src.len() != count {
            self.src.resize(count, 0);
            self.dst.resize(count, 0);
            self.weights = Numbers::zeros(kind, count);
        }
        let weights = each_numbers!(&mut self.weights, None => &mut [], all => bytemuck::cast_slice_mut(all));
        [bytemuck::cast_slice_mut(&mut self.src), bytemuck::cast_slice_mut(&mut self.dst), weights]
    }
}

impl Blocks for Passed {
    type Block = Block;

    fn next(&self, source: &mut Source, number: u64, block: &mut Block) -> Result<bool> {
        block.first = number * BLOCK as u64;
        block.count = self.layout.edges.saturating_sub(block.first).min(BLOCK as u64) as usize;
        source.report(block.first.min(self.layout.edges), self.layout.edges)?;
        if self.is_in_order {
            let bytes = block.bytes(self.layout.kind(), block.count);
            self.columns.iter().zip(bytes).try_for_each(|(column, bytes)| column.strand.read_in_order(bytes))?;
        }
        Ok(block.count > 0)
    }

    fn read(&self, block: &mut Block, part: &mut Edges, filter: Option<&Filter>) -> Result<Then, Wrong> {
        let (start, count) = (block.first, block.count);
        if start < self.done && self.done < start + count as u64 {
            let what = "the checkpoint lies inside a block of this file; it is another version's".into();
            return Err(Error::File { file: self.file.clone(), what }.into());
        }
        let mut hashes = [(); 3].map(|()| Xxh3Default::new());
        for at in (0..count).step_by(if self.is_in_order { count } else { STEP }) {
            let first = start + at as u64;
            let now = if self.is_in_order { count } else { STEP.min(count - at) };
            let bytes = block.bytes(self.layout.kind(), now);
            let columns = self.columns.iter().zip(bytes).zip(&mut hashes);
            columns.into_iter().try_for_each(|((column, bytes), hash)| column.read(first, bytes, hash))?;
            let Block { src, dst, weights, .. } = &*block;
            let weights = weights.weights();
            let largest = self.check(first, src, dst, &weights)?;
            part.vertices = part.vertices.max(u64::from(largest) + 1);
            if start >= self.done {
                part.part.add(src, dst, &weights, filter);
            }
        }
        part.entries = count as u64;
        part.spot = Spot { offset: start + part.entries, hash: self.layout.checksum, ..Spot::default() };
        Ok(Then::Next)
    }
}

impl Passed {
    /// The largest vertex of these edges, the first of which has that id; an error where it is none of the graph.
    fn check(&self, first: u64, src: &[u32], dst: &[u32], weights: &Weights) -> Result<u32> {
        let (largest, vertices) = (src.iter().chain(dst).fold(0, |largest, &v| largest.max(v)), self.layout.vertices);
        // Not `first_nan`, which waits for other threads.
        let nan = match weights {
            Weights::F32(all) => all.iter().position(|w| w.is_nan()),
            Weights::F64(all) => all.iter().position(|w| w.is_nan()),
            _ => None,
        };
        let wrong = if let Some(at) = nan {
            Error::Nan { edge: first + at as u64 }
        } else if u64::from(largest) >= vertices {
            let at = src.iter().zip(dst).take_while(|&(&u, &v)| u64::from(u.max(v)) < vertices).count();
            Error::Vertex { edge: first + at as u64, vertex: src[at].max(dst[at]).into(), vertices }
        } else {
            return Ok(largest);
        };
        Err(Error::File { file: self.file.clone(), what: wrong.to_string() })
    }
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
