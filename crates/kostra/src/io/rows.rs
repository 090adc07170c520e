//! Binary adjacency lists, as `.egr` and Galois files hold them: from arcs to edges on all threads, and back.

use std::ops::Range;

use rayon::prelude::*;

use super::edges::Balance;
use crate::error::{Error, Result};
use crate::watch::Watch;

/// The arcs of a file: all that [`edges_of`] needs to know, by position, straight from the file's bytes.
pub(super) struct Rows<End, Target, Weight> {
    pub(super) file: String,
    pub(super) vertices: usize,
    pub(super) arcs: usize,
    /// Where the row of a vertex ends.
    pub(super) end: End,
    /// The neighbour of an arc.
    pub(super) target: Target,
    /// The weight of an arc; anything where there are none.
    pub(super) weight: Weight,
    /// Whether there are weights.
    pub(super) weighted: bool,
    /// The byte where the row ends begin, and where the targets do, for messages.
    pub(super) ends_at: (u64, u64),
    pub(super) targets_at: u64,
}

/// The edges of the rows: one per pair of arcs where they are symmetric, else one per arc.
pub(super) fn edges_of<W, End, Target, Weight>(
    rows: &Rows<End, Target, Weight>,
    watch: &Watch,
) -> Result<(Vec<u32>, Vec<u32>, Vec<W>)>
where
    W: Copy + Default + Send + Sync + bytemuck::Pod,
    End: Fn(usize) -> u64 + Sync,
    Target: Fn(usize) -> u32 + Sync,
    Weight: Fn(usize) -> W + Sync,
{
    check(rows)?;
    watch.step("read", 0, 3)?;
    let start = |v: usize| if v == 0 { 0 } else { (rows.end)(v - 1) as usize };
    let bits = |arc: usize| {
        let mut bytes = [0; 8];
        bytes[..size_of::<W>()].copy_from_slice(bytemuck::bytes_of(&(rows.weight)(arc)));
        u64::from_le_bytes(bytes)
    };

    // Ranges of vertices with about equal numbers of arcs.
    let parts = rayon::current_num_threads() * 4;
    let mut bounds: Vec<usize> = (0..=parts)
        .map(|part| first_row_from((rows.arcs as u128 * part as u128 / parts as u128) as u64, rows.vertices, &rows.end))
        .collect();
    (bounds[0], bounds[parts]) = (0, rows.vertices);
    let ranges: Vec<Range<usize>> = bounds.windows(2).map(|w| w[0]..w[1]).collect();

    let counted: Vec<(usize, Balance)> = ranges
        .par_iter()
        .map(|range| {
            let (mut upper, mut balance) = (0, Balance::default());
            for v in range.clone() {
                for arc in start(v)..start(v + 1) {
                    let target = (rows.target)(arc);
                    upper += usize::from(v as u32 <= target);
                    balance.add(v as u32, target, if rows.weighted { bits(arc) } else { 0 });
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
    let mut weights = vec![W::default(); if rows.weighted { edges } else { 0 }];
    let mut tasks = Vec::new();
    let (mut src_rest, mut dst_rest, mut weights_rest) = (&mut src[..], &mut dst[..], &mut weights[..]);
    for (range, count) in ranges.into_iter().zip(counts) {
        let (src, rest) = src_rest.split_at_mut(count);
        src_rest = rest;
        let (dst, rest) = dst_rest.split_at_mut(count);
        dst_rest = rest;
        let (weights, rest) = weights_rest.split_at_mut(if rows.weighted { count } else { 0 });
        weights_rest = rest;
        tasks.push((range, src, dst, weights));
    }
    tasks.into_par_iter().for_each(|(range, src, dst, weights)| {
        let mut next = 0;
        for v in range {
            for arc in start(v)..start(v + 1) {
                let target = (rows.target)(arc);
                if all || v as u32 <= target {
                    src[next] = v as u32;
                    dst[next] = target;
                    if rows.weighted {
                        weights[next] = (rows.weight)(arc);
                    }
                    next += 1;
                }
            }
        }
    });
    watch.step("read", 3, 3)?;
    Ok((src, dst, weights))
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
fn check<W, End, Target, Weight>(rows: &Rows<End, Target, Weight>) -> Result<()>
where
    End: Fn(usize) -> u64 + Sync,
    Target: Fn(usize) -> u32 + Sync,
    Weight: Fn(usize) -> W + Sync,
{
    let fail = |byte, what: String| Err(Error::Byte { file: rows.file.clone(), byte, what });
    let falls = |v: usize| (rows.end)(v) < if v == 0 { 0 } else { (rows.end)(v - 1) };
    if let Some(v) = (0..rows.vertices).into_par_iter().find_first(|&v| falls(v)) {
        let byte = rows.ends_at.0 + v as u64 * rows.ends_at.1;
        return fail(byte, format!("row {v} ends before it begins; the file is damaged"));
    }
    let last = if rows.vertices == 0 { 0 } else { (rows.end)(rows.vertices - 1) };
    if last != rows.arcs as u64 {
        let byte = rows.ends_at.0 + (rows.vertices as u64).saturating_sub(1) * rows.ends_at.1;
        return fail(byte, format!("the rows end at arc {last}, but the header promises {} arcs", rows.arcs));
    }
    if let Some(arc) = (0..rows.arcs).into_par_iter().find_first(|&arc| (rows.target)(arc) as usize >= rows.vertices) {
        let (byte, target) = (rows.targets_at + 4 * arc as u64, (rows.target)(arc));
        return fail(
            byte,
            format!("neighbour {target} does not exist; the header promises {} vertices", rows.vertices),
        );
    }
    Ok(())
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
