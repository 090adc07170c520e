//! Streams: the forest of parts, merged, is the forest of the whole, edge for edge.
#![allow(clippy::unwrap_used, missing_docs)]

mod common;

use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use kostra::io::{Ids, ReadOptions, StreamOptions, read_with};
use kostra::{Error, Forest, Graph, Run, Stream, StreamForest, Watch, Weights};
use proptest::prelude::*;

use common::{any_case, oracle, seeds};

/// Little enough that files of a few megabytes come in many parts.
const LITTLE: u64 = 15 << 20;

fn part_of<'a>(weights: &'a Weights, range: Range<usize>) -> Weights<'a> {
    match weights {
        Weights::U32(w) => (&w[range]).into(),
        Weights::I32(w) => (&w[range]).into(),
        Weights::I64(w) => (&w[range]).into(),
        Weights::F32(w) => (&w[range]).into(),
        Weights::F64(w) => (&w[range]).into(),
        _ => Weights::Unit,
    }
}

/// Pushes the edges between the cuts, and merges whenever `batch` edges wait.
fn stream(graph: &Graph, cuts: &[usize], batch: usize, run: &Run) -> StreamForest {
    let mut stream = Stream::new(run).batch(batch);
    stream.vertices(graph.vertices() as u64).unwrap();
    let ends = cuts.iter().copied().chain([graph.edges()]);
    let starts = [0].into_iter().chain(cuts.iter().copied());
    for (start, end) in starts.zip(ends) {
        let (src, dst) = (&graph.sources()[start..end], &graph.targets()[start..end]);
        stream.push(src, dst, &part_of(graph.weights(), start..end)).unwrap();
    }
    assert_eq!(stream.edges(), graph.edges() as u64);
    stream.finish().unwrap()
}

fn assert_same(streamed: &StreamForest, forest: &Forest, graph: &Graph, what: &str) {
    let ids: Vec<u64> = forest.edges().iter().map(|&e| e.into()).collect();
    assert_eq!(streamed.edges(), ids, "{what}");
    // As text, in which NaN is equal to itself: the sum of both infinities.
    assert_eq!(streamed.weight().to_string(), forest.weight().to_string(), "{what}");
    assert_eq!((streamed.trees(), streamed.digest()), (forest.trees(), forest.digest()), "{what}");
    assert_eq!(streamed.streamed(), graph.edges() as u64, "{what}");
    assert_eq!(streamed.labels(), forest.labels(graph), "{what}");
    for (i, &e) in forest.edges().iter().enumerate() {
        assert_eq!(streamed.graph().endpoints(i), graph.endpoints(e as usize), "{what}");
        assert_eq!(streamed.graph().weights().at(i), graph.weights().at(e as usize), "{what}");
    }
}

#[test]
fn every_shape_in_parts_of_every_size_has_the_forest_of_the_oracle() {
    for case in seeds() {
        let graph = case.graph();
        let all: Vec<u32> = (0..case.m() as u32).collect();
        for maximum in [false, true] {
            let run = Run::default().maximum(maximum);
            let expected: Vec<u64> = oracle(&case, &all, maximum).0.into_iter().map(u64::from).collect();
            let forest = kostra::solve(&graph, &run).unwrap();
            for batch in [1, 2, 3, 7, 1000] {
                let streamed = stream(&graph, &[], batch, &run);
                assert_eq!(streamed.edges(), expected, "{} in parts of {batch}, maximum {maximum}", case.name);
                assert_same(&streamed, &forest, &graph, &case.name);
            }
        }
    }
}

proptest! {
    #[test]
    fn a_graph_can_be_cut_anywhere(
        case in any_case(),
        cuts in prop::collection::vec(0..41usize, 0..5),
        batch in 1..20usize,
        maximum: bool,
    ) {
        let graph = case.graph();
        let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(case.m())).collect();
        cuts.sort();
        let all: Vec<u32> = (0..case.m() as u32).collect();
        let expected: Vec<u64> = oracle(&case, &all, maximum).0.into_iter().map(u64::from).collect();
        let streamed = stream(&graph, &cuts, batch, &Run::default().maximum(maximum));
        prop_assert_eq!(streamed.edges(), expected);
    }
}

