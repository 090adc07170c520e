//! Sparse ids: names in, names out.

use kostra::Weight;
use kostra::io::{Ids, ReadOptions, WriteOptions, read_with, write_forest, write_labels};

use super::{folder, listed, read_bytes};

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
        assert!(refused.contains("el, csv, tsv and parquet can"), "{refused}");
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
    assert!(refused.contains("sparse ids are for el, csv, tsv and parquet"), "{refused}");
}

#[test]
fn names_with_blanks_need_tables() {
    let sparse = ReadOptions { ids: Ids::Sparse, ..Default::default() };
    let graph = read_bytes("a.csv", b"src,dst,km\nHradec Kralove,\"a,b\",7\n", &sparse).unwrap();
    let forest = kostra::minimum_spanning_forest(&graph).unwrap();
    let (folder, options) = (folder(), WriteOptions::default());
    let path = |name: &str| folder.path().join(name);
    let written = |name: &str| std::fs::read_to_string(path(name)).unwrap();

    let refused = write_forest(&graph, &forest, path("x.forest"), &options).unwrap_err().to_string();
    assert!(refused.contains("a file of forest lines cannot hold the vertex name \"Hradec Kralove\""), "{refused}");
    assert!(refused.ends_with("; a table of the forest's edges (-o FILE.csv or FILE.tsv) can"), "{refused}");
    write_forest(&graph, &forest, path("x.csv"), &options).unwrap();
    assert_eq!(written("x.csv"), "src,dst,weight\nHradec Kralove,\"a,b\",7\n");

    let labels = forest.labels(&graph);
    let refused = write_labels(&graph, &labels, path("x.labels"), &options.watch).unwrap_err().to_string();
    assert!(refused.contains("a file of label lines cannot hold the vertex name \"Hradec Kralove\""), "{refused}");
    assert!(refused.ends_with("; a table (--labels FILE.csv or FILE.tsv) can"), "{refused}");
    write_labels(&graph, &labels, path("labels.csv"), &options.watch).unwrap();
    assert_eq!(written("labels.csv"), "vertex,label\nHradec Kralove,0\n\"a,b\",0\n");
    write_labels(&graph, &labels, path("labels.tsv"), &options.watch).unwrap();
    assert_eq!(written("labels.tsv"), "vertex\tlabel\nHradec Kralove\t0\na,b\t0\n");
}
