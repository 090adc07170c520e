//! `dense`: a connected random graph after Johnsonbaugh and Kalin, a random spanning tree and, with probability
//! `density`, every other pair.
//!
//! In the tree every vertex hangs on a random one of those after it. So row u holds one tree edge, and rows are drawn
//! independently, sorted as they come. Pairs are not tried one by one: the gap to the next edge is geometric, P(gap
//! >= k) = (1 - density)^k, and found from its binary digits. Cost: O(n + m log(1 / density)).
//!
//! R. Johnsonbaugh and M. Kalin, "A graph generation software package", SIGCSE 1991.

use super::edges::{Edges, in_order, ranges};
use super::random::{Random, Stream, below, unit};
use super::spec::Spec;
use crate::error::Result;
use crate::watch::Watch;

pub(super) fn dense(spec: &Spec, watch: &Watch) -> Result<Edges> {
    let n = spec.vertices()?;
    let density = spec.real("density", 0.1, "a number above 0 and up to 1", |p| p > 0.0 && p <= 1.0)?;
    let others = f64::from(n) * (f64::from(n) - 1.0) / 2.0;
    // The tree has n - 1 edges of the pairs; the other pairs follow the density.
    let tree = f64::from(n.saturating_sub(1));
    let m = spec.edges(tree + density * (others - tree))?;

    let gaps = Gaps::new(density);
    let parents = Random::new(spec.seed, Stream::Tree);
    let draws = Random::new(spec.seed, Stream::Pairs);
    let end = u64::from(n);
    in_order(watch, n, &ranges(end.saturating_sub(1), m), |range, pairs| {
        for u in range.clone() {
            let parent = u + 1 + below(parents.at(u), end - 1 - u);
            let mut draw = u << 32;
            let mut gap = || {
                draw += 1;
                gaps.gap(unit(draws.at(draw)))
            };
            let mut v = u + 1 + gap();
            while v < parent {
                pairs.push(u << 32 | v);
                v += 1 + gap();
            }
            pairs.push(u << 32 | parent);
            if v == parent {
                v += 1 + gap();
            }
            while v < end {
                pairs.push(u << 32 | v);
                v += 1 + gap();
            }
        }
    })
}

/// Geometric gaps between successes of probability p.
struct Gaps {
    /// (1 - p)^1, (1 - p)^2, (1 - p)^4, ..., as far as a draw of 53 bits can be smaller.
    powers: Vec<f64>,
}

impl Gaps {
    fn new(p: f64) -> Self {
        let mut powers = Vec::new();
        let mut power = 1.0 - p;
        while power >= unit(1 << 11) && powers.len() <= u32::BITS as usize {
            powers.push(power);
            power *= power;
        }
        Self { powers }
    }

    /// The largest k with x < (1 - p)^k, digit by digit from the top.
    #[inline]
    fn gap(&self, x: f64) -> u64 {
        let (mut gap, mut reached) = (0, 1.0);
        for (digit, power) in self.powers.iter().enumerate().rev() {
            let next = reached * power;
            if x < next {
                (gap, reached) = (gap | 1 << digit, next);
            }
        }
        gap
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_are_geometric() {
        let random = Random::new(3, Stream::Pairs);
        for p in [0.9, 0.5, 0.03, 0.0001] {
            let gaps = Gaps::new(p);
            let draws = 20_000;
            let mean = (0..draws).map(|i| gaps.gap(unit(random.at(i))) as f64).sum::<f64>() / draws as f64;
            let expected = (1.0 - p) / p;
            // The mean of 20,000 draws lies within 3 % of a standard deviation, which is sqrt(1 - p) / p.
            assert!((mean - expected).abs() < 0.03 * (1.0 - p).sqrt() / p, "p = {p}: {mean}, not {expected}");
        }
        assert_eq!(Gaps::new(1.0).gap(0.0), 0);
        assert!(Gaps::new(1e-300).gap(0.999) > u32::MAX.into());
    }
}
