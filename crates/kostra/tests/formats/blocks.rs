//! Files of many blocks: alike for any number of threads, and stopped when asked.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use kostra::io::{Ids, ReadOptions, WriteOptions, read_with, write_with};
use kostra::{Error, Watch, Weights};

use super::{folder, long_list, read_bytes, with_threads};

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
        text += if v % 1000 == 0 {
            "\n% comment\n1"
        } else if v % 777 == 0 {
            "\n  % %\n1"
        } else {
            "\n1"
        };
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
