//! The edges of a graph in a GPU's memory, and their way there.

use std::ops::Range;

use cudarc::driver::{CudaSlice, DeviceRepr, LaunchConfig, sys};

use super::gpu::{Gpu, THREADS, launch};
use super::module::Module;
use super::pack::{BLOCK, most_bytes};
use super::pipe::{Load, PACKED};
use super::resident::{DeviceKey, address};
use crate::error::Result;
use crate::graph::Graph;
use crate::mix::{below, mix};
use crate::weight::Keys;

/// Keys that are looked at to find a small one.
pub(super) const SAMPLES: u64 = 1024;

/// Numbers in the packed pieces of the first part, and those of a whole part.
const FIRST: usize = PACKED / 8;
const WHOLE: usize = 4 * PACKED;

/// Cuts edges into parts, which are sent before work on them begins, and says how many numbers their packed pieces have. The first
/// pieces are short and the next twice as long, until they are whole: the threads soon send something, and before that has gone,
/// more.
fn parts(m: usize) -> impl Iterator<Item = (Range<usize>, usize)> {
    let (mut from, mut next) = (0, FIRST);
    std::iter::from_fn(move || {
        let (piece, start) = (next, from);
        from = m.min(start + WHOLE.min(8 * piece));
        next = PACKED.min(2 * piece);
        (start < from).then_some((start..from, piece))
    })
}

/// How the bits of weights become keys.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(super) struct Map<K>(pub(super) [K; 4]);

// SAFETY: four keys, as in the kernel's struct.
#[allow(unsafe_code)]
unsafe impl<K: DeviceRepr> DeviceRepr for Map<K> {}

/// The edges of a graph in the GPU's memory: 8 bytes for the ends and 4 or 8 for the key of each.
pub(super) struct Edges<K> {
    pub(super) n: u32,
    pub(super) m: u32,
    pub(super) src: CudaSlice<u32>,
    pub(super) dst: CudaSlice<u32>,
    pub(super) keys: CudaSlice<K>,
    /// Of the keys that were looked at.
    pub(super) smallest: K,
    pub(super) largest: K,
}

impl<K: DeviceKey> Edges<K> {
    /// Room for `graph`'s edges.
    pub(super) fn room(gpu: &Gpu, graph: &Graph, keys: Keys<K>) -> Result<Self> {
        let (n, m) = (graph.vertices() as u32, graph.edges());
        let sample = (0..SAMPLES.min(m as u64)).map(|i| keys.at(below(mix(i), m as u64) as usize));
        let (smallest, largest) = sample.fold((K::MAX, K::zeroed()), |(low, high), key| (low.min(key), high.max(key)));
        Ok(Self {
            n,
            m: m as u32,
            src: gpu.room(m)?,
            dst: gpu.room(m)?,
            keys: if graph.weights().is_unit() { gpu.stream.alloc_zeros(m.max(1))? } else { gpu.room(m)? },
            smallest,
            largest,
        })
    }

    /// Sends the edges in parts and makes their keys, calling `sent` with the ends of each part, in any order. Where there is room of
    /// [`room_to_unpack`] bytes, numbers of 32 bits are packed on their way.
    pub(super) fn send(
        &self,
        gpu: &Gpu,
        graph: &Graph,
        keys: Keys<K>,
        room: Option<sys::CUdeviceptr>,
        mut sent: impl FnMut(u64, u64) -> Result<()> + Send,
    ) -> Result<()> {
        let (bits, map) = keys.parts();
        let (map, make_keys) = (Map(map), format!("make_keys_{}", K::SUFFIX));
        let (m, is_unit, key) = (graph.edges(), graph.weights().is_unit(), size_of::<K>());
        let mut room = room;
        let mut parts: Vec<Part> = parts(m)
            .map(|(edges, piece)| {
                let at = edges.start as u64;
                let mut part = Part { edges: edges.clone(), piece, loads: Vec::new(), packed: Vec::new() };
                part.add(&graph.sources()[edges.clone()], address(gpu, &self.src) + 4 * at, &mut room);
                part.add(&graph.targets()[edges.clone()], address(gpu, &self.dst) + 4 * at, &mut room);
                if !is_unit {
                    part.add(&bits[edges], address(gpu, &self.keys) + key as u64 * at, &mut room);
                }
                part
            })
            .collect();
        let loads: Vec<_> = parts.iter_mut().map(|part| std::mem::take(&mut part.loads)).collect();
        gpu.with_pipe(|pipe| {
            pipe.wait()?;
            pipe.send(&loads, |number| {
                let part = &parts[number];
                part.unpack(gpu)?;
                let (from, to) = (part.edges.start as u64, part.edges.end as u64);
                if !is_unit {
                    launch!(gpu, Module::Graph, &make_keys, gpu.over(part.edges.len()), &self.keys, &map, &from, &to);
                }
                sent(from, to)
            })
        })
    }
}

/// Bytes that it takes to unpack so many edges.
pub(super) fn room_to_unpack(m: usize) -> usize {
    parts(m).map(|(edges, piece)| 3 * most_bytes(piece) * edges.len().div_ceil(piece)).sum()
}

/// What is sent of some edges before work on them begins.
struct Part<'a> {
    edges: Range<usize>,
    /// Numbers in a packed piece.
    piece: usize,
    loads: Vec<Load<'a>>,
    packed: Vec<Packed>,
}

/// Numbers that were packed, and where they go; as in the kernel.
#[derive(Clone, Copy, Default)]
#[repr(C)]
struct Packed {
    pieces: sys::CUdeviceptr,
    stride: u64,
    to: sys::CUdeviceptr,
}

/// The same of up to three arrays.
#[repr(transparent)]
struct AllPacked([Packed; 3]);

// SAFETY: as the struct in the kernel.
#[allow(unsafe_code)]
unsafe impl DeviceRepr for AllPacked {}

/// Warps in a block of the kernel that unpacks, each of which takes a block of numbers at a time.
const WARPS: u32 = THREADS / 32;

impl<'a> Part<'a> {
    /// Adds an array that goes to that place: packed, if there is room for that and items have 32 bits.
    fn add<T: bytemuck::Pod>(&mut self, items: &'a [T], to: sys::CUdeviceptr, room: &mut Option<sys::CUdeviceptr>) {
        let Some(pieces) = room.as_mut().filter(|_| size_of::<T>() == 4) else {
            return self.loads.push(Load::new(items, to));
        };
        let stride = most_bytes(self.piece) as u64;
        self.loads.push(Load::packed(bytemuck::cast_slice(items), self.piece, *pieces));
        self.packed.push(Packed { pieces: *pieces, stride, to });
        *pieces += items.len().div_ceil(self.piece) as u64 * stride;
    }

    /// Unpacks what was packed.
    fn unpack(&self, gpu: &Gpu) -> Result<()> {
        let mut all = AllPacked([Packed::default(); 3]);
        all.0[..self.packed.len()].copy_from_slice(&self.packed);
        let (count, piece, arrays) = (self.edges.len() as u32, self.piece as u32, self.packed.len() as u32);
        if arrays > 0 {
            let shape = LaunchConfig { grid_dim: (count.div_ceil(WARPS * BLOCK as u32), arrays, 1), ..gpu.over(1) };
            launch!(gpu, Module::Graph, "unpack", shape, &all, &count, &piece);
        }
        Ok(())
    }
}
