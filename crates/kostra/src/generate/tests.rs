//! What holds for every kind of graph, and what each looks like.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use bytemuck::cast_slice;
use xxhash_rust::xxh3::Xxh3;

use super::{generate, generate_watched, is_spec, spec::KINDS};
use crate::{Error, Graph, Watch, Weights};

/// One small SPEC of every kind, several blocks long, with its size and the digest of its arrays. A digest that changes
/// means that everybody's graphs change: do it on purpose or not at all.
const SPECS: [(&str, usize, usize, u64); 14] = [
    ("rmat:scale=10,degree=20", 1024, 9497, 0xaa16_b8a1_33a5_0987),
    ("rmat:scale=11,degree=20,a=.3,b=.25,c=.25,seed=9", 2048, 20334, 0x4b6a_a9b2_b511_ab9c),
    ("kronecker:scale=10", 1024, 10510, 0xa961_08bf_e06d_baac),
    ("er:n=2000,degree=9", 2000, 8985, 0xf6ea_1e79_fe76_3d7f),
    ("regular:n=3000", 3000, 11993, 0xc425_293b_3c7b_18a8),
    ("ssca2:scale=10,max-clique=20", 1024, 7529, 0x656b_ba32_8f03_6cba),
    ("ws:n=2500,p=.3", 2500, 9990, 0x0129_ea71_4e03_c950),
    ("grid:rows=70,cols=50", 3500, 6880, 0x29c7_0571_18d4_43bf),
    ("road:n=9000,degree=2.5", 9000, 11280, 0x1074_607d_c08a_126b),
    ("delaunay:n=3000", 3000, 8976, 0x9a91_1c0f_ab66_88ec),
    ("dense:n=200,density=.5", 200, 10057, 0x63bc_4b93_bbf1_5558),
    ("cliques:n=500,degree=40", 500, 9334, 0xc1ff_a89c_bc14_6dc7),
    ("web:n=1500,degree=13", 1500, 9531, 0xeaa2_5f22_64a3_37cd),
    ("er:n=100,degree=99,multi=true,weights=double", 100, 4950, 0x83c3_6df0_6609_663f),
];

/// Every array of the graph, as bytes.
fn digest(graph: &Graph) -> u64 {
    let mut hash = Xxh3::new();
    hash.update(cast_slice(graph.sources()));
    hash.update(cast_slice(graph.targets()));
    match graph.weights() {
        Weights::U32(w) => hash.update(cast_slice(w)),
        Weights::F64(w) => hash.update(cast_slice(w)),
        weights => panic!("{}", weights.type_name()),
    }
    hash.digest()
}

fn degrees(graph: &Graph) -> Vec<usize> {
    let mut degrees = vec![0; graph.vertices()];
    for &v in graph.sources().iter().chain(graph.targets()) {
        degrees[v as usize] += 1;
    }
    degrees
}

fn trees(graph: &Graph) -> usize {
    let mut label: Vec<usize> = (0..graph.vertices()).collect();
    let find = |label: &[usize], mut v: usize| {
        while label[v] != v {
            v = label[v];
        }
        v
    };
    let mut trees = graph.vertices();
    for e in 0..graph.edges() {
        let (u, v) = graph.endpoints(e);
        let (u, v) = (find(&label, u as usize), find(&label, v as usize));
        label[u.max(v)] = u.min(v);
        trees -= usize::from(u != v);
    }
    trees
}

#[test]
fn graphs_are_the_same_for_ever_and_for_any_number_of_threads() {
    for threads in [1, 2, 5] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let found = SPECS.map(|(spec, ..)| {
            let graph = pool.install(|| generate(spec)).unwrap();
            (spec, graph.vertices(), graph.edges(), digest(&graph))
        });
        assert_eq!(found, SPECS, "{threads} threads");
    }
}

#[test]
fn every_kind_is_simple_and_sorted() {
    assert!(KINDS.iter().all(|(kind, _)| SPECS.iter().any(|(spec, ..)| spec.starts_with(kind))));
    for (spec, ..) in SPECS {
        let graph = generate(spec).unwrap();
        let pairs: Vec<_> = (0..graph.edges()).map(|e| graph.endpoints(e)).collect();
        assert!(pairs.iter().all(|(u, v)| u < v), "{spec}");
        if spec.contains("multi=true") {
            assert!(pairs.is_sorted() && pairs.windows(2).any(|two| two[0] == two[1]), "{spec}");
        } else {
            assert!(pairs.windows(2).all(|two| two[0] < two[1]), "{spec}");
        }
    }
}

