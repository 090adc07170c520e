//! From files to edges: blocks are read on all threads and joined in file order.
//!
//! Each thread takes the next block under one lock, reads or parses it alone, and appends it under another lock when its turn
//! comes. What is in flight is one block a thread, so the peak of memory is the finished graph and a little more; and
//! the first error in file order is the one that is reported, whichever thread was faster.
//!
//! What becomes of joined edges is a [`Taker`]'s matter: one leaves them where they are until they are a graph, others take
//! them away in parts.

use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use super::Format;
use super::balance::{Balance, bits};
use super::scan::{Cursor, Line, SPARSE};
use super::source::{Place, Source, Spot};
use crate::BYTES_PER_VERTEX;
use crate::buffer::check_room;
use crate::error::{Error, Result};
use crate::graph::Graph;
use crate::names::Names;
use crate::numbers::{Kind, each_numbers};
use crate::stream::{Filter, Part};
use crate::weight::Weight;

/// More vertices than this need edges to show for them where nothing but the largest id says that there are so many: it may well
/// be a name.
const MOST_SHOWN: u64 = 1 << 24;

/// The same where a header says so: see [`check_said`] and [`check_meant`]. A solve of so many takes 4 GiB.
const MOST_SAID: u64 = 1 << 28;

/// Beyond that, so many vertices an edge are a mistake rather than a sparse graph.
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
    /// All, because it cannot be read again; those with u <= v are enough if the arcs turn out to be symmetric.
    Either,
}

impl Keep {
    pub(super) const ALL: [Keep; 3] = [Keep::All, Keep::Upper, Keep::Either];
}

/// What becomes of edges as they are read, in the order of the file.
pub(super) trait Taker: Send {
    /// Whether all edges stay where they are.
    fn keeps_all(&self) -> bool {
        false
    }

    /// Where reading goes on that was interrupted in this file.
    fn resume(&mut self) -> Option<Resume> {
        None
    }

    /// The edges that those of a file are added to.
    fn begin(&mut self, keep: Keep) -> Result<Edges> {
        Ok(Edges::new(keep))
    }

    /// Takes what it likes of the edges joined so far.
    fn take(&mut self, _edges: &mut Edges) -> Result<()> {
        Ok(())
    }

    /// Tells edges that need not be taken.
    fn filter(&self) -> Option<Arc<Filter>> {
        None
    }

    /// The arcs of the file were not symmetric: what was taken of them is void, and every arc will come.
    fn again(&mut self, _edges: Edges) -> Result<()> {
        Ok(())
    }

    /// All arcs of a file that cannot be read again have come, and now it is known if they were symmetric.
    fn settle(&mut self, edges: &mut Edges, symmetric: bool) -> Result<()> {
        if symmetric {
            edges.keep_upper();
        }
        Ok(())
    }
}

/// Leaves all edges where they are: for a graph in memory.
pub(super) struct Whole;

impl Taker for Whole {
    fn keeps_all(&self) -> bool {
        true
    }
}

/// What is known of the edges of a file up to a place in it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Resume {
    pub(super) spot: Spot,
    pub(super) entries: u64,
    pub(super) balance: Balance,
    pub(super) keep: Keep,
}

/// Edges read so far, of a block or of the whole file.
pub(super) struct Edges {
    pub(super) part: Part,
    /// One more than the largest vertex so far.
    pub(super) vertices: u64,
    /// Entries read, whether kept or not.
    pub(super) entries: u64,
    /// Lines that are no comments before the one that is read: the row of formats that have one.
    pub(super) row: u64,
    /// The names in use where ids are sparse, else none.
    pub(super) names: Names,
    /// The ids that a forest's lines give; none elsewhere.
    pub(super) ids: Vec<u64>,
    /// Where the last block of them ends.
    pub(super) spot: Spot,
    pub(super) keep: Keep,
    pub(super) balance: Balance,
}

