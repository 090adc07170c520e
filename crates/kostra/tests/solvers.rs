//! Every algorithm on every device with any number of threads, against the oracle.
#![allow(clippy::unwrap_used, clippy::print_stderr)]

mod common;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock};

use common::{Case, Values, any_case, mix, number, oracle, random, seeds};
use kostra::{Algorithm, Device, Error, Forest, Run, Watch, solve, verify};
use proptest::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

static POOLS: LazyLock<[ThreadPool; 3]> =
    LazyLock::new(|| [1, 2, 5].map(|threads| ThreadPoolBuilder::new().num_threads(threads).build().unwrap()));

/// With `KOSTRA_TEST_CUDA=emulated` the GPU is none (scripts/test-kernels). It takes a thousand times as long, so only its ways are
/// tested, by one pool each, on fewer cases.
fn is_emulated() -> bool {
    std::env::var("KOSTRA_TEST_CUDA").is_ok_and(|value| value == "emulated")
}

/// With `KOSTRA_TEST_CUDA=1` a missing GPU is a failure.
static DEVICES: LazyLock<Vec<Device>> = LazyLock::new(|| {
    let mut devices = if is_emulated() { vec![] } else { vec![Device::Cpu] };
    match Device::cuda(0) {
        Ok(device) => devices.push(device),
        Err(reason) if std::env::var_os("KOSTRA_TEST_CUDA").is_some() => panic!("{reason}"),
        Err(reason) => eprintln!("skipped: {reason}"),
    }
    devices
});

/// Solves in every way there is and hands each forest over with the way's name.
fn for_each_way(case: &Case, maximum: bool, check: impl Fn(&str, Forest)) {
    let ways = DEVICES.iter().flat_map(|&device| Algorithm::ALL.map(|algorithm| (device, algorithm)));
    let ways = ways.filter(|(device, algorithm)| *device == Device::Cpu || algorithm.runs_on_cuda());
    let ways = ways.map(|(device, algorithm)| (device, algorithm.name()));
    // On GPUs, small graphs are solved in another way than large ones, unless no edge may be held in registers, or few.
    let more = DEVICES.iter().filter(|&&device| device != Device::Cpu);
    let ways = ways.chain(more.flat_map(|&device| ["kostra:hold=0", "kostra:hold=20"].map(|name| (device, name))));
    let pools = if is_emulated() { &POOLS[1..2] } else { &POOLS[..] };
    for (pool, (device, name)) in pools.iter().flat_map(|pool| ways.clone().map(move |way| (pool, way))) {
        let run = Run::new(name).unwrap().on(device).maximum(maximum).with_stats(true);
        let way = format!(
            "{name} on {device:?} with {} threads, maximum {maximum}, of {}",
            pool.current_num_threads(),
            case.name
        );
        // A graph of its own each time: adjacency lists are built anew, by this pool.
        check(&way, pool.install(|| solve(&case.graph(), &run)).unwrap());
    }
}

fn check(case: &Case) {
    let all: Vec<u32> = (0..case.m() as u32).collect();
    for maximum in [false, true] {
        let (edges, trees) = oracle(case, &all, maximum);
        let labels = number(&trees);
        for_each_way(case, maximum, |way, forest| {
            assert_eq!(forest.edges(), edges, "{way}");
            assert_eq!(forest.len(), edges.len(), "{way}");
            assert_eq!(forest.trees(), case.n - edges.len(), "{way}");
            // NaN, the sum of both infinities, is not equal to itself.
            assert_eq!(forest.weight().to_string(), case.total(&edges).to_string(), "{way}");
            assert_eq!(forest.labels(&case.graph()), labels, "{way}");
        });
    }
}

#[test]
fn seeds_of_every_nasty_shape() {
    seeds().iter().for_each(check);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: if is_emulated() { 50 } else { 400 }, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn small_graphs_full_of_ties(case in any_case()) {
        check(&case);
    }
}

