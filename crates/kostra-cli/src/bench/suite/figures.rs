//! Reading the figures of a suite: all that they name must be there.

use kostra::Result;
use toml::Spanned;

use super::contenders::{choices, end_to_end, split_device};
use super::content::{Content, FigureEntry, GraphEntry};
use super::expand::expand;
use super::figure::{Axis, Fact, Figure, Kind, Only};
use super::place::Place;

/// The figures, in the order of the suite. On another device than the suite's they show whoever was moved there.
pub(super) fn figures(place: Place, content: &Content, is_moved: bool) -> Result<Vec<Figure>> {
    let mut figures: Vec<Figure> =
        content.figures.iter().map(|entry| figure(place, content, entry)).collect::<Result<_>>()?;
    for only in figures.iter_mut().flat_map(|figure| &mut figure.only).filter(|_| is_moved) {
        only.device = None;
    }
    Ok(figures)
}

fn figure(place: Place, content: &Content, entry: &FigureEntry) -> Result<Figure> {
    let fail = |text: &Spanned<String>, what: String| Err(place.error(Some(text.span()), &what));
    for group in &entry.groups {
        if !content.graphs.iter().any(|graph| graph.groups.contains(group.as_ref())) {
            return fail(group, format!("no graph is of the group {:?}", group.as_ref()));
        }
    }
    let graphs: Vec<&GraphEntry> = content
        .graphs
        .iter()
        .filter(|graph| {
            entry.groups.is_empty() || entry.groups.iter().any(|group| graph.groups.contains(group.as_ref()))
        })
        .collect();
    let kind: Kind = place.parse(&entry.kind)?;
    let x: Axis = place.parse(&entry.x)?;
    if let Axis::Key(key) = &x
        && !names_key(content, &graphs, key)
    {
        let what = format!(
            "{key:?} is neither a key of these SPECs nor an option of their algorithms, nor graph, vertices, edges, degree, \
             density, threads or round"
        );
        return fail(&entry.x, what);
    }
    if kind != Kind::Table && entry.y.len() != 1 {
        return fail(&entry.title, "a plot shows one y".into());
    }
    let misplaced = entry.facts.as_ref().map(Spanned::span).or(entry.paper.first().map(Spanned::span));
    if let Some(span) = misplaced.filter(|_| kind != Kind::Table) {
        let what = "facts and paper are columns of tables; a plot has none";
        return Err(place.error(Some(span), what));
    }
    let facts = match entry.facts.as_ref().map(Spanned::as_ref) {
        Some(facts) => facts.iter().map(|fact| place.parse(fact)).collect::<Result<_>>()?,
        None if kind == Kind::Table && x == Axis::Graph => vec![Fact::Vertices, Fact::Edges],
        None => Vec::new(),
    };
    for heading in &entry.paper {
        if !graphs.iter().any(|graph| graph.paper.contains_key(heading.as_ref())) {
            return fail(heading, format!("no graph has the paper's seconds of {:?}", heading.as_ref()));
        }
    }
    let log = match &entry.log {
        Some(log) if !["", "x", "y", "xy"].contains(&log.as_ref().as_str()) => {
            return fail(log, "log is \"x\", \"y\", \"xy\" or \"\"".into());
        }
        Some(log) if kind == Kind::Table => return fail(log, "log is for plots; a table has no axes".into()),
        Some(log) if log.as_ref().contains('x') && (kind != Kind::Line || x == Axis::Graph) => {
            return fail(log, "only lines over numbers have a logarithmic x; log is \"y\" or \"\" here".into());
        }
        Some(log) => log.as_ref(),
        None if kind == Kind::Line => "xy",
        None => "",
    };
    Ok(Figure {
        title: entry.title.as_ref().clone(),
        note: entry.note.clone(),
        kind,
        groups: entry.groups.iter().map(|group| group.as_ref().clone()).collect(),
        x,
        y: entry.y.iter().map(|metric| place.parse(metric)).collect::<Result<_>>()?,
        only: only(place, content, &graphs, &entry.algorithms)?,
        log_x: log.contains('x'),
        log_y: log.contains('y'),
        facts,
        paper: entry.paper.iter().map(|heading| heading.as_ref().clone()).collect(),
    })
}

/// Whether the SPEC of a graph has the key, or an algorithm on it the option.
fn names_key(content: &Content, graphs: &[&GraphEntry], key: &str) -> bool {
    let is_in = |text: &str| text.split([':', ',']).any(|pair| pair.split_once('=').is_some_and(|(k, _)| k == key));
    let algorithms = graphs.iter().flat_map(|graph| graph.algorithms.as_ref().unwrap_or(&content.algorithms));
    graphs.iter().any(|graph| is_in(graph.input.as_ref())) || algorithms.into_iter().any(|text| is_in(text.as_ref()))
}

/// The contenders that a figure is limited to, each of which must run on one of its graphs or be counted there.
fn only(place: Place, content: &Content, graphs: &[&GraphEntry], wanted: &[Spanned<String>]) -> Result<Vec<Only>> {
    let mut known: Vec<String> = Vec::new();
    for graph in graphs {
        let algorithms = graph.algorithms.as_ref().unwrap_or(&content.algorithms);
        known.extend(choices(place, algorithms)?.into_iter().map(|choice| choice.text));
        known.extend(graph.statistics.iter().map(|text| text.as_ref().clone()));
    }
    let end_to_end = end_to_end(place, content)?;
    let mut only = Vec::new();
    for entry in wanted {
        let fail = |what: String| place.error(Some(entry.span()), &what);
        let (text, device, threads) = split_device(entry.as_ref());
        for expanded in expand(text).map_err(fail)? {
            if !known.contains(&expanded.text) {
                return Err(fail(format!("{:?} does not run on these graphs", expanded.text)));
            }
            if device.is_some_and(|device| device.ends_with(" end-to-end")) && !end_to_end.contains(&expanded.text) {
                return Err(fail(format!("{:?} does not run end to end; name it in end-to-end", expanded.text)));
            }
            only.push(Only { algorithm: expanded.text, device: device.map(str::to_owned), threads });
        }
    }
    Ok(only)
}
