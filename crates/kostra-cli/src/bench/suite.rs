//! What to measure: a TOML file of graphs and contenders, checked whole before anything runs.

use std::fmt;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use kostra::generate::generate_watched;
use kostra::{Device, Error, Result, Run, Total, Watch};
use serde::de::{self, Deserializer, Visitor};
use serde::{Deserialize, Serialize};
use toml::Spanned;

use crate::input;

/// The suites inside the program: names and texts.
pub(super) const EMBEDDED: [(&str, &str); 5] = [
    ("quick", include_str!("../../../../bench/suites/quick.toml")),
    ("cpu", include_str!("../../../../bench/suites/cpu.toml")),
    ("threads", include_str!("../../../../bench/suites/threads.toml")),
    ("weights", include_str!("../../../../bench/suites/weights.toml")),
    ("gpu", include_str!("../../../../bench/suites/gpu.toml")),
];

/// Graphs, and who runs on each.
pub(super) struct Suite {
    /// As it was asked for.
    pub(super) name: String,
    /// The TOML.
    pub(super) text: String,
    pub(super) description: String,
    /// Timed runs of every contender on every graph.
    pub(super) repeats: usize,
    pub(super) baseline: Option<Baseline>,
    pub(super) subjects: Vec<Subject>,
    /// What of the suite does not run here, and why.
    pub(super) notes: Vec<String>,
}

/// Who the others are compared with: this algorithm on the same device.
#[derive(Serialize)]
pub(super) struct Baseline {
    pub(super) algorithm: String,
    /// With so many threads; none for as many as the contender has.
    pub(super) threads: Option<usize>,
}

/// A graph to be solved by its contenders.
pub(super) struct Subject {
    pub(super) name: String,
    /// The SPEC or file, as in the suite.
    pub(super) input: String,
    /// The SPEC, or where the file is.
    pub(super) path: PathBuf,
    pub(super) contenders: Vec<Contender>,
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
}

/// What replaces parts of a suite.
pub(super) struct Changes<'a> {
    pub(super) device: Option<&'a str>,
    pub(super) repeats: Option<usize>,
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
        let devices = match changes.device {
            Some(device) => vec![(device.to_owned(), device.parse()?)],
            None => content.devices.iter().map(|device| place.parse(device)).collect::<Result<_>>()?,
        };
        let cores = rayon::current_num_threads();
        let (threads, beyond) = thread_counts(&content.threads, cores);
        let field = Field {
            place,
            folder,
            devices: &devices,
            threads: &threads,
            has_gpu: kostra::cuda::devices().is_ok(),
            content: &content,
        };
        let mut subjects: Vec<Subject> = Vec::new();
        for graph in &content.graphs {
            let subject = field.subject(graph)?;
            if subjects.iter().any(|earlier| earlier.name == subject.name) {
                let what = format!("two graphs are called {:?}; give each a name of its own", subject.name);
                return Err(place.error(Some(graph.input.span()), &what));
            }
            subjects.push(subject);
        }
        if subjects.iter().all(|subject| subject.contenders.is_empty()) {
            let what = format!("nothing to measure: it takes graphs, algorithms, and at most {cores} threads here");
            return Err(place.error(None, &what));
        }
        let note = || {
            let counts = beyond.iter().map(usize::to_string).collect::<Vec<_>>().join(", ");
            format!("skipped {counts} threads: there are {cores} here")
        };
        Ok(Self {
            name: name.into(),
            text: text.into(),
            description: content.description,
            repeats: changes.repeats.unwrap_or(content.repeats.get()),
            baseline: content.baseline.map(|baseline| Baseline {
                algorithm: baseline.into_inner().text,
                threads: content.baseline_threads.map(|threads| threads.count(cores)),
            }),
            subjects,
            notes: if beyond.is_empty() { Vec::new() } else { vec![note()] },
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

/// The text of a suite, to say where in it something is wrong.
#[derive(Clone, Copy)]
struct Place<'a> {
    file: &'a str,
    text: &'a str,
}

impl Place<'_> {
    fn line(&self, span: std::ops::Range<usize>) -> u64 {
        let before = self.text.as_bytes().iter().take(span.start);
        before.filter(|&&byte| byte == b'\n').count() as u64 + 1
    }

    fn error(&self, span: Option<std::ops::Range<usize>>, what: &str) -> Error {
        let (file, what) = (self.file.to_owned(), what.replace('\n', "; "));
        match span {
            Some(span) => Error::Line { file, line: self.line(span), what },
            None => Error::File { file, what },
        }
    }

    fn parse<T: std::str::FromStr<Err = Error>>(&self, text: &Spanned<String>) -> Result<(String, T)> {
        let value = text.as_ref().parse().map_err(|error: Error| self.error(Some(text.span()), &error.to_string()))?;
        Ok((text.as_ref().clone(), value))
    }
}