/// Options change the way, never the forest.
#[test]
fn options_of_contracting_algorithms() {
    let mut algorithms = vec!["strut:keep-parallel=true".to_string(), "strut:keep-parallel=false".into()];
    for name in ["pma-min", "pma-sort", "pma-hybrid"] {
        algorithms.extend(["gamma=1", "gamma=2", "gamma=1000"].map(|gamma| format!("{name}:{gamma}")));
        algorithms.extend(["true", "false"].map(|keep| format!("{name}:gamma=5,keep-parallel={keep}")));
        for wrong in ["gamma=0", "gamma=-1", "gamma=", "keep-parallel=2"] {
            let run = Run::new(&format!("{name}:{wrong}")).unwrap();
            let refused = solve(&seeds()[0].graph(), &run);
            assert!(matches!(refused, Err(Error::Algorithm { .. })), "{name}:{wrong}");
        }
    }
    let mut cases = seeds();
    cases.push(random(300, 20_000, Values::U32((0..20_000).map(|e| mix(e) as u32 % 500).collect())));
    cases.push(random(3000, 12_000, Values::I64((0..12_000).map(|e| mix(e) as i64).collect())));
    for case in cases {
        let all: Vec<u32> = (0..case.m() as u32).collect();
        let edges = oracle(&case, &all, false).0;
        for (algorithm, pool) in algorithms.iter().flat_map(|algorithm| POOLS.iter().map(move |pool| (algorithm, pool)))
        {
            let forest = pool.install(|| solve(&case.graph(), &Run::new(algorithm).unwrap())).unwrap();
            assert_eq!(forest.edges(), edges, "{algorithm} with {pool:?} of {}", case.name);
        }
    }
}

/// Large enough for work to be shared out; the oracle is too slow here, so the verifier stands in.
fn check_large(case: &Case) {
    let directions = if is_emulated() { &[false][..] } else { &[false, true] };
    for &maximum in directions {
        let first = std::cell::OnceCell::new();
        for_each_way(case, maximum, |way, forest| {
            let first = first.get_or_init(|| {
                verify(&case.graph(), forest.edges(), maximum, &Watch::new()).unwrap();
                forest.clone()
            });
            assert!(forest.edges() == first.edges(), "{way}");
            assert_eq!(forest.digest(), first.digest(), "{way}");
        });
    }
}

#[test]
fn large_graphs() {
    let draw = |count: u64, range: u64| (0..count).map(move |e| mix(e + 1_000_000_007) % range);
    check_large(&random(50_000, 300_000, Values::U32(draw(300_000, 1000).map(|w| w as u32).collect())));
    check_large(&random(50_000, 60_000, Values::F64(draw(60_000, 1 << 50).map(|w| w as f64 - 1e15).collect())));
    check_large(&random(300, 100_000, Values::F32(draw(100_000, 1 << 20).map(|w| w as f32 / -7.0).collect())));
}

/// A star whose light edges are taken in one round, and pairs around it: one tree has most of the vertices.
#[test]
fn a_giant_tree_among_small_ones() {
    let (n, leaves, m) = (60_000, 40_000, 200_000);
    let vertex = |i: u64| (mix(i) % n) as u32;
    let ends = (0..m).map(|e| if e < leaves { (0, e as u32 + 1) } else { (vertex(2 * e), vertex(2 * e + 1)) });
    let weight = |e: u64| (mix(e) % 1000) as u32 + if e < leaves { 0 } else { 1000 };
    check_large(&Case::new("a giant tree", n as usize, ends, Values::U32((0..m).map(weight).collect())));
}

/// Most edges are among few vertices, whose light ones touch a third of all: their rounds are on new numbers.
#[test]
fn light_edges_that_touch_few_vertices() {
    // Kernels number no vertices so.
    if is_emulated() {
        return;
    }
    let (n, m) = (140_000, 400_000);
    let vertex = |i: u64| (mix(i) % if mix(i) >> 63 == 0 { 500 } else { n }) as u32;
    let ends = || (0..m).map(|e| (vertex(2 * e), vertex(2 * e + 1)));
    let draw = |range: u64| (0..m).map(move |e| mix(e + 7) % range);
    let ties = Values::U32(draw(1000).map(|w| w as u32).collect());
    check_large(&Case::new("skewed", n as usize, ends(), ties));
    let wide = Values::F64(draw(1 << 40).map(|w| w as f64 / -3.0).collect());
    check_large(&Case::new("skewed, 64 bits", n as usize, ends(), wide));
}

