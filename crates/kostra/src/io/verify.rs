//! Proving a forest of files of any size: the forest is in memory, the files pass by once more.

use std::path::Path;

use super::Ids;
use super::edges::{Edges, Keep, Taker};
use super::forest;
use super::source::Source;
use super::stream::{Inputs, StreamOptions};
use crate::error::{Error, Result};
use crate::names::Names;
use crate::stream::{Part, StreamForest};
use crate::verify::Proof;

/// What a proof has gone through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verified {
    /// The number of vertices.
    pub vertices: u64,
    /// The number of edges of the graph.
    pub edges: u64,
    /// The number of edges of the forest.
    pub forest: usize,
}

/// Proves that the lines `u v w edge_id` of a file are the minimum (or `maximum`) spanning forest of the edges in all of these
/// files, which are read as [`solve_files`](super::solve_files) reads them.
pub fn verify_files(
    paths: &[impl AsRef<Path>],
    forest: impl AsRef<Path>,
    maximum: bool,
    options: &StreamOptions,
) -> Result<Verified> {
    let inputs = Inputs::new(paths)?;
    let mut source = Source::open(forest.as_ref(), &options.read.watch.silent())?;
    source.take_mark()?;
    let (part, ids, names) = forest::read_lines(&mut source, options.read.ids)?;
    let names = (options.read.ids == Ids::Sparse).then_some(names);
    prove(&inputs, part, ids, names, maximum, options)
}

/// Proves that a forest that was solved is minimum, by reading the files once more. Standard input cannot be.
pub fn verify_stream(
    paths: &[impl AsRef<Path>],
    forest: &StreamForest,
    maximum: bool,
    options: &StreamOptions,
) -> Result<Verified> {
    let inputs = Inputs::new(paths)?;
    if !inputs.can_be_read_again() {
        let what = "cannot be read twice to prove the forest; write it to a file, or the forest, and use kostra verify";
        return Err(Error::File { file: "standard input".into(), what: what.into() });
    }
    let graph = forest.graph();
    // Names are numbered by first appearance, here as there.
    prove(&inputs, Part::of(graph), forest.edges().to_vec(), None, maximum, options)
}

fn prove(
    inputs: &Inputs,
    forest: Part,
    ids: Vec<u64>,
    names: Option<Names>,
    maximum: bool,
    options: &StreamOptions,
) -> Result<Verified> {
    let edges = ids.len();
    let vertices = forest.src.iter().chain(&forest.dst).fold(0, |most, &v| most.max(u64::from(v) + 1));
    let needed = Proof::bytes_for(vertices, forest.weights.kind().size() as u64);
    if let Some(limit) = options.memory.filter(|&limit| needed > limit) {
        return Err(Error::Limit { vertices, limit, needed });
    }
    let proof = Proof::of(forest, ids, maximum, &options.read.watch)?;
    let (map, known, unknown) = (Vec::new(), names, u32::MAX);
    let (before, upper, names) = (None, None, Names::default());
    let mut check = Check { proof, before, upper, known, names, map, unknown, seen: 0, vertices: 0 };
    for file in &inputs.files {
        let (left, vertices) = inputs.read(file, &options.read, &mut check)?;
        check.end(left, vertices);
    }
    let verified = Verified { vertices: check.vertices, edges: check.proof.edges(), forest: edges };
    let (known, map) = (check.known, check.map);
    check.proof.finish().map(|()| verified).map_err(|error| match error {
        // The graph's numbers, as elsewhere, rather than those of the forest's file.
        Error::Flaw(flaw) if known.is_some() => {
            let number = |v| map.iter().position(|&of| of == v).map_or(v, |at| at as u32);
            flaw.with_vertices(number).into()
        }
        other => other,
    })
}

/// Gives edges to a proof as they are read. Arc formats are settled as a stream settles them.
struct Check {
    proof: Proof,
    before: Option<Proof>,
    upper: Option<Proof>,
    /// The names in the forest's file, whose numbers the proof knows; none where it knows the graph's.
    known: Option<Names>,
    /// The graph's names so far, and the forest's number of each.
    names: Names,
    map: Vec<u32>,
    /// The last number that stands for a name which the forest does not have.
    unknown: u32,
    /// Edges of the part that were looked at.
    seen: usize,
    vertices: u64,
}

impl Check {
    /// Gives the new edges of a part the forest's numbers.
    fn rename(&mut self, edges: &mut Edges) {
        let Some(known) = &self.known else { return };
        for v in self.map.len()..edges.names.len() {
            let number = known.find(edges.names.at(v as u32)).unwrap_or_else(|| {
                self.unknown -= 1;
                self.unknown
            });
            self.map.push(number);
        }
        for ends in [&mut edges.part.src, &mut edges.part.dst] {
            ends[self.seen..].iter_mut().for_each(|v| *v = self.map[*v as usize]);
        }
    }

    /// Gives the arcs with u <= v that came since the last time to the other proof.
    fn split(&mut self, part: &Part) -> Result<()> {
        let Some(upper) = &mut self.upper else { return Ok(()) };
        let Part { src, dst, weights, .. } = part.upper(self.seen);
        upper.add(&src, &dst, &weights.weights())
    }

    fn end(&mut self, edges: Edges, vertices: u64) {
        self.vertices = self.vertices.max(vertices).max(edges.vertices);
        self.names = edges.names;
        self.proof.give_back(edges.part);
        self.before = None;
    }
}

impl Taker for Check {
    fn begin(&mut self, keep: Keep) -> Result<Edges> {
        match keep {
            Keep::All => {}
            Keep::Upper => self.before = Some(self.proof.fork()?),
            Keep::Either => self.upper = Some(self.proof.fork()?),
        }
        let mut edges = Edges::new(keep);
        edges.part = self.proof.take_part();
        edges.names = std::mem::take(&mut self.names);
        self.seen = edges.part.src.len();
        Ok(edges)
    }

    fn take(&mut self, edges: &mut Edges) -> Result<()> {
        self.rename(edges);
        self.split(&edges.part)?;
        self.proof.check_if_full(&mut edges.part)?;
        self.seen = edges.part.src.len();
        Ok(())
    }

    fn again(&mut self, edges: Edges) -> Result<()> {
        self.names = edges.names;
        if let Some(before) = self.before.take() {
            self.proof = before;
        }
        Ok(())
    }

    fn settle(&mut self, edges: &mut Edges, symmetric: bool) -> Result<()> {
        if let (Some(upper), true) = (self.upper.take(), symmetric) {
            self.proof = upper;
            edges.part = self.proof.take_part();
        }
        Ok(())
    }
}
