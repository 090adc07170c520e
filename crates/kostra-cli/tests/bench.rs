//! Folders of results: what is written, what a report shows, what an interrupted run keeps and how it goes on.

use std::fs;
use std::path::Path;

use assert_cmd::Command;
use serde_json::Value;
use tempfile::TempDir;

const SUITE: &str = r#"
description = "small <b>& \"quoted\"</b>"
algorithms = ["kruskal@cpu:1", "vineet@cpu:1", "pma-hybrid:gamma={2,8}@cpu:1", "ecl@cuda:77"]
baseline = "kruskal@cpu:1"
seconds = 3
repeats = 2
[[graph]]
name = "random <i>"
groups = ["random"]
input = "er:n=300,degree={2,6}"
statistics = ["mst-bc:p=4"]
[[graph]]
name = "NY"
groups = ["roads"]
file = "USA-road-d.NY"
input = "road:n=400"
paper = { "their GPU" = 0.039 }
[[figure]]
title = "Times & <more>"
kind = "line"
groups = ["random"]
x = "degree"
y = ["time"]
[[figure]]
title = "Gamma"
kind = "line"
x = "gamma"
y = ["throughput"]
[[figure]]
title = "Reduction"
kind = "bar"
groups = ["random"]
x = "graph"
y = ["reduction"]
log = "y"
[[figure]]
title = "Rounds"
kind = "line"
x = "round"
y = ["vertices"]
algorithms = ["vineet"]
[[figure]]
title = "Spread"
kind = "box"
x = "graph"
y = ["time"]
[[figure]]
title = "Table"
kind = "table"
x = "graph"
y = ["iterations", "time", "speedup"]
paper = ["their GPU"]
"#;

fn kostra() -> Command {
    Command::new(env!("CARGO_BIN_EXE_kostra"))
}

fn folder() -> TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    fs::write(folder.path().join("small.toml"), SUITE).expect("a file");
    folder
}

fn bench(folder: &Path, more: &[&str]) -> assert_cmd::assert::Assert {
    kostra().current_dir(folder).args(["bench", "small.toml", "--out", "out"]).args(more).assert()
}

fn read(folder: &Path, name: &str) -> String {
    fs::read_to_string(folder.join("out").join(name)).expect(name)
}

fn json(folder: &Path) -> Value {
    serde_json::from_str(&read(folder, "results.json")).expect("JSON")
}

/// Everything but what is measured in seconds and bytes.
fn without_times(mut results: Value) -> Value {
    for key in ["date", "command", "geometric_means"] {
        results[key] = Value::Null;
    }
    for graph in results["graphs"].as_array_mut().expect("graphs") {
        graph["seconds"] = Value::Null;
        for row in graph["results"].as_array_mut().expect("rows") {
            for key in ["median", "min", "spread", "edges_per_second", "speedup", "peak_bytes"] {
                row[key] = Value::Null;
            }
            row["seconds"] = row["seconds"].as_array().map(Vec::len).into();
        }
    }
    results
}

#[test]
fn a_report_is_well_formed_and_shows_every_figure() {
    let folder = folder();
    let out = bench(folder.path(), &[]).code(0);
    let text = String::from_utf8_lossy(&out.get_output().stdout).into_owned();
    assert!(text.contains("generated in") && text.contains("of the shape of USA-road-d.NY"), "{text}");
    assert!(text.contains("\nskipped cuda:77: ") && text.ends_with("report.html\n"), "{text}");

    let html = read(folder.path(), "report.html");
    let options = roxmltree::ParsingOptions { allow_dtd: true, ..Default::default() };
    let page =
        roxmltree::Document::parse_with_options(&html, options).unwrap_or_else(|error| panic!("{error}\n{html}"));
    let all = |name: &'static str| page.descendants().filter(move |node| node.tag_name().name() == name);
    let texts = |name| all(name).map(|node| node.text().unwrap_or_default().to_owned()).collect::<Vec<_>>();
    assert_eq!(texts("h3"), ["Times & <more>", "Gamma", "Reduction", "Rounds", "Spread", "Table"]);
    let plots = all("svg").filter(|node| node.attribute("role") == Some("img"));
    assert_eq!(plots.count(), 5);
    assert!(all("title").any(|node| node.text().is_some_and(|text| text.contains("mst-bc:p=4: "))), "{html}");
    assert!(html.contains("random &lt;i&gt; degree=2") && !html.contains("<i>"));
    assert!(html.contains("NY *") && html.contains("generated, of the shape of USA-road-d.NY"));
    assert!(html.contains("prefers-color-scheme: dark") && !html.contains("Partial"));
    assert!(!html.contains("src=") && !html.contains("@import") && !html.contains("<script"), "no network, no scripts");

    let markdown = read(folder.path(), "report.md");
    for part in ["# small.toml", "## Times \\& \\<more\\>", "| NY \\* |", "paper: their GPU", "mst-bc:p=4"] {
        assert!(markdown.contains(part), "{part}\n{markdown}");
    }
    let csv = read(folder.path(), "results.csv");
    assert!(csv.lines().next().is_some_and(|line| line.ends_with(",seconds,instead_of,iterations")));
    assert!(csv.lines().any(|line| line.starts_with("NY,") && line.contains(",USA-road-d.NY,")), "{csv}");

    let results = json(folder.path());
    assert_eq!((&results["complete"], results["graphs"].as_array().map(Vec::len)), (&true.into(), Some(3)));
    let graph = &results["graphs"][0];
    assert_eq!(graph["statistics"][0]["name"], "mst-bc:p=4");
    let rows = graph["results"].as_array().expect("rows");
    let algorithms: Vec<&str> = rows.iter().filter_map(|row| row["algorithm"].as_str()).collect();
    assert_eq!(algorithms, ["kruskal", "vineet", "pma-hybrid:gamma=2", "pma-hybrid:gamma=8"]);
    assert_eq!(rows[2]["stats"]["rounds"][0]["gamma"], 2.0);
}

