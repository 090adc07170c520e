//! Checkpoints: a stream's forest and the place in its files up to which it reaches, in one file that is replaced whole.
//!
//! `\x89KOSTRC\n`, a version, then numbers as little-endian `u64` and arrays behind their lengths, and XXH3-64 over all of it
//! at the end. Nothing is believed before the hash fits, and no array is longer than the file.

use std::borrow::Cow;
use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;

use bytemuck::Pod;
use xxhash_rust::xxh3::Xxh3Default;

use super::balance::Balance;
use super::edges::{Keep, Resume};
use super::sink::{Sink, Stop, write_file};
use super::source::Spot;
use crate::error::{Error, Result};
use crate::names::Names;
use crate::numbers::{Kind, Numbers, each_numbers};
use crate::stream::{Known, Part, State};
use crate::watch::Watch;

const MAGIC: [u8; 8] = *b"\x89KOSTRC\n";
const VERSION: u64 = 3;

/// Where in its files a stream has come to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Mark {
    /// The number of the file.
    pub(super) file: usize,
    /// Where in it.
    pub(super) resume: Resume,
}

/// What a checkpoint holds.
pub(super) struct Saved<'a> {
    pub(super) stream: State<'a>,
    pub(super) before: Option<State<'a>>,
    pub(super) upper: Option<State<'a>>,
    pub(super) names: Cow<'a, Names>,
    pub(super) mark: Mark,
}

/// Saves the state of a job. The old checkpoint stays until the new one is whole.
pub(super) fn save(path: &Path, job: &str, saved: &Saved) -> Result<()> {
    write_file(path, None, &Watch::new(), |sink| {
        let mut out = Writer { sink, hash: Xxh3Default::new() };
        out.bytes(&MAGIC)?;
        out.number(VERSION)?;
        out.array(job.as_bytes())?;
        let Mark { file, resume: Resume { spot, entries, balance, keep } } = saved.mark;
        out.numbers(&[file as u64, spot.offset, spot.lines, spot.rows, spot.hash, entries, keep as u64])?;
        out.array(&balance.to_words())?;
        out.state(Some(&saved.stream))?;
        out.state(saved.before.as_ref())?;
        out.state(saved.upper.as_ref())?;
        let (bytes, ends) = saved.names.parts();
        out.array(bytes)?;
        out.array(ends)?;
        let digest = out.hash.digest();
        out.number(digest)
    })
}

/// The state of that job; an error where the file is damaged or of another job.
pub(super) fn load(path: &Path, job: &str) -> Result<Saved<'static>> {
    let file = path.display().to_string();
    let fail = |source| Error::Io { file: file.clone(), source };
    let open = File::open(path).map_err(fail)?;
    let left = open.metadata().map_err(fail)?.len();
    let input = Reader { input: BufReader::with_capacity(1 << 20, open), hash: Xxh3Default::new(), left };
    input.saved(job).map_err(|wrong| match wrong {
        Wrong::Io(source) => Error::Io { file, source },
        Wrong::Damaged => {
            let what = "the checkpoint is damaged; nothing was changed. Remove it to start anew";
            Error::File { file, what: what.into() }
        }
        Wrong::Other(what) => Error::File { file, what },
    })
}

struct Writer<'a, 'b> {
    sink: &'a mut Sink<'b>,
    hash: Xxh3Default,
}

impl Writer<'_, '_> {
    fn bytes(&mut self, bytes: &[u8]) -> Result<(), Stop> {
        self.hash.update(bytes);
        self.sink.bytes(bytes)
    }

    fn number(&mut self, number: u64) -> Result<(), Stop> {
        self.numbers(&[number])
    }

    fn numbers(&mut self, numbers: &[u64]) -> Result<(), Stop> {
        self.bytes(bytemuck::cast_slice(numbers))
    }

    fn array<T: Pod>(&mut self, items: &[T]) -> Result<(), Stop> {
        self.number(items.len() as u64)?;
        self.bytes(bytemuck::cast_slice(items))
    }

    fn state(&mut self, state: Option<&State>) -> Result<(), Stop> {
        self.number(state.is_some().into())?;
        let Some(State { vertices, taken, weighted, is_beyond_floats, known }) = state else { return Ok(()) };
        let weighted = weighted.map_or(2, u64::from);
        let (forest, kind) = (known.forest as u64, known.kind() as u64);
        self.numbers(&[*vertices, *taken, weighted, u64::from(*is_beyond_floats), forest, kind])?;
        let Part { src, dst, weights, .. } = &known.edges;
        self.array(src)?;
        self.array(dst)?;
        each_numbers!(weights, None => self.array::<u8>(&[]), all => self.array(all))?;
        self.array(&known.ids)
    }
}

