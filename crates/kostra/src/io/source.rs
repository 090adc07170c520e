//! Where bytes come from: a file or standard input, decompressed on the way, by lines, by blocks of lines, or whole.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use memmap2::Mmap;
use xxhash_rust::xxh3::Xxh3Default;

use super::compression::{Compression, Junk};
use super::scan::PADDING;
use super::strand::Strand;
use crate::error::{Error, Result};
use crate::watch::Watch;

/// Bytes of text that one thread parses at a time: long enough to hide the hand-over, short enough to stay in cache.
const BLOCK: usize = 1 << 20;

/// Bytes that are looked at to find out the format.
const HEAD: usize = 1 << 16;

/// What some programs write before text.
pub(super) const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// An open input.
pub(super) struct Source {
    path: PathBuf,
    file: Option<File>,
    size: Option<u64>,
    compression: Option<Compression>,
    reader: Box<dyn Read + Send>,
    /// Bytes of the file that were read so far, compressed as they are.
    position: Arc<AtomicU64>,
    /// Read but not yet taken: `pending[taken..]`.
    pending: Vec<u8>,
    taken: usize,
    ended: bool,
    /// Bytes, lines, and lines that are no comments (in formats where those begin with `%`, blanks aside), taken so far.
    offset: u64,
    lines: u64,
    rows: u64,
    /// Of all bytes taken so far, where they cannot be told by the time at which a plain file was changed.
    hash: Option<Box<Xxh3Default>>,
    watch: Watch,
}

/// Where a block of lines stands in its file.
pub(super) struct Place {
    /// Its length, padding included.
    pub(super) len: usize,
    /// The number of the block's first line, counted from 0.
    pub(super) line: u64,
    /// How many lines before it do not begin with `%`.
    pub(super) row: u64,
    /// Where it ends.
    pub(super) end: Spot,
}

/// A place between two lines of a file: the bytes, the lines, and the lines that do not begin with `%` before it. Formats that
/// are no text count what they like in its place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Spot {
    pub(super) offset: u64,
    pub(super) lines: u64,
    pub(super) rows: u64,
    /// XXH3-64 of the bytes before it, or of the whole file where a format has that; 0 where neither is known.
    pub(super) hash: u64,
}

impl Source {
    /// Opens a file, or standard input for `-`.
    pub(super) fn open(path: &Path, watch: &Watch) -> Result<Self> {
        let fail = |source| Error::Io { file: name(path), source };
        let position = Arc::new(AtomicU64::new(0));
        let counted = |read: Box<dyn Read + Send>| Counted { read, position: Arc::clone(&position) };
        let (file, size, mut raw) = if path == Path::new("-") {
            (None, None, counted(Box::new(io::stdin())))
        } else {
            let file = File::open(path).map_err(fail)?;
            let metadata = file.metadata().map_err(fail)?;
            if metadata.is_dir() {
                return Err(Error::File { file: name(path), what: "is a directory; name a file in it".into() });
            }
            let size = metadata.is_file().then_some(metadata.len());
            let reader = file.try_clone().map_err(fail)?;
            (size.map(|_| file), size, counted(Box::new(reader)))
        };
        let mut magic = Vec::new();
        raw.by_ref().take(Compression::MAGIC as u64).read_to_end(&mut magic).map_err(fail)?;
        let compression = Compression::of_content(&magic);
        let whole = io::Cursor::new(magic).chain(raw);
        let reader = match compression {
            Some(compression) => compression.reader(Box::new(whole)).map_err(fail)?,
            None => Box::new(whole),
        };
        let is_plain = file.is_some() && compression.is_none();
        Ok(Self {
            hash: (!is_plain).then(Box::default),
            path: path.into(),
            file,
            size,
            compression,
            reader,
            position,
            pending: Vec::new(),
            taken: 0,
            ended: false,
            offset: 0,
            lines: 0,
            rows: 0,
            watch: watch.clone(),
        })
    }

