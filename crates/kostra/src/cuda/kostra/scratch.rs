//! The memory that the kernels of `kostra` work in, and how they are launched.

use std::marker::PhantomData;

use bytemuck::Zeroable;
use cudarc::driver::{CudaSlice, DeviceRepr, LaunchConfig, result, sys};

use crate::cuda::gpu::Gpu;
use crate::cuda::resident::{DeviceKey, address};
use crate::error::Result;

/// Light edges wanted per vertex that has any. Fewer leave more strays to the heavy edges, more make the rounds longer.
const LIGHT: f64 = 1.2;

/// From so many such vertices a few more, this many for each doubling: the edges of strays are then about as many as before, and the
/// threads can still hold them.
const MANY: f64 = (1 << 23) as f64;
const LIGHT_MORE: f64 = 0.15;

/// The same where edges are fewer than that per vertex, as in a triangulation: in the plane fewer leave no giant.
const LIGHT_SPARSE: f64 = 2.0;
const SPARSE: f64 = 3.5;

/// Graphs with fewer edges per vertex are not filtered: most edges would be light.
const FILTER_FROM: f64 = 2.5;

/// Edges per vertex from which rows are searched by several lanes each rather than by one: at 4 one reads memory at full speed, at
/// 8 both are alike, at 28 several take 0.6 of the time.
const GROUPS_FROM: usize = 5;

/// As in the kernels.
const THREADS: u32 = 512;
const WIDE: u32 = 1024;
const TILE: usize = 4 * THREADS as usize;
const BLOCKS: u32 = 1024;
const ROUNDS: usize = 96;
const SHORT_ROW: usize = 64;
const LONG_ROW: usize = 256;
const PIECE: usize = 2048;
const HOLDERS: u32 = 1024;
const SOLO: u32 = 4 * HOLDERS;
const SHARE: usize = 2048;
/// Bytes of shared memory for what blocks count, without the cells of a table.
const SHARED: usize = 12_576;

/// Cells in a block's table at most; leaves much of a multiprocessor's memory to its cache.
const TABLE: usize = 5120;

/// Bytes of shared memory, and more than that, which a block takes for itself.
const OWN: usize = 2048;

/// Most bytes of strays, of which every block that lists heavy edges has a copy.
const STRAYS: usize = 1 << 18;

/// Up to so many edges, one block per multiprocessor does the rounds: fewer blocks wait less for one another.
const FEW: usize = 1 << 22;

/// What the kernels count, as far as the host reads it.
#[derive(Clone, Copy)]
#[repr(C)]
pub(super) struct State {
    counters: [[u64; 13]; 2],
    trees: u32,
    done: u32,
    pub(super) rounds: u32,
    levels: u32,
    pub(super) slots: u32,
    swaps: u32,
    handed: u32,
    listed: u32,
    last: u32,
    giant: u32,
    strays: u32,
    has_long_row: u32,
    found: u32,
    by_id: u32,
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
    turn: u32,
}

// SAFETY: as the struct Work in kostra/state.cuh.
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
    pub(super) rows: Option<Search>,
    pub(super) join: LaunchConfig,
    pub(super) build: LaunchConfig,
    pub(super) rounds: LaunchConfig,
    /// Where light edges come first.
    pub(super) filter: Option<Filter>,
}

/// How rows are searched.
pub(super) struct Search {
    pub(super) kernel: &'static str,
    pub(super) shape: LaunchConfig,
    /// Arcs in a row that is not cut into pieces.
    pub(super) most: usize,
}

