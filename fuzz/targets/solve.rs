//! Graphs of any edges and weights: every algorithm has the same forest, minimum and maximum, and any options are an error or change
//! nothing.
#![no_main]

use arbitrary::Arbitrary;
use kostra::{Algorithm, Graph, Run, Weights, solve};
use libfuzzer_sys::fuzz_target;

#[derive(Arbitrary, Debug)]
struct Input {
    vertices: u8,
    ends: Vec<(u8, u8)>,
    weights: Values,
    maximum: bool,
    options: Vec<(u8, u16)>,
}

#[derive(Arbitrary, Debug)]
enum Values {
    Unit,
    U32(Vec<u32>),
    I32(Vec<i32>),
    I64(Vec<i64>),
    F32(Vec<f32>),
    F64(Vec<f64>),
    /// Ties everywhere.
    Few(Vec<u8>),
}

fuzz_target!(|input: Input| {
    let Input { vertices, ends, weights, maximum, options } = input;
    let n = usize::from(vertices);
    let mut m = ends.len();
    macro_rules! cut {
        ($values:expr) => {{
            let mut values = $values;
            m = m.min(values.len());
            values.truncate(m);
            values.into()
        }};
    }
    let weights: Weights = match weights {
        Values::Unit => Weights::Unit,
        Values::U32(values) => cut!(values),
        Values::I32(values) => cut!(values),
        Values::I64(values) => cut!(values),
        Values::F32(values) => cut!(values),
        Values::F64(values) => cut!(values),
        Values::Few(values) => cut!(values.iter().map(|&w| u32::from(w % 3)).collect::<Vec<u32>>()),
    };
    let (src, dst): (Vec<u32>, Vec<u32>) = ends[..m].iter().map(|&(u, v)| (u32::from(u), u32::from(v))).unzip();
    // An end beyond the vertices, or NaN.
    let Ok(graph) = Graph::from_edges(n, &src, &dst, weights) else { return };
    let edges = kostra_fuzz::proved(&graph, maximum);
    for algorithm in Algorithm::ALL {
        let run = Run::new(algorithm.name()).expect("a name").maximum(maximum).with_stats(true);
        assert_eq!(solve(&graph, &run).expect("a forest").edges(), edges, "{}", algorithm.name());
    }
    for algorithm in Algorithm::ALL {
        let known = algorithm.options();
        if known.is_empty() {
            continue;
        }
        let value = |value: u16| match value {
            0 => "true".into(),
            1 => "false".into(),
            value => value.to_string(),
        };
        let options =
            options.iter().map(|&(key, with)| format!("{}={}", known[key as usize % known.len()], value(with)));
        let name = format!("{}:{}", algorithm.name(), options.collect::<Vec<_>>().join(","));
        if let Ok(forest) = Run::new(&name).and_then(|run| solve(&graph, &run.maximum(maximum))) {
            assert_eq!(forest.edges(), edges, "{name}");
        }
    }
});
