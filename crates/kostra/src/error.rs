//! The one error type: what is wrong, where, and the way out.

use crate::verify::Flaw;

/// Shorthand for results of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Everything that can go wrong. Each message is one line that a person can act on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The operating system refused: no such file, no permission, disk full.
    #[error("{file}: {source}")]
    Io {
        /// The file, or "standard input" / "standard output".
        file: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// A text file is wrong in one line.
    #[error("{file}:{line}: {what}")]
    Line {
        /// The file.
        file: String,
        /// The line, counted from 1.
        line: u64,
        /// What is wrong there, and what to do.
        what: String,
    },
    /// A binary file is wrong at one byte.
    #[error("{file}: byte {byte}: {what}")]
    Byte {
        /// The file.
        file: String,
        /// The offset of the byte, counted from 0.
        byte: u64,
        /// What is wrong there, and what to do.
        what: String,
    },
    /// A file is wrong as a whole.
    #[error("{file}: {what}")]
    File {
        /// The file.
        file: String,
        /// What is wrong, and what to do.
        what: String,
    },
    /// A format cannot hold this graph.
    #[error("{file}: {format} cannot hold {what}; {instead} can")]
    CannotHold {
        /// The file that was to be written.
        file: String,
        /// The format's name.
        format: &'static str,
        /// What does not fit.
        what: String,
        /// Formats that can hold it.
        instead: &'static str,
    },
    /// An edge names a vertex that does not exist.
    #[error("edge {edge} names vertex {vertex}, but the graph has {vertices} vertices, numbered from 0")]
    Vertex {
        /// The edge.
        edge: u64,
        /// The vertex it names.
        vertex: u64,
        /// The number of vertices.
        vertices: u64,
    },
    /// A weight is not a number.
    #[error("the weight of edge {edge} is NaN, which has no place in an order; remove the edge or give it a weight")]
    Nan {
        /// The edge.
        edge: u64,
    },
    /// The arrays of endpoints and weights differ in length.
    #[error("the graph's arrays differ in length: {src} sources, {dst} targets, {weights} weights")]
    Lengths {
        /// The number of sources.
        src: usize,
        /// The number of targets.
        dst: usize,
        /// The number of weights.
        weights: usize,
    },
    /// More than 32-bit ids can name.
    #[error("{count} {what} are too many to hold in memory (fewer than 2^32 are possible); {}", beyond_memory(.what))]
    TooLarge {
        /// "vertices" or "edges".
        what: &'static str,
        /// How many there are.
        count: u64,
    },
    /// A stream's limit of memory does not hold the forest of its vertices.
    #[error(
        "the forest of {vertices} vertices needs {}, but the limit of memory is {}; raise it (--memory)",
        at_least(*.needed), in_units(*.limit)
    )]
    Limit {
        /// The vertices so far.
        vertices: u64,
        /// The limit in bytes.
        limit: u64,
        /// The smallest limit that would do for so many vertices.
        needed: u64,
    },
    /// Some edges of a stream have weights and some have none.
    #[error(
        "from edge {edge} on, edges have weights where those before have none, or none where those before have some"
    )]
    MixedWeights {
        /// The first edge that differs from those before, or one close behind it.
        edge: u64,
    },
    /// A stream had integers that are no exact floats before its first float.
    #[error(
        "weights behind edge {edge} are floats, but there were integers beyond 2^53 before, which were compared exactly; \
         give all weights as floats"
    )]
    LateFloats {
        /// The edge from which on there are floats, or one close before it.
        edge: u64,
    },
    /// The system has no memory for it.
    #[error("not enough memory: {} more cannot be had", in_units(*.bytes))]
    Memory {
        /// The bytes that were asked for.
        bytes: u64,
    },
    /// A generator SPEC or weight RULE is wrong.
    #[error("{spec}: {what}")]
    Spec {
        /// The SPEC or RULE as given.
        spec: String,
        /// What is wrong, and what is possible.
        what: String,
    },
    /// An algorithm's name or options are wrong.
    #[error("algorithm {name:?}: {what}")]
    Algorithm {
        /// The name with options as given.
        name: String,
        /// What is wrong, and what is possible.
        what: String,
    },
    /// The device does not exist or cannot be used.
    #[error("device {name:?}: {what}")]
    Device {
        /// The device as given.
        name: String,
        /// What is wrong, and what is possible.
        what: String,
    },
    /// A set of edges is not the minimum spanning forest.
    #[error(transparent)]
    Flaw(#[from] Flaw),
    /// The caller asked to stop.
    #[error("interrupted")]
    Cancelled,
}

/// Where there is room for more: streams have numbers of 64 bits for edges, clusters for vertices as well.
fn beyond_memory(what: &str) -> &'static str {
    if what == "vertices" {
        "solve the graph on a cluster (kostra.spark), or number only the vertices in use (edge lists and tables: --ids \
         sparse); streaming (kostra solve --memory) takes more edges, but not more vertices"
    } else {
        "stream the graph (kostra solve --memory LIMIT, kostra::Stream) or solve it on a cluster (kostra.spark)"
    }
}

/// Bytes in the largest unit that leaves at least one.
fn in_units(bytes: u64) -> String {
    let (value, unit) = largest_unit(bytes);
    format!("{value:.0} {unit}")
}

/// The same, rounded up: so much is enough.
fn at_least(bytes: u64) -> String {
    let (value, unit) = largest_unit(bytes);
    format!("{:.1} {unit}", (10.0 * value).ceil() / 10.0)
}

fn largest_unit(bytes: u64) -> (f64, &'static str) {
    let (mut value, mut unit) = (bytes as f64, "B");
    for larger in ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"] {
        if value < 1024.0 {
            break;
        }
        (value, unit) = (value / 1024.0, larger);
    }
    (value, unit)
}
