//! `kostra` on CUDA: Borůvka's rounds on the lightest edges, then on those that leave the trees so made.
//!
//! ```text
//! every vertex chooses its smallest edge: from its row, or while the edges arrive from the host
//! join along the chosen edges; number the trees
//! list the light edges that join two trees; each offers itself to both
//! until the GPU's threads can hold the list in their registers, or many of its edges for every tree:
//!     join along the chosen edges; number the trees
//!     rename the list's ends, drop edges inside a tree; the others offer themselves
//! hold the list, or if it is too long its smallest edges first, then those of the rest that still join two trees;
//! until no edge is left that does:
//!     join along the chosen edges
//!     edges look up their ends' trees and offer themselves
//! the same with the heavy edges, of which few are left
//! ```
//!
//! A graph of no more edges than the threads can hold, half a million on a large GPU, is solved by the last rounds alone. The
//! option `hold` lets them hold fewer.
//!
//! What makes it fast, roughly in the order of what it is worth:
//!
//! 1. The first round reads every row once, without atomics, and leaves about a quarter of the vertices as trees. Short rows are
//!    read by a thread each, longer ones by groups of lanes, and hubs' in pieces. One block meanwhile chooses the threshold.
//! 2. A threshold, taken from a sample, keeps all but the lightest edges out of the rounds: 1.2 per vertex, or 2 where there are
//!    fewer than 3.5, as in a triangulation.
//! 3. A round reads the list once: renaming, dropping and the next offers are one pass. Held edges are not even written: each
//!    sees for itself whether a tree chose it, so that nothing is numbered or moved between two barriers.
//! 4. The host launches one to eleven kernels and looks at no counter in between. All rounds on a list are one cooperative
//!    launch, in which the blocks wait for one another on the GPU; a launch and a look from the host would take several
//!    times that. As edges get fewer, blocks that have nothing to do leave, down to one.
//! 5. Every block writes what it keeps to a stretch of its own, in order, so no counter is shared. Lists stay in edge-id
//!    order, so `key << 32 | position` in one atomic minimum settles ties as the order demands.
//! 6. Where trees are few and edges many, each block finds the minima in its shared memory first. Light edges, where they are
//!    few, wait there until there are enough for all threads.
//! 7. A list that is long for its trees is not renamed round by round, but sifted: its smallest edges make most trees one, and
//!    then most of the others lie inside a tree. It is read twice as a rule, and never written.
//! 8. Light edges mostly leave one giant tree. A heavy edge that joins two trees begins at a stray, a vertex outside it. Where these
//!    are fewer than half, only their rows are read, and of a stray's edges to the giant only the smallest is kept. Without rows,
//!    a block that lists heavy edges has in its shared memory which groups of vertices have strays, and looks up labels of those
//!    only.
//!
//! 64-bit keys are shortened to 32 bits in cells and compared in full only where these are equal. Cost: `O(m log n)` work at
//! worst, with filtering near `O(m + n log n)`; beside the edges it takes 33 bytes per edge and 36 per vertex.

mod scratch;

use std::mem::offset_of;

use bytemuck::Zeroable;

pub(super) use self::scratch::Scratch;
use self::scratch::{Filter, Rounds, Search, Shapes, State, WorkArgument};
use super::collect::{Collected, Marked, Slots, Solved};
use super::edges::{Edges, room_to_unpack};
use super::gpu::{Gpu, launch, launch_together};
use super::parts::{self, Need, memory_limit};
use super::resident::{DeviceKey, GraphArgument, Rows, Solver, bytes_of_edges};
use crate::buffer::Buffer;
use crate::error::{Error, Result};
use crate::forest::Forest;
use crate::graph::Graph;
use crate::run::{Run, Stats};
use crate::weight::{AnyKeys, Keys};

/// Vertices that the kernels can number.
const MOST_VERTICES: usize = 1 << 31;

/// What the rounds of a launch are to do, as in the kernels.
mod task {
    pub(super) const LABEL: u32 = 0;
    pub(super) const FINISH: u32 = 1;
}

