//! Binary adjacency lists, as `.egr` and Galois files hold them: from arcs to edges on all threads, and back.
//!
//! The file is read once. Threads take pieces of equally many arcs. For each block of a piece they
//! write out the source of every arc, which rows only imply; look for targets that do not exist; add all arcs to the
//! [`Balance`]; and keep those with u <= v ([`upper`]). All this happens in cache and without a branch an arc. As soon as all
//! pieces before it have told how many they keep, what was kept is copied to its place.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use bytemuck::Pod;
use rayon::prelude::*;

use super::balance::{Balance, Bits, Secrets};
use super::upper::{self, Arcs, Counted};
use crate::array::Array;
#[cfg(target_arch = "x86_64")]
use crate::bits::{has_avx2, has_avx512};
use crate::buffer::Buffer;
use crate::error::{Error, Result};
use crate::watch::Watch;

/// Arcs that are worked on at a time: their sources, targets and weights fit into the smallest cache.
const BLOCK: usize = 1 << 10;

/// Arcs that a thread takes at a time: what is kept of them fits into a core's own cache. Half as many took 8 % longer.
pub(super) const PIECE: usize = 1 << 15;

/// A row is written so far at a time, in a few vector instructions. Most rows are no longer, so that no branch has to guess
/// their lengths.
const SHORT: usize = 32;

/// Arcs of a file, straight from its bytes: all of them, or a part that is read at a time.
pub(super) struct Rows<'a, E, W> {
    pub(super) file: String,
    /// Where the row of each vertex ends.
    pub(super) ends: &'a [E],
    /// How many arcs stand before these in the file.
    pub(super) first: usize,
    /// The neighbour of every arc.
    pub(super) targets: &'a [u32],
    /// The weight of every arc, which is `()` where the file has none.
    pub(super) weights: &'a [W],
    /// The bytes where the row ends and where the targets begin, for messages.
    pub(super) ends_at: u64,
    pub(super) targets_at: u64,
}

/// Sources, targets and weights of edges.
type Arrays<W> = (Array<'static, u32>, Array<'static, u32>, Array<'static, W>);

/// The edges of the rows: one per pair of arcs where they are symmetric, else one per arc. All ends are proved to be
/// vertices, and edges to be fewer than 2^32.
///
/// Arcs are taken for symmetric at first: those with u <= v are kept while all are hashed. If the hash says otherwise,
/// all are kept instead.
pub(super) fn edges_of<E, W>(rows: &Rows<E, W>, watch: &Watch) -> Result<Arrays<W>>
where
    E: Pod + Ord + Into<u64> + Send + Sync,
    W: Pod + Bits + Send + Sync,
{
    let arcs = rows.targets.len();
    rows.check_ends(arcs)?;
    // Half of them and some loops. No fewer are kept, whether the arcs are symmetric or not.
    let mut room = Room::new(arcs / 2 + arcs / 64, arcs / 2)?;
    let (upper, balance) = keep_upper(rows, room.slices(), watch)?;
    let is_symmetric = balance.is_symmetric();
    let edges = if is_symmetric { upper } else { arcs };
    if edges > u32::MAX as usize {
        return Err(Error::TooLarge { what: "edges", count: edges as u64 });
    }
    if edges > room.src.len() {
        drop(room);
        room = Room::new(edges, edges)?;
        if is_symmetric {
            keep_upper(rows, room.slices(), watch)?;
        }
    }
    if !is_symmetric {
        keep_all(rows, room.slices());
    }
    Ok(room.into_arrays(edges))
}

/// Room for edges.
struct Room<W> {
    src: Buffer<u32>,
    dst: Buffer<u32>,
    weights: Buffer<W>,
}

impl<W: Pod + Send> Room<W> {
    /// For `len` edges, of which there will be `least` or more.
    fn new(len: usize, least: usize) -> Result<Self> {
        let len = len.min(u32::MAX as usize);
        let mut room = Self {
            src: Buffer::of_any_to_keep(len)?,
            dst: Buffer::of_any_to_keep(len)?,
            weights: Buffer::of_any_to_keep(len)?,
        };
        room.src.populate(least);
        room.dst.populate(least);
        room.weights.populate(least);
        Ok(room)
    }

    fn slices(&mut self) -> Slices<'_, W> {
        (&mut self.src, &mut self.dst, &mut self.weights)
    }

    /// The first `edges` of them.
    fn into_arrays(mut self, edges: usize) -> Arrays<W> {
        self.src.truncate(edges);
        self.dst.truncate(edges);
        self.weights.truncate(edges);
        (self.src.into(), self.dst.into(), self.weights.into())
    }
}

