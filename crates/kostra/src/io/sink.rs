//! Where bytes go: a new file that replaces the old one only when it is whole, a device or pipe, or standard output.

use std::fs::{self, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::Path;

use rayon::prelude::*;

use super::compression::Compression;
use crate::error::{Error, Result};
use crate::watch::Watch;
use crate::weight::{Weight, Weights};

/// Lines that one thread formats at a time.
const LINES: usize = 1 << 14;

/// A file being written.
pub(super) struct Sink<'a> {
    out: &'a mut dyn Write,
    watch: &'a Watch,
}

/// Why writing ended early: the system refused, or the caller wants no more.
pub(super) enum Stop {
    Io(io::Error),
    Other(Error),
}

impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Self {
        Stop::Io(error)
    }
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Stop::Other(error)
    }
}

/// Opens `path` and writes to it with `write`, compressed if wanted.
///
/// A regular file is written beside its place and then renamed, so that the old one survives any failure. Devices and
/// pipes are written in place, and `-` is standard output.
pub(super) fn write_file(
    path: &Path,
    compression: Option<Compression>,
    watch: &Watch,
    write: impl FnOnce(&mut Sink) -> Result<(), Stop>,
) -> Result<()> {
    let name = if path == Path::new("-") { "standard output".into() } else { path.display().to_string() };
    let fill = |file: &mut dyn Write| {
        let mut buffered = BufWriter::with_capacity(1 << 18, file);
        match compression {
            None => write(&mut Sink { out: &mut buffered, watch })?,
            Some(compression) => compression.write(&mut buffered, |out| write(&mut Sink { out, watch }))?,
        }
        buffered.flush().map_err(Stop::Io)
    };
    write_whole(path, fill).map_err(|stop| match stop {
        Stop::Io(source) => Error::Io { file: name, source },
        Stop::Other(error) => error,
    })
}

fn write_whole(path: &Path, fill: impl FnOnce(&mut dyn Write) -> Result<(), Stop>) -> Result<(), Stop> {
    if path == Path::new("-") {
        return fill(&mut io::stdout().lock());
    }
    // A link is followed, so that the file behind it is replaced and the link stays.
    let target = fs::canonicalize(path).or_else(|_| fs::read_link(path).map(|to| folder_of(path).join(to)));
    let target = target.unwrap_or_else(|_| path.into());
    let old = fs::metadata(&target).ok();
    if old.as_ref().is_some_and(|old| !old.is_file()) {
        // Fails as it should for a directory.
        return fill(&mut OpenOptions::new().write(true).open(&target)?);
    }
    let mut temporary = new_file_in(folder_of(&target))?;
    fill(temporary.as_file_mut())?;
    if let Some(old) = old {
        temporary.as_file().set_permissions(old.permissions())?;
    }
    temporary.persist(&target).map_err(|error| error.error)?;
    Ok(())
}

/// The folder that a file is in.
fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

fn new_file_in(folder: &Path) -> io::Result<tempfile::NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".kostra-");
    // As open permissions as the user's umask allows, like any new file; the default would be private.
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    // The folder's own error first; tempfile's would name the temporary file, which means nothing to the user.
    fs::metadata(folder)?;
    builder.tempfile_in(folder).map_err(|error| error.kind().into())
}

impl Sink<'_> {
    /// Writes bytes as they are.
    pub(super) fn bytes(&mut self, bytes: &[u8]) -> Result<(), Stop> {
        for part in bytes.chunks(1 << 24) {
            self.watch.check()?;
            self.out.write_all(part)?;
        }
        Ok(())
    }

    /// Says how far a writer has come that does not write lines; fails when it is to stop.
    #[cfg(feature = "parquet")]
    pub(super) fn step(&self, done: usize, total: usize) -> Result<(), Stop> {
        Ok(self.watch.step("write", done as u64, total as u64)?)
    }

    /// Writes text.
    pub(super) fn text(&mut self, text: &str) -> Result<(), Stop> {
        self.bytes(text.as_bytes())
    }

    /// Writes what `line` gives for 0 to `count`, formatted on all threads, in order.
    pub(super) fn lines(&mut self, count: usize, line: impl Fn(&mut Vec<u8>, usize) + Sync) -> Result<(), Stop> {
        let wave = LINES * rayon::current_num_threads() * 2;
        let mut texts: Vec<Vec<u8>> = Vec::new();
        for start in (0..count).step_by(wave) {
            let end = count.min(start + wave);
            texts.resize_with((end - start).div_ceil(LINES), Vec::new);
            texts.par_iter_mut().enumerate().for_each(|(i, text)| {
                text.clear();
                let first = start + i * LINES;
                (first..end.min(first + LINES)).for_each(|i| line(text, i));
            });
            for text in &texts {
                self.out.write_all(text)?;
            }
            self.watch.step("write", end as u64, count as u64)?;
        }
        Ok(())
    }
}

/// Appends an integer.
#[inline]
pub(super) fn put(text: &mut Vec<u8>, number: impl itoa::Integer) {
    text.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
}

/// Appends the weight of edge `e`: floats with a point, so that they are read as floats again, and exactly as `f64`.
#[inline]
pub(super) fn put_weight(text: &mut Vec<u8>, weights: &Weights, e: usize) {
    match weights.at(e) {
        Weight::Integer(w) => put(text, w),
        Weight::Float(w) => text.extend_from_slice(zmij::Buffer::new().format(w).as_bytes()),
    }
}

/// Whether a file can be written there, as far as can be told without writing: before hours of work, not after.
pub(super) fn check_writable(path: &Path) -> Result<()> {
    let fail = |source| Error::Io { file: path.display().to_string(), source };
    if path == Path::new("-") {
        return Ok(());
    }
    match fs::metadata(path) {
        Ok(old) if old.is_dir() => Err(fail(io::ErrorKind::IsADirectory.into())),
        // To open a pipe and close it again would tell its reader that all was written.
        Ok(old) if !old.is_file() => Ok(()),
        _ => new_file_in(folder_of(path)).map(drop).map_err(fail),
    }
}
