//! The graphs: SPECs, files beside the suite, the papers' own files, and sweeps over numbers in a SPEC.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use kostra::generate::generate_watched;
use kostra::{Error, Result, Watch};
use toml::Spanned;

use super::contenders::{Field, choices};
use super::content::GraphEntry;
use super::expand::{Expanded, expand};
use super::files;
use super::size::expected_edges;
use super::{Expected, Subject};
use crate::bench::mst_bc::MstBc;
use crate::input;

/// The graphs that somebody runs on here.
pub(super) fn subjects(field: &mut Field, folder: &Path) -> Result<Vec<Subject>> {
    let (place, content) = (field.place, field.content);
    let mut subjects: Vec<Subject> = Vec::new();
    for entry in &content.graphs {
        let fail = |what: &str| place.error(Some(entry.input.span()), what);
        let inputs = expand(entry.input.as_ref()).map_err(|what| fail(&what))?;
        if inputs.len() > 1 && (entry.weight.is_some() || entry.digest.is_some() || entry.file.is_some()) {
            return Err(fail("several graphs have neither one weight, nor one digest, nor one file"));
        }
        for expanded in inputs {
            let subject = subject(field, entry, expanded, folder)?;
            if subjects.iter().any(|earlier| earlier.name == subject.name) {
                let what = format!("two graphs are called {:?}; give each a name of its own", subject.name);
                return Err(fail(&what));
            }
            subjects.push(subject);
        }
    }
    let limit = field.changes.limit_edges.unwrap_or(u64::MAX);
    let (kept, large): (Vec<_>, Vec<_>) = subjects.into_iter().partition(|subject| subject.expected_edges <= limit);
    if !large.is_empty() {
        let names = large.iter().map(|subject| subject.name.as_str()).collect::<Vec<_>>().join(", ");
        field.other_notes.push(format!("skipped, as expected to have more than {limit} edges: {names}"));
    }
    let (kept, empty): (Vec<_>, Vec<_>) = kept.into_iter().partition(|subject| !subject.contenders.is_empty());
    if !empty.is_empty() {
        let names = empty.iter().map(|subject| subject.name.as_str()).collect::<Vec<_>>().join(", ");
        field.other_notes.push(format!("skipped, as nobody runs on them here: {names}"));
    }
    Ok(kept)
}

fn subject(field: &mut Field, entry: &GraphEntry, expanded: Expanded, folder: &Path) -> Result<Subject> {
    let (place, content) = (field.place, field.content);
    let input = &Spanned::new(entry.input.span(), expanded.text);
    let own = entry.file.as_ref().and_then(|name| files::find(field.changes.graphs.as_deref()?, name));
    let instead_of = if own.is_none() { entry.file.clone() } else { None };
    let (input, path) = match own {
        Some(file) => (file.display().to_string(), file),
        None => (input.as_ref().clone(), locate(field, input, folder)?),
    };
    let family = entry.name.clone().unwrap_or_else(|| short_name(&input, &path));
    let parts = expanded.values.iter().map(|(key, value)| format!(" {key}={value}"));
    let choices = choices(place, entry.algorithms.as_ref().unwrap_or(&content.algorithms))?;
    let contenders = field.contenders(&choices, entry.threads.as_ref().unwrap_or(&content.threads))?;
    Ok(Subject {
        name: std::iter::once(family.clone()).chain(parts).collect(),
        family,
        values: expanded.values,
        groups: entry.groups.clone(),
        expected_edges: expected_edges(&path),
        input,
        path,
        instead_of,
        weights: entry.weights.as_ref().map(|rule| place.parse(rule)).transpose()?,
        contenders,
        statistics: entry.statistics.iter().map(|text| place.parse::<MstBc>(text)).collect::<Result<_>>()?,
        paper: entry.paper.clone(),
        expected: Expected {
            file: place.file.into(),
            weight: entry.weight.as_ref().map(|weight| (place.line(weight.span()), weight.as_ref().0)),
            digest: entry.digest.as_ref().map(|digest| (place.line(digest.span()), digest.as_ref().0)),
        },
    })
}

/// The file, beside the suite if it is relative; or the SPEC. That it can be had is found out now, not after hours.
fn locate(field: &Field, input: &Spanned<String>, folder: &Path) -> Result<PathBuf> {
    let file = folder.join(input.as_ref());
    if file.exists() {
        return Ok(file);
    }
    let fail = |what: String| Err(field.place.error(Some(input.span()), &what));
    let Some(spec) = input::spec(Path::new(input.as_ref())) else {
        return fail(format!("{}: no such file, and no SPEC such as rmat:scale=20", file.display()));
    };
    // Models read their numbers first and then look whether to stop, so this draws next to nothing.
    let stopped = Watch::new().stop_when(Arc::new(AtomicBool::new(true)));
    match generate_watched(spec, &stopped) {
        Ok(_) | Err(Error::Cancelled) => Ok(spec.into()),
        Err(error) => fail(error.to_string()),
    }
}

/// The kind of a SPEC, or the name of a file.
fn short_name(input: &str, path: &Path) -> String {
    match input::spec(path) {
        Some(spec) => spec.split(':').next().unwrap_or(spec).into(),
        None => path.file_name().map_or_else(|| input.into(), |name| name.to_string_lossy().into_owned()),
    }
}
