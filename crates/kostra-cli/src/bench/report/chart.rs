//! The numbers of a figure: from results to values of series at places on the x-axis, which tables and plots share.

use std::cmp::Ordering;

use crate::bench::results::{Counts, GraphResult, Results, Row};
use crate::bench::suite::{Axis, Fact, Figure, Metric, Subject, Suite};

/// What a figure shows.
pub(super) struct Chart {
    pub(super) xs: Vec<X>,
    pub(super) series: Vec<Series>,
}

/// A place on the x-axis, or the heading of a row.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum X {
    Number(f64),
    /// A graph, or an option that is no number.
    Name(String),
}

/// A line, the bars of a colour, or a column.
pub(super) struct Series {
    pub(super) label: String,
    /// Which of the figure's metrics.
    pub(super) metric: usize,
    /// Values at each x: mostly none or one.
    pub(super) values: Vec<Vec<f64>>,
}

/// What sets one series apart from another.
#[derive(Clone, PartialEq)]
struct Parts {
    algorithm: String,
    device: String,
    threads: usize,
    /// The graph, as far as the x-axis does not say it: its family, and how it differs from others of that.
    family: String,
    values: String,
    metric: usize,
}

/// The numbers of a figure.
pub(super) fn chart(figure: &Figure, suite: &Suite, results: &Results) -> Chart {
    let mut observed: Vec<(Parts, X, f64)> = Vec::new();
    for subject in suite.subjects.iter().filter(|subject| figure.group(&subject.groups).is_some()) {
        let Some(graph) = results.graph(&subject.name) else { continue };
        for (number, metric) in figure.y.iter().enumerate() {
            for row in
                graph.results.iter().filter(|row| figure.shows(&row.who.algorithm, &row.who.device, row.who.threads))
            {
                let parts = Parts { metric: number, ..parts_of(row, subject, figure) };
                let found = of_row(figure, metric, subject, graph, row);
                observed.extend(found.into_iter().map(|(x, value)| (parts.clone(), x, value)));
            }
            for statistic in graph.statistics.iter().filter(|statistic| figure.shows(&statistic.name, "", 0)) {
                let (family, values) = graph_parts(subject, figure);
                let algorithm = statistic.name.clone();
                let parts = Parts { algorithm, device: String::new(), threads: 0, family, values, metric: number };
                let found = of_counts(figure, metric, subject, graph, &statistic.stats);
                observed.extend(found.into_iter().map(|(x, value)| (parts.clone(), x, value)));
            }
        }
    }
    Chart::new(&observed, figure)
}

impl Chart {
    fn new(observed: &[(Parts, X, f64)], figure: &Figure) -> Self {
        let mut xs: Vec<X> = Vec::new();
        let mut all: Vec<(&Parts, Vec<(usize, f64)>)> = Vec::new();
        for (parts, x, value) in observed {
            let place = xs.iter().position(|other| other == x).unwrap_or_else(|| {
                xs.push(x.clone());
                xs.len() - 1
            });
            match all.iter_mut().find(|(other, _)| *other == parts) {
                Some((_, values)) => values.push((place, *value)),
                None => all.push((parts, vec![(place, *value)])),
            }
        }
        let mut order: Vec<usize> = (0..xs.len()).collect();
        // Names stay in the order of the suite.
        order.sort_by(|&a, &b| match (&xs[a], &xs[b]) {
            (X::Number(a), X::Number(b)) => a.total_cmp(b),
            _ => Ordering::Equal,
        });
        let kinds: Vec<&Parts> = all.iter().map(|(parts, _)| *parts).collect();
        let series = |(parts, found): &(&Parts, Vec<(usize, f64)>)| {
            let at = |&x: &usize| found.iter().filter(|(place, _)| *place == x).map(|(_, value)| *value).collect();
            Series { label: label(parts, &kinds, figure), metric: parts.metric, values: order.iter().map(at).collect() }
        };
        let series = all.iter().map(series).collect();
        Self { xs: order.iter().map(|&x| xs[x].clone()).collect(), series }
    }