impl Edges {
    pub(super) fn new(keep: Keep) -> Self {
        Self {
            part: Part::default(),
            vertices: 0,
            entries: 0,
            row: 0,
            names: Names::default(),
            ids: Vec::new(),
            spot: Spot::default(),
            keep,
            balance: Balance::default(),
        }
    }

    /// Adds an edge of a format whose every entry is an edge.
    #[inline(always)]
    pub(super) fn push(&mut self, u: u32, v: u32, weight: Option<Weight>) {
        self.entries += 1;
        self.part.src.push(u);
        self.part.dst.push(v);
        if let Some(weight) = weight {
            self.part.weights.push(weight);
        }
    }

    /// Adds an arc of a format that may hold both directions of an edge.
    #[inline(always)]
    pub(super) fn push_arc(&mut self, u: u32, v: u32, weight: Option<Weight>) {
        self.balance.add(u, v, weight.map_or(0, bits));
        if u <= v || self.keep != Keep::Upper {
            self.push(u, v, weight);
        } else {
            self.entries += 1;
            // The mirror weighs the same but may be written without the point that makes all weights floats.
            if let Some(Weight::Float(_)) = weight {
                self.part.weights.promote(Kind::F64);
            }
        }
    }

    /// Counts the vertices, up to the largest.
    pub(super) fn count_vertices(&mut self) {
        let ends = self.part.src.iter().chain(&self.part.dst);
        let largest = ends.fold(0, |largest, &v| largest.max(v));
        self.vertices = if self.part.src.is_empty() { 0 } else { u64::from(largest) + 1 };
    }

    /// Makes room for `factor` times as many edges as `part` holds, so that the arrays need not move while they grow. Room
    /// that is not used in the end takes no memory.
    pub(super) fn reserve(&mut self, part: &Edges, factor: f64) {
        let edges = (part.part.src.len() as f64 * factor) as usize;
        let all = &mut self.part;
        all.weights.promote(part.part.weights.kind());
        let weights = each_numbers!(&mut all.weights, None => Ok(()), all => all.try_reserve(edges));
        // Where there is no such room (a file full of holes is long for nothing), the arrays grow as they must.
        let _ = weights.and(all.src.try_reserve(edges)).and(all.dst.try_reserve(edges));
    }

    /// Adds the edges of the next block and leaves it empty.
    pub(super) fn append(&mut self, part: &mut Edges) -> Result<(), Error> {
        if !part.names.is_empty() {
            let ids: Option<Vec<u32>> =
                (0..part.names.len() as u32).map(|v| self.names.intern(part.names.at(v))).collect();
            let ids = ids.ok_or(Error::TooLarge { what: "vertices", count: 1 << 32 })?;
            for v in part.part.src.iter_mut().chain(&mut part.part.dst) {
                *v = ids[*v as usize];
            }
            part.vertices = self.names.len() as u64;
            part.names = Names::default();
        }
        self.part.append(&mut part.part);
        self.ids.append(&mut part.ids);
        self.vertices = self.vertices.max(std::mem::take(&mut part.vertices));
        self.entries += std::mem::take(&mut part.entries);
        self.balance.join(std::mem::take(&mut part.balance));
        self.spot = part.spot;
        if self.part.len() > u32::MAX as usize {
            return Err(Error::TooLarge { what: "edges", count: self.part.len() as u64 });
        }
        Ok(())
    }

    /// Keeps the arcs with u <= v.
    fn keep_upper(&mut self) {
        let all = &mut self.part;
        let upper: Vec<bool> = all.src.iter().zip(&all.dst).map(|(u, v)| u <= v).collect();
        retain(&mut all.src, &upper);
        retain(&mut all.dst, &upper);
        each_numbers!(&mut all.weights, None => {}, w => retain(w, &upper));
    }