/// Solves a graph that is on the GPU.
pub(super) fn solve<K: DeviceKey>(gpu: &Gpu, solver: &mut Solver<K>, run: &Run) -> Result<Solved> {
    let Solver { edges, rows, scratch, .. } = solver;
    let hold = run.option("hold")?;
    // Left where it was only when all went well, as the next solve takes its counters to be cleared.
    let mut work = match scratch.take().filter(|scratch| scratch.shapes.hold == hold) {
        Some(scratch) => scratch,
        None => Scratch::new(gpu, edges.n, edges.m, rows.as_ref().map(|rows| rows.filled), hold)?,
    };
    work.take_turn();
    let graph = GraphArgument::new(gpu, edges, rows.as_ref(), run);
    match (&work.shapes.rounds, rows) {
        (None, _) => (),
        (Some(Rounds { rows: Some(search), .. }), Some(rows)) => search_rows(gpu, &graph, &work, search, rows)?,
        _ => {
            clear_cells(gpu, &work, edges.n)?;
            offer_edges(gpu, &graph, &work, 0, u64::from(edges.m))?;
            look_up_edges(gpu, &graph, &work)?;
        }
    }
    launch_rest(gpu, &graph, &work)?;
    gpu.stream.synchronize()?;
    let solved = Solved { chosen: work.work.chosen, slots: slots(&work), stats: stats(gpu, &work, run)? };
    *scratch = Some(work);
    Ok(solved)
}

/// The forest of a graph in the host's memory.
pub(super) fn forest(gpu: &Gpu, graph: &Graph, run: &Run) -> Result<Forest> {
    check_size(graph)?;
    if graph.edges() == 0 {
        return Ok(Forest::from_sorted(graph, Vec::new(), run.stats()));
    }
    parts::solve(graph, memory_limit(gpu, run)?, &need(graph), |part| whole(gpu, part, run))
}

/// What it takes to solve a graph from the caller's arrays.
pub(super) fn need<'a>(graph: &'a Graph<'a>) -> Need<impl Fn(usize) -> u64 + 'a> {
    Need { bytes: |m| bytes_for(graph, m), most: usize::MAX }
}

/// The kernels mark roots with the highest bit of a vertex.
pub(super) fn check_size(graph: &Graph) -> Result<()> {
    check_vertices(graph.vertices())
}

pub(super) fn check_vertices(n: usize) -> Result<()> {
    if n <= MOST_VERTICES {
        return Ok(());
    }
    let what = format!("{n} vertices are more than the 2^31 that fit into the kernels' numbers; use the device cpu");
    Err(Error::Device { name: "cuda".into(), what })
}

/// Bytes on the GPU for a graph of these vertices and so many edges.
pub(super) fn bytes_for(graph: &Graph, m: usize) -> u64 {
    bytes_of_edges(graph, m) + WorkArgument::bytes::<u64>(graph.vertices(), m)
}

fn whole(gpu: &Gpu, graph: &Graph, run: &Run) -> Result<Forest> {
    let (collected, stats) = match graph.keys(false) {
        AnyKeys::Narrow(keys) => send_and_solve(gpu, graph, keys, run),
        AnyKeys::Wide(keys) => send_and_solve(gpu, graph, keys, run),
    }?;
    Ok(collected.into_forest(graph, stats))
}

/// Sends the edges part by part; each offers itself to its ends while the next are on their way.
fn send_and_solve<K: DeviceKey>(
    gpu: &Gpu,
    graph: &Graph,
    keys: Keys<K>,
    run: &Run,
) -> Result<(Collected, Option<Stats>)> {
    let edges = Edges::room(gpu, graph, keys)?;
    let scratch = Scratch::new(gpu, edges.n, edges.m, None, run.option("hold")?)?;
    clear_cells(gpu, &scratch, edges.n)?;
    let argument = GraphArgument::new(gpu, &edges, None, run);
    let mut sent = 0;
    let offered = scratch.shapes.rounds.is_some();
    // The lists are empty until all edges have come.
    let room = WorkArgument::room_of_lists(edges.m as usize) >= room_to_unpack(edges.m as usize);
    edges.send(gpu, graph, keys, room.then_some(scratch.work.list), |from, to| {
        sent += to - from;
        run.watch().step("upload", sent, graph.edges() as u64)?;
        if offered { offer_edges(gpu, &argument, &scratch, from, to) } else { Ok(()) }
    })?;
    if offered {
        look_up_edges(gpu, &argument, &scratch)?;
    }
    launch_rest(gpu, &argument, &scratch)?;
    let marked = Marked::new(gpu, scratch.work.chosen, slots(&scratch), &edges)?;
    // While the GPU is at work. Few forests are much smaller.
    let room = Buffer::populated(graph.vertices().min(graph.edges()))?;
    Ok((marked.fetch(gpu, Some(room))?, stats(gpu, &scratch, run)?))
}

