//! What a report shows: tables and plots over groups of graphs.

use std::str::FromStr;

/// What algorithms may count, beside what is measured. Of every round, unless it is of the whole run.
const STATISTICS: [&str; 10] = [
    "vertices",
    "edges",
    "reduction",
    "gamma",
    "zero-difference",
    "imbalance",
    "chosen",
    "light share",
    "edges filtered",
    "off target",
];

/// A table or a plot.
#[derive(Debug)]
pub(in crate::bench) struct Figure {
    pub(in crate::bench) title: String,
    pub(in crate::bench) note: Option<String>,
    pub(in crate::bench) kind: Kind,
    /// Of these graphs; of all if there are none.
    pub(in crate::bench) groups: Vec<String>,
    pub(in crate::bench) x: Axis,
    pub(in crate::bench) y: Vec<Metric>,
    /// Of these contenders; of all if there are none.
    pub(super) only: Vec<Only>,
    pub(in crate::bench) log_x: bool,
    pub(in crate::bench) log_y: bool,
    /// What else a table says of its graphs.
    pub(in crate::bench) facts: Vec<Fact>,
    /// Columns of the paper's own seconds, by their headings.
    pub(in crate::bench) paper: Vec<String>,
}

/// Contenders of that algorithm, on that device and with so many threads if they are given.
#[derive(Debug)]
pub(super) struct Only {
    pub(super) algorithm: String,
    pub(super) device: Option<String>,
    pub(super) threads: Option<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::bench) enum Kind {
    Table,
    Line,
    Bar,
    /// The smallest, the quartiles and the largest over all contenders.
    Box,
}

/// What the rows of a table, or the places on the x-axis of a plot, are.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::bench) enum Axis {
    Graph,
    Fact(Fact),
    Threads,
    Round,
    /// A key of SPECs, or an option of algorithms.
    Key(String),
}

/// What is known of a graph.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::bench) enum Fact {
    Vertices,
    Edges,
    Degree,
    Density,
    Trees,
}

/// What is shown.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::bench) enum Metric {
    Time,
    Throughput,
    Speedup,
    /// The speedup per thread.
    Efficiency,
    Iterations,
    Statistic(String),
}

impl Figure {
    /// The first of its groups that a graph of these is in; an empty name if it shows all graphs.
    pub(in crate::bench) fn group(&self, groups: &[String]) -> Option<&str> {
        if self.groups.is_empty() {
            Some("")
        } else {
            self.groups.iter().find(|group| groups.contains(group)).map(|g| &**g)
        }
    }

    /// Whether a contender is in it.
    pub(in crate::bench) fn shows(&self, algorithm: &str, device: &str, threads: usize) -> bool {
        let is_named = |only: &Only| {
            only.algorithm == algorithm
                && only.device.as_ref().is_none_or(|on| on == device)
                && only.threads.is_none_or(|wanted| wanted == threads)
        };
        self.only.is_empty() || self.only.iter().any(is_named)
    }

    /// Whether it needs what algorithms count.
    pub(in crate::bench) fn counts(&self) -> bool {
        self.y.iter().any(|metric| matches!(metric, Metric::Iterations | Metric::Statistic(_)))
    }
}

impl FromStr for Kind {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Ok(match text {
            "table" => Kind::Table,
            "line" => Kind::Line,
            "bar" => Kind::Bar,
            "box" => Kind::Box,
            _ => return Err(format!("{text:?} is no kind of figure; there are table, line, bar, box")),
        })
    }
}

impl FromStr for Fact {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Ok(match text {
            "vertices" => Fact::Vertices,
            "edges" => Fact::Edges,
            "degree" => Fact::Degree,
            "density" => Fact::Density,
            "trees" => Fact::Trees,
            _ => return Err(format!("{text:?} is not known of a graph; vertices, edges, degree, density, trees are")),
        })
    }
}

impl FromStr for Axis {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Ok(match text {
            "graph" => Axis::Graph,
            "threads" => Axis::Threads,
            "round" => Axis::Round,
            _ => text.parse().map_or_else(|_| Axis::Key(text.into()), Axis::Fact),
        })
    }
}

impl FromStr for Metric {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Ok(match text {
            "time" => Metric::Time,
            "throughput" => Metric::Throughput,
            "speedup" => Metric::Speedup,
            "efficiency" => Metric::Efficiency,
            "iterations" => Metric::Iterations,
            _ if STATISTICS.contains(&text) => Metric::Statistic(text.into()),
            _ => {
                let known = STATISTICS.join(", ");
                return Err(format!(
                    "{text:?} cannot be shown; time, throughput, speedup, efficiency, iterations can, and the statistics \
                     {known}"
                ));
            }
        })
    }
}

impl Fact {
    /// Its heading.
    pub(in crate::bench) fn name(self) -> &'static str {
        match self {
            Fact::Vertices => "vertices",
            Fact::Edges => "edges",
            Fact::Degree => "average degree",
            Fact::Density => "density",
            Fact::Trees => "trees",
        }
    }

    /// The keys of SPECs that decide it.
    pub(in crate::bench) fn keys(self) -> &'static [&'static str] {
        match self {
            Fact::Vertices => &["n", "scale", "rows", "cols"],
            Fact::Edges | Fact::Trees => &["n", "scale", "rows", "cols", "degree", "density", "max-clique"],
            Fact::Degree => &["degree", "max-clique"],
            Fact::Density => &["density"],
        }
    }
}

impl Metric {
    /// Its heading, without a unit.
    pub(in crate::bench) fn name(&self) -> &str {
        match self {
            Metric::Time => "time",
            Metric::Throughput => "throughput",
            Metric::Speedup => "speedup",
            Metric::Efficiency => "efficiency",
            Metric::Iterations => "iterations",
            Metric::Statistic(name) => name,
        }
    }
}