    /// The graph of these edges, with `vertices` vertices or as many as there are names.
    pub(super) fn into_graph(self, vertices: u64, source: &Source) -> Result<Graph<'static>> {
        if vertices > u32::MAX.into() {
            return Err(Error::TooLarge { what: "vertices", count: vertices });
        }
        let Part { mut src, mut dst, weights, .. } = self.part;
        src.shrink_to_fit();
        dst.shrink_to_fit();
        let graph = Graph::from_edges(vertices as usize, src, dst, weights.into_weights());
        graph.map(|graph| if self.names.is_empty() { graph } else { graph.with_names(self.names) }).map_err(|e| match e
        {
            Error::Vertex { .. } | Error::Nan { .. } | Error::Lengths { .. } => source.error(e.to_string()),
            other => other,
        })
    }

    /// A list of edges, and its number of vertices: what a line of it says, or else one more than the largest id.
    pub(super) fn listed(self, said: Option<u64>, source: &Source) -> Result<(Edges, u64)> {
        match said.filter(|&said| self.names.is_empty() && said >= self.vertices) {
            Some(said) => {
                check_said(said, self.entries, &source.name())?;
                Ok((self, said))
            }
            None => self.shown(source, SPARSE),
        }
    }

    /// A list of edges, and how many vertices its ids show: one more than the largest, or as many as there are names. Too many for
    /// so few edges are refused, with the way out.
    pub(super) fn shown(self, source: &Source, way_out: &str) -> Result<(Edges, u64)> {
        let vertices = if self.names.is_empty() { self.vertices } else { self.names.len() as u64 };
        if is_waste(vertices, self.entries, MOST_SHOWN) {
            let what = format!("{vertices} vertices for {} edges would waste memory; {way_out}", self.entries);
            return Err(source.error(what));
        }
        Ok((self, vertices))
    }
}

fn retain<T: Copy>(items: &mut Vec<T>, wanted: &[bool]) {
    let mut wanted = wanted.iter();
    items.retain(|_| wanted.next().copied().unwrap_or(false));
}

fn is_waste(vertices: u64, entries: u64, free: u64) -> bool {
    vertices > free && vertices / VERTICES_PER_EDGE > entries
}

/// Whether the ids of so many edges are not believed alone, so that a file must say how many vertices there are.
pub(super) fn must_say(vertices: u64, entries: u64) -> bool {
    is_waste(vertices, entries, MOST_SHOWN)
}

/// Refuses a number of vertices in a header that people write, too, where it is more likely a slip than a graph.
pub(super) fn check_said(vertices: u64, entries: u64, file: &str) -> Result<()> {
    if is_waste(vertices, entries, MOST_SAID) {
        let what = format!(
            "{vertices} vertices for {entries} edges would waste memory; correct the number of vertices, or number only those \
             that have edges (a .kostra file may have so many)"
        );
        return Err(Error::File { file: file.into(), what });
    }
    Ok(())
}

/// Refuses a number of vertices that a program wrote only where there is no memory for them: reading takes none, but what follows
/// would.
pub(super) fn check_meant(vertices: u64, entries: u64, file: &str) -> Result<()> {
    if vertices > u32::MAX.into() {
        let what = Error::TooLarge { what: "vertices", count: vertices }.to_string();
        return Err(Error::File { file: file.into(), what });
    }
    let bytes = BYTES_PER_VERTEX * vertices;
    if is_waste(vertices, entries, MOST_SAID) && check_room(bytes).is_err() {
        let what = format!(
            "{vertices} vertices for {entries} edges need {} GiB of memory, which cannot be had here; read it on a larger machine",
            bytes >> 30
        );
        return Err(Error::File { file: file.into(), what });
    }
    Ok(())
}

