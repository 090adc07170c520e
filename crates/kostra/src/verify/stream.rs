//! The same proof for graphs that come in parts: the forest is in memory, the graph's other edges pass by.
//!
//! A forest edge has its position among the forest's ids for an id, which is small and compares alike. Any other edge has the
//! number of forest ids before its own: of two edges of one weight, the forest's comes first exactly if its position is below.

use std::sync::Arc;

use rayon::prelude::*;

use super::{BATCH, BLOCK, Edge, Flaw, Heights, Link, NO_EDGE, Span, climb, edge_at, merge};
use crate::error::{Error, Result};
use crate::graph::{Graph, check_lengths};
use crate::numbers::{Kind, Numbers};
use crate::par::Aside;
use crate::stream::Part;
use crate::watch::Watch;
use crate::weight::{AnyKeys, Key, Keys, Weights};

/// Edges that are checked at a time, while others are read.
const AT_A_TIME: usize = 1 << 19;

/// Proves that a set of edges is the minimum spanning forest of a graph whose edges come in batches.
///
/// ```
/// use kostra::verify::Proof;
/// use kostra::{Graph, Watch};
///
/// // The forest: its edges as a graph of their own, and their ids.
/// let forest = Graph::from_edges(3, &[1, 2], &[2, 0], &[3, 4])?;
/// let mut proof = Proof::new(&forest, &[1, 2], false, &Watch::new())?;
/// proof.push(&[0, 1], &[1, 2], &(&[5, 3]).into())?;
/// proof.push(&[2], &[0], &(&[4]).into())?;
/// proof.finish()?;
/// # Ok::<(), kostra::Error>(())
/// ```
#[derive(Debug)]
pub struct Proof {
    known: Arc<Known>,
    watch: Watch,
    /// Edges that were checked or are being checked.
    checked: u64,
    flaw: Option<Flaw>,
    part: Part,
    spare: Part,
    checking: Aside<Checked>,
}

/// What came of a part, and its memory; and the forest with weights of a type that holds the part's as well.
#[derive(Debug)]
struct Checked {
    flaw: Option<Flaw>,
    part: Part,
    known: Arc<Known>,
}

impl Proof {
    /// Begins the proof for a forest whose edges are those of `forest`, with these ids in the stream, in any order.
    pub fn new(forest: &Graph, ids: &[u64], maximum: bool, watch: &Watch) -> Result<Self> {
        if forest.edges() != ids.len() {
            return Err(Error::Lengths { src: forest.edges(), dst: forest.edges(), weights: ids.len() });
        }
        Self::of(Part::of(forest), ids.to_vec(), maximum, watch)
    }

    pub(crate) fn of(forest: Part, ids: Vec<u64>, maximum: bool, watch: &Watch) -> Result<Self> {
        let watch = watch.silent();
        Ok(Self {
            known: Arc::new(Known::new(forest, ids, maximum, &watch)?),
            watch,
            checked: 0,
            flaw: None,
            part: Part::default(),
            spare: Part::default(),
            checking: Aside::new("check"),
        })
    }

    /// Checks the next edges of the graph. What is wrong with them may be told later, at the latest by [`finish`](Self::finish).
    pub fn push(&mut self, src: &[u32], dst: &[u32], weights: &Weights) -> Result<()> {
        check_lengths(src, dst, weights)?;
        if let Some(edge) = weights.first_nan() {
            return Err(Error::Nan { edge: self.edges() + edge as u64 });
        }
        self.add(src, dst, weights)
    }

    /// The same for arrays that are known to be sound; see [`Stream::add`](crate::Stream).
    pub(crate) fn add(&mut self, src: &[u32], dst: &[u32], weights: &Weights) -> Result<()> {
        for start in (0..src.len()).step_by(AT_A_TIME) {
            let range = start..src.len().min(start + AT_A_TIME);
            self.part.src.extend_from_slice(&src[range.clone()]);
            self.part.dst.extend_from_slice(&dst[range.clone()]);
            crate::stream::extend(&mut self.part.weights, weights, range);
            let mut part = self.take_part();
            let outcome = self.check_if_full(&mut part);
            self.part = part;
            outcome?;
        }
        Ok(())
    }

    /// The number of edges so far.
    pub fn edges(&self) -> u64 {
        self.checked + self.part.len() as u64
    }

    /// All edges have come.
    ///
    /// # Errors
    ///
    /// [`Error::Flaw`](crate::Error::Flaw) says what is wrong with the forest.
    pub fn finish(mut self) -> Result<()> {
        let mut part = self.take_part();
        self.start(&mut part)?;
        self.wait()?;
        if let Some(&id) = self.known.ids.last().filter(|&&id| id >= self.checked) {
            return Err(Flaw::NoSuchEdge { id, edges: self.checked }.into());
        }
        self.flaw.map_or(Ok(()), |flaw| Err(flaw.into()))
    }

    pub(crate) fn take_part(&mut self) -> Part {
        std::mem::take(&mut self.part)
    }

