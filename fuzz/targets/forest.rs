//! Forest files of any bytes, of a graph with loops, ties and parallel edges: edges of the graph as they are listed, or an error. What
//! the verifier lets through is the forest.
#![no_main]

use std::sync::LazyLock;

use kostra::{Graph, Watch, io, verify};
use libfuzzer_sys::fuzz_target;

static GRAPH: LazyLock<(Graph, Vec<u32>)> = LazyLock::new(|| {
    let src = [0, 0, 1, 1, 2, 3, 3, 4, 4, 6, 6, 5];
    let dst = [1, 1, 2, 1, 0, 4, 5, 5, 3, 7, 7, 5];
    let weights = vec![5i64, 5, -2, 0, 5, 1 << 40, 3, 3, 1, 7, 6, -9];
    let graph = Graph::from_edges(9, src.to_vec(), dst.to_vec(), weights).expect("a graph");
    let edges = kostra_fuzz::proved(&graph, false);
    (graph, edges)
});

fuzz_target!(|bytes: &[u8]| {
    let (graph, edges) = &*GRAPH;
    let file = kostra_fuzz::path("graph.forest");
    std::fs::write(&file, bytes).expect("a file");
    let Ok(mut ids) = io::read_forest(graph, &file, &Watch::new()) else { return };
    assert!(ids.iter().all(|&e| (e as usize) < graph.edges()));
    let is_minimum = verify(graph, &ids, false, &Watch::new()).is_ok();
    ids.sort_unstable();
    assert_eq!(is_minimum, ids == *edges, "{ids:?}");
});
