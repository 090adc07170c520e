//! Binary adjacency lists, as `.egr` and Galois files hold them: from arcs to edges on all threads, and back.

use std::borrow::Cow;
use std::ops::Range;

use bytemuck::Pod;
use rayon::prelude::*;

use super::edges::Balance;
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

/// The edges of the rows: one per pair of arcs where they are symmetric, else one per arc.
pub(super) fn edges_of<W, End>(rows: &Rows<End, W>, watch: &Watch) -> Result<(Vec<u32>, Vec<u32>, Vec<W>)>
where
    W: Copy + Default + Send + Sync + Into<i64>,
    End: Fn(usize) -> u64 + Sync,
{
    check(rows)?;
    watch.step("read", 0, 3)?;
    let (targets, weights) = (rows.targets, rows.weights);
    let start = |v: usize| if v == 0 { 0 } else { (rows.end)(v - 1) as usize };

    // Ranges of vertices with about equal numbers of arcs.
    let parts = rayon::current_num_threads() * 4;
    let mut bounds: Vec<usize> = (0..=parts)
        .map(|part| {
            first_row_from((targets.len() as u128 * part as u128 / parts as u128) as u64, rows.vertices, &rows.end)
        })
        .collect();
    (bounds[0], bounds[parts]) = (0, rows.vertices);
    let ranges: Vec<Range<usize>> = bounds.windows(2).map(|w| w[0]..w[1]).collect();

    let counted: Vec<(usize, Balance)> = ranges
        .par_iter()
        .map(|range| {
            let (mut upper, mut balance) = (0, Balance::default());
            for v in range.clone() {
                let row = start(v)..start(v + 1);
                let mut count = |target: u32, weight: u64| {
                    upper += usize::from(v as u32 <= target);
                    balance.add(v as u32, target, weight);
                };
                if weights.is_empty() {
                    targets[row].iter().for_each(|&target| count(target, 0));
                } else {
                    let weights = weights[row.clone()].iter();
                    targets[row].iter().zip(weights).for_each(|(&target, &w)| count(target, w.into() as u64));
                }
            }
            (upper, balance)
        })
        .collect();
    watch.step("read", 1, 3)?;
    let mut balance = Balance::default();
    counted.iter().for_each(|(_, part)| balance.join(*part));
    let all = !balance.is_symmetric();
    let counts: Vec<usize> = ranges
        .iter()
        .zip(&counted)
        .map(|(r, (upper, _))| if all { start(r.end) - start(r.start) } else { *upper })
        .collect();

    let edges = counts.iter().sum();
    if edges > u32::MAX as usize {
        return Err(Error::TooLarge { what: "edges", count: edges as u64 });
    }
    let (mut src, mut dst) = (vec![0u32; edges], vec![0u32; edges]);
    let mut kept_weights = vec![W::default(); if weights.is_empty() { 0 } else { edges }];
    let mut tasks = Vec::new();
    let (mut src_rest, mut dst_rest, mut weights_rest) = (&mut src[..], &mut dst[..], &mut kept_weights[..]);
    for (range, count) in ranges.into_iter().zip(counts) {
        let (src, rest) = src_rest.split_at_mut(count);
        src_rest = rest;
        let (dst, rest) = dst_rest.split_at_mut(count);
        dst_rest = rest;
        let (kept, rest) = weights_rest.split_at_mut(if weights.is_empty() { 0 } else { count });
        weights_rest = rest;
        tasks.push((range, src, dst, kept));
    }
    tasks.into_par_iter().for_each(|(range, src, dst, kept)| {
        let mut next = 0;
        for v in range {
            for arc in start(v)..start(v + 1) {
                if all || v as u32 <= targets[arc] {
                    src[next] = v as u32;
                    dst[next] = targets[arc];
                    if !weights.is_empty() {
                        kept[next] = weights[arc];
                    }
                    next += 1;
                }
            }
        }
    });
    watch.step("read", 3, 3)?;
    Ok((src, dst, kept_weights))
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
