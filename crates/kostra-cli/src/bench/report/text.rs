//! Tables for a terminal.

use std::time::Duration;

use crate::bench::results::{GraphResult, Results, Row, Who};
use crate::bench::suite::Baseline;
use crate::human;

/// More graphs than this do not stand beside each other on a terminal.
const WIDE: usize = 12;

/// A table per graph, then one of speedups.
pub(in crate::bench) fn text(results: &Results) -> String {
    let with_speedup = results.baseline.is_some();
    let mut text: String = results.graphs.iter().map(|graph| of_graph(graph, with_speedup) + "\n").collect();
    if let Some(baseline) = &results.baseline {
        text += &speedups(results, baseline);
    }
    for note in &results.notes {
        text += &format!("{note}\n");
    }
    text
}

/// A row per contender, a column per graph.
fn speedups(results: &Results, baseline: &Baseline) -> String {
    let title = format!("speedup: times as fast as {}\n", super::named(baseline));
    let graphs = if results.graphs.len() > WIDE { &[] } else { &results.graphs[..] };
    let names: Vec<String> = graphs.iter().map(|graph| human::one_line(&graph.name)).collect();
    let headings: Vec<&str> = names.iter().map(String::as_str).chain(["geometric mean"]).collect();
    let means = results.geometric_means.iter().filter(|mean| !graphs.is_empty() || mean.speedup.is_some());
    let rows: Vec<_> = means
        .map(|mean| {
            let cells = graphs.iter().map(|graph| graph.row(&mean.who).and_then(|row| row.speedup));
            (mean.who.algorithm.clone(), &mean.who, cells.chain([mean.speedup]).map(ratio).collect())
        })
        .collect();
    if rows.is_empty() { String::new() } else { title + &table(&headings, &rows) }
}

fn of_graph(graph: &GraphResult, with_speedup: bool) -> String {
    let time = |seconds| human::time(Duration::from_secs_f64(seconds));
    let verb = if graph.generated { "generated" } else { "read" };
    let prepared = graph.seconds.prepare.map_or(String::new(), |seconds| format!(", prepared in {}", time(seconds)));
    let shape = graph.instead_of.as_ref().map_or(String::new(), |file| format!(", of the shape of {file}"));
    let head = format!(
        "{}: {}\n{} and {} ({}); forest of {} in {}, weight {}\n{verb} in {}{}{prepared}, verified in {}\n",
        human::one_line(&graph.name),
        human::one_line(&graph.input),
        human::counted(graph.vertices, "vertex", "vertices"),
        human::counted(graph.edges, "edge", "edges"),
        graph.weights,
        human::counted(graph.forest.edges, "edge", "edges"),
        human::counted(graph.forest.trees, "tree", "trees"),
        graph.forest.weight,
        time(graph.seconds.read),
        human::one_line(&shape),
        time(graph.seconds.verify),
    );
    let mut headings = vec!["median", "min", "spread", "Medges/s"];
    headings.extend(with_speedup.then_some("speedup"));
    headings.push("memory");
    let row = |row: &Row| {
        let mut cells = vec![
            time(row.median),
            time(row.min),
            format!("{:.0} %", row.spread * 100.0),
            row.edges_per_second.map_or(String::new(), |speed| format!("{:.1}", speed / 1e6)),
        ];
        cells.extend(with_speedup.then(|| ratio(row.speedup)));
        cells.push(row.peak_bytes.map_or(String::new(), human::bytes));
        cells
    };
    let rows: Vec<_> = graph.results.iter().map(|figures| (super::ran(figures), &figures.who, row(figures))).collect();
    head + &table(&headings, &rows)
}

/// A table whose rows begin with a contender, at the left.
fn table(headings: &[&str], rows: &[(String, &Who, Vec<String>)]) -> String {
    let width = rows.iter().map(|(name, ..)| name.chars().count()).max().unwrap_or(0).max("algorithm".len());
    let several_devices = rows.iter().any(|(_, who, _)| who.device != rows[0].1.device);
    let first = format!("{:width$}", "algorithm");
    let mut all_headings = vec![first.as_str()];
    all_headings.extend(several_devices.then_some("device"));
    all_headings.push("threads");
    all_headings.extend(headings);
    let row = |(name, who, cells): &(String, &Who, Vec<String>)| {
        let mut row = vec![format!("{name:width$}")];
        row.extend(several_devices.then(|| who.device.clone()));
        row.push(who.threads.to_string());
        row.extend(cells.iter().cloned());
        row
    };
    let table = human::table(&all_headings, &rows.iter().map(row).collect::<Vec<_>>());
    // Empty cells at the end of a line need no blanks.
    table.lines().map(|line| line.trim_end().to_owned() + "\n").collect()
}

fn ratio(ratio: Option<f64>) -> String {
    ratio.map_or(String::new(), |ratio| format!("{ratio:.2}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_are_shown_where_they_differ() {
        let who =
            |algorithm: &str, device: &str| Who { algorithm: algorithm.into(), device: device.into(), threads: 2 };
        let shown = |who: &[Who]| {
            let rows: Vec<_> = who.iter().map(|who| (who.algorithm.clone(), who, vec!["1.00".into()])).collect();
            table(&["speedup"], &rows)
        };
        assert_eq!(
            shown(&[who("filter-kruskal", "cpu"), who("ecl:seed=7", "cpu")]),
            "algorithm       threads  speedup\nfilter-kruskal        2     1.00\necl:seed=7            2     1.00\n"
        );
        let two = shown(&[who("ecl", "cpu"), who("ecl", "cuda:0")]);
        assert!(two.contains("ecl        cuda:0        2     1.00\n"));
    }
}
