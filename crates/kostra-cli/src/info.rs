//! `kostra info`: what kind of graph this is.

use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use clap::Args;
use kostra::{AnyKeys, Error, Graph, Key, Keys, Run, Watch, Weight, Weights};
use rayon::prelude::*;
use serde::Serialize;

use crate::console::Console;
use crate::failure::Failure;
use crate::human::{self, Lines};
use crate::input::Input;
use crate::json::{self, Number};
use crate::summary::Summary;

/// The longest bar of the histogram, in characters.
const BAR: usize = 40;

/// Classes of degrees: 0, 1, 2-3, 4-7, ... up to 2^33, the degree of a vertex with all possible self-loops.
const CLASSES: usize = 35;

const EXAMPLES: &str = "\
Examples:
  kostra info roads.gr.gz
  kostra info rmat:scale=16 --json

A self-loop adds two to the degree of its vertex. Parallel edges are those whose pair of ends occurred before.";

/// Show the size, degrees, components and weights of a graph
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Info {
    #[command(flatten)]
    input: Input,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// The facts; serialized in this order.
#[derive(Serialize)]
struct Facts<'a> {
    input: &'a str,
    vertices: usize,
    edges: usize,
    self_loops: usize,
    parallel_edges: usize,
    isolated: usize,
    components: usize,
    degree: Degrees,
    weights: WeightRange,
}

#[derive(Serialize)]
struct Degrees {
    min: Option<u64>,
    average: Option<f64>,
    max: Option<u64>,
    histogram: Vec<Class>,
}

/// The vertices with degrees in a range.
#[derive(Serialize)]
struct Class {
    from: u64,
    to: u64,
    vertices: usize,
}

#[derive(Serialize)]
struct WeightRange {
    #[serde(rename = "type")]
    kind: &'static str,
    min: Option<Number>,
    max: Option<Number>,
}

impl Info {
    /// Reads, counts, tells.
    pub(crate) fn run(&self, console: &Console) -> Result<Summary, Failure> {
        let loaded = self.input.load(console)?;
        let facts = facts(&loaded.name, &loaded.graph, console.watch())?;
        Ok(Summary::new(if self.json { json::line(&facts)? } else { facts.text() }))
    }
}

fn facts<'a>(input: &'a str, graph: &Graph, watch: &Watch) -> kostra::Result<Facts<'a>> {
    let ends = || graph.sources().par_iter().zip(graph.targets());
    watch.step("degrees", 0, 0)?;
    let degrees = degrees(graph)?;
    watch.step("pairs", 0, 0)?;
    let parallel_edges = parallel_edges(graph);
    watch.step("weights", 0, 0)?;
    let weights = weight_range(graph);
    watch.step("components", 0, 0)?;
    Ok(Facts {
        input,
        vertices: graph.vertices(),
        edges: graph.edges(),
        self_loops: ends().filter(|(u, v)| u == v).count(),
        parallel_edges,
        isolated: degrees.histogram.iter().find(|class| class.to == 0).map_or(0, |class| class.vertices),
        components: components(graph, watch)?,
        degree: degrees,
        weights,
    })
}

fn degrees(graph: &Graph) -> kostra::Result<Degrees> {
    let mut counts: Vec<AtomicU64> = Vec::new();
    // A SPEC may name more vertices than there is memory for: an error, not an abort.
    let bytes = graph.vertices() as u64 * 8;
    counts.try_reserve_exact(graph.vertices()).map_err(|_| Error::Memory { bytes })?;
    counts.par_extend((0..graph.vertices()).into_par_iter().map(|_| AtomicU64::new(0)));
    // Relaxed: sums only, read after all threads have joined.
    let count = |&v: &u32| counts[v as usize].fetch_add(1, Relaxed);
    graph.sources().par_iter().zip(graph.targets()).for_each(|(u, v)| {
        count(u);
        count(v);
    });
    let degrees = || counts.par_iter().map(|count| count.load(Relaxed));
    let histogram = degrees()
        .fold(
            || [0usize; CLASSES],
            |mut classes, degree| {
                classes[class(degree)] += 1;
                classes
            },
        )
        .reduce(|| [0; CLASSES], |a, b| std::array::from_fn(|i| a[i] + b[i]));
    let used = histogram.iter().rposition(|&vertices| vertices > 0).map_or(0, |last| last + 1);
    let first = histogram.iter().position(|&vertices| vertices > 0).unwrap_or(0);
    Ok(Degrees {
        min: degrees().min(),
        average: (!counts.is_empty()).then(|| 2.0 * graph.edges() as f64 / counts.len() as f64),
        max: degrees().max(),
        histogram: (first..used)
            .map(|i| Class { from: *range(i).start(), to: *range(i).end(), vertices: histogram[i] })
            .collect(),
    })
}

/// The class of a degree: its number of binary digits.
fn class(degree: u64) -> usize {
    (u64::BITS - degree.leading_zeros()) as usize
}

/// The degrees of a class.
fn range(class: usize) -> RangeInclusive<u64> {
    if class == 0 { 0..=0 } else { 1 << (class - 1)..=(1 << class) - 1 }
}

/// The edges whose pair of ends occurred before: all but the first of each pair.
fn parallel_edges(graph: &Graph) -> usize {
    let ends = graph.sources().par_iter().zip(graph.targets());
    let mut pairs: Vec<u64> = ends.map(|(&u, &v)| u64::from(u.min(v)) << 32 | u64::from(u.max(v))).collect();
    pairs.par_sort_unstable();
    pairs.par_windows(2).filter(|pair| pair[0] == pair[1]).count()
}

