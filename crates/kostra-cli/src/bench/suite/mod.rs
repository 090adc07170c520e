//! What to measure and to show: a TOML file of graphs, contenders and figures, checked whole before anything runs.

mod contenders;
mod content;
mod expand;
mod figure;
mod figures;
mod files;
mod graphs;
mod place;
mod size;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use kostra::{Error, Result, Run, Total, WeightRule};
use serde::{Deserialize, Serialize};

use self::contenders::Field;
use self::content::Content;
pub(super) use self::figure::{Axis, Fact, Figure, Kind, Metric};
use self::place::Place;
use super::mst_bc::MstBc;

/// The suites inside the program: names and texts.
pub(super) const EMBEDDED: [(&str, &str); 10] = [
    ("quick", include_str!("../../../../../bench/suites/quick.toml")),
    ("cpu", include_str!("../../../../../bench/suites/cpu.toml")),
    ("threads", include_str!("../../../../../bench/suites/threads.toml")),
    ("weights", include_str!("../../../../../bench/suites/weights.toml")),
    ("gpu", include_str!("../../../../../bench/suites/gpu.toml")),
    ("vineet2009", include_str!("../../../../../bench/suites/vineet2009.toml")),
    ("nobari2012", include_str!("../../../../../bench/suites/nobari2012.toml")),
    ("sousa2015", include_str!("../../../../../bench/suites/sousa2015.toml")),
    ("vasconcellos2017", include_str!("../../../../../bench/suites/vasconcellos2017.toml")),
    ("fallin2023", include_str!("../../../../../bench/suites/fallin2023.toml")),
];

/// Graphs, who runs on each, and what is shown of them.
pub(super) struct Suite {
    /// As it was asked for.
    pub(super) name: String,
    /// The TOML.
    pub(super) text: String,
    pub(super) description: String,
    /// Timed runs of every contender on every graph.
    pub(super) repeats: usize,
    /// After so many seconds of timed runs a contender has no further turns on a graph.
    pub(super) seconds: Option<f64>,
    pub(super) baseline: Option<Baseline>,
    pub(super) subjects: Vec<Subject>,
    pub(super) figures: Vec<Figure>,
    /// What of the suite does not run here, and why.
    pub(super) notes: Vec<String>,
}

/// Who the others are compared with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Baseline {
    pub(super) algorithm: String,
    /// On this device; none for the contender's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) device: Option<String>,
    /// With so many threads; none for as many as the contender has.
    pub(super) threads: Option<usize>,
}

/// A graph to be solved by its contenders.
pub(super) struct Subject {
    pub(super) name: String,
    /// The name that all graphs of a sweep share, and how this one differs from the others.
    pub(super) family: String,
    pub(super) values: Vec<(String, String)>,
    /// What figures call it, with others.
    pub(super) groups: Vec<String>,
    /// The SPEC or file, as in the suite.
    pub(super) input: String,
    /// The SPEC, or where the file is.
    pub(super) path: PathBuf,
    /// The file that it is generated in place of.
    pub(super) instead_of: Option<String>,
    /// For a file without weights.
    pub(super) weights: Option<WeightRule>,
    pub(super) contenders: Vec<Contender>,
    /// What is counted on it beside the contenders.
    pub(super) statistics: Vec<MstBc>,
    /// Seconds in the paper, by the headings that figures name.
    pub(super) paper: BTreeMap<String, f64>,
    /// About.
    pub(super) expected_edges: u64,
    expected: Expected,
}

/// What the forest of a graph must be, each with the place in the suite that says so.
struct Expected {
    file: String,
    weight: Option<(u64, Total)>,
    digest: Option<(u64, u64)>,
}

/// An algorithm on a device with a number of threads.
pub(super) struct Contender {
    /// With its options, as in the suite.
    pub(super) algorithm: String,
    pub(super) run: Run,
    /// What it is called; GPUs whose times include transfers are told apart from the others.
    pub(super) device: String,
    pub(super) threads: usize,
    /// Whether it starts from the caller's arrays though it runs on a GPU.
    pub(super) end_to_end: bool,
    /// Whether a figure shows what it counts.
    pub(super) counts: bool,
}

