//! How many edges may wait and be merged at a time, so that a limit of memory holds.
//!
//! Two parts are in memory, one of which fills while the other is filtered; and the pool, with the forest before it. Beside them
//! are the heights, what the solver or the making of heights takes, of which only one is at work, and the forest's largest array
//! once more, when it is chosen from the pool:
//!
//! ```text
//! memory = vertices * (solver + forest + array + heights) + pool * (solver + edge + id) + 2 parts + what readers hold
//! ```

use crate::error::{Error, Result};
use crate::run::Algorithm;

/// Edges of the pool, at most: so many, or so many times the vertices if that is more. A merge costs a pass over the forest, so
/// the pool is to be several times as large; but memory that is first written costs time as well. 16 edges per vertex took two thirds of
/// the time of 6.
const LARGEST: u64 = 1 << 22;
const PER_VERTEX: u64 = 16;

/// Edges of a part, at most: enough to keep all threads busy between two hand-overs.
const PART: u64 = 1 << 20;

/// A part is at most this share of the pool, so that two of them take little from it.
const PART_OF_POOL: u64 = 8;

/// No pool is smaller: starting a merge takes about as long as solving so many edges.
const SMALLEST: u64 = 1 << 16;

/// The pool should have a vertex's share of so much at least, or most of the time goes into the forest.
const SMALLEST_SHARE: u64 = 4;

/// Bytes that a thread holds while it reads: a block of text and its edges.
const READER: u64 = 6 << 20;

/// What memory is for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Memory {
    /// The limit, in bytes.
    pub(crate) limit: Option<u64>,
    /// Among how many streams it is shared.
    pub(crate) shares: u64,
    /// No part is larger.
    pub(crate) batch: usize,
    pub(crate) threads: u64,
    pub(crate) algorithm: Algorithm,
}

/// How many edges parts and the pool may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Room {
    pub(crate) part: usize,
    pub(crate) pool: usize,
}

impl Memory {
    /// The room for edges of so many vertices and with weights of that size; `held` is what else there is.
    pub(crate) fn room(&self, vertices: u64, weight: u64, held: u64) -> Result<Room> {
        let largest = LARGEST.max(PER_VERTEX * vertices);
        let Some(limit) = self.limit else { return Ok(self.room_of(largest)) };
        let (per_vertex, per_edge) = self.shares_of(weight);
        let fixed = vertices * per_vertex + held + self.threads * READER;
        let pool = (limit / self.shares).saturating_sub(fixed) / per_edge;
        let least = SMALLEST.max(vertices / SMALLEST_SHARE);
        if pool < least {
            return Err(Error::Limit { vertices, limit, needed: (fixed + least * per_edge) * self.shares });
        }
        Ok(self.room_of(pool.min(largest)))
    }

    fn room_of(&self, pool: u64) -> Room {
        let part = PART.min(pool / PART_OF_POOL) as usize;
        Room { part: part.min(self.batch), pool: self.batch.min(pool as usize) }
    }

    /// Bytes for each vertex and for each edge of the pool, with its share of two parts.
    fn shares_of(&self, weight: u64) -> (u64, u64) {
        // As measured by `kostra bench` on graphs of all kinds; `kostra` has cells of its own for every thread.
        let (solver_vertex, solver_edge) = match self.algorithm {
            Algorithm::Auto | Algorithm::Kostra => (64 + 8 * self.threads.min(8), 4),
            Algorithm::Kruskal | Algorithm::FilterKruskal | Algorithm::Boruvka | Algorithm::Ecl => (48, 20),
            _ => (80, 80),
        };
        let with_id = 16 + weight;
        let (array, heights) = (8, weight.max(4));
        (solver_vertex + solver_edge + with_id + array + heights, solver_edge + with_id + 2 * with_id / PART_OF_POOL)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pools_shrink_as_vertices_take_their_share_until_nothing_is_left() {
        let memory = |limit| Memory { limit, shares: 1, batch: usize::MAX, threads: 2, algorithm: Algorithm::Auto };
        assert_eq!(memory(None).room(0, 4, 0).unwrap(), Room { part: 1 << 19, pool: 1 << 22 });
        assert_eq!(memory(None).room(1 << 23, 4, 0).unwrap().pool, 16 << 23);
        let small = memory(Some(256 << 20));
        let [few, many] = [1 << 19, 1 << 20].map(|n| small.room(n, 4, 0).unwrap().pool);
        assert!(few > many && many > 1 << 20, "{few} {many}");
        assert!(small.room(1 << 20, 8, 0).unwrap().pool < many);
        assert!(small.room(1 << 20, 4, 1 << 24).unwrap().pool < many);
        let error = small.room(1 << 24, 4, 0).unwrap_err();
        let Error::Limit { needed, .. } = error else { panic!("{error}") };
        assert!(memory(Some(needed)).room(1 << 24, 4, 0).is_ok());
        assert!(memory(Some(needed - 1000)).room(1 << 24, 4, 0).is_err());
    }
}