    /// The same input once more, from the same place; `None` for standard input and pipes.
    pub(super) fn reopened(&self) -> Option<Result<Self>> {
        self.file.as_ref()?;
        let spot = self.spot();
        Some(Self::open(&self.path, &self.watch).and_then(|mut again| again.advance(spot).map(|()| again)))
    }

    /// The place up to which all was taken.
    fn spot(&self) -> Spot {
        let hash = self.hash.as_ref().map_or(0, |hash| hash.digest());
        Spot { offset: self.offset, lines: self.lines, rows: self.rows, hash }
    }

    /// Goes on to a place that is not before this one: at once in a plain file, else by reading up to it, which must be what was there
    /// before.
    pub(super) fn advance(&mut self, spot: Spot) -> Result<()> {
        if let (Some(file), None) = (&self.file, self.compression) {
            let fail = |source| Error::Io { file: name(&self.path), source };
            let mut raw = file.try_clone().map_err(fail)?;
            raw.seek(SeekFrom::Start(spot.offset)).map_err(fail)?;
            // Relaxed: a number to show, nothing depends on it.
            self.position.store(spot.offset, Ordering::Relaxed);
            self.reader = Box::new(Counted { read: Box::new(raw), position: Arc::clone(&self.position) });
            (self.taken, self.ended, self.offset) = (0, false, spot.offset);
            self.pending.clear();
        }
        while self.offset < spot.offset {
            let wanted = (spot.offset - self.offset).min(BLOCK as u64) as usize;
            let step = self.peek(wanted)?.len().min(wanted);
            if step == 0 {
                return Err(self.error("is shorter than it was when it was read before"));
            }
            self.take(step);
        }
        if spot.hash != 0 && self.spot().hash != spot.hash {
            return Err(self.is_other());
        }
        (self.lines, self.rows) = (spot.lines, spot.rows);
        Ok(())
    }

    /// The error of an input that is another than the one a checkpoint is of.
    pub(super) fn is_other(&self) -> Error {
        self.error("is not what was read before; give the same again, or remove the checkpoint to start anew")
    }

    /// The same input from that byte on, whatever was taken here: for formats that are read at several places at once.
    pub(super) fn at(&self, offset: u64) -> Result<Self> {
        if self.file.is_none() {
            let what = "this format is read at several places at once, which a pipe does not allow; give it as a file";
            return Err(self.error(what));
        }
        let mut there = Self::open(&self.path, &self.watch)?;
        there.advance(Spot { offset, ..Spot::default() })?;
        Ok(there)
    }

    /// The number of bytes once they are decompressed, which must be done to know it.
    pub(super) fn length(&self) -> Result<u64> {
        if let Some(size) = self.plain_size() {
            return Ok(size);
        }
        let mut all = self.at(0)?;
        loop {
            let step = all.peek(BLOCK)?.len();
            if step == 0 {
                return Ok(all.offset);
            }
            all.take(step);
        }
    }

    /// The file and its size, if it is a regular one that is not compressed.
    #[cfg(feature = "parquet")]
    pub(super) fn plain_file(&self) -> Result<Option<(File, u64)>> {
        let (Some(file), Some(size)) = (&self.file, self.plain_size()) else { return Ok(None) };
        let again = file.try_clone().map_err(|source| Error::Io { file: self.name(), source })?;
        Ok(Some((again, size)))
    }

    /// The same input from that byte on, to be read in blocks.
    pub(super) fn strand(&self, offset: u64) -> Result<Strand> {
        let is_plain = self.file.is_some() && self.compression.is_none();
        Ok(if is_plain {
            Strand::Plain { path: self.path.clone(), first: offset }
        } else {
            Strand::Other(Mutex::new(self.at(offset)?))
        })
    }

    /// The size of the file as it lies there, compressed or not; 0 where it is not known.
    #[cfg(feature = "parquet")]
    pub(super) fn size(&self) -> u64 {
        self.size.unwrap_or(0)
    }