#[test]
fn seeds_change_graphs_and_weights() {
    for (kind, _) in KINDS {
        let (spec, ..) = SPECS.into_iter().find(|(spec, ..)| spec.starts_with(kind) && !spec.contains("seed")).unwrap();
        let [one, two] = [1, 2].map(|seed| generate(&format!("{spec},seed={seed}")).unwrap());
        assert_eq!(digest(&one), digest(&generate(spec).unwrap()));
        assert_ne!(digest(&one), digest(&two), "{spec}");
        assert!(kind == "grid" || one.targets() != two.targets(), "{spec}");
    }
}

#[test]
fn weights_follow_the_rule_and_the_seed() {
    let weights = |spec: &str| format!("{:?}", generate(spec).unwrap().weights());
    assert_eq!(weights("grid:rows=30,cols=30"), weights("grid:rows=30,cols=30,weights=uniform:1-900"));
    assert_eq!(weights("er:n=90,seed=5,weights=float"), weights("er:n=90,seed=5,weights=float:5"));
    assert_ne!(weights("er:n=90,seed=5,weights=float"), weights("er:n=90,seed=5,weights=float:1"));
    assert_eq!(weights("road:n=90,weights=unit"), "Unit");
    assert_eq!(generate("delaunay:n=90,weights=uniform:-3-3").unwrap().weights().type_name(), "i32");
}

#[test]
fn the_table_of_the_design_scaled_down() {
    for (spec, n, m) in [
        ("grid:rows=32,cols=32", 1024, 1984..=1984),
        ("grid:rows=1,cols=5", 5, 4..=4),
        ("grid:rows=5,cols=1", 5, 4..=4),
        ("road:n=39900,degree=2.5", 39_900, 49_300..=50_400),
        ("road:n=53400,degree=2.13", 53_400, 56_500..=57_200),
        ("road:n=20000,degree=3.9", 20_000, 38_700..=39_300),
        ("delaunay:n=10000", 10_000, 29_900..=30_000),
        ("dense:n=1000,density=.2", 1000, 99_500..=101_500),
        ("dense:n=300,density=1", 300, 44_850..=44_850),
        ("dense:n=5000,density=.0001", 5000, 6100..=6400),
        ("cliques:n=30000,degree=56", 30_000, 825_000..=840_000),
        ("web:n=50000,degree=20", 50_000, 475_000..=500_000),
        ("regular:n=20000,degree=8", 20_000, 79_900..=80_000),
        ("regular:n=2000,degree=5", 2000, 4_980..=5000),
        ("regular:n=2000,degree=1", 2000, 990..=1000),
        ("regular:n=2001,degree=4.6,multi=true", 2001, 4602..=4602),
        ("er:n=20000,degree=16", 20_000, 159_800..=160_000),
        ("ws:n=10000,degree=10", 10_000, 49_900..=50_000),
        ("ws:n=1000,degree=6,p=0", 1000, 3000..=3000),
        ("ws:n=1000,degree=7,p=0", 1000, 3500..=3500),
        ("ws:n=1001,degree=2.5,p=0", 1001, 1251..=1251),
        ("rmat:scale=14,degree=16", 1 << 14, 128_000..=131_072),
        ("kronecker:scale=14,degree=32", 1 << 14, 200_000..=240_000),
        ("ssca2:scale=14", 1 << 14, 170_000..=200_000),
    ] {
        let graph = generate(spec).unwrap();
        assert_eq!(graph.vertices(), n, "{spec}");
        assert!(m.contains(&graph.edges()), "{spec}: {}", graph.edges());
    }
}

