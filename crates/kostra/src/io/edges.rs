//! From lines of text to edges: blocks of lines are parsed on all threads and joined in file order.
//!
//! Each thread takes the next block under one lock, parses it alone, and appends it under another lock when its turn
//! comes. What is in flight is one block a thread, so the peak of memory is the finished graph and a little more; and
//! the first error in file order is the one that is reported, whichever thread was faster.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use rayon::prelude::*;

use super::balance::{Balance, bits};
use super::numbers::{Kind, Numbers};
use super::scan::{Cursor, Line};
use super::source::Source;
use crate::error::{Error, Result};
use crate::graph::Graph;
use crate::names::Names;
use crate::weight::Weight;

/// Vertices beyond this many need edges to show for them; see [`check_waste`].
const FREE_VERTICES: u64 = 1 << 24;

/// Above [`FREE_VERTICES`], so many vertices an edge are a waste of memory rather than a sparse graph.
const VERTICES_PER_EDGE: u64 = 64;

/// A text format: what one of its lines means. `DELIMITER` separates fields; a space stands for any blanks.
pub(super) trait Lines<const DELIMITER: u8 = b' '>: Sync {
    /// No line is longer. Only formats with a vertex a line need more than this.
    const LONGEST_LINE: usize = 1 << 20;

    /// Reads the line at the cursor, up to and with its end.
    fn line(&self, cursor: &mut Cursor<'_, DELIMITER>, part: &mut Edges) -> Line<Then>;
}

/// What follows a line.
pub(super) enum Then {
    /// The next line.
    Next,
    /// Nothing: the rest of the file is not about edges.
    End,
}

/// Which arcs of an arc format are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Keep {
    All,
    /// Those with u <= v: all that is needed if the arcs turn out to be symmetric.
    Upper,
}

/// Edges read so far, of a block or of the whole file.
pub(super) struct Edges {
    pub(super) src: Vec<u32>,
    pub(super) dst: Vec<u32>,
    pub(super) weights: Numbers,
    /// Entries read, whether kept or not.
    pub(super) entries: u64,
    /// Lines that are no comments before the one that is read: the row of formats that have one.
    pub(super) row: u64,
    /// The names in use where ids are sparse, else none.
    pub(super) names: Names,
    keep: Keep,
    balance: Balance,
}

impl Edges {
    pub(super) fn new(keep: Keep) -> Self {
        Self {
            src: Vec::new(),
            dst: Vec::new(),
            weights: Numbers::None,
            entries: 0,
            row: 0,
            names: Names::default(),
            keep,
            balance: Balance::default(),
        }
    }

    /// Adds an edge of a format whose every entry is an edge.
    #[inline(always)]
    pub(super) fn push(&mut self, u: u32, v: u32, weight: Option<Weight>) {
        self.entries += 1;
        self.src.push(u);
        self.dst.push(v);
        if let Some(weight) = weight {
            self.weights.push(weight);
        }
    }

    /// Adds an arc of a format that may hold both directions of an edge.
    #[inline(always)]
    pub(super) fn push_arc(&mut self, u: u32, v: u32, weight: Option<Weight>) {
        self.balance.add(u, v, weight.map_or(0, bits));
        if u <= v || self.keep == Keep::All {
            self.push(u, v, weight);
        } else {
            self.entries += 1;
            // The mirror weighs the same but may be written without the point that makes all weights floats.
            if let Some(Weight::Float(_)) = weight {
                self.weights.promote(Kind::F64);
            }
        }
    }

    /// Makes room for `factor` times as many edges as `part` holds, so that the arrays need not move while they grow. Room
    /// that is not used in the end takes no memory.
    pub(super) fn reserve(&mut self, part: &Edges, factor: f64) {
        let edges = (part.src.len() as f64 * factor) as usize;
        self.weights.promote(part.weights.kind());
        let weights = match &mut self.weights {
            Numbers::None => Ok(()),
            Numbers::U32(all) => all.try_reserve(edges),
            Numbers::I32(all) => all.try_reserve(edges),
            Numbers::I64(all) => all.try_reserve(edges),
            Numbers::F32(all) => all.try_reserve(edges),
            Numbers::F64(all) => all.try_reserve(edges),
        };
        // Where there is no such room (a file full of holes is long for nothing), the arrays grow as they must.
        let _ = weights.and(self.src.try_reserve(edges)).and(self.dst.try_reserve(edges));
    }

