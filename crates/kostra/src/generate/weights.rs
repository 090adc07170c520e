//! Rules that give every edge of a graph a weight.

use std::str::FromStr;

use rayon::prelude::*;

use super::edges::Meter;
use super::random::{Random, Stream, below, unit};
use crate::error::{Error, Result};
use crate::graph::Graph;
use crate::watch::Watch;
use crate::weight::Weights;

/// Weights given between two looks at the watch.
const BLOCK: usize = if cfg!(test) { 1 << 11 } else { 1 << 18 };

/// A rule that replaces a graph's weights, as in `--weights RULE`.
///
/// | rule | weights |
/// |---|---|
/// | `unit` | every edge weighs 1 |
/// | `uniform:LO-HI[:SEED]` | whole numbers from LO to HI, in the smallest of u32, i32, i64 that holds both |
/// | `float[:SEED]` | f32 in [0, 1), multiples of 2^-24 |
/// | `double[:SEED]` | f64 in [0, 1), multiples of 2^-53 |
/// | `ecl` | the rule of the ECL-MST code, `abs(1 + (u*v) % n)` with C's wrapping 32-bit product and remainder |
///
/// Random weights depend on the seed (1 unless given) and on the edge's id, so they are the same on every machine.
///
/// ```
/// let graph = kostra::generate("grid:rows=2,cols=2")?;
/// let rule: kostra::WeightRule = "uniform:-5--3:7".parse()?;
/// let weights = rule.weights(&graph)?;
/// let graph = graph.with_weights(weights)?;
/// assert_eq!(graph.weights().type_name(), "i32");
/// # Ok::<(), kostra::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WeightRule {
    kind: Kind,
    seed: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Unit,
    Uniform { low: i64, high: i64 },
    Float,
    Double,
    Ecl,
}

impl FromStr for WeightRule {
    type Err = Error;

    fn from_str(rule: &str) -> Result<Self> {
        Self::parse(rule).map_err(|what| Error::Spec { spec: rule.into(), what })
    }
}

impl WeightRule {
    /// The weights that the rule gives to the edges of `graph`.
    pub fn weights(&self, graph: &Graph) -> Result<Weights<'static>> {
        self.assign(graph.sources(), graph.targets(), graph.vertices() as u32, 1, &Watch::default())
    }

    /// Whole numbers from `low` to `high`.
    pub(super) fn uniform(low: i64, high: i64) -> Self {
        Self { kind: Kind::Uniform { low, high }, seed: None }
    }

    /// The rule in this text, or what is wrong with it.
    pub(super) fn parse(rule: &str) -> Result<Self, String> {
        let (name, rest) = match rule.split_once(':') {
            Some((name, rest)) => (name, Some(rest)),
            None => (rule, None),
        };
        let seed = |text: Option<&str>| match text {
            Some(text) => match text.parse() {
                Ok(seed) => Ok(Some(seed)),
                Err(_) => Err(format!("the seed {text:?} is not a whole number below 2^64")),
            },
            None => Ok(None),
        };
        let plain = |kind| match rest {
            Some(rest) => Err(format!("{name} takes nothing after it, but {rest:?} is there")),
            None => Ok(Self { kind, seed: None }),
        };
        match name {
            "unit" => plain(Kind::Unit),
            "ecl" => plain(Kind::Ecl),
            "float" => Ok(Self { kind: Kind::Float, seed: seed(rest)? }),
            "double" => Ok(Self { kind: Kind::Double, seed: seed(rest)? }),
            "uniform" => {
                let rest = rest.unwrap_or_default();
                let (range, own) = match rest.split_once(':') {
                    Some((range, own)) => (range, Some(own)),
                    None => (rest, None),
                };
                let (low, high) = bounds(range)?;
                Ok(Self { kind: Kind::Uniform { low, high }, seed: seed(own)? })
            }
            _ => Err(format!(
                "no weight rule is called {name:?}; there are unit, uniform:LO-HI[:SEED], float[:SEED], double[:SEED] \
                 and ecl"
            )),
        }
    }

    /// The weights of these edges on `n` vertices; `seed` is for a rule that has none of its own.
    pub(super) fn assign(
        &self,
        src: &[u32],
        dst: &[u32],
        n: u32,
        seed: u64,
        watch: &Watch,
    ) -> Result<Weights<'static>> {
        let random = Random::new(self.seed.unwrap_or(seed), Stream::Weights);
        let each = Each { edges: src.len(), watch };
        match self.kind {
            Kind::Unit => Ok(Weights::Unit),
            Kind::Uniform { low, high } => {
                // One less than the number of weights, which may be 2^64.
                let span = high.wrapping_sub(low) as u64;
                let draw = move |e: usize| {
                    let bits = random.at(e as u64);
                    let offset = if span == u64::MAX { bits } else { below(bits, span + 1) };
                    low.wrapping_add(offset as i64)
                };
                if low >= 0 && u32::try_from(high).is_ok() {
                    Ok(each.weigh(|e| draw(e) as u32)?.into())
                } else if i32::try_from(low).is_ok() && i32::try_from(high).is_ok() {
                    Ok(each.weigh(|e| draw(e) as i32)?.into())
                } else {
                    Ok(each.weigh(draw)?.into())
                }
            }
            Kind::Float => Ok(each.weigh(|e| (random.at(e as u64) >> 40) as f32 / (1u32 << 24) as f32)?.into()),
            Kind::Double => Ok(each.weigh(|e| unit(random.at(e as u64)))?.into()),
            Kind::Ecl => {
                let n = i32::try_from(n).map_err(|_| Error::Spec {
                    spec: "ecl".into(),
                    what: format!("this rule counts in 32 signed bits, too few for {n} vertices; use uniform:1-{n}"),
                })?;
                let product = |e: usize| (src[e] as i32).wrapping_mul(dst[e] as i32);
                Ok(each.weigh(|e| (1 + product(e) % n).unsigned_abs())?.into())
            }
        }
    }
}

