//! Formats: the same graph in each, round trips between all, text in blocks, and one malformed file per error.

#![allow(clippy::unwrap_used)]

use kostra::io::{Format, Ids, ReadOptions, read_with};
use kostra::{Error, Graph, Weight, Weights};

mod blocks;
mod errors;
mod names;
#[cfg(feature = "parquet")]
mod parquet;
mod real;
mod same;
mod trips;

/// The small graph: 0-1 (4), 1-2 (8), 0-2 (7), a parallel 1-0 (5), and vertex 3 alone.
fn small() -> Graph<'static> {
    Graph::from_edges(4, vec![0, 1, 0, 1], vec![1, 2, 2, 0], vec![4u32, 8, 7, 5]).unwrap()
}

/// Every format that is built in.
fn formats() -> impl Iterator<Item = Format> + Clone {
    Format::ALL.into_iter().filter(|&format| cfg!(feature = "parquet") || format != Format::Parquet)
}

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

/// Writes bytes to a file of that name and reads them as a graph.
fn read_bytes(name: &str, bytes: &[u8], options: &ReadOptions) -> kostra::Result<Graph<'static>> {
    let folder = folder();
    let path = folder.path().join(name);
    std::fs::write(&path, bytes).unwrap();
    read_with(&path, options).map_err(|error| match error {
        // Without the folder, whose name changes.
        Error::Io { source, .. } => Error::Io { file: name.into(), source },
        Error::Line { line, what, .. } => Error::Line { file: name.into(), line, what },
        Error::Byte { byte, what, .. } => Error::Byte { file: name.into(), byte, what },
        Error::File { what, .. } => Error::File { file: name.into(), what },
        other => other,
    })
}

/// The edges in order, each with its smaller end first.
fn listed(graph: &Graph) -> Vec<(u32, u32, Weight)> {
    let ordered = |(u, v): (u32, u32)| (u.min(v), u.max(v));
    (0..graph.edges())
        .map(|e| (ordered(graph.endpoints(e)), graph.weights().at(e)))
        .map(|((u, v), w)| (u, v, w))
        .collect()
}

/// The edges as a multiset.
fn multiset(graph: &Graph) -> Vec<String> {
    let mut edges: Vec<String> = listed(graph).iter().map(|(u, v, w)| format!("{u} {v} {w}")).collect();
    edges.sort();
    edges
}

/// The edges of a file as `u v w` lines, by name where it has names.
fn lines_of(name: &str, bytes: &[u8], ids: Ids) -> Vec<String> {
    let options = ReadOptions { ids, ..Default::default() };
    let graph = read_bytes(name, bytes, &options).unwrap_or_else(|e| panic!("{name}: {e}"));
    let shown = |v: u32| graph.names().map_or(v.to_string(), |n| String::from_utf8_lossy(n.at(v)).into_owned());
    let line = |e: usize| {
        let (u, v) = graph.endpoints(e);
        format!("{} {} {}", shown(u), shown(v), graph.weights().at(e))
    };
    (0..graph.edges()).map(line).collect()
}

/// Graphs of every weight type, with parallel edges, isolated vertices, and self-loops if wanted.
fn samples(loops: bool) -> Vec<Graph<'static>> {
    let (mut src, mut dst) = (vec![3, 0, 1, 4, 4, 2], vec![1, 1, 0, 2, 0, 0]);
    if loops {
        src.extend([5, 5, 0]);
        dst.extend([5, 5, 0]);
    }
    let m = src.len();
    let graph = |weights: Weights<'static>| Graph::from_edges(8, src.clone(), dst.clone(), weights).unwrap();
    vec![
        graph(Weights::Unit),
        graph([7, 3, 0, 1, 0, 9, 9, 2, 0u32][..m].to_vec().into()),
        graph([7, 3, 0, 1, u32::MAX, 9, 9, 2, 0][..m].to_vec().into()),
        graph([7, -3, 0, 1, i32::MIN, 9, 9, 2, 0][..m].to_vec().into()),
        graph([7, -3, 0, i64::MAX, 1 << 53, (1 << 53) + 1, 9, 2, 0][..m].to_vec().into()),
        graph([0.1, -3.0, 0.0, 1e-40, f32::INFINITY, 9.5, 9.0, 2.0, 0.0][..m].to_vec().into()),
        graph([0.1, -3.0, 0.0, 5e-324, f64::NEG_INFINITY, 1e300, 9.0, 2.0, 0.0][..m].to_vec().into()),
    ]
}

/// Large enough for many blocks: 400,000 lines.
fn long_list(extra: &str) -> String {
    let mut text = String::new();
    for e in 0..400_000u32 {
        text += &format!("{} {} {}\n", e % 1000, (e * 7) % 1001, e.wrapping_mul(2654435761) >> 8);
        if e == 350_000 {
            text += extra;
        }
    }
    text
}

fn with_threads<T: Send>(threads: usize, work: impl FnOnce() -> T + Send) -> T {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(work)
}