pub(super) struct Filter {
    pub(super) build_light: LaunchConfig,
    /// The kernel that labels vertices, and the one that lists heavy edges: of strays' rows where there are any.
    pub(super) label: (&'static str, LaunchConfig),
    pub(super) build_heavy: (&'static str, LaunchConfig),
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
        let hubs = 2 * m / SHORT_ROW + 1;
        let pieces = hubs + 2 * m / PIECE;
        let work = Self {
            state: all.place(STATE),
            factor: 0.0,
            table: 0,
            cells: all.place(8 * n),
            next_cells: all.place(8 * (n / 2 + 1)),
            links: all.place(4 * n),
            maps: all.place(4 * 2 * n),
            list: all.place(16 * m),
            next_list: all.place(16 * m),
            chosen: all.place(4 * 3 * n),
            pieces: all.place((16 + size_of::<K>()) * pieces),
            hubs: all.place(8 * hubs),
            strays: all.place(STRAYS),
            stray_shift: 0,
            turn: 0,
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

/// Light edges wanted per vertex, of which so many have edges; 0 where all are taken.
fn light_factor(n: usize, m: usize, filled: usize) -> f32 {
    let (n, m, filled) = (n as f64, m as f64, filled as f64);
    let light = if m < SPARSE * filled { LIGHT_SPARSE } else { LIGHT + LIGHT_MORE * (filled / MANY).log2().max(0.0) };
    if m < FILTER_FROM * n { 0.0 } else { (light * filled / n) as f32 }
}

impl<K: DeviceKey> Scratch<K> {
    /// Room to solve a graph of that size, where so many rows are not empty, if it has any, and the threads hold no more edges than the
    /// run allows.
    pub(super) fn new(gpu: &Gpu, n: u32, m: u32, filled: Option<usize>, hold: Option<u32>) -> Result<Self> {
        let (n, m, has_rows) = (n as usize, m as usize, filled.is_some());
        let memory = gpu.room::<u8>(WorkArgument::bytes::<K>(n, m) as usize)?;
        let (mut work, _) = WorkArgument::layout::<K>(address(gpu, &memory), n, m);
        work.factor = light_factor(n, m, filled.unwrap_or(n));
        // SAFETY: the state lies in the memory.
        #[allow(unsafe_code)]
        unsafe {
            result::memset_d8_async(work.state, 0, size_of::<State>(), gpu.stream.cu_stream())?;
        }
        // One block per multiprocessor, as all wait for one another all the time.
        let blocks = n.max(m).div_ceil(TILE).min(gpu.multiprocessors as usize);
        let few = (blocks as u32 * SOLO).min(hold.unwrap_or(u32::MAX));
        // A list's room must do for cells.
        let is_small = m <= few as usize && n <= 2 * m;
        let rounds = if is_small { None } else { Some(Rounds::new::<K>(gpu, n, m, has_rows, &mut work)?) };
        let kernel = if is_small { "solve_held" } else { "held_rounds" };
        let held = gpu.filled(K::KOSTRA, kernel, HOLDERS, SHARED + 4 * SOLO as usize, blocks)?;
        let shapes = Shapes { held, few, hold, rounds };
        Ok(Self { _memory: memory, work, shapes, key: PhantomData })
    }

    /// Goes on to the counters that the solve before has cleared.
    pub(super) fn take_turn(&mut self) {
        self.work.turn ^= 1;
    }
}

impl Rounds {
    fn new<K: DeviceKey>(gpu: &Gpu, n: usize, m: usize, has_rows: bool, work: &mut WorkArgument) -> Result<Self> {
        work.table = TABLE.min(gpu.shared_memory.saturating_sub(SHARED + OWN) / 8) as u32;
        let blocks = if m <= FEW { gpu.multiprocessors as usize } else { BLOCKS as usize }.min(m.div_ceil(SHARE));
        Ok(Self {
            rows: if has_rows { Some(Search::new::<K>(gpu, n, m)?) } else { None },
            join: gpu.filled(K::KOSTRA, "join_vertices", THREADS, SHARED, n.div_ceil(TILE))?,
            build: gpu.filled(K::KOSTRA, "build_all", THREADS, SHARED, m.div_ceil(TILE))?,
            rounds: gpu.filled(K::KOSTRA, "rounds", THREADS, SHARED + 8 * work.table as usize, blocks)?,
            filter: if work.factor > 0.0 { Some(Filter::new::<K>(gpu, n, m, has_rows, work)?) } else { None },
        })
    }
}

impl Search {
    fn new<K: DeviceKey>(gpu: &Gpu, n: usize, m: usize) -> Result<Self> {
        let (kernel, most) = if m > GROUPS_FROM * n { ("search_groups", LONG_ROW) } else { ("search_rows", SHORT_ROW) };
        // One block more tells which edges are light.
        let blocks = n.div_ceil(THREADS as usize) + 1;
        Ok(Self { kernel, shape: gpu.filled(K::KOSTRA, kernel, THREADS, 0, blocks)?, most })
    }
}

impl Filter {
    fn new<K: DeviceKey>(gpu: &Gpu, n: usize, m: usize, has_rows: bool, work: &mut WorkArgument) -> Result<Self> {
        // Edges that wait, and what is counted of them; beside them the keys of light ones, or the strays.
        let (key, blocks) = (size_of::<K>(), m.div_ceil(TILE));
        let waiting = |threads: u32| threads as usize * 4 * (1 + 8 / key);
        let queue = |threads: u32| threads as usize / 2 + 16 + 4 * waiting(threads);
        let shape = |kernel, threads, shared, blocks| gpu.filled(K::KOSTRA, kernel, threads, shared, blocks);
        let build_light = shape("build_light", THREADS, queue(THREADS) + waiting(THREADS) * key, blocks)?;
        let over_vertices =
            |kernel| -> Result<_> { Ok((kernel, shape(kernel, THREADS, 0, n.div_ceil(THREADS as usize))?)) };
        if has_rows {
            let (label, build_heavy) = (over_vertices("find_strays")?, over_vertices("list_strays")?);
            return Ok(Self { build_light, label, build_heavy });
        }
        let most = gpu.shared_memory.saturating_sub(queue(WIDE) + OWN).min(STRAYS);
        let strays = |shift: u32| ((n - 1) >> shift).div_ceil(32) * 4 + 4;
        while strays(work.stray_shift) > most {
            work.stray_shift += 1;
        }
        let heavy = shape("build_heavy", WIDE, queue(WIDE) + strays(work.stray_shift), blocks)?;
        Ok(Self { build_light, label: over_vertices("label")?, build_heavy: ("build_heavy", heavy) })
    }
}
