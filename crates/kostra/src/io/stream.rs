//! Files of any size into one forest: they are read in order, in parts, and never held or mapped as a whole.
//!
//! An arc format is one edge per pair of arcs if its arcs are symmetric, which is known only at the end of the file. So the
//! forest before the file is kept; the arcs with u <= v are merged as they come; and if they were not symmetric after all, the
//! file is read again from that forest, every arc an edge. What cannot be read again is merged both ways at once, and the end
//! settles which one counts.

use std::borrow::Cow;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use super::checkpoint::{self, Mark, Saved};
use super::edges::{Edges, Keep, Resume, Taker};
use super::source::{Spot, name};
use super::{Format, ReadOptions, binary, egr, galois, open, read_entries};
use crate::error::{Error, Result};
use crate::names::Names;
use crate::run::Run;
use crate::stream::{Filter, Part, Stream, StreamForest};
use crate::watch::Watch;

/// Saving a checkpoint may take this share of the time.
const SHARE_OF_TIME: u32 = 10;

/// How to solve files of any size.
#[derive(Clone, Debug, Default)]
pub struct StreamOptions {
    /// How to read them.
    pub read: ReadOptions,
    /// A limit of memory, in bytes; see [`Stream::memory`].
    pub memory: Option<u64>,
    /// A file to which the work so far is saved now and then. If it exists, the work goes on from there.
    pub checkpoint: Option<PathBuf>,
}

/// The forest of the edges in all of these files, one file after the other.
///
/// A path is a file, `-` for standard input, or a directory, which stands for the files in it (and in the directories in it) in
/// byte order of their names, without those whose names begin with a dot or an underscore. Ids count on from file to file.
///
/// ```
/// # let folder = tempfile::tempdir().expect("a folder");
/// # let path = |name| folder.path().join(name);
/// kostra::write(&kostra::generate("grid:rows=30,cols=40")?, path("a.gr.gz"))?;
/// kostra::write(&kostra::generate("er:n=1200,degree=9")?, path("b.wel"))?;
/// let options = kostra::io::StreamOptions { memory: Some(64 << 20), ..Default::default() };
/// let forest = kostra::io::solve_files(&[path("a.gr.gz"), path("b.wel")], &kostra::Run::default(), &options)?;
/// assert_eq!((forest.len(), forest.trees()), (1199, 1));
/// # Ok::<(), kostra::Error>(())
/// ```
pub fn solve_files(paths: &[impl AsRef<Path>], run: &Run, options: &StreamOptions) -> Result<StreamForest> {
    let inputs = Inputs::new(paths)?;
    match solve_once(&inputs, run, options, false) {
        // Those left out were compared as integers, but all are floats: so they are from the first edge on, and what was saved
        // of the work is of no use.
        Err(Error::LateFloats { .. }) if inputs.can_be_read_again() => {
            if let Some(path) = options.checkpoint.as_deref().filter(|path| path.is_file()) {
                fs::remove_file(path).map_err(|source| Error::Io { file: path.display().to_string(), source })?;
            }
            solve_once(&inputs, run, options, true)
        }
        outcome => outcome,
    }
}

fn solve_once(inputs: &Inputs, run: &Run, options: &StreamOptions, floats: bool) -> Result<StreamForest> {
    let mut stream = Stream::new(run);
    if let Some(bytes) = options.memory {
        stream = stream.memory(bytes);
    }
    if floats {
        stream = stream.with_floats();
    }
    let job = inputs.describe(run, &options.read);
    let mut feed = Feed::new(stream, options.checkpoint.clone(), job);
    let first = feed.load()?;
    for (number, file) in inputs.files.iter().enumerate().skip(first) {
        feed.file = number;
        let (edges, vertices) = inputs.read(file, &options.read, &mut feed)?;
        feed.end(edges, vertices)?;
    }
    let Feed { stream, names, .. } = feed;
    Ok(stream.finish()?.with_names(names))
}

/// The files of a stream.
pub(super) struct Inputs {
    pub(super) files: Vec<InputFile>,
    size: u64,
}

pub(super) struct InputFile {
    pub(super) path: PathBuf,
    size: u64,
    /// The size of all files before it.
    before: u64,
    /// When it was changed, where it can be read again.
    changed: Option<SystemTime>,
}