/// Refuses to write what [`check_said`] would refuse to read.
pub(super) fn check_written(graph: &Graph, path: &Path, format: Format) -> Result<()> {
    let says = match format {
        Format::Dimacs | Format::DimacsEdge | Format::SteinLib | Format::MatrixMarket | Format::Pbbs => true,
        Format::EdgeList | Format::Csv | Format::Tsv => graph.names().is_none(),
        Format::Metis | Format::Egr | Format::Galois | Format::Parquet | Format::Kostra => false,
    };
    let (n, m) = (graph.vertices(), graph.edges());
    if says && is_waste(n as u64, m as u64, MOST_SAID) {
        return Err(Error::CannotHold {
            file: path.display().to_string(),
            format: format.name(),
            what: format!("{n} vertices for {m} edges, which would be taken for a mistake when it is read"),
            instead: "kostra",
        });
    }
    Ok(())
}

/// A file as blocks of edges, which all threads read.
pub(super) trait Blocks: Sync {
    /// What a thread has of a block, and keeps for the next.
    type Block: Default;

    /// Takes the block of that number, when all before it were taken and while no other thread takes one; `false` where there is
    /// none.
    fn next(&self, source: &mut Source, number: u64, block: &mut Self::Block) -> Result<bool>;

    /// Adds the block's edges, without what the filter leaves out, and says where the block ends; while other threads read theirs.
    /// It waits for none of them: a thread that waits may be given more work, and take a block whose turn comes after this one's.
    fn read(&self, block: &mut Self::Block, part: &mut Edges, filter: Option<&Filter>) -> Result<Then, Wrong>;

    /// The share of the file that the block is, where it can be told.
    fn share(&self, _source: &Source, _block: &Self::Block) -> Option<f64> {
        None
    }
}

/// What is wrong with a block.
pub(super) enum Wrong {
    /// A line, counted from 0.
    Line(u64, String),
    Other(Error),
}

impl From<Error> for Wrong {
    fn from(error: Error) -> Self {
        Self::Other(error)
    }
}

/// The blocks of a text format.
struct Text<'a, L, const D: u8>(&'a L);

#[derive(Default)]
struct TextBlock {
    bytes: Vec<u8>,
    place: Option<Place>,
}

impl<L: Lines<D>, const D: u8> Blocks for Text<'_, L, D> {
    type Block = TextBlock;

    fn next(&self, source: &mut Source, _number: u64, block: &mut TextBlock) -> Result<bool> {
        block.place = source.next_block(&mut block.bytes, L::LONGEST_LINE)?;
        Ok(block.place.is_some())
    }

    fn read(&self, block: &mut TextBlock, part: &mut Edges, filter: Option<&Filter>) -> Result<Then, Wrong> {
        let Some(place) = block.place.take() else { return Ok(Then::End) };
        (part.row, part.spot) = (place.row, place.end);
        let parsed = parse_block(&block.bytes[..place.len], self.0, part);
        part.count_vertices();
        // Names have their numbers only once blocks are joined.
        if let Some(filter) = filter.filter(|_| part.names.is_empty()) {
            part.part.sieve(filter);
        }
        parsed.map_err(|(line, what)| Wrong::Line(place.line + line, what))
    }

    fn share(&self, source: &Source, block: &TextBlock) -> Option<f64> {
        source.plain_size().map(|size| block.bytes.len() as f64 / size as f64)
    }
}

/// Parses the rest of the source.
pub(super) fn parse<L: Lines<D>, const D: u8>(source: &mut Source, lines: &L, taker: &mut dyn Taker) -> Result<Edges> {
    let resume = taker.resume();
    parse_keeping(source, lines, Keep::All, resume, taker)
}