/// What every graph of a suite shares.
struct Field<'a> {
    place: Place<'a>,
    folder: &'a Path,
    devices: &'a [(String, Device)],
    threads: &'a [usize],
    has_gpu: bool,
    content: &'a Content,
}

impl Field<'_> {
    fn subject(&self, graph: &GraphEntry) -> Result<Subject> {
        let Self { place, .. } = self;
        let path = self.locate(&graph.input)?;
        let input = graph.input.as_ref();
        let algorithms = graph.algorithms.as_ref().unwrap_or(&self.content.algorithms);
        if let Some(baseline) = &self.content.baseline
            && !algorithms.iter().any(|algorithm| algorithm.text == baseline.as_ref().text)
        {
            let what = format!("the baseline {:?} is not among the algorithms", baseline.as_ref().text);
            return Err(place.error(Some(baseline.span()), &what));
        }
        Ok(Subject {
            name: graph.name.clone().unwrap_or_else(|| short_name(input, &path)),
            input: input.clone(),
            path,
            contenders: self.contenders(algorithms),
            expected: Expected {
                file: place.file.into(),
                weight: graph.weight.as_ref().map(|weight| (place.line(weight.span()), weight.as_ref().0)),
                digest: graph.digest.as_ref().map(|digest| (place.line(digest.span()), digest.as_ref().0)),
            },
        })
    }

    /// The file, beside the suite if it is relative; or the SPEC. That it can be had is found out now, not after hours.
    fn locate(&self, input: &Spanned<String>) -> Result<PathBuf> {
        let file = self.folder.join(input.as_ref());
        if file.exists() {
            return Ok(file);
        }
        let fail = |what: String| Err(self.place.error(Some(input.span()), &what));
        let Some(spec) = input::spec(Path::new(input.as_ref())) else {
            return fail(format!("{}: no such file, and no SPEC such as rmat:scale=20", file.display()));
        };
        // Models read their numbers first and then look whether to stop, so this draws next to nothing.
        let stopped = Watch::new().stop_when(Arc::new(AtomicBool::new(true)));
        match generate_watched(spec, &stopped) {
            Ok(_) | Err(Error::Cancelled) => Ok(spec.into()),
            Err(error) => fail(error.to_string()),
        }
    }

    /// Every algorithm on every device with every number of threads; who is named twice runs once.
    fn contenders(&self, algorithms: &[AlgorithmChoice]) -> Vec<Contender> {
        let mut contenders: Vec<Contender> = Vec::new();
        for algorithm in algorithms {
            for (name, device) in self.devices {
                let is_gpu = matches!(device, Device::Cuda(_));
                // A GPU needs no threads but those that copy.
                let threads = if is_gpu { &self.threads[self.threads.len().saturating_sub(1)..] } else { self.threads };
                for (&threads, end_to_end) in threads.iter().flat_map(|threads| [(threads, false), (threads, true)]) {
                    if end_to_end && !(is_gpu && self.content.end_to_end.contains(&algorithm.text)) {
                        continue;
                    }
                    let device_name = match device {
                        Device::Cpu => "cpu".into(),
                        Device::Auto if !self.has_gpu => "cpu".into(),
                        _ if end_to_end => format!("{name} end-to-end"),
                        _ => name.clone(),
                    };
                    let is_same = |c: &Contender| {
                        c.algorithm == algorithm.text && c.device == device_name && c.threads == threads
                    };
                    if !contenders.iter().any(is_same) {
                        contenders.push(Contender {
                            algorithm: algorithm.text.clone(),
                            run: algorithm.run.clone().on(*device),
                            device: device_name,
                            threads,
                            end_to_end,
                        });
                    }
                }
            }
        }
        contenders
    }
}

