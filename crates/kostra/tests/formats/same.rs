//! What files say, in every format: the same graph, its weights, its edges.

use kostra::io::{Ids, ReadOptions};
use kostra::{Graph, Weights};

use super::{folder, lines_of, listed, multiset, read_bytes, small};

#[test]
fn the_same_graph_in_every_text_format() {
    let texts: [(&str, &str); 14] = [
        ("a.gr", "c comment\np sp 4 8\na 1 2 4\na 2 1 4\na 2 3 8\na 1 3 7\na 3 2 8\na 1 2 5\na 3 1 7\na 2 1 5\n"),
        ("a.col", "c comment\np edge 4 4\nn 1 17\ne 1 2 4\ne 2 3 8\ne 1 3 7\ne 2 1 5\n"),
        ("pace.gr", "c comment\np tw 4 4\n1 2 4\n2 3 8\n1 3 7\n2 1 5\n"),
        (
            "a.stp",
            "33D32945 STP File, STP Format Version 1.0\nSECTION Comment\nName \"x\"\nEND\n\nSECTION Graph\n#c\nNodes 4\nEdges 4\n\
             # comment\nE 1 2 4\n#comment\n  # comment\nE 2 3 8\nE 1 3 7\nE 2 1 5\nEND\n\nSECTION Terminals\nTerminals 1\nT 1\nEND\n\nEOF\n",
        ),
        ("a.mtx", "%%MatrixMarket matrix coordinate integer general\n% comment\n4 4 4\n1 2 4\n2 3 8\n1 3 7\n2 1 5\n"),
        ("b.mtx", "%%MatrixMarket matrix coordinate integer symmetric\n4 4 4\n2 1 4\n3 2 8\n3 1 7\n2 1 5\n"),
        ("a.txt", "# Undirected\n# Nodes: 4 Edges: 4\n0\t1\t4\n1\t2\t8\n0\t2\t7\n1\t0\t5\n"),
        ("a.wel", "# Nodes: 4\n0 1 4\r\n1 2 8\r\n\r\n  0 2 7  \r\n1 0 5"),
        ("a.csv", "# Nodes: 4\nsource,target,weight\n0,1,4\n1,2,8\n\"0\", 2 ,7\n1,0,\"5\"\n"),
        ("sep.csv", "# Nodes: 4\nsep=;\n0;1;4\n1;2;8;\n0;2;7\n1;0;5\n"),
        ("b.csv", "# Nodes: 4\nname;cost;to;from\nx;4;1;0\ny;8;2;1\n\"a;\"\"b\";7;2;0\n;5;0;1\n"),
        ("a.tsv", "# Nodes: 4\n0\t1\t4\n1\t2\t8\n0\t2\t7\n1\t0\t5\n"),
        (
            "a.graph",
            " % comment\n4 4 001\n2 4 3 7 2 5\n \t% comment % with % more\n1 4 3 8 1 5\n% comment\n2 8 1 7\n\n",
        ),
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
