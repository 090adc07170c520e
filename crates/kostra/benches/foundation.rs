//! Speed and memory of the foundation: reading, generating, solving with the classics, verifying.
//!
//! `cargo bench --bench foundation -- [--small] [--only reading|generating|verifying] [--out FILE.csv]` prints a table and
//! writes it as CSV. Everything is the median of several runs in one process; peaks of memory are read from a process of
//! their own.

#![allow(clippy::print_stdout)]

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use kostra::{Array, Graph, Run, Watch, WeightRule, Weights};
use rayon::prelude::*;

const REPEATS: usize = 5;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    if let [flag, path] = &arguments[..]
        && flag == "--peak-of-reading"
    {
        return print_peak(path);
    }
    let value_of = |flag: &str| arguments.iter().position(|a| a == flag).and_then(|at| arguments.get(at + 1));
    let scale = if arguments.iter().any(|a| a == "--small") { 14 } else { 20 };
    let mut table = Table::default();

    let is_wanted = |part: &str| value_of("--only").is_none_or(|only| only == part);
    if is_wanted("reading") {
        reading(scale, &mut table);
    }
    if is_wanted("generating") {
        generating(scale, &mut table);
    }
    if is_wanted("verifying") {
        verifying(scale, &mut table);
    }

    if let Some(path) = value_of("--out") {
        std::fs::write(path, table.csv).expect("the table can be written");
    }
}

/// The rows, printed as they come and kept as CSV.
struct Table {
    csv: String,
}

impl Default for Table {
    fn default() -> Self {
        Self { csv: "measure,subject,threads,value,unit\n".into() }
    }
}

impl Table {
    fn row(&mut self, measure: &str, subject: &str, value: f64, unit: &str) {
        let threads = rayon::current_num_threads();
        println!("{measure:24} {subject:44} {threads:2} threads {value:10.3} {unit}");
        writeln!(self.csv, "{measure},\"{subject}\",{threads},{value:.4},{unit}").expect("strings take everything");
    }
}

/// The median time of several runs, in seconds; freeing the results is not counted. Every run has to ask for its memory.
fn median<T>(mut work: impl FnMut() -> T) -> f64 {
    let mut times: Vec<f64> = (0..REPEATS)
        .map(|_| {
            let start = Instant::now();
            let result = std::hint::black_box(work());
            let seconds = start.elapsed().as_secs_f64();
            drop(result);
            kostra::release_memory();
            seconds
        })
        .collect();
    times.sort_by(f64::total_cmp);
    times[REPEATS / 2]
}

fn on_threads<T: Send>(threads: usize, work: impl FnOnce() -> T + Send) -> T {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool").install(work)
}

/// 1, and all.
fn thread_counts() -> Vec<usize> {
    let all = rayon::current_num_threads();
    if all == 1 { vec![1] } else { vec![1, all] }
}

fn array_bytes(graph: &Graph) -> f64 {
    let weight = match graph.weights() {
        Weights::Unit => 0,
        Weights::I64(_) | Weights::F64(_) => 8,
        _ => 4,
    };
    (graph.edges() * (8 + weight)) as f64
}

fn reading(scale: u32, table: &mut Table) {
    let folder = tempfile::tempdir().expect("a folder");
    let integers = kostra::generate(&format!("rmat:scale={scale},degree=16")).expect("a graph");
    let rule: WeightRule = "double".parse().expect("a rule");
    let doubles = rule.weights(&integers).expect("weights");
    let doubles =
        Graph::from_edges(integers.vertices(), integers.sources(), integers.targets(), doubles).expect("a graph");
    let units =
        Graph::from_edges(integers.vertices(), integers.sources(), integers.targets(), Weights::Unit).expect("a graph");
    let files = [
        ("gr", &integers),
        ("col", &integers),
        ("stp", &integers),
        ("mtx", &integers),
        ("wel", &integers),
        ("csv", &integers),
        ("tsv", &integers),
        ("graph", &integers),
        ("double.wel", &doubles),
        ("double.mtx", &doubles),
        ("unit.el", &units),
        ("unit.graph", &units),
        ("wel.gz", &integers),
        ("wel.zst", &integers),
        ("egr", &integers),
        ("sgr", &integers),
        ("kostra", &integers),
    ];
    for (extension, graph) in files {
        let path = folder.path().join(format!("x.{extension}"));
        let written = Instant::now();
        kostra::write(graph, &path).expect("the file can be written");
        let seconds = written.elapsed().as_secs_f64();
        let size = std::fs::metadata(&path).expect("a file").len() as f64;
        let subject = format!("{extension}, {:.0} MB", size / 1e6);
        table.row("write", &subject, size / 1e6 / seconds, "MB/s");
        for threads in thread_counts() {
            on_threads(threads, || {
                let seconds = median(|| kostra::read(&path).expect("the file can be read"));
                table.row("read", &subject, size / 1e6 / seconds, "MB/s");
                table.row("read, per thread", &subject, size / 1e6 / seconds / threads as f64, "MB/s");
                if ["egr", "sgr"].contains(&extension) {
                    let seconds = median(|| copy(&path));
                    table.row("plain copy", &subject, size / 1e6 / seconds, "MB/s");
                }
            });
        }
        if let Some(peak) = peak_of_reading(&path) {
            table.row("peak of reading", &subject, peak / array_bytes(graph), "of the graph");
        }
        std::fs::remove_file(path).expect("the file can be removed");
    }
}

