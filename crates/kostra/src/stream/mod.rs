//! Graphs that do not fit in memory: edges come in batches, and only the forest of those so far is kept, and a pool of edges that
//! may yet be in it.
//!
//! ```text
//! for every part of the stream, on threads of its own, while the next part fills:
//!     leave out edges that the forest makes needless         (filter; files are read through it before)
//!     add the others to the pool
//!     when the pool is full:
//!         the forest is that of the forest and the pool      (merge)
//! ```
//!
//! The result is the forest of all edges as if they had been solved at once: a forest has at most n - 1 edges, and leaving out
//! an edge that the forest of some edges does not need changes no forest of more. Ids are positions in the stream, in 64 bits.
//!
//! Cost: at worst (every edge lighter than all before) that of solving all edges once, and the forest once for every pool. With the
//! filter two looks into a table for every edge, and few merges: with weights in random order they take about n ln(m / pool) edges.
//! Memory: the forest, a table of its vertices, the pool, two parts, and what the solver takes; [`Stream::memory`] sets how large
//! they may become.

mod filter;
mod memory;
mod merge;
mod part;

use std::borrow::Cow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use xxhash_rust::xxh3::Xxh3Default;

pub(crate) use self::filter::Filter;
pub(crate) use self::memory::Memory;
use self::memory::Room;
use self::merge::Step;
pub(crate) use self::merge::{Known, extend};
pub(crate) use self::part::Part;
use crate::error::{Error, Result};
use crate::graph::{Graph, check_lengths};
use crate::names::Names;
use crate::numbers::{Kind, Numbers};
use crate::par::Aside;
use crate::run::Run;
use crate::union_find::UnionFind;
use crate::weight::{Total, Weights};

/// Edges of a batch that are added at a time, so that no part grows far beyond its size.
const PIECE: usize = 1 << 18;

/// A part that stands for so many edges is taken, even if nearly all were left out: or no checkpoint would get to know of them.
const MOST: u64 = 1 << 24;

/// The forest of a graph whose edges come in batches.
///
/// ```
/// use kostra::{Run, Stream};
///
/// let mut stream = Stream::new(&Run::default()).memory(64 << 20);
/// stream.push(&[0, 1], &[1, 2], &(&[5, 3]).into())?;
/// stream.push(&[2], &[0], &(&[4]).into())?;
/// let forest = stream.finish()?;
/// assert_eq!(forest.edges(), [1, 2]);
/// assert_eq!(forest.weight().to_string(), "7");
/// # Ok::<(), kostra::Error>(())
/// ```
#[derive(Debug)]
pub struct Stream {
    run: Run,
    memory: Memory,
    /// One more than the largest vertex so far, or as many as were promised.
    vertices: u64,
    /// Edges that were given to a step.
    taken: u64,
    /// Whether edges have weights; not known before the first.
    weighted: Option<bool>,
    /// Whether integers among the weights are no exact floats.
    is_beyond_floats: bool,
    /// What is known of the edges taken; with the step, while one runs.
    known: Known,
    step: Aside<(Known, Part)>,
    /// A filter that holds for all edges to come, though it may be older than the last merge.
    filter: Option<Arc<Filter>>,
    /// The type of the weights.
    kind: Kind,
    /// The part that fills.
    part: Part,
    /// The memory of a part that was taken.
    spare: Part,
}

impl Stream {
    /// A stream without edges, to be solved as `run` says, on as many threads as the caller's pool has.
    pub fn new(run: &Run) -> Self {
        let watch = run.watch().silent();
        let step = Aside::new("merge");
        let threads = step.threads() as u64;
        Self {
            memory: Memory { limit: None, shares: 1, batch: usize::MAX, threads, algorithm: run.algorithm() },
            run: run.clone().with_stats(false).watched_by(watch),
            vertices: 0,
            taken: 0,
            weighted: None,
            is_beyond_floats: false,
            known: Known::default(),
            step,
            filter: None,
            kind: Kind::None,
            part: Part::default(),
            spare: Part::default(),
        }
    }

    /// Keeps what the stream and its merges take below so many bytes. However much memory there is, 2^22 edges are merged at a
    /// time, or 16 per vertex.
    pub fn memory(mut self, bytes: u64) -> Self {
        self.memory.limit = Some(bytes);
        self
    }

    /// Merges as soon as so many edges wait, even where there is memory for more.
    pub fn batch(mut self, edges: usize) -> Self {
        self.memory.batch = edges.max(1);
        self
    }

    /// The graph has at least so many vertices, whether edges name them or not.
    pub fn vertices(&mut self, at_least: u64) -> Result<()> {
        if at_least > u32::MAX.into() {
            return Err(Error::TooLarge { what: "vertices", count: at_least });
        }
        self.vertices = self.vertices.max(at_least);
        Ok(())
    }