/// What replaces parts of a suite. Kept with the results: those of another choice cannot be continued.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Changes {
    pub(super) device: Option<String>,
    pub(super) repeats: Option<usize>,
    /// The folder of the papers' own files.
    pub(super) graphs: Option<PathBuf>,
    /// Larger graphs are skipped.
    pub(super) limit_edges: Option<u64>,
}

impl Suite {
    /// The embedded suite of that name, or the one in that file.
    pub(super) fn load(name: &Path, changes: &Changes) -> Result<Self> {
        if let Some((name, text)) = EMBEDDED.into_iter().find(|(embedded, _)| name == Path::new(embedded)) {
            return Self::parse(name, text, Path::new(""), changes);
        }
        let shown = name.display().to_string();
        let text = std::fs::read_to_string(name).map_err(|source| match name.extension() {
            None if source.kind() == std::io::ErrorKind::NotFound => Error::File {
                file: shown.clone(),
                what: format!("no such suite; there are {}, or name a TOML file", EMBEDDED.map(|(n, _)| n).join(", ")),
            },
            _ => Error::Io { file: shown.clone(), source },
        })?;
        Self::parse(&shown, &text, name.parent().unwrap_or(Path::new("")), changes)
    }

    /// The suite in `text`. Files in it are relative to `folder`.
    fn parse(name: &str, text: &str, folder: &Path, changes: &Changes) -> Result<Self> {
        let place = Place { file: name, text };
        let content: Content = toml::from_str(text).map_err(|error| place.error(error.span(), error.message()))?;
        if let Some(seconds) = content.seconds.as_ref().filter(|seconds| !(1e-3..=1e6).contains(seconds.as_ref())) {
            return Err(place.error(Some(seconds.span()), "seconds is a number from 0.001 to 1000000"));
        }
        let mut field = Field::new(place, &content, changes)?;
        let figures = figures::figures(place, &content, changes.device.is_some())?;
        let mut subjects = graphs::subjects(&mut field, folder)?;
        for subject in &mut subjects {
            let counting: Vec<&Figure> =
                figures.iter().filter(|figure| figure.counts() && figure.group(&subject.groups).is_some()).collect();
            for contender in &mut subject.contenders {
                let Contender { algorithm, device, threads, .. } = &contender;
                contender.counts = counting.iter().any(|figure| figure.shows(algorithm, device, *threads));
            }
        }
        let baseline = field.baseline(&content)?;
        let notes = field.notes();
        if subjects.is_empty() {
            let mut what = "nothing to measure: it takes graphs, and algorithms that run here".to_owned();
            notes.iter().for_each(|note| what += &format!("; {note}"));
            return Err(place.error(None, &what));
        }
        Ok(Self {
            name: name.into(),
            text: text.into(),
            description: content.description,
            repeats: changes.repeats.unwrap_or(content.repeats.get()),
            seconds: content.seconds.map(toml::Spanned::into_inner),
            baseline,
            subjects,
            figures,
            notes,
        })
    }
}

/// Its first key says what an embedded suite is for.
pub(super) fn description(text: &str) -> String {
    toml::from_str::<Content>(text).map(|content| content.description).unwrap_or_default()
}

impl Subject {
    /// Fails if the suite expects another forest.
    pub(super) fn check(&self, forest: &kostra::Forest) -> Result<()> {
        let Expected { file, weight, digest } = &self.expected;
        let fail = |line, what| Err(Error::Line { file: file.clone(), line, what: format!("{}: {what}", self.name) });
        match (*weight, *digest) {
            (Some((line, weight)), _) if weight != forest.weight() => {
                fail(line, format!("the forest weighs {}, not {weight}", forest.weight()))
            }
            (_, Some((line, digest))) if digest != forest.digest() => {
                fail(line, format!("the digest of the forest is {:016x}, not {digest:016x}", forest.digest()))
            }
            _ => Ok(()),
        }
    }
}

impl fmt::Display for Contender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let noun = if self.threads == 1 { "thread" } else { "threads" };
        write!(f, "{} on {}, {} {noun}", self.algorithm, self.device, self.threads)
    }
}