#[test]
fn a_resumed_run_gives_the_same_rows() {
    let folder = folder();
    bench(folder.path(), &[]).code(0);
    let whole = json(folder.path());
    // As a run leaves it that was killed after its first graph.
    let mut partial = whole.clone();
    partial["graphs"].as_array_mut().expect("graphs").truncate(1);
    partial["complete"] = false.into();
    fs::write(folder.path().join("out/results.json"), partial.to_string()).expect("a file");
    bench(folder.path(), &["--resume"]).code(0);
    let resumed = json(folder.path());
    assert_eq!(without_times(resumed.clone()), without_times(whole.clone()));
    assert_eq!((&resumed["graphs"][0], &resumed["date"]), (&whole["graphs"][0], &whole["date"]), "kept as it was");
    assert!(!read(folder.path(), "report.html").contains("Partial"));

    // What is whole is told again, and not measured.
    bench(folder.path(), &["--resume"]).code(0);
    assert_eq!(json(folder.path())["graphs"], resumed["graphs"]);
}

#[test]
fn results_of_another_run_are_not_resumed() {
    let folder = folder();
    bench(folder.path(), &[]).code(0);
    let whole = json(folder.path());
    let refused = |key: &str, value: Value, more: &[&str], expected: &str| {
        let mut changed = whole.clone();
        *changed.pointer_mut(key).expect(key) = value;
        fs::write(folder.path().join("out/results.json"), changed.to_string()).expect("a file");
        let out = bench(folder.path(), &[&["--resume"], more].concat()).code(1).stdout("");
        let message = String::from_utf8_lossy(&out.get_output().stderr).into_owned();
        assert!(message.contains("cannot be resumed: ") && message.contains(expected), "{message}");
    };
    refused("/suite/toml", "x = 1".into(), &[], "the text of the suite has changed");
    refused("/kostra", "0.0.1".into(), &[], "kostra \"0.0.1\"");
    refused("/machine/cores", 4000.into(), &[], "4000 cores");
    refused("/complete", true.into(), &["--repeat", "7"], "--repeat 2, and this is 7");
    refused("/complete", true.into(), &["--device", "cpu"], "--device None, and this is Some(\"cpu\")");
    fs::write(folder.path().join("out/results.json"), "{").expect("a file");
    let out = bench(folder.path(), &["--resume"]).code(1);
    assert!(String::from_utf8_lossy(&out.get_output().stderr).contains("no results to resume"));
    kostra().current_dir(&folder).args(["bench", "small.toml", "--resume"]).assert().code(2);
}

#[cfg(unix)]
#[test]
fn an_interrupted_run_keeps_what_is_done() {
    use std::time::{Duration, Instant};

    let folder = folder();
    // The second graph would take minutes.
    let suite = "description = ''\nrepeats = 1\nalgorithms = ['kruskal@cpu:1']\n\
                 graph = [{ input = 'grid:rows=1,cols=2', name = 'first' }, { input = 'er:n=30000000' }]\n";
    fs::write(folder.path().join("small.toml"), suite).expect("a file");
    let mut child = std::process::Command::new(env!("CARGO_BIN_EXE_kostra"))
        .args(["bench", "small.toml", "--out", "out"])
        .current_dir(&folder)
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .expect("kostra runs");
    let start = Instant::now();
    while !folder.path().join("out/results.json").exists() {
        assert!(start.elapsed() < Duration::from_secs(60), "no results");
        std::thread::sleep(Duration::from_millis(10));
    }
    let sent = std::process::Command::new("kill").args(["-s", "TERM", &child.id().to_string()]).status();
    assert!(sent.expect("kill runs").success());
    assert_eq!(child.wait().expect("a child").code(), Some(1));
    let mut message = String::new();
    std::io::Read::read_to_string(&mut child.stderr.take().expect("a pipe"), &mut message).expect("text");
    assert_eq!(message, "kostra: interrupted\n");

    let results = json(folder.path());
    assert_eq!((&results["complete"], results["graphs"].as_array().map(Vec::len)), (&false.into(), Some(1)));
    assert!(read(folder.path(), "report.html").contains("<b>Partial.</b> The run ended after 1 of 2 graphs"));
    assert!(read(folder.path(), "report.md").contains("**Partial**: 1 of 2 graphs."));
}