    /// Adds edges. The first one's id is the number of edges before it.
    pub fn push(&mut self, src: &[u32], dst: &[u32], weights: &Weights) -> Result<()> {
        check_lengths(src, dst, weights)?;
        if let Some(edge) = weights.first_nan() {
            return Err(Error::Nan { edge: self.edges() + edge as u64 });
        }
        self.add(src, dst, weights)
    }

    /// The same for arrays that are known to be sound. It must not wait for threads of the caller's pool, whose work may be what
    /// calls it.
    pub(crate) fn add(&mut self, src: &[u32], dst: &[u32], weights: &Weights) -> Result<()> {
        // No edges may have weights of a type, too.
        extend(&mut self.part.weights, weights, 0..0);
        let piece = PIECE.min(self.memory.batch);
        for start in (0..src.len()).step_by(piece) {
            let range = start..src.len().min(start + piece);
            let (src, dst) = (&src[range.clone()], &dst[range.clone()]);
            let largest = src.iter().chain(dst).fold(0, |largest, &v| largest.max(v));
            self.vertices(u64::from(largest) + 1)?;
            self.part.src.extend_from_slice(src);
            self.part.dst.extend_from_slice(dst);
            extend(&mut self.part.weights, weights, range);
            if self.is_full(&self.part, 0)? {
                self.wait()?;
                self.start_waiting()?;
            }
        }
        Ok(())
    }

    /// The number of edges so far.
    pub fn edges(&self) -> u64 {
        self.taken + self.part.came()
    }

    /// The forest of all edges.
    pub fn finish(mut self) -> Result<StreamForest> {
        self.flush()?;
        let mut known = std::mem::take(&mut self.known);
        let (vertices, run) = (self.vertices as u32, self.run.clone());
        let start = Instant::now();
        known.merge(vertices, &run)?;
        let merging = known.time + start.elapsed();
        let Known { edges: Part { src, dst, mut weights, .. }, ids, .. } = known;
        weights.promote(self.part.weights.kind());
        let graph = Graph::from_proved_edges(vertices, src.into(), dst.into(), weights.into_weights());
        let positions: Vec<u32> = (0..ids.len() as u32).collect();
        let weight = graph.weights().total(&positions);
        Ok(StreamForest { graph, ids, edges: self.taken, weight, merges: known.merges, merging })
    }

    /// Whether a part is to be taken; `held` is what the caller holds beside it. An error where memory is too little.
    pub(crate) fn is_full(&self, part: &Part, held: u64) -> Result<bool> {
        Ok(part.len() >= self.room(part, held)?.part || part.came() >= MOST)
    }

    fn room(&self, part: &Part, held: u64) -> Result<Room> {
        let kind = self.kind.max(part.weights.kind());
        self.memory.room(self.vertices, kind.size() as u64, held)
    }

    /// Waits for the step that runs: then all edges that were taken are known.
    pub(crate) fn wait(&mut self) -> Result<()> {
        if let Some(taken) = self.step.wait()? {
            (self.known, self.spare) = taken;
            self.kind = self.known.kind();
            self.filter = self.known.filter.clone();
        }
        Ok(())
    }

    /// Starts to take what waits. No step runs.
    pub(crate) fn start_waiting(&mut self) -> Result<()> {
        let mut part = std::mem::take(&mut self.part);
        let outcome = self.start(&mut part, 0);
        self.part = part;
        outcome
    }

    /// Starts to take a part and puts an empty one in its place. No step runs.
    pub(crate) fn start(&mut self, part: &mut Part, held: u64) -> Result<()> {
        if part.came() == 0 {
            return Ok(());
        }
        self.check_weights(part)?;
        let capacity = self.room(part, held)?.pool;
        let mut next = std::mem::take(&mut self.spare);
        next.clear(part.weights.kind());
        let edges = part.came();
        let step = Step {
            known: std::mem::take(&mut self.known),
            part: std::mem::replace(part, next),
            first: self.taken,
            vertices: self.vertices as u32,
            capacity,
            run: self.run.clone(),
        };
        self.taken += edges;
        self.step.start(|| step.take())
    }

    /// The part that fills, for the caller to fill and give back.
    pub(crate) fn take_part(&mut self) -> Part {
        std::mem::take(&mut self.part)
    }

    /// Takes a part back that is not full yet.
    pub(crate) fn give_back(&mut self, part: Part) {
        self.part = part;
    }

    /// Takes all that waits, whether it is much or not, and waits until that is done.
    pub(crate) fn flush(&mut self) -> Result<()> {
        self.wait()?;
        self.start_waiting()?;
        self.wait()
    }

    /// Another stream with the edges of this one, from which both go on. What they both hold is in memory twice, so it is
    /// merged where more edges wait than there are vertices.
    pub(crate) fn fork(&mut self) -> Result<Self> {
        self.flush()?;
        if self.known.waiting() as u64 > self.vertices {
            self.known.shrink(self.vertices as u32, &self.run)?;
            self.filter = self.known.filter.clone();
        }
        let (run, known, step, filter) = (self.run.clone(), self.known.clone(), self.step.fork(), self.filter.clone());
        Ok(Self { run, known, step, filter, part: Part::default(), spare: Part::default(), ..*self })
    }