/// The bytes of a file, copied into fresh memory on all threads.
fn copy(path: &Path) -> Array<'static, u8> {
    const PART: usize = 2 << 20;
    let file = std::fs::File::open(path).expect("a file");
    // SAFETY: nobody else knows the file.
    #[allow(unsafe_code)]
    let file = unsafe { memmap2::Mmap::map(&file) }.expect("a map");
    Array::filled(file.len(), |bytes| {
        let parts = bytes.par_chunks_mut(PART).zip(file.par_chunks(PART));
        parts.for_each(|(to, from)| to.copy_from_slice(from));
    })
    .expect("memory")
}

/// How much more memory a process takes at its peak when it reads the file, by the operating system's count.
fn peak_of_reading(path: &Path) -> Option<f64> {
    let program = std::env::current_exe().ok()?;
    let output = Command::new(program).arg("--peak-of-reading").arg(path).output().ok()?;
    String::from_utf8(output.stdout).ok()?.trim().parse().ok()
}

fn print_peak(path: &str) {
    let before = peak();
    let graph = kostra::read(path).expect("the file can be read");
    if let (Some(before), Some(after)) = (before, peak()) {
        println!("{}", after - before);
    }
    drop(graph);
}

/// The peak of resident memory so far, in bytes, where the system tells (Linux).
fn peak() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    Some(line.split_whitespace().nth(1)?.parse::<f64>().ok()? * 1024.0)
}

fn generating(scale: u32, table: &mut Table) {
    let n = 1u64 << scale;
    for spec in [
        format!("rmat:scale={},degree=16", scale + 2),
        format!("kronecker:scale={},degree=96", scale - 2),
        format!("er:n={n},degree=16"),
        format!("regular:n={n},degree=8"),
        format!("ssca2:scale={scale}"),
        format!("ws:n={n}"),
        format!("grid:rows={},cols=1024", n / 1024),
        format!("road:n={},degree=2.5", 4 * n),
        format!("delaunay:n={}", n / 4),
        format!("dense:n={},density=.2", n / 105),
        format!("cliques:n={},degree=58", n / 2),
        format!("web:n={n}"),
    ] {
        for threads in thread_counts() {
            on_threads(threads, || {
                table.row("generate", &spec, median(|| kostra::generate(&spec).expect("a graph")), "s");
            });
        }
    }
}

fn verifying(scale: u32, table: &mut Table) {
    let n = 1u64 << scale;
    for spec in [
        format!("rmat:scale={scale},degree=16"),
        format!("regular:n={n},degree=8"),
        format!("grid:rows={},cols=1024", n / 1024),
        format!("road:n={n},degree=2.5"),
        format!("dense:n={},density=.2", n / 210),
        format!("rmat:scale={scale},degree=16,weights=double"),
        format!("rmat:scale={scale},degree=16,weights=unit"),
    ] {
        let graph = kostra::generate(&spec).expect("a graph");
        let forest = kostra::minimum_spanning_forest(&graph).expect("a forest");
        for threads in thread_counts() {
            on_threads(threads, || {
                let mut kruskal = f64::NAN;
                for name in ["kruskal", "prim", "boruvka", "auto"] {
                    let run = Run::new(name).expect("an algorithm");
                    if run.algorithm().starts_from_csr() {
                        graph.csr();
                    }
                    let seconds = median(|| kostra::solve(&graph, &run).expect("a forest"));
                    table.row(name, &spec, seconds, "s");
                    if name == "kruskal" {
                        kruskal = seconds;
                    }
                }
                let seconds = median(|| kostra::verify(&graph, forest.edges(), false, &Watch::new()).expect("minimum"));
                table.row("verify", &spec, seconds, "s");
                table.row("verify / kruskal", &spec, seconds / kruskal, "ratio");
            });
        }
    }
}
