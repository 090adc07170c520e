//! Points in the plane, and the lengths of edges between them.

use rayon::prelude::*;

use super::edges::{Edges, Meter};
use crate::error::Result;
use crate::watch::Watch;

/// Lengths taken between two looks at the watch.
const BLOCK: usize = if cfg!(test) { 1 << 11 } else { 1 << 18 };

/// Where a vertex lies, x and y.
pub(super) type Point = [u32; 2];

/// The rounded length of every edge, at least 1.
pub(super) fn lengths(edges: &Edges, points: &[Point], watch: &Watch) -> Result<Vec<u32>> {
    let mut lengths = vec![0; edges.src.len()];
    let meter = Meter::new(watch, "weigh", lengths.len().div_ceil(BLOCK));
    lengths.par_chunks_mut(BLOCK).enumerate().try_for_each(|(block, lengths)| {
        let ends = edges.src[block * BLOCK..].iter().zip(&edges.dst[block * BLOCK..]);
        for (w, (&u, &v)) in lengths.iter_mut().zip(ends) {
            *w = length(points[u as usize], points[v as usize]);
        }
        meter.step()
    })?;
    Ok(lengths)
}

/// The rounded distance between two points, at least 1. Exact operations only: square roots are rounded correctly.
fn length(a: Point, b: Point) -> u32 {
    let (x, y) = (f64::from(a[0].abs_diff(b[0])), f64::from(a[1].abs_diff(b[1])));
    ((x * x + y * y).sqrt() + 0.5).max(1.0) as u32
}
