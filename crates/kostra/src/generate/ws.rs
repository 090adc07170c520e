//! `ws`: a Watts-Strogatz small world.
//!
//! Every vertex of a ring is joined to the degree / 2 that follow it, by turns to one more or one less where that is no whole number;
//! the far end of each edge moves to a random vertex with probability p.

use super::edges::{Edges, push, ranges, sorted};
use super::random::{Random, Stream, other, unit};
use super::spec::Spec;
use crate::error::Result;
use crate::watch::Watch;

pub(super) fn ws(spec: &Spec, watch: &Watch) -> Result<Edges> {
    let n = spec.vertices()?;
    let degree = spec.degree(8.0)?;
    let p = spec.probability("p", 0.1)?;
    let m = spec.edges(f64::from(n) * degree / 2.0)?;
    let moves = Random::new(spec.seed, Stream::Pairs);
    let ends = Random::new(spec.seed, Stream::Ends);
    sorted(spec, watch, n, m, &ranges(m, m), |range, pairs| {
        for e in range.clone() {
            // Both are below 2^32, so the product fits.
            let u = (e * u64::from(n) / m) as u32;
            let first = (u64::from(u) * m).div_ceil(n.into());
            let step = e - first + 1;
            let moved = unit(moves.at(e)) < p;
            let v = if moved { other(ends.at(e), n, u) } else { ((u64::from(u) + step) % u64::from(n)) as u32 };
            push(pairs, u, v);
        }
    })
}
