//! How results are told: tables on a terminal, CSV, and a report as HTML and as Markdown.
//!
//! A figure of the suite becomes a [`chart`] (series of numbers), which is shown as a [`table`] or plotted as [`svg`].

mod chart;
mod csv;
mod html;
mod markdown;
mod scale;
mod summary;
mod svg;
mod table;
mod text;
mod units;

use self::table::{Cell, Table};
use self::units::number;
use super::results::{Results, Row};
use super::suite::Baseline;
use crate::human;

pub(super) use self::csv::csv;
pub(super) use self::html::html;
pub(super) use self::markdown::markdown;
pub(super) use self::text::text;

/// Under a table with graphs that stand in for files.
const GENERATED: &str = "* generated, of the shape of the paper's file, which was not at hand";

/// Who the others are compared with.
fn named(baseline: &Baseline) -> String {
    let Baseline { algorithm, device, threads } = baseline;
    let device = device.as_ref().map_or(String::new(), |device| format!(" on {device}"));
    let threads = match threads {
        None => "the same number of threads".into(),
        Some(threads) => human::counted(*threads, "thread", "threads"),
    };
    format!("{algorithm}{device} with {threads}")
}

/// The algorithm, and what it chose.
fn ran(row: &Row) -> String {
    match row.who.algorithm.as_str() {
        "auto" => format!("auto ({})", row.ran),
        named => named.into(),
    }
}

/// Every contender on every graph.
fn all_results(results: &Results) -> Table {
    let headings = [
        "graph",
        "algorithm",
        "device",
        "threads",
        "median, ms",
        "min, ms",
        "spread, %",
        "timed runs",
        "million edges/s",
        "speedup",
        "memory",
    ];
    let mut rows = Vec::new();
    for graph in &results.graphs {
        for row in &graph.results {
            let name = if graph.instead_of.is_some() { format!("{} *", graph.name) } else { graph.name.clone() };
            let cells = [
                name,
                ran(row),
                row.who.device.clone(),
                row.who.threads.to_string(),
                number(row.median * 1e3),
                number(row.min * 1e3),
                format!("{:.0}", row.spread * 100.0),
                row.seconds.len().to_string(),
                row.edges_per_second.map_or(String::new(), |speed| number(speed / 1e6)),
                row.speedup.map_or(String::new(), number),
                row.peak_bytes.map_or(String::new(), human::bytes),
            ];
            rows.push(cells.map(Cell::from).into());
        }
    }
    let marked = results.graphs.iter().any(|graph| graph.instead_of.is_some());
    Table { headings: headings.map(str::to_owned).into(), rows, names: 3, unit: None, marked }
}

/// Every graph.
fn all_graphs(results: &Results) -> Table {
    let headings = ["graph", "input", "origin", "vertices", "edges", "weights", "trees", "forest weight"];
    let row = |graph: &super::results::GraphResult| {
        let origin = match (&graph.instead_of, graph.generated) {
            (Some(file), _) => format!("generated, of the shape of {file}"),
            (None, true) => "generated".into(),
            (None, false) => "file".into(),
        };
        let cells = [
            graph.name.clone(),
            graph.input.clone(),
            origin,
            number(graph.vertices as f64),
            number(graph.edges as f64),
            graph.weights.clone(),
            number(graph.forest.trees as f64),
            graph.forest.weight.to_string(),
        ];
        cells.map(Cell::from).into()
    };
    Table {
        headings: headings.map(str::to_owned).into(),
        rows: results.graphs.iter().map(row).collect(),
        names: 3,
        unit: None,
        marked: false,
    }
}

/// What is said of the run as a whole, by its names.
fn about(results: &Results) -> Vec<(&'static str, String)> {
    let mut facts = vec![("suite", results.suite.name.clone()), ("begun", results.date.clone())];
    facts.push(("kostra", results.kostra.clone()));
    facts.extend(results.machine.facts());
    facts.push(("command", results.command.join(" ")));
    facts
}
