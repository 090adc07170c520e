//! Round trips: what is written is read back, in every format and between all.

use kostra::io::{Format, ReadOptions, WriteOptions, read_with, write_with};
use kostra::{Error, Graph, Weights};

use super::{folder, formats, listed, multiset, samples, small};

fn keeps_order(format: Format) -> bool {
    !matches!(format, Format::Metis | Format::Egr | Format::Galois)
}

#[test]
fn every_graph_survives_every_format_that_can_hold_it() {
    let folder = folder();
    let (mut written, mut refused) = (0, 0);
    for graph in samples(false).into_iter().chain(samples(true)) {
        for format in formats() {
            for compression in ["", ".gz", ".zst", ".bz2", ".xz"] {
                let path = folder.path().join(format!("x.{}{compression}", format.extensions()[0]));
                match write_with(&graph, &path, &WriteOptions::default()) {
                    Err(Error::CannotHold { instead, .. }) => {
                        assert!(!path.exists());
                        // What the message names can hold it.
                        for other in instead.split(", ").flat_map(|names| names.split(" and ")) {
                            let path = folder.path().join(format!("y.{other}"));
                            write_with(&graph, &path, &WriteOptions::default()).unwrap();
                            std::fs::remove_file(path).unwrap();
                        }
                        refused += 1;
                        continue;
                    }
                    outcome => outcome.unwrap(),
                }
                let again = read_with(&path, &ReadOptions::default()).unwrap_or_else(|e| panic!("{e}"));
                std::fs::remove_file(&path).unwrap();
                assert_eq!(again.vertices(), graph.vertices(), "{format:?}");
                assert_eq!(multiset(&again), multiset(&graph), "{format:?}");
                if keeps_order(format) {
                    assert_eq!(listed(&again), listed(&graph), "{format:?}");
                    let digest = |graph| kostra::minimum_spanning_forest(graph).unwrap().digest();
                    assert_eq!(digest(&again), digest(&graph), "{format:?}");
                }
                if matches!(format, Format::Kostra | Format::Parquet) {
                    assert_eq!(again.weights().type_name(), graph.weights().type_name());
                }
                written += 1;
            }
        }
    }
    assert!(written > 400 && refused > 100, "{written} written, {refused} refused");
}

#[test]
fn round_trips_between_all_pairs_of_formats() {
    let folder = folder();
    let graph = Graph::from_edges(3, vec![0, 1, 0, 1], vec![1, 2, 2, 0], vec![4u32, 8, 7, 5]).unwrap();
    for from in formats() {
        for to in formats() {
            let [a, b] = [from, to].map(|f| folder.path().join(format!("x.{}", f.extensions()[0])));
            write_with(&graph, &a, &WriteOptions::default()).unwrap();
            write_with(&kostra::read(&a).unwrap(), &b, &WriteOptions::default()).unwrap();
            let again = kostra::read(&b).unwrap();
            assert_eq!(multiset(&again), multiset(&graph), "{from:?} to {to:?}");
            if keeps_order(from) && keeps_order(to) {
                assert_eq!(listed(&again), listed(&graph), "{from:?} to {to:?}");
            }
        }
    }
}

#[test]
fn graphs_without_edges_or_vertices_survive() {
    let folder = folder();
    for n in [0, 3] {
        let graph = Graph::from_edges(n, &[], &[], Weights::Unit).unwrap();
        for format in formats().filter(|&f| f != Format::Pbbs) {
            let path = folder.path().join(format!("x.{}", format.extensions()[0]));
            write_with(&graph, &path, &WriteOptions::default()).unwrap();
            let again = kostra::read(&path).unwrap_or_else(|e| panic!("{format:?}: {e}"));
            assert_eq!((again.vertices(), again.edges()), (n, 0), "{format:?}");
        }
    }
}

/// More vertices than ids alone are believed to show, with hardly an edge: with the last one in use or not.
#[test]
fn sparse_graphs_of_many_vertices_survive() {
    let folder = folder();
    let read = |path: &std::path::Path| kostra::read(path).unwrap_or_else(|e| panic!("{e}"));
    for (n, last) in [(20_000_000, 19_999_999), (20_000_000, 5)] {
        let graph = Graph::from_edges(n, vec![0, 7, 3], vec![1, last, 2], vec![4u32, 8, 7]).unwrap();
        for format in [Format::Kostra, Format::Dimacs, Format::DimacsEdge, Format::SteinLib, Format::MatrixMarket]
            .into_iter()
            .chain([Format::EdgeList, Format::Csv, Format::Tsv, Format::Pbbs])
            .chain(formats().filter(|&format| format == Format::Parquet))
        {
            let path = folder.path().join(format!("x.{}", format.extensions()[0]));
            match kostra::write(&graph, &path) {
                Err(Error::CannotHold { .. }) => assert_eq!(format, Format::Pbbs),
                outcome => {
                    outcome.unwrap();
                    assert_eq!((read(&path).vertices(), listed(&read(&path))), (n, listed(&graph)), "{format:?}");
                }
            }
        }
    }
    // Beyond that, what a person writes is taken for a mistake: it is not written, either.
    let graph = Graph::from_edges(300_000_000, vec![0], vec![1], Weights::Unit).unwrap();
    for format in ["gr", "col", "stp", "mtx", "el", "csv", "tsv", "pbbs"] {
        let path = folder.path().join(format!("y.{format}"));
        let refused = kostra::write(&graph, &path).unwrap_err().to_string();
        let expected = "cannot hold 300000000 vertices for 1 edges, which would be taken for a mistake when it is read; kostra can";
        assert!(refused.ends_with(expected), "{refused}");
        assert!(!path.exists());
    }
    let path = folder.path().join("y.kostra");
    kostra::write(&graph, &path).unwrap();
    assert_eq!(read(&path).vertices(), 300_000_000);
}

#[test]
fn an_old_file_survives_what_cannot_be_written() {
    let folder = folder();
    let path = folder.path().join("x.graph");
    kostra::write(&small(), &path).unwrap();
    let old = std::fs::read(&path).unwrap();
    let refused = kostra::write(&samples(true)[0], &path).unwrap_err().to_string();
    assert!(refused.contains("METIS cannot hold self-loops; mtx, wel, csv and kostra can"), "{refused}");
    assert_eq!(std::fs::read(&path).unwrap(), old);
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 1);
}
