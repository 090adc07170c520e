//! The verifier against a naive one, on every set of edges of tiny graphs and on forests changed in one place.
#![allow(clippy::unwrap_used)]

mod common;

use std::cmp::Ordering;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32};

use common::{Case, Values, any_case, mix, oracle, random, seeds};
use kostra::verify::{Edge, Flaw, Proof};
use kostra::{Error, Graph, Run, Watch, Weights, solve};
use proptest::prelude::*;

fn verify(graph: &Graph, edges: &[u32], maximum: bool) -> Option<Flaw> {
    let flaw = flaw_of(kostra::verify(graph, edges, maximum, &Watch::new()));
    if !matches!(flaw, Some(Flaw::NoSuchEdge { .. })) {
        for cut in [0, graph.edges() / 3, graph.edges()] {
            assert_eq!(flaw_of(verify_in_parts(graph, edges, maximum, cut)), flaw, "in parts, cut at {cut}");
        }
    }
    flaw
}

fn flaw_of(outcome: kostra::Result<()>) -> Option<Flaw> {
    match outcome {
        Ok(()) => None,
        Err(Error::Flaw(flaw)) => Some(flaw),
        Err(other) => panic!("{other}"),
    }
}

/// The same proof, where the graph's edges pass by in two parts.
fn verify_in_parts(graph: &Graph, edges: &[u32], maximum: bool, cut: usize) -> kostra::Result<()> {
    let (src, dst): (Vec<u32>, Vec<u32>) = edges.iter().map(|&e| graph.endpoints(e as usize)).unzip();
    let forest = Graph::from_edges(graph.vertices(), src, dst, some(graph.weights(), edges))?;
    let ids: Vec<u64> = edges.iter().map(|&e| e.into()).collect();
    let mut proof = Proof::new(&forest, &ids, maximum, &Watch::new())?;
    let all: Vec<u32> = (0..graph.edges() as u32).collect();
    for part in [&all[..cut], &all[cut..]] {
        let (src, dst): (Vec<u32>, Vec<u32>) = part.iter().map(|&e| graph.endpoints(e as usize)).unzip();
        proof.push(&src, &dst, &some(graph.weights(), part))?;
    }
    proof.finish()
}

/// The weights of some edges.
fn some<'a>(weights: &Weights, edges: &[u32]) -> Weights<'a> {
    fn pick<T: Copy>(all: &[T], edges: &[u32]) -> Vec<T> {
        edges.iter().map(|&e| all[e as usize]).collect()
    }
    match weights {
        Weights::U32(w) => pick(w, edges).into(),
        Weights::I32(w) => pick(w, edges).into(),
        Weights::I64(w) => pick(w, edges).into(),
        Weights::F32(w) => pick(w, edges).into(),
        Weights::F64(w) => pick(w, edges).into(),
        _ => Weights::Unit,
    }
}

#[test]
fn a_forest_of_another_stream_is_not_taken_for_one_of_this() {
    let check = |forest: (u32, u32, u32, u64), parts: &[(u32, u32, Weights)]| {
        let (u, v, w, id) = forest;
        let forest = Graph::from_edges(9, vec![u], vec![v], vec![w]).unwrap();
        let mut proof = Proof::new(&forest, &[id], false, &Watch::new()).unwrap();
        parts.iter().for_each(|(u, v, w)| proof.push(&[*u], &[*v], w).unwrap());
        flaw_of(proof.finish()).map(|flaw| flaw.to_string())
    };
    let edges = || [(0, 0, (&[1u32]).into()), (1, 0, (&[7u32]).into()), (0, 1, (&[7i64]).into())];
    assert_eq!(check((0, 1, 7, 1), &edges()), None);
    assert_eq!(check((1, 0, 7, 1), &edges()), None);
    let told = |forest| check(forest, &edges()).unwrap();
    assert!(told((0, 1, 7, 3)).contains("there is no edge 3, as the graph has 3 edges"));
    let other = "it has edge 1 (0 to 1, weight 6), but in the graph that is edge 1 (1 to 0, weight 7)";
    assert!(told((0, 1, 6, 1)).contains(other), "{}", told((0, 1, 6, 1)));
    assert!(told((0, 2, 7, 1)).contains("but in the graph that is edge 1 (1 to 0, weight 7)"));
    assert!(told((0, 1, 7, 2)).contains("as heavy and has the smaller id"));
    let larger = [(0, 1, (&[7u32]).into()), (4, 8, (&[1u32]).into())];
    assert!(check((0, 1, 7, 0), &larger).unwrap().contains("edge 1 (4 to 8, weight 1) joins two of its trees"));
    // Ones are what edges without weights weigh; and floats may come late.
    assert_eq!(check((0, 1, 1, 0), &[(0, 1, Weights::Unit), (1, 0, Weights::Unit)]), None);
    assert_eq!(check((0, 1, 7, 0), &[(0, 1, (&[7u32]).into()), (1, 0, (&[7.5f64]).into())]), None);
}

