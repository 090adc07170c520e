//! The edges of a graph in a GPU's memory, and their way there.

use cudarc::driver::{CudaSlice, DeviceRepr, LaunchConfig, sys};

use super::gpu::{Gpu, Module, launch};
use super::pack::BLOCK;
use super::pipe::{Load, PACKED, STRIDE};
use super::resident::{DeviceKey, address};
use crate::error::Result;
use crate::graph::Graph;
use crate::mix::{below, mix};
use crate::weight::Keys;

/// Keys that are looked at to find a small one.
pub(super) const SAMPLES: u64 = 1024;

/// Edges that are sent before work on them begins: whole packed pieces.
const PART: usize = 4 * PACKED;

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
        let (mut parts, mut room) = (Vec::new(), room);
        for from in (0..m).step_by(PART) {
            let (edges, at, mut part) = (from..m.min(from + PART), from as u64, Part::default());
            part.add(&graph.sources()[edges.clone()], address(gpu, &self.src) + 4 * at, &mut room);
            part.add(&graph.targets()[edges.clone()], address(gpu, &self.dst) + 4 * at, &mut room);
            if !is_unit {
                part.add(&bits[edges], address(gpu, &self.keys) + key as u64 * at, &mut room);
            }
            parts.push(part);
        }
        let (loads, packed): (Vec<_>, Vec<_>) = parts.into_iter().map(|part| (part.loads, part.packed)).unzip();
        gpu.with_pipe(|pipe| {
            pipe.wait()?;
            pipe.send(&loads, |number| {
                let (from, to) = ((number * PART) as u64, m.min((number + 1) * PART) as u64);
                unpack(gpu, &packed[number], (to - from) as u32)?;
                if !is_unit {
                    let shape = gpu.over((to - from) as usize);
                    launch!(gpu, Module::Graph, &make_keys, shape, &self.keys, &map, &from, &to);
                }
                sent(from, to)
            })
        })
    }
}

/// Bytes that it takes to unpack so many edges.
pub(super) fn room_to_unpack(m: usize) -> usize {
    3 * STRIDE * m.div_ceil(PACKED)
}

/// What is sent of some edges before work on them begins.
#[derive(Default)]
struct Part<'a> {
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

impl<'a> Part<'a> {
    /// Adds an array that goes to that place: packed, if there is room for that and items have 32 bits.
    fn add<T: bytemuck::Pod>(&mut self, items: &'a [T], to: sys::CUdeviceptr, room: &mut Option<sys::CUdeviceptr>) {
        let Some(pieces) = room.as_mut().filter(|_| size_of::<T>() == 4) else {
            return self.loads.push(Load::new(items, to));
        };
        self.loads.push(Load::packed(bytemuck::cast_slice(items), *pieces));
        self.packed.push(Packed { pieces: *pieces, stride: STRIDE as u64, to });
        *pieces += (items.len().div_ceil(PACKED) * STRIDE) as u64;
    }
}

/// Unpacks arrays of so many numbers each.
fn unpack(gpu: &Gpu, packed: &[Packed], count: u32) -> Result<()> {
    if packed.is_empty() {
        return Ok(());
    }
    let mut all = AllPacked([Packed::default(); 3]);
    all.0[..packed.len()].copy_from_slice(packed);
    let shape = LaunchConfig { grid_dim: (count.div_ceil(BLOCK as u32), packed.len() as u32, 1), ..gpu.over(1) };
    launch!(gpu, Module::Graph, "unpack", shape, &all, &count, &(PACKED as u32));
    Ok(())
}