#[test]
fn every_algorithm_merges() {
    let graph = kostra::generate("rmat:scale=10,weights=uniform:1-9").unwrap();
    let forest = kostra::minimum_spanning_forest(&graph).unwrap();
    for algorithm in kostra::Algorithm::ALL {
        let streamed = stream(&graph, &[5, 700], 1000, &Run::new(algorithm.name()).unwrap());
        assert!(streamed.merges().0 >= 2);
        assert_same(&streamed, &forest, &graph, algorithm.name());
    }
}

#[test]
fn weights_take_the_type_that_holds_all_whenever_it_shows() {
    let (src, dst) = ([0u32, 1, 2, 0, 1, 0], [1u32, 2, 3, 2, 3, 3]);
    let solve = |parts: [Weights; 3]| {
        let mut stream = Stream::new(&Run::default()).batch(1);
        for (part, weights) in parts.iter().enumerate() {
            stream.push(&src[2 * part..2 * part + 2], &dst[2 * part..2 * part + 2], weights)?;
        }
        stream.finish().map(|forest| (forest.edges().to_vec(), forest.graph().weights().type_name()))
    };
    let of = |weights: &[f64]| {
        let graph = Graph::from_edges(4, &src, &dst, weights).unwrap();
        kostra::minimum_spanning_forest(&graph).unwrap().edges().iter().map(|&e| e.into()).collect::<Vec<u64>>()
    };
    let expected = of(&[5.0, 7.0, 3.0, -1.0, 4294967295.0, 2.0]);
    let kinds = solve([(&[5u32, 7]).into(), (&[3i32, -1]).into(), (&[u32::MAX, 2]).into()]).unwrap();
    assert_eq!(kinds, (expected, "i64"));
    let expected = of(&[5.0, 7.0, 0.5, -1.0, 0.25, 2.0]);
    let kinds = solve([(&[5u32, 7]).into(), (&[0.5f32, -1.0]).into(), (&[0.25f64, 2.0]).into()]).unwrap();
    assert_eq!(kinds, (expected, "f64"));
    // 2^53 + 1 and 2^53 are two integers and one float: what was left out as heavier would have won the tie.
    let late = solve([(&[(1i64 << 53) + 1, 7]).into(), (&[3i32, 1]).into(), (&[0.5f64, 2.0]).into()]);
    assert!(matches!(late, Err(Error::LateFloats { edge: 4 })), "{late:?}");
    let mixed = solve([(&[1u32, 7]).into(), Weights::Unit, Weights::Unit]);
    assert!(matches!(mixed, Err(Error::MixedWeights { edge: 2 })), "{mixed:?}");
    let nan = solve([(&[1f32, 7.0]).into(), (&[1f32, f32::NAN]).into(), (&[1f32, 7.0]).into()]);
    assert!(matches!(nan, Err(Error::Nan { edge: 3 })), "{nan:?}");
}

#[test]
fn what_no_memory_or_number_can_hold_is_an_error() {
    let mut stream = Stream::new(&Run::default()).memory(1 << 20);
    let error = stream.push(&[0], &[9_000_000], &Weights::Unit).unwrap_err();
    assert!(matches!(error, Error::Limit { vertices: 9_000_001, .. }), "{error}");
    let mut stream = Stream::new(&Run::default());
    assert!(matches!(stream.push(&[0], &[u32::MAX], &Weights::Unit), Err(Error::TooLarge { what: "vertices", .. })));
    assert!(matches!(stream.push(&[0], &[], &Weights::Unit), Err(Error::Lengths { .. })));
}

/// On two threads, so that what readers hold is the same on every machine; `LITTLE` would not do for many.
fn solve_files(paths: &[impl AsRef<Path> + Sync], run: &Run, options: &StreamOptions) -> kostra::Result<StreamForest> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    pool.install(|| kostra::io::solve_files(paths, run, options))
}

struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn text(&self, name: &str, text: &str) -> PathBuf {
        fs::write(self.path(name), text).unwrap();
        self.path(name)
    }
}

fn options(memory: u64, ids: Ids) -> StreamOptions {
    StreamOptions { read: ReadOptions { ids, ..Default::default() }, memory: Some(memory), ..Default::default() }
}

