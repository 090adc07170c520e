//! results.csv: a line per graph and contender.

use crate::bench::results::{GraphResult, Results, Row, Who};

/// The columns. bench/peers adds rows of the same kind, so new ones come last.
const COLUMNS: &str = "graph,input,vertices,edges,weights,forest_edges,trees,weight,digest,algorithm,ran,device,threads,\
                       median_seconds,min_seconds,spread,edges_per_second,speedup,peak_bytes,prepare_seconds,seconds,\
                       instead_of,iterations";

/// All lines.
pub(in crate::bench) fn csv(results: &Results) -> String {
    let lines = results.graphs.iter().flat_map(|graph| graph.results.iter().map(|row| line(graph, row)));
    std::iter::once(COLUMNS.to_owned()).chain(lines).map(|line| line + "\n").collect()
}

fn line(graph: &GraphResult, row: &Row) -> String {
    let Who { algorithm, device, threads } = &row.who;
    let seconds: Vec<String> = row.seconds.iter().map(f64::to_string).collect();
    let rounds = row.stats.as_ref().map(|stats| stats.rounds.len()).filter(|&rounds| rounds > 0);
    [
        quoted(&graph.name),
        quoted(&graph.input),
        graph.vertices.to_string(),
        graph.edges.to_string(),
        graph.weights.clone(),
        graph.forest.edges.to_string(),
        graph.forest.trees.to_string(),
        graph.forest.weight.to_string(),
        graph.forest.digest.clone(),
        quoted(algorithm),
        row.ran.clone(),
        quoted(device),
        threads.to_string(),
        row.median.to_string(),
        row.min.to_string(),
        row.spread.to_string(),
        cell(row.edges_per_second),
        cell(row.speedup),
        cell(row.peak_bytes),
        cell(graph.seconds.prepare),
        seconds.join(" "),
        quoted(graph.instead_of.as_deref().unwrap_or_default()),
        cell(rounds),
    ]
    .join(",")
}

fn cell(value: Option<impl ToString>) -> String {
    value.map_or(String::new(), |value| value.to_string())
}

/// A cell of text, in quotes where it would not be one cell without.
fn quoted(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_with_commas_and_quotes_are_quoted() {
        assert_eq!(quoted("kruskal"), "kruskal");
        assert_eq!(quoted("grid:rows=2,cols=3"), "\"grid:rows=2,cols=3\"");
        assert_eq!(quoted("a \"b\""), "\"a \"\"b\"\"\"");
    }
}
