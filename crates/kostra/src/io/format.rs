//! The formats: their names, and how a file shows which one it has.

use std::path::Path;
use std::str::FromStr;

use super::compression::Compression;
use super::source::BYTE_ORDER_MARK;
use super::{binary, dimacs, egr, galois};
use crate::error::{Error, Result};

/// The first bytes of a Parquet file, known also to those who cannot read the rest.
const PARQUET_MAGIC: &[u8] = b"PAR1";

/// A file format, without its compression.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Format {
    /// kostra's own binary: mapped, not parsed.
    Kostra,
    /// DIMACS shortest path, `p sp` with both arcs of each edge.
    Dimacs,
    /// DIMACS `p edge`, `p col`, and PACE `p tw`.
    DimacsEdge,
    /// SteinLib and PACE sections.
    SteinLib,
    /// Matrix Market coordinate.
    MatrixMarket,
    /// `u v [w]` lines of SNAP and GAP.
    EdgeList,
    /// A table with commas or semicolons.
    Csv,
    /// A table with tabs.
    Tsv,
    /// METIS adjacency lists.
    Metis,
    /// ECL binary adjacency lists.
    Egr,
    /// Galois binary adjacency lists, version 1.
    Galois,
    /// PBBS `WeightedEdgeArray`.
    Pbbs,
    /// A Parquet table; read and written with the crate's feature `parquet`.
    Parquet,
}

impl Format {
    /// Every format.
    pub const ALL: [Format; 13] = [
        Format::Kostra,
        Format::Dimacs,
        Format::DimacsEdge,
        Format::SteinLib,
        Format::MatrixMarket,
        Format::EdgeList,
        Format::Csv,
        Format::Tsv,
        Format::Metis,
        Format::Egr,
        Format::Galois,
        Format::Pbbs,
        Format::Parquet,
    ];

    /// The name, as in `--format NAME`.
    pub fn name(self) -> &'static str {
        match self {
            Format::Kostra => "kostra",
            Format::Dimacs => "dimacs",
            Format::DimacsEdge => "dimacs-edge",
            Format::SteinLib => "steinlib",
            Format::MatrixMarket => "mtx",
            Format::EdgeList => "el",
            Format::Csv => "csv",
            Format::Tsv => "tsv",
            Format::Metis => "metis",
            Format::Egr => "egr",
            Format::Galois => "galois",
            Format::Pbbs => "pbbs",
            Format::Parquet => "parquet",
        }
    }

    /// The extensions of its files; the first is its own, the others are understood.
    pub fn extensions(self) -> &'static [&'static str] {
        match self {
            Format::Kostra => &["kostra"],
            Format::Dimacs => &["gr"],
            Format::DimacsEdge => &["col", "dimacs", "edge"],
            Format::SteinLib => &["stp"],
            Format::MatrixMarket => &["mtx", "mm"],
            Format::EdgeList => &["el", "wel", "txt", "edges", "edgelist", "forest"],
            Format::Csv => &["csv"],
            Format::Tsv => &["tsv"],
            Format::Metis => &["graph", "metis"],
            Format::Egr => &["egr"],
            Format::Galois => &["sgr"],
            Format::Pbbs => &["pbbs"],
            Format::Parquet => &["parquet", "pq"],
        }
    }

    /// Whether names of vertices can be written.
    pub(super) fn holds_names(self) -> bool {
        matches!(self, Format::EdgeList | Format::Csv | Format::Tsv | Format::Parquet)
    }

    /// Whether the fields of an edge are columns with names.
    pub(super) fn has_columns(self) -> bool {
        matches!(self, Format::Csv | Format::Tsv | Format::Parquet)
    }

    /// What the name of a file says, its compression put aside; `None` for an unknown extension.
    pub(super) fn of_name(name: &Path) -> Option<Self> {
        let (name, _) = Compression::split_name(name);
        let extension = name.extension()?.to_str()?.to_ascii_lowercase();
        Self::ALL.into_iter().find(|format| format.extensions().contains(&extension.as_str()))
    }

    /// What the beginning of a file says, if it is clear.
    pub(super) fn of_content(head: &[u8], size: Option<u64>) -> Option<Self> {
        if head.starts_with(&binary::MAGIC) {
            return Some(Format::Kostra);
        }
        if head.starts_with(PARQUET_MAGIC) {
            return Some(Format::Parquet);
        }
        if galois::is_header(head) {
            return Some(Format::Galois);
        }
        if size.is_some_and(|size| egr::layout(head, size).is_some()) && head[..8].contains(&0) {
            return Some(Format::Egr);
        }
        let text = head.strip_prefix(BYTE_ORDER_MARK).unwrap_or(head).to_ascii_lowercase();
        if text.starts_with(b"%%matrixmarket") {
            return Some(Format::MatrixMarket);
        }
        // The first line that is neither empty nor a DIMACS comment.
        let mut lines = text.split(|&b| b == b'\n').map(<[u8]>::trim_ascii);
        let line = lines.find(|line| !line.is_empty() && *line != b"c" && !line.starts_with(b"c "))?;
        let mut words = line.split(|b| b.is_ascii_whitespace()).filter(|word| !word.is_empty());
        match (words.next()?, words.next()) {
            (b"p", Some(b"sp")) => Some(Format::Dimacs),
            (b"p", Some(problem)) if dimacs::EDGE_PROBLEMS.contains(&problem) => Some(Format::DimacsEdge),
            (b"33d32945", _) | (b"section", Some(_)) => Some(Format::SteinLib),
            (b"weightededgearray" | b"edgearray", None) => Some(Format::Pbbs),
            _ => None,
        }
    }
}

impl FromStr for Format {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        let lower = name.to_ascii_lowercase();
        let named = Self::ALL.into_iter().find(|format| format.name() == lower);
        named.or_else(|| Self::ALL.into_iter().find(|f| f.extensions().contains(&lower.as_str()))).ok_or_else(|| {
            let names = Self::ALL.map(Self::name).join(", ");
            Error::Spec { spec: name.into(), what: format!("no such format; there are {names}") }
        })
    }
}