    /// Reads the next bytes; an error where there are fewer.
    pub(super) fn read_exact(&mut self, buffer: &mut [u8]) -> Result<()> {
        let waiting = (self.pending.len() - self.taken).min(buffer.len());
        buffer[..waiting].copy_from_slice(&self.pending[self.taken..self.taken + waiting]);
        self.take(waiting);
        let filled = self.read_into(buffer, waiting)?;
        if let Some(hash) = &mut self.hash {
            hash.update(&buffer[waiting..filled]);
        }
        self.offset += (filled - waiting) as u64;
        if filled < buffer.len() { Err(cut_short(&self.path, self.offset)) } else { Ok(()) }
    }

    /// Reports that so many of its items were read.
    pub(super) fn report(&self, done: u64, items: u64) -> Result<()> {
        let size = self.size.unwrap_or(0);
        let bytes = u128::from(size) * u128::from(done) / u128::from(items.max(1));
        self.watch.step("read", bytes as u64, size)
    }

    /// The file's name, for messages.
    pub(super) fn name(&self) -> String {
        name(&self.path)
    }

    /// The file's path as it was given.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The number of bytes of an uncompressed regular file.
    pub(super) fn plain_size(&self) -> Option<u64> {
        self.size.filter(|_| self.compression.is_none())
    }

    /// An error about the file as a whole.
    pub(super) fn error(&self, what: impl Into<String>) -> Error {
        Error::File { file: self.name(), what: what.into() }
    }

    /// An error about the line that was taken last.
    pub(super) fn line_error(&self, what: impl Into<String>) -> Error {
        Error::Line { file: self.name(), line: self.lines.max(1), what: what.into() }
    }

    /// An error about a line, counted from 0.
    pub(super) fn error_at(&self, line: u64, what: String) -> Error {
        Error::Line { file: self.name(), line: line + 1, what }
    }

    /// How many lines that do not begin with `%` were taken so far.
    pub(super) fn rows_taken(&self) -> u64 {
        self.rows
    }

    /// How many lines were taken so far.
    pub(super) fn lines_taken(&self) -> u64 {
        self.lines
    }

    /// Who watches.
    pub(super) fn watch(&self) -> &Watch {
        &self.watch
    }

    fn take(&mut self, bytes: usize) {
        if let Some(hash) = &mut self.hash {
            hash.update(&self.pending[self.taken..self.taken + bytes]);
        }
        self.taken += bytes;
        self.offset += bytes as u64;
    }

    /// Reads until `wanted` bytes are pending, or all that there are.
    fn fill(&mut self, wanted: usize) -> Result<()> {
        if self.taken > 0 {
            self.pending.drain(..self.taken);
            self.taken = 0;
        }
        let filled = self.pending.len();
        let mut pending = std::mem::take(&mut self.pending);
        grow(&mut pending, wanted);
        let outcome = self.read_into(&mut pending, filled);
        pending.truncate(*outcome.as_ref().unwrap_or(&filled));
        self.pending = pending;
        outcome.map(|_| ())
    }

    fn read_error(&self, source: io::Error) -> Error {
        match self.compression {
            // The system's own errors have a number; everything else is the decompressor's.
            Some(compression) if source.raw_os_error().is_none() => {
                let name = compression.name();
                if source.get_ref().is_some_and(|error| error.is::<Junk>()) {
                    return self.error(format!("something else follows the end of the {name} data; cut it off"));
                }
                let what = match source.kind() {
                    io::ErrorKind::UnexpectedEof => "cut short".into(),
                    _ => format!("damaged ({source})"),
                };
                self.error(format!("the {name} data is {what}; get the file again"))
            }
            _ => Error::Io { file: self.name(), source },
        }
    }

    /// The next bytes, at least `wanted` unless the input ends before; they are not taken.
    fn peek(&mut self, wanted: usize) -> Result<&[u8]> {
        if self.pending.len() - self.taken < wanted {
            self.fill(wanted)?;
        }
        Ok(&self.pending[self.taken..])
    }