/// Streams a file with little memory and compares with what it is in memory. Gives the number of merges.
fn same_as_in_memory(path: &Path, ids: Ids) -> usize {
    let name = path.display().to_string();
    let streamed = solve_files(&[path], &Run::default(), &options(LITTLE, ids)).unwrap();
    let graph = read_with(path, &ReadOptions { ids, ..Default::default() }).unwrap();
    let forest = kostra::minimum_spanning_forest(&graph).unwrap();
    assert_same(&streamed, &forest, &graph, &name);
    let names = |graph: &Graph| {
        graph.names().map(|names| (0..names.len() as u32).map(|v| names.at(v).to_vec()).collect::<Vec<_>>())
    };
    assert_eq!(names(streamed.graph()), names(&graph), "{name}");
    streamed.merges().0
}

#[test]
fn every_format_streams_to_the_forest_that_it_has_in_memory() {
    let folder = Folder::new();
    let graph = kostra::generate("er:n=3000,degree=500,weights=uniform:1-50").unwrap();
    let names = [
        "g.kostra",
        "g.gr",
        "g.col",
        "g.stp",
        "g.mtx",
        "g.wel",
        "g.csv",
        "g.tsv",
        "g.graph",
        "g.egr",
        "g.sgr",
        "g.pbbs",
        "g.kostra.zst",
        "g.gr.gz",
        "g.egr.zst",
        "g.sgr.zst",
        "g.graph.gz",
    ];
    for name in names {
        kostra::write(&graph, folder.path(name)).unwrap();
        assert!(same_as_in_memory(&folder.path(name), Ids::Dense) >= 2, "{name}");
    }
    for weights in ["unit", "uniform:-7--3", "uniform:-9000000000-9000000000", "float", "double"] {
        let weights = weights.parse::<kostra::WeightRule>().unwrap().weights(&graph).unwrap();
        let (src, dst) = (graph.sources(), graph.targets());
        let graph = Graph::from_edges(graph.vertices() + 5, src, dst, weights).unwrap();
        // Where all weights are equal, the first forest is the last.
        for name in ["h.kostra", "h.mtx", "h.wel"] {
            kostra::write(&graph, folder.path(name)).unwrap();
            assert!(same_as_in_memory(&folder.path(name), Ids::Dense) >= 1, "{name}");
        }
    }
    // Every edge is lighter than all before it, so none can be left out before it is merged.
    let falling: Vec<u32> = (0..graph.edges() as u32).rev().collect();
    let (src, dst) = (graph.sources(), graph.targets());
    let falling = Graph::from_edges(graph.vertices(), src, dst, falling).unwrap();
    for name in ["f.kostra", "f.wel", "f.graph"] {
        kostra::write(&falling, folder.path(name)).unwrap();
        assert!(same_as_in_memory(&folder.path(name), Ids::Dense) >= 3, "{name}");
    }
    for name in ["g.wel", "g.csv"] {
        assert!(same_as_in_memory(&folder.path(name), Ids::Sparse) >= 2, "{name}");
    }
}