/// `LO-HI`, where either may be negative.
fn bounds(range: &str) -> Result<(i64, i64), String> {
    let wrong = || format!("{range:?} is not LO-HI, two whole numbers that 64 bits hold");
    // The first minus that is not a sign.
    let middle = range.char_indices().skip(1).find(|(_, c)| *c == '-').map(|(at, _)| at).ok_or_else(wrong)?;
    let low: i64 = range[..middle].parse().map_err(|_| wrong())?;
    let high: i64 = range[middle + 1..].parse().map_err(|_| wrong())?;
    if low > high { Err(format!("{low} is larger than {high}")) } else { Ok((low, high)) }
}

/// Every edge of a graph, in blocks.
struct Each<'a> {
    edges: usize,
    watch: &'a Watch,
}

impl Each<'_> {
    fn weigh<T: Copy + Default + Send>(&self, weight: impl Fn(usize) -> T + Sync) -> Result<Vec<T>> {
        let mut weights = vec![T::default(); self.edges];
        let meter = Meter::new(self.watch, "weigh", self.edges.div_ceil(BLOCK));
        weights.par_chunks_mut(BLOCK).enumerate().try_for_each(|(block, weights)| {
            for (i, w) in weights.iter_mut().enumerate() {
                *w = weight(block * BLOCK + i);
            }
            meter.step()
        })?;
        Ok(weights)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::weight::Weight;

    fn weights(rule: &str, n: usize, src: &[u32], dst: &[u32]) -> Weights<'static> {
        let graph = Graph::from_edges(n, src, dst, Weights::Unit).unwrap();
        rule.parse::<WeightRule>().unwrap().weights(&graph).unwrap()
    }

    #[test]
    fn uniform_takes_the_smallest_type_and_reaches_both_ends() {
        let ends = vec![0; 10_000];
        for (rule, type_name, low, high) in [
            ("uniform:1-3", "u32", 1, 3),
            ("uniform:-5-10", "i32", -5, 10),
            ("uniform:-10--5:9", "i32", -10, -5),
            ("uniform:7-7", "u32", 7, 7),
            ("uniform:4294967294-4294967295", "u32", 4294967294, 4294967295),
            ("uniform:-1-2147483648", "i64", -1, 2147483648),
            ("uniform:4294967295-4294967296", "i64", 4294967295, 4294967296),
            ("uniform:-9223372036854775808-9223372036854775807", "i64", i64::MIN, i64::MAX),
        ] {
            let weights = weights(rule, 1, &ends, &ends);
            assert_eq!(weights.type_name(), type_name, "{rule}");
            let values: Vec<i64> = (0..ends.len())
                .map(|e| match weights.at(e) {
                    Weight::Integer(w) => w,
                    Weight::Float(w) => panic!("{w}"),
                })
                .collect();
            assert!(values.iter().all(|w| (low..=high).contains(w)), "{rule}");
            if high.abs_diff(low) < 100 {
                assert!(values.contains(&low) && values.contains(&high), "{rule}");
            }
        }
    }

    #[test]
    fn floats_lie_in_the_unit_interval() {
        let ends = vec![0; 5_000];
        for (rule, type_name) in [("float", "f32"), ("float:3", "f32"), ("double", "f64"), ("double:3", "f64")] {
            let weights = weights(rule, 1, &ends, &ends);
            assert_eq!(weights.type_name(), type_name);
            let values: Vec<f64> = (0..ends.len()).map(|e| weights.at(e).to_string().parse().unwrap()).collect();
            assert!(values.iter().all(|w| (0.0..1.0).contains(w)));
            let mean = values.iter().sum::<f64>() / values.len() as f64;
            assert!((0.48..0.52).contains(&mean), "{mean}");
        }
    }

    #[test]
    fn ecl_is_what_c_computes() {
        // 99,999 squared is 9,999,800,001, which wraps to 1,409,865,409; 60,000 * 59,999 wraps to -695,027,296.
        let weights = weights("ecl", 100_000, &[0, 2, 99_999, 60_000], &[1, 3, 99_999, 59_999]);
        let Weights::U32(weights) = weights else { panic!("{weights:?}") };
        assert_eq!(*weights, [1, 7, 65_410, 27_295]);

        let graph = Graph::from_edges(1 << 31, &[0], &[1], Weights::Unit).unwrap();
        assert!("ecl".parse::<WeightRule>().unwrap().weights(&graph).is_err());
        let graph = Graph::from_edges(0, &[], &[], Weights::Unit).unwrap();
        assert_eq!("ecl".parse::<WeightRule>().unwrap().weights(&graph).unwrap().count(), Some(0));
    }

    #[test]
    fn seeds_default_to_one() {
        let ends = vec![0; 100];
        let values = |rule| format!("{:?}", weights(rule, 1, &ends, &ends));
        assert_eq!(values("uniform:1-1000"), values("uniform:1-1000:1"));
        assert_ne!(values("uniform:1-1000"), values("uniform:1-1000:2"));
        assert_eq!(values("unit"), "Unit");
    }

    #[test]
    fn wrong_rules_say_what_is_wrong() {
        for (rule, part) in [
            ("", "there are unit, uniform"),
            ("heavy", "there are unit, uniform"),
            ("unit:3", "takes nothing after it"),
            ("ecl:", "takes nothing after it"),
            ("uniform", "is not LO-HI"),
            ("uniform:", "is not LO-HI"),
            ("uniform:-", "is not LO-HI"),
            ("uniform:5", "is not LO-HI"),
            ("uniform:-5", "is not LO-HI"),
            ("uniform:é-5", "is not LO-HI"),
            ("uniform:1-2.5", "is not LO-HI"),
            ("uniform:1-99999999999999999999", "is not LO-HI"),
            ("uniform:3-2", "3 is larger than 2"),
            ("uniform:1-2:x", "the seed \"x\" is not"),
            ("float:-1", "the seed \"-1\" is not"),
        ] {
            let error = rule.parse::<WeightRule>().unwrap_err().to_string();
            assert!(error.starts_with(rule) && error.contains(part), "{rule}: {error}");
        }
    }
}