/// What the verifier must say, found the slow way: sets as lists, paths by search.
fn naive(case: &Case, edges: &[u32], maximum: bool) -> Option<Flaw> {
    let edge =
        |id: u32| Edge { id: id.into(), u: case.src[id as usize], v: case.dst[id as usize], weight: case.weight(id) };
    let mut set = edges.to_vec();
    set.sort();
    if let Some(&id) = set.iter().find(|&&e| e as usize >= case.m()) {
        return Some(Flaw::NoSuchEdge { id: id.into(), edges: case.m() as u64 });
    }
    if let Some(pair) = set.windows(2).find(|pair| pair[0] == pair[1]) {
        return Some(Flaw::Duplicate(edge(pair[0])));
    }
    if let Some(&e) = set.iter().find(|&&e| case.src[e as usize] == case.dst[e as usize]) {
        return Some(Flaw::SelfLoop(edge(e)));
    }
    let (forest, trees) = oracle(case, &set, maximum);
    if let Some(&e) = set.iter().find(|e| !forest.contains(e)) {
        return Some(Flaw::Cycle(edge(e)));
    }
    let smaller = |a: u32, b: u32| case.compare(a, b, maximum).then(a.cmp(&b)) == Ordering::Less;
    for e in (0..case.m() as u32).filter(|e| !set.contains(e)) {
        let Edge { u, v, .. } = edge(e);
        if trees[u as usize] != trees[v as usize] {
            return Some(Flaw::Missing(edge(e)));
        }
        let path = path(case, &set, u, v).unwrap();
        if let Some(largest) = path.into_iter().reduce(|a, b| if smaller(a, b) { b } else { a })
            && smaller(e, largest)
        {
            return Some(Flaw::NotMinimum { chosen: edge(largest), better: edge(e), maximum });
        }
    }
    None
}

/// The edges of `set` on the way from `u` to `v`, where `set` closes no cycle.
fn path(case: &Case, set: &[u32], u: u32, v: u32) -> Option<Vec<u32>> {
    if u == v {
        return Some(Vec::new());
    }
    set.iter().find_map(|&e| {
        let (a, b) = (case.src[e as usize], case.dst[e as usize]);
        let next = if a == u {
            b
        } else if b == u {
            a
        } else {
            return None;
        };
        let rest: Vec<u32> = set.iter().copied().filter(|&other| other != e).collect();
        let mut path = path(case, &rest, next, v)?;
        path.push(e);
        Some(path)
    })
}

fn forest_of(case: &Case, maximum: bool) -> Vec<u32> {
    oracle(case, &(0..case.m() as u32).collect::<Vec<_>>(), maximum).0
}