fn clear_cells<K>(gpu: &Gpu, scratch: &Scratch<K>, n: u32) -> Result<()> {
    gpu.context.bind_to_thread()?;
    // SAFETY: the cells are 8 bytes per vertex, in the scratch memory.
    #[allow(unsafe_code)]
    unsafe {
        let bytes = 8 * n as usize;
        cudarc::driver::result::memset_d8_async(scratch.work.cells, 0xff, bytes, gpu.stream.cu_stream())?;
    }
    Ok(())
}

fn offer_edges<K: DeviceKey>(
    gpu: &Gpu,
    graph: &GraphArgument<K>,
    scratch: &Scratch<K>,
    from: u64,
    to: u64,
) -> Result<()> {
    let (from, to) = (from as u32, to as u32);
    launch!(gpu, K::KOSTRA, "offer_edges", gpu.over((to - from) as usize), graph, &scratch.work.cells, &from, &to);
    Ok(())
}

/// The smallest edge of every vertex, from its row.
fn search_rows<K: DeviceKey>(
    gpu: &Gpu,
    graph: &GraphArgument<K>,
    scratch: &Scratch<K>,
    search: &Search,
    rows: &Rows<K>,
) -> Result<()> {
    let work = &scratch.work;
    launch!(gpu, K::KOSTRA, search.kernel, search.shape, graph, work);
    if rows.longest > search.most {
        launch!(gpu, K::KOSTRA, "search_pieces", gpu.over(graph.n as usize), graph, work);
    }
    Ok(())
}

/// The same from cells, to which the edges have offered themselves.
fn look_up_edges<K: DeviceKey>(gpu: &Gpu, graph: &GraphArgument<K>, scratch: &Scratch<K>) -> Result<()> {
    // One block more tells which edges are light.
    let mut shape = gpu.over(graph.n as usize);
    shape.grid_dim.0 += 1;
    launch!(gpu, K::KOSTRA, "look_up_edges", shape, graph, &scratch.work);
    Ok(())
}

/// All that follows when every vertex has its smallest edge, or, where the threads can hold all edges, that too.
fn launch_rest<K: DeviceKey>(gpu: &Gpu, graph: &GraphArgument<K>, scratch: &Scratch<K>) -> Result<()> {
    let Scratch { work, shapes: Shapes { held, few, rounds, .. }, .. } = scratch;
    let Some(Rounds { join, build, rounds, filter, .. }) = rounds else {
        launch_together!(gpu, K::KOSTRA, "solve_held", *held, graph, work);
        return Ok(());
    };
    launch_together!(gpu, K::KOSTRA, "join_vertices", *join, graph, work);
    if let Some(Filter { build_light, label, build_heavy }) = filter {
        launch!(gpu, K::KOSTRA, "build_light", *build_light, graph, work);
        launch_together!(gpu, K::KOSTRA, "rounds", *rounds, graph, work, &task::LABEL, few);
        launch_together!(gpu, K::KOSTRA, "held_rounds", *held, graph, work, &task::LABEL, few);
        launch_together!(gpu, K::KOSTRA, label.0, label.1, graph, work);
        launch!(gpu, K::KOSTRA, build_heavy.0, build_heavy.1, graph, work);
    }
    let is_heavy = u32::from(filter.is_some());
    launch!(gpu, K::KOSTRA, "build_all", *build, graph, work, &is_heavy, few);
    launch_together!(gpu, K::KOSTRA, "rounds", *rounds, graph, work, &task::FINISH, few);
    launch_together!(gpu, K::KOSTRA, "held_rounds", *held, graph, work, &task::FINISH, few);
    Ok(())
}

/// Where the number of places for chosen edges will be.
fn slots<K>(scratch: &Scratch<K>) -> Slots {
    Slots::At(scratch.work.state + offset_of!(State, slots) as u64)
}

/// The rounds of a solve that is done, where the run asks for them.
fn stats<K>(gpu: &Gpu, scratch: &Scratch<K>, run: &Run) -> Result<Option<Stats>> {
    let Some(mut stats) = run.stats() else { return Ok(None) };
    let mut state = [State::zeroed()];
    // SAFETY: the kernels' state begins with these fields, in the scratch memory.
    #[allow(unsafe_code)]
    unsafe {
        cudarc::driver::result::memcpy_dtoh_async(&mut state, scratch.work.state, gpu.stream.cu_stream())?;
    }
    gpu.stream.synchronize()?;
    let [State { round, rounds, .. }] = state;
    let counted = round.iter().take(rounds as usize);
    stats.rounds = counted.map(|&[trees, edges]| vec![("trees", trees.into()), ("edges", edges.into())]).collect();
    Ok(Some(stats))
}
