//! Formats: the same graph in each, round trips between all, one malformed file per error, and the real graphs.

#![allow(clippy::unwrap_used)]

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use kostra::io::{Format, Ids, ReadOptions, WriteOptions, read_with, write_with};
use kostra::{Error, Graph, Watch, Weight, Weights};
use proptest::prelude::*;

/// The small graph: 0-1 (4), 1-2 (8), 0-2 (7), a parallel 1-0 (5), and vertex 3 alone.
fn small() -> Graph<'static> {
    Graph::from_edges(4, vec![0, 1, 0, 1], vec![1, 2, 2, 0], vec![4u32, 8, 7, 5]).unwrap()
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

fn keeps_order(format: Format) -> bool {
    !matches!(format, Format::Metis | Format::Egr | Format::Galois)
}

#[test]
fn the_same_graph_in_every_text_format() {
    let texts: [(&str, &str); 13] = [
        ("a.gr", "c comment\np sp 4 8\na 1 2 4\na 2 1 4\na 2 3 8\na 1 3 7\na 3 2 8\na 1 2 5\na 3 1 7\na 2 1 5\n"),
        ("a.col", "c comment\np edge 4 4\nn 1 17\ne 1 2 4\ne 2 3 8\ne 1 3 7\ne 2 1 5\n"),
        ("pace.gr", "c comment\np tw 4 4\n1 2 4\n2 3 8\n1 3 7\n2 1 5\n"),
        (
            "a.stp",
            "33D32945 STP File, STP Format Version 1.0\nSECTION Comment\nName \"x\"\nEND\n\nSECTION Graph\nNodes 4\nEdges 4\n\
             E 1 2 4\nE 2 3 8\nE 1 3 7\nE 2 1 5\nEND\n\nSECTION Terminals\nTerminals 1\nT 1\nEND\n\nEOF\n",
        ),
        ("a.mtx", "%%MatrixMarket matrix coordinate integer general\n% comment\n4 4 4\n1 2 4\n2 3 8\n1 3 7\n2 1 5\n"),
        ("b.mtx", "%%MatrixMarket matrix coordinate integer symmetric\n4 4 4\n2 1 4\n3 2 8\n3 1 7\n2 1 5\n"),
        ("a.txt", "# Undirected\n# Nodes: 4 Edges: 4\n0\t1\t4\n1\t2\t8\n0\t2\t7\n1\t0\t5\n"),
        ("a.wel", "# Nodes: 4\n0 1 4\r\n1 2 8\r\n\r\n  0 2 7  \r\n1 0 5"),
        ("a.csv", "# Nodes: 4\nsource,target,weight\n0,1,4\n1,2,8\n\"0\", 2 ,7\n1,0,\"5\"\n"),
        ("b.csv", "# Nodes: 4\nname;cost;to;from\nx;4;1;0\ny;8;2;1\n\"a;\"\"b\";7;2;0\n;5;0;1\n"),
        ("a.tsv", "# Nodes: 4\n0\t1\t4\n1\t2\t8\n0\t2\t7\n1\t0\t5\n"),
        ("a.graph", "% comment\n4 4 001\n2 4 3 7 2 5\n1 4 3 8 1 5\n% comment\n2 8 1 7\n\n"),
        ("a.pbbs", "WeightedEdgeArray\n0 1 4\n1 2 8\n0 2 7\n1 0 5\n"),
    ];
    for (name, text) in texts {
        let graph =
            read_bytes(name, text.as_bytes(), &ReadOptions::default()).unwrap_or_else(|e| panic!("{name}: {e}"));
        // PBBS cannot tell of vertex 3, and METIS lists by vertex.
        assert_eq!(graph.vertices(), if name.ends_with("pbbs") { 3 } else { 4 }, "{name}");
        assert_eq!(graph.weights().type_name(), "u32", "{name}");
        match name {
            "a.graph" => assert_eq!(multiset(&graph), multiset(&small()), "{name}"),
            "a.gr" => assert_eq!(multiset(&graph), multiset(&small()), "{name}"),
            _ => assert_eq!(listed(&graph), listed(&small()), "{name}"),
        }
        // Content comes first: a wrong name does no harm where the content is clear.
        if matches!(name, "a.gr" | "a.col" | "pace.gr" | "a.stp" | "a.mtx" | "b.mtx" | "a.pbbs") {
            let graph = read_bytes("a.unknown", text.as_bytes(), &ReadOptions::default()).unwrap();
            assert_eq!(graph.edges(), 4, "{name}");
        }
    }
}

