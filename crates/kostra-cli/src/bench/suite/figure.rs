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
    /// Of these contenders, by algorithm and, if it matters, device; of all if there are none.
    pub(in crate::bench) only: Vec<(String, Option<String>)>,
    pub(in crate::bench) log_x: bool,
    pub(in crate::bench) log_y: bool,
    /// What else a table says of its graphs.
    pub(in crate::bench) facts: Vec<Fact>,
    /// Columns of the paper's own seconds, by their headings.
    pub(in crate::bench) paper: Vec<String>,
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
    /// Whether graphs of this group are in it.
    pub(in crate::bench) fn has(&self, group: &str) -> bool {
        self.groups.is_empty() || self.groups.iter().any(|named| named == group)
    }

    /// Whether a contender is in it.
    pub(in crate::bench) fn shows(&self, algorithm: &str, device: &str) -> bool {
        let is_named = |(named, on): &(String, Option<String>)| {
            named == algorithm && on.as_ref().is_none_or(|on| device == on || on == "cuda" && device == "cuda:0")
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