#[test]
fn more_edges_than_kruskal_sorts_in_one_go() {
    let m = (1 << 20) + (1 << 18);
    let case = random(20_000, m, Values::U32((0..m as u64).map(|e| mix(e) as u32 >> 8).collect()));
    let graph = case.graph();
    let [kruskal, boruvka] = ["kruskal", "boruvka"].map(|name| solve(&graph, &Run::new(name).unwrap()).unwrap());
    assert!(kruskal.edges() == boruvka.edges());
}

#[test]
fn digests_are_xxh3_of_the_ids() {
    // xxhash.xxh3_64(b"".join(struct.pack("<Q", e) for e in [0, 1, 3, 4, 5, 6, 8])).hexdigest(), with python-xxhash
    let ends = [(0, 1), (1, 2), (2, 0), (2, 3), (3, 4), (4, 5), (5, 6), (6, 3), (6, 7), (7, 7)];
    let case = Case::new("digest", 8, ends, Values::Unit);
    for_each_way(&case, false, |way, forest| {
        assert_eq!(forest.edges(), [0, 1, 3, 4, 5, 6, 8], "{way}");
        assert_eq!(format!("{:016x}", forest.digest()), "912df63fc35b88e0", "{way}");
    });
    // xxhash.xxh3_64(b"").hexdigest()
    let none = Case::new("digest of none", 8, [], Values::Unit);
    for_each_way(&none, false, |way, forest| {
        assert_eq!(format!("{:016x}", forest.digest()), "2d06800538d394c2", "{way}");
    });
}

#[test]
fn statistics_come_only_when_asked_for() {
    let case = random(1000, 5000, Values::Unit);
    for_each_way(&case, false, |way, forest| {
        let stats = forest.stats().unwrap();
        assert!(!stats.facts.is_empty() || !stats.rounds.is_empty(), "{way}");
    });
    assert_eq!(solve(&case.graph(), &Run::default()).unwrap().stats(), None);
}

#[test]
fn a_set_flag_ends_every_algorithm() {
    let case = random(5_000, 20_000, Values::I64((0..20_000).map(|e| mix(e) as i64).collect()));
    let graph = case.graph();
    for algorithm in Algorithm::ALL {
        // Stop at the first report, at the second and so on, until a solve has no more to make.
        for reports in 1.. {
            let (stop, left) = (Arc::new(AtomicBool::new(false)), std::sync::atomic::AtomicU32::new(reports));
            let flag = Arc::clone(&stop);
            let watch = Watch::new().stop_when(stop).report_to(move |progress| {
                assert!(progress.done <= progress.total);
                if left.fetch_sub(1, Ordering::Relaxed) == 1 {
                    flag.store(true, Ordering::Relaxed);
                }
            });
            let run = Run::new(algorithm.name()).unwrap().watched_by(watch);
            match solve(&graph, &run) {
                Err(Error::Cancelled) => {}
                Ok(_) => {
                    assert!(reports > 1, "{} never reports", algorithm.name());
                    break;
                }
                Err(other) => panic!("{other}"),
            }
        }
    }
}

#[test]
fn auto_stands_for_an_algorithm() {
    for algorithm in Algorithm::ALL {
        let resolved = kostra::cpu::resolve(&Run::new(algorithm.name()).unwrap()).unwrap();
        assert_eq!(resolved == algorithm, algorithm != Algorithm::Auto);
    }
}

#[test]
fn keys_that_differ_only_far_below_their_range() {
    // One weight in a hundred is so far off that 32 bits over the whole range cannot tell the others apart.
    let weight = |e: u64| if e % 100 == 7 { i64::MIN + (e as i64) } else { (1 << 62) + (mix(e) % 50) as i64 };
    check_large(&random(30_000, 60_000, Values::I64((0..60_000).map(weight).collect())));
    check_large(&random(5_000, 60_000, Values::I64((0..60_000).map(weight).collect())));
}

