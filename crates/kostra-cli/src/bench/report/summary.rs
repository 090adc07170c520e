//! Who is fastest, over all graphs.

use super::table::{Cell, Table};
use super::units::number;
use crate::bench::average::geometric_mean;
use crate::bench::results::{Results, Row, Who};

/// A contender on all the graphs that it ran on.
struct Standing<'a> {
    who: &'a Who,
    graphs: usize,
    fastest: usize,
    /// Times as long as the fastest.
    behind: f64,
    speedup: Option<f64>,
}

impl<'a> Standing<'a> {
    fn new((who, behind, speedups): (&'a Who, Vec<f64>, Vec<f64>)) -> Self {
        Self {
            who,
            graphs: behind.len(),
            fastest: behind.iter().filter(|ratio| **ratio == 1.0).count(),
            behind: geometric_mean(&behind).unwrap_or(1.0),
            speedup: geometric_mean(&speedups).filter(|_| speedups.len() == behind.len()),
        }
    }
}

/// A table of the contenders without options, the best first; with options only if there are no others. And a sentence.
pub(super) fn summary(results: &Results) -> (Option<String>, Table) {
    let is_plain = |row: &&Row| !row.who.algorithm.contains(':');
    let any_plain = results.graphs.iter().flat_map(|graph| &graph.results).any(|row| is_plain(&row));
    let takes_part = |row: &&Row| (!any_plain || is_plain(row)) && row.median > 0.0;
    let mut all: Vec<(&Who, Vec<f64>, Vec<f64>)> = Vec::new();
    for graph in &results.graphs {
        let best = graph.results.iter().filter(takes_part).map(|row| row.median).fold(f64::INFINITY, f64::min);
        for row in graph.results.iter().filter(takes_part) {
            let place = all.iter().position(|(who, ..)| **who == row.who).unwrap_or_else(|| {
                all.push((&row.who, Vec::new(), Vec::new()));
                all.len() - 1
            });
            all[place].1.push(row.median / best);
            all[place].2.extend(row.speedup);
        }
    }
    let mut standings: Vec<Standing> = all.into_iter().map(Standing::new).collect();
    standings.sort_by(|a, b| b.fastest.cmp(&a.fastest).then(a.behind.total_cmp(&b.behind)));
    let sentence = standings.first().map(|first| {
        let Who { algorithm, device, threads } = first.who;
        let threads = if *threads == 1 { "1 thread".into() } else { format!("{threads} threads") };
        let place = if device.starts_with("cuda") { device.clone() } else { format!("{device}, {threads}") };
        format!("Fastest most often: {algorithm} ({place}), on {} of {} graphs.", first.fastest, results.graphs.len())
    });
    (sentence, table(&standings, results))
}

fn table(standings: &[Standing], results: &Results) -> Table {
    let mut headings: Vec<String> =
        ["algorithm", "device", "threads", "graphs", "fastest on", "times as long as the fastest"]
            .map(str::to_owned)
            .into();
    if let Some(baseline) = &results.baseline {
        headings.push(format!("speedup over {}", baseline.algorithm));
    }
    let row = |standing: &Standing| {
        let Who { algorithm, device, threads } = standing.who;
        let mut cells: Vec<Cell> = vec![algorithm.clone().into(), device.clone().into()];
        cells.extend([*threads, standing.graphs, standing.fastest].map(|count| count.to_string().into()));
        cells.push(number(standing.behind).into());
        if results.baseline.is_some() {
            cells.push(standing.speedup.map_or(String::new(), number).into());
        }
        cells
    };
    Table { headings, rows: standings.iter().map(row).collect(), names: 2, unit: None, marked: false }
}
