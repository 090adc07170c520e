//! The memory that the kernels of `kostra` work in, and how they are launched.

use std::marker::PhantomData;

use bytemuck::Zeroable;
use cudarc::driver::{CudaSlice, DeviceRepr, LaunchConfig, sys};

use crate::cuda::gpu::Gpu;
use crate::cuda::resident::{DeviceKey, address};
use crate::error::Result;

/// Light edges wanted per vertex. Fewer leave more trees to the heavy edges, more make the rounds longer: against 1.2, on an
/// H200, 0.85 was up to 41 % slower (web) and at best 6 % faster (social), 2.0 between 33 % slower (r4) and 6 % faster.
const LIGHT: f32 = 1.2;

/// Graphs with fewer edges per vertex are not filtered: most edges would be light.
const FILTER_FROM: f64 = 2.5;

/// As in the kernels.
const THREADS: u32 = 512;
const TILE: usize = 4 * THREADS as usize;
const BLOCKS: u32 = 1024;
const ROUNDS: usize = 96;
pub(super) const HUB: usize = 2048;
const HOLD: u32 = 4;
const HOLDERS: u32 = 1024;
const STAGE: usize = 512;
const SHARE: usize = 2048;
/// Bytes of shared memory for what blocks count, without the cells of a table.
const SHARED: usize = 12_576;

/// The same of what `build_light` and `build_heavy` count, beside the edges that wait there.
const COUNTS: usize = 272;

/// Cells in a block's table at most; leaves much of a multiprocessor's memory to its cache.
const TABLE: usize = 5120;

/// Bytes of shared memory, and more than that, which a block takes for itself.
const OWN: usize = 2048;

/// Most bytes of strays, of which every block that lists heavy edges has a copy.
const STRAYS: usize = 1 << 18;

/// Up to so many edges, one block per multiprocessor does the rounds: fewer blocks wait less for one another.
const FEW: usize = 1 << 24;

/// What the kernels count, as far as the host reads it.
#[derive(Clone, Copy)]
#[repr(C)]
pub(super) struct State {
    barriers: [u64; 12],
    pieces: u32,
    hubs: u32,
    trees: u32,
    done: u32,
    pub(super) rounds: u32,
    levels: u32,
    pub(super) slots: u32,
    swaps: u32,
    handed: u32,
    giant: u32,
    member: u32,
    strays: u32,
    parts: u32,
    part_length: u64,
    threshold_key: u64,
    threshold_edge: u32,
    pub(super) round: [[u32; 2]; ROUNDS],
    level: [u32; ROUNDS],
}

// SAFETY: all fields are integers.
#[allow(unsafe_code)]
unsafe impl Zeroable for State {}

/// Bytes of the kernels' state, which also has three numbers per block.
const STATE: usize = size_of::<State>() + 3 * 4 * BLOCKS as usize;

/// Memory to work in, as kernels take it.
#[derive(Clone, Copy)]
#[repr(C)]
pub(super) struct WorkArgument {
    pub(super) state: sys::CUdeviceptr,
    factor: f32,
    table: u32,
    pub(super) cells: sys::CUdeviceptr,
    next_cells: sys::CUdeviceptr,
    links: sys::CUdeviceptr,
    maps: sys::CUdeviceptr,
    pub(super) list: sys::CUdeviceptr,
    next_list: sys::CUdeviceptr,
    pub(super) chosen: sys::CUdeviceptr,
    pieces: sys::CUdeviceptr,
    hubs: sys::CUdeviceptr,
    strays: sys::CUdeviceptr,
    stray_shift: u32,
}

// SAFETY: as the struct Work in kostra.cu.
#[allow(unsafe_code)]
unsafe impl DeviceRepr for WorkArgument {}

/// Memory to work in, reused from solve to solve.
pub(in crate::cuda) struct Scratch<K> {
    /// Everything lies in here.
    _memory: CudaSlice<u8>,
    pub(super) work: WorkArgument,
    pub(super) shapes: Shapes,
    key: PhantomData<K>,
}

/// How the kernels are launched.
pub(super) struct Shapes {
    pub(super) sample: LaunchConfig,
    pub(super) held: LaunchConfig,
    /// Edges that the threads hold at most, and what the run allows.
    pub(super) few: u32,
    pub(super) hold: Option<u32>,
    /// Where those are not all.
    pub(super) rounds: Option<Rounds>,
}

/// How the kernels are launched before the threads can hold all edges that are left.
pub(super) struct Rounds {
    /// Where there are adjacency lists.
    pub(super) rows: Option<LaunchConfig>,
    pub(super) join: LaunchConfig,
    pub(super) build: LaunchConfig,
    pub(super) rounds: LaunchConfig,
    /// Where light edges come first.
    pub(super) filter: Option<Filter>,
}

pub(super) struct Filter {
    pub(super) build_light: LaunchConfig,
    pub(super) build_heavy: LaunchConfig,
    pub(super) label: LaunchConfig,
}

/// Lays arrays one behind the other.
struct Layout(sys::CUdeviceptr);

impl Layout {
    /// Where an array of so many bytes goes.
    fn place(&mut self, bytes: usize) -> sys::CUdeviceptr {
        let at = self.0;
        self.0 += (bytes as u64).next_multiple_of(256);
        at
    }
}

