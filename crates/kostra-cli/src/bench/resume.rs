//! Going on where an earlier run with the same folder of results ended.

use std::path::Path;

use kostra::{Error, Result};

use super::results::Results;

/// The earlier results in `file`, if there are any, to go on from. They must be of the same suite, program and machine, or the
/// whole would be of no run at all.
pub(super) fn continued(file: &Path, fresh: Results) -> Result<Results> {
    let shown = file.display().to_string();
    let text = match std::fs::read_to_string(file) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(fresh),
        Err(source) => return Err(Error::Io { file: shown, source }),
    };
    let fail = |what: String| Err(Error::File { file: shown.clone(), what });
    let earlier: Results = match serde_json::from_str(&text) {
        Ok(earlier) => earlier,
        Err(error) => return fail(format!("no results to resume ({error}); leave out --resume to begin anew")),
    };
    match difference(&earlier, &fresh) {
        Some(what) => fail(format!("cannot be resumed: {what}; leave out --resume to begin anew")),
        None => Ok(Results { command: fresh.command, complete: false, ..earlier }),
    }
}

/// In what two runs differ that should be one.
fn difference(earlier: &Results, now: &Results) -> Option<String> {
    let differs = |what: &str, then: &dyn std::fmt::Debug, now: &dyn std::fmt::Debug| {
        Some(format!("it is of {what} {then:?}, and this is {now:?}"))
    };
    if earlier.suite.name != now.suite.name {
        return differs("the suite", &earlier.suite.name, &now.suite.name);
    }
    if earlier.suite.toml != now.suite.toml {
        return Some("the text of the suite has changed".into());
    }
    if earlier.kostra != now.kostra {
        return differs("kostra", &earlier.kostra, &now.kostra);
    }
    let (then, here) = (&earlier.changes, &now.changes);
    if then.device != here.device {
        return differs("--device", &then.device, &here.device);
    }
    if earlier.repeats != now.repeats {
        return differs("--repeat", &earlier.repeats, &now.repeats);
    }
    if then.limit_edges != here.limit_edges {
        return differs("--limit-edges", &then.limit_edges, &here.limit_edges);
    }
    if then.graphs != here.graphs {
        return differs("--graphs", &then.graphs, &here.graphs);
    }
    if !earlier.machine.is_like(&now.machine) {
        return Some(format!("it was measured on {}, and this is {}", earlier.machine, now.machine));
    }
    None
}