    /// Takes only a share of the memory that it is allowed: there are other streams.
    pub(crate) fn share_memory(&mut self, shares: u64) {
        self.memory.shares = shares;
    }

    /// Bytes of what is known.
    pub(crate) fn bytes(&self) -> u64 {
        (self.known.edges.len() * (16 + self.kind.size())) as u64
    }

    /// What a checkpoint must hold to go on from here. No step runs, and what waits is not part of it.
    pub(crate) fn state(&self) -> State<'_> {
        let Self { vertices, taken, weighted, is_beyond_floats, known, .. } = self;
        let known = Cow::Borrowed(known);
        State { vertices: *vertices, taken: *taken, weighted: *weighted, is_beyond_floats: *is_beyond_floats, known }
    }

    /// Goes on from there.
    pub(crate) fn restore(&mut self, state: State) {
        let State { vertices, taken, weighted, is_beyond_floats, known } = state;
        (self.vertices, self.taken, self.weighted) = (vertices, taken, weighted);
        (self.is_beyond_floats, self.known) = (is_beyond_floats, known.into_owned());
        (self.kind, self.filter) = (self.known.kind(), None);
    }

    /// What the reader may leave out of parts before they come here.
    pub(crate) fn filter(&self) -> Option<Arc<Filter>> {
        self.filter.clone()
    }

    /// Takes all weights for `f64` from the beginning.
    pub(crate) fn with_floats(mut self) -> Self {
        self.kind = Kind::F64;
        self.known.edges.weights = Numbers::zeros(Kind::F64, 0);
        self
    }

    /// All edges have weights or none has; and integers that are no exact floats do not meet floats, because those left out
    /// already were compared exactly.
    fn check_weights(&mut self, part: &Part) -> Result<()> {
        let is_float = |kind| matches!(kind, Kind::F32 | Kind::F64);
        let kind = part.weights.kind();
        let is_uneven = part.weights.count().is_some_and(|count| count != part.src.len());
        if is_uneven || *self.weighted.get_or_insert(kind != Kind::None) != (kind != Kind::None) {
            return Err(Error::MixedWeights { edge: self.taken });
        }
        if is_float(self.kind) {
            return Ok(());
        }
        if is_float(kind) && self.is_beyond_floats {
            return Err(Error::LateFloats { edge: self.taken });
        }
        self.is_beyond_floats |= part.is_beyond_floats();
        Ok(())
    }
}

/// A stream without what waits and what runs.
pub(crate) struct State<'a> {
    pub(crate) vertices: u64,
    pub(crate) taken: u64,
    pub(crate) weighted: Option<bool>,
    pub(crate) is_beyond_floats: bool,
    pub(crate) known: Cow<'a, Known>,
}

/// The spanning forest of a stream. The graph is gone, so its edges are here: as a graph of their own.
#[derive(Debug)]
pub struct StreamForest {
    graph: Graph<'static>,
    ids: Vec<u64>,
    edges: u64,
    weight: Total,
    merges: usize,
    merging: Duration,
}

impl StreamForest {
    /// The ids of the edges, ascending: their positions in the stream.
    pub fn edges(&self) -> &[u64] {
        &self.ids
    }

    /// The forest as a graph: all vertices of the stream, and the edges in the order of [`edges`](Self::edges).
    pub fn graph(&self) -> &Graph<'static> {
        &self.graph
    }

    /// The number of edges.
    pub fn len(&self) -> usize {
        self.ids.len()
    }

    /// Whether there is no edge.
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    /// The number of trees; a vertex without edges is a tree of its own.
    pub fn trees(&self) -> usize {
        self.graph.vertices() - self.ids.len()
    }

    /// The sum of the weights: exact for integers; for floats, added in `f64` in edge-id order.
    pub fn weight(&self) -> Total {
        self.weight
    }

    /// XXH3-64 over the edge ids as little-endian `u64`, as [`Forest::digest`](crate::Forest::digest).
    pub fn digest(&self) -> u64 {
        let mut hash = Xxh3Default::new();
        hash.update(bytemuck::cast_slice(&self.ids));
        hash.digest()
    }

    /// The tree of every vertex; trees are numbered from 0 by their smallest vertex.
    pub fn labels(&self) -> Vec<u32> {
        let mut trees = UnionFind::new(self.graph.vertices());
        for (&u, &v) in self.graph.sources().iter().zip(self.graph.targets()) {
            trees.union(u, v);
        }
        trees.labels()
    }

    /// How many edges the stream had.
    pub fn streamed(&self) -> u64 {
        self.edges
    }

    /// How many merges there were, and how long they took; edges were read meanwhile.
    pub fn merges(&self) -> (usize, Duration) {
        (self.merges, self.merging)
    }

    pub(crate) fn with_names(mut self, names: Names) -> Self {
        if !names.is_empty() {
            self.graph = self.graph.with_names(names);
        }
        self
    }
}
