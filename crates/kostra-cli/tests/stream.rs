//! Graphs in parts, from outside: memory, pipes, kills, and what becomes of checkpoints.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use assert_cmd::Command;
use tempfile::TempDir;

fn kostra() -> Command {
    Command::new(env!("CARGO_BIN_EXE_kostra"))
}

/// On two threads, so that the same memory is enough on every machine.
fn solve() -> Command {
    let mut command = kostra();
    command.args(["solve", "--threads", "2"]);
    command
}

fn folder() -> TempDir {
    tempfile::tempdir().expect("a temporary folder")
}

/// A generated graph in a file.
fn graph(folder: &TempDir, name: &str, spec: &str) -> PathBuf {
    let path = folder.path().join(name);
    kostra().args(["gen", spec, "-o"]).arg(&path).assert().code(0);
    path
}

/// The lines of the forest that a command writes to standard output.
fn forest(command: &mut Command) -> String {
    let out = command.args(["-o", "-"]).assert().code(0);
    String::from_utf8_lossy(&out.get_output().stdout).into_owned()
}

fn complaint(command: &mut Command) -> String {
    let out = command.assert().code(1).stdout("");
    let message = String::from_utf8_lossy(&out.get_output().stderr).into_owned();
    assert!(message.starts_with("kostra: ") && message.lines().count() == 1, "{message}");
    message
}

#[test]
fn a_graph_in_parts_has_the_forest_that_it_has_in_memory() {
    let folder = folder();
    let path = graph(&folder, "g.gr", "er:n=2000,degree=200,weights=uniform:1-9");
    let expected = forest(kostra().arg("solve").arg(&path));
    assert_eq!(forest(solve().args(["--memory", "15MiB", "--verify"]).arg(&path)), expected);
    // A pipe cannot be read again: whether arcs are symmetric is settled at its end, and both ways are merged until then.
    let text = fs::read(&path).expect("the graph");
    let piped = |options: &[&str]| forest(solve().arg("-").args(options).write_stdin(&text[..]));
    assert_eq!(piped(&["--memory", "30MiB"]), expected);
    let lopsided = [&text[..], b"a 7 3 1\n"].concat();
    let lopsided = String::from_utf8_lossy(&lopsided).into_owned();
    let (header, arcs) = lopsided.split_once('\n').expect("a header");
    let count = arcs.lines().count();
    assert_eq!(header, format!("p sp 2000 {}", count - 1));
    let lopsided = format!("p sp 2000 {count}\n{arcs}");
    let other = folder.path().join("h.gr");
    fs::write(&other, &lopsided).expect("a file");
    let expected = forest(kostra().arg("solve").arg(&other));
    assert_eq!(forest(solve().args(["-", "--memory", "30MiB"]).write_stdin(lopsided.as_bytes())), expected);
    let file = folder.path().join("h.forest");
    fs::write(&file, &expected).expect("a file");
    let verify = |graph: &Path| {
        let mut command = kostra();
        command.arg("verify").arg(graph).arg(&file).args(["--memory", "15MiB"]);
        command
    };
    verify(&other).assert().code(0);
    verify(Path::new("-")).write_stdin(lopsided.as_bytes()).assert().code(0);
    assert!(complaint(&mut verify(&path)).contains("not a"));
}

#[test]
fn several_files_and_directories_are_one_graph() {
    let folder = folder();
    fs::create_dir(folder.path().join("parts")).expect("a folder");
    for (name, text) in [("parts/a.csv", "u,v,w\nx,y,3\ny,z,1\n"), ("parts/b.csv", "u,v,w\nz,x,2\n")] {
        fs::write(folder.path().join(name), text).expect("a file");
    }
    let (parts, more) = (folder.path().join("parts"), folder.path().join("more.csv"));
    fs::write(&more, "u,v,w\nx,y,0\n").expect("a file");
    let sparse = || {
        let mut command = solve();
        command.args(["--ids", "sparse"]).arg(&parts);
        command
    };
    assert_eq!(forest(&mut sparse()), "y z 1 1\nz x 2 2\n");
    assert_eq!(forest(sparse().arg(&more)), "y z 1 1\nx y 0 3\n");
    assert_eq!(forest(sparse().arg("-").write_stdin("u,v,w\nx,y,0\n")), "y z 1 1\nx y 0 3\n");
    let out = sparse().arg("--json").assert().code(0);
    let json: serde_json::Value = serde_json::from_slice(&out.get_output().stdout).expect("JSON");
    assert_eq!((&json["edges"], &json["forest"]["weight"]), (&3.into(), &3.into()));
    assert_eq!(json["stream"]["merges"], 1);
    let file = folder.path().join("f.forest");
    fs::write(&file, "z x 2 2\ny z 1 1\n").expect("a file");
    let verify = || {
        let mut command = kostra();
        command.args(["verify", "--ids", "sparse"]).arg(&parts);
        command
    };
    verify().arg(&file).assert().code(0);
    assert!(complaint(verify().arg(&more).arg(&file)).contains("edge 3 (0 to 1, weight 0)"));
    fs::write(&file, "y z 1 1\n").expect("a file");
    assert!(complaint(verify().arg(&file)).contains("joins two of its trees"));
}

