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
        ("algorithms = ['ecl@cuda']\nend-to-end = ['elc']", "", "s.toml:3: algorithm \"elc\": no such algorithm"),
        ("algorithms = ['ecl@cuda']\nend-to-end = ['uminho']", "", "s.toml:3: \"uminho\" is not among the algorithms"),
        ("algorithms = ['ecl:seed=2@cuda']\nend-to-end = ['ecl']", "", "s.toml:3: \"ecl\" is not among the algorithms"),
        (
            "algorithms = ['ecl@cuda']\nend-to-end = ['ecl@cuda']",
            "",
            "s.toml:3: end-to-end means GPUs; name \"ecl\" without",
        ),
        ("algorithms = ['kruskal']\nend-to-end = ['kruskal']", "", "s.toml:3: \"kruskal\" runs on CPUs only"),
        (
            "algorithms = ['ecl@cpu']\nend-to-end = ['ecl']",
            "",
            "s.toml:3: \"ecl\" runs on no GPU in this suite; write ecl@",
        ),
        (
            "algorithms = ['ecl']\ndevices = ['cpu']\nend-to-end = ['ecl']",
            "",
            "s.toml:4: \"ecl\" runs on no GPU in this",
        ),
        ("algorithms = ['ecl']\nend-to-end = 'ecl'", "", "s.toml:3: invalid type: string \"ecl\", expected a sequence"),
        (kruskal, "end-to-end = ['ecl']", "s.toml:5: unknown field `end-to-end`"),
        ("algorithms = ['kruskal']\nbaseline-threads = 1", "", "s.toml:3: baseline-threads needs a baseline"),
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
    let forest =
        kostra::generate("grid:rows=2,cols=2,weights=unit").and_then(|graph| kostra::minimum_spanning_forest(&graph));
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

/// A suite of one grid with these lines before and after.
fn with(head: &str, tail: &str) -> Result<Suite> {
    parse(&format!("description = ''\n{head}\n[[graph]]\ninput = 'grid:rows=2,cols=2'\n{tail}\n"))
}

fn contenders(suite: &Suite) -> Vec<String> {
    suite.subjects[0].contenders.iter().map(Contender::to_string).collect()
}

#[test]
fn every_embedded_suite_runs_here_as_far_as_it_can() {
    for (name, text) in EMBEDDED {
        let suite = Suite::parse(name, text, Path::new(""), &Changes::default());
        match suite {
            // Without a GPU there is nothing to measure in the suite for GPUs.
            Err(error) => assert!(name == "gpu" && error.to_string().contains("skipped cuda: "), "{name}: {error}"),
            Ok(suite) => assert!(suite.subjects.iter().all(|subject| !subject.contenders.is_empty()), "{name}"),
        }
    }
}

#[test]
fn algorithms_may_be_tied_to_a_device_and_to_threads() {
    let suite = with("algorithms = ['prim@cpu:1', 'kruskal@cpu', 'ecl:seed={1..2}@cpu:1']\nthreads = [2]", "");
    let suite = suite.expect("a suite");
    let mut expected = vec!["prim on cpu, 1 thread"];
    expected.extend((rayon::current_num_threads() > 1).then_some("kruskal on cpu, 2 threads"));
    expected.extend(["ecl:seed=1 on cpu, 1 thread", "ecl:seed=2 on cpu, 1 thread"]);
    assert_eq!(contenders(&suite), expected);
}

#[test]
fn contenders_without_their_device_are_skipped_with_one_note() {
    let head = "algorithms = ['prim@cpu:1', 'ecl@cuda:77', 'ecl:without={1..8}@cuda:77']\nbaseline = 'ecl@cuda:77'";
    let suite = with(head, "").expect("a suite");
    assert_eq!(contenders(&suite), ["prim on cpu, 1 thread"]);
    assert!(suite.notes.len() == 1 && suite.notes[0].starts_with("skipped cuda:77: "), "{:?}", suite.notes);
    let nothing = with("algorithms = ['ecl@cuda:77']", "").err().expect("an error").to_string();
    assert!(nothing.starts_with("s.toml: nothing to measure: ") && nothing.contains("skipped cuda:77: "), "{nothing}");
    // On another device than the suite's, whoever refuses it is skipped.
    let text = "description = ''\nalgorithms = ['prim@cuda:77', 'ecl:without=3@cuda:77']\n\
                graph = [{ input = 'grid:rows=2,cols=2' }]";
    let moved = Suite::parse("s.toml", text, Path::new(""), &on_cpu()).expect("a suite");
    assert_eq!(moved.subjects[0].contenders.len(), 1);
    assert_eq!(moved.notes, ["skipped ecl:without=3: without is for GPUs"]);
}