/// The kind of a SPEC, or the name of a file.
fn short_name(input: &str, path: &Path) -> String {
    match input::spec(path) {
        Some(spec) => spec.split(':').next().unwrap_or(spec).into(),
        None => path.file_name().map_or_else(|| input.into(), |name| name.to_string_lossy().into_owned()),
    }
}

/// The numbers of threads that there are cores for, ascending, and those that there are not.
fn thread_counts(wanted: &[ThreadCount], cores: usize) -> (Vec<usize>, Vec<usize>) {
    let mut counts: Vec<usize> = wanted.iter().map(|threads| threads.count(cores)).collect();
    counts.sort_unstable();
    counts.dedup();
    counts.into_iter().partition(|&count| count <= cores)
}

/// A suite as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Content {
    description: String,
    #[serde(default = "five")]
    repeats: NonZeroUsize,
    algorithms: Vec<AlgorithmChoice>,
    baseline: Option<Spanned<AlgorithmChoice>>,
    baseline_threads: Option<ThreadCount>,
    #[serde(default = "automatic")]
    devices: Vec<Spanned<String>>,
    #[serde(default = "all_threads")]
    threads: Vec<ThreadCount>,
    #[serde(default)]
    end_to_end: Vec<String>,
    #[serde(rename = "graph")]
    graphs: Vec<GraphEntry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct GraphEntry {
    name: Option<String>,
    input: Spanned<String>,
    weight: Option<Spanned<ForestWeight>>,
    digest: Option<Spanned<Digest>>,
    algorithms: Option<Vec<AlgorithmChoice>>,
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

/// An algorithm with its options, as `--algorithm` takes it.
#[derive(Deserialize)]
#[serde(try_from = "String")]
struct AlgorithmChoice {
    text: String,
    run: Run,
}

impl TryFrom<String> for AlgorithmChoice {
    type Error = Error;

    fn try_from(text: String) -> Result<Self> {
        Ok(Self { run: Run::new(&text)?, text })
    }
}

/// The digest of a forest: 16 hex digits.
#[derive(Deserialize)]
#[serde(try_from = "String")]
struct Digest(u64);

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
enum ThreadCount {
    All,
    Exactly(NonZeroUsize),
}

impl ThreadCount {
    fn count(self, cores: usize) -> usize {
        match self {
            ThreadCount::All => cores,
            ThreadCount::Exactly(count) => count.get(),
        }
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
                let count = usize::try_from(count).map_err(|_| E::invalid_value(unexpected, &self))?;
                Ok(NonZeroUsize::new(count).map_or(ThreadCount::All, ThreadCount::Exactly))
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
struct ForestWeight(Total);

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

#[cfg(test)]
mod tests {
    use super::*;

    const AS_IT_IS: Changes = Changes { device: None, repeats: None };

    fn parse(text: &str) -> Result<Suite> {
        Suite::parse("s.toml", text, Path::new(""), &AS_IT_IS)
    }

    #[test]
    fn every_embedded_suite_is_sound_and_says_what_it_is_for() {
        for (name, text) in EMBEDDED {
            // On the CPU: not every machine has the devices of every suite.
            let changes = Changes { device: Some("cpu"), repeats: None };
            let suite = Suite::parse(name, text, Path::new(""), &changes);
            let suite = suite.unwrap_or_else(|error| panic!("{name}: {error}"));
            assert!(!description(text).is_empty() && suite.baseline.is_some(), "{name}");
        }
    }

    #[test]
    fn contenders_are_a_product_without_repeats() {
        let text = "description = ''\nalgorithms = ['prim', 'kruskal', 'prim']\ndevices = ['auto', 'cpu']\n\
                    threads = [1, 'all', 0, 9999]\ngraph = [{ input = 'grid:rows=2,cols=2' }]";
        let suite = parse(text).expect("a suite");
        let cores = rayon::current_num_threads();
        let shown: Vec<String> = suite.subjects[0].contenders.iter().map(Contender::to_string).collect();
        assert_eq!(shown.len(), if cores == 1 { 2 } else { 4 });
        assert_eq!(shown[0], "prim on cpu, 1 thread");
        assert_eq!(suite.subjects[0].name, "grid");
        assert_eq!(suite.notes, [format!("skipped 9999 threads: there are {cores} here")]);
    }

    #[test]
    fn a_graph_may_have_algorithms_of_its_own() {
        let text = "description = ''\nrepeats = 2\nalgorithms = ['prim']\nthreads = [1]\n\
                    graph = [{ input = 'grid:rows=2,cols=2', algorithms = ['kruskal', 'boruvka'] }]";
        let suite = parse(text).expect("a suite");
        let names: Vec<&str> = suite.subjects[0].contenders.iter().map(|c| c.algorithm.as_str()).collect();
        assert_eq!((suite.repeats, names), (2, vec!["kruskal", "boruvka"]));
        let changes = Changes { device: Some("cpu"), repeats: Some(7) };
        let changed = Suite::parse("s.toml", text, Path::new(""), &changes).expect("a suite");
        assert_eq!(changed.repeats, 7);
    }

    #[test]
    fn errors_name_the_line() {
        let graph = "[[graph]]\ninput = 'grid:rows=2,cols=2'\n";
        let message = |head: &str, tail: &str| {
            let text = format!("description = ''\n{head}\n{graph}{tail}\n");
            parse(&text).err().map_or_else(|| panic!("{text}"), |error| error.to_string())
        };
        let kruskal = "algorithms = ['kruskal']";
        for (head, tail, expected) in [
            ("algorithms = ['kruskal', 'nonsense']", "", "s.toml:2: algorithm \"nonsense\": no such algorithm"),
            ("algorithms = ['kruskal:x=1']", "", "s.toml:2: algorithm \"kruskal:x=1\": kruskal takes no options"),
            ("algorithms = kruskal", "", "s.toml:2: "),
            ("algorithms = []", "", "s.toml: nothing to measure"),
            ("algorithms = ['kruskal']\nbaseline = 'prim'", "", "s.toml:3: the baseline \"prim\" is not among"),
            ("algorithms = ['kruskal']\nthreads = [1, 'two']", "", "s.toml:3: invalid value: string \"two\", expected"),
            ("algorithms = ['kruskal']\nrepeats = 0", "", "s.toml:3: "),
            ("algorithms = ['kruskal']\ndevices = ['abacus']", "", "s.toml:3: device \"abacus\": no such device"),
            ("algorithms = ['kruskal']\ncolour = 'red'", "", "s.toml:3: unknown field `colour`"),
            (kruskal, "digest = 'x'", "s.toml:5: \"x\" is not a digest"),
            (kruskal, "weight = 'x'", "s.toml:5: invalid type: string \"x\", expected the weight of the forest"),
            (kruskal, "[[graph]]\ninput = 'grid:rows=x,cols=2'", "s.toml:6: grid:rows=x,cols=2: rows=x is not"),
            (kruskal, "[[graph]]\ninput = 'grid:rows=3,cols=2'", "s.toml:6: two graphs are called \"grid\""),
            (kruskal, "[[graph]]\ninput = 'no.gr'", "s.toml:6: no.gr: no such file"),
        ] {
            let message = message(head, tail);
            assert!(message.starts_with(expected) && !message.contains('\n'), "{message}\nnot {expected}");
        }
    }

    #[test]
    fn another_forest_than_expected_is_an_error() {
        let forest = kostra::generate("grid:rows=2,cols=2,weights=unit")
            .and_then(|graph| kostra::minimum_spanning_forest(&graph));
        let forest = forest.expect("a forest");
        let check = |key: &str| {
            let text = format!(
                "description = ''\nalgorithms = ['kruskal']\n[[graph]]\ninput = 'grid:rows=2,cols=2,weights=unit'\n{key}\n"
            );
            parse(&text).expect("a suite").subjects[0].check(&forest).map_err(|error| error.to_string())
        };
        assert_eq!(check("weight = 3"), Ok(()));
        assert_eq!(check("weight = 4"), Err("s.toml:5: grid: the forest weighs 3, not 4".into()));
        assert_eq!(check(&format!("digest = '{:016x}'", forest.digest())), Ok(()));
        assert!(check("digest = '0000000000000000'").is_err_and(|text| text.ends_with("not 0000000000000000")));
    }
}
