//! `ws`: a Watts-Strogatz small world.
//!
//! Every vertex of a ring is joined to the degree / 2 (rounded) that follow it; the far end of each edge moves to a
//! random vertex with probability p.

use super::edges::{Edges, push, ranges, sorted};
use super::random::{Random, Stream, other, unit};
use super::spec::Spec;
use crate::error::Result;
use crate::watch::Watch;

pub(super) fn ws(spec: &Spec, watch: &Watch) -> Result<Edges> {
    let n = spec.vertices()?;
    let half = (spec.degree(8.0)? / 2.0 + 0.5) as u64;
    let p = spec.probability("p", 0.1)?;
    let m = spec.edges(f64::from(n) * half as f64)?;
    let moves = Random::new(spec.seed, Stream::Pairs);
    let ends = Random::new(spec.seed, Stream::Ends);
    sorted(spec, watch, n, m, &ranges(m, m), |range, pairs| {
        for e in range.clone() {
            let (u, step) = ((e / half) as u32, e % half + 1);
            let moved = unit(moves.at(e)) < p;
            let v = if moved { other(ends.at(e), n, u) } else { ((u64::from(u) + step) % u64::from(n)) as u32 };
            push(pairs, u, v);
        }
    })
}