#[test]
fn what_parts_cannot_do_is_said() {
    let folder = folder();
    let path = graph(&folder, "g.wel", "grid:rows=9,cols=9");
    let with = |options: &[&str]| {
        let mut command = solve();
        command.arg(&path).args(options);
        command
    };
    for options in [
        ["--memory", "1GiB", "--repeat", "2"],
        ["--memory", "1GiB", "--weights", "unit"],
        ["--memory", "a lot", "--algorithm", "auto"],
    ] {
        with(&options).assert().code(2);
    }
    let spec = complaint(kostra().args(["solve", "grid:rows=9,cols=9", "--memory", "1GiB"]));
    assert!(spec.contains("kostra gen SPEC -o FILE"), "{spec}");
    let little = complaint(&mut with(&["--memory", "3MiB"]));
    assert!(little.contains("the limit of memory is 3 MiB; raise it"), "{little}");
    let text = fs::read(graph(&folder, "g.egr", "grid:rows=9,cols=9")).expect("the graph");
    let piped = complaint(kostra().args(["solve", "-", "--memory", "1GiB", "--format", "egr"]).write_stdin(text));
    assert!(piped.contains("give it as a file"), "{piped}");
    let twice = complaint(kostra().args(["solve", "-", "--memory", "1GiB", "--verify"]).write_stdin("0 1 2\n"));
    assert!(twice.contains("cannot be read twice"), "{twice}");
}

/// The graph is fifteen times larger than the memory, and the address space has no room for it.
#[cfg(target_os = "linux")]
#[test]
fn memory_stays_below_the_limit() {
    let folder = folder();
    let path = graph(&folder, "g.kostra", "dense:n=5800,density=0.95");
    let size = fs::metadata(&path).expect("the graph").len();
    let limit = 12 << 20;
    assert!(size > 15 * limit);
    let limited = |options: &str| {
        // One thread and one arena: every other would reserve addresses that it does not use.
        let space = "ulimit -v 163840; export MALLOC_ARENA_MAX=1; exec";
        let command =
            format!("{space} '{}' solve '{}' --threads 1 {options}", env!("CARGO_BIN_EXE_kostra"), path.display());
        let mut shell = Command::new("sh");
        shell.args(["-c", &command]);
        shell
    };
    limited("--json").assert().code(1);
    let file = folder.path().join("g.forest");
    let options = format!("--memory {limit} -o '{}'", file.display());
    limited(&options).assert().code(0);
    // The peak that the system tells: that of the largest child so far.
    let peak = || {
        let status = fs::read_to_string("/proc/self/status").expect("a status");
        assert!(status.contains("VmHWM"));
        let mut command = std::process::Command::new("sh");
        let text = format!(
            "'{}' verify '{}' '{}' --memory {limit} --threads 2 >&2 & child=$!; peak=0; \
             while now=$(grep VmHWM /proc/$child/status 2>/dev/null); do peak=$now; sleep 0.02; done; \
             wait $child || exit 1; echo $peak",
            env!("CARGO_BIN_EXE_kostra"),
            path.display(),
            file.display()
        );
        let out = command.args(["-c", &text]).output().expect("a shell");
        assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
        let out = String::from_utf8_lossy(&out.stdout).into_owned();
        out.split_whitespace().nth(1).and_then(|kib| kib.parse::<u64>().ok()).expect("a peak") << 10
    };
    let (peak, most) = (peak(), limit + limit / 10 + (64 << 20));
    assert!(peak <= most, "{peak} bytes, {most} are allowed");
    assert!(size > most, "a graph in memory would pass, too");
}