/// Writes the arcs with u <= v, as far as there is room, and returns how many there are; adds all to the balance.
fn keep_upper<E, W>(rows: &Rows<E, W>, room: Slices<W>, watch: &Watch) -> Result<(usize, Balance)>
where
    E: Pod + Ord + Into<u64> + Send + Sync,
    W: Pod + Bits + Send + Sync,
{
    let arcs = rows.targets.len();
    let (pieces, claimed) = (arcs.div_ceil(PIECE), AtomicUsize::new(0));
    let turns = Turns::new(room);
    let work = |_| {
        let (worker, mut part) = (Worker(&turns), Part::default());
        loop {
            // Relaxed: the number is all that threads tell each other here.
            let piece = claimed.fetch_add(1, Ordering::Relaxed);
            if piece >= pieces {
                return;
            }
            let start = piece * PIECE;
            part.keep_upper(rows, start..(start + PIECE).min(arcs));
            let outcome =
                if part.is_wrong { Err(rows.wrong_target()) } else { watch.step("read", start as u64, arcs as u64) };
            let Some(place) = worker.0.take(piece, &part, outcome) else { return };
            place.0.copy_from_slice(&part.src[..place.0.len()]);
            place.1.copy_from_slice(&part.dst[..place.1.len()]);
            place.2.copy_from_slice(&part.weights[..place.2.len()]);
        }
    };
    (0..rayon::current_num_threads().min(pieces)).into_par_iter().with_max_len(1).for_each(work);
    turns.finish()
}

/// Gives every piece its place, in the order of pieces. Threads claim pieces in that order and wait for nothing else, so the
/// one whose turn it is always goes on; and as they soon work one behind the other, they hardly ever wait.
struct Turns<'a, W> {
    state: Mutex<Turn<'a, W>>,
    passed: Condvar,
}

struct Turn<'a, W> {
    piece: usize,
    room: Slices<'a, W>,
    edges: usize,
    balance: Balance,
    outcome: Result<()>,
}

impl<'a, W> Turns<'a, W> {
    fn new(room: Slices<'a, W>) -> Self {
        let turn = Turn { piece: 0, room, edges: 0, balance: Balance::default(), outcome: Ok(()) };
        Self { state: Mutex::new(turn), passed: Condvar::new() }
    }

    /// The place of what was kept of a piece, as far as there is room; `None` when something went wrong here or before.
    fn take(&self, piece: usize, part: &Part<W>, outcome: Result<()>) -> Option<Slices<'a, W>> {
        let waits = |turn: &mut Turn<W>| turn.piece != piece && turn.outcome.is_ok();
        let mut turn = self.passed.wait_while(self.lock(), waits).unwrap_or_else(PoisonError::into_inner);
        if turn.outcome.is_ok() {
            (turn.piece, turn.outcome) = (piece + 1, outcome);
        }
        self.passed.notify_all();
        turn.outcome.as_ref().ok()?;
        turn.balance.join(part.balance);
        turn.edges += part.len;
        let room = &mut turn.room;
        let len = part.len.min(room.0.len());
        Some((take(&mut room.0, len), take(&mut room.1, len), take(&mut room.2, len)))
    }

    fn lock(&self) -> MutexGuard<'_, Turn<'a, W>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn finish(self) -> Result<(usize, Balance)> {
        let turn = self.state.into_inner().unwrap_or_else(PoisonError::into_inner);
        turn.outcome.map(|()| (turn.edges, turn.balance))
    }
}

/// A thread that works on pieces. Should it panic, the others do not wait for it.
struct Worker<'a, 'b, W>(&'b Turns<'a, W>);

impl<W> Drop for Worker<'_, '_, W> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.lock().outcome = Err(Error::Cancelled);
            self.0.passed.notify_all();
        }
    }
}

/// Writes all arcs; there is room.
fn keep_all<E, W>(rows: &Rows<E, W>, room: Slices<W>)
where
    E: Pod + Ord + Into<u64> + Send + Sync,
    W: Pod + Send + Sync,
{
    room.0.par_chunks_mut(PIECE).enumerate().for_each(|(piece, src)| rows.fill_sources(piece * PIECE, src));
    room.1.par_chunks_mut(PIECE).zip(rows.targets.par_chunks(PIECE)).for_each(|(dst, all)| dst.copy_from_slice(all));
    room.2.par_chunks_mut(PIECE).zip(rows.weights.par_chunks(PIECE)).for_each(|(w, all)| w.copy_from_slice(all));
}

