//! A figure as rows and columns: what tables show, and the numbers under a plot.

use super::chart::{Chart, X, fact};
use super::units::{Unit, number};
use crate::bench::average::geometric_mean;
use crate::bench::results::Results;
use crate::bench::suite::{Axis, Fact, Figure, Metric, Suite};

/// Headings and rows of as many cells.
pub(super) struct Table {
    pub(super) headings: Vec<String>,
    pub(super) rows: Vec<Vec<Cell>>,
    /// Columns from here on are numbers.
    pub(super) names: usize,
    /// What all its numbers are, where they are all of a kind.
    pub(super) unit: Option<String>,
    /// Whether a graph is marked as generated in place of a file.
    pub(super) marked: bool,
}

#[derive(Clone, Default)]
pub(super) struct Cell {
    pub(super) text: String,
    /// The best of its row.
    pub(super) best: bool,
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Self { text, best: false }
    }
}

/// The table of a figure.
pub(super) fn table(figure: &Figure, chart: &Chart, suite: &Suite, results: &Results) -> Table {
    let units: Vec<Unit> = figure.y.iter().enumerate().map(|(i, metric)| Unit::of(metric, chart.values(i))).collect();
    let xs = if figure.y.is_empty() { named_graphs(figure, suite, results) } else { chart.xs.clone() };
    let mut headings = vec![axis_name(&figure.x)];
    headings.extend(figure.facts.iter().map(|fact| fact.name().to_owned()));
    // One unit is said once, over the table.
    let one = if let [metric] = &figure.y[..] { Some(units[0].heading(metric.name())) } else { None };
    let heading = |unit: Unit, name: &str| if one.is_some() { name.to_owned() } else { unit.heading(name) };
    headings.extend(chart.series.iter().map(|series| heading(units[series.metric], &series.label)));
    // The paper's own are seconds, and in the unit of ours.
    let seconds =
        figure.y.iter().position(|metric| *metric == Metric::Time).map_or(Unit { size: 1.0, name: "s" }, |i| units[i]);
    headings.extend(figure.paper.iter().map(|name| heading(seconds, &format!("paper: {name}"))));

    let mut marked = false;
    let mut rows = Vec::new();
    for (i, x) in xs.iter().enumerate() {
        let graph = if let X::Name(name) = x { results.graph(name) } else { None };
        let subject = graph.and_then(|graph| suite.subjects.iter().find(|subject| subject.name == graph.name));
        let is_marked = graph.is_some_and(|graph| graph.instead_of.is_some());
        marked |= is_marked;
        let mut row: Vec<Cell> = vec![match x {
            X::Number(value) => number(*value).into(),
            X::Name(name) if is_marked => format!("{name} *").into(),
            X::Name(name) => name.clone().into(),
        }];
        row.extend(
            figure.facts.iter().map(|&kind| graph.map_or(String::new(), |graph| shown(kind, fact(graph, kind))).into()),
        );
        row.extend(values(figure, chart, &units, i));
        let of_paper = |heading| {
            subject.and_then(|subject| subject.paper.get(heading)).map_or(String::new(), |&s| seconds.show(s))
        };
        row.extend(figure.paper.iter().map(|heading| Cell::from(of_paper(heading))));
        rows.push(row);
    }
    if figure.x == Axis::Graph && rows.len() > 1 && !chart.series.is_empty() {
        rows.push(means(figure, chart, &units));
    }
    Table { headings, rows, names: 1, unit: one, marked }
}

/// A table of graphs alone shows those that were measured.
fn named_graphs(figure: &Figure, suite: &Suite, results: &Results) -> Vec<X> {
    let subjects =
        suite.subjects.iter().filter(|subject| figure.x == Axis::Graph && figure.group(&subject.groups).is_some());
    subjects
        .filter(|subject| results.graph(&subject.name).is_some())
        .map(|subject| X::Name(subject.name.clone()))
        .collect()
}

/// The values at an x, the best of each metric marked where there is one to choose.
fn values(figure: &Figure, chart: &Chart, units: &[Unit], x: usize) -> Vec<Cell> {
    let middle = |values: &[f64]| {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        sorted.get(sorted.len() / 2).copied()
    };
    let found: Vec<(usize, Option<f64>)> = chart.series.iter().map(|s| (s.metric, middle(&s.values[x]))).collect();
    let best = |metric: usize| {
        let all = found.iter().filter(|(other, _)| *other == metric).filter_map(|(_, value)| *value);
        let all: Vec<f64> = all.collect();
        let best = match figure.y[metric] {
            Metric::Time => all.iter().copied().min_by(f64::total_cmp),
            Metric::Throughput | Metric::Speedup => all.iter().copied().max_by(f64::total_cmp),
            _ => None,
        };
        // Elsewhere the columns may be of different graphs.
        best.filter(|_| all.len() > 1 && figure.x == Axis::Graph)
    };
    let cell = |&(metric, value): &(usize, Option<f64>)| Cell {
        text: value.map_or(String::new(), |value| units[metric].show(value)),
        best: value.is_some() && value == best(metric),
    };
    found.iter().map(cell).collect()
}

/// The geometric means of the columns that have a value in every row.
fn means(figure: &Figure, chart: &Chart, units: &[Unit]) -> Vec<Cell> {
    let mean = |series: &super::chart::Series| {
        let has_mean = matches!(figure.y[series.metric], Metric::Time | Metric::Throughput | Metric::Speedup);
        let values: Option<Vec<f64>> = series.values.iter().map(|values| values.first().copied()).collect();
        let mean = values.filter(|_| has_mean).and_then(|values| geometric_mean(&values));
        Cell::from(mean.map_or(String::new(), |mean| units[series.metric].show(mean)))
    };
    let mut row = vec![Cell::from("geometric mean".to_owned())];
    row.extend(figure.facts.iter().map(|_| Cell::default()));
    row.extend(chart.series.iter().map(mean));
    row.extend(figure.paper.iter().map(|_| Cell::default()));
    row
}

fn shown(kind: Fact, value: f64) -> String {
    match kind {
        Fact::Degree => format!("{value:.1}"),
        _ => number(value),
    }
}

/// The heading of the first column, and the title of the x-axis.
pub(super) fn axis_name(axis: &Axis) -> String {
    match axis {
        Axis::Graph => "graph".into(),
        Axis::Fact(fact) => fact.name().into(),
        Axis::Threads => "threads".into(),
        Axis::Round => "round".into(),
        Axis::Key(key) => key.clone(),
    }
}
