//! How to solve: algorithm, options, device, and who watches.

use std::fmt::Display;
use std::str::FromStr;

use crate::error::{Error, Result};
use crate::watch::Watch;

/// The algorithms, by the names that people type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Algorithm {
    /// The fastest for this graph and machine.
    Auto,
    /// Our own: Borůvka's rounds on the lightest edges, then on what they leave.
    Kostra,
    /// Sort all edges, join trees in that order.
    Kruskal,
    /// Grow one tree at a time from a heap.
    Prim,
    /// Every tree takes its smallest edge, in rounds.
    Boruvka,
    /// Kruskal by quicksort, which drops edges inside a tree before it sorts them (Osipov, Sanders and Singler, 2009).
    FilterKruskal,
    /// Vineet and others, 2009.
    Vineet,
    /// Sousa, Mariano and Proença (Universidade do Minho), 2015.
    Uminho,
    /// Vasconcellos and others, 2017.
    Strut,
    /// Nobari and others, 2012: partial Prim that searches a row for its smallest edge.
    PmaMin,
    /// Nobari and others, 2012: partial Prim on sorted rows.
    PmaSort,
    /// Nobari and others, 2012: partial Prim that searches in the first round and sorts later.
    PmaHybrid,
    /// Fallin and others (ECL-MST), 2023.
    Ecl,
}

impl Algorithm {
    /// Every algorithm, in the order in which they are listed.
    pub const ALL: [Algorithm; 13] = [
        Algorithm::Auto,
        Algorithm::Kostra,
        Algorithm::Kruskal,
        Algorithm::Prim,
        Algorithm::Boruvka,
        Algorithm::FilterKruskal,
        Algorithm::Vineet,
        Algorithm::Uminho,
        Algorithm::Strut,
        Algorithm::PmaMin,
        Algorithm::PmaSort,
        Algorithm::PmaHybrid,
        Algorithm::Ecl,
    ];

    /// The name, as in `--algorithm NAME`.
    pub fn name(self) -> &'static str {
        match self {
            Algorithm::Auto => "auto",
            Algorithm::Kostra => "kostra",
            Algorithm::Kruskal => "kruskal",
            Algorithm::Prim => "prim",
            Algorithm::Boruvka => "boruvka",
            Algorithm::FilterKruskal => "filter-kruskal",
            Algorithm::Vineet => "vineet",
            Algorithm::Uminho => "uminho",
            Algorithm::Strut => "strut",
            Algorithm::PmaMin => "pma-min",
            Algorithm::PmaSort => "pma-sort",
            Algorithm::PmaHybrid => "pma-hybrid",
            Algorithm::Ecl => "ecl",
        }
    }

    /// The method, in a line.
    pub fn method(self) -> &'static str {
        match self {
            Algorithm::Auto => "the fastest for this graph and machine",
            Algorithm::Kostra => "our own: Borůvka's rounds on the lightest edges, then on what they leave",
            Algorithm::Kruskal => "sort all edges in parallel, join trees in that order",
            Algorithm::Prim => "grow one tree at a time from a 4-ary heap",
            Algorithm::Boruvka => "every tree takes its smallest edge, in rounds, on one thread",
            Algorithm::FilterKruskal => "quicksort that drops edges inside a tree before it sorts them (Osipov 2009)",
            Algorithm::Vineet => "recursive Borůvka on segmented scans and splits (Vineet 2009)",
            Algorithm::Uminho => "Borůvka that builds the next graph's adjacency lists directly (Sousa 2015)",
            Algorithm::Strut => "bipartite view, struts and zero-difference vertices (Vasconcellos 2017)",
            Algorithm::PmaMin => "partial Prim, searching rows for the smallest edge (Nobari 2012)",
            Algorithm::PmaSort => "partial Prim on sorted rows (Nobari 2012)",
            Algorithm::PmaHybrid => "partial Prim, searching in the first round, sorting later (Nobari 2012)",
            Algorithm::Ecl => "deterministic reservations over a worklist of edges, filtered (ECL-MST, Fallin 2023)",
        }
    }

    /// The options it takes after its name, as `key=value`.
    pub fn options(self) -> &'static [&'static str] {
        match self {
            Algorithm::Strut => &["keep-parallel", "memory"],
            Algorithm::PmaMin | Algorithm::PmaSort | Algorithm::PmaHybrid => &["gamma", "keep-parallel", "memory"],
            Algorithm::Ecl => &["seed", "factor", "without", "memory"],
            Algorithm::Kostra => &["hold", "memory"],
            Algorithm::Vineet | Algorithm::Uminho => &["memory"],
            _ => &[],
        }
    }

    /// Whether it runs on NVIDIA GPUs, too.
    pub fn runs_on_cuda(self) -> bool {
        use Algorithm::{Boruvka, FilterKruskal, Kruskal, Prim};
        !matches!(self, Kruskal | Prim | Boruvka | FilterKruskal)
    }

    /// Whether it starts from adjacency lists on the CPU; [`Graph::csr`](crate::Graph::csr) builds them ahead of the solve.
    pub fn starts_from_csr(self) -> bool {
        use Algorithm::{PmaHybrid, PmaMin, PmaSort, Prim, Strut, Uminho, Vineet};
        matches!(self, Prim | Vineet | Uminho | Strut | PmaMin | PmaSort | PmaHybrid)
    }
}

impl FromStr for Algorithm {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        Self::ALL.into_iter().find(|a| a.name() == name).ok_or_else(|| Error::Algorithm {
            name: name.into(),
            what: format!("no such algorithm; there are {}", Self::ALL.map(Self::name).join(", ")),
        })
    }
}