    /// The beginning of the file, to tell its format by.
    pub(super) fn head(&mut self) -> Result<&[u8]> {
        self.peek(HEAD)
    }

    /// Takes the byte-order mark that some programs write before text.
    pub(super) fn take_mark(&mut self) -> Result<()> {
        if self.peek(BYTE_ORDER_MARK.len())?.starts_with(BYTE_ORDER_MARK) {
            self.take(BYTE_ORDER_MARK.len());
        }
        Ok(())
    }

    /// The next line without its end; it is not taken. `None` at the end of the input.
    pub(super) fn peek_line(&mut self) -> Result<Option<&[u8]>> {
        let mut wanted = HEAD;
        let len = loop {
            let bytes = self.peek(wanted)?;
            match memchr::memchr(b'\n', bytes) {
                Some(end) => break end,
                None if bytes.len() < wanted => break bytes.len(),
                None if wanted > BLOCK => {
                    self.lines += 1;
                    return Err(self.line_error("the line is longer than 1 MiB; this is not a text format of graphs"));
                }
                None => wanted *= 2,
            }
        };
        let bytes = &self.pending[self.taken..];
        let line = &bytes[..len];
        Ok((!bytes.is_empty()).then(|| line.strip_suffix(b"\r").unwrap_or(line)))
    }

    /// Takes the next line: whole, with a line end and padding behind it, as a cursor wants it.
    pub(super) fn next_line(&mut self) -> Result<Option<Vec<u8>>> {
        let Some(line) = self.peek_line()? else { return Ok(None) };
        let mut text = line.to_vec();
        text.extend_from_slice(&[b'\n'; 1 + PADDING]);
        let rest = &self.pending[self.taken..];
        let len = memchr::memchr(b'\n', rest).map_or(rest.len(), |end| end + 1);
        self.take(len);
        self.lines += 1;
        self.rows += u64::from(!text.trim_ascii_start().starts_with(b"%"));
        Ok(Some(text))
    }

    /// Takes the next block of whole lines, none longer than `longest_line`, with padding behind it; `None` at the end.
    ///
    /// Bytes are read straight into the block, which is kept at its full length so that it is zeroed only once; the
    /// unfinished line at its end waits for the next.
    pub(super) fn next_block(&mut self, block: &mut Vec<u8>, longest_line: usize) -> Result<Option<Place>> {
        let (mut wanted, mut filled) = (BLOCK.max(self.pending.len() - self.taken), self.pending.len() - self.taken);
        grow(block, wanted + 1 + PADDING);
        block[..filled].copy_from_slice(&self.pending[self.taken..]);
        let mut len = loop {
            filled = self.read_into(&mut block[..wanted], filled)?;
            match memchr::memrchr(b'\n', &block[..filled]) {
                _ if filled < wanted => break filled,
                Some(end) => break end + 1,
                None if wanted >= longest_line => {
                    self.lines += 1;
                    return Err(self.line_error("the line is too long; this is not a text format of graphs"));
                }
                None => wanted *= 2,
            }
            grow(block, wanted + 1 + PADDING);
        };
        self.pending.clear();
        self.pending.extend_from_slice(&block[len..filled]);
        self.taken = 0;
        self.offset += len as u64;
        if let Some(hash) = &mut self.hash {
            hash.update(&block[..len]);
        }
        if len == 0 {
            return Ok(None);
        }
        if block[len - 1] != b'\n' {
            block[len] = b'\n';
            len += 1;
        }
        block[len..len + PADDING].fill(b'\n');
        let text = &block[..len];
        let lines = memchr::memchr_iter(b'\n', text).count() as u64;
        let comments = memchr::memchr_iter(b'%', text).filter(|&at| begins_line(&text[..at])).count() as u64;
        let (line, row) = (self.lines, self.rows);
        self.lines += lines;
        self.rows += lines - comments;
        let place = Place { len: len + PADDING, line, row, end: self.spot() };
        // Relaxed: a number to show, nothing depends on it.
        self.watch.step("read", self.position.load(Ordering::Relaxed), self.size.unwrap_or(0))?;
        Ok(Some(place))
    }