    /// All values of a metric.
    pub(super) fn values(&self, metric: usize) -> impl Iterator<Item = f64> {
        self.series
            .iter()
            .filter(move |series| series.metric == metric)
            .flat_map(|s| s.values.iter().flatten().copied())
    }
}

/// What is known of a graph.
pub(super) fn fact(graph: &GraphResult, fact: Fact) -> f64 {
    let (n, m) = (graph.vertices as f64, graph.edges as f64);
    match fact {
        Fact::Vertices => n,
        Fact::Edges => m,
        Fact::Degree => 2.0 * m / n.max(1.0),
        Fact::Density => 2.0 * m / (n * (n - 1.0)).max(1.0),
        Fact::Trees => graph.forest.trees as f64,
    }
}

/// Says of a series what the others do not share.
fn label(parts: &Parts, all: &[&Parts], figure: &Figure) -> String {
    let differ = |part: fn(&Parts) -> &str| all.iter().any(|other| part(other) != part(parts));
    let mut graph = Vec::new();
    graph.extend(differ(|parts| &parts.family).then_some(parts.family.as_str()));
    graph.extend(differ(|parts| &parts.values).then_some(parts.values.as_str()));
    let mut words: Vec<String> = if graph.is_empty() { Vec::new() } else { vec![graph.join(" ")] };
    if words.is_empty() || differ(|parts| &parts.algorithm) {
        words.push(parts.algorithm.clone());
    }
    // What is counted without a contender is on no device.
    let is_elsewhere = |other: &&Parts| !other.device.is_empty() && other.device != parts.device;
    if !parts.device.is_empty() && all.iter().any(is_elsewhere) {
        words.push(parts.device.clone());
    }
    let is_beside = |other: &&Parts| other.device == parts.device && other.threads != parts.threads;
    if all.iter().any(is_beside) {
        words.push(if parts.threads == 1 { "1 thread".into() } else { format!("{} threads", parts.threads) });
    }
    if figure.y.len() > 1 {
        words.push(figure.y[parts.metric].name().into());
    }
    words.join(", ")
}

fn parts_of(row: &Row, subject: &Subject, figure: &Figure) -> Parts {
    let who = &row.who;
    let algorithm = match &figure.x {
        Axis::Key(key) => without_option(&who.algorithm, key),
        _ => who.algorithm.clone(),
    };
    let threads = if figure.x == Axis::Threads { 0 } else { who.threads };
    let (family, values) = graph_parts(subject, figure);
    Parts { algorithm, device: who.device.clone(), threads, family, values, metric: 0 }
}

/// The family of a graph and its values, as far as the x-axis does not say them. Where graphs lie along the axis, those of
/// a group are one family.
fn graph_parts(subject: &Subject, figure: &Figure) -> (String, String) {
    let keys: Vec<&str> = match &figure.x {
        Axis::Graph => return Default::default(),
        Axis::Fact(fact) => fact.keys().to_vec(),
        Axis::Key(key) if option(&subject.input, key).is_some() => vec![key],
        Axis::Key(_) | Axis::Threads | Axis::Round => Vec::new(),
    };
    let group = figure.group(&subject.groups).filter(|group| !group.is_empty() && !keys.is_empty());
    let others = subject.values.iter().filter(|(key, _)| !keys.contains(&key.as_str()));
    let values: Vec<String> = others.map(|(key, value)| format!("{key}={value}")).collect();
    (group.unwrap_or(&subject.family).to_owned(), values.join(" "))
}

fn of_row(figure: &Figure, metric: &Metric, subject: &Subject, graph: &GraphResult, row: &Row) -> Vec<(X, f64)> {
    let value = match metric {
        Metric::Time => Some(row.median),
        Metric::Throughput => row.edges_per_second,
        Metric::Speedup => row.speedup,
        Metric::Efficiency => row.speedup.map(|speedup| speedup / row.who.threads.max(1) as f64),
        Metric::Iterations | Metric::Statistic(_) if figure.x == Axis::Round => {
            return row.stats.as_ref().map_or(Vec::new(), |stats| of_counts(figure, metric, subject, graph, stats));
        }
        Metric::Iterations | Metric::Statistic(_) => row.stats.as_ref().and_then(|stats| counted(stats, metric)),
    };
    let x = match &figure.x {
        Axis::Threads => Some(X::Number(row.who.threads as f64)),
        Axis::Key(key) => option(&row.who.algorithm, key).or_else(|| option(&graph.input, key)).map(place),
        axis => place_of(axis, subject, graph),
    };
    x.into_iter().zip(value).collect()
}