/// Room for the sources, targets and weights of edges.
type Slices<'a, W> = (&'a mut [u32], &'a mut [u32], &'a mut [W]);

fn take<'a, T>(room: &mut &'a mut [T], len: usize) -> &'a mut [T] {
    let (taken, rest) = std::mem::take(room).split_at_mut(len);
    *room = rest;
    taken
}

/// What was kept of a piece: the first `len` items of the arrays.
pub(super) struct Part<W> {
    pub(super) src: Vec<u32>,
    pub(super) dst: Vec<u32>,
    pub(super) weights: Vec<W>,
    pub(super) len: usize,
    pub(super) balance: Balance,
    /// Whether a target is no vertex.
    pub(super) is_wrong: bool,
}

impl<W: Pod> Default for Part<W> {
    fn default() -> Self {
        // A whole block is kept behind what was kept before, so that nothing is checked an arc.
        let room = PIECE + BLOCK;
        let (src, dst, weights) = (vec![0; room], vec![0; room], vec![W::zeroed(); room]);
        Self { src, dst, weights, len: 0, balance: Balance::default(), is_wrong: false }
    }
}

impl<W: Pod + Bits> Part<W> {
    /// Keeps the arcs of a piece with u <= v.
    pub(super) fn keep_upper<E: Pod + Ord + Into<u64>>(&mut self, rows: &Rows<E, W>, piece: Range<usize>) {
        #[cfg(target_arch = "x86_64")]
        #[allow(unsafe_code)]
        if has_avx512() {
            // SAFETY: nothing but the instruction set makes the function unsafe to call, and the processor has it.
            return unsafe { self.keep_upper_avx512(rows, piece) };
        } else if has_avx2() {
            // SAFETY: the same.
            return unsafe { self.keep_upper_avx2(rows, piece) };
        }
        self.keep_upper_by(rows, piece, upper::keep);
    }

    /// Keeps all arcs of a piece.
    pub(super) fn keep_all<E: Pod + Ord + Into<u64>>(&mut self, rows: &Rows<E, W>, piece: Range<usize>) {
        (self.len, self.balance) = (piece.len(), Balance::default());
        rows.fill_sources(piece.start, &mut self.src[..self.len]);
        self.dst[..self.len].copy_from_slice(&rows.targets[piece.clone()]);
        self.weights[..self.len].copy_from_slice(&rows.weights[piece]);
        let last = self.dst[..self.len].iter().fold(0, |last, &v| v.max(last));
        self.is_wrong = last as usize >= rows.ends.len();
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx512f,bmi2,popcnt")]
    fn keep_upper_avx512<E: Pod + Ord + Into<u64>>(&mut self, rows: &Rows<E, W>, piece: Range<usize>) {
        self.keep_upper_by(rows, piece, |arcs, room, secrets| upper::keep_avx512(arcs, room, secrets));
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,popcnt")]
    fn keep_upper_avx2<E: Pod + Ord + Into<u64>>(&mut self, rows: &Rows<E, W>, piece: Range<usize>) {
        self.keep_upper_by(rows, piece, |arcs, room, secrets| upper::keep_avx2(arcs, room, secrets));
    }

    /// The same with either of the functions that keep the arcs of a block.
    #[inline(always)]
    fn keep_upper_by<E: Pod + Ord + Into<u64>>(
        &mut self,
        rows: &Rows<E, W>,
        piece: Range<usize>,
        keep: impl Fn(Arcs<W>, upper::Room<W>, &Secrets) -> Counted,
    ) {
        (self.len, self.balance) = (0, Balance::default());
        let (mut row, mut sources, mut last) = (rows.row_of(rows.first + piece.start), [0; BLOCK + SHORT], 0);
        for start in piece.clone().step_by(BLOCK) {
            let block = start..(start + BLOCK).min(piece.end);
            row = rows.write_sources(row, rows.first + block.start..rows.first + block.end, &mut sources);
            let arcs = (&sources[..block.len()], &rows.targets[block.clone()], &rows.weights[block]);
            let room = (&mut self.src[self.len..], &mut self.dst[self.len..], &mut self.weights[self.len..]);
            let kept = keep(arcs, room, self.balance.secrets());
            self.len += kept.len;
            self.balance.add_sum(kept.sum);
            last = last.max(kept.last);
        }
        self.is_wrong = last as usize >= rows.ends.len();
    }
}

impl<E: Pod + Ord + Into<u64> + Send + Sync, W> Rows<'_, E, W> {
    /// Row ends rise to the number of arcs: whatever the file says, no index is out of range.
    pub(super) fn check_ends(&self, arcs: usize) -> Result<()> {
        let fail = |v: usize, what| {
            let byte = self.ends_at + (v * size_of::<E>()) as u64;
            Err(Error::Byte { file: self.file.clone(), byte, what })
        };
        const CHUNK: usize = 1 << 14;
        let falls = |chunk: usize| {
            let ends = &self.ends[chunk * CHUNK..((chunk + 1) * CHUNK + 1).min(self.ends.len())];
            ends.windows(2).fold(false, |any, pair| any | (pair[1] < pair[0]))
        };
        let chunks = self.ends.len().div_ceil(CHUNK);
        if let Some(chunk) = (0..chunks).into_par_iter().position_first(falls) {
            let ends = &self.ends[chunk * CHUNK..];
            let v = chunk * CHUNK + 1 + ends.windows(2).take_while(|pair| pair[0] <= pair[1]).count();
            return fail(v, format!("row {v} ends before it begins; the file is damaged"));
        }
        let last = self.ends.last().map_or(0, |&end| end.into());
        if last != arcs as u64 {
            let what = format!("the rows end at arc {last}, but the header promises {arcs} arcs");
            return fail(self.ends.len().saturating_sub(1), what);
        }
        Ok(())
    }

    pub(super) fn wrong_target(&self) -> Error {
        let n = self.ends.len();
        // On one thread: one that waits for others could be given a piece whose turn comes after this one's.
        let arc = self.targets.iter().position(|&target| target as usize >= n).unwrap_or(0);
        let what = format!("neighbour {} does not exist; the header promises {n} vertices", self.targets[arc]);
        Error::Byte { file: self.file.clone(), byte: self.targets_at + 4 * (self.first + arc) as u64, what }
    }
}

impl<E: Pod + Ord + Into<u64>, W> Rows<'_, E, W> {
    /// The row that holds an arc.
    fn row_of(&self, arc: usize) -> usize {
        self.ends.partition_point(|&end| end.into() <= arc as u64)
    }

