//! Which columns of a table hold the endpoints and the weight of an edge: those that the caller names, else those that are
//! called as such columns usually are.

use std::str::FromStr;

use super::scan::Line;
use crate::error::{Error, Result};

/// What the column of the first endpoint may be called.
const SOURCES: [&str; 10] = ["src", "source", "from", "u", "start", "tail", "node1", "id1", "a", "i"];
/// What the column of the second endpoint may be called.
const TARGETS: [&str; 11] = ["dst", "target", "to", "v", "end", "head", "node2", "id2", "b", "j", "dest"];
/// What the column of the weight may be called.
const WEIGHTS: [&str; 8] = ["weight", "w", "cost", "length", "distance", "dist", "value", "wgt"];

/// The columns of a table (csv, tsv, parquet) that make up an edge, by name.
///
/// A name is looked for as it is, then without regard to case.
///
/// ```
/// use kostra::io::Columns;
///
/// let columns: Columns = "from_stop,to_stop,minutes".parse()?;
/// assert_eq!(columns.weight.as_deref(), Some("minutes"));
/// # Ok::<(), kostra::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Columns {
    /// The first endpoint.
    pub src: String,
    /// The second endpoint.
    pub dst: String,
    /// The weight; without one, every edge weighs 1.
    pub weight: Option<String>,
}

impl FromStr for Columns {
    type Err = Error;

    /// From `SRC,DST` or `SRC,DST,WEIGHT`.
    fn from_str(text: &str) -> Result<Self> {
        let names: Vec<String> = text.split(',').map(|name| name.trim().to_owned()).collect();
        let given = names.iter().all(|name| !name.is_empty());
        match <[String; 3]>::try_from(names) {
            Ok([src, dst, weight]) if given => Ok(Self { src, dst, weight: Some(weight) }),
            Err(names) => match <[String; 2]>::try_from(names) {
                Ok([src, dst]) if given => Ok(Self { src, dst, weight: None }),
                _ => Err(Self::misspelt(text)),
            },
            Ok(_) => Err(Self::misspelt(text)),
        }
    }
}

impl Columns {
    fn misspelt(text: &str) -> Error {
        Error::Spec { spec: text.into(), what: "columns are SRC,DST or SRC,DST,WEIGHT".into() }
    }

    /// Where these columns are in the header.
    pub(super) fn find(&self, header: &[String]) -> Line<Found> {
        let find = |wanted: &str| {
            let exact = header.iter().position(|name| name == wanted);
            exact.or_else(|| header.iter().position(|name| name.to_lowercase() == wanted.to_lowercase())).ok_or_else(
                || {
                    let names = header.iter().map(|name| format!("{name:?}")).collect::<Vec<_>>().join(", ");
                    format!("no column is named {wanted:?}; there are {names}")
                },
            )
        };
        let (source, target) = (find(&self.src)?, find(&self.dst)?);
        let weight = self.weight.as_deref().map(find).transpose()?;
        if source == target || weight.is_some_and(|weight| weight == source || weight == target) {
            return Err(format!("one column is named twice in {self}; an edge has two endpoints and a weight"));
        }
        Ok(Found { source, target, weight })
    }
}

impl std::fmt::Display for Columns {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{},{}", self.src, self.dst)?;
        self.weight.iter().try_for_each(|weight| write!(f, ",{weight}"))
    }
}

/// Where the fields of an edge stand.
#[derive(Clone, Copy)]
pub(super) struct Found {
    pub(super) source: usize,
    pub(super) target: usize,
    pub(super) weight: Option<usize>,
}

/// The endpoints in a header that calls them as usual.
pub(super) fn usual_endpoints(header: &[String]) -> Option<(usize, usize)> {
    first_of(&SOURCES, header).zip(first_of(&TARGETS, header))
}

/// The weight in a header with these endpoints, if there is one: a column called as usual, or the only one beside them.
pub(super) fn usual_weight(header: &[String], (source, target): (usize, usize)) -> Line<Option<usize>> {
    let mut others = (0..header.len()).filter(|&column| column != source && column != target);
    match (first_of(&WEIGHTS, header), others.next(), others.next()) {
        (Some(weight), ..) => Ok(Some(weight)),
        // Whatever it is called, it can be nothing else.
        (None, only, None) => Ok(only),
        (None, ..) => Err(format!(
            "no column is named as a weight ({}); say which is with --columns SRC,DST,WEIGHT, or --columns SRC,DST for none",
            WEIGHTS.join(", ")
        )),
    }
}

/// What endpoints may be called, for messages.
#[cfg(feature = "parquet")]
pub(super) fn usual_names() -> String {
    format!("{} and {}", SOURCES.join(" "), TARGETS.join(" "))
}

/// The names in their order, the plainest first: of "distance" and "weight" the second is the weight.
fn first_of(names: &[&str], header: &[String]) -> Option<usize> {
    names.iter().find_map(|name| header.iter().position(|cell| cell.eq_ignore_ascii_case(name)))
}