/// Parses the rest of an arc format: one edge per pair of arcs if they are symmetric, else an edge per arc.
///
/// Only the arcs with u <= v are kept at first, with a commutative hash over all. When it says that the arcs are not
/// symmetric, the file is read again; from a pipe, which cannot be, everything is kept at once.
pub(super) fn parse_arcs<L: Lines>(source: &mut Source, lines: &L, taker: &mut dyn Taker) -> Result<Edges> {
    let (resume, again) = (taker.resume(), source.reopened());
    match (resume, again) {
        (Some(Resume { keep: Keep::All, .. }), _) => parse_keeping(source, lines, Keep::All, resume, taker),
        (_, Some(again)) => {
            let mut again = again?;
            let edges = parse_keeping(source, lines, Keep::Upper, resume, taker)?;
            if edges.balance.is_symmetric() {
                return Ok(edges);
            }
            taker.again(edges)?;
            parse_keeping(&mut again, lines, Keep::All, None, taker)
        }
        (_, None) => {
            let mut edges = parse_keeping(source, lines, Keep::Either, resume, taker)?;
            let symmetric = edges.balance.is_symmetric();
            taker.settle(&mut edges, symmetric)?;
            Ok(edges)
        }
    }
}

/// What the threads share while they read.
struct Joined<'a> {
    edges: Edges,
    taker: &'a mut dyn Taker,
    /// The block whose turn it is to be joined.
    turn: u64,
    /// Set by an error, by [`Then::End`], and by a thread that panics.
    over: bool,
    outcome: Result<()>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn parse_keeping<L: Lines<D>, const D: u8>(
    source: &mut Source,
    lines: &L,
    keep: Keep,
    resume: Option<Resume>,
    taker: &mut dyn Taker,
) -> Result<Edges> {
    let mut edges = taker.begin(keep)?;
    if let Some(Resume { spot, entries, balance, .. }) = resume {
        source.advance(spot)?;
        (edges.spot, edges.entries, edges.balance) = (spot, entries, balance);
    }
    join(source, &Text::<L, D>(lines), edges, taker)
}

/// Reads all blocks on all threads and joins them behind these edges.
pub(super) fn join<B: Blocks>(source: &mut Source, blocks: &B, edges: Edges, taker: &mut dyn Taker) -> Result<Edges> {
    let (keep, first_filter) = (edges.keep, taker.filter());
    let source = Mutex::new((source, 0u64));
    let joined = Mutex::new(Joined { edges, taker, turn: 0, over: false, outcome: Ok(()) });
    let next_turn = Condvar::new();

    /// Lets the others go when a thread panics between taking a block and joining it.
    struct Guard<'a, 'b>(&'a Mutex<Joined<'b>>, &'a Condvar);
    impl Drop for Guard<'_, '_> {
        fn drop(&mut self) {
            if std::thread::panicking() {
                lock(self.0).over = true;
                self.1.notify_all();
            }
        }
    }

    let work = || {
        let _guard = Guard(&joined, &next_turn);
        let (mut block, mut part, mut filter) = (B::Block::default(), Edges::new(keep), first_filter.clone());
        loop {
            let (number, taken, share) = {
                let mut source = lock(&source);
                let number = source.1;
                let taken = blocks.next(source.0, number, &mut block);
                source.1 += 1;
                (number, taken, blocks.share(source.0, &block))
            };
            let read = match taken {
                Ok(false) => return,
                Ok(true) => blocks.read(&mut block, &mut part, filter.as_deref()),
                Err(error) => Err(Wrong::Other(error)),
            };
            // Blocks before this one are in the hands of threads that are at work, so its turn will come.
            let mut joined = lock(&joined);
            while joined.turn != number && !joined.over {
                joined = next_turn.wait(joined).unwrap_or_else(PoisonError::into_inner);
            }
            if joined.over {
                return;
            }
            let Joined { edges, taker, .. } = &mut *joined;
            if let (0, Some(share), true) = (number, share, taker.keeps_all()) {
                edges.reserve(&part, 1.0 / share);
            }
            let appended = match read {
                Ok(then) => edges.append(&mut part).and_then(|()| taker.take(edges)).map(|()| then),
                Err(Wrong::Line(line, what)) => Err(lock(&source).0.error_at(line, what)),
                Err(Wrong::Other(error)) => Err(error),
            };
            filter = taker.filter();
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
