//! `cliques`: overlapping cliques, like papers that share an author.
//!
//! Clique sizes are heavy-tailed, from 2 to 200 with P(size > s) about (2/s)^(4/3), until their pairs are n * degree
//! / 2 in all. Cliques take their members from the vertices in turn, round after round: in the first round a clique
//! is a run of consecutive ids, in later rounds the ids are shuffled within windows, so that members stay near each
//! other but two cliques rarely share a pair. Some members come from anywhere. Fewer than 1 % of the pairs are
//! repeats.

use super::edges::{BLOCK, Edges, push, sorted};
use super::random::{Random, Shuffle, Stream, below, unit};
use super::spec::Spec;
use crate::error::Result;
use crate::watch::Watch;

/// The smallest and the largest clique.
const SMALLEST: f64 = 2.0;
const LARGEST: u64 = 200;
/// The share of draws that would exceed the largest clique: (2/200)^(4/3).
const BEYOND: f64 = 0.002_154_434_690_031_884;
/// Ids are shuffled within windows of 2^12: a pair of one round meets again in another about once in 150 times.
const WINDOW_BITS: u32 = 12;
/// Of 256 members, how many come from anywhere.
const FAR: u64 = 20;

pub(super) fn cliques(spec: &Spec, watch: &Watch) -> Result<Edges> {
    let n = spec.vertices()?;
    let m = spec.edges(f64::from(n) * spec.degree(56.0)? / 2.0)?;
    let sizes = Random::new(spec.seed, Stream::Sizes);
    let blocks = plan(watch, m, sizes)?;
    let members = Members { n, seed: spec.seed, random: Random::new(spec.seed, Stream::Members) };
    sorted(spec, watch, n, m, &blocks, |block, pairs| {
        let (mut slot, mut left) = (block.slot, block.pairs);
        let mut vertices = Vec::new();
        for clique in block.first.. {
            let size = size_of_clique(sizes.at(clique));
            members.fill(slot, size, &mut vertices);
            slot += size;
            for (i, &u) in vertices.iter().enumerate() {
                for &v in &vertices[i + 1..] {
                    if left == 0 {
                        return;
                    }
                    left -= 1;
                    push(pairs, u, v);
                }
            }
        }
    })
}

/// Consecutive cliques with about a block of pairs.
struct Cliques {
    /// The first clique.
    first: u64,
    /// Members taken before it.
    slot: u64,
    /// Pairs in these cliques; the last clique of all may be cut.
    pairs: u64,
}

/// Cuts the cliques with `m` pairs in all into blocks. Adding up sizes takes one thread 3 ns a clique, so it is not
/// worth a parallel prefix sum.
fn plan(watch: &Watch, m: u64, sizes: Random) -> Result<Vec<Cliques>> {
    let mut blocks = Vec::new();
    let (mut clique, mut slot, mut left) = (0, 0, m);
    while left > 0 {
        watch.check()?;
        let mut block = Cliques { first: clique, slot, pairs: 0 };
        while block.pairs < BLOCK && left > 0 {
            let size = size_of_clique(sizes.at(clique));
            let pairs = (size * (size - 1) / 2).min(left);
            block.pairs += pairs;
            left -= pairs;
            slot += size;
            clique += 1;
        }
        blocks.push(block);
    }
    Ok(blocks)
}

/// A heavy-tailed size: the inverse of P(size > s) = (2/s)^(4/3), cut at the largest.
fn size_of_clique(bits: u64) -> u64 {
    let root = (BEYOND + (1.0 - BEYOND) * unit(bits)).sqrt();
    ((SMALLEST / (root * root.sqrt())) as u64).min(LARGEST)
}

/// Which vertex takes which place in the cliques.
struct Members {
    n: u32,
    seed: u64,
    random: Random,
}

impl Members {
    /// The vertices that take `size` places from `slot` on.
    fn fill(&self, slot: u64, size: u64, vertices: &mut Vec<u32>) {
        let n = u64::from(self.n);
        let mut round = slot / n;
        let mut shuffle = Shuffle::new(self.seed, round, WINDOW_BITS);
        vertices.clear();
        for slot in slot..slot + size {
            if slot / n != round {
                round = slot / n;
                shuffle = Shuffle::new(self.seed, round, WINDOW_BITS);
            }
            let bits = self.random.at(slot);
            let v = (slot % n) as u32;
            let place = v % (1 << WINDOW_BITS);
            vertices.push(if bits % 256 < FAR {
                below(bits, n) as u32
            } else if round == 0 || u64::from(v - place) + (1 << WINDOW_BITS) > n {
                // The last window may be cut short, and is left as it is.
                v
            } else {
                v - place + shuffle.apply(place)
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_heavy_tailed() {
        let random = Random::new(1, Stream::Sizes);
        let sizes: Vec<u64> = (0..100_000).map(|i| size_of_clique(random.at(i))).collect();
        assert!(sizes.iter().all(|size| (2..=LARGEST).contains(size)));
        let share = |from: u64| sizes.iter().filter(|&&size| size >= from).count() as f64 / sizes.len() as f64;
        // (2/20)^(4/3) = 0.046 and (2/100)^(4/3) = 0.0054, less the share beyond the largest.
        assert!((0.040..0.050).contains(&share(20)) && (0.002..0.005).contains(&share(100)));
    }
}