    /// Writes the sources of some arcs, of which this is the first.
    fn fill_sources(&self, first: usize, src: &mut [u32]) {
        let first = self.first + first;
        let (mut row, mut sources) = (self.row_of(first), [0; BLOCK + SHORT]);
        for (block, src) in src.chunks_mut(BLOCK).enumerate() {
            let start = first + block * BLOCK;
            row = self.write_sources(row, start..start + src.len(), &mut sources);
            src.copy_from_slice(&sources[..src.len()]);
        }
    }

    /// Writes the source of every arc of a block, the first of which is in `row` or behind it, and then what it likes;
    /// returns the row where the next block begins.
    #[inline(always)]
    fn write_sources(&self, mut row: usize, block: Range<usize>, sources: &mut [u32; BLOCK + SHORT]) -> usize {
        let mut at = 0;
        while at < block.len() {
            let row_end: u64 = self.ends[row].into();
            let end = (row_end as usize).min(block.end) - block.start;
            sources[at..at + SHORT].fill(row as u32);
            while at + SHORT < end {
                at += SHORT;
                sources[at..at + SHORT].fill(row as u32);
            }
            at = end;
            row += usize::from(row_end <= block.end as u64);
        }
        row
    }
}

/// The items in a part of a file: in place where they lie aligned, as in mapped files, else copied.
pub(super) fn items<T: Pod>(bytes: &[u8]) -> Cow<'_, [T]> {
    match bytemuck::try_cast_slice(bytes) {
        Ok(items) => Cow::Borrowed(items),
        Err(_) => Cow::Owned(bytemuck::allocation::pod_collect_to_vec(bytes)),
    }
}

/// The four bytes at `at`, little-endian; 0 behind the end, which the callers have checked.
#[inline(always)]
pub(super) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..).and_then(|rest| rest.first_chunk()).map_or(0, |&b| u32::from_le_bytes(b))
}

