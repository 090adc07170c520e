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