    /// Adds the edges of the next block and leaves it empty.
    pub(super) fn append(&mut self, part: &mut Edges) -> Result<(), Error> {
        if !part.names.is_empty() {
            let ids: Option<Vec<u32>> =
                (0..part.names.len() as u32).map(|v| self.names.intern(part.names.at(v))).collect();
            let ids = ids.ok_or(Error::TooLarge { what: "vertices", count: 1 << 32 })?;
            for v in part.src.iter_mut().chain(&mut part.dst) {
                *v = ids[*v as usize];
            }
            part.names = Names::default();
        }
        self.src.append(&mut part.src);
        self.dst.append(&mut part.dst);
        self.weights.append(&mut part.weights);
        self.entries += std::mem::take(&mut part.entries);
        self.balance.join(std::mem::take(&mut part.balance));
        if self.src.len() > u32::MAX as usize {
            return Err(Error::TooLarge { what: "edges", count: self.src.len() as u64 });
        }
        Ok(())
    }

    /// Keeps the arcs with u <= v.
    fn keep_upper(&mut self) {
        let upper: Vec<bool> = self.src.iter().zip(&self.dst).map(|(u, v)| u <= v).collect();
        retain(&mut self.src, &upper);
        retain(&mut self.dst, &upper);
        match &mut self.weights {
            Numbers::None => {}
            Numbers::U32(w) => retain(w, &upper),
            Numbers::I32(w) => retain(w, &upper),
            Numbers::I64(w) => retain(w, &upper),
            Numbers::F32(w) => retain(w, &upper),
            Numbers::F64(w) => retain(w, &upper),
        }
    }

    /// The graph of these edges, with `vertices` vertices or as many as there are names.
    pub(super) fn into_graph(mut self, vertices: u64, source: &Source) -> Result<Graph<'static>> {
        if vertices > u32::MAX.into() {
            return Err(Error::TooLarge { what: "vertices", count: vertices });
        }
        self.src.shrink_to_fit();
        self.dst.shrink_to_fit();
        let graph = Graph::from_edges(vertices as usize, self.src, self.dst, self.weights.into_weights());
        graph.map(|graph| if self.names.is_empty() { graph } else { graph.with_names(self.names) }).map_err(|e| match e
        {
            Error::Vertex { .. } | Error::Nan { .. } | Error::Lengths { .. } => source.error(e.to_string()),
            other => other,
        })
    }

    /// The graph of a list of edges: one more vertex than the largest id, or `at_least` as many.
    pub(super) fn into_listed_graph(self, at_least: u64, source: &Source) -> Result<Graph<'static>> {
        let vertices = if self.names.is_empty() {
            at_least.max(largest(&self.src).max(largest(&self.dst)).map_or(0, |v| u64::from(v) + 1))
        } else {
            self.names.len() as u64
        };
        check_waste(vertices, self.entries, &source.name())?;
        self.into_graph(vertices, source)
    }
}

/// The largest id, on all threads.
pub(super) fn largest(ends: &[u32]) -> Option<u32> {
    ends.par_chunks(1 << 16).map(|part| part.iter().copied().fold(0, u32::max)).max()
}

fn retain<T: Copy>(items: &mut Vec<T>, wanted: &[bool]) {
    let mut wanted = wanted.iter();
    items.retain(|_| wanted.next().copied().unwrap_or(false));
}

/// Refuses a number of vertices that would take memory out of proportion to the file.
pub(super) fn check_waste(vertices: u64, entries: u64, file: &str) -> Result<()> {
    if vertices > FREE_VERTICES && vertices / VERTICES_PER_EDGE > entries {
        let what = format!(
            "{vertices} vertices for {entries} edges would waste memory; --ids sparse (edge lists and tables) numbers \
             only the vertices in use"
        );
        return Err(Error::File { file: file.into(), what });
    }
    Ok(())
}

/// Parses the rest of the source.
pub(super) fn parse<L: Lines<D>, const D: u8>(source: &mut Source, lines: &L) -> Result<Edges> {
    parse_keeping(source, lines, Keep::All)
}

