//! Files of any bytes: a graph that holds what it promises and comes back from a file, or an error. In parts they have the same
//! forest.
#![no_main]

use kostra::io::{Format, Ids, ReadOptions, StreamOptions, read_with, solve_files};
use kostra::{Graph, Run, solve};
use libfuzzer_sys::fuzz_target;

/// Larger graphs are read, but not solved: a header may well say that there are many vertices without edges.
const MOST: usize = 1 << 16;

fuzz_target!(|input: &[u8]| {
    // The first byte says in which way the others are read: by their content, or as a format; names as they are, or numbered.
    let [way, bytes @ ..] = input else { return };
    let way = *way as usize;
    let format = (way % 16).checked_sub(1).and_then(|format| Format::ALL.get(format)).copied();
    let ids = if way & 16 == 0 { Ids::Dense } else { Ids::Sparse };
    let file = kostra_fuzz::path("graph.txt");
    std::fs::write(&file, bytes).expect("a file");
    let read = ReadOptions { format, ids, ..Default::default() };
    let streamed = StreamOptions { read: read.clone(), memory: Some(64 << 20), checkpoint: None };
    let Ok(graph) = read_with(&file, &read) else {
        // It must end, whatever it says.
        let _ = solve_files(&[&file], &Run::default(), &streamed);
        return;
    };
    let (n, m) = (graph.vertices(), graph.edges());
    assert_eq!((graph.sources().len(), graph.targets().len()), (m, m));
    assert!(graph.sources().iter().chain(graph.targets()).all(|&v| (v as usize) < n));
    if n > MOST || m > MOST {
        return;
    }
    let edges = kostra_fuzz::proved(&graph, false);
    let forest = solve(&graph, &Run::default()).expect("a forest");
    assert_eq!(forest.edges(), edges);

    // This format holds no names.
    if graph.names().is_none() {
        let copy = kostra_fuzz::path("copy.kostra");
        kostra::write(&graph, &copy).expect("a file that is written");
        assert!(is_same(&graph, &kostra::read(&copy).expect("what was written")));
    }

    if let Ok(parts) = solve_files(&[&file], &Run::default(), &streamed) {
        let expected: Vec<u64> = edges.iter().map(|&e| e.into()).collect();
        assert_eq!(parts.edges(), expected, "in parts");
    }
});

fn is_same(one: &Graph, other: &Graph) -> bool {
    one.vertices() == other.vertices()
        && one.sources() == other.sources()
        && one.targets() == other.targets()
        && one.weights().type_name() == other.weights().type_name()
        && (0..one.edges()).all(|e| one.weights().at(e) == other.weights().at(e))
}