/// Arcs that are symmetric but for one, and arcs whose lower halves come first: only the end of the file settles the ids.
#[test]
fn arcs_are_settled_at_the_end_of_their_file() {
    let folder = Folder::new();
    let graph = kostra::generate("er:n=2000,degree=300,weights=uniform:1-20").unwrap();
    let lines = |u: u32, v: u32, e: usize| format!("a {} {} {}\n", u + 1, v + 1, graph.weights().at(e));
    let both: String = (0..graph.edges())
        .map(|e| {
            let (u, v) = graph.endpoints(e);
            lines(v, u, e)
                + &lines(u, v, (e * 7) % graph.edges())
                + &lines(v, u, (e * 7) % graph.edges())
                + &lines(u, v, e)
        })
        .collect();
    let symmetric = folder.text("a.gr", &format!("p sp 2000 {}\n{both}", 4 * graph.edges()));
    assert!(same_as_in_memory(&symmetric, Ids::Dense) >= 2);
    let one = folder.text("b.gr", &format!("p sp 2000 {}\n{both}a 1 2000 1\n", 4 * graph.edges() + 1));
    assert!(same_as_in_memory(&one, Ids::Dense) >= 2);

    // The same in binary rows: a weight of the last arc, which has a mirror, is another.
    kostra::write(&graph, folder.path("c.egr")).unwrap();
    let mut bytes = fs::read(folder.path("c.egr")).unwrap();
    let last = bytes.len() - 4;
    bytes[last] ^= 1;
    fs::write(folder.path("d.egr"), &bytes).unwrap();
    assert!(same_as_in_memory(&folder.path("d.egr"), Ids::Dense) >= 2);

    // What waits before such a file is not held twice: there is no memory for that.
    let dense = folder.path("f.wel");
    kostra::write(&kostra::generate("er:n=500,degree=300").unwrap(), &dense).unwrap();
    let streamed = solve_files(&[&dense, &symmetric], &Run::default(), &options(LITTLE, Ids::Dense)).unwrap();
    assert_eq!((streamed.trees(), streamed.merges().0 >= 2), (1, true));

    // In the middle of several files, too: what came before stays, and ids count on.
    let list = folder.text("e.wel", "0 1 0\n5 1999 0\n7 7 0\n");
    for arcs in [&symmetric, &one, &folder.path("d.egr")] {
        let streamed = solve_files(&[&list, arcs, &list], &Run::default(), &options(LITTLE, Ids::Dense)).unwrap();
        let (few, many) = (kostra::read(&list).unwrap(), kostra::read(arcs).unwrap());
        let join = |ends: for<'a> fn(&'a Graph<'static>) -> &'a [u32]| [ends(&few), ends(&many), ends(&few)].concat();
        let weight = |graph: &Graph, e: usize| match graph.weights().at(e) {
            kostra::Weight::Integer(w) => w,
            kostra::Weight::Float(_) => unreachable!(),
        };
        let graphs = [&few, &many, &few];
        let weights: Vec<i64> = graphs.iter().flat_map(|g| (0..g.edges()).map(|e| weight(g, e))).collect();
        let (src, dst) = (join(|g| g.sources()), join(|g| g.targets()));
        let all = Graph::from_edges(2000, src, dst, weights).unwrap();
        let forest = kostra::minimum_spanning_forest(&all).unwrap();
        let ids: Vec<u64> = forest.edges().iter().map(|&e| e.into()).collect();
        assert_eq!(streamed.edges(), ids, "{}", arcs.display());
        assert_eq!(streamed.weight(), forest.weight());
    }
}

#[test]
fn a_directory_is_its_files_in_byte_order_of_their_names() {
    let folder = Folder::new();
    fs::create_dir(folder.path("in")).unwrap();
    fs::create_dir(folder.path("in/c")).unwrap();
    folder.text("in/b.csv", "src,dst,weight\na,b,1\nb,c,2\n");
    folder.text("in/B.csv", "src,dst,weight\nc,a,2\n");
    folder.text("in/c/x.csv", "src,dst,weight\nd,a,0.5\nd,b,0.5\n");
    folder.text("in/_SUCCESS", "");
    folder.text("in/.hidden.csv", "no\n");
    let streamed = solve_files(&[folder.path("in")], &Run::default(), &options(LITTLE, Ids::Sparse)).unwrap();
    // B.csv: c a; b.csv: a b, b c; c/x.csv: d a, d b.
    assert_eq!(streamed.edges(), [0, 3, 4]);
    let names = streamed.graph().names().unwrap();
    assert_eq!((0..4).map(|v| names.at(v)).collect::<Vec<_>>(), [b"c", b"a", b"b", b"d"]);
    assert_eq!(streamed.weight().to_string(), "3.0");
    fs::create_dir(folder.path("none")).unwrap();
    let error = solve_files(&[folder.path("none")], &Run::default(), &options(LITTLE, Ids::Dense)).unwrap_err();
    assert!(error.to_string().ends_with("is a directory without files"), "{error}");
}

