//! How many edges may wait and be merged at a time, so that a limit of memory holds.
//!
//! Two parts are in memory: one is merged while the other fills. Beside them are the forest, which is also put into the gap
//! of the part that is merged, and what the solver takes. All of it grows with the vertices or with the edges of a part:
//!
//! ```text
//! memory = vertices * (solver + forest + 2 gaps) + part * (solver + 2 parts) + what readers hold
//! ```

use crate::error::{Error, Result};
use crate::run::Algorithm;

/// Edges of a part where there is no limit: so many, or so many times the vertices if that is more. Merging costs a pass over
/// the forest, so parts are to be several times as large; beyond four times there was no gain.
const UNLIMITED: u64 = 1 << 24;
const PER_VERTEX: u64 = 4;

/// No part is smaller: starting a merge takes about as long as solving so many edges.
const SMALLEST: u64 = 1 << 16;

/// A part should have a vertex's share of so much at least, or most of the time goes into the forest.
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

impl Memory {
    /// How many edges a part may have, of so many vertices and with weights of that size; `held` is what else there is.
    pub(crate) fn capacity(&self, vertices: u64, weight: u64, held: u64) -> Result<usize> {
        let Some(limit) = self.limit else {
            return Ok(self.batch.min(UNLIMITED.max(PER_VERTEX * vertices) as usize));
        };
        let (per_vertex, per_edge) = self.shares(weight);
        let fixed = vertices * per_vertex + held + self.threads * READER;
        let capacity = (limit / self.shares).saturating_sub(fixed) / per_edge;
        let least = SMALLEST.max(vertices / SMALLEST_SHARE);
        if capacity < least {
            return Err(Error::Limit { vertices, limit, needed: (fixed + least * per_edge) * self.shares });
        }
        Ok(self.batch.min(capacity as usize))
    }

    /// Bytes for each vertex and for each edge of a part.
    fn shares(&self, weight: u64) -> (u64, u64) {
        // As measured by `kostra bench` on graphs of all kinds; `kostra` has cells of its own for every thread.
        let (solver_vertex, solver_edge) = match self.algorithm {
            Algorithm::Auto | Algorithm::Kostra => (64 + 8 * self.threads.min(8), 4),
            Algorithm::Kruskal | Algorithm::FilterKruskal | Algorithm::Boruvka | Algorithm::Ecl => (32, 20),
            _ => (80, 80),
        };
        let (edge, forest_edge) = (8 + weight, 16 + weight);
        (solver_vertex + solver_edge + forest_edge + 2 * edge, solver_edge + 2 * edge)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_shrink_as_vertices_take_their_share_until_nothing_is_left() {
        let memory = |limit| Memory { limit, shares: 1, batch: usize::MAX, threads: 2, algorithm: Algorithm::Auto };
        assert_eq!(memory(None).capacity(0, 4, 0).unwrap(), 1 << 24);
        assert_eq!(memory(None).capacity(1 << 23, 4, 0).unwrap(), 1 << 25);
        let small = memory(Some(256 << 20));
        let [few, many] = [0, 1 << 20].map(|n| small.capacity(n, 4, 0).unwrap());
        assert!(few > many && many > 1 << 20, "{few} {many}");
        assert!(small.capacity(1 << 20, 8, 0).unwrap() < many);
        assert!(small.capacity(1 << 20, 4, 1 << 24).unwrap() < many);
        let error = small.capacity(1 << 24, 4, 0).unwrap_err();
        let Error::Limit { needed, .. } = error else { panic!("{error}") };
        assert!(memory(Some(needed)).capacity(1 << 24, 4, 0).is_ok());
        assert!(memory(Some(needed - 64)).capacity(1 << 24, 4, 0).is_err());
    }
}