impl Inputs {
    pub(super) fn new(paths: &[impl AsRef<Path>]) -> Result<Self> {
        let mut all = Vec::new();
        for path in paths {
            list(path.as_ref(), &mut all)?;
        }
        if all.iter().filter(|path| path.as_os_str() == "-").count() > 1 {
            return Err(Error::File { file: "standard input".into(), what: "can be read once only".into() });
        }
        let mut before = 0;
        let mut files = Vec::new();
        for path in all {
            let metadata = fs::metadata(&path).ok().filter(|metadata| metadata.is_file());
            let size = metadata.as_ref().map_or(0, |metadata| metadata.len());
            let changed = metadata.map(|metadata| metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH));
            files.push(InputFile { path, size, before, changed });
            before += size;
        }
        Ok(Self { files, size: before })
    }

    pub(super) fn can_be_read_again(&self) -> bool {
        self.files.iter().all(|file| file.changed.is_some())
    }

    /// The files and options as text, for a checkpoint to belong to.
    fn describe(&self, run: &Run, options: &ReadOptions) -> String {
        let ReadOptions { ids, format, columns, .. } = options;
        let mut text = format!("maximum={} ids={ids:?} format={format:?} columns={columns:?}", run.is_maximum());
        for file in &self.files {
            let since = file.changed.and_then(|changed| changed.duration_since(SystemTime::UNIX_EPOCH).ok());
            let nanoseconds = since.unwrap_or_default().as_nanos();
            text += &format!("\n{} bytes of {nanoseconds} in {}", file.size, name(&file.path));
        }
        text
    }

    /// Reads a file to the taker; gives what it leaves, and the number of vertices.
    pub(super) fn read(&self, file: &InputFile, options: &ReadOptions, taker: &mut dyn Taker) -> Result<(Edges, u64)> {
        let watch = self.watch_of(file, &options.watch);
        let options = ReadOptions { watch, ..options.clone() };
        let (mut source, format) = open(&file.path, &options)?;
        match format {
            Format::Kostra => binary::pass(&mut source, taker),
            Format::Egr => egr::pass(&mut source, taker),
            Format::Galois => galois::pass(&mut source, taker),
            text => read_entries(&mut source, text, &options, taker),
        }
    }

    /// A watch that sees the bytes of this file as part of all.
    fn watch_of(&self, file: &InputFile, watch: &Watch) -> Watch {
        let all = if self.can_be_read_again() { self.size } else { 0 };
        watch.streaming(file.before, all)
    }
}

/// Adds a file, or the files in a directory in byte order of their names.
fn list(path: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    if !path.is_dir() {
        files.push(path.into());
        return Ok(());
    }
    let fail = |source| Error::Io { file: path.display().to_string(), source };
    let mut entries = Vec::new();
    for entry in fs::read_dir(path).map_err(fail)? {
        let entry = entry.map_err(fail)?.file_name();
        if !entry.as_encoded_bytes().starts_with(b".") && !entry.as_encoded_bytes().starts_with(b"_") {
            entries.push(entry);
        }
    }
    if entries.is_empty() {
        return Err(Error::File { file: path.display().to_string(), what: "is a directory without files".into() });
    }
    entries.sort_by(|one, other| one.as_encoded_bytes().cmp(other.as_encoded_bytes()));
    entries.iter().try_for_each(|entry| list(&path.join(entry), files))
}

/// Feeds edges to a stream as they are read, and saves checkpoints.
struct Feed {
    stream: Stream,
    names: Names,
    /// The number of the file that is read.
    file: usize,
    /// In an arc format, the forest before the file.
    before: Option<Stream>,
    /// In an arc format that cannot be read again, the forest of what came before and the arcs with u <= v.
    upper: Option<Stream>,
    /// Arcs of the part that `upper` has seen.
    seen: usize,
    resume: Option<Resume>,
    /// Up to where edges were given to the stream's merges.
    mark: Mark,
    checkpoint: Option<PathBuf>,
    job: String,
    saved: Instant,
    saving: Duration,
}

impl Feed {
    fn new(stream: Stream, checkpoint: Option<PathBuf>, job: String) -> Self {
        Self {
            stream,
            names: Names::default(),
            file: 0,
            before: None,
            upper: None,
            seen: 0,
            resume: None,
            mark: Mark::default(),
            checkpoint,
            job,
            saved: Instant::now(),
            saving: Duration::ZERO,
        }
    }

    /// Takes up the work of a checkpoint, if there is one; gives the number of the file to go on with.
    fn load(&mut self) -> Result<usize> {
        let Some(path) = self.checkpoint.as_deref().filter(|path| path.is_file()) else { return Ok(0) };
        let saved = checkpoint::load(path, &self.job)?;
        self.stream.restore(saved.stream);
        let mut other = |state| -> Result<Stream> {
            let mut stream = self.stream.fork()?;
            stream.restore(state);
            Ok(stream)
        };
        self.before = saved.before.map(&mut other).transpose()?;
        self.upper = saved.upper.map(&mut other).transpose()?;
        (self.names, self.mark) = (saved.names.into_owned(), saved.mark);
        if self.mark.resume.entries > 0 {
            self.resume = Some(self.mark.resume);
        }
        Ok(self.mark.file)
    }

