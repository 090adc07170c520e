//! Binary adjacency lists, as `.egr` and Galois files hold them: from arcs to edges on all threads, and back.

use std::borrow::Cow;
use std::ops::Range;

use bytemuck::Pod;
use rayon::prelude::*;

use super::balance::Balance;
use crate::error::{Error, Result};
use crate::watch::Watch;
use crate::weight::first;

/// The arcs of a file, straight from its bytes.
pub(super) struct Rows<'a, End, W> {
    pub(super) file: String,
    pub(super) vertices: usize,
    /// Where the row of a vertex ends.
    pub(super) end: End,
    /// The neighbour of every arc.
    pub(super) targets: &'a [u32],
    /// The weight of every arc, or nothing.
    pub(super) weights: &'a [W],
    /// The byte where the row ends begin, the bytes of each, and where the targets begin, for messages.
    pub(super) ends_at: (u64, u64),
    pub(super) targets_at: u64,
}

/// Sources, targets and weights of edges.
type Arrays<W> = (Vec<u32>, Vec<u32>, Vec<W>);

/// The edges of the rows: one per pair of arcs where they are symmetric, else one per arc.
///
/// Arcs are taken for symmetric at first: those with u <= v are kept while all are hashed. If the hash says otherwise,
/// all are kept in a second pass.
pub(super) fn edges_of<W, End>(rows: &Rows<End, W>, watch: &Watch) -> Result<Arrays<W>>
where
    W: Copy + Default + Send + Sync + Into<i64>,
    End: Fn(usize) -> u64 + Sync,
{
    check(rows)?;
    watch.step("read", 1, 4)?;
    // Ranges of vertices with about equal numbers of arcs.
    let (parts, arcs) = (rayon::current_num_threads() * 4, rows.targets.len());
    let share = |part: usize| (arcs as u128 * part as u128 / parts as u128) as u64;
    let mut bounds: Vec<usize> =
        (0..=parts).map(|part| first_row_from(share(part), rows.vertices, &rows.end)).collect();
    (bounds[0], bounds[parts]) = (0, rows.vertices);
    let ranges: Vec<Range<usize>> = bounds.windows(2).map(|w| w[0]..w[1]).collect();

    let count_upper = |v: u32, row: &[u32]| row.iter().filter(|&&target| v <= target).count();
    let upper = ranges.par_iter().map(|range| rows.of(range).map(|(v, row)| count_upper(v, &rows.targets[row])).sum());
    let (edges, balance) = fill::<W, End, false>(rows, &ranges, &upper.collect::<Vec<_>>())?;
    watch.step("read", 3, 4)?;
    if balance.is_symmetric() {
        return Ok(edges);
    }
    drop(edges);
    let all: Vec<usize> = ranges.iter().map(|range| rows.of(range).map(|(_, row)| row.len()).sum()).collect();
    Ok(fill::<W, End, true>(rows, &ranges, &all)?.0)
}

impl<End: Fn(usize) -> u64, W> Rows<'_, End, W> {
    /// The vertices of a range, each with the range of its arcs.
    fn of(&self, range: &Range<usize>) -> impl Iterator<Item = (u32, Range<usize>)> {
        let mut start = if range.start == 0 { 0 } else { (self.end)(range.start - 1) as usize };
        range.clone().map(move |v| {
            let row = start..(self.end)(v) as usize;
            start = row.end;
            (v as u32, row)
        })
    }
}

/// Keeps `ALL` arcs, or hashes all and keeps those with u <= v; `counts` says how many that is in each range.
fn fill<W, End, const ALL: bool>(
    rows: &Rows<End, W>,
    ranges: &[Range<usize>],
    counts: &[usize],
) -> Result<(Arrays<W>, Balance)>
where
    W: Copy + Default + Send + Sync + Into<i64>,
    End: Fn(usize) -> u64 + Sync,
{
    let edges = counts.iter().sum();
    if edges > u32::MAX as usize {
        return Err(Error::TooLarge { what: "edges", count: edges as u64 });
    }
    let weighted = !rows.weights.is_empty();
    let (mut src, mut dst) = (vec![0u32; edges], vec![0u32; edges]);
    let mut weights = vec![W::default(); if weighted { edges } else { 0 }];
    let mut tasks = Vec::new();
    let (mut src_rest, mut dst_rest, mut weights_rest) = (&mut src[..], &mut dst[..], &mut weights[..]);
    for (range, &count) in ranges.iter().zip(counts) {
        let (src, rest) = src_rest.split_at_mut(count);
        src_rest = rest;
        let (dst, rest) = dst_rest.split_at_mut(count);
        dst_rest = rest;
        let (weights, rest) = weights_rest.split_at_mut(if weighted { count } else { 0 });
        weights_rest = rest;
        tasks.push((range, src, dst, weights));
    }
    let balances = tasks.into_par_iter().map(|(range, src, dst, weights)| {
        let (mut next, mut balance) = (0, Balance::default());
        for (v, row) in rows.of(range) {
            for arc in row {
                let target = rows.targets[arc];
                if !ALL {
                    balance.add(v, target, if weighted { rows.weights[arc].into() as u64 } else { 0 });
                }
                if ALL || v <= target {
                    src[next] = v;
                    dst[next] = target;
                    if weighted {
                        weights[next] = rows.weights[arc];
                    }
                    next += 1;
                }
            }
        }
        balance
    });
    let balance = balances.reduce(Balance::default, |mut a, b| {
        a.join(b);
        a
    });
    Ok(((src, dst, weights), balance))
}

/// The first row that ends behind `arc`, by bisection.
fn first_row_from(arc: u64, vertices: usize, end: impl Fn(usize) -> u64) -> usize {
    let (mut low, mut high) = (0, vertices);
    while low < high {
        let middle = (low + high) / 2;
        if end(middle) <= arc { low = middle + 1 } else { high = middle }
    }
    low
}

/// Row ends rise to the number of arcs, and targets are vertices: whatever the file says, no index is out of range.
fn check<W, End: Fn(usize) -> u64 + Sync>(rows: &Rows<End, W>) -> Result<()> {
    let fail = |byte, what: String| Err(Error::Byte { file: rows.file.clone(), byte, what });
    let falls = |v: usize| (rows.end)(v) < if v == 0 { 0 } else { (rows.end)(v - 1) };
    if let Some(v) = (0..rows.vertices).find(|&v| falls(v)) {
        let byte = rows.ends_at.0 + v as u64 * rows.ends_at.1;
        return fail(byte, format!("row {v} ends before it begins; the file is damaged"));
    }
    let last = if rows.vertices == 0 { 0 } else { (rows.end)(rows.vertices - 1) };
    if last != rows.targets.len() as u64 {
        let byte = rows.ends_at.0 + (rows.vertices as u64).saturating_sub(1) * rows.ends_at.1;
        return fail(byte, format!("the rows end at arc {last}, but the header promises {} arcs", rows.targets.len()));
    }
    let n = rows.vertices;
    if let Some(arc) = first(rows.targets, |target| target as usize >= n) {
        let (byte, target) = (rows.targets_at + 4 * arc as u64, rows.targets[arc]);
        return fail(
            byte,
            format!("neighbour {target} does not exist; the header promises {} vertices", rows.vertices),
        );
    }
    Ok(())
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