    pub(crate) fn give_back(&mut self, part: Part) {
        self.part = part;
    }

    /// Bytes that the forest and its levels take.
    pub(crate) fn bytes_for(vertices: u64, weight: u64) -> u64 {
        vertices * (48 + 5 * weight)
    }

    /// Another proof of the same forest, from which both go on.
    pub(crate) fn fork(&mut self) -> Result<Self> {
        let mut part = self.take_part();
        self.start(&mut part)?;
        self.wait()?;
        Ok(Self {
            known: Arc::clone(&self.known),
            watch: self.watch.clone(),
            flaw: self.flaw.clone(),
            part: Part::default(),
            spare: Part::default(),
            checking: self.checking.fork(),
            ..*self
        })
    }

    pub(crate) fn check_if_full(&mut self, part: &mut Part) -> Result<()> {
        if part.len() < AT_A_TIME { Ok(()) } else { self.start(part) }
    }

    fn wait(&mut self) -> Result<()> {
        if let Some(Checked { flaw, part, known }) = self.checking.wait()? {
            self.flaw = self.flaw.take().or(flaw);
            (self.spare, self.known) = (part, known);
        }
        Ok(())
    }

    /// Starts to check a part and leaves it empty.
    fn start(&mut self, part: &mut Part) -> Result<()> {
        self.wait()?;
        if part.len() == 0 {
            return Ok(());
        }
        if part.weights.count().is_some_and(|count| count != part.src.len()) {
            return Err(Error::MixedWeights { edge: self.checked });
        }
        let mut next = std::mem::take(&mut self.spare);
        next.clear(part.weights.kind());
        let mut taken = std::mem::replace(part, next);
        if taken.weights.kind() == Kind::None && self.known.forest.weights.kind() != Kind::None {
            // A forest of edges without weights is written with ones.
            taken.weights = Numbers::U32(vec![1; taken.src.len()]);
        }
        let (first, known, watch) = (self.checked, Arc::clone(&self.known), self.watch.clone());
        self.checked += taken.len() as u64;
        // All of it aside: the caller's threads may be busy with what calls this.
        self.checking.start(move || {
            let known = Known::unified(known, &mut taken.weights, &watch)?;
            let flaw = known.check(&taken, first, &watch)?;
            Ok(Checked { flaw, part: taken, known })
        })
    }
}

/// The forest, in the order of its ids, and what was worked out of it.
#[derive(Debug)]
struct Known {
    forest: Part,
    ids: Vec<u64>,
    maximum: bool,
    vertices: u32,
    levels: AnyLevels,
}

#[derive(Debug)]
enum AnyLevels {
    Narrow(Levels<u32>),
    Wide(Levels<u64>),
}

#[derive(Debug)]
struct Levels<K: Key> {
    links: Vec<Vec<Link<K>>>,
    heights: Heights<K>,
}

impl Known {
    /// Sorts the forest by its ids and merges it; an error where it is none.
    fn new(mut forest: Part, ids: Vec<u64>, maximum: bool, watch: &Watch) -> Result<Self> {
        let ids = if ids.is_sorted() { ids } else { sort(&mut forest, &ids) };
        let largest = forest.src.iter().chain(&forest.dst).fold(None, |largest, &v| largest.max(Some(v)));
        let vertices = largest.map_or(0, |v| v + 1);
        let graph = forest.graph(vertices);
        let named = |e: usize| Edge { id: ids[e], ..edge_at(&graph, e as u32) };
        if let Some(at) = (1..ids.len()).find(|&at| ids[at - 1] == ids[at]) {
            return Err(Flaw::Duplicate(named(at)).into());
        }
        if let Some(at) = (0..ids.len()).find(|&at| forest.src[at] == forest.dst[at]) {
            return Err(Flaw::SelfLoop(named(at)).into());
        }
        let levels = match graph.keys(maximum) {
            AnyKeys::Narrow(keys) => levels_of(&graph, keys, watch).map(AnyLevels::Narrow),
            AnyKeys::Wide(keys) => levels_of(&graph, keys, watch).map(AnyLevels::Wide),
        };
        let levels = levels.map_err(|error| match error {
            Error::Flaw(Flaw::Cycle(edge)) => Flaw::Cycle(named(edge.id as usize)).into(),
            other => other,
        })?;
        drop(graph);
        Ok(Self { forest, ids, maximum, vertices, levels })
    }

    /// The same with weights of one type with these.
    fn unified(known: Arc<Self>, weights: &mut Numbers, watch: &Watch) -> Result<Arc<Self>> {
        let kind = known.forest.weights.kind();
        if kind == weights.kind() {
            return Ok(known);
        }
        let mut wider = known.forest.weights.clone();
        wider.unify(weights);
        if wider.kind() == kind {
            return Ok(known);
        }
        let Self { forest: Part { src, dst, .. }, ids, maximum, .. } = &*known;
        let forest = Part::new(src.clone(), dst.clone(), wider);
        Self::new(forest, ids.clone(), *maximum, watch).map(Arc::new)
    }