/// Parses the rest of an arc format: one edge per pair of arcs if they are symmetric, else an edge per arc.
///
/// Only the arcs with u <= v are kept at first, with a commutative hash over all. When it says that the arcs are not
/// symmetric, the file is read again; from a pipe, which cannot be, everything is kept at once.
pub(super) fn parse_arcs<L: Lines>(source: &mut Source, lines: &L) -> Result<Edges> {
    match source.reopened() {
        Some(again) => {
            let mut again = again?;
            let edges = parse_keeping(source, lines, Keep::Upper)?;
            if edges.balance.is_symmetric() { Ok(edges) } else { parse_keeping(&mut again, lines, Keep::All) }
        }
        None => {
            let mut edges = parse_keeping(source, lines, Keep::All)?;
            if edges.balance.is_symmetric() {
                edges.keep_upper();
            }
            Ok(edges)
        }
    }
}

/// What the threads share while they parse.
struct Joined {
    edges: Edges,
    /// The block whose turn it is to be joined.
    turn: u64,
    /// Set by an error, by [`Then::End`], and by a thread that panics.
    over: bool,
    outcome: Result<()>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn parse_keeping<L: Lines<D>, const D: u8>(source: &mut Source, lines: &L, keep: Keep) -> Result<Edges> {
    let size = source.plain_size();
    let blocks = Mutex::new((&mut *source, 0u64));
    let joined = Mutex::new(Joined { edges: Edges::new(keep), turn: 0, over: false, outcome: Ok(()) });
    let next_turn = Condvar::new();

    /// Lets the others go when a thread panics between taking a block and joining it.
    struct Guard<'a>(&'a Mutex<Joined>, &'a Condvar);
    impl Drop for Guard<'_> {
        fn drop(&mut self) {
            if std::thread::panicking() {
                lock(self.0).over = true;
                self.1.notify_all();
            }
        }
    }

    let work = || {
        let _guard = Guard(&joined, &next_turn);
        let (mut block, mut part) = (Vec::new(), Edges::new(keep));
        loop {
            let (index, taken) = {
                let mut blocks = lock(&blocks);
                let taken = blocks.0.next_block(&mut block, L::LONGEST_LINE);
                blocks.1 += 1;
                (blocks.1 - 1, taken)
            };
            let parsed = match taken {
                Ok(None) => return,
                Ok(Some(place)) => {
                    part.row = place.row;
                    parse_block(&block[..place.len], lines, &mut part)
                        .map_err(|(line, what)| Wrong::Line(place.line + line, what))
                }
                Err(error) => Err(Wrong::Other(error)),
            };
            // Blocks before this one are in the hands of threads that are at work, so its turn will come.
            let mut joined = lock(&joined);
            while joined.turn != index && !joined.over {
                joined = next_turn.wait(joined).unwrap_or_else(PoisonError::into_inner);
            }
            if joined.over {
                return;
            }
            if let (0, Some(size)) = (index, size) {
                joined.edges.reserve(&part, size as f64 / block.len() as f64);
            }
            let appended = match parsed {
                Ok(then) => joined.edges.append(&mut part).map(|()| then),
                Err(Wrong::Line(line, what)) => Err(lock(&blocks).0.error_at(line, what)),
                Err(Wrong::Other(error)) => Err(error),
            };
            joined.turn += 1;
            joined.over = !matches!(appended, Ok(Then::Next));
            joined.outcome = appended.map(|_| ());
            next_turn.notify_all();
        }
    };
    rayon::scope(|scope| {
        for _ in 0..rayon::current_num_threads() {
            scope.spawn(|_| work());
        }
    });

    let joined = joined.into_inner().unwrap_or_else(PoisonError::into_inner);
    joined.outcome.map(|()| joined.edges)
}

enum Wrong {
    Line(u64, String),
    Other(Error),
}

/// Parses one block; an error comes with the number of its line in the block, from 0.
fn parse_block<L: Lines<D>, const D: u8>(block: &[u8], lines: &L, part: &mut Edges) -> Result<Then, (u64, String)> {
    let mut cursor = Cursor::new(block);
    let mut line = 0;
    while !cursor.is_done() {
        match lines.line(&mut cursor, part) {
            Ok(Then::Next) => line += 1,
            Ok(Then::End) => return Ok(Then::End),
            Err(what) => return Err((line, what)),
        }
    }
    Ok(Then::Next)
}