#[test]
fn small_and_empty_graphs() {
    for kind in ["er", "regular", "ws", "road", "delaunay", "dense", "cliques", "web"] {
        for (n, trees_at_most) in [(0, 0), (1, 1), (2, 2), (3, 3), (5, 5)] {
            let graph = generate(&format!("{kind}:n={n}")).unwrap();
            assert_eq!(graph.vertices(), n, "{kind}");
            assert!(trees(&graph) <= trees_at_most);
        }
    }
    for kind in ["rmat", "kronecker", "ssca2"] {
        assert_eq!(generate(&format!("{kind}:scale=0")).unwrap().edges(), 0);
        assert_eq!(generate(&format!("{kind}:scale=1")).unwrap().vertices(), 2);
    }
    for (spec, n) in [("rows=0,cols=7", 0), ("rows=7,cols=0", 0), ("rows=1,cols=1", 1), ("rows=0,cols=4294967295", 0)] {
        assert_eq!(generate(&format!("grid:{spec}")).unwrap().vertices(), n);
    }
    for spec in
        ["er:n=5,degree=0", "web:n=5,degree=0", "cliques:n=5,degree=0", "ws:n=5,degree=0", "rmat:scale=3,degree=0"]
    {
        assert_eq!(generate(spec).unwrap().edges(), 0);
    }
    assert_eq!(generate("er:n=4,degree=500").unwrap().edges(), 6);
    assert_eq!(generate("ws:n=4,degree=50,p=0").unwrap().edges(), 6);
    assert_eq!(generate("cliques:n=4,degree=5000").unwrap().edges(), 6);
    assert_eq!(generate("ssca2:scale=5,max-clique=4000000000").unwrap().vertices(), 32);
}

#[test]
fn connected_kinds_are_connected() {
    for spec in ["dense:n=2000,density=.0001", "dense:n=50", "grid:rows=40,cols=30", "delaunay:n=2000", "ws:n=999,p=0"]
    {
        assert_eq!(trees(&generate(spec).unwrap()), 1, "{spec}");
    }
}

#[test]
fn degrees_have_the_shape_of_the_model() {
    let largest = |spec: &str| degrees(&generate(spec).unwrap()).into_iter().max().unwrap();
    // Hubs: of the web's pages 15 % know the first, as log2 n is smaller here than in the design's table.
    assert!((5000..10_000).contains(&largest("web:n=50000,degree=20")));
    assert!(largest("kronecker:scale=14,degree=32") > 1500);
    assert!(largest("cliques:n=20000,degree=56") > 250);
    // No hubs.
    assert!(largest("er:n=20000") < 30);
    assert!(largest("grid:rows=9,cols=9") == 4);

    let degrees = degrees(&generate("road:n=50000,degree=2.2").unwrap());
    assert!(degrees.iter().all(|&degree| degree <= 4));
    assert!(degrees.iter().filter(|&&degree| degree == 2).count() > 35_000);

    // Odd degrees: by turns two or three following vertices and two or three before, none twice.
    let graph = generate("ws:n=1000,degree=5,p=0").unwrap();
    assert!((0..graph.edges()).map(|e| graph.endpoints(e)).all(|(u, v)| (v - u).min(1000 + u - v) <= 3));
    assert!(self::degrees(&graph).iter().all(|degree| (4..=6).contains(degree)));

    // Ids are shuffled: the first half of the ids holds about half of the edge ends.
    let graph = generate("kronecker:scale=12").unwrap();
    let low = graph.sources().iter().chain(graph.targets()).filter(|&&v| v < 2048).count();
    assert!((0.4..0.6).contains(&(low as f64 / (2 * graph.edges()) as f64)), "{low} of {}", 2 * graph.edges());
}

