//! `delaunay`: the Delaunay triangulation of n random points in a square, with rounded distances as weights.
//!
//! The `delaunator` crate triangulates on one thread, with exact operations only (`+ - * /`, `abs`, `floor`, `sqrt`
//! and Shewchuk's predicates), so the graph is the same on every machine. It takes 150 bytes a vertex. A point that
//! falls on another one, which takes luck at 2^62 places, stays without edges.

use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::thread;
use std::time::Duration;

use delaunator::{EMPTY, Triangulation, triangulate};

use super::edges::{Edges, push, ranges, sorted};
use super::points::Point;
use super::random::{Random, Stream};
use super::spec::Spec;
use crate::error::Result;
use crate::watch::Watch;

/// Coordinates are below 2^31, so that the longest distance, times the square root of 2, is a u32.
const COORDINATE_BITS: u32 = 31;

pub(super) fn delaunay(spec: &Spec, watch: &Watch) -> Result<Edges> {
    let n = spec.vertices()?;
    spec.room(u64::from(n) * 220)?;
    let random = Random::new(spec.seed, Stream::Places);
    let points: Vec<Point> = (0..n.into())
        .map(|v| {
            let bits = random.at(v);
            [(bits >> (64 - COORDINATE_BITS)) as u32, bits as u32 & ((1 << COORDINATE_BITS) - 1)]
        })
        .collect();
    let edges = triangles(spec, watch, &points)?;
    Ok(Edges { points: Some(points), ..edges })
}

/// The edges of the triangulation; of points on a line, the path along it.
fn triangles(spec: &Spec, watch: &Watch, points: &[Point]) -> Result<Edges> {
    let n = points.len() as u32;
    let Triangulation { triangles, halfedges, hull } = triangulate_watched(spec, watch, points)?;
    if triangles.is_empty() {
        return sorted(spec, watch, n, hull.len() as u64, &[()], |(), pairs| {
            for ends in hull.windows(2) {
                push(pairs, ends[0] as u32, ends[1] as u32);
            }
        });
    }
    let m = triangles.len() as u64;
    sorted(spec, watch, n, m / 2, &ranges(m, m / 2), |range, pairs| {
        for half in range.start as usize..range.end as usize {
            // Half-edges come in twins, except on the hull.
            if halfedges[half] == EMPTY || half < halfedges[half] {
                let next = delaunator::next_halfedge(half);
                push(pairs, triangles[half] as u32, triangles[next] as u32);
            }
        }
    })
}

/// Triangulates on a thread of its own, so that the work can be abandoned: the crate has no way to stop it. A thread
/// that was left behind ends by itself.
fn triangulate_watched(spec: &Spec, watch: &Watch, points: &[Point]) -> Result<Triangulation> {
    let points: Vec<_> = points.iter().map(|&[x, y]| delaunator::Point { x: f64::from(x), y: f64::from(y) }).collect();
    let (sender, receiver) = sync_channel(1);
    let spawned = thread::Builder::new().name("delaunay".into()).spawn(move || {
        // Nobody listens any more when the work was abandoned.
        let _ = sender.send(triangulate(&points));
    });
    if let Err(reason) = spawned {
        return Err(spec.fail(format!("no thread for the triangulation: {reason}")));
    }
    loop {
        match receiver.recv_timeout(Duration::from_millis(50)) {
            Ok(triangulation) => return Ok(triangulation),
            Err(RecvTimeoutError::Timeout) => watch.step("triangulate", 0, 0)?,
            Err(RecvTimeoutError::Disconnected) => return Err(spec.fail("the triangulation failed")),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn pairs(points: &[Point]) -> Vec<(u32, u32)> {
        let Edges { src, dst, .. } = triangles(&Spec::new("delaunay:n=0").unwrap(), &Watch::default(), points).unwrap();
        src.into_iter().zip(dst).collect()
    }

    #[test]
    fn few_points_and_points_on_a_line_make_a_path() {
        assert_eq!(pairs(&[]), []);
        assert_eq!(pairs(&[[5, 5]]), []);
        assert_eq!(pairs(&[[5, 5], [9, 7]]), [(0, 1)]);
        assert_eq!(pairs(&[[5, 5], [9, 7], [6, 9]]), [(0, 1), (0, 2), (1, 2)]);
        assert_eq!(pairs(&[[0, 0], [20, 20], [10, 10], [30, 30]]), [(0, 2), (1, 2), (1, 3)]);
    }

    #[test]
    fn a_point_on_another_stays_alone() {
        assert_eq!(pairs(&[[7, 7], [7, 7]]), []);
        assert_eq!(pairs(&[[7, 7]; 5]), []);
        let square = [[0, 0], [90, 0], [0, 80], [100, 100], [90, 0]];
        assert_eq!(pairs(&square).len(), 5);
    }
}
