//! `regular`: each vertex draws degree / 2 neighbours, the "random" and "r4" graphs of the papers.
//!
//! Half the degree is rounded to a whole number, so `degree=5` and `degree=6` draw the same three neighbours. A
//! vertex is drawn by others about as often as it draws, so degrees lie close to the average.

use super::edges::{Edges, push, ranges, sorted};
use super::random::{Random, Stream, other};
use super::spec::Spec;
use crate::error::Result;
use crate::watch::Watch;

pub(super) fn regular(spec: &Spec, watch: &Watch) -> Result<Edges> {
    let n = spec.vertices()?;
    let half = (spec.degree(8.0)? / 2.0 + 0.5) as u64;
    let m = spec.edges(f64::from(n) * half as f64)?;
    let random = Random::new(spec.seed, Stream::Pairs);
    sorted(spec, watch, n, m, &ranges(m, m), |range, pairs| {
        for e in range.clone() {
            let u = (e / half) as u32;
            push(pairs, u, other(random.at(e), n, u));
        }
    })
}