#[test]
fn wrong_specs_say_what_is_wrong() {
    for (spec, part) in [
        ("", "no kind of graph is called \"\"; there are rmat, kronecker"),
        ("tree:n=5", "there are rmat, kronecker, er, regular, ssca2, ws, grid, road, delaunay, dense, cliques, web"),
        ("rmat", "rmat needs scale=..., a whole number from 0 to 31"),
        ("grid:rows=3", "grid needs cols"),
        ("er:degree=3", "er needs n"),
        ("er:n=5,scale=3", "er has no key \"scale\"; it takes n, degree, seed, weights, multi"),
        ("er:n", "\"n\" is not key=value"),
        ("er:n=5,n=6", "n is given twice"),
        ("er:n=five", "n=five is not a whole number"),
        ("er:n=-1", "n=-1 is not a whole number"),
        ("er:n=4294967296", "n=4294967296 is not a whole number from 0 to 4294967295"),
        ("er:n=99999999999999999999999", "is not a whole number"),
        ("rmat:scale=32", "scale=32 is not a whole number from 0 to 31"),
        ("er:n=5,degree=-1", "degree=-1 is not a number from 0 up"),
        ("er:n=5,degree=nan", "degree=NaN is not a number from 0 up"),
        ("er:n=5,degree=inf", "degree=inf is not a number from 0 up"),
        ("er:n=5,degree=", "degree= is not a number"),
        ("er:n=5,degree=1e300", "edges are too many"),
        ("regular:n=5,degree=1e300", "edges are too many"),
        ("ws:n=5,degree=1e300", "edges are too many"),
        ("web:n=5,degree=1e300", "edges are too many"),
        ("cliques:n=4000000000", "112000000000 edges are too many to hold in memory"),
        ("rmat:scale=31", "17179869184 edges are too many to hold in memory (fewer than 2^32"),
        ("rmat:scale=5,a=1.5", "a=1.5 is not a probability"),
        ("rmat:scale=5,c=-.1", "c=-0.1 is not a probability"),
        ("rmat:scale=5,a=.5,b=.5,c=.5", "add up to 1.5"),
        ("ws:n=5,p=2", "p=2 is not a probability"),
        ("ws:n=5,p=NaN", "p=NaN is not a probability"),
        ("grid:rows=65536,cols=65536", "4294967296 vertices are too many"),
        ("grid:rows=4294967295,cols=4294967295", "vertices are too many"),
        ("grid:rows=50000,cols=50000", "edges are too many"),
        ("ssca2:scale=5,max-clique=0", "max-clique=0 is not a whole number from 1"),
        ("ssca2:scale=20,max-clique=4000000000", "edges are too many"),
        ("road:n=5,degree=2", "degree=2 is not a number above 2 and up to 4"),
        ("road:n=5,degree=4.5", "degree=4.5 is not"),
        ("dense:n=5,density=0", "density=0 is not a number above 0 and up to 1"),
        ("dense:n=5,density=1.1", "density=1.1 is not"),
        ("dense:n=4294967295,density=1", "edges are too many"),
        ("er:n=5,seed=-3", "seed=-3 is not a whole number below 2^64"),
        ("er:n=5,multi=yes", "multi=yes is not true or false"),
        ("er:n=5,weights=heavy", "weights=heavy: no weight rule is called \"heavy\""),
        ("er:n=5,weights=uniform:9-1", "weights=uniform:9-1: 9 is larger than 1"),
    ] {
        match generate(spec) {
            Err(Error::Spec { spec: named, what }) => {
                assert_eq!(named, spec);
                assert!(what.contains(part), "{spec}: {what}");
            }
            other => panic!("{spec}: {:?}", other.map(|graph| graph.edges())),
        }
    }
}

#[test]
fn a_spec_begins_with_a_kind() {
    assert!(["rmat", "rmat:", "grid:rows=3", "web:nonsense"].iter().all(|text| is_spec(text)));
    assert!(["", ":", "rmat.gr", "Rmat:scale=3", "rm:scale=3", "/tmp/grid", "-"].iter().all(|text| !is_spec(text)));
}

#[test]
fn every_kind_reports_progress_and_stops_when_told() {
    for (spec, ..) in SPECS {
        let last = Arc::new(AtomicU64::new(0));
        let seen = Arc::clone(&last);
        let watch = Watch::new().report_to(move |progress| {
            assert!(progress.done <= progress.total);
            seen.fetch_add(1, Ordering::Relaxed);
        });
        generate_watched(spec, &watch).unwrap();
        assert!(last.load(Ordering::Relaxed) >= 5, "{spec}");

        for steps in [0, 3] {
            let stop = Arc::new(AtomicBool::new(steps == 0));
            let (flag, count) = (Arc::clone(&stop), AtomicU64::new(0));
            let watch = Watch::new().stop_when(stop).report_to(move |_| {
                if count.fetch_add(1, Ordering::Relaxed) + 1 >= steps {
                    flag.store(true, Ordering::Relaxed);
                }
            });
            assert!(matches!(generate_watched(spec, &watch), Err(Error::Cancelled)), "{spec}");
        }
    }
}