/// What was counted: at the place of the graph, or round by round.
fn of_counts(
    figure: &Figure,
    metric: &Metric,
    subject: &Subject,
    graph: &GraphResult,
    stats: &Counts,
) -> Vec<(X, f64)> {
    if let (Axis::Round, Metric::Statistic(name)) = (&figure.x, metric) {
        let rounds = (0..stats.rounds.len()).filter_map(|round| Some((round, of_round(stats, round, name)?)));
        return rounds.map(|(round, value)| (X::Number(round as f64 + 1.0), value)).collect();
    }
    place_of(&figure.x, subject, graph).into_iter().zip(counted(stats, metric)).collect()
}

fn place_of(axis: &Axis, subject: &Subject, graph: &GraphResult) -> Option<X> {
    match axis {
        Axis::Graph => Some(X::Name(subject.name.clone())),
        Axis::Fact(kind) => Some(X::Number(fact(graph, *kind))),
        Axis::Key(key) => option(&graph.input, key).map(place),
        Axis::Threads | Axis::Round => None,
    }
}

/// A count of the whole run, or of its first round.
fn counted(stats: &Counts, metric: &Metric) -> Option<f64> {
    match metric {
        Metric::Iterations => (!stats.rounds.is_empty()).then_some(stats.rounds.len() as f64),
        Metric::Statistic(name) => stats.facts.get(name).copied().or_else(|| of_round(stats, 0, name)),
        _ => None,
    }
}

/// A count of a round. Whoever does not say how far it shrank the graph says how many vertices came next.
fn of_round(stats: &Counts, round: usize, name: &str) -> Option<f64> {
    let value = |round: usize, name: &str| stats.rounds.get(round)?.get(name).copied();
    let vertices = |round| value(round, "vertices").or_else(|| value(round, "trees"));
    let derived = || (name == "reduction").then(|| Some(vertices(round)? / vertices(round + 1)?.max(1.0))).flatten();
    value(round, name).or_else(derived)
}

/// The value of a key in a SPEC or an algorithm.
fn option<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    let (_, pairs) = text.split_once(':')?;
    pairs.split(',').filter_map(|pair| pair.split_once('=')).find(|(found, _)| *found == key).map(|(_, value)| value)
}

fn without_option(text: &str, key: &str) -> String {
    let Some((name, pairs)) = text.split_once(':') else { return text.into() };
    let is_other = |pair: &&str| pair.split_once('=').is_none_or(|(found, _)| found != key);
    let others: Vec<&str> = pairs.split(',').filter(is_other).collect();
    if others.is_empty() { name.into() } else { format!("{name}:{}", others.join(",")) }
}

fn place(text: &str) -> X {
    text.parse().map_or_else(|_| X::Name(text.into()), X::Number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_found_and_left_out() {
        assert_eq!(option("pma-min:gamma=8,keep-parallel=true", "gamma"), Some("8"));
        assert_eq!(option("pma-min", "gamma"), None);
        assert_eq!(without_option("pma-min:gamma=8", "gamma"), "pma-min");
        assert_eq!(without_option("pma-min:gamma=8,keep-parallel=true", "gamma"), "pma-min:keep-parallel=true");
    }

    #[test]
    fn a_reduction_is_found_from_the_vertices() {
        let round = |name: &str, value| [(name.to_owned(), value)].into();
        let stats = Counts { rounds: vec![round("vertices", 12.0), round("vertices", 3.0)], ..Counts::default() };
        assert_eq!(of_round(&stats, 0, "reduction"), Some(4.0));
        assert_eq!(of_round(&stats, 1, "reduction"), None);
        let stats = Counts { rounds: vec![round("reduction", 5.0)], ..Counts::default() };
        assert_eq!(of_round(&stats, 0, "reduction"), Some(5.0));
    }
}