enum Wrong {
    Io(std::io::Error),
    Damaged,
    Other(String),
}

struct Reader {
    input: BufReader<File>,
    hash: Xxh3Default,
    /// Bytes of the file that were not read yet.
    left: u64,
}

type Read1<T> = Result<T, Wrong>;

impl Reader {
    fn saved(mut self, job: &str) -> Read1<Saved<'static>> {
        let mut magic = [0; 8];
        self.bytes(&mut magic)?;
        if magic != MAGIC {
            return Err(Wrong::Other("is no checkpoint; nothing was changed. Name another file".into()));
        }
        let version = self.number()?;
        if version != VERSION {
            let what = format!("is a checkpoint of version {version}, not {VERSION}; remove it to start anew");
            return Err(Wrong::Other(what));
        }
        let of = self.array::<u8>()?;
        let [file, offset, lines, rows, hash, entries, keep] = self.numbers()?;
        let keep = Keep::ALL.into_iter().find(|&kind| kind as u64 == keep).ok_or(Wrong::Damaged)?;
        let balance = Balance::from_words(&self.array()?).ok_or(Wrong::Damaged)?;
        let spot = Spot { offset, lines, rows, hash };
        let stream = self.state()?.ok_or(Wrong::Damaged)?;
        let (before, upper) = (self.state()?, self.state()?);
        let names = Names::from_parts(self.array()?, self.array()?).ok_or(Wrong::Damaged)?;
        let digest = self.hash.digest();
        if self.number()? != digest || self.left > 0 {
            return Err(Wrong::Damaged);
        }
        if of != job.as_bytes() {
            let of = String::from_utf8_lossy(&of).replace('\n', "; ");
            let what = format!(
                "is the checkpoint of another job, or its files have changed ({of}); name another file, or remove it to start \
                 anew"
            );
            return Err(Wrong::Other(what));
        }
        let mark = Mark { file: file as usize, resume: Resume { spot, entries, balance, keep } };
        Ok(Saved { stream, before, upper, names: Cow::Owned(names), mark })
    }

    fn bytes(&mut self, bytes: &mut [u8]) -> Read1<()> {
        if bytes.len() as u64 > self.left {
            return Err(Wrong::Damaged);
        }
        self.left -= bytes.len() as u64;
        self.input.read_exact(bytes).map_err(Wrong::Io)?;
        self.hash.update(bytes);
        Ok(())
    }

    fn numbers<const N: usize>(&mut self) -> Read1<[u64; N]> {
        let mut numbers = [0; N];
        self.bytes(bytemuck::cast_slice_mut(&mut numbers))?;
        Ok(numbers)
    }

    fn number(&mut self) -> Read1<u64> {
        self.numbers().map(|[number]| number)
    }

    fn array<T: Pod>(&mut self) -> Read1<Vec<T>> {
        let len = self.number()?;
        if len.checked_mul(size_of::<T>() as u64).is_none_or(|bytes| bytes > self.left) {
            return Err(Wrong::Damaged);
        }
        let mut items = vec![T::zeroed(); len as usize];
        self.bytes(bytemuck::cast_slice_mut(&mut items))?;
        Ok(items)
    }

    fn state(&mut self) -> Read1<Option<State<'static>>> {
        if self.number()? == 0 {
            return Ok(None);
        }
        let [vertices, taken, weighted, is_beyond_floats, forest, kind] = self.numbers()?;
        let (src, dst) = (self.array()?, self.array()?);
        let weights = match Kind::ALL.get(kind as usize).ok_or(Wrong::Damaged)? {
            Kind::None => self.array::<u8>().map(|_| Numbers::None)?,
            Kind::U32 => Numbers::U32(self.array()?),
            Kind::I32 => Numbers::I32(self.array()?),
            Kind::I64 => Numbers::I64(self.array()?),
            Kind::F32 => Numbers::F32(self.array()?),
            Kind::F64 => Numbers::F64(self.array()?),
        };
        let known = Cow::Owned(Known::new(Part::new(src, dst, weights), self.array()?, forest as usize));
        let weighted = [Some(false), Some(true), None].get(weighted as usize).copied().ok_or(Wrong::Damaged)?;
        Ok(Some(State { vertices, taken, weighted, is_beyond_floats: is_beyond_floats != 0, known }))
    }
}
