//! What is wrong with a file is said in one line, and nothing panics.

use kostra::io::{Format, Ids, ReadOptions};
use kostra::{Graph, Weights};
use proptest::prelude::*;

use super::{folder, formats, listed, read_bytes, small};

#[cfg(unix)]
#[test]
fn a_file_full_of_holes_and_a_header_of_vertices_allocate_nothing() {
    let folder = folder();
    let path = folder.path().join("holes.el");
    std::fs::write(&path, "1 1\n".repeat(1 << 18)).unwrap();
    std::fs::File::options().write(true).open(&path).unwrap().set_len(900 << 30).unwrap();
    let message = kostra::read(&path).unwrap_err().to_string();
    assert!(message.contains("holes.el:262145: "), "{message}");
    // What was written is read where there is memory to do something with it.
    let path = folder.path().join("vertices.kostra");
    kostra::write(&Graph::from_edges(u32::MAX as usize, &[], &[], Weights::Unit).unwrap(), &path).unwrap();
    match kostra::read(&path).map_err(|error| error.to_string()) {
        Ok(graph) => assert_eq!((graph.vertices(), graph.edges()), (u32::MAX as usize, 0)),
        Err(message) => assert!(message.contains("4294967295 vertices for 0 edges need 63 GiB of memory"), "{message}"),
    }
}

#[cfg(not(feature = "parquet"))]
#[test]
fn parquet_that_is_not_built_in_is_told() {
    let message = read_bytes("a.parquet", b"PAR1 and more", &ReadOptions::default()).unwrap_err().to_string();
    assert!(message.starts_with("a.parquet: ") && message.ends_with("with its feature `parquet`"), "{message}");
    let folder = folder();
    let message = kostra::write(&small(), folder.path().join("b.parquet")).unwrap_err().to_string();
    assert!(message.ends_with("with its feature `parquet`"), "{message}");
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 0);
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
        ("a.el", b"# Nodes: 4000000000\n0 1\n", "a.el: 4000000000 vertices for 1 edges would waste memory; correct"),
        ("a.el", b"0 99999999999999999999999\n", "a.el:1: vertex id \"99999999999999999999999\" does not fit in 32"),
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
        ("a.csv", b"src,dst\n0,1\n1,2,7\n", "a.csv:3: more cells than the 2 of the first row"),
        ("a.csv", b"0,1\n1,2,,\n", "a.csv:2: more cells than the 2 of the first row"),
        ("a.csv", b"src,dst,w\n0,1,2,\n1,2,3,4\n", "a.csv:3: more cells than the 3 of the first row"),
        ("a.gr", b"c no p line\n", "a.gr: no p line"),
        ("a.gr", b"hello\n", "a.gr:1: expected a p line"),
        ("a.gr", b"p max 3 3\n", "a.gr:1: problem \"max\" is not a graph's"),
        ("a.gr", b"p sp 3\n", "a.gr:1: the number of edges is missing"),
        ("a.gr", b"p sp x 3\n", "a.gr:1: \"x\" stands where the number of vertices belongs"),
        ("a.gr", b"p sp 2 1\na 1 3 4\n", "a.gr:2: vertex 3 is outside 1 to 2"),
        ("a.gr", b"p sp 2 1\na 0 1 4\n", "a.gr:2: vertex 0 is outside 1 to 2"),
        ("a.gr", b"p sp 2 1\na 1 -2 4\n", "a.gr:2: vertex \"-2\" is outside 1 to 2, the header's range"),
        (
            "a.gr",
            b"p sp 2 1\na 1 x 4\n",
            "a.gr:2: \"x\" stands where a vertex id belongs; they are counted from 1 here",
        ),
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
        ("a.mtx", b"%%MatrixMarket matrix coordinate pattern general\n2 2 1\n1 y\n", "a.mtx:3: \"y\" stands where"),
        ("a.mtx", b"%%MatrixMarket matrix coordinate pattern general\n2 2 1\n1 2 7\n", "a.mtx:3: unexpected \"7\""),
        ("a.graph", b"% only\n", "a.graph: no header"),
        ("a.graph", b"2 1 7\n2\n1\n", "a.graph:1: format \"7\" is not three digits"),
        ("a.graph", b"3 1\n2\n1\n", "a.graph:1: the header promises 3 vertices, the file has lines for 2"),
        ("a.graph", b"2 1\n2\n1\n1\n", "a.graph:4: a line for vertex 3, but the header promises 2"),
        ("a.graph", b"2 2\n2\n1\n", "a.graph:1: the header promises 2 edges"),
        ("a.graph", b"2 1\n2\n7\n", "a.graph:3: vertex 7 is outside 1 to 2"),
        ("a.graph", b"2 1\n2\n-1\n", "a.graph:3: vertex \"-1\" is outside 1 to 2"),
        ("a.stp", b"SECTION Graph\nNodes 2\nEdges 1\nE 1 z 3\nEND\n", "a.stp:4: \"z\" stands where"),
        ("a.graph", b"2 1 001\n2 5\n1\n", "a.graph:3: a weight is missing"),
        ("a.pbbs", b"WeightedEdgeArray\n0 1\n", "a.pbbs:2: a weight is missing"),
        ("a.pbbs", b"EdgeArray\n", "a.pbbs: holds no edges"),
        ("a.pbbs", b"EdgeArray\n0 -2\n", "a.pbbs:2: vertex id \"-2\" is negative; without its first line the file is"),
        ("a.pbbs", b"EdgeArray\n0 4294967295\n", "a.pbbs:2: vertex id 4294967295 does not fit in 32 bits; without its"),
        ("a.pbbs", b"EdgeArray\na b\n", "a.pbbs:2: \"a\" stands where a vertex id belongs; without its first line"),
        (
            "a.pbbs",
            b"EdgeArray\n0 4000000000\n",
            "a.pbbs: 4000000001 vertices for 1 edges would waste memory; without its first line the file is an edge list",
        ),
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
        // Advice is for this file: sparse ids are for edge lists and tables.
        let is_list = [".el", ".csv", ".tsv"].iter().any(|extension| name.contains(extension));
        let says_where = ["--format el", "edge lists and tables"].iter().any(|place| message.contains(place));
        assert!(is_list || says_where || !message.contains("--ids"), "{message}");
    }
}

