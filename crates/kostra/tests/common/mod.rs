//! What the tests of solvers and verifier share: typed graphs, the naive oracle, nasty seeds and random graphs.
#![allow(dead_code, clippy::unwrap_used, missing_docs, unreachable_pub)]

use std::cmp::Ordering;

use kostra::{Graph, Total, Weight, Weights};
use proptest::prelude::*;

/// Weights as the oracle sees them: plain typed values, no keys.
#[derive(Clone, Debug)]
pub enum Values {
    Unit,
    U32(Vec<u32>),
    I32(Vec<i32>),
    I64(Vec<i64>),
    F32(Vec<f32>),
    F64(Vec<f64>),
}

#[derive(Clone, Debug)]
pub struct Case {
    pub name: String,
    pub n: usize,
    pub src: Vec<u32>,
    pub dst: Vec<u32>,
    pub values: Values,
}

impl Case {
    pub fn new(name: &str, n: usize, ends: impl IntoIterator<Item = (u32, u32)>, values: Values) -> Self {
        let (src, dst) = ends.into_iter().unzip();
        Self { name: name.into(), n, src, dst, values }
    }

    pub fn m(&self) -> usize {
        self.src.len()
    }

    pub fn graph(&self) -> Graph<'_> {
        let weights: Weights = match &self.values {
            Values::Unit => Weights::Unit,
            Values::U32(w) => w.into(),
            Values::I32(w) => w.into(),
            Values::I64(w) => w.into(),
            Values::F32(w) => w.into(),
            Values::F64(w) => w.into(),
        };
        Graph::from_edges(self.n, &self.src, &self.dst, weights).unwrap()
    }

    pub fn weight(&self, e: u32) -> Weight {
        let e = e as usize;
        match &self.values {
            Values::Unit => Weight::Integer(1),
            Values::U32(w) => Weight::Integer(w[e].into()),
            Values::I32(w) => Weight::Integer(w[e].into()),
            Values::I64(w) => Weight::Integer(w[e]),
            Values::F32(w) => Weight::Float(w[e].into()),
            Values::F64(w) => Weight::Float(w[e]),
        }
    }

    /// How the weights of two edges compare; reversed for a maximum forest.
    pub fn compare(&self, a: u32, b: u32, maximum: bool) -> Ordering {
        let (a, b) = (a as usize, b as usize);
        let order = match &self.values {
            Values::Unit => Ordering::Equal,
            Values::U32(w) => w[a].cmp(&w[b]),
            Values::I32(w) => w[a].cmp(&w[b]),
            Values::I64(w) => w[a].cmp(&w[b]),
            Values::F32(w) => w[a].partial_cmp(&w[b]).unwrap(),
            Values::F64(w) => w[a].partial_cmp(&w[b]).unwrap(),
        };
        if maximum { order.reverse() } else { order }
    }

    pub fn total(&self, edges: &[u32]) -> Total {
        if matches!(self.values, Values::F32(_) | Values::F64(_)) {
            let mut sum = 0.0;
            for &e in edges {
                let Weight::Float(w) = self.weight(e) else { unreachable!() };
                sum += w;
            }
            return Total::Float(sum);
        }
        let mut sum = 0;
        for &e in edges {
            let Weight::Integer(w) = self.weight(e) else { unreachable!() };
            sum += i128::from(w);
        }
        Total::Integer(sum)
    }
}

/// The oracle: Kruskal with a stable sort of the typed weights, and trees relabelled one vertex at a time. Nobody
/// optimises it. Of the edges in `among`, the ids in the minimum (maximum) spanning forest, and every vertex's tree.
pub fn oracle(case: &Case, among: &[u32], maximum: bool) -> (Vec<u32>, Vec<u32>) {
    let mut order = among.to_vec();
    order.sort();
    order.sort_by(|&a, &b| case.compare(a, b, maximum));
    let mut trees: Vec<u32> = (0..case.n as u32).collect();
    let mut chosen = Vec::new();
    for e in order {
        let (u, v) = (trees[case.src[e as usize] as usize], trees[case.dst[e as usize] as usize]);
        if u != v {
            for tree in &mut trees {
                if *tree == u {
                    *tree = v;
                }
            }
            chosen.push(e);
        }
    }
    chosen.sort();
    (chosen, trees)
}

/// The trees numbered from 0 by their smallest vertex.
pub fn number(trees: &[u32]) -> Vec<u32> {
    let mut seen = Vec::new();
    let mut numbers = Vec::new();
    for tree in trees {
        let number = seen.iter().position(|&other| other == tree).unwrap_or_else(|| {
            seen.push(tree);
            seen.len() - 1
        });
        numbers.push(number as u32);
    }
    numbers
}

