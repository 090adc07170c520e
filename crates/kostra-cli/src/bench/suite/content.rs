//! A suite as it is written.

use std::collections::BTreeMap;
use std::fmt;
use std::num::NonZeroUsize;

use kostra::Total;
use serde::Deserialize;
use serde::de::{self, Deserializer, Visitor};
use toml::Spanned;

/// The whole file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Content {
    pub(super) description: String,
    #[serde(default = "five")]
    pub(super) repeats: NonZeroUsize,
    pub(super) seconds: Option<Spanned<f64>>,
    pub(super) algorithms: Vec<Spanned<String>>,
    pub(super) baseline: Option<Spanned<String>>,
    pub(super) baseline_threads: Option<Spanned<ThreadCount>>,
    #[serde(default = "automatic")]
    pub(super) devices: Vec<Spanned<String>>,
    #[serde(default = "all_threads")]
    pub(super) threads: Vec<ThreadCount>,
    #[serde(default)]
    pub(super) end_to_end: Vec<Spanned<String>>,
    #[serde(rename = "graph")]
    pub(super) graphs: Vec<GraphEntry>,
    #[serde(default, rename = "figure")]
    pub(super) figures: Vec<FigureEntry>,
}

/// A graph, or several that differ in a few numbers.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct GraphEntry {
    pub(super) name: Option<String>,
    pub(super) input: Spanned<String>,
    #[serde(default)]
    pub(super) groups: Vec<String>,
    pub(super) file: Option<String>,
    pub(super) weights: Option<Spanned<String>>,
    pub(super) weight: Option<Spanned<ForestWeight>>,
    pub(super) digest: Option<Spanned<Digest>>,
    pub(super) algorithms: Option<Vec<Spanned<String>>>,
    pub(super) threads: Option<Vec<ThreadCount>>,
    #[serde(default)]
    pub(super) statistics: Vec<Spanned<String>>,
    #[serde(default)]
    pub(super) paper: BTreeMap<String, f64>,
}

/// A table or a plot.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FigureEntry {
    pub(super) title: Spanned<String>,
    pub(super) note: Option<String>,
    pub(super) kind: Spanned<String>,
    #[serde(default)]
    pub(super) groups: Vec<Spanned<String>>,
    pub(super) x: Spanned<String>,
    #[serde(default)]
    pub(super) y: Vec<Spanned<String>>,
    #[serde(default)]
    pub(super) algorithms: Vec<Spanned<String>>,
    pub(super) log: Option<Spanned<String>>,
    pub(super) facts: Option<Spanned<Vec<Spanned<String>>>>,
    #[serde(default)]
    pub(super) paper: Vec<Spanned<String>>,
}

fn five() -> NonZeroUsize {
    NonZeroUsize::MIN.saturating_add(4)
}

fn automatic() -> Vec<Spanned<String>> {
    vec![Spanned::new(0..0, "auto".into())]
}

fn all_threads() -> Vec<ThreadCount> {
    vec![ThreadCount::All]
}

/// The digest of a forest: 16 hex digits.
#[derive(Deserialize)]
#[serde(try_from = "String")]
pub(super) struct Digest(pub(super) u64);

impl TryFrom<String> for Digest {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let digits = text.len() == 16 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        let value = u64::from_str_radix(&text, 16).ok().filter(|_| digits);
        value.map(Self).ok_or_else(|| format!("{text:?} is not a digest of 16 hex digits"))
    }
}

/// A number of threads; 0 and `"all"` are one per core.
#[derive(Clone, Copy)]
pub(super) enum ThreadCount {
    All,
    Exactly(NonZeroUsize),
}

impl ThreadCount {
    /// That many, on a machine of so many cores.
    pub(super) fn count(self, cores: usize) -> usize {
        match self {
            ThreadCount::All => cores,
            ThreadCount::Exactly(count) => count.get(),
        }
    }
}

impl From<usize> for ThreadCount {
    fn from(count: usize) -> Self {
        NonZeroUsize::new(count).map_or(ThreadCount::All, ThreadCount::Exactly)
    }
}

impl<'de> Deserialize<'de> for ThreadCount {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;

        impl Visitor<'_> for Reader {
            type Value = ThreadCount;

            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("a number of threads, or \"all\" for one per core")
            }

            fn visit_i64<E: de::Error>(self, count: i64) -> Result<ThreadCount, E> {
                let unexpected = de::Unexpected::Signed(count);
                usize::try_from(count).map(ThreadCount::from).map_err(|_| E::invalid_value(unexpected, &self))
            }

            fn visit_str<E: de::Error>(self, word: &str) -> Result<ThreadCount, E> {
                if word == "all" {
                    Ok(ThreadCount::All)
                } else {
                    Err(E::invalid_value(de::Unexpected::Str(word), &self))
                }
            }
        }

        deserializer.deserialize_any(Reader)
    }
}

/// The total weight of a forest.
pub(super) struct ForestWeight(pub(super) Total);

impl<'de> Deserialize<'de> for ForestWeight {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;

        impl Visitor<'_> for Reader {
            type Value = ForestWeight;

            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("the weight of the forest, a number")
            }

            fn visit_i64<E: de::Error>(self, weight: i64) -> Result<ForestWeight, E> {
                Ok(ForestWeight(Total::Integer(weight.into())))
            }

            fn visit_f64<E: de::Error>(self, weight: f64) -> Result<ForestWeight, E> {
                Ok(ForestWeight(Total::Float(weight)))
            }
        }

        deserializer.deserialize_any(Reader)
    }
}
