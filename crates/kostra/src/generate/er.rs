//! `er`: an Erdős-Rényi graph G(n, m), m uniform pairs.
//!
//! Two different vertices are drawn for each of the n * degree / 2 edges; repeats are few while the degree is far
//! below n.

use super::edges::{Edges, push, ranges, sorted};
use super::random::{Random, Stream, below, other};
use super::spec::Spec;
use crate::error::Result;
use crate::watch::Watch;

pub(super) fn er(spec: &Spec, watch: &Watch) -> Result<Edges> {
    let n = spec.vertices()?;
    let m = spec.edges(f64::from(n) * spec.degree(8.0)? / 2.0)?;
    let random = Random::new(spec.seed, Stream::Pairs);
    sorted(spec, watch, n, m, &ranges(m, m), |range, pairs| {
        for e in range.clone() {
            let u = below(random.at(2 * e), n.into()) as u32;
            push(pairs, u, other(random.at(2 * e + 1), n, u));
        }
    })
}