impl WorkArgument {
    /// Places in memory that starts there, and where it ends.
    fn layout<K>(start: sys::CUdeviceptr, n: usize, m: usize) -> (Self, sys::CUdeviceptr) {
        let mut all = Layout(start);
        let pieces = 2 * m / HUB * 2 + 1;
        let work = Self {
            state: all.place(STATE),
            factor: if m as f64 >= FILTER_FROM * n as f64 { LIGHT } else { 0.0 },
            table: 0,
            cells: all.place(8 * n),
            next_cells: all.place(8 * (n / 2 + 1)),
            links: all.place(4 * n),
            maps: all.place(4 * 2 * n),
            list: all.place(16 * m),
            next_list: all.place(16 * m),
            chosen: all.place(4 * 3 * n),
            pieces: all.place((16 + size_of::<K>()) * pieces),
            hubs: all.place(8 * pieces),
            strays: all.place(STRAYS),
            stray_shift: 0,
        };
        (work, all.0)
    }

    /// Bytes of the two lists, which lie one behind the other.
    pub(super) fn room_of_lists(m: usize) -> usize {
        2 * 16 * m
    }

    /// Bytes that it needs.
    pub(super) fn bytes<K>(n: usize, m: usize) -> u64 {
        Self::layout::<K>(0, n, m).1
    }
}

impl<K: DeviceKey> Scratch<K> {
    /// Room to solve a graph of that size, where the threads hold no more edges than the run allows.
    pub(super) fn new(gpu: &Gpu, n: u32, m: u32, has_rows: bool, hold: Option<u32>) -> Result<Self> {
        let (n, m) = (n as usize, m as usize);
        let memory = gpu.room::<u8>(WorkArgument::bytes::<K>(n, m) as usize)?;
        let (mut work, _) = WorkArgument::layout::<K>(address(gpu, &memory), n, m);
        let sample = LaunchConfig { grid_dim: (1, 1, 1), block_dim: (ROUNDS as u32, 1, 1), shared_mem_bytes: 0 };
        // One block per multiprocessor, as all wait for one another all the time.
        let blocks = n.max(m).div_ceil(TILE).min(gpu.multiprocessors as usize);
        let held = gpu.filled(K::KOSTRA, "held_rounds", HOLDERS, SHARED, blocks)?;
        let few = (held.grid_dim.0 * HOLDERS * HOLD).min(hold.unwrap_or(u32::MAX));
        // A list's room must do for cells.
        let is_small = m <= few as usize && n <= 2 * m;
        let rounds = if is_small { None } else { Some(Rounds::new::<K>(gpu, n, m, has_rows, &mut work)?) };
        let shapes = Shapes { sample, held, few, hold, rounds };
        Ok(Self { _memory: memory, work, shapes, key: PhantomData })
    }

    /// 1 where a threshold is to be chosen before all else.
    pub(super) fn chooses(&self) -> u32 {
        u32::from(self.shapes.rounds.as_ref().is_some_and(|rounds| rounds.filter.is_some()))
    }
}

impl Rounds {
    fn new<K: DeviceKey>(gpu: &Gpu, n: usize, m: usize, has_rows: bool, work: &mut WorkArgument) -> Result<Self> {
        work.table = TABLE.min(gpu.shared_memory.saturating_sub(SHARED + OWN) / 8) as u32;
        let blocks = if m <= FEW { gpu.multiprocessors as usize } else { BLOCKS as usize }.min(m.div_ceil(SHARE));
        let stages = THREADS as usize / 32 * STAGE * size_of::<K>();
        let rows = || gpu.filled(K::KOSTRA, "search_rows", THREADS, stages, n.div_ceil(THREADS as usize));
        Ok(Self {
            rows: has_rows.then(rows).transpose()?,
            join: gpu.filled(K::KOSTRA, "join_vertices", THREADS, SHARED, n.div_ceil(TILE))?,
            build: gpu.filled(K::KOSTRA, "build_all", THREADS, SHARED, m.div_ceil(TILE))?,
            rounds: gpu.filled(K::KOSTRA, "rounds", THREADS, SHARED + 8 * work.table as usize, blocks)?,
            filter: if work.factor > 0.0 { Some(Filter::new::<K>(gpu, n, m, work)?) } else { None },
        })
    }
}

impl Filter {
    fn new<K: DeviceKey>(gpu: &Gpu, n: usize, m: usize, work: &mut WorkArgument) -> Result<Self> {
        // Edges that wait, and beside them the keys of light ones, or the strays. Two blocks share a multiprocessor.
        let key = size_of::<K>();
        let waiting = TILE + 8 / key * TILE;
        let queue = COUNTS + 4 * waiting;
        let strays = (gpu.shared_memory / 2).saturating_sub(queue + OWN).clamp(4, STRAYS) / 4 * 4;
        while (n - 1) >> work.stray_shift >= 8 * strays {
            work.stray_shift += 1;
        }
        let blocks = m.div_ceil(TILE);
        Ok(Self {
            build_light: gpu.filled(K::KOSTRA, "build_light", THREADS, queue + waiting * key, blocks)?,
            build_heavy: gpu.filled(K::KOSTRA, "build_heavy", THREADS, queue + strays, blocks)?,
            label: gpu.filled(K::KOSTRA, "label", THREADS, 0, n.div_ceil(THREADS as usize))?,
        })
    }
}