/// SplitMix64 of a counter.
pub fn mix(i: u64) -> u64 {
    let mut z = i.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// A random multigraph with loops, for sizes at which drawing a value at a time would take too long.
pub fn random(n: usize, m: usize, values: Values) -> Case {
    let vertex = |i: usize| (mix(i as u64) % n as u64) as u32;
    Case::new("random", n, (0..m).map(|e| (vertex(2 * e), vertex(2 * e + 1))), values)
}

/// One graph for every nasty shape.
pub fn seeds() -> Vec<Case> {
    use Values::*;
    let path = |n: u32| (1..n).map(|v| (v - 1, v));
    let star = |n: u32| (1..n).map(|v| (v, 0));
    let cycle = |n: u32| (0..n).map(move |v| (v, (v + 1) % n));
    let complete = |n: u32| (0..n).flat_map(move |u| (u + 1..n).map(move |v| (u, v)));
    let triangles = [(0, 1), (1, 2), (2, 0), (4, 5), (5, 6), (6, 4)];
    let (inf, tiny) = (f64::INFINITY, f64::from_bits(1));
    let (inf32, tiny32) = (f32::INFINITY, f32::from_bits(1));
    vec![
        Case::new("empty", 0, [], Unit),
        Case::new("empty, weighted", 0, [], F64(vec![])),
        Case::new("one vertex", 1, [], Unit),
        Case::new("one vertex, one loop", 1, [(0, 0)], U32(vec![0])),
        Case::new("no edges", 5, [], I64(vec![])),
        Case::new("self-loops only", 3, [(0, 0), (2, 2), (0, 0)], I32(vec![-1, 0, 1])),
        Case::new("one edge", 2, [(1, 0)], F32(vec![-0.0])),
        Case::new("parallel edges with ties", 2, [(0, 1), (1, 0), (0, 1), (1, 0)], U32(vec![2, 1, 1, 2])),
        Case::new(
            "parallel edges and loops",
            3,
            [(1, 1), (0, 1), (0, 1), (1, 2), (2, 1), (2, 2)],
            I32(vec![0, 5, 5, 4, 4, 4]),
        ),
        Case::new("path, rising", 40, path(40), U32((1..40).collect())),
        Case::new("path, falling", 40, path(40), U32((1..40).rev().collect())),
        Case::new("path of two, isolated around", 9, [(6, 3)], F64(vec![0.1])),
        Case::new("star", 40, star(40), I32((1..40).map(|w| -w).collect())),
        Case::new("cycle, all equal", 17, cycle(17), Unit),
        Case::new("cycle, rising", 17, cycle(17), I64((0..17).collect())),
        Case::new(
            "two hubs",
            30,
            (2..30).flat_map(|v| [(0, v), (v, 1)]),
            U32((2..30).flat_map(|v| [v, 31 - v]).collect()),
        ),
        Case::new("complete, all equal", 9, complete(9), F64(vec![0.5; 36])),
        Case::new("complete, no weights", 9, complete(9), Unit),
        Case::new("complete, few weights", 9, complete(9), U32((0..36).map(|e| e * 7 % 3).collect())),
        Case::new("disconnected", 8, triangles, I32(vec![1, 1, 1, -1, -1, -1])),
        Case::new("negative", 4, complete(4), I32(vec![-1, i32::MIN, 0, i32::MAX, -7, -7])),
        Case::new("u32 from end to end", 4, complete(4), U32(vec![u32::MAX, u32::MAX, 0, u32::MAX, 1 << 31, u32::MAX])),
        Case::new(
            "i64 beyond 2^53",
            4,
            complete(4),
            I64(vec![(1 << 53) + 1, 1 << 53, -(1 << 53) - 1, -(1 << 53), i64::MAX, i64::MIN]),
        ),
        Case::new("f64 of all kinds", 4, complete(4), F64(vec![0.0, -0.0, inf, -inf, tiny, -tiny])),
        Case::new("f64 zeros", 4, complete(4), F64(vec![0.0, -0.0, 0.0, -0.0, -0.0, 0.0])),
        Case::new("f64 both infinities", 3, cycle(3), F64(vec![inf, inf, -inf])),
        Case::new("f64 neighbours", 3, cycle(3), F64(vec![1.0 + f64::EPSILON, 1.0, 1.0 + f64::EPSILON])),
        Case::new("f32 of all kinds", 4, complete(4), F32(vec![-0.0, 0.0, -inf32, inf32, -tiny32, tiny32])),
        Case::new("f32 zeros", 4, complete(4), F32(vec![-0.0, 0.0, 0.0, -0.0, 0.0, -0.0])),
        Case::new("ids against weights", 12, complete(12), U32((0..66).rev().collect())),
    ]
}

/// Small graphs of every weight type, full of ties, parallel edges, loops, isolated vertices and separate trees.
pub fn any_case() -> impl Strategy<Value = Case> {
    (1..14u32, 0..40usize).prop_flat_map(|(n, m)| {
        let ends = prop::collection::vec((0..n, 0..n), m);
        (Just(n as usize), ends, any_values(m)).prop_map(|(n, ends, values)| Case::new("drawn", n, ends, values))
    })
}

pub fn any_values(m: usize) -> impl Strategy<Value = Values> {
    fn few<T: Copy + std::fmt::Debug>(m: usize, from: &'static [T]) -> impl Strategy<Value = Vec<T>> {
        (1..=from.len()).prop_flat_map(move |count| prop::collection::vec(prop::sample::select(&from[..count]), m))
    }
    prop_oneof![
        Just(Values::Unit),
        few(m, &[3, 1, 2, 0, u32::MAX]).prop_map(Values::U32),
        few(m, &[-1, 1, 0, i32::MIN, i32::MAX]).prop_map(Values::I32),
        few(m, &[1 << 53, (1 << 53) + 1, -1, i64::MIN, i64::MAX]).prop_map(Values::I64),
        few(m, &[0.0, -0.0, 1.5, -1.5, 1e-45, f32::INFINITY, f32::NEG_INFINITY]).prop_map(Values::F32),
        few(m, &[0.0, -0.0, 0.1, -0.1, 5e-324, f64::INFINITY, f64::NEG_INFINITY]).prop_map(Values::F64),
    ]
}
