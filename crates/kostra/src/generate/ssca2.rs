//! `ssca2`: cliques of random size with links between them, as in the SSCA#2 benchmark.
//!
//! The 2^scale vertices are cut into cliques whose sizes are uniform in 1..=max-clique. A vertex of clique k is
//! linked to a random vertex of clique k + 2^i (around the end to the first) with probability 2^-(i+1), for every 2^i
//! below the number of cliques: about one link per vertex, mostly to near cliques. Ids are shuffled by a bijection.

use super::edges::{Edges, push, ranges, sorted};
use super::random::{Random, Shuffle, Stream, below};
use super::spec::Spec;
use crate::error::Result;
use crate::watch::Watch;

pub(super) fn ssca2(spec: &Spec, watch: &Watch) -> Result<Edges> {
    let scale = spec.scale()?;
    let n = 1u32 << scale;
    let largest = spec.whole("max-clique", 1..=u32::MAX.into(), Some(32))?;
    // What is to be expected, to refuse what is far too large before the cliques are even cut.
    spec.edges(f64::from(n) * ((largest.min(n.into()) - 1) as f64 / 3.0 + 1.0))?;
    let starts = cliques(spec, watch, n, largest)?;
    let count = starts.len() - 1;
    let inside: f64 =
        starts.windows(2).map(|clique| f64::from(clique[1] - clique[0])).map(|s| s * (s - 1.0) / 2.0).sum();
    let m = spec.edges(inside + f64::from(n))?;

    let shuffle = Shuffle::new(spec.seed, 0, scale);
    let levels = usize::BITS - (count - 1).leading_zeros();
    let links = Random::new(spec.seed, Stream::Pairs);
    sorted(spec, watch, n, m, &ranges(n.into(), m), |range, pairs| {
        let mut clique = starts.partition_point(|&start| u64::from(start) <= range.start) - 1;
        for v in range.start as u32..range.end as u32 {
            clique += usize::from(v == starts[clique + 1]);
            let end = shuffle.apply(v);
            for w in v + 1..starts[clique + 1] {
                push(pairs, end, shuffle.apply(w));
            }
            for level in 0..levels {
                let bits = links.at(u64::from(v) << 5 | u64::from(level));
                // The low bits decide whether there is a link, the high ones where it goes.
                if bits.trailing_zeros() > level {
                    let far = (clique + (1 << level)) % count;
                    let size = starts[far + 1] - starts[far];
                    push(pairs, end, shuffle.apply(starts[far] + below(bits, size.into()) as u32));
                }
            }
        }
    })
}

/// Where each clique starts, and `n`.
fn cliques(spec: &Spec, watch: &Watch, n: u32, largest: u64) -> Result<Vec<u32>> {
    spec.room(u64::from(n) * 8 / (largest + 1))?;
    let sizes = Random::new(spec.seed, Stream::Sizes);
    let mut starts = Vec::new();
    let mut start = 0;
    while start < u64::from(n) {
        if starts.len().is_multiple_of(1 << 20) {
            watch.step("plan", start, n.into())?;
        }
        starts.push(start as u32);
        start += 1 + below(sizes.at(starts.len() as u64), largest);
    }
    starts.push(n);
    Ok(starts)
}