#[test]
fn unweighted_files_have_unit_weights() {
    for (name, text) in [
        ("a.el", "0 1\n1 2\n"),
        ("a.csv", "0,1\n1,2\n"),
        ("a.mtx", "%%MatrixMarket matrix coordinate pattern symmetric\n3 3 2\n2 1\n3 2\n"),
        ("a.graph", "3 2\n2\n1 3\n2\n"),
        ("a.col", "p edge 3 2\ne 1 2\ne 2 3\n"),
        ("a.pbbs", "EdgeArray\n0 1\n1 2\n"),
        ("a.stp", "SECTION Graph\nNodes 3\nEdges 2\nE 1 2\nE 2 3\nEND\n"),
    ] {
        let graph =
            read_bytes(name, text.as_bytes(), &ReadOptions::default()).unwrap_or_else(|e| panic!("{name}: {e}"));
        assert!(graph.weights().is_unit(), "{name}");
        assert_eq!((graph.vertices(), multiset(&graph)), (3, vec!["0 1 1".into(), "1 2 1".into()]), "{name}");
    }
}

#[test]
fn weights_of_text_take_the_smallest_type() {
    for (weights, kind) in [
        (["0", "4294967295"], "u32"),
        (["1", "-1"], "i32"),
        (["4294967295", "-1"], "i64"),
        (["1", "4294967296"], "i64"),
        (["1", "-9223372036854775808"], "i64"),
        (["1", "1.0"], "f64"),
        (["-inf", "3"], "f64"),
        (["1e-320", "-0.0"], "f64"),
    ] {
        let text = format!("0 1 {}\n1 2 {}\n", weights[0], weights[1]);
        let graph = read_bytes("a.wel", text.as_bytes(), &ReadOptions::default()).unwrap();
        assert_eq!(graph.weights().type_name(), kind, "{weights:?}");
    }
    // The banner of Matrix Market settles it.
    let text = "%%MatrixMarket matrix coordinate real general\n2 2 1\n1 2 3\n";
    assert_eq!(read_bytes("a.mtx", text.as_bytes(), &ReadOptions::default()).unwrap().weights().type_name(), "f64");
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

#[test]
fn every_graph_survives_every_format_that_can_hold_it() {
    let folder = folder();
    let (mut written, mut refused) = (0, 0);
    for graph in samples(false).into_iter().chain(samples(true)) {
        for format in Format::ALL {
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
                if format == Format::Kostra {
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
    for from in Format::ALL {
        for to in Format::ALL {
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
        for format in Format::ALL.into_iter().filter(|&f| f != Format::Pbbs) {
            let path = folder.path().join(format!("x.{}", format.extensions()[0]));
            write_with(&graph, &path, &WriteOptions::default()).unwrap();
            let again = kostra::read(&path).unwrap_or_else(|e| panic!("{format:?}: {e}"));
            assert_eq!((again.vertices(), again.edges()), (n, 0), "{format:?}");
        }
    }
}

#[test]
fn arcs_that_are_not_symmetric_are_edges_each() {
    let arcs = [
        // A missing mirror, and a mirror with another weight.
        ("a.gr", "p sp 3 3\na 1 2 4\na 2 1 4\na 3 2 8\n", 3),
        ("b.gr", "p sp 3 2\na 1 2 4\na 2 1 5\n", 2),
        ("c.gr", "p sp 3 4\na 1 2 4\na 2 1 4\na 1 2 4\na 2 1 4\n", 2),
        ("d.gr", "p sp 3 3\na 1 2 2\na 3 3 1\na 2 1 2.0\n", 2),
        ("e.graph", "3 1\n2\n3\n\n", 2),
    ];
    for (name, text, edges) in arcs {
        let graph =
            read_bytes(name, text.as_bytes(), &ReadOptions::default()).unwrap_or_else(|e| panic!("{name}: {e}"));
        assert_eq!(graph.edges(), edges, "{name}");
    }
    let bytes: Vec<u8> = [2u32, 1, 0, 1, 1, 1].iter().flat_map(|x| x.to_le_bytes()).collect();
    assert_eq!(read_bytes("f.egr", &bytes, &ReadOptions::default()).unwrap().edges(), 1);
}

#[test]
fn sparse_ids_are_names_in_order_of_appearance() {
    let sparse = ReadOptions { ids: Ids::Sparse, ..Default::default() };
    for (name, text) in [
        ("a.el", "# comment\nPraha Brno 7\n-5 18446744073709551615 3\nBrno -5 1\n"),
        ("a.csv", "from,to,km\nPraha,Brno,7\n-5,18446744073709551615,3\nBrno,-5,1\n"),
        ("a.tsv", "Praha\tBrno\t7\n-5\t18446744073709551615\t3\nBrno\t-5\t1\n"),
    ] {
        let graph = read_bytes(name, text.as_bytes(), &sparse).unwrap_or_else(|e| panic!("{name}: {e}"));
        assert_eq!(graph.sources(), [0, 2, 1]);
        assert_eq!(graph.targets(), [1, 3, 2]);
        assert_eq!(listed(&graph)[0].2, Weight::Integer(7));
        let names = graph.names().unwrap();
        let all: Vec<_> = (0..4).map(|v| String::from_utf8_lossy(names.at(v)).into_owned()).collect();
        assert_eq!(all, ["Praha", "Brno", "-5", "18446744073709551615"]);

        let folder = folder();
        for extension in ["el", "csv", "tsv"] {
            let path = folder.path().join(format!("x.{extension}"));
            kostra::write(&graph, &path).unwrap();
            let again = read_with(&path, &sparse).unwrap();
            assert_eq!(listed(&again), listed(&graph));
            assert_eq!(again.names().unwrap().at(0), b"Praha");
        }
        let refused = kostra::write(&graph, folder.path().join("x.mtx")).unwrap_err().to_string();
        assert!(refused.contains("el, csv and tsv can"), "{refused}");
    }
    // Names with blanks and quotes need a table.
    let graph = read_bytes("a.csv", b"src,dst\n\"Hradec \"\"K\"\"\",\"a,b\"\n", &sparse).unwrap();
    let folder = folder();
    kostra::write(&graph, folder.path().join("x.csv")).unwrap();
    let again = read_with(folder.path().join("x.csv"), &sparse).unwrap();
    assert_eq!(again.names().unwrap().at(0), b"Hradec \"K\"");
    assert_eq!(again.names().unwrap().at(1), b"a,b");
    let refused = kostra::write(&graph, folder.path().join("x.el")).unwrap_err().to_string();
    assert!(refused.contains("csv and tsv can"), "{refused}");
    let refused = read_bytes("a.gr", b"p sp 2 1\na 1 2 3\n", &sparse).unwrap_err().to_string();
    assert!(refused.contains("sparse ids are for el, csv and tsv"), "{refused}");
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

#[test]
fn first_lines_that_look_like_something_else_are_not_lost() {
    use Ids::{Dense, Sparse};
    let cases: [(&str, &str, Ids, &[&str]); 13] = [
        ("a.csv", "a,b,5\nb,c,6\n", Sparse, &["a b 5", "b c 6"]),
        ("a.csv", "u,v\nv,w\n", Sparse, &["u v 1", "v w 1"]),
        ("a.csv", "from,to\nv,w\n", Sparse, &["v w 1"]),
        ("a.csv", "src,dst,distance,weight\n0,1,9,5\n", Dense, &["0 1 5"]),
        ("a.csv", "%x,b,5\nb,c,6\n", Sparse, &["%x b 5", "b c 6"]),
        ("a.csv", "\"Praha, 1\",Brno,5\nBrno,c,6\n", Sparse, &["Praha, 1 Brno 5", "Brno c 6"]),
        ("a.csv", "\"x,y\";b;5\nb;c;6\n", Sparse, &["x,y b 5", "b c 6"]),
        ("a.el", "p q 5\nq r 6\n", Sparse, &["p q 5", "q r 6"]),
        ("a.el", " # note\n0 1 5\n", Dense, &["0 1 5"]),
        ("plain", "# A graph, of roads\n0 1 5\n", Dense, &["0 1 5"]),
        ("plain", "# Nodes: 2 Edges: 1\nsrc,dst,weight\n0,1,5\n", Dense, &["0 1 5"]),
        ("a.col", "p edge 3 2\n e 1 2 5\ne 2 3 6\n", Dense, &["0 1 5", "1 2 6"]),
        ("a.el", "\u{feff}0 1 5\n", Dense, &["0 1 5"]),
    ];
    for (name, text, ids, expected) in cases {
        assert_eq!(lines_of(name, text.as_bytes(), ids), expected, "{text:?}");
    }
}

#[test]
fn a_point_on_a_dropped_arc_makes_all_weights_floats() {
    let text = "p sp 3 4\na 1 2 5\na 2 1 5.0\na 2 3 0\na 3 2 -0.0\n";
    assert_eq!(lines_of("a.gr", text.as_bytes(), Ids::Dense), ["0 1 5.0", "1 2 0.0"]);
    let text = "%%MatrixMarket matrix coordinate real general\n2 2 1\n1 2 100000000000000000000\n";
    assert_eq!(lines_of("a.mtx", text.as_bytes(), Ids::Dense), ["0 1 1e+20"]);
}

#[test]
fn binary_files_that_begin_like_a_byte_order_mark_are_whole() {
    let n = 0x00BF_BBEF;
    let folder = folder();
    let path = folder.path().join("x.egr.zst");
    kostra::write(&Graph::from_edges(n, &[7], &[9], Weights::Unit).unwrap(), &path).unwrap();
    assert_eq!(kostra::read(&path).unwrap().vertices(), n);
}

#[test]
fn crafted_weights_do_not_pass_for_symmetry() {
    let text = "p sp 4 2\na 1 2 2\na 4 3 5670558282550417800\n";
    assert_eq!(read_bytes("a.gr", text.as_bytes(), &ReadOptions::default()).unwrap().edges(), 2);
}

#[cfg(unix)]
#[test]
fn a_file_full_of_holes_and_a_header_of_vertices_allocate_nothing() {
    let folder = folder();
    let path = folder.path().join("holes.el");
    std::fs::write(&path, "1 1\n".repeat(1 << 18)).unwrap();
    std::fs::File::options().write(true).open(&path).unwrap().set_len(900 << 30).unwrap();
    let message = kostra::read(&path).unwrap_err().to_string();
    assert!(message.contains("holes.el:262145: "), "{message}");
    let path = folder.path().join("vertices.kostra");
    kostra::write(&Graph::from_edges(u32::MAX as usize, &[], &[], Weights::Unit).unwrap(), &path).unwrap();
    let message = kostra::read(&path).unwrap_err().to_string();
    assert!(message.contains("4294967295 vertices for 0 edges would waste memory"), "{message}");
}

/// Every malformed file ends with one line that says where and why.
#[test]
fn malformed_files_say_where_and_why() {
    let table: &[(&str, &[u8], &str)] = &[
        ("empty.el", b"", "empty.el: is empty"),
        ("comments.el", b"# nothing\n", "comments.el: holds no edges"),
        ("a.el", b"0 1\n1 x\n", "a.el:2: \"x\" stands where a vertex id belongs"),
        ("a.el", b"0 1\n1 -2\n", "a.el:2: vertex id \"-2\" is negative"),
        ("a.el", b"0 1\n1\n", "a.el:2: a vertex id is missing"),
        ("a.el", b"0 1 5\n1 2\n", "a.el:2: a weight is missing"),
        ("a.el", b"0 1\n1 2 5\n", "a.el:2: unexpected \"5\" after the last field: the first line has 2 columns"),
        ("a.el", b"0\n", "a.el:1: 1 columns"),
        ("a.el", b"# c\n1 2 3 4 5\n", "a.el:2: 5 columns"),
        ("a.el", b"0 1 nan\n", "a.el:1: the weight is NaN"),
        ("a.el", b"0 1 99999999999999999999\n", "a.el:1: weight \"99999999999999999999\" is too large"),
        ("a.el", b"0 1 1e999\n", "a.el:1: weight \"1e999\" is too large"),
        ("a.el", b"0 4294967295\n", "a.el:1: vertex id 4294967295 does not fit in 32 bits; --ids sparse"),
        ("a.el", b"0 4294967294\n1 2\n", "4294967295 vertices for 2 edges would waste memory; --ids sparse"),
        ("a.el", b"0 99999999999999999999999\n", "a.el:1: vertex id \"99999999999999999999999\" is too large"),
        ("a.el", b"0 1\n2 3\r4\n", "a.el:2: a carriage return in the middle"),
        ("a.xyz", b"0 1\n", "a.xyz: neither the content nor the extension \"xyz\" tells the format; add --format"),
        ("a.bin", b"\x00\x01\x02\x03", "a.bin: is binary and in no format that is known"),
        ("a.csv", b"src,dst\n0\n", "a.csv:2: 1 columns, but an edge needs 2"),
        ("a.csv", b"src,dst,w\n0,1,x\n", "a.csv:2: \"x\" stands where a weight belongs"),
        ("a.csv", b"0,1\n\"0,1\n", "a.csv:2: a quote is not closed"),
        ("a.csv", b"0,1\n0 7,1\n", "a.csv:2: unexpected \"7\" in column 1"),
        ("a.csv", b"src\n0\n", "a.csv:1: one column only"),
        ("a.csv", b"src,dst,km,toll\n0,1,2,3\n", "a.csv:1: no column is named as a weight (weight, w,"),
        ("a.csv", b"src,dst,w\n0,1,\n", "a.csv:2: a weight is missing"),
        ("a.gr", b"c no p line\n", "a.gr: no p line"),
        ("a.gr", b"hello\n", "a.gr:1: expected a p line"),
        ("a.gr", b"p max 3 3\n", "a.gr:1: problem \"max\" is not a graph's"),
        ("a.gr", b"p sp 3\n", "a.gr:1: the number of edges is missing"),
        ("a.gr", b"p sp x 3\n", "a.gr:1: \"x\" stands where the number of vertices belongs"),
        ("a.gr", b"p sp 2 1\na 1 3 4\n", "a.gr:2: vertex 3 is outside 1 to 2"),
        ("a.gr", b"p sp 2 1\na 0 1 4\n", "a.gr:2: vertex 0 is outside 1 to 2"),
        ("a.gr", b"p sp 2 1\na 1 2\n", "a.gr:2: a weight is missing"),
        ("a.gr", b"p sp 2 1\nb 1 2\n", "a.gr:2: \"b\" is no known kind of line"),
        ("a.gr", b"p sp 2 1\na1 2 3\n", "a.gr:2: \"a1\" is no known kind of line"),
        ("a.gr", b"p sp 2 5\na 1 2 3\n", "a.gr:1: the p line promises 5 arcs, the file holds 1; it may be cut short"),
        ("a.gr", b"p sp 4000000000 1\na 1 2 3\n", "a.gr: 4000000000 vertices for 1 edges would waste memory"),
        ("a.gr", b"p sp 5000000000 1\na 1 2 3\n", "5000000000 vertices are too many to hold in memory"),
        ("a.col", b"p edge 2 2\ne 1 2\n", "a.col:1: the p line promises 2 edges, the file holds 1"),
        ("a.stp", b"SECTION Graph\nEdges 1\nE 1 2 3\nEND\n", "a.stp:2: the graph's section has no line \"Nodes N\""),
        (
            "a.stp",
            b"SECTION Graph\nNodes 2\nEdges 2\nE 1 2 3\nEND\n",
            "a.stp:3: the graph's section promises 2 edges and holds 1",
        ),
        ("a.stp", b"SECTION Graph\nNodes 2\nEdges 1\nX 1 2 3\nEND\n", "a.stp:4: \"X\" is no known kind of line"),
        ("a.stp", b"SECTION Terminals\nEND\n", "a.stp: no line \"SECTION Graph\""),
        ("a.mtx", b"1 1 0\n", "a.mtx:1: expected \"%%MatrixMarket"),
        ("a.mtx", b"%%MatrixMarket matrix array real general\n", "\"matrix\" \"array\" holds no graph"),
        ("a.mtx", b"%%MatrixMarket matrix coordinate complex general\n", "field \"complex\" has no order"),
        ("a.mtx", b"%%MatrixMarket matrix coordinate real hermitian\n", "symmetry \"hermitian\" is not"),
        ("a.mtx", b"%%MatrixMarket matrix coordinate real general\n", "a.mtx: no size line"),
        (
            "a.mtx",
            b"%%MatrixMarket matrix coordinate real general\n2 3 1\n1 1 1\n",
            "a.mtx:2: the matrix has 2 rows and 3",
        ),
        (
            "a.mtx",
            b"%%MatrixMarket matrix coordinate integer general\n2 2 1\n1 2 1.5\n",
            "a.mtx:3: weight 1.5 is not an integer",
        ),
        (
            "a.mtx",
            b"%%MatrixMarket matrix coordinate pattern general\n2 2 3\n1 2\n",
            "a.mtx:2: the size line promises 3 entries, the file holds 1",
        ),
        ("a.mtx", b"%%MatrixMarket matrix coordinate pattern general\n2 2 1\n1 2 7\n", "a.mtx:3: unexpected \"7\""),
        ("a.graph", b"% only\n", "a.graph: no header"),
        ("a.graph", b"2 1 7\n2\n1\n", "a.graph:1: format \"7\" is not three digits"),
        ("a.graph", b"3 1\n2\n1\n", "a.graph:1: the header promises 3 vertices, the file has lines for 2"),
        ("a.graph", b"2 1\n2\n1\n1\n", "a.graph:4: a line for vertex 3, but the header promises 2"),
        ("a.graph", b"2 2\n2\n1\n", "a.graph:1: the header promises 2 edges"),
        ("a.graph", b"2 1\n2\n7\n", "a.graph:3: vertex 7 is outside 1 to 2"),
        ("a.graph", b"2 1 001\n2 5\n1\n", "a.graph:3: a weight is missing"),
        ("a.pbbs", b"WeightedEdgeArray\n0 1\n", "a.pbbs:2: a weight is missing"),
        ("a.pbbs", b"EdgeArray\n", "a.pbbs: holds no edges"),
        ("a.pbbs", b"AdjacencyGraph\n", "a.pbbs:1: expected \"WeightedEdgeArray\""),
        ("a.egr", b"\x02\0\0\0\x01\0\0\0", "a.egr: 8 bytes; .egr with the 2 vertices and 1 arcs of its header has 24"),
        ("a.egr", b"\xff\xff\xff\x7f\xff\xff\xff\x7f\0\0\0\0", "a.egr: 12 bytes; .egr with the 2147483647 vertices"),
        ("a.egr", b"\x01\0\0\0\x01\0\0\0\0\0\0\0\x01\0\0\0\x05\0\0\0", "a.egr: byte 16: neighbour 5 does not exist"),
        ("a.egr", b"\x01\0\0\0\x01\0\0\0\0\0\0\0\x07\0\0\0\0\0\0\0", "a.egr: byte 12: the rows end at arc 7"),
        ("a.egr", b"\x01\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0", "a.egr: byte 8: the first row begins at arc 1, not at 0"),
        ("a.sgr", b"\x01\0\0\0\0\0\0\0", "a.sgr: byte 8: the header of 32 bytes is cut short"),
        ("a.sgr", &[2; 40], "a.sgr: byte 0: version"),
        ("a.kostra", b"\x89KOSTRA\n", "a.kostra: byte 8: the header of 64 bytes is cut short"),
        ("a.kostra", &[7; 64], "a.kostra: byte 0: not a kostra file"),
        ("a.el.gz", b"\x1f\x8b\x08\0\0\0\0\0", "the gzip data is cut short; get the file again"),
        ("a.el.xz", b"\xfd7zXZ\0\0\0", "the xz data is"),
        ("a.el.zst", b"\x28\xb5\x2f\xfd\0", "the zstd data is cut short"),
        ("a.el.bz2", b"BZh9", "the bzip2 data is cut short"),
    ];
    for (name, bytes, expected) in table {
        let message = match read_bytes(name, bytes, &ReadOptions::default()) {
            Ok(_) => panic!("{name} {:?} was read", String::from_utf8_lossy(bytes)),
            Err(error) => error.to_string(),
        };
        assert!(message.contains(expected), "{name} {:?}: {message}", String::from_utf8_lossy(bytes));
        assert_eq!(message.lines().count(), 1, "{message}");
    }
}

#[test]
fn damage_to_a_binary_file_is_noticed() {
    let folder = folder();
    let path = folder.path().join("x.kostra");
    kostra::write(&small(), &path).unwrap();
    let good = std::fs::read(&path).unwrap();
    assert_eq!(listed(&read_bytes("y.kostra", &good, &ReadOptions::default()).unwrap()), listed(&small()));
    let payload = [64..80, 128..144, 192..208];
    for at in (0..64).chain(payload.into_iter().flatten()) {
        let mut bad = good.clone();
        bad[at] ^= 1;
        let forced = ReadOptions { format: Some(Format::Kostra), ..Default::default() };
        let message = read_bytes("y.kostra", &bad, &forced).expect_err("damage goes unnoticed").to_string();
        assert!(message.starts_with("y.kostra: byte "), "{at}: {message}");
    }
    for len in 0..good.len() {
        let forced = ReadOptions { format: Some(Format::Kostra), ..Default::default() };
        assert!(read_bytes("y.kostra", &good[..len], &forced).is_err(), "cut to {len} bytes");
    }
}

#[test]
fn compressed_files_cut_short_are_noticed() {
    let folder = folder();
    let graph =
        Graph::from_edges(1000, (0..999).collect::<Vec<_>>(), (1..1000).collect::<Vec<_>>(), Weights::Unit).unwrap();
    for compression in ["gz", "zst", "bz2", "xz"] {
        let path = folder.path().join(format!("x.el.{compression}"));
        kostra::write(&graph, &path).unwrap();
        let good = std::fs::read(&path).unwrap();
        for len in [good.len() / 4, good.len() / 2, good.len() - 5, good.len() - 1] {
            let message = match read_bytes("y.el", &good[..len], &ReadOptions::default()) {
                Ok(_) => panic!("{compression} cut to {len} of {} was read", good.len()),
                Err(error) => error.to_string(),
            };
            assert!(message.contains("cut short") || message.contains("damaged"), "{compression} {len}: {message}");
        }
        // Several members after one another are one file.
        let text = "1000 1001\n";
        let tail = folder.path().join(format!("tail.el.{compression}"));
        kostra::write(&read_bytes("t.el", text.as_bytes(), &ReadOptions::default()).unwrap(), &tail).unwrap();
        let both = [good, std::fs::read(&tail).unwrap()].concat();
        assert_eq!(read_bytes("y.el", &both, &ReadOptions::default()).unwrap().edges(), 1000, "{compression}");
    }
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

#[test]
fn long_files_are_read_alike_by_any_number_of_threads() {
    let text = long_list("");
    let expected: Vec<(u32, u32, u32)> =
        (0..400_000u32).map(|e| (e % 1000, (e * 7) % 1001, e.wrapping_mul(2654435761) >> 8)).collect();
    for threads in [1, 2, 5] {
        let graph = with_threads(threads, || read_bytes("a.wel", text.as_bytes(), &ReadOptions::default())).unwrap();
        let Weights::U32(w) = graph.weights() else { panic!("{}", graph.weights().type_name()) };
        assert!(
            (0..graph.edges()).map(|e| (graph.sources()[e], graph.targets()[e], w[e])).eq(expected.iter().copied())
        );
        // The first error in the file is the one that is told, though later blocks have errors too.
        let wrong = long_list("7 8\n5 5 x\n") + "1 y 3\n";
        let error =
            with_threads(threads, || read_bytes("a.wel", wrong.as_bytes(), &ReadOptions::default())).unwrap_err();
        assert_eq!(error.to_string(), "a.wel:350002: a weight is missing");
        // One decimal in the middle makes all floats.
        let floats = long_list("7 8 0.5\n");
        let graph = with_threads(threads, || read_bytes("a.wel", floats.as_bytes(), &ReadOptions::default())).unwrap();
        assert_eq!((graph.weights().type_name(), graph.edges()), ("f64", 400_001));
        // Names are numbered in file order.
        let sparse = ReadOptions { ids: Ids::Sparse, ..Default::default() };
        let graph = with_threads(threads, || read_bytes("a.wel", text.as_bytes(), &sparse)).unwrap();
        let names = graph.names().unwrap();
        for e in [0, 77_777, 399_999] {
            assert_eq!(names.at(graph.sources()[e]), expected[e].0.to_string().as_bytes());
            assert_eq!(names.at(graph.targets()[e]), expected[e].1.to_string().as_bytes());
        }
        assert_eq!((names.at(0), names.at(1)), (&b"0"[..], &b"1"[..]));
    }
}

#[test]
fn metis_rows_are_counted_across_blocks_and_comments() {
    // A star whose hub's line is longer than a block, and comments in between.
    let n = 300_000u32;
    let mut text = format!("% star\n{n} {}\n", n - 1);
    text += &(2..=n).map(|v| v.to_string()).collect::<Vec<_>>().join(" ");
    for v in 2..=n {
        text += if v % 1000 == 0 { "\n% comment\n1" } else { "\n1" };
    }
    assert!(text.find("\n1\n").unwrap() > 1 << 20);
    for threads in [1, 2, 5] {
        let graph = with_threads(threads, || read_bytes("a.graph", text.as_bytes(), &ReadOptions::default())).unwrap();
        assert_eq!(graph.vertices(), n as usize);
        assert!(graph.sources().iter().all(|&u| u == 0));
        assert!(graph.targets().iter().copied().eq(1..n));
    }
}

#[test]
fn a_set_flag_ends_reading_and_writing_and_leaves_nothing() {
    let watch = || {
        let stop = Arc::new(AtomicBool::new(false));
        let set = Arc::clone(&stop);
        Watch::new().report_to(move |_| set.store(true, Ordering::Relaxed)).stop_when(stop)
    };
    let folder = folder();
    let path = folder.path().join("x.wel");
    std::fs::write(&path, long_list("")).unwrap();
    let graph = kostra::read(&path).unwrap();
    let options = ReadOptions { watch: watch(), ..Default::default() };
    assert!(matches!(read_with(&path, &options), Err(Error::Cancelled)));
    for name in ["y.mtx", "y.wel.gz", "y.wel.xz", "y.gr"] {
        let options = WriteOptions { watch: watch(), ..Default::default() };
        assert!(matches!(write_with(&graph, folder.path().join(name), &options), Err(Error::Cancelled)), "{name}");
    }
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 1, "only what was there before");
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

fn real_graphs() -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/graphs");
    if folder.is_dir() {
        return Some(folder);
    }
    // Straight to standard error, where the test runner does not swallow it.
    let _ = writeln!(std::io::stderr(), "skipped: real graphs; there is no folder shared/graphs beside the project");
    None
}

/// The table of the real graphs: vertices, edges, trees and weight, computed with other programs.
#[test]
fn real_graphs_have_their_known_forests() {
    let Some(folder) = real_graphs() else { return };
    for (name, vertices, edges, trees, weight) in [
        ("USA-road-d.NY.gr.gz", 264_346, 365_050, 1, "261159288"),
        ("osm-cities-de.mtx.xz", 4_931_837, 5_508_134, 6_228, "9878807052"),
        ("pace2018-t3-178.gr.gz", 147_718, 214_176, 1, "185765280"),
        ("uk-2007-05@100000.txt.xz", 100_000, 2_779_575, 1, "99999"),
        ("ego-twitter.txt.gz", 81_307, 1_342_310, 2, "81305"),
        ("dblp-2010.mtx.gz", 326_186, 807_700, 48_493, "277693"),
        ("wave.graph.bz2", 156_317, 1_059_331, 1, "156316"),
    ] {
        let graph = kostra::read(folder.join(name)).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!((graph.vertices(), graph.edges()), (vertices, edges), "{name}");
        let forest = kostra::minimum_spanning_forest(&graph).unwrap();
        assert_eq!((forest.trees(), forest.weight().to_string()), (trees, weight.into()), "{name}");
        kostra::verify(&graph, forest.edges(), false, &kostra::Watch::default()).unwrap();
    }
}

proptest! {
    /// Whatever bytes a file holds, reading it ends with a graph or an error.
    #[test]
    fn damaged_files_never_panic(
        which in 0..Format::ALL.len(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
        cut in any::<prop::sample::Index>(),
        tail in prop::collection::vec(any::<u8>(), 0..12),
        sparse in any::<bool>(),
    ) {
        let folder = folder();
        let format = Format::ALL[which];
        let path = folder.path().join(format!("x.{}", format.extensions()[0]));
        let graph = Graph::from_edges(3, vec![0, 1, 0, 1], vec![1, 2, 2, 0], vec![4u32, 8, 7, 5]).unwrap();
        kostra::write(&graph, &path).unwrap();
        let mut bytes = std::fs::read(&path).unwrap();
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        bytes.truncate(cut.index(bytes.len()) + 1);
        bytes.extend(tail);
        let ids = if sparse && matches!(format, Format::EdgeList | Format::Csv | Format::Tsv) { Ids::Sparse } else { Ids::Dense };
        let options = ReadOptions { format: Some(format), ids, ..Default::default() };
        if let Err(error) = read_bytes("x", &bytes, &options) {
            prop_assert_eq!(error.to_string().lines().count(), 1, "{}", error);
        }
    }
}