#[test]
fn a_sweep_is_a_graph_for_each_value() {
    let text = "description = ''\nalgorithms = ['kruskal']\n[[graph]]\nname = 'random'\ngroups = ['g']\n\
                input = 'er:n={20,30},degree={2,4}'\n";
    let suite = parse(text).expect("a suite");
    let names: Vec<&str> = suite.subjects.iter().map(|subject| subject.name.as_str()).collect();
    assert_eq!(names, ["random n=20 degree=2", "random n=20 degree=4", "random n=30 degree=2", "random n=30 degree=4"]);
    assert_eq!(suite.subjects[3].input, "er:n=30,degree=4");
    let limited = Changes { limit_edges: Some(40), ..Changes::default() };
    let limited = Suite::parse("s.toml", text, Path::new(""), &limited).expect("a suite");
    assert_eq!(limited.subjects.len(), 3);
    assert_eq!(limited.notes, ["skipped, as expected to have more than 40 edges: random n=30 degree=4"]);
}

#[test]
fn the_papers_file_is_taken_where_it_is() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = "description = ''\nalgorithms = ['kruskal']\n\
                graph = [{ name = 'NY', input = 'road:n=30', file = 'USA-road-d.NY' }]";
    let changes = Changes { graphs: Some(folder.path().into()), ..Changes::default() };
    let subject = |changes| Suite::parse("s.toml", text, Path::new(""), changes).expect("a suite").subjects.remove(0);
    assert_eq!(subject(&changes).instead_of.as_deref(), Some("USA-road-d.NY"));
    let file = folder.path().join("USA-road-d.NY.gr");
    std::fs::write(&file, "p sp 2 1\na 1 2 5\n").expect("a file");
    let own = subject(&changes);
    assert_eq!((own.instead_of, own.path), (None, file));
}

#[test]
fn figures_name_what_is_there() {
    let figure = "[[figure]]\ntitle = 't'\nkind = 'table'\nx = 'graph'\ny = ['time']";
    let suite = with("algorithms = ['kruskal', 'ecl:seed=3']", figure).expect("a suite");
    assert_eq!(suite.figures[0].facts, [Fact::Vertices, Fact::Edges]);
    assert!(suite.subjects[0].contenders.iter().all(|contender| !contender.counts));
    let counting = figure.replace("'time'", "'iterations'") + "\nalgorithms = ['ecl:seed=3']";
    let suite = with("algorithms = ['kruskal', 'ecl:seed=3']", &counting).expect("a suite");
    let counts: Vec<bool> = suite.subjects[0].contenders.iter().map(|contender| contender.counts).collect();
    assert_eq!(counts, [false, true]);

    let message = |change: (&str, &str)| {
        let text = figure.replace(change.0, change.1);
        let error = with("algorithms = ['kruskal', 'ecl:seed=3']", &text).err();
        error.map_or_else(|| panic!("{text}"), |error| error.to_string())
    };
    for (change, expected) in [
        (("'table'", "'pie'"), "s.toml:7: \"pie\" is no kind of figure"),
        (("'graph'", "'gamma'"), "s.toml:8: \"gamma\" is neither a key of these SPECs"),
        (("'time'", "'luck'"), "s.toml:9: \"luck\" cannot be shown"),
        (("y = ['time']", "y = ['time']\nlog = 'z'"), "s.toml:10: log is"),
        (("y = ['time']", "y = ['time']\nlog = 'y'"), "s.toml:10: log is for plots; a table has no axes"),
        (
            ("y = ['time']", "y = ['time']\nalgorithms = ['ecl:seed=3@cuda end-to-end']"),
            "s.toml:10: \"ecl:seed=3\" does not run end",
        ),
        (("'table'", "'line'\nlog = 'x'"), "s.toml:8: only lines over numbers have a logarithmic x"),
        (("'table'", "'bar'\nlog = 'xy'"), "s.toml:8: only lines over numbers have a logarithmic x"),
        (("'table'", "'bar'\nlog = 'yx'"), "s.toml:8: log is"),
        (("'table'", "'bar'\nfacts = ['edges']"), "s.toml:8: facts and paper are columns of tables"),
        (("y = ['time']", "y = ['time']\nfacts = 'edges'"), "s.toml:10: invalid type: string \"edges\", expected"),
        (("y = ['time']", "y = ['time']\ngroups = ['no']"), "s.toml:10: no graph is of the group \"no\""),
        (("y = ['time']", "y = ['time']\nalgorithms = ['prim']"), "s.toml:10: \"prim\" does not run on these graphs"),
        (("y = ['time']", "y = ['time']\nfacts = ['age']"), "s.toml:10: \"age\" is not known of a graph"),
        (("y = ['time']", "y = ['time']\npaper = ['CPU']"), "s.toml:10: no graph has the paper's seconds of \"CPU\""),
        (("'table'", "'line'\ncolour = 'red'"), "s.toml:8: unknown field `colour`"),
    ] {
        let message = message(change);
        assert!(message.starts_with(expected) && !message.contains('\n'), "{message}\nnot {expected}");
    }
    let plot = figure.replace("'table'", "'line'").replace("['time']", "['time', 'speedup']");
    let error = with("algorithms = ['kruskal']", &plot).err().expect("an error").to_string();
    assert_eq!(error, "s.toml:6: a plot shows one y");
}