#[test]
fn large_paths_and_stars() {
    let n = if is_emulated() { 10_000 } else { 40_000 };
    let rising: Vec<u32> = (0..n - 1).collect();
    let falling: Vec<u32> = rising.iter().rev().copied().collect();
    let path = |name, weights| Case::new(name, n as usize, (0..n - 1).map(|v| (v, v + 1)), Values::U32(weights));
    check_large(&path("rising path", rising.clone()));
    check_large(&path("falling path", falling));
    check_large(&Case::new("star", n as usize, (1..n).map(|v| (v % 3, v)), Values::U32(rising)));
}

/// Each vertex of a long chain chooses the next: who walked the chain from every vertex would take minutes.
#[test]
fn chains_of_any_length_are_walked_once() {
    let (n, extra) = if is_emulated() { (20_000, 30_000) } else { (1_000_000, 2_000_000) };
    for heavy in [0, extra] {
        let ends = (0..n - 1).map(|v| (v, v + 1)).chain((0..heavy).map(|e| (e % n, mix(e.into()) as u32 % n)));
        for first in [0, n] {
            // Rising and falling, and far below the others.
            let weights = (0..n - 1).map(|v| first.abs_diff(v)).chain((0..heavy).map(|e| 2 * n + e)).collect();
            let case = Case::new("chain", n as usize, ends.clone(), Values::U32(weights));
            let run = |name| Run::new(name).unwrap().on(*DEVICES.last().unwrap());
            let forest = POOLS[1].install(|| solve(&case.graph(), &run("kostra"))).unwrap();
            assert!(forest.edges().iter().copied().eq(0..n - 1), "{heavy} heavy edges, from {first}");
        }
    }
}

/// Rows are made for the first who needs them, while the others of a pool wait or help.
#[test]
fn many_callers_solve_one_graph_in_one_pool() {
    let pool = ThreadPoolBuilder::new().num_threads(4).build().unwrap();
    for seed in 0..10 {
        let graph = kostra::generate(&format!("er:n=20000,degree=16,seed={seed}")).unwrap();
        let expected = solve(&graph, &Run::new("kruskal").unwrap()).unwrap();
        let names = ["prim", "prim", "uminho", "strut"];
        let forests = std::sync::Mutex::new(Vec::new());
        pool.in_place_scope(|scope| {
            for name in names {
                let (graph, forests) = (&graph, &forests);
                scope.spawn(move |_| {
                    let forest = solve(graph, &Run::new(name).unwrap().on(Device::Cpu)).unwrap();
                    forests.lock().unwrap().push(forest);
                });
            }
        });
        let forests = forests.into_inner().unwrap();
        assert_eq!(forests.len(), names.len());
        assert!(forests.iter().all(|forest| forest.edges() == expected.edges()));
    }
}

#[test]
fn equal_weights_with_near_ids_take_few_rounds() {
    // The lightest edges are those of the first vertices. Filtering by them again and again took 55 rounds.
    // All but one are equal: else they are not filtered at all.
    let graph = kostra::generate("cliques:n=50000,degree=58,weights=unit").unwrap();
    let mut weights = vec![7u32; graph.edges()];
    weights[1000] = 8;
    let graph = graph.with_weights(weights).unwrap();
    let forest = solve(&graph, &Run::new("kostra").unwrap().with_stats(true)).unwrap();
    assert!(forest.stats().unwrap().rounds.len() < 30);
}

#[test]
fn equal_weights_are_found_and_solved_in_ranges() {
    let m = if is_emulated() { 20_000 } else { 100_000 };
    let nearly = |e: u32| if e as usize == m - 1 { -7.5 } else { 2.5 };
    for n in [m * 3 / 1000, m / 5, m * 9 / 10] {
        check_large(&random(n, m, Values::Unit));
        check_large(&random(n, m, Values::F64(vec![2.5; m])));
        check_large(&random(n, m, Values::F64((0..m as u32).map(nearly).collect())));
    }
}
