//! Parquet: what other writers write, what is wrong with it, and what is kept on the way there and back.

use std::sync::Arc;

use ::parquet::basic::{Compression, Encoding, GzipLevel, ZstdLevel};
use ::parquet::column::writer::ColumnWriter;
use ::parquet::data_type::{ByteArray, FixedLenByteArray};
use ::parquet::file::metadata::KeyValue;
use ::parquet::file::properties::{WriterProperties, WriterVersion};
use ::parquet::file::reader::FileReader;
use ::parquet::file::serialized_reader::SerializedFileReader;
use ::parquet::file::writer::SerializedFileWriter;
use ::parquet::schema::parser::parse_message_type;
use kostra::io::{Ids, ReadOptions, WriteOptions, read_with, write_forest, write_with};
use kostra::{Graph, Weights};
use proptest::prelude::*;

use super::{folder, lines_of, listed, read_bytes, samples, small, with_threads};

/// The values of a column in a row group.
enum Values<'a> {
    I32(&'a [i32]),
    I64(&'a [i64]),
    F32(&'a [f32]),
    F64(&'a [f64]),
    Text(&'a [&'a str]),
    Fixed(&'a [&'a [u8]]),
    Bool(&'a [bool]),
    /// Optional integers.
    Maybe(&'a [Option<i64>]),
}
use Values::{Bool, F32, F64, Fixed, I32, I64, Maybe, Text};

/// A file as another program would write it: columns of this schema, row group by row group.
fn table(columns: &str, properties: WriterProperties, groups: &[&[Values]]) -> Vec<u8> {
    let schema = parse_message_type(&format!("message schema {{ {columns} }}")).unwrap();
    let mut writer = SerializedFileWriter::new(Vec::new(), Arc::new(schema), Arc::new(properties)).unwrap();
    for group in groups {
        let mut row_group = writer.next_row_group().unwrap();
        for values in *group {
            let mut column = row_group.next_column().unwrap().unwrap();
            match (column.untyped(), values) {
                (ColumnWriter::Int32ColumnWriter(writer), I32(all)) => writer.write_batch(all, None, None).unwrap(),
                (ColumnWriter::Int64ColumnWriter(writer), I64(all)) => writer.write_batch(all, None, None).unwrap(),
                (ColumnWriter::FloatColumnWriter(writer), F32(all)) => writer.write_batch(all, None, None).unwrap(),
                (ColumnWriter::DoubleColumnWriter(writer), F64(all)) => writer.write_batch(all, None, None).unwrap(),
                (ColumnWriter::BoolColumnWriter(writer), Bool(all)) => writer.write_batch(all, None, None).unwrap(),
                (ColumnWriter::ByteArrayColumnWriter(writer), Text(all)) => {
                    let all: Vec<ByteArray> = all.iter().map(|&text| text.into()).collect();
                    writer.write_batch(&all, None, None).unwrap()
                }
                (ColumnWriter::FixedLenByteArrayColumnWriter(writer), Fixed(all)) => {
                    let all: Vec<_> = all.iter().map(|bytes| FixedLenByteArray::from(bytes.to_vec())).collect();
                    writer.write_batch(&all, None, None).unwrap()
                }
                (ColumnWriter::Int64ColumnWriter(writer), Maybe(all)) => {
                    let levels: Vec<i16> = all.iter().map(|value| value.is_some().into()).collect();
                    let some: Vec<i64> = all.iter().copied().flatten().collect();
                    writer.write_batch(&some, Some(&levels), None).unwrap()
                }
                _ => panic!("the values do not fit the schema"),
            };
            column.close().unwrap();
        }
        row_group.close().unwrap();
    }
    writer.into_inner().unwrap()
}

fn plain() -> WriterProperties {
    WriterProperties::builder().build()
}

/// The small graph as most programs would write it.
fn foreign() -> Vec<u8> {
    let columns = "required int64 src; required int64 dst; required double weight;";
    table(columns, plain(), &[&[I64(&[0, 1, 0, 1]), I64(&[1, 2, 2, 0]), F64(&[4.0, 8.0, 7.0, 5.0])]])
}

fn options(columns: &str) -> ReadOptions {
    ReadOptions { columns: Some(columns.parse().unwrap()), ..Default::default() }
}

#[test]
fn files_of_other_writers_are_read() {
    let edges = ["0 1 4", "1 2 8", "0 2 7", "1 0 5"];
    let floats = ["0 1 4.0", "1 2 8.0", "0 2 7.0", "1 0 5.0"];
    assert_eq!(lines_of("a.parquet", &foreign(), Ids::Dense), floats);
    // Content comes first.
    assert_eq!(lines_of("a.gr", &foreign(), Ids::Dense), floats);

    // Row groups, some of them empty; columns in another order; others between; pages of the second version.
    let properties = WriterProperties::builder()
        .set_writer_version(WriterVersion::PARQUET_2_0)
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .build();
    let columns = "required float Cost; required binary note (UTF8); required int64 TO; required int64 From;";
    let bytes = table(
        columns,
        properties,
        &[
            &[F32(&[4.0, 8.0]), Text(&["x", ""]), I64(&[1, 2]), I64(&[0, 1])],
            &[F32(&[]), Text(&[]), I64(&[]), I64(&[])],
            &[F32(&[7.0]), Text(&["z"]), I64(&[2]), I64(&[0])],
            &[F32(&[5.0]), Text(&["x"]), I64(&[0]), I64(&[1])],
        ],
    );
    assert_eq!(lines_of("a.pq", &bytes, Ids::Dense), floats);

    // Every codec and encoding.
    for codec in [
        Compression::UNCOMPRESSED,
        Compression::SNAPPY,
        Compression::GZIP(GzipLevel::default()),
        Compression::LZ4_RAW,
        Compression::ZSTD(ZstdLevel::default()),
    ] {
        for encoding in [None, Some(Encoding::PLAIN), Some(Encoding::DELTA_BINARY_PACKED)] {
            let properties = WriterProperties::builder().set_compression(codec);
            let properties = match encoding {
                None => properties,
                Some(encoding) => properties.set_dictionary_enabled(false).set_encoding(encoding),
            };
            let columns = "required int32 u (INTEGER(16,true)); required int32 v; required int64 w;";
            let values: &[Values] = &[I32(&[0, 1, 0, 1]), I32(&[1, 2, 2, 0]), I64(&[4, 8, 7, 5])];
            let bytes = table(columns, properties.build(), &[values]);
            assert_eq!(lines_of("a.parquet", &bytes, Ids::Dense), edges, "{codec} {encoding:?}");
        }
    }

    // Optional columns in which nothing is missing.
    let columns = "optional int64 src; optional int64 dst; optional int64 weight;";
    let some = |all: &[i64]| all.iter().map(|&x| Some(x)).collect::<Vec<_>>();
    let (src, dst, weight) = (some(&[0, 1, 0, 1]), some(&[1, 2, 2, 0]), some(&[4, 8, 7, 5]));
    let bytes = table(columns, plain(), &[&[Maybe(&src), Maybe(&dst), Maybe(&weight)]]);
    assert_eq!(lines_of("a.parquet", &bytes, Ids::Dense), edges);
}

#[test]
fn weights_keep_the_type_of_their_column() {
    let halves: &[&[u8]] = &[&0x3c00u16.to_le_bytes(), &0xfc00u16.to_le_bytes()];
    let cases: [(&str, Values, &str, [&str; 2]); 13] = [
        ("int32 w", I32(&[-1, 7]), "i32", ["-1", "7"]),
        ("int32 w (INTEGER(8,true))", I32(&[-1, 7]), "i32", ["-1", "7"]),
        ("int32 w (INT_16)", I32(&[-1, 7]), "i32", ["-1", "7"]),
        ("int32 w (INTEGER(8,false))", I32(&[1, 255]), "u32", ["1", "255"]),
        ("int32 w (UINT_16)", I32(&[1, 7]), "u32", ["1", "7"]),
        ("int32 w (INTEGER(32,false))", I32(&[-1, 7]), "u32", ["4294967295", "7"]),
        ("int64 w", I64(&[i64::MIN, 7]), "i64", ["-9223372036854775808", "7"]),
        ("int64 w (INTEGER(64,false))", I64(&[i64::MAX, 7]), "i64", ["9223372036854775807", "7"]),
        ("int64 w (UINT_64)", I64(&[0, 7]), "i64", ["0", "7"]),
        ("float w", F32(&[0.1, f32::INFINITY]), "f32", ["0.10000000149011612", "inf"]),
        ("double w", F64(&[0.1, -0.0]), "f64", ["0.1", "-0.0"]),
        ("fixed_len_byte_array(2) w (FLOAT16)", Fixed(halves), "f32", ["1.0", "-inf"]),
        ("double km", F64(&[1.5, 2.0]), "f64", ["1.5", "2.0"]),
    ];
    for (column, weights, kind, shown) in cases {
        let columns = format!("required int32 src; required int32 dst; required {column};");
        let bytes = table(&columns, plain(), &[&[I32(&[0, 1]), I32(&[1, 2]), weights]]);
        let graph =
            read_bytes("a.parquet", &bytes, &ReadOptions::default()).unwrap_or_else(|e| panic!("{column}: {e}"));
        assert_eq!(graph.weights().type_name(), kind, "{column}");
        assert_eq!([0, 1].map(|e| graph.weights().at(e).to_string()), shown, "{column}");
    }
    let bytes = table("required int32 src; required int32 dst;", plain(), &[&[I32(&[0, 1]), I32(&[1, 2])]]);
    assert!(read_bytes("a.parquet", &bytes, &ReadOptions::default()).unwrap().weights().is_unit());
    // The index that pandas keeps is no weight.
    let columns = "required int64 __index_level_0__; required int32 src; required int32 dst;";
    let bytes = table(columns, plain(), &[&[I64(&[5, 6]), I32(&[0, 1]), I32(&[1, 2])]]);
    assert_eq!(lines_of("a.parquet", &bytes, Ids::Dense), ["0 1 1", "1 2 1"]);
}

#[test]
fn sparse_ids_are_integers_of_any_value_or_names() {
    let columns = "required int64 src; required int64 dst (INTEGER(64,false)); required int32 w;";
    let bytes =
        table(columns, plain(), &[&[I64(&[-5, 3]), I64(&[-1, 7]), I32(&[1, 2])], &[I64(&[7]), I64(&[3]), I32(&[3])]]);
    assert_eq!(lines_of("a.parquet", &bytes, Ids::Sparse), ["-5 18446744073709551615 1", "3 7 2", "7 3 3"]);
    // With a dictionary and without, with and without the mark of text.
    for (mark, dictionary) in [("(UTF8)", true), ("(STRING)", false), ("", true)] {
        let columns = format!("required binary src {mark}; required binary dst {mark}; required int32 w;");
        let properties = WriterProperties::builder().set_dictionary_enabled(dictionary).build();
        let groups: [&[Values]; 2] = [
            &[Text(&["Praha", "Brno"]), Text(&["Brno", "Hradec Králové"]), I32(&[205, 143])],
            &[Text(&["Praha"]), Text(&["Plzeň, \"x\""]), I32(&[90])],
        ];
        let bytes = table(&columns, properties, &groups);
        let sparse = ReadOptions { ids: Ids::Sparse, ..Default::default() };
        let graph = read_bytes("a.parquet", &bytes, &sparse).unwrap();
        assert_eq!((graph.sources(), graph.targets()), (&[0, 1, 0][..], &[1, 2, 3][..]));

        let folder = folder();
        let path = folder.path().join("b.parquet");
        kostra::write(&graph, &path).unwrap();
        let again = read_with(&path, &sparse).unwrap();
        let names = again.names().unwrap();
        let all: Vec<_> = (0..4).map(|v| std::str::from_utf8(names.at(v)).unwrap()).collect();
        assert_eq!(all, ["Praha", "Brno", "Hradec Králové", "Plzeň, \"x\""]);
        assert_eq!(listed(&again), listed(&graph));
        let numbers = WriteOptions { numbers: true, ..Default::default() };
        write_with(&graph, &path, &numbers).unwrap();
        assert_eq!(listed(&kostra::read(&path).unwrap()), listed(&graph));
    }
}

#[test]
fn columns_can_be_named() {
    let columns = "required int32 a; required int32 B; required int32 b; required double x; required double y;";
    let values: &[Values] = &[I32(&[0]), I32(&[1]), I32(&[2]), F64(&[5.0]), F64(&[6.0])];
    let bytes = table(columns, plain(), &[values]);
    let csv = b"a,B,b,x,y\n0,1,2,5.0,6.0\n";
    let tsv = b"a\tB\tb\tx\ty\n0\t1\t2\t5.0\t6.0\n";
    for (name, bytes) in [("a.parquet", &bytes[..]), ("a.csv", csv), ("a.tsv", tsv)] {
        for (wanted, edge) in
            [("a,B,x", "0 1 5.0"), ("a,b,y", "0 2 6.0"), ("A,b", "0 2 1"), ("b,a,X", "2 0 5.0"), (" B , b ", "1 2 1")]
        {
            let graph = read_bytes(name, bytes, &options(wanted)).unwrap_or_else(|e| panic!("{name} {wanted}: {e}"));
            let (u, v) = graph.endpoints(0);
            assert_eq!(format!("{u} {v} {}", graph.weights().at(0)), edge, "{name} {wanted}");
        }
        for (wanted, what) in [
            ("a,z", r#"no column is named "z"; there are "a", "B", "b", "x", "y""#),
            ("a,b,z", r#"no column is named "z""#),
            ("a,a", "one column is named twice in a,a"),
            ("a,b,A", "one column is named twice in a,b,A"),
        ] {
            let message = read_bytes(name, bytes, &options(wanted)).unwrap_err().to_string();
            assert!(message.starts_with(name) && message.contains(what), "{message}");
        }
        let message = read_bytes(name, bytes, &ReadOptions::default()).unwrap_err().to_string();
        assert!(message.contains("no column is named as a weight"), "{message}");
    }
    // A first row that could be data is the header when columns are named.
    let graph = read_bytes("a.csv", b"7,8\n0,1\n", &options("8,7")).unwrap();
    assert_eq!((graph.edges(), graph.endpoints(0)), (1, (1, 0)));
    let message = read_bytes("a.csv", b"0,1,5\n", &options("src,dst")).unwrap_err().to_string();
    assert!(message.contains(r#"a.csv:1: no column is named "src"; there are "0", "1", "5""#), "{message}");
    for (name, text) in [("a.el", &b"0 1\n"[..]), ("a.gr", b"p sp 2 1\na 1 2 3\n")] {
        let message = read_bytes(name, text, &options("src,dst")).unwrap_err().to_string();
        assert!(message.contains("has no columns to choose from; --columns is for csv, tsv and parquet"), "{message}");
    }
    for wrong in ["", "a", "a,", ",b", "a,b,", "a,b,c,d"] {
        let message = wrong.parse::<kostra::io::Columns>().unwrap_err().to_string();
        assert!(message.ends_with("columns are SRC,DST or SRC,DST,WEIGHT"), "{message}");
    }
}

#[test]
fn what_is_wrong_is_said_in_one_line() {
    let both = "required int64 src; required int64 dst;";
    let weighted = |column: &str| format!("required int32 src; required int32 dst; required {column};");
    let (u, v) = (|| I32(&[0, 1]), || I32(&[1, 2]));
    let cases: Vec<(Vec<u8>, &str)> = vec![
        (
            table(both, plain(), &[&[I64(&[0, 1]), I64(&[1, 2])], &[I64(&[0, 1]), I64(&[1, -2])]]),
            "row 3: column \"dst\": vertex id -2 is negative; --ids sparse takes it",
        ),
        (
            table(both, plain(), &[&[I64(&[0, 4294967295]), I64(&[1, 2])]]),
            "row 1: column \"src\": vertex id 4294967295 does not fit in 32 bits; --ids sparse takes it",
        ),
        (
            table("required int64 src (UINT_64); required int32 dst;", plain(), &[&[I64(&[-1]), I32(&[1])]]),
            "row 0: column \"src\": vertex id 18446744073709551615 does not fit in 32 bits",
        ),
        (
            table("required int32 src; required int32 dst (UINT_32);", plain(), &[&[I32(&[0]), I32(&[-1])]]),
            "row 0: column \"dst\": vertex id 4294967295 does not fit",
        ),
        (
            table("required int32 src; required int32 dst;", plain(), &[&[I32(&[0, -3]), I32(&[0, 1])]]),
            "row 1: column \"src\": vertex id -3 is negative",
        ),
        (
            table(both, plain(), &[&[I64(&[0]), I64(&[4294967294])]]),
            "4294967295 vertices for 1 edges would waste memory; --ids sparse",
        ),
        (
            table("required int64 src; optional int64 dst;", plain(), &[&[I64(&[0, 1]), Maybe(&[Some(1), None])]]),
            "row 1: column \"dst\": is null; remove the row or give it a value",
        ),
        (
            table(&weighted("float w"), plain(), &[&[u(), v(), F32(&[1.0, f32::NAN])]]),
            "row 1: column \"w\": the weight is NaN",
        ),
        (
            table(&weighted("double w"), plain(), &[&[u(), v(), F64(&[f64::NAN, 1.0])]]),
            "row 0: column \"w\": the weight is NaN",
        ),
        (
            table(&weighted("int64 w (UINT_64)"), plain(), &[&[u(), v(), I64(&[1, -1])]]),
            "row 1: column \"w\": the weight 18446744073709551615 does not fit in 64 bits with a sign",
        ),
        (
            table(&weighted("int64 w (DECIMAL(9,2))"), plain(), &[&[u(), v(), I64(&[1, 1])]]),
            "column \"w\" holds decimals; weights are integers or floats: convert it, or name other columns (--columns",
        ),
        (table(&weighted("int32 w (DATE)"), plain(), &[&[u(), v(), I32(&[1, 1])]]), "column \"w\" holds times;"),
        (table(&weighted("boolean w"), plain(), &[&[u(), v(), Bool(&[true, false])]]), "column \"w\" holds booleans;"),
        (table(&weighted("binary w (UTF8)"), plain(), &[&[u(), v(), Text(&["", ""])]]), "column \"w\" holds strings;"),
        (
            table("required binary src (UTF8); required int32 dst;", plain(), &[&[Text(&["x"]), I32(&[1])]]),
            "column \"src\" holds names; --ids sparse reads them",
        ),
        (
            table("required float src; required int32 dst;", plain(), &[&[F32(&[0.0]), I32(&[1])]]),
            "column \"src\" holds floats; vertices are integers or names",
        ),
        (
            table("required group src { required int32 x; } required int32 dst;", plain(), &[&[I32(&[0]), I32(&[1])]]),
            "column \"src\" holds lists or structures; vertices are integers or names",
        ),
        (
            table("required int32 x; required int32 y;", plain(), &[&[I32(&[0]), I32(&[1])]]),
            "no two columns are named as endpoints (src source from",
        ),
        (
            table(
                both,
                WriterProperties::builder()
                    .set_key_value_metadata(Some(vec![KeyValue::new("kostra.vertices".into(), "many".to_string())]))
                    .build(),
                &[&[I64(&[0]), I64(&[1])]],
            ),
            "its entry kostra.vertices is \"many\", not a number of vertices",
        ),
        (
            table(
                both,
                WriterProperties::builder()
                    .set_key_value_metadata(Some(vec![KeyValue::new(
                        "kostra.vertices".into(),
                        "5000000000".to_string(),
                    )]))
                    .build(),
                &[&[I64(&[0]), I64(&[1])]],
            ),
            "a.parquet: 5000000000 vertices are too many to hold in memory",
        ),
        (b"PAR1".to_vec(), "the Parquet data cannot be read ("),
        (b"PAR1 and then PAR1".to_vec(), "the Parquet data cannot be read ("),
        (foreign()[..foreign().len() - 9].to_vec(), "the Parquet data cannot be read ("),
    ];
    for (bytes, what) in cases {
        let message = read_bytes("a.parquet", &bytes, &ReadOptions::default()).unwrap_err().to_string();
        assert!(message.starts_with("a.parquet: ") && message.contains(what), "{message:?} lacks {what:?}");
        assert!(!message.contains('\n') && message.len() < 400, "{message:?}");
    }
    let empty =
        table("required binary src (UTF8); required binary dst (UTF8);", plain(), &[&[Text(&["x"]), Text(&[""])]]);
    let sparse = ReadOptions { ids: Ids::Sparse, ..Default::default() };
    let message = read_bytes("a.parquet", &empty, &sparse).unwrap_err().to_string();
    assert!(message.contains("row 0: column \"dst\": a vertex is missing"), "{message}");
}

#[test]
fn types_and_lonely_vertices_survive_a_round_trip() {
    let folder = folder();
    for name in ["x.parquet", "x.pq", "x.parquet.gz"] {
        let path = folder.path().join(name);
        for graph in samples(true).into_iter().chain([small()]) {
            kostra::write(&graph, &path).unwrap();
            let again = kostra::read(&path).unwrap();
            assert_eq!((again.vertices(), again.edges()), (graph.vertices(), graph.edges()));
            assert_eq!((again.sources(), again.targets()), (graph.sources(), graph.targets()));
            assert_eq!(again.weights().type_name(), graph.weights().type_name());
            assert_eq!(listed(&again), listed(&graph));
        }
    }
    // Also without an edge.
    let path = folder.path().join("x.parquet");
    kostra::write(&Graph::from_edges(3, &[], &[], Weights::from(&[0.0f32; 0])).unwrap(), &path).unwrap();
    let again = kostra::read(&path).unwrap();
    assert_eq!((again.vertices(), again.edges(), again.weights().type_name()), (3, 0, "f32"));
}

#[test]
fn a_forest_is_written_as_a_table() {
    let folder = folder();
    let path = folder.path().join("forest.parquet");
    let graph = small();
    let forest = kostra::minimum_spanning_forest(&graph).unwrap();
    write_forest(&graph, &forest, &path, &WriteOptions::default()).unwrap();
    assert_eq!(lines_of("f.parquet", &std::fs::read(&path).unwrap(), Ids::Dense), ["0 1 4", "0 2 7"]);
    let reader = SerializedFileReader::new(std::fs::File::open(&path).unwrap()).unwrap();
    let columns = reader.metadata().file_metadata().schema_descr().columns();
    assert_eq!(columns.iter().map(|column| column.name()).collect::<Vec<_>>(), ["src", "dst", "weight"]);
}

#[test]
fn row_groups_and_their_parts_are_joined_in_order() {
    // One row group that is read in three parts whose bounds are inside pages, and a small one.
    let m = (5 << 19) + 77;
    let weight = |e: usize| ((e as u32).wrapping_mul(2654435761) >> 8) as i32;
    let src: Vec<i32> = (0..m as i32).map(|e| e % 1000).collect();
    let dst: Vec<i64> = (0..m as i64).map(|e| e * 7 % 1001).collect();
    let w: Vec<i32> = (0..m).map(weight).collect();
    let columns = "required int32 src; required int64 dst; required int32 w;";
    let small: &[Values] = &[I32(&[3]), I64(&[4]), I32(&[5])];
    for dictionary in [false, true] {
        let properties =
            WriterProperties::builder().set_dictionary_enabled(dictionary).set_max_row_group_row_count(None);
        let bytes = table(columns, properties.build(), &[&[I32(&src), I64(&dst), I32(&w)], small]);
        for threads in [1, 3] {
            let graph = with_threads(threads, || read_bytes("a.parquet", &bytes, &ReadOptions::default())).unwrap();
            assert_eq!((graph.edges(), graph.vertices()), (m + 1, 1000), "{dictionary}");
            assert!((0..m).all(|e| graph.endpoints(e) == (src[e] as u32, dst[e] as u32)));
            let Weights::I32(weights) = graph.weights() else { panic!("{:?}", graph.weights().type_name()) };
            assert!(weights[..m] == w && weights[m] == 5);
        }
    }
    // Ours: row groups of 2^20 rows.
    let folder = folder();
    let path = folder.path().join("x.parquet");
    let graph = kostra::generate("rmat:scale=17,multi=true,weights=float").unwrap();
    kostra::write(&graph, &path).unwrap();
    let reader = SerializedFileReader::new(std::fs::File::open(&path).unwrap()).unwrap();
    assert_eq!(reader.metadata().num_row_groups(), graph.edges().div_ceil(1 << 20));
    let again = kostra::read(&path).unwrap();
    assert!(again.sources() == graph.sources() && again.targets() == graph.targets());
    assert_eq!(again.weights().type_name(), "f32");
}

/// Reads what may be damaged: whatever comes, it is no panic, and an error is one line.
fn survives(bytes: &[u8]) {
    for ids in [Ids::Dense, Ids::Sparse] {
        let options = ReadOptions { ids, ..Default::default() };
        if let Err(error) = read_bytes("a.parquet", bytes, &options) {
            let message = error.to_string();
            assert!(!message.is_empty() && !message.contains('\n'), "{message:?}");
        }
    }
}

/// Small files of several kinds of pages.
fn victims() -> Vec<Vec<u8>> {
    let names = |properties| {
        let columns = "optional int64 w; required binary src (UTF8); required binary dst (UTF8);";
        let values: &[Values] = &[Maybe(&[Some(1), Some(2), Some(3)]), Text(&["x", "yy", "x"]), Text(&["z", "x", ""])];
        table(columns, properties, &[values, values])
    };
    let second = WriterProperties::builder().set_writer_version(WriterVersion::PARQUET_2_0);
    let folder = folder();
    let path = folder.path().join("x.parquet");
    kostra::write(&small(), &path).unwrap();
    vec![
        foreign(),
        names(plain()),
        names(second.clone().set_compression(Compression::SNAPPY).build()),
        names(second.set_dictionary_enabled(false).build()),
        names(WriterProperties::builder().set_compression(Compression::LZ4_RAW).build()),
        names(WriterProperties::builder().set_compression(Compression::GZIP(GzipLevel::default())).build()),
        std::fs::read(&path).unwrap(),
    ]
}

#[test]
fn cuts_and_flipped_bits_are_survived() {
    for bytes in victims() {
        for len in (0..bytes.len()).step_by(3) {
            let cut = read_bytes("a.parquet", &bytes[..len], &ReadOptions::default());
            assert!(cut.is_err(), "cut at {len} of {}", bytes.len());
        }
        for at in 0..bytes.len() {
            let mut flipped = bytes.clone();
            flipped[at] ^= 1 << (at % 8);
            survives(&flipped);
        }
    }
}

proptest! {
    #[test]
    fn bytes_that_are_overwritten_are_survived(
        victim in 0..7usize,
        at in any::<prop::sample::Index>(),
        other in prop::collection::vec(any::<u8>(), 1..12),
    ) {
        let mut bytes = victims().swap_remove(victim);
        let at = at.index(bytes.len());
        let end = bytes.len().min(at + other.len());
        bytes[at..end].copy_from_slice(&other[..end - at]);
        survives(&bytes);
    }
}
