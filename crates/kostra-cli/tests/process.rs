//! What a snapshot cannot show: pipes, devices, Ctrl-C, and what becomes of files when things go wrong.

use std::fs;
use std::path::Path;

use assert_cmd::Command;
use tempfile::TempDir;

fn kostra() -> Command {
    Command::new(env!("CARGO_BIN_EXE_kostra"))
}

fn folder() -> TempDir {
    tempfile::tempdir().expect("a temporary folder")
}

/// The names of all files in a folder, hidden ones too.
fn files(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("a folder");
    let mut names: Vec<_> =
        entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[test]
fn standard_input_is_a_graph() {
    let out = kostra().args(["solve", "-", "-o", "-"]).write_stdin("0 1 5\n1 2 7\n0 2 6\n").assert().code(0);
    assert_eq!(String::from_utf8_lossy(&out.get_output().stdout), "0 1 5 0\n0 2 6 2\n");
    let out = kostra().args(["solve", "-", "--json"]).write_stdin("0 1 5\n1 x\n").assert().code(1).stdout("");
    let message = String::from_utf8_lossy(&out.get_output().stderr).into_owned();
    assert!(message.starts_with("kostra: ") && message.contains(":2:") && message.lines().count() == 1, "{message}");
}

#[test]
fn standard_input_is_a_forest() {
    let folder = folder();
    let graph = folder.path().join("graph.wel");
    fs::write(&graph, "0 1 5\n1 2 7\n0 2 6\n").expect("a file");
    kostra().arg("verify").arg(&graph).arg("-").write_stdin("0 1 5 0\n0 2 6 2\n").assert().code(0);
    kostra().arg("verify").arg(&graph).arg("-").write_stdin("0 1 5 0\n1 2 7 1\n").assert().code(1).stdout("");
}

#[test]
fn json_is_the_object_that_was_promised() {
    let out = kostra().args(["solve", "grid:rows=3,cols=3,weights=unit", "--json", "--threads", "1"]).assert().code(0);
    let text = String::from_utf8_lossy(&out.get_output().stdout).into_owned();
    let json: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(text.lines().count(), 1);
    assert_eq!(json["forest"]["weight"], 8);
    assert_eq!(json["forest"]["digest"].as_str().map(str::len), Some(16));
    assert_eq!(json["seconds"]["solve"].as_array().map(Vec::len), Some(1));
    assert_eq!(json["seconds"]["prepare"], 0.0);
    assert!(json["verified"].is_null());
    let places = ["input", "vertices", "edges", "algorithm", "device", "threads", "forest", "seconds", "verified"];
    let places = places.map(|key| text.find(&format!("\"{key}\":")).expect(key));
    // "edges" of the forest comes later than that of the graph, so first places are in order.
    assert!(places.is_sorted(), "{text}");
}

#[test]
fn infinite_totals_are_strings() {
    let solve = |graph: &'static str| {
        let out = kostra().args(["solve", "-", "--format", "wel", "--json"]).write_stdin(graph).assert().code(0);
        String::from_utf8_lossy(&out.get_output().stdout).into_owned()
    };
    assert!(solve("0 1 inf\n").contains(r#""weight":"inf""#));
    assert!(solve("0 1 -inf\n").contains(r#""weight":"-inf""#));
    assert!(solve("0 1 inf\n1 2 -inf\n").contains(r#""weight":"nan""#));
}

#[test]
fn an_existing_file_wins_over_a_spec() {
    let folder = folder();
    fs::write(folder.path().join("er:n=5"), "0 1 5\n").expect("a file");
    let out = kostra().current_dir(&folder).args(["info", "er:n=5", "--format", "wel", "--json"]).assert().code(0);
    assert!(String::from_utf8_lossy(&out.get_output().stdout).contains(r#""vertices":2,"edges":1"#));
}

#[test]
fn completions_name_every_subcommand() {
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let out = kostra().args(["completions", shell]).assert().code(0);
        let script = String::from_utf8_lossy(&out.get_output().stdout).into_owned();
        for command in ["solve", "gen", "convert", "info", "verify", "bench", "algorithms", "completions"] {
            assert!(script.contains(command), "{shell}: {command}");
        }
    }
}

/// A suite of a graph from a file beside it and a generated one.
fn small_suite(folder: &Path) {
    let suite = "description = 'small'\nalgorithms = ['kruskal', 'prim', 'auto']\nbaseline = 'kruskal'\nthreads = [1]\n\
                 graph = [{ input = 'one.wel' }, { name = 'a, \"b\"', input = 'grid:rows=40,cols=30', weight = 407264 }]\n";
    fs::write(folder.join("small.toml"), suite).expect("a file");
    fs::write(folder.join("one.wel"), "0 1 5\n1 2 7\n0 2 6\n").expect("a file");
}

/// The cells of a line of CSV, where quotes may enclose a cell.
fn cells(line: &str) -> Vec<String> {
    let (mut cells, mut quoted) = (vec![String::new()], false);
    for c in line.chars() {
        match c {
            '"' => quoted = !quoted,
            ',' if !quoted => cells.push(String::new()),
            c => cells.last_mut().expect("a cell").push(c),
        }
    }
    cells
}

#[test]
fn a_bench_writes_every_figure() {
    let folder = folder();
    small_suite(folder.path());
    // Files of a suite are found beside it, whatever the working directory.
    let suite = folder.path().join("small.toml");
    let out = folder.path().join("new/results");
    let run = kostra().arg("bench").arg(&suite).args(["--repeat", "3", "--json", "--out"]).arg(&out).assert().code(0);
    let printed = String::from_utf8_lossy(&run.get_output().stdout).into_owned();
    assert_eq!(files(&out), ["report.html", "report.md", "results.csv", "results.json"]);
    assert_eq!(fs::read_to_string(out.join("results.json")).expect("results"), printed);

    let json: serde_json::Value = serde_json::from_str(&printed).expect("JSON");
    assert_eq!(json["suite"]["description"], "small");
    assert_eq!(json["suite"]["toml"], fs::read_to_string(&suite).expect("the suite"));
    assert!(json["machine"]["cores"].as_u64() >= Some(1) && json["kostra"].is_string());
    assert!(json["date"].as_str().is_some_and(|date| date.len() == 20 && date.ends_with('Z')), "{}", json["date"]);
    let graph = &json["graphs"][1];
    assert_eq!(graph["vertices"], 1200);
    assert_eq!(graph["forest"]["weight"], 407264);
    assert!(graph["seconds"]["prepare"].is_f64(), "prim starts from adjacency lists");
    assert_eq!(graph["results"].as_array().map(Vec::len), Some(3));
    for result in graph["results"].as_array().expect("results") {
        assert_eq!(result["seconds"].as_array().map(Vec::len), Some(3));
        assert!(result["min"].as_f64() <= result["median"].as_f64() && result["spread"].is_f64());
        assert_eq!((&result["device"], &result["threads"]), (&"cpu".into(), &1.into()));
    }
    assert_eq!(graph["results"][0]["speedup"], 1.0);
    assert_ne!(graph["results"][2]["ran"], "auto");
    assert_eq!(json["geometric_means"][0]["speedup"], 1.0);

    let csv = fs::read_to_string(out.join("results.csv")).expect("results");
    let rows: Vec<Vec<String>> = csv.lines().map(cells).collect();
    assert_eq!(rows.len(), 1 + 2 * 3);
    assert!(rows.iter().all(|row| row.len() == rows[0].len()), "{csv}");
    let cell = |row: usize, name: &str| &rows[row][rows[0].iter().position(|heading| heading == name).expect(name)];
    assert_eq!([cell(1, "graph"), cell(1, "algorithm"), cell(1, "weight")], ["one.wel", "kruskal", "11"]);
    assert_eq!([cell(5, "input"), cell(5, "algorithm"), cell(5, "threads")], ["grid:rows=40,cols=30", "prim", "1"]);
    assert_eq!(cell(5, "seconds").split(' ').count(), 3);
    assert_eq!(cell(4, "speedup"), "1");
}

#[test]
fn a_failed_bench_keeps_the_old_results() {
    let folder = folder();
    small_suite(folder.path());
    fs::write(folder.path().join("one.wel"), "0 1 5\n1 x\n").expect("a file");
    fs::write(folder.path().join("results.csv"), "precious").expect("a file");
    let out = kostra().current_dir(&folder).args(["bench", "small.toml", "--out", "."]).assert().code(1).stdout("");
    let message = String::from_utf8_lossy(&out.get_output().stderr).into_owned();
    assert!(message.starts_with("kostra: one.wel: ") && message.contains("one.wel:2: "), "{message}");
    assert_eq!(fs::read_to_string(folder.path().join("results.csv")).expect("the old file"), "precious");
    assert_eq!(files(folder.path()), ["one.wel", "results.csv", "small.toml"]);
}

#[test]
fn a_failed_solve_leaves_no_file_and_keeps_the_old_one() {
    let folder = folder();
    let (bad, old) = (folder.path().join("bad.wel"), folder.path().join("old.forest"));
    fs::write(&bad, "0 1 5\n1 2\n").expect("a file");
    fs::write(&old, "precious").expect("a file");
    kostra().arg("solve").arg(&bad).arg("-o").arg(&old).assert().code(1);
    kostra().arg("solve").arg(&bad).arg("-o").arg(folder.path().join("new.forest")).assert().code(1);
    assert_eq!(fs::read_to_string(&old).expect("the old file"), "precious");
    assert_eq!(files(folder.path()), ["bad.wel", "old.forest"]);
}

/// What a format cannot hold is found while writing, perhaps late.
#[test]
fn a_failed_write_leaves_no_file_and_keeps_the_old_one() {
    let folder = folder();
    let (graph, old) = (folder.path().join("graph.wel"), folder.path().join("old.egr"));
    fs::write(&graph, "0 1 0.5\n1 2 0.25\n").expect("a file");
    fs::write(&old, "precious").expect("a file");
    kostra().arg("convert").arg(&graph).arg(&old).assert().code(1).stdout("");
    assert_eq!(fs::read_to_string(&old).expect("the old file"), "precious");
    assert_eq!(files(folder.path()), ["graph.wel", "old.egr"]);
}

#[cfg(unix)]
mod unix {
    use std::io::{BufRead, BufReader, Read, Write};
    use std::os::unix::fs::PermissionsExt;
    use std::process::{Child, ExitStatus, Stdio};
    use std::time::{Duration, Instant};

    use super::*;

    /// More than any of these takes, even on a busy machine.
    const PATIENCE: Duration = Duration::from_secs(20);

    /// The bit of Ctrl-C in a mask of signals.
    const SIGINT: u64 = 1 << 1;

    fn spawn(args: &[&str], folder: &Path, stdin: Stdio) -> Child {
        std::process::Command::new(env!("CARGO_BIN_EXE_kostra"))
            .args(args)
            .current_dir(folder)
            .stdin(stdin)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("kostra runs")
    }

    /// Sends a signal, Ctrl-C or like it, once the child listens for it (told by Linux; elsewhere after a while) and is at work.
    fn interrupt(child: &mut Child, signal: &str) {
        let start = Instant::now();
        let status = format!("/proc/{}/status", child.id());
        while Path::new("/proc/self/status").exists() && start.elapsed() < PATIENCE {
            if signal_mask(&fs::read_to_string(&status).unwrap_or_default(), "SigCgt:") & SIGINT != 0 {
                break;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        std::thread::sleep(Duration::from_millis(400));
        assert!(child.try_wait().expect("a child").is_none(), "kostra ended too soon");
        let status = std::process::Command::new("kill").args(["-s", signal]).arg(child.id().to_string()).status();
        assert!(status.expect("kill runs").success());
    }

    /// Waits for the end; a child that goes on too long is killed and fails the test.
    fn ended(child: &mut Child) -> ExitStatus {
        let start = Instant::now();
        while start.elapsed() < PATIENCE {
            if let Some(status) = child.try_wait().expect("a child") {
                return status;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        child.kill().expect("a child to kill");
        panic!("kostra did not end");
    }

    fn all(mut stream: impl Read) -> String {
        let mut text = String::new();
        stream.read_to_string(&mut text).expect("text");
        text
    }

    /// The signals of one line of `/proc/PID/status`.
    fn signal_mask(status: &str, label: &str) -> u64 {
        let mask = status.lines().find_map(|line| line.strip_prefix(label));
        mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
    }

    /// A shell may have this process, and so its children, ignore Ctrl-C; then there is nothing to test.
    fn interrupts_are_ignored() -> bool {
        let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
        let ignored = signal_mask(&status, "SigIgn:") & SIGINT != 0;
        if ignored {
            let _ = writeln!(std::io::stderr(), "skipped: SIGINT is ignored here");
        }
        ignored
    }

    #[test]
    fn a_closed_pipe_ends_quietly() {
        let folder = folder();
        for args in [
            &["gen", "grid:rows=300,cols=300", "-o", "-", "--format", "wel"][..],
            &["convert", "grid:rows=300,cols=300", "-", "--to", "el.gz"],
            &["solve", "grid:rows=300,cols=300", "-o", "-"],
            &["completions", "bash"],
            &["info", "grid:rows=3,cols=3"],
        ] {
            let mut child = spawn(args, folder.path(), Stdio::null());
            let mut first = Vec::new();
            let mut stdout = BufReader::with_capacity(16, child.stdout.take().expect("a pipe"));
            if args[0] == "gen" {
                stdout.read_until(b'\n', &mut first).expect("a line");
            }
            drop(stdout);
            assert_eq!(ended(&mut child).code(), Some(0), "{args:?}");
            let message = all(child.stderr.take().expect("a pipe"));
            assert_eq!(message, "", "{args:?}");
        }
    }

    #[test]
    fn the_first_interrupt_stops_the_work_and_leaves_no_file() {
        if interrupts_are_ignored() {
            return;
        }
        let folder = folder();
        // Each would take minutes.
        for (signal, args) in [
            ("INT", &["gen", "er:n=30000000", "-o", "graph.el"][..]),
            ("INT", &["solve", "grid:rows=1000,cols=1000", "--repeat", "1000000", "-o", "grid.forest"]),
            ("TERM", &["info", "rmat:scale=24", "--json"]),
            ("INT", &["bench", "cpu", "--repeat", "1000"]),
        ] {
            let mut child = spawn(args, folder.path(), Stdio::null());
            interrupt(&mut child, signal);
            assert_eq!(ended(&mut child).code(), Some(1), "{args:?}");
            assert_eq!(all(child.stderr.take().expect("a pipe")), "kostra: interrupted\n");
            assert_eq!(all(child.stdout.take().expect("a pipe")), "");
            assert_eq!(files(folder.path()), [""; 0], "{args:?}");
        }
    }

    #[test]
    fn an_interrupt_does_not_wait_for_standard_input() {
        if interrupts_are_ignored() {
            return;
        }
        let folder = folder();
        let mut child = spawn(&["solve", "-"], folder.path(), Stdio::piped());
        let mut stdin = child.stdin.take().expect("a pipe");
        stdin.write_all(b"0 1\n").expect("a reader");
        interrupt(&mut child, "INT");
        assert_eq!(ended(&mut child).code(), Some(1));
        assert_eq!(all(child.stderr.take().expect("a pipe")), "kostra: interrupted\n");
        drop(stdin);
    }

    #[test]
    fn two_outputs_cannot_be_one_file() {
        let folder = folder();
        let solve = ["solve", "grid:rows=9,cols=9", "-o", "x.txt", "--labels", "x.txt"];
        kostra().current_dir(&folder).args(solve).assert().code(2).stdout("");
        assert!(files(folder.path()).is_empty());
    }

    #[test]
    fn devices_are_written_as_they_are() {
        kostra().args(["solve", "grid:rows=9,cols=9", "-o", "/dev/null", "--labels", "/dev/null"]).assert().code(0);
        kostra().args(["gen", "grid:rows=9,cols=9", "-o", "/dev/null", "--format", "el"]).assert().code(0);
        let meta = fs::metadata("/dev/null").expect("a device");
        assert!(!meta.is_file());
    }

    #[test]
    fn a_named_pipe_is_written_once_and_whole() {
        let folder = folder();
        let pipe = folder.path().join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status().expect("mkfifo");
        assert!(made.success());
        let reader = {
            let pipe = pipe.clone();
            std::thread::spawn(move || fs::read_to_string(pipe).expect("the pipe's other end"))
        };
        let mut child = spawn(&["gen", "grid:rows=9,cols=9", "-o", "pipe"], folder.path(), Stdio::null());
        assert!(ended(&mut child).success());
        assert_eq!(reader.join().expect("a reader").lines().count(), 2 * 9 * 8);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_full_disk_is_an_error() {
        let full = || fs::OpenOptions::new().write(true).open("/dev/full").expect("a device");
        for args in [
            &["solve", "grid:rows=9,cols=9", "-o", "/dev/full"][..],
            &["gen", "grid:rows=9,cols=9", "-o", "/dev/full", "--format", "el.gz"],
        ] {
            let out = kostra().args(args).assert().code(1).stdout("");
            let message = String::from_utf8_lossy(&out.get_output().stderr).into_owned();
            assert!(message.starts_with("kostra: /dev/full: ") && message.lines().count() == 1, "{message}");
        }
        for args in [&["algorithms"][..], &["solve", "grid:rows=9,cols=9", "-o", "-"]] {
            let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_kostra"));
            let out = command.args(args).stdout(full()).output().expect("kostra runs");
            let message = String::from_utf8_lossy(&out.stderr).into_owned();
            assert_eq!(out.status.code(), Some(1), "{message}");
            assert!(message.starts_with("kostra: standard output: ") && message.lines().count() == 1, "{message}");
        }
    }

    #[test]
    fn a_folder_without_permission_is_an_error() {
        let folder = folder();
        let closed = folder.path().join("closed");
        fs::create_dir(&closed).expect("a folder");
        fs::set_permissions(&closed, fs::Permissions::from_mode(0o555)).expect("permissions");
        if fs::write(closed.join("probe"), "").is_ok() {
            let _ = writeln!(std::io::stderr(), "skipped: root may write everywhere");
            return;
        }
        let out = kostra().args(["gen", "grid:rows=9,cols=9", "-o"]).arg(closed.join("grid.el")).assert().code(1);
        let message = String::from_utf8_lossy(&out.get_output().stderr).into_owned();
        assert!(message.contains("closed/grid.el") && message.lines().count() == 1, "{message}");
        assert_eq!(files(&closed), [""; 0]);
    }

    #[test]
    fn a_file_without_permission_is_an_error() {
        let folder = folder();
        let closed = folder.path().join("closed.el");
        fs::write(&closed, "0 1\n").expect("a file");
        fs::set_permissions(&closed, fs::Permissions::from_mode(0o000)).expect("permissions");
        if fs::read(&closed).is_ok() {
            let _ = writeln!(std::io::stderr(), "skipped: root may read everything");
            return;
        }
        let out = kostra().arg("info").arg(&closed).assert().code(1);
        let message = String::from_utf8_lossy(&out.get_output().stderr).into_owned();
        assert!(message.contains("closed.el: ") && message.lines().count() == 1, "{message}");
    }

    #[test]
    fn names_that_are_not_text_work_and_cannot_break_a_line() {
        use std::os::unix::ffi::OsStrExt;
        let folder = folder();
        let odd = folder.path().join(std::ffi::OsStr::from_bytes(b"a\n\xff.wel"));
        fs::write(&odd, "0 1 5\n").expect("a file");
        kostra().arg("info").arg(&odd).assert().code(0);
        fs::write(&odd, "0 x 5\n").expect("a file");
        let out = kostra().arg("info").arg(&odd).assert().code(1);
        assert_eq!(String::from_utf8_lossy(&out.get_output().stderr).lines().count(), 1);
    }
}

/// A SPEC of billions of vertices costs nothing until something is counted for each.
#[cfg(target_os = "linux")]
#[test]
fn what_memory_cannot_hold_is_refused_in_one_line() {
    for command in ["info", "solve"] {
        let limited = format!("ulimit -v 8000000 && exec \"$0\" {command} er:n=4294967295,degree=0 --threads 2");
        let out = Command::new("sh").args(["-c", &limited, env!("CARGO_BIN_EXE_kostra")]).assert().code(1).stdout("");
        let message = String::from_utf8_lossy(&out.get_output().stderr).into_owned();
        assert!(message.starts_with("kostra: not enough memory: ") && message.lines().count() == 1, "{message}");
    }
}