#[test]
fn integers_beyond_floats_are_floats_from_the_beginning_where_one_is() {
    let folder = Folder::new();
    // As integers edge 1 is lighter than edge 0; as floats they are equal, and the first one wins.
    let big = folder.text("a.wel", "0 1 9007199254740993\n0 1 9007199254740992\n");
    let float = folder.text("b.wel", "1 2 0.5\n");
    let solve = |paths: &[&PathBuf]| solve_files(paths, &Run::default(), &options(LITTLE, Ids::Dense)).unwrap();
    assert_eq!(solve(&[&big]).edges(), [1]);
    assert_eq!(solve(&[&big, &float]).edges(), [0, 2]);
    // The same where the integers were merged long before the float came.
    let lines: String = (0..300_000).map(|_| "0 1 9007199254740993\n0 1 9007199254740992\n").collect();
    let many = folder.text("c.wel", &lines);
    assert_eq!(solve(&[&many]).edges(), [1]);
    assert_eq!(solve(&[&many, &float]).edges(), [0, 600_000]);
    // What was saved of the integers' work is not taken for that of floats.
    let checkpoint = Some(folder.path("checkpoint"));
    let options = StreamOptions { checkpoint, ..options(LITTLE, Ids::Dense) };
    let saving = solve_files(&[&many, &float], &Run::default(), &options).unwrap();
    assert_eq!(saving.edges(), [0, 600_000]);
}

/// Later files have lighter edges, but most of theirs are needless, and left out as they are read.
#[test]
fn edges_that_are_left_out_while_they_are_read_keep_the_ids_of_the_others() {
    let folder = Folder::new();
    let graph = kostra::generate("er:n=2000,degree=500").unwrap();
    for rules in [
        ["uniform:40-90", "uniform:30-80", "uniform:20-70", "uniform:10-60"],
        ["uniform:-5-90000000000", "uniform:-6-90000000000", "uniform:-7-90000000000", "uniform:-8-90000000000"],
        ["double", "double", "uniform:0-3", "double"],
    ] {
        let files = rules.iter().enumerate().flat_map(|(i, rule)| {
            let weights = rule.parse::<kostra::WeightRule>().unwrap().weights(&graph).unwrap();
            let (mut src, mut dst) = (graph.sources().to_vec(), graph.targets().to_vec());
            // Other edges in every file, some of them loops.
            src.iter_mut().zip(&dst).for_each(|(u, &v)| *u = (*u * (2 * i as u32 + 1) + v % 3) % 2000);
            dst.rotate_left(i);
            let other = Graph::from_edges(graph.vertices(), src, dst, weights).unwrap();
            ["kostra", "wel"].map(|format| {
                let path = folder.path(&format!("{i}.{format}"));
                kostra::write(&other, &path).unwrap();
                path
            })
        });
        let files: Vec<PathBuf> = files.collect();
        let mut whole = Stream::new(&Run::default());
        for file in &files {
            let graph = kostra::read(file).unwrap();
            whole.push(graph.sources(), graph.targets(), graph.weights()).unwrap();
        }
        let whole = whole.finish().unwrap();
        assert_eq!(whole.merges().0, 1, "at once");
        let parts = solve_files(&files, &Run::default(), &options(LITTLE, Ids::Dense)).unwrap();
        assert!(parts.edges() == whole.edges(), "{rules:?}");
        assert_eq!((parts.streamed(), parts.weight()), (whole.streamed(), whole.weight()), "{rules:?}");
        let most = parts.streamed() as usize / (1 << 16);
        assert!((2..most / 2).contains(&parts.merges().0), "{rules:?}: {} merges", parts.merges().0);
    }
}

/// Stops a solve when it has come so far.
fn stop_after(share: f64) -> Watch {
    let stop = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&stop);
    Watch::new().stop_when(stop).report_to(move |progress| {
        if progress.done as f64 >= share * progress.total as f64 {
            flag.store(true, Ordering::Relaxed);
        }
    })
}

/// Makes a file look as if it had been changed then.
fn set_changed(path: &Path, time: std::time::SystemTime) {
    fs::File::options().write(true).open(path).unwrap().set_modified(time).unwrap();
}