    /// Saves the work up to the mark, unless the last time was not long ago.
    fn save_if_due(&mut self, names: &Names) -> Result<()> {
        let Some(path) = &self.checkpoint else { return Ok(()) };
        if self.mark == Mark::default() || self.saved.elapsed() < self.saving * SHARE_OF_TIME {
            return Ok(());
        }
        if let Some(upper) = &mut self.upper {
            upper.wait()?;
        }
        let start = Instant::now();
        let stream = self.stream.state();
        let [before, upper] = [&self.before, &self.upper].map(|stream| stream.as_ref().map(Stream::state));
        checkpoint::save(
            path,
            &self.job,
            &Saved { stream, before, upper, names: Cow::Borrowed(names), mark: self.mark },
        )?;
        (self.saved, self.saving) = (Instant::now(), start.elapsed());
        Ok(())
    }

    /// A file is at its end: what is left of it waits for more.
    fn end(&mut self, edges: Edges, vertices: u64) -> Result<()> {
        self.stream.vertices(vertices.max(edges.vertices))?;
        self.names = edges.names;
        self.stream.give_back(edges.part);
        if self.before.take().is_some() {
            // The file is settled: nothing will ask for the forest before it again.
            self.stream.flush()?;
            self.mark = Mark { file: self.file + 1, ..Mark::default() };
        }
        Ok(())
    }

    /// A copy of the stream as it is before the file.
    fn fork(&mut self) -> Result<Stream> {
        self.mark = Mark { file: self.file, ..Mark::default() };
        self.stream.fork()
    }

    /// Gives the arcs with u <= v that came since the last time to the other stream.
    fn split(&mut self, edges: &Edges) -> Result<()> {
        let Some(upper) = &mut self.upper else { return Ok(()) };
        let Part { src, dst, weights, .. } = edges.part.upper(self.seen);
        self.seen = edges.part.src.len();
        upper.add(&src, &dst, &weights.weights())
    }
}

impl Taker for Feed {
    fn resume(&mut self) -> Option<Resume> {
        self.resume.take()
    }

    fn begin(&mut self, keep: Keep) -> Result<Edges> {
        match keep {
            Keep::Upper if self.before.is_none() => self.before = Some(self.fork()?),
            Keep::Either if self.upper.is_none() => self.upper = Some(self.fork()?),
            Keep::All | Keep::Upper | Keep::Either => {}
        }
        for stream in std::iter::once(&mut self.stream).chain(&mut self.upper) {
            stream.share_memory(if keep == Keep::Either { 2 } else { 1 });
        }
        let mut edges = Edges::new(keep);
        edges.part = self.stream.take_part();
        edges.names = std::mem::take(&mut self.names);
        self.seen = edges.part.src.len();
        Ok(edges)
    }

    fn take(&mut self, edges: &mut Edges) -> Result<()> {
        self.split(edges)?;
        self.stream.vertices(edges.vertices)?;
        let held = edges.names.bytes() + self.before.as_ref().map_or(0, Stream::bytes);
        if self.stream.is_full(&edges.part, held)? {
            self.stream.wait()?;
            self.save_if_due(&edges.names)?;
            self.stream.start(&mut edges.part, held)?;
            if let Some(upper) = &mut self.upper {
                upper.wait()?;
                upper.start_waiting()?;
            }
            self.seen = edges.part.src.len();
            let Edges { spot, entries, balance, keep, .. } = *edges;
            self.mark = Mark { file: self.file, resume: Resume { spot, entries, balance, keep } };
        }
        Ok(())
    }

    fn filter(&self) -> Option<Arc<Filter>> {
        // What one stream does not need, the other may.
        if self.upper.is_some() { None } else { self.stream.filter() }
    }

    fn again(&mut self, edges: Edges) -> Result<()> {
        if let Some(before) = self.before.take() {
            self.stream.wait()?;
            self.stream = before;
        }
        self.mark = Mark { file: self.file, ..Mark::default() };
        self.names = edges.names;
        Ok(())
    }

    fn settle(&mut self, edges: &mut Edges, symmetric: bool) -> Result<()> {
        if let (Some(upper), true) = (self.upper.take(), symmetric) {
            self.stream.wait()?;
            self.stream = upper;
            edges.part = self.stream.take_part();
        }
        Ok(())
    }
}

impl Default for Mark {
    fn default() -> Self {
        let resume = Resume { spot: Spot::default(), entries: 0, balance: Default::default(), keep: Keep::All };
        Self { file: 0, resume }
    }
}