/// Where to solve.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Device {
    /// The fastest device for this graph.
    #[default]
    Auto,
    /// All threads of the caller's rayon pool.
    Cpu,
    /// The NVIDIA GPU with that number; [`cuda`](Self::cuda) also checks that there is one.
    Cuda(u32),
}

impl Device {
    /// The NVIDIA GPU with that number. An error when there is none, or when the crate was built without its feature
    /// `cuda`.
    pub fn cuda(number: u32) -> Result<Self> {
        #[cfg(feature = "cuda")]
        return crate::cuda::check(number).map(|()| Device::Cuda(number));
        #[cfg(not(feature = "cuda"))]
        return Err(no_engine(number));
    }
}

/// There is no CUDA in this build.
#[cfg(not(feature = "cuda"))]
pub(crate) fn no_engine(number: u32) -> Error {
    Error::Device {
        name: format!("cuda:{number}"),
        what: "this build has no CUDA engine; build with the feature cuda, or use auto or cpu".into(),
    }
}

impl FromStr for Device {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        match name {
            "auto" => Ok(Device::Auto),
            "cpu" => Ok(Device::Cpu),
            "cuda" => Device::cuda(0),
            _ => match name.strip_prefix("cuda:").and_then(|number| number.parse().ok()) {
                Some(number) => Device::cuda(number),
                None => Err(Error::Device {
                    name: name.into(),
                    what: "no such device; use auto, cpu, cuda or cuda:N".into(),
                }),
            },
        }
    }
}

impl Display for Device {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Device::Auto => f.write_str("auto"),
            Device::Cpu => f.write_str("cpu"),
            Device::Cuda(number) => write!(f, "cuda:{number}"),
        }
    }
}

/// How to solve a graph.
///
/// ```
/// use kostra::Run;
///
/// let run = Run::new("kruskal")?.maximum(true).with_stats(true);
/// let forest = kostra::solve(&kostra::generate("grid:rows=3,cols=3")?, &run)?;
/// assert_eq!(forest.len(), 8);
/// # Ok::<(), kostra::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Run {
    algorithm: Algorithm,
    options: Vec<(String, String)>,
    device: Device,
    maximum: bool,
    stats: bool,
    watch: Watch,
}

impl Run {
    /// Solve with this algorithm: `NAME` or `NAME:key=value,...`.
    pub fn new(algorithm: &str) -> Result<Self> {
        let fail = |what: String| Error::Algorithm { name: algorithm.into(), what };
        let (name, pairs) = algorithm.split_once(':').unwrap_or((algorithm, ""));
        let algorithm = name.parse::<Algorithm>()?;
        let mut options = Vec::new();
        for pair in pairs.split(',').filter(|pair| !pair.is_empty()) {
            let (key, value) = pair.split_once('=').ok_or_else(|| fail(format!("{pair:?} is not key=value")))?;
            if !algorithm.options().contains(&key) {
                return Err(fail(match algorithm.options() {
                    [] => format!("{name} takes no options"),
                    known => format!("no option {key:?}; {name} takes {}", known.join(", ")),
                }));
            }
            options.push((key.into(), value.into()));
        }
        Ok(Self { algorithm, options, ..Self::default() })
    }

    /// Solve on this device.
    pub fn on(mut self, device: Device) -> Self {
        self.device = device;
        self
    }

    /// Find the maximum spanning forest instead; ties still go to the smaller edge id.
    pub fn maximum(mut self, maximum: bool) -> Self {
        self.maximum = maximum;
        self
    }

    /// Count what the algorithm does and return it with the forest.
    pub fn with_stats(mut self, stats: bool) -> Self {
        self.stats = stats;
        self
    }

    /// Report progress to, and be stopped by, this watch.
    pub fn watched_by(mut self, watch: Watch) -> Self {
        self.watch = watch;
        self
    }

    /// The algorithm that was asked for.
    pub fn algorithm(&self) -> Algorithm {
        self.algorithm
    }

    /// The device that was asked for.
    pub fn device(&self) -> Device {
        self.device
    }

    /// Whether the maximum spanning forest is wanted.
    pub fn is_maximum(&self) -> bool {
        self.maximum
    }

    /// Who watches.
    pub fn watch(&self) -> &Watch {
        &self.watch
    }

    /// The value of an option, when it was given.
    pub fn option<T: FromStr<Err: Display>>(&self, key: &str) -> Result<Option<T>> {
        let Some((_, value)) = self.options.iter().rev().find(|(k, _)| k == key) else { return Ok(None) };
        value.parse().map(Some).map_err(|reason| Error::Algorithm {
            name: self.algorithm.name().into(),
            what: format!("{key}={value}: {reason}"),
        })
    }

    /// Fails where one of these options was given, which have no meaning here.
    pub(crate) fn refuse(&self, keys: &[&str], why: &str) -> Result<()> {
        match self.options.iter().find(|(key, _)| keys.contains(&key.as_str())) {
            Some((key, _)) => {
                Err(Error::Algorithm { name: self.algorithm.name().into(), what: format!("{key} {why}") })
            }
            None => Ok(()),
        }
    }

    /// Empty statistics to fill, when they were asked for.
    pub(crate) fn stats(&self) -> Option<Stats> {
        self.stats.then(Stats::default)
    }
}

impl Default for Run {
    /// `auto` on the `auto` device, minimum, without statistics.
    fn default() -> Self {
        Self {
            algorithm: Algorithm::Auto,
            options: Vec::new(),
            device: Device::Auto,
            maximum: false,
            stats: false,
            watch: Watch::default(),
        }
    }
}

/// What an algorithm counted: facts about the whole run, and facts about each of its rounds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Stats {
    /// Named numbers of the whole run.
    pub facts: Vec<(&'static str, f64)>,
    /// Named numbers of each round, in order.
    pub rounds: Vec<Vec<(&'static str, f64)>>,
}