#[test]
fn an_interrupted_solve_goes_on_from_its_checkpoint() {
    let folder = Folder::new();
    let graph = kostra::generate("er:n=3000,degree=400,weights=uniform:1-30").unwrap();
    let names = ["g.kostra", "g.gr", "g.wel", "g.csv.gz", "g.graph", "g.egr", "g.sgr.zst"];
    names.iter().for_each(|name| kostra::write(&graph, folder.path(name)).unwrap());
    let mut bytes = fs::read(folder.path("g.egr")).unwrap();
    let last = bytes.len() - 4;
    bytes[last] ^= 1;
    fs::write(folder.path("not-symmetric.egr"), &bytes).unwrap();
    // Once the first file's beginning was taken, a lighter first edge must go unseen: who reads it again has begun anew.
    let text = fs::read_to_string(folder.path("g.wel")).unwrap();
    let (line, others) = text.split_once('\n').unwrap();
    let (ends, weight) = line.rsplit_once(' ').unwrap();
    let lighter = format!("{ends} {}\n{others}", "0".repeat(weight.len()));
    for name in names.into_iter().chain(["not-symmetric.egr"]) {
        let ids = if name.starts_with("g.csv") { Ids::Sparse } else { Ids::Dense };
        let files = [folder.path("first.wel"), folder.path(name), folder.path("g.kostra")];
        fs::write(&files[0], &text).unwrap();
        let files = if ids == Ids::Sparse { &files[..2] } else { &files[..] };
        let checkpoint = folder.path(&format!("{name}.checkpoint"));
        let options = |watch| StreamOptions {
            checkpoint: Some(checkpoint.clone()),
            read: ReadOptions { ids, watch, ..Default::default() },
            ..options(LITTLE, ids)
        };
        let plain = StreamOptions { checkpoint: None, ..options(Watch::new()) };
        let expected = solve_files(files, &Run::default(), &plain).unwrap();
        assert_ne!(expected.edges()[0], 0, "{name}");
        let mut taken = 0;
        for share in [0.2, 0.45, 0.55, 0.7, 0.9] {
            let outcome = solve_files(files, &Run::default(), &options(stop_after(share)));
            assert!(matches!(outcome, Err(Error::Cancelled)), "{name} at {share}");
            taken += usize::from(checkpoint.exists());
        }
        assert!(taken >= 3, "{name}: {taken} checkpoints");
        let changed = fs::metadata(&files[0]).unwrap().modified().unwrap();
        fs::write(&files[0], &lighter).unwrap();
        set_changed(&files[0], changed);
        assert_eq!(solve_files(files, &Run::default(), &plain).unwrap().edges()[0], 0, "{name}");
        let again = solve_files(files, &Run::default(), &options(Watch::new())).unwrap();
        assert!(again.edges() == expected.edges(), "{name}: it began anew, or lost its way");
        assert_eq!((again.weight(), again.trees()), (expected.weight(), expected.trees()), "{name}");
        assert_eq!(again.streamed(), expected.streamed(), "{name}");
    }
}

#[test]
fn a_checkpoint_that_is_damaged_or_of_another_job_is_refused_and_left_alone() {
    let folder = Folder::new();
    let graph = kostra::generate("er:n=3000,degree=400").unwrap();
    kostra::write(&graph, folder.path("g.wel")).unwrap();
    kostra::write(&graph, folder.path("h.wel")).unwrap();
    let path = folder.path("checkpoint");
    let solve = |name: &str, maximum, watch| {
        let read = ReadOptions { watch, ..Default::default() };
        let options = StreamOptions { checkpoint: Some(path.clone()), read, ..options(LITTLE, Ids::Dense) };
        solve_files(&[folder.path(name)], &Run::default().maximum(maximum), &options).map(|forest| forest.digest())
    };
    assert!(matches!(solve("g.wel", false, stop_after(0.8)), Err(Error::Cancelled)));
    let whole = fs::read(&path).unwrap();
    for (name, maximum) in [("h.wel", false), ("g.wel", true)] {
        let error = solve(name, maximum, Watch::new()).unwrap_err().to_string();
        assert!(error.contains("is the checkpoint of another job"), "{error}");
    }
    let changed = fs::metadata(folder.path("g.wel")).unwrap().modified().unwrap();
    set_changed(&folder.path("g.wel"), changed + std::time::Duration::from_millis(1));
    let error = solve("g.wel", false, Watch::new()).unwrap_err().to_string();
    assert!(error.contains("its files have changed"), "{error}");
    set_changed(&folder.path("g.wel"), changed);
    // Every byte counts, wherever it is.
    for at in (0..whole.len()).step_by(whole.len() / 50).chain([0, 8, whole.len() - 1]) {
        let mut damaged = whole.clone();
        damaged[at] ^= 0x10;
        fs::write(&path, &damaged).unwrap();
        let error = solve("g.wel", false, Watch::new()).unwrap_err().to_string();
        assert!(error.contains("checkpoint"), "{at}: {error}");
        assert_eq!(fs::read(&path).unwrap(), damaged, "{at}");
    }
    for cut in [0, 7, 100, whole.len() - 1] {
        fs::write(&path, &whole[..cut]).unwrap();
        assert!(
            solve("g.wel", false, Watch::new()).unwrap_err().to_string().contains("checkpoint is damaged"),
            "{cut}"
        );
    }
    fs::write(&path, [&whole[..], b"x"].concat()).unwrap();
    assert!(solve("g.wel", false, Watch::new()).is_err());
    fs::write(&path, &whole).unwrap();
    let expected = kostra::minimum_spanning_forest(&graph).unwrap().digest();
    assert_eq!(solve("g.wel", false, Watch::new()).unwrap(), expected);
}