#[test]
fn the_way_out_that_pbbs_names_is_one() {
    let text = "WeightedEdgeArray\na 4000000000 5\n-2 a 7\n";
    let refused = read_bytes("a.pbbs", text.as_bytes(), &ReadOptions::default()).unwrap_err().to_string();
    assert!(
        refused.contains("without its first line the file is an edge list, where --format el --ids sparse"),
        "{refused}"
    );
    let (_, rest) = text.split_once('\n').unwrap();
    let options = ReadOptions { format: Some(Format::EdgeList), ids: Ids::Sparse, ..Default::default() };
    assert_eq!(read_bytes("a.pbbs", rest.as_bytes(), &options).unwrap().vertices(), 3);
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

#[test]
fn what_follows_compressed_data_is_told_from_damage() {
    let folder = folder();
    for (compression, name) in [("gz", "gzip"), ("zst", "zstd"), ("bz2", "bzip2"), ("xz", "xz")] {
        let path = folder.path().join(format!("x.el.{compression}"));
        kostra::write(&small(), &path).unwrap();
        let good = std::fs::read(&path).unwrap();
        let with = |tail: &[u8]| read_bytes("y.el", &[&good, tail].concat(), &ReadOptions::default());
        let text = b"\0\0\0\0junk that is longer than any header of a compressed file";
        for junk in [&b"x"[..], text, &[0xff; 70_000]] {
            let message = with(junk).unwrap_err().to_string();
            let expected = format!("y.el: something else follows the end of the {name} data; cut it off");
            assert_eq!(message, expected, "{} bytes", junk.len());
        }
        for zeros in [1, 4, 511, 300_000] {
            assert_eq!(with(&vec![0; zeros]).unwrap().edges(), 4, "{name}");
        }
        assert_eq!(with(&[&[0; 512], &good[..]].concat()).unwrap().edges(), 8, "{name}");
        // Many members are read one after another, not one inside the other.
        assert_eq!(with(&good.repeat(3000)).unwrap().edges(), 4 * 3001, "{name}");
    }
}

proptest! {
    /// Whatever bytes a file holds, reading it ends with a graph or an error.
    #[test]
    fn damaged_files_never_panic(
        which in any::<prop::sample::Index>(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
        cut in any::<prop::sample::Index>(),
        tail in prop::collection::vec(any::<u8>(), 0..12),
        sparse in any::<bool>(),
    ) {
        let folder = folder();
        let format = formats().nth(which.index(formats().count())).unwrap();
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
        let ids = if sparse && matches!(format, Format::EdgeList | Format::Csv | Format::Tsv | Format::Parquet) { Ids::Sparse } else { Ids::Dense };
        let options = ReadOptions { format: Some(format), ids, ..Default::default() };
        if let Err(error) = read_bytes("x", &bytes, &options) {
            prop_assert_eq!(error.to_string().lines().count(), 1, "{}", error);
        }
    }
}
