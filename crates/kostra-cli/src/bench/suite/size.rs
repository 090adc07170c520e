//! How large a graph will be, before it is there: for limits and for the time that is left. An estimate; models drop
//! loops and repeats.

use std::path::Path;

use crate::input;

/// Bytes that an edge takes in a file, roughly, compressed or not.
const BYTES: u64 = 8;

/// The average degree of a model that takes none, or was given none.
fn usual_degree(kind: &str) -> f64 {
    match kind {
        "rmat" => 16.0,
        "kronecker" => 32.0,
        "grid" => 4.0,
        "road" => 2.4,
        "delaunay" => 6.0,
        "ssca2" => 22.0,
        "cliques" => 56.0,
        "web" => 20.0,
        _ => 8.0,
    }
}

/// The edges that a SPEC or a file has, about.
pub(super) fn expected_edges(path: &Path) -> u64 {
    match input::spec(path) {
        Some(spec) => of_spec(spec),
        None => path.metadata().map_or(0, |meta| meta.len() / BYTES),
    }
}

fn of_spec(spec: &str) -> u64 {
    let (kind, pairs) = spec.split_once(':').unwrap_or((spec, ""));
    let number = |key: &str| {
        let mut values = pairs.split(',').filter_map(|pair| pair.split_once('=')).filter(|(found, _)| *found == key);
        values.next_back().and_then(|(_, value)| value.parse::<f64>().ok())
    };
    let rows = number("rows").zip(number("cols")).map(|(rows, cols)| rows * cols);
    let n = number("n").or_else(|| number("scale").map(f64::exp2)).or(rows).unwrap_or(0.0);
    let edges = match (kind, number("max-clique")) {
        ("dense", _) => n * n / 2.0 * number("density").unwrap_or(0.1),
        // A clique is of any size up to the largest, so its vertices have two thirds of that as neighbours, and a few links.
        ("ssca2", Some(clique)) => n * (clique / 3.0 + 0.7),
        _ => n * number("degree").unwrap_or(usual_degree(kind)) / 2.0,
    };
    edges as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_estimate_is_near_what_is_generated() {
        for spec in [
            "rmat:scale=12",
            "kronecker:scale=10,degree=8",
            "er:n=4000,degree=6",
            "regular:n=4000",
            "ssca2:scale=12",
            "ssca2:scale=12,max-clique=9",
            "ws:n=4000,degree=12",
            "grid:rows=50,cols=80",
            "road:n=4000",
            "delaunay:n=2000",
            "dense:n=300,density=.5",
            "cliques:n=2000,degree=30",
            "web:n=2000",
        ] {
            let edges = kostra::generate(spec).expect("a graph").edges() as f64;
            let ratio = of_spec(spec) as f64 / edges;
            assert!((0.5..2.0).contains(&ratio), "{spec}: {ratio}");
        }
    }
}