    /// What is wrong with the forest by the next edges of the graph, whose ids begin with `first`.
    fn check(&self, part: &Part, first: u64, watch: &Watch) -> Result<Option<Flaw>> {
        let (forest, graph) = (self.forest.graph(self.vertices), part.graph(u32::MAX));
        match (&self.levels, forest.keys(self.maximum), graph.keys(self.maximum)) {
            (AnyLevels::Narrow(levels), AnyKeys::Narrow(of), AnyKeys::Narrow(keys)) => {
                self.check_by(levels, (&forest, of), (&graph, keys), first, watch)
            }
            (AnyLevels::Wide(levels), AnyKeys::Wide(of), AnyKeys::Wide(keys)) => {
                self.check_by(levels, (&forest, of), (&graph, keys), first, watch)
            }
            _ => unreachable!("unification made the types of weights equal"),
        }
    }

    fn check_by<K: Key>(
        &self,
        levels: &Levels<K>,
        (forest, of): (&Graph, Keys<K>),
        (graph, keys): (&Graph, Keys<K>),
        first: u64,
        watch: &Watch,
    ) -> Result<Option<Flaw>> {
        let (m, src, dst) = (graph.edges(), graph.sources(), graph.targets());
        let here = |e: usize| Edge { id: first + e as u64, ..edge_at(graph, e as u32) };
        let found = (0..m.div_ceil(BLOCK)).into_par_iter().find_map_first(|block| {
            if let Err(stop) = watch.check() {
                return Some(Err(stop));
            }
            let block = block * BLOCK..m.min((block + 1) * BLOCK);
            let mut next = self.ids.partition_point(|&id| id < first + block.start as u64);
            let (mut batch, mut places) = (Vec::with_capacity(BATCH), Vec::with_capacity(BATCH));
            for start in block.clone().step_by(BATCH) {
                batch.clear();
                places.clear();
                let mut flaw = None;
                for e in start..block.end.min(start + BATCH) {
                    let (u, v) = (src[e], dst[e]);
                    if self.ids.get(next) == Some(&(first + e as u64)) {
                        let ends = forest.endpoints(next);
                        if (ends != (u, v) && ends != (v, u)) || of.at(next) != keys.at(e) {
                            let given = Edge { id: first + e as u64, ..edge_at(forest, next as u32) };
                            flaw = flaw.or(Some((e, Flaw::Foreign { given, actual: here(e) })));
                        }
                        next += 1;
                    } else if u.max(v) < self.vertices {
                        batch.push(Span { key: keys.at(e), edge: next as u32, u, v });
                        places.push(e);
                    } else if u != v {
                        flaw = flaw.or_else(|| Some((e, Flaw::Missing(here(e)))));
                    }
                }
                levels.heights.settle(&mut batch);
                if climb(&mut batch, &levels.links).is_some() {
                    // Which one it was, is asked only now.
                    let better = places.iter().find_map(|&e| {
                        let edge = self.ids.partition_point(|&id| id < first + e as u64) as u32;
                        let span = Span { key: keys.at(e), edge, u: src[e], v: dst[e] };
                        let is_better = span.u != span.v && climb(&mut vec![span], &levels.links).is_some();
                        is_better.then(|| (e, self.explain(levels, forest, span, here(e))))
                    });
                    flaw = [flaw, better].into_iter().flatten().min_by_key(|(e, _)| *e);
                }
                if let Some((_, flaw)) = flaw {
                    return Some(Ok(flaw));
                }
            }
            None
        });
        found.transpose()
    }

    /// Why an edge is not rightly left out.
    fn explain<K: Key>(&self, levels: &Levels<K>, forest: &Graph, span: Span<K>, better: Edge) -> Flaw {
        match super::largest_between(&levels.links, span.u, span.v) {
            None => Flaw::Missing(better),
            Some(largest) => {
                let at = K::edge(largest);
                let chosen = Edge { id: self.ids[at as usize], ..edge_at(forest, at) };
                Flaw::NotMinimum { chosen, better, maximum: self.maximum }
            }
        }
    }
}

fn levels_of<K: Key>(graph: &Graph, keys: Keys<K>, watch: &Watch) -> Result<Levels<K>> {
    let edges: Vec<u32> = (0..graph.edges() as u32).collect();
    let links = merge(graph, keys, &edges, watch)?;
    let heights = Heights::new(&links, watch)?;
    debug_assert!(graph.edges() < NO_EDGE as usize);
    Ok(Levels { links, heights })
}

/// Puts the forest into the order of its ids.
fn sort(forest: &mut Part, ids: &[u64]) -> Vec<u64> {
    let mut order: Vec<u32> = (0..ids.len() as u32).collect();
    order.par_sort_by_key(|&at| ids[at as usize]);
    forest.keep(&order);
    order.iter().map(|&at| ids[at as usize]).collect()
}