/// The eight bytes at `at`, as [`u32_at`].
#[inline(always)]
pub(super) fn u64_at(bytes: &[u8], at: usize) -> u64 {
    bytes.get(at..).and_then(|rest| rest.first_chunk()).map_or(0, |&b| u64::from_le_bytes(b))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows of many lengths, in no order, with loops and repeats; a hub is longer than several pieces.
    fn arcs(symmetric: bool) -> (Vec<u64>, Vec<u32>, Vec<i64>) {
        let n = 5000u32;
        let mut lists = vec![vec![]; n as usize];
        let mut add = |u: u32, v: u32, weight: i64| {
            lists[u as usize].push((v, weight));
            if symmetric && u != v {
                lists[v as usize].push((u, weight));
            }
        };
        for e in 0..120_000u32 {
            let random = crate::mix::mix(e.into());
            let (u, v) = (random as u32 % n, (random >> 32) as u32 % n);
            // Of the vertices behind these, most have no arcs, and some have a loop.
            let (u, v) = if e % 3 == 0 {
                (77, v)
            } else if e % 1000 == 1 {
                (u, u)
            } else {
                (u / 2, v / 2)
            };
            add(u, v, (random >> 40) as i64 - (1 << 22));
        }
        let ends = lists.iter().scan(0, |end, list| {
            *end += list.len() as u64;
            Some(*end)
        });
        let (targets, weights) = lists.iter().flatten().copied().unzip();
        (ends.collect(), targets, weights)
    }

    #[test]
    fn pieces_join_to_the_edges_of_a_plain_loop() {
        for symmetric in [true, false] {
            let (ends, targets, weights) = arcs(symmetric);
            let starts = [0].iter().chain(&ends);
            let rows =
                starts.zip(&ends).enumerate().flat_map(|(v, (&start, &end))| (start..end).map(move |arc| (v, arc)));
            let all = rows.map(|(u, arc)| (u as u32, targets[arc as usize], weights[arc as usize]));
            let expected: Vec<(u32, u32, i64)> = all.filter(|(u, v, _)| !symmetric || u <= v).collect();
            let narrow: Vec<u32> = ends.iter().map(|&end| end as u32).collect();
            let none = vec![(); targets.len()];
            let (ends_at, targets_at, watch) = (0, 0, Watch::new());
            for threads in [1, 2, 5] {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
                let (ends, targets) = (&ends[..], &targets[..]);
                let rows =
                    Rows { file: String::new(), ends, first: 0, targets, weights: &weights, ends_at, targets_at };
                let (src, dst, weights) = pool.install(|| edges_of(&rows, &watch)).unwrap();
                let edges = src.iter().zip(&*dst).zip(&*weights).map(|((&u, &v), &w)| (u, v, w));
                assert!(edges.eq(expected.iter().copied()), "{symmetric} {threads}");
                let rows =
                    Rows { file: String::new(), ends: &narrow, first: 0, targets, weights: &none, ends_at, targets_at };
                let (src, dst, weights) = pool.install(|| edges_of(&rows, &watch)).unwrap();
                let edges = src.iter().zip(&*dst).map(|(&u, &v)| (u, v));
                assert!(edges.eq(expected.iter().map(|&(u, v, _)| (u, v))), "{symmetric} {threads}");
                assert_eq!(weights.len(), src.len());
            }
        }
    }

    /// More edges than half of the arcs, though they are symmetric.
    #[test]
    fn loops_are_edges_of_one_arc() {
        let n = 3 * PIECE as u32;
        let (ends, targets): (Vec<u32>, Vec<u32>) = (0..n).map(|v| (v + 1, v)).unzip();
        let weights: Vec<i32> = (0..n as i32).map(|v| v - 1000).collect();
        let file = String::new();
        let (targets, weights) = (&targets[..], &weights[..]);
        let rows = Rows { file, ends: &ends, first: 0, targets, weights, ends_at: 0, targets_at: 0 };
        let (src, dst, kept) = edges_of(&rows, &Watch::new()).unwrap();
        assert_eq!((&*src, &*dst, &*kept), (targets, targets, weights));
    }

    #[test]
    fn the_first_wrong_row_or_target_is_told() {
        let (mut ends, mut targets, _) = arcs(true);
        let weights = vec![(); targets.len()];
        let told = |ends: &[u64], targets: &[u32]| {
            let rows =
                Rows { file: "x".into(), ends, first: 0, targets, weights: &weights, ends_at: 16, targets_at: 1000 };
            edges_of(&rows, &Watch::new()).map(|_| ()).unwrap_err().to_string()
        };
        (targets[100_000], targets[200_000]) = (5000, u32::MAX);
        let expected = "x: byte 401000: neighbour 5000 does not exist; the header promises 5000 vertices";
        assert_eq!(told(&ends, &targets), expected);
        (ends[0], ends[4000]) = (ends[1] + 1, 7);
        assert_eq!(told(&ends, &targets), "x: byte 24: row 1 ends before it begins; the file is damaged");
        ends[0] = 0;
        assert_eq!(told(&ends, &targets), "x: byte 32016: row 4000 ends before it begins; the file is damaged");
    }
}
