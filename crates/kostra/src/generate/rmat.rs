//! `rmat` and `kronecker`: recursive matrix graphs, with communities within communities and hubs.
//!
//! Each of the n * degree / 2 edges walks down the adjacency matrix: at every level it enters one of four quadrants,
//! with probabilities a, b, c and 1 - a - b - c. `kronecker` is Graph500's choice of a, b and c. The walk alone would
//! put the hubs at the small ids, so a bijection shuffles the ids, as Graph500 does.
//!
//! An alias table makes four levels one step of 32 random bits, so that three draws serve 24 levels: three times as
//! fast as a comparison per level, and exact to 2^-32.

use super::edges::{Edges, push, ranges, sorted};
use super::random::{Random, Shuffle, Stream};
use super::spec::Spec;
use crate::error::Result;
use crate::watch::Watch;

/// Levels of one step.
const LEVELS: u32 = 4;
/// The ways to take one step: a row and a column of `LEVELS` bits each.
const WAYS: usize = 1 << (2 * LEVELS);
/// Steps that one draw of 64 bits serves.
const STEPS: u32 = 2;

pub(super) fn rmat(spec: &Spec, watch: &Watch) -> Result<Edges> {
    let a = spec.probability("a", 0.45)?;
    let b = spec.probability("b", 0.22)?;
    let c = spec.probability("c", 0.22)?;
    let sum = a + b + c;
    // A little more than 1 may be rounding.
    if sum > 1.0 + 1e-9 {
        return Err(spec.fail(format!("a, b and c add up to {sum}, more than 1; they are probabilities")));
    }
    walk(spec, watch, spec.degree(16.0)?, [a, b, c, (1.0 - sum).max(0.0)])
}

pub(super) fn kronecker(spec: &Spec, watch: &Watch) -> Result<Edges> {
    walk(spec, watch, spec.degree(32.0)?, [0.57, 0.19, 0.19, 0.05])
}

/// The graph of these quadrants: upper left, upper right, lower left, lower right.
fn walk(spec: &Spec, watch: &Watch, degree: f64, quadrants: [f64; 4]) -> Result<Edges> {
    let scale = spec.scale()?;
    let n = 1 << scale;
    let m = spec.edges(f64::from(n) * degree / 2.0)?;
    let random = Random::new(spec.seed, Stream::Pairs);
    let shuffle = Shuffle::new(spec.seed, 0, scale);
    let table = alias_table(quadrants);
    let draws = scale.div_ceil(LEVELS * STEPS);
    // Whole draws may walk a few levels too deep.
    let surplus = draws * LEVELS * STEPS - scale;
    sorted(spec, watch, n, m, &ranges(m, m), |range, pairs| {
        for e in range.clone() {
            let (mut u, mut v) = (0u64, 0u64);
            for draw in 0..u64::from(draws) {
                let bits = random.at(e * u64::from(draws) + draw);
                for bits in [bits as u32, (bits >> 32) as u32] {
                    let way = step(&table, bits);
                    u = u << LEVELS | u64::from(way >> LEVELS);
                    v = v << LEVELS | u64::from(way & ((1 << LEVELS) - 1));
                }
            }
            push(pairs, shuffle.apply((u >> surplus) as u32), shuffle.apply((v >> surplus) as u32));
        }
    })
}

/// One of the ways, by their probabilities: the low bits choose an entry of the table, the others one of its two ways.
#[inline]
fn step(table: &[u32; WAYS], bits: u32) -> u32 {
    let entry = table[bits as usize % WAYS];
    if bits >> (2 * LEVELS) < entry >> (2 * LEVELS) { bits % WAYS as u32 } else { entry % WAYS as u32 }
}

/// Walker's alias table, by Vose's method: entry i stands for way i up to its threshold, the upper 24 bits, and for the
/// way in its lower 8 bits beyond.
fn alias_table(quadrants: [f64; 4]) -> [u32; WAYS] {
    // What each way still needs, where every entry holds 1.
    let mut needs = [0.0; WAYS];
    for (way, need) in needs.iter_mut().enumerate() {
        let quadrant = |level: u32| (way >> (LEVELS + level) & 1) << 1 | (way >> level & 1);
        *need = (0..LEVELS).fold(WAYS as f64, |product, level| product * quadrants[quadrant(level)]);
    }
    let (mut poor, mut rich): (Vec<usize>, Vec<usize>) = (0..WAYS).partition(|&way| needs[way] < 1.0);
    // An entry that nobody else shares stands for its own way on both sides of the threshold.
    let mut table = std::array::from_fn(|way| way as u32);
    while let (Some(&way), Some(&donor)) = (poor.last(), rich.last()) {
        poor.pop();
        let threshold = (needs[way] * f64::from(1 << (u32::BITS - 2 * LEVELS))) as u32;
        table[way] = threshold << (2 * LEVELS) | donor as u32;
        needs[donor] -= 1.0 - needs[way];
        if needs[donor] < 1.0 {
            rich.pop();
            poor.push(donor);
        }
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_follow_the_quadrants() {
        for quadrants in [[0.57, 0.19, 0.19, 0.05], [0.25; 4], [1.0, 0.0, 0.0, 0.0], [0.0, 0.3, 0.7, 0.0]] {
            let table = alias_table(quadrants);
            let mut found = [0.0; 4];
            for (own, entry) in table.into_iter().enumerate() {
                let threshold = f64::from(entry >> 8) / f64::from(1 << 24);
                for (way, share) in [(own, threshold), (entry as usize % WAYS, 1.0 - threshold)] {
                    for level in 0..4 {
                        found[(way >> (4 + level) & 1) << 1 | (way >> level & 1)] += share / 4.0 / WAYS as f64;
                    }
                }
            }
            for (found, expected) in found.into_iter().zip(quadrants) {
                assert!((found - expected).abs() < 1e-6, "{quadrants:?}: {found}");
            }
        }
    }
}
