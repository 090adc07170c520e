//! The text of a SPEC: `kind:key=value,...`, checked before anything is drawn.

use std::ops::RangeInclusive;
use std::str::FromStr;

use super::weights::WeightRule;
use crate::buffer::check_room;
use crate::error::{Error, Result};

/// The kinds, each with its own keys.
pub(super) const KINDS: [(&str, &[&str]); 12] = [
    ("rmat", &["scale", "degree", "a", "b", "c"]),
    ("kronecker", &["scale", "degree"]),
    ("er", &["n", "degree"]),
    ("regular", &["n", "degree"]),
    ("ssca2", &["scale", "max-clique"]),
    ("ws", &["n", "degree", "p"]),
    ("grid", &["rows", "cols"]),
    ("road", &["n", "degree"]),
    ("delaunay", &["n"]),
    ("dense", &["n", "density"]),
    ("cliques", &["n", "degree"]),
    ("web", &["n", "degree"]),
];

/// The keys that every kind takes.
const COMMON_KEYS: [&str; 3] = ["seed", "weights", "multi"];

/// Vertices and edges are counted in 32 bits.
const LIMIT: u64 = 1 << 32;

/// A SPEC taken apart. Its numbers are read, and refused, by the model that knows their range.
pub(super) struct Spec<'a> {
    text: &'a str,
    pub(super) kind: &'static str,
    pairs: Vec<(&'a str, &'a str)>,
    pub(super) seed: u64,
    pub(super) multi: bool,
    pub(super) weights: Option<WeightRule>,
}

impl<'a> Spec<'a> {
    pub(super) fn new(text: &'a str) -> Result<Self> {
        let fail = |what: String| Error::Spec { spec: text.into(), what };
        let (kind, values) = text.split_once(':').unwrap_or((text, ""));
        let Some(&(kind, keys)) = KINDS.iter().find(|(name, _)| *name == kind) else {
            let kinds = KINDS.map(|(name, _)| name).join(", ");
            return Err(fail(format!("no kind of graph is called {kind:?}; there are {kinds}")));
        };
        let mut pairs: Vec<(&str, &str)> = Vec::new();
        for pair in values.split(',').filter(|pair| !pair.is_empty()) {
            let (key, value) = pair.split_once('=').ok_or_else(|| fail(format!("{pair:?} is not key=value")))?;
            if !keys.contains(&key) && !COMMON_KEYS.contains(&key) {
                let known = [keys, &COMMON_KEYS].concat().join(", ");
                return Err(fail(format!("{kind} has no key {key:?}; it takes {known}")));
            }
            if pairs.iter().any(|(earlier, _)| *earlier == key) {
                return Err(fail(format!("{key} is given twice")));
            }
            pairs.push((key, value));
        }
        let mut spec = Self { text, kind, pairs, seed: 1, multi: false, weights: None };
        spec.seed = spec.value("seed", "a whole number below 2^64")?.unwrap_or(1);
        spec.multi = spec.value("multi", "true or false")?.unwrap_or(false);
        spec.weights = match spec.given("weights") {
            Some(rule) => Some(WeightRule::parse(rule).map_err(|what| fail(format!("weights={rule}: {what}")))?),
            None => None,
        };
        Ok(spec)
    }

    /// This SPEC is wrong.
    pub(super) fn fail(&self, what: impl Into<String>) -> Error {
        Error::Spec { spec: self.text.into(), what: what.into() }
    }

    fn given(&self, key: &str) -> Option<&'a str> {
        self.pairs.iter().find(|(name, _)| *name == key).map(|(_, value)| *value)
    }

    fn value<T: FromStr>(&self, key: &str, expected: &str) -> Result<Option<T>> {
        let Some(value) = self.given(key) else { return Ok(None) };
        value.parse().map(Some).map_err(|_| self.fail(format!("{key}={value} is not {expected}")))
    }

    /// A whole number in `range`; `default` when it is not given, an error when there is none.
    pub(super) fn whole(&self, key: &str, range: RangeInclusive<u64>, default: Option<u64>) -> Result<u64> {
        let expected = format!("a whole number from {} to {}", range.start(), range.end());
        let value = self.value::<u64>(key, &expected)?.or(default);
        let value = value.ok_or_else(|| self.fail(format!("{} needs {key}=..., {expected}", self.kind)))?;
        if range.contains(&value) { Ok(value) } else { Err(self.fail(format!("{key}={value} is not {expected}"))) }
    }

    /// A number that `holds`; `expected` says so in words.
    pub(super) fn real(&self, key: &str, default: f64, expected: &str, holds: impl Fn(f64) -> bool) -> Result<f64> {
        let value = self.value::<f64>(key, expected)?.unwrap_or(default);
        if holds(value) { Ok(value) } else { Err(self.fail(format!("{key}={value} is not {expected}"))) }
    }

    /// The number of vertices, `n`.
    pub(super) fn vertices(&self) -> Result<u32> {
        Ok(self.whole("n", 0..=LIMIT - 1, None)? as u32)
    }

    /// The power of two that is the number of vertices, `scale`.
    pub(super) fn scale(&self) -> Result<u32> {
        Ok(self.whole("scale", 0..=31, None)? as u32)
    }

    /// The average number of neighbours to draw, `degree`.
    pub(super) fn degree(&self, default: f64) -> Result<f64> {
        self.real("degree", default, "a number from 0 up", |degree| degree >= 0.0 && degree.is_finite())
    }

    /// A probability.
    pub(super) fn probability(&self, key: &str, default: f64) -> Result<f64> {
        self.real(key, default, "a probability from 0 to 1", |p| (0.0..=1.0).contains(&p))
    }

    /// `count` as a number of edges that 32-bit ids can name, rounded, when there is memory for it: drawing, sorting
    /// and splitting them takes 20 bytes an edge at most.
    pub(super) fn edges(&self, count: f64) -> Result<u64> {
        if count + 0.5 >= LIMIT as f64 {
            return Err(self.fail(format!(
                "{count:.0} edges are too many to hold in memory (fewer than 2^32 are possible); generate the graph in \
                 parts, with a seed each: the forest of the union of the parts' forests is the forest of the whole"
            )));
        }
        let count = (count + 0.5) as u64;
        self.room(count.saturating_mul(20))?;
        Ok(count)
    }

    /// Fails when the system will not even promise so much memory.
    pub(super) fn room(&self, bytes: u64) -> Result<()> {
        check_room(bytes).map_err(|error| self.fail(error.to_string()))
    }
}
