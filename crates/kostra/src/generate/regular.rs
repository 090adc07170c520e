//! `regular`: each vertex draws degree / 2 neighbours, the "random" and "r4" graphs of the papers.
//!
//! Where that is no whole number, vertices draw one more or one less by turns, evenly, so that the average is the degree. A vertex
//! is drawn by others about as often as it draws, so degrees lie close to the average.

use super::edges::{Edges, push, ranges, sorted};
use super::random::{Random, Stream, other};
use super::spec::Spec;
use crate::error::Result;
use crate::watch::Watch;

pub(super) fn regular(spec: &Spec, watch: &Watch) -> Result<Edges> {
    let n = spec.vertices()?;
    let m = spec.edges(f64::from(n) * spec.degree(8.0)? / 2.0)?;
    let random = Random::new(spec.seed, Stream::Pairs);
    sorted(spec, watch, n, m, &ranges(m, m), |range, pairs| {
        for e in range.clone() {
            // Both are below 2^32, so the product fits; where m is a multiple of n this is e / (m / n).
            let u = (e * u64::from(n) / m) as u32;
            push(pairs, u, other(random.at(e), n, u));
        }
    })
}