/// Waits until a file is there; a minute is long enough for any machine.
fn wait_for(path: &Path) {
    let start = Instant::now();
    while !path.exists() {
        assert!(start.elapsed() < Duration::from_secs(60), "{} did not appear", path.display());
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_killed_run_goes_on_and_ends_with_the_same_forest() {
    let folder = folder();
    let path = graph(&folder, "g.wel", "er:n=3000,degree=500,weights=uniform:1-20");
    let expected = forest(kostra().arg("solve").arg(&path));
    let text = fs::read(&path).expect("the graph");
    let checkpoint = folder.path().join("checkpoint");
    let mut child = std::process::Command::new(env!("CARGO_BIN_EXE_kostra"))
        .args(["solve", "-", "--threads", "2", "--memory", "15MiB", "--checkpoint"])
        .arg(&checkpoint)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .expect("the program");
    // Most of the graph comes, the end does not: so it is killed in the middle, however fast it is.
    let mut pipe = child.stdin.take().expect("a pipe");
    pipe.write_all(&text[..text.len() * 4 / 5]).expect("a reader");
    wait_for(&checkpoint);
    child.kill().expect("a child to kill");
    child.wait().expect("its end");
    let saved = fs::read(&checkpoint).expect("a checkpoint");

    let resume = || {
        let mut command = solve();
        command.args(["-", "--memory", "15MiB", "--checkpoint"]).arg(&checkpoint);
        command
    };
    // Damaged, it is refused, and nothing is overwritten.
    let mut damaged = saved.clone();
    damaged[saved.len() / 2] ^= 1;
    fs::write(&checkpoint, &damaged).expect("a file");
    let message = complaint(resume().write_stdin(&text[..]));
    assert!(message.contains("the checkpoint is damaged; nothing was changed"), "{message}");
    assert_eq!(fs::read(&checkpoint).expect("a checkpoint"), damaged);
    // Another job does not take it for its own.
    fs::write(&checkpoint, &saved).expect("a file");
    let message = complaint(resume().arg("--maximum").write_stdin(&text[..]));
    assert!(message.contains("is the checkpoint of another job"), "{message}");
    // A stream that ends before the place that was reached is not the same stream.
    let message = complaint(resume().write_stdin(&text[..1000]));
    assert!(message.contains("is shorter than it was"), "{message}");
    assert_eq!(fs::read(&checkpoint).expect("a checkpoint"), saved);

    assert_eq!(forest(resume().write_stdin(&text[..])), expected);
    assert!(!checkpoint.exists(), "the work is done");
}

/// Parquet from a pipe is held whole, so all of it is known.
#[cfg(target_os = "linux")]
#[test]
fn a_checkpoint_is_not_taken_for_another_pipe_of_binary_data() {
    let folder = folder();
    let [one, other] = ["uniform:1-20", "uniform:2-20"].map(|weights| {
        let path = graph(&folder, "g.parquet", &format!("er:n=3000,degree=500,weights={weights}"));
        (fs::read(&path).expect("the graph"), forest(kostra().arg("solve").arg(&path)))
    });
    assert_ne!(one.1, other.1);
    let checkpoint = folder.path().join("checkpoint");
    let with = |options: &[&str], bytes: &[u8]| {
        let mut command = solve();
        command.args(["-", "--memory", "15MiB", "--checkpoint"]).arg(&checkpoint).args(options).write_stdin(bytes);
        command
    };
    complaint(&mut with(&["-o", "/dev/full"], &one.0));
    let saved = fs::read(&checkpoint).expect("a checkpoint");
    let message = complaint(&mut with(&[], &other.0));
    assert!(message.contains("standard input: is not what was read before; give the same again"), "{message}");
    assert_eq!(fs::read(&checkpoint).expect("a checkpoint"), saved);
    assert_eq!(forest(&mut with(&[], &one.0)), one.1);
    assert!(!checkpoint.exists(), "the work is done");
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_told_and_spoils_nothing() {
    let folder = folder();
    let path = graph(&folder, "g.wel", "er:n=3000,degree=500");
    let with = |options: [&str; 2]| {
        let mut command = solve();
        command.args(["--memory", "15MiB"]).arg(&path).args(options);
        command
    };
    for option in ["-o", "--checkpoint", "--labels"] {
        let message = complaint(&mut with([option, "/dev/full"]));
        assert!(message.contains("/dev/full: No space left on device"), "{message}");
    }
    // The forest does not fit: the checkpoint stays, so that no work is lost.
    let checkpoint = folder.path().join("checkpoint");
    let kept = checkpoint.to_str().expect("a name");
    complaint(with(["-o", "/dev/full"]).args(["--checkpoint", kept]));
    assert!(checkpoint.exists());
    let expected = forest(kostra().arg("solve").arg(&path));
    assert_eq!(forest(&mut with(["--checkpoint", kept])), expected);
    assert!(!checkpoint.exists());
}