    /// Reads until the buffer is full or the input ends; `filled` bytes of it are there already.
    fn read_into(&mut self, buffer: &mut [u8], mut filled: usize) -> Result<usize> {
        while !self.ended && filled < buffer.len() {
            match self.reader.read(&mut buffer[filled..]) {
                Ok(0) => self.ended = true,
                Ok(count) => filled += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(self.read_error(error)),
            }
        }
        Ok(filled)
    }

    /// The whole input at once: mapped where it is a plain file, else read.
    pub(super) fn whole(&mut self) -> Result<Whole> {
        if let (Some(file), None) = (&self.file, self.compression) {
            if self.size == Some(0) {
                return Ok(Whole::Owned(Vec::new()));
            }
            // SAFETY: the map is read-only and private. As with every mapped file, another program that changes the
            // file meanwhile changes what is read; all that is read is checked before it is used as an index.
            #[allow(unsafe_code)]
            let map = unsafe { Mmap::map(file) }.map_err(|source| Error::Io { file: self.name(), source })?;
            return Ok(Whole::Mapped(Arc::new(map)));
        }
        loop {
            let wanted = self.pending.len() + BLOCK.max(self.pending.len() / 2);
            self.fill(wanted)?;
            self.watch.step("read", self.position.load(Ordering::Relaxed), self.size.unwrap_or(0))?;
            if self.ended {
                return Ok(Whole::Owned(std::mem::take(&mut self.pending)));
            }
        }
    }
}

/// The error of a file that ends too early.
pub(super) fn cut_short(path: &Path, byte: u64) -> Error {
    let what = "the file ends here, but more should follow; it is cut short".into();
    Error::Byte { file: name(path), byte, what }
}

/// All bytes of an input.
pub(super) enum Whole {
    Mapped(Arc<Mmap>),
    Owned(Vec<u8>),
}

impl std::ops::Deref for Whole {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Whole::Mapped(map) => map,
            Whole::Owned(bytes) => bytes,
        }
    }
}

/// Whether what follows `text` is the first of its line that is no blank.
fn begins_line(text: &[u8]) -> bool {
    matches!(text.iter().rev().find(|&&byte| byte != b' ' && byte != b'\t'), None | Some(b'\n'))
}

fn grow(buffer: &mut Vec<u8>, len: usize) {
    if buffer.len() < len {
        buffer.resize(len, 0);
    }
}

/// How messages name a path.
pub(super) fn name(path: &Path) -> String {
    if path == Path::new("-") { "standard input".into() } else { path.display().to_string() }
}

/// Counts what is read, for progress.
struct Counted {
    read: Box<dyn Read + Send>,
    position: Arc<AtomicU64>,
}

impl Read for Counted {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.read.read(buffer)?;
        self.position.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn what_is_not_what_was_read_before_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lines.gz");
        let write = |first: &str| {
            let file = File::create(&path).unwrap();
            let mut packed = flate2::write::GzEncoder::new(file, flate2::Compression::fast());
            writeln!(packed, "{first}").unwrap();
            (0..300_000).for_each(|line| writeln!(packed, "{line} {line}").unwrap());
            packed.finish().unwrap();
        };
        let open = || Source::open(&path, &Watch::new()).unwrap();
        write("a 1");
        let mut source = open();
        source.next_line().unwrap();
        let place = source.next_block(&mut Vec::new(), 1 << 20).unwrap().unwrap();
        let mut again = open();
        again.advance(place.end).unwrap();
        assert_eq!(again.spot(), place.end);
        assert_eq!(again.next_line().unwrap(), source.next_line().unwrap());
        write("b 1");
        let refused = open().advance(place.end).unwrap_err().to_string();
        assert!(refused.contains("is not what was read before"), "{refused}");
    }
}