#[test]
fn of_all_sets_of_edges_exactly_one_passes() {
    let tiny = [
        Case::new("triangle, tied", 3, [(0, 1), (1, 2), (2, 0)], Values::Unit),
        Case::new(
            "square with a diagonal",
            4,
            [(0, 1), (1, 2), (2, 3), (3, 0), (0, 2)],
            Values::U32(vec![3, 1, 3, 1, 2]),
        ),
        Case::new(
            "parallel, loops",
            3,
            [(1, 1), (0, 1), (1, 0), (0, 1), (1, 2), (2, 1)],
            Values::I32(vec![-9, 2, 1, 1, 0, 0]),
        ),
        Case::new(
            "two trees",
            6,
            [(0, 1), (1, 2), (2, 0), (3, 4), (4, 3), (2, 2)],
            Values::F64(vec![0.0, -0.0, 0.0, 1.0, -1.0, 0.0]),
        ),
        Case::new(
            "all pairs",
            4,
            [(2, 3), (1, 3), (1, 2), (0, 3), (0, 2), (0, 1)],
            Values::F32(vec![1.0, 2.0, 1.0, 2.0, 1.0, 2.0]),
        ),
        Case::new(
            "nine edges",
            5,
            (0..9).map(|e| (e % 5, e * e % 5)),
            Values::I64((0..9).map(|e| e * 5 % 4).collect()),
        ),
    ];
    for case in tiny.iter().chain(&seeds()).filter(|case| case.m() <= 9) {
        let graph = case.graph();
        for maximum in [false, true] {
            let forest = forest_of(case, maximum);
            for subset in 0..1u32 << case.m() {
                let edges: Vec<u32> = (0..case.m() as u32).filter(|e| subset >> e & 1 == 1).collect();
                let flaw = verify(&graph, &edges, maximum);
                assert_eq!(flaw.is_none(), edges == forest, "{} {edges:?}", case.name);
                assert_eq!(flaw, naive(case, &edges, maximum), "{} {edges:?}", case.name);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_forest_passes_and_every_change_is_named(case in any_case(), maximum: bool, seed: u64) {
        let graph = case.graph();
        let forest = forest_of(&case, maximum);
        let pick = |from: &[u32]| (!from.is_empty()).then(|| from[(seed % from.len() as u64) as usize]);
        let shuffled = {
            let mut edges = forest.clone();
            edges.sort_by_key(|&e| mix(seed ^ u64::from(e)));
            edges
        };
        prop_assert_eq!(verify(&graph, &forest, maximum), None);
        prop_assert_eq!(verify(&graph, &shuffled, maximum), None);

        let changed = |edges: &[u32]| {
            let flaw = verify(&graph, edges, maximum);
            assert_eq!(flaw, naive(&case, edges, maximum), "{edges:?}");
            flaw.unwrap()
        };
        let with = |e: u32| [&shuffled[..], &[e]].concat();
        let without = |e: u32| shuffled.iter().copied().filter(|&f| f != e).collect::<Vec<_>>();

        let is_no_edge = matches!(changed(&with(case.m() as u32)), Flaw::NoSuchEdge { id, .. } if id as usize == case.m());
        prop_assert!(is_no_edge);
        let others: Vec<u32> = (0..case.m() as u32).filter(|e| !forest.contains(e)).collect();
        let (loops, closing): (Vec<u32>, Vec<u32>) =
            others.iter().partition(|&&e| case.src[e as usize] == case.dst[e as usize]);
        if let Some(e) = pick(&loops) {
            prop_assert!(matches!(changed(&with(e)), Flaw::SelfLoop(edge) if edge.id == u64::from(e)));
        }
        if let Some(f) = pick(&forest) {
            prop_assert!(matches!(changed(&with(f)), Flaw::Duplicate(edge) if edge.id == u64::from(f)));
            prop_assert!(matches!(changed(&without(f)), Flaw::Missing(_)));
        }
        if let Some(e) = pick(&closing) {
            prop_assert!(matches!(changed(&with(e)), Flaw::Cycle(edge) if edge.id == u64::from(e)));
            // Swap it in for each edge of the cycle it closes, among them those of the same weight.
            for f in path(&case, &forest, case.src[e as usize], case.dst[e as usize]).unwrap() {
                let flaw = changed(&[&without(f)[..], &[e]].concat());
                let named = matches!(flaw, Flaw::NotMinimum { chosen, .. } if chosen.id == u64::from(e));
                prop_assert!(named);
            }
        }
    }

    #[test]
    fn any_list_of_ids_gets_the_naive_answer(case in any_case(), maximum: bool, edges in prop::collection::vec(0..42u32, 0..14)) {
        prop_assert_eq!(verify(&case.graph(), &edges, maximum), naive(&case, &edges, maximum));
    }
}

#[test]
fn messages_say_which_edge_and_why() {
    let case = Case::new("", 4, [(0, 1), (1, 2), (2, 0), (3, 3), (0, 1)], Values::U32(vec![7, 7, 7, 1, 9]));
    let says = |edges: &[u32], maximum| verify(&case.graph(), edges, maximum).unwrap().to_string();
    assert_eq!(
        says(&[5, 9], false),
        "not a forest of this graph: there is no edge 5, as the graph has 5 edges, numbered from 0"
    );
    assert_eq!(says(&[1, 0, 1], false), "not a forest: edge 1 (1 to 2, weight 7) is named more than once");
    assert_eq!(says(&[0, 1, 3], false), "not a forest: edge 3 (3 to 3, weight 1) joins a vertex to itself");
    assert_eq!(
        says(&[0, 1, 4], false),
        "not a forest: edge 4 (0 to 1, weight 9) closes a cycle with smaller edges of the forest"
    );
    assert_eq!(
        says(&[0], false),
        "not a spanning forest: edge 1 (1 to 2, weight 7) joins two of its trees, so an edge is missing"
    );
    assert_eq!(
        says(&[0, 2], false),
        "not the minimum forest: edge 2 (2 to 0, weight 7) is on the path between the ends of edge 1 (1 to 2, weight 7), \
         which is as heavy and has the smaller id, which wins a tie"
    );
    assert_eq!(
        says(&[4, 1], false),
        "not the minimum forest: edge 4 (0 to 1, weight 9) is on the path between the ends of edge 0 (0 to 1, weight 7), \
         which is lighter"
    );
    assert_eq!(
        says(&[0, 1], true),
        "not the maximum forest: edge 0 (0 to 1, weight 7) is on the path between the ends of edge 4 (0 to 1, weight 9), \
         which is heavier"
    );
}

#[test]
fn large_forests_with_one_change_and_any_number_of_threads() {
    let (n, m) = (30_000, 200_000);
    let case = random(n, m, Values::F64((0..m as u64).map(|e| (mix(e + 5) % 5000) as f64).collect()));
    let graph = case.graph();
    let forest = solve(&graph, &Run::new("kruskal").unwrap()).unwrap().edges().to_vec();
    let trees = case.n - forest.len();
    let others: Vec<u32> = (0..m as u32).filter(|e| forest.binary_search(e).is_err()).collect();
    let answers = [1, 2, 5].map(|threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            assert_eq!(verify(&graph, &forest, false), None);
            (0..40u64)
                .map(|i| {
                    let mut edges = forest.clone();
                    let gone = edges.swap_remove((mix(i) % forest.len() as u64) as usize);
                    if i % 2 == 0 {
                        edges.push(others[(mix(!i) % others.len() as u64) as usize]);
                    }
                    let flaw = verify(&graph, &edges, false).unwrap();
                    match &flaw {
                        Flaw::Missing(edge) => assert!(edge.id <= u64::from(gone)),
                        Flaw::Cycle(edge) | Flaw::SelfLoop(edge) => assert!(edges.contains(&(edge.id as u32))),
                        Flaw::NotMinimum { chosen, better, .. } => {
                            assert!(edges.contains(&(chosen.id as u32)) && better.id <= u64::from(gone));
                        }
                        other => panic!("{other}"),
                    }
                    flaw.to_string()
                })
                .collect::<Vec<_>>()
        })
    });
    assert!(trees < n / 2);
    assert_eq!(answers[0], answers[1]);
    assert_eq!(answers[0], answers[2]);
}

#[test]
fn a_set_flag_ends_the_proof() {
    let case = random(1000, 200_000, Values::Unit);
    let graph = case.graph();
    let forest = forest_of(&case, false);
    for reports in 1.. {
        let (stop, left) = (Arc::new(AtomicBool::new(false)), AtomicU32::new(reports));
        let flag = Arc::clone(&stop);
        let watch = Watch::new().stop_when(stop).report_to(move |progress| {
            assert!(progress.done <= progress.total);
            if left.fetch_sub(1, std::sync::atomic::Ordering::Relaxed) == 1 {
                flag.store(true, std::sync::atomic::Ordering::Relaxed);
            }
        });
        match kostra::verify(&graph, &forest, false, &watch) {
            Err(Error::Cancelled) => {}
            Ok(()) => {
                assert!(reports > 4);
                break;
            }
            Err(other) => panic!("{other}"),
        }
    }
}