/// The trees of any spanning forest. Unit weights make it a cheap one: the edges are in order already.
fn components(graph: &Graph, watch: &Watch) -> kostra::Result<usize> {
    let unit = Graph::from_edges(graph.vertices(), graph.sources(), graph.targets(), Weights::Unit)?;
    let run = Run::default().watched_by(watch.clone());
    Ok(kostra::solve(&unit, &run)?.trees())
}

fn weight_range(graph: &Graph) -> WeightRange {
    let extremes = match graph.keys(false) {
        AnyKeys::Narrow(keys) => extremes(graph.edges(), &keys),
        AnyKeys::Wide(keys) => extremes(graph.edges(), &keys),
    };
    let weight = |e: u32| match graph.weights().at(e as usize) {
        // Exactly a single: it came from one.
        Weight::Float(weight) if matches!(graph.weights(), Weights::F32(_)) => Number::Single(weight as f32),
        weight => weight.into(),
    };
    let (min, max) = extremes.map(|(min, max)| (weight(min), weight(max))).unzip();
    WeightRange { kind: graph.weights().type_name(), min, max }
}

/// The first and the last edge in the order.
fn extremes<K: Key>(edges: usize, keys: &Keys<'_, K>) -> Option<(u32, u32)> {
    let ranked = || (0..edges).into_par_iter().map(|e| keys.ranked(e));
    Some((K::edge(ranked().min()?), K::edge(ranked().max()?)))
}

impl Facts<'_> {
    fn text(&self) -> String {
        let mut lines = Lines::default();
        lines.add("input", self.input);
        lines.add("vertices", human::count(self.vertices));
        lines.add("edges", human::count(self.edges));
        lines.add("self-loops", human::count(self.self_loops));
        lines.add("parallel", human::count(self.parallel_edges));
        lines.add("isolated", human::count(self.isolated));
        lines.add("components", human::count(self.components));
        let kind = self.weights.kind;
        lines.add(
            "weights",
            match (&self.weights.min, &self.weights.max) {
                _ if kind == "unit" => "none, every edge weighs 1".into(),
                (Some(min), Some(max)) => format!("{kind}, {min} to {max}"),
                _ => kind.into(),
            },
        );
        if let Degrees { min: Some(min), average: Some(average), max: Some(max), .. } = self.degree {
            lines.add("degree", format!("min {min}, average {average:.2}, max {max}"));
        }
        lines.to_string() + &self.degree.histogram_text()
    }
}

impl Degrees {
    /// A line per class: degrees, vertices, a bar.
    fn histogram_text(&self) -> String {
        let most = self.histogram.iter().map(|class| class.vertices).max().unwrap_or(0);
        let rows: Vec<Vec<String>> = self
            .histogram
            .iter()
            .map(|&Class { from, to, vertices }| {
                let degrees = if from == to { from.to_string() } else { format!("{from}-{to}") };
                // Whoever is there is seen: the shortest bar has one character.
                let length = (vertices as f64 / most as f64 * BAR as f64).round() as usize;
                let bar = "#".repeat(length.max(usize::from(vertices > 0)));
                vec![degrees, vertices.to_string(), format!("{bar:BAR$}")]
            })
            .collect();
        if rows.is_empty() {
            return String::new();
        }
        let table = human::table(&["degree", "vertices", ""], &rows);
        "\n".to_owned() + &table.lines().map(|line| line.trim_end().to_owned() + "\n").collect::<String>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_are_powers_of_two() {
        assert_eq!([0, 1, 2, 3, 4, 7, 8].map(class), [0, 1, 2, 2, 3, 3, 4]);
        for degree in [0, 1, 2, 3, 4, 1 << 32, (1 << 33) - 1, 1 << 33] {
            assert!(range(class(degree)).contains(&degree) && class(degree) < CLASSES);
        }
    }

    #[test]
    fn loops_count_twice_and_repeats_count_once_each() {
        let graph =
            Graph::from_edges(5, &[0, 1, 0, 3, 3], &[1, 0, 1, 3, 3], &[1.5f32, -0.1, 2.0, 0.0, 9.0]).expect("a graph");
        let degrees = degrees(&graph).expect("memory");
        assert_eq!((degrees.min, degrees.max, degrees.average), (Some(0), Some(4), Some(2.0)));
        let classes: Vec<_> = degrees.histogram.iter().map(|c| (c.from, c.to, c.vertices)).collect();
        assert_eq!(classes, [(0, 0, 2), (1, 1, 0), (2, 3, 2), (4, 7, 1)]);
        assert_eq!(parallel_edges(&graph), 3);
        let range = weight_range(&graph);
        assert_eq!(serde_json::to_string(&range).expect("JSON"), r#"{"type":"f32","min":-0.1,"max":9.0}"#);
    }

    #[test]
    fn a_graph_without_vertices_has_no_degrees() {
        let graph = Graph::from_edges(0, &[], &[], Weights::Unit).expect("a graph");
        let degrees = degrees(&graph).expect("memory");
        assert!(degrees.min.is_none() && degrees.average.is_none() && degrees.histogram.is_empty());
        assert_eq!(degrees.histogram_text(), "");
    }
}
