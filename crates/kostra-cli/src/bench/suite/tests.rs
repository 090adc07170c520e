//! What suites may say, and what is refused.

use std::path::Path;

use kostra::Result;

use super::*;

fn on_cpu() -> Changes {
    Changes { device: Some("cpu".into()), ..Changes::default() }
}

fn parse(text: &str) -> Result<Suite> {
    Suite::parse("s.toml", text, Path::new(""), &Changes::default())
}

#[test]
fn every_embedded_suite_is_sound_and_says_what_it_is_for() {
    for (name, text) in EMBEDDED {
        // On the CPU: not every machine has the devices of every suite.
        let changes = on_cpu();
        let suite = Suite::parse(name, text, Path::new(""), &changes);
        let suite = suite.unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(!description(text).is_empty() && suite.baseline.is_some(), "{name}");
    }
}

#[test]
fn contenders_are_a_product_without_repeats() {
    let text = "description = ''\nalgorithms = ['prim', 'kruskal', 'prim']\ndevices = ['auto', 'cpu']\n\
                threads = [1, 'all', 0, 9999]\ngraph = [{ input = 'grid:rows=2,cols=2' }]";
    let suite = parse(text).expect("a suite");
    let cores = rayon::current_num_threads();
    let shown: Vec<String> = suite.subjects[0].contenders.iter().map(Contender::to_string).collect();
    assert_eq!(shown.len(), if cores == 1 { 2 } else { 4 });
    assert_eq!(shown[0], "prim on cpu, 1 thread");
    assert_eq!(suite.subjects[0].name, "grid");
    assert_eq!(suite.notes, [format!("skipped 9999 threads: there are {cores} here")]);
}

#[test]
fn a_graph_may_have_algorithms_of_its_own() {
    let text = "description = ''\nrepeats = 2\nalgorithms = ['prim']\nthreads = [1]\n\
                graph = [{ input = 'grid:rows=2,cols=2', algorithms = ['kruskal', 'boruvka'] }]";
    let suite = parse(text).expect("a suite");
    let names: Vec<&str> = suite.subjects[0].contenders.iter().map(|c| c.algorithm.as_str()).collect();
    assert_eq!((suite.repeats, names), (2, vec!["kruskal", "boruvka"]));
    let changes = Changes { repeats: Some(7), ..on_cpu() };
    let changed = Suite::parse("s.toml", text, Path::new(""), &changes).expect("a suite");
    assert_eq!(changed.repeats, 7);
}

#[test]
fn errors_name_the_line() {
    let graph = "[[graph]]\ninput = 'grid:rows=2,cols=2'\n";
    let message = |head: &str, tail: &str| {
        let text = format!("description = ''\n{head}\n{graph}{tail}\n");
        parse(&text).err().map_or_else(|| panic!("{text}"), |error| error.to_string())
    };
    let kruskal = "algorithms = ['kruskal']";
    for (head, tail, expected) in [
        ("algorithms = ['kruskal', 'nonsense']", "", "s.toml:2: algorithm \"nonsense\": no such algorithm"),
        ("algorithms = ['kruskal:x=1']", "", "s.toml:2: algorithm \"kruskal:x=1\": kruskal takes no options"),
        ("algorithms = kruskal", "", "s.toml:2: "),
        ("algorithms = []", "", "s.toml: nothing to measure"),
        ("algorithms = ['kruskal']\nbaseline = 'prim'", "", "s.toml:3: the baseline \"prim\" is not among"),
        ("algorithms = ['kruskal']\nthreads = [1, 'two']", "", "s.toml:3: invalid value: string \"two\", expected"),
        ("algorithms = ['kruskal']\nrepeats = 0", "", "s.toml:3: "),
        ("algorithms = ['kruskal']\ndevices = ['abacus']", "", "s.toml:3: device \"abacus\": no such device"),
        ("algorithms = ['kruskal']\ncolour = 'red'", "", "s.toml:3: unknown field `colour`"),
        (kruskal, "digest = 'x'", "s.toml:5: \"x\" is not a digest"),
        (kruskal, "weight = 'x'", "s.toml:5: invalid type: string \"x\", expected the weight of the forest"),
        (kruskal, "[[graph]]\ninput = 'grid:rows=x,cols=2'", "s.toml:6: grid:rows=x,cols=2: rows=x is not"),
        (kruskal, "[[graph]]\ninput = 'grid:rows=3,cols=2'", "s.toml:6: two graphs are called \"grid\""),
        (kruskal, "[[graph]]\ninput = 'no.gr'", "s.toml:6: no.gr: no such file"),
    ] {
        let message = message(head, tail);
        assert!(message.starts_with(expected) && !message.contains('\n'), "{message}\nnot {expected}");
    }
}

#[test]
fn another_forest_than_expected_is_an_error() {
    let forest = kostra::generate("grid:rows=2,cols=2,weights=unit")
        .and_then(|graph| kostra::minimum_spanning_forest(&graph));
    let forest = forest.expect("a forest");
    let check = |key: &str| {
        let text = format!(
            "description = ''\nalgorithms = ['kruskal']\n[[graph]]\ninput = 'grid:rows=2,cols=2,weights=unit'\n{key}\n"
        );
        parse(&text).expect("a suite").subjects[0].check(&forest).map_err(|error| error.to_string())
    };
    assert_eq!(check("weight = 3"), Ok(()));
    assert_eq!(check("weight = 4"), Err("s.toml:5: grid: the forest weighs 3, not 4".into()));
    assert_eq!(check(&format!("digest = '{:016x}'", forest.digest())), Ok(()));
    assert!(check("digest = '0000000000000000'").is_err_and(|text| text.ends_with("not 0000000000000000")));
}
