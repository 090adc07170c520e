//! Solving files of any size: they pass by in parts, with as much memory as is allowed.

use std::time::{Duration, Instant};

use kostra::io::{WriteOptions, check_writable, solve_files, verify_stream, write_labels, write_stream_forest};
use kostra::{Run, StreamForest};

use super::{Report, Seconds, Solve};
use crate::console::Console;
use crate::failure::Failure;
use crate::human::{self, Lines};
use crate::json::{self, ForestReport, StreamReport};
use crate::summary::Summary;

/// Reads and solves at once, proves, writes; then tells.
pub(super) fn run(solve: &Solve, run: &Run, console: &Console) -> Result<Summary, Failure> {
    let data_on_stdout = solve.data_on_stdout()?;
    if solve.repeat > 1 {
        return Err(Failure::usage("solve", "--repeat is for graphs in memory: one file, without --memory"));
    }
    if solve.stats {
        return Err(Failure::usage("solve", "--stats is for graphs in memory: one file, without --memory"));
    }
    solve.checkpoint.iter().try_for_each(check_writable)?;
    let options = solve.input.stream_options(solve.checkpoint.clone(), "solve", console)?;
    let start = Instant::now();
    let paths = &solve.input.graphs;
    let forest = solve.input.reading_from(console, || solve_files(paths, run, &options))?;
    let all = start.elapsed();
    let verify = if solve.verify {
        let start = Instant::now();
        verify_stream(paths, &forest, run.is_maximum(), &options)?;
        Some(start.elapsed())
    } else {
        None
    };
    write(solve, &forest, console)?;
    // All that was to be done is done: there is nothing to take up again.
    if let Some(path) = solve.checkpoint.as_ref().filter(|path| path.exists()) {
        std::fs::remove_file(path).map_err(|source| kostra::Error::Io { file: path.display().to_string(), source })?;
    }

    let (device, ran) = kostra::resolve(forest.graph(), run)?;
    let device = device.to_string();
    let algorithm = if ran == run.algorithm() { &solve.algorithm } else { ran.name() };
    let name = solve.input.name();
    let text = if solve.json {
        json::line(&report(&forest, &name, algorithm, &device, all, verify, options.memory))?
    } else {
        text(&forest, &name, algorithm, &device, all, verify)
    };
    Ok(Summary::new(text).beside_data(data_on_stdout))
}

fn write(solve: &Solve, forest: &StreamForest, console: &Console) -> kostra::Result<()> {
    let options = WriteOptions { watch: console.watch().clone(), ..WriteOptions::default() };
    if let Some(path) = &solve.output {
        console.writing(path, || write_stream_forest(forest, path, &options))?;
    }
    if let Some(path) = &solve.labels {
        console.writing(path, || write_labels(forest.graph(), &forest.labels(), path, console.watch()))?;
    }
    Ok(())
}

fn text(
    forest: &StreamForest,
    name: &str,
    algorithm: &str,
    device: &str,
    all: Duration,
    verify: Option<Duration>,
) -> String {
    let threads = human::counted(rayon::current_num_threads(), "thread", "threads");
    let edges = human::counted(forest.len(), "edge", "edges");
    let trees = human::counted(forest.trees(), "tree", "trees");
    let (merges, merging) = forest.merges();
    let merges = human::counted(merges, "merge", "merges");
    let mut lines = Lines::default();
    lines.add("input", name);
    lines.add("vertices", human::count(forest.graph().vertices()));
    lines.add("edges", human::count(forest.streamed() as usize));
    lines.add("algorithm", format!("{algorithm} on {device}, {threads}"));
    lines.add("forest", format!("{edges} in {trees}"));
    lines.add("weight", forest.weight());
    lines.add("digest", format!("{:016x}", forest.digest()));
    lines.add("stream", format!("{}, meanwhile {merges} in {}", human::time(all), human::time(merging)));
    if let Some(time) = verify {
        lines.add("verified", format!("yes, in {}", human::time(time)));
    }
    lines.to_string()
}

fn report<'a>(
    forest: &StreamForest,
    name: &'a str,
    algorithm: &'a str,
    device: &'a str,
    all: Duration,
    verify: Option<Duration>,
    memory: Option<u64>,
) -> Report<'a> {
    let (merges, merging) = forest.merges();
    Report {
        input: name,
        vertices: forest.graph().vertices(),
        edges: forest.streamed(),
        algorithm,
        device,
        threads: rayon::current_num_threads(),
        forest: ForestReport::new(forest.len(), forest.trees(), forest.weight(), forest.digest()),
        seconds: Seconds { read: json::seconds(all), prepare: 0.0, solve: vec![json::seconds(merging)] },
        verified: verify.map(|_| true),
        stats: None,
        stream: Some(StreamReport { memory, merges }),
    }
}
