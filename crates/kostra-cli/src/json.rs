//! JSON for programs.

use std::fmt::{self, Display};
use std::time::Duration;

use kostra::{Total, Weight};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use serde_json::value::RawValue;

use crate::failure::Failure;

/// One value in one line.
pub(crate) fn line(value: &impl Serialize) -> Result<String, Failure> {
    Ok(text(value)?)
}

/// The same for files.
pub(crate) fn text(value: &impl Serialize) -> kostra::Result<String> {
    let text = serde_json::to_string(value)
        .map_err(|error| kostra::Error::Io { file: "standard output".into(), source: error.into() })?;
    Ok(text + "\n")
}

/// Seconds with as many digits as the clock has: nanoseconds.
pub(crate) fn seconds(time: Duration) -> f64 {
    time.as_nanos() as f64 / 1e9
}

/// What is said of a forest.
#[derive(Serialize, Deserialize)]
pub(crate) struct ForestReport {
    pub(crate) edges: usize,
    pub(crate) trees: usize,
    pub(crate) weight: Number,
    pub(crate) digest: String,
}

impl ForestReport {
    pub(crate) fn new(edges: usize, trees: usize, weight: Total, digest: u64) -> Self {
        Self { edges, trees, weight: weight.into(), digest: format!("{digest:016x}") }
    }
}

/// What is said of a graph that was solved in parts. The time of solving is that of the merges, which lies within that of reading.
#[derive(Serialize)]
pub(crate) struct StreamReport {
    pub(crate) memory: Option<u64>,
    pub(crate) merges: usize,
}

/// A number, or the string `"inf"`, `"-inf"` or `"nan"` where JSON has no number for it.
pub(crate) enum Number {
    /// An exact integer.
    Integer(i128),
    /// A double.
    Double(f64),
    /// A single, written with the digits that a single needs.
    Single(f32),
}

impl From<Total> for Number {
    fn from(total: Total) -> Self {
        match total {
            Total::Integer(sum) => Number::Integer(sum),
            Total::Float(sum) => Number::Double(sum),
        }
    }
}

impl From<Weight> for Number {
    fn from(weight: Weight) -> Self {
        match weight {
            Weight::Integer(weight) => Number::Integer(weight.into()),
            Weight::Float(weight) => Number::Double(weight),
        }
    }
}

impl Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Number::Integer(value) => value.fmt(f),
            Number::Double(value) => value.fmt(f),
            Number::Single(value) => value.fmt(f),
        }
    }
}

impl Serialize for Number {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let value = match *self {
            Number::Integer(value) => return serializer.serialize_i128(value),
            Number::Double(value) if value.is_finite() => return serializer.serialize_f64(value),
            Number::Single(value) if value.is_finite() => return serializer.serialize_f32(value),
            Number::Double(value) => value,
            Number::Single(value) => value.into(),
        };
        serializer.serialize_str(match value {
            f64::INFINITY => "inf",
            f64::NEG_INFINITY => "-inf",
            _ => "nan",
        })
    }
}

impl<'de> Deserialize<'de> for Number {
    /// From the text of the JSON: an integer may be larger than any that serde_json reads exactly.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = Box::<RawValue>::deserialize(deserializer)?;
        let text = raw.get().trim_matches('"');
        let number = text.parse().map(Number::Integer).or_else(|_| text.parse().map(Number::Double));
        number.map_err(|_| de::Error::custom(format!("{text} is not a number")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_exact_and_infinities_are_strings() {
        let shown = |number: Number| serde_json::to_string(&number).expect("JSON");
        assert_eq!(shown(Number::Integer(i128::from(u64::MAX) * 4)), "73786976294838206460");
        assert_eq!(shown(Number::Double(0.1)), "0.1");
        assert_eq!(shown(Number::Single(0.1)), "0.1");
        assert_eq!(shown(Total::Float(f64::INFINITY).into()), "\"inf\"");
        assert_eq!(shown(Total::Float(f64::NEG_INFINITY).into()), "\"-inf\"");
        assert_eq!(shown(Total::Float(f64::NAN).into()), "\"nan\"");
        for text in ["73786976294838206460", "-3", "0.1", "\"inf\"", "\"nan\""] {
            assert_eq!(shown(serde_json::from_str(text).expect("a number")), text);
        }
        assert_eq!(seconds(Duration::new(3, 100)), 3.0000001);
    }
}