/// Its header has a hash of the edges, so that not even the same size and time deceive.
#[test]
fn a_checkpoint_of_another_binary_file_is_refused() {
    let folder = Folder::new();
    let (path, checkpoint) = (folder.path("g.kostra"), Some(folder.path("checkpoint")));
    let write = |weights: &str| {
        let spec = format!("er:n=3000,degree=400,weights={weights}");
        kostra::write(&kostra::generate(&spec).unwrap(), &path).unwrap();
        set_changed(&path, std::time::SystemTime::UNIX_EPOCH);
    };
    let solve = |watch| {
        let read = ReadOptions { watch, ..Default::default() };
        let options = StreamOptions { checkpoint: checkpoint.clone(), read, ..options(LITTLE, Ids::Dense) };
        solve_files(&[&path], &Run::default(), &options).map(|forest| forest.digest())
    };
    write("uniform:1-3000");
    assert!(matches!(solve(stop_after(0.8)), Err(Error::Cancelled)));
    write("uniform:2-3000");
    let error = solve(Watch::new()).unwrap_err().to_string();
    assert!(error.contains("g.kostra: is not what was read before"), "{error}");
    write("uniform:1-3000");
    let expected = kostra::minimum_spanning_forest(&kostra::read(&path).unwrap()).unwrap().digest();
    assert_eq!(solve(Watch::new()).unwrap(), expected);
}

#[test]
fn bad_files_are_told_as_in_memory() {
    let folder = Folder::new();
    kostra::write(&kostra::generate("er:n=3000,degree=400").unwrap(), folder.path("g.kostra")).unwrap();
    let mut bytes = fs::read(folder.path("g.kostra")).unwrap();
    let last = bytes.len() - 100;
    bytes[last] ^= 1;
    fs::write(folder.path("damaged.kostra"), &bytes).unwrap();
    fs::write(folder.path("cut.kostra"), &bytes[..last]).unwrap();
    kostra::write(&kostra::generate("er:n=3000,degree=400").unwrap(), folder.path("g.egr")).unwrap();
    let bytes = fs::read(folder.path("g.egr")).unwrap();
    fs::write(folder.path("cut.egr"), &bytes[..bytes.len() - 4]).unwrap();
    let mut wrong = bytes.clone();
    wrong[8 + 4 * 3001 + 5000 * 4 + 3] = 1;
    fs::write(folder.path("wrong.egr"), &wrong).unwrap();
    folder.text("broken.wel", "0 1 2\n0 x 2\n");
    folder.text("nan.wel", "0 1 2\n0 1 nan\n");
    folder.text("cut.gr", "p sp 3 4\na 1 2 3\n");
    folder.text("waste.el", "0 4000000000\n");
    for name in ["damaged.kostra", "cut.kostra", "cut.egr", "wrong.egr", "broken.wel", "nan.wel", "cut.gr", "none.wel"]
    {
        let path = folder.path(name);
        let told = solve_files(&[&path], &Run::default(), &options(LITTLE, Ids::Dense)).unwrap_err().to_string();
        assert_eq!(told, kostra::read(&path).unwrap_err().to_string());
    }
    let waste = solve_files(&[folder.path("waste.el")], &Run::default(), &options(LITTLE, Ids::Dense)).unwrap_err();
    assert!(matches!(waste, Error::Limit { .. }), "{waste}");
}
