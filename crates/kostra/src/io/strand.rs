//! A file that is read at several places at once.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use super::source::{Source, Spot, cut_short, name};
use crate::error::{Error, Result};

/// One of several places from which on a file is read at once, block by block: by any thread at any place where the file is
/// plain, else in order.
pub(super) enum Strand {
    Plain { path: PathBuf, first: u64 },
    Other(Mutex<Source>),
}

impl Strand {
    /// Reads the next bytes of a file that must be read in order; an error where there are fewer.
    pub(super) fn read_in_order(&self, buffer: &mut [u8]) -> Result<()> {
        match self {
            Self::Plain { .. } => Ok(()),
            Self::Other(source) => source.lock().unwrap_or_else(PoisonError::into_inner).read_exact(buffer),
        }
    }

    /// Reads the bytes at that place, unless [`read_in_order`](Self::read_in_order) did.
    pub(super) fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<()> {
        match self {
            Self::Plain { path, first } => read_at(path, first + offset, buffer),
            Self::Other(_) => Ok(()),
        }
    }

    /// Whether a file that is read in order ends at that byte, which is not before those that were read.
    pub(super) fn ends_at(self, byte: u64) -> Result<bool> {
        match self {
            Self::Plain { .. } => Ok(true),
            Self::Other(source) => {
                let mut source = source.into_inner().unwrap_or_else(PoisonError::into_inner);
                source.advance(Spot { offset: byte, ..Spot::default() })?;
                Ok(source.head()?.is_empty())
            }
        }
    }
}

/// Reads the bytes of a plain file from `offset` on.
fn read_at(path: &Path, offset: u64, buffer: &mut [u8]) -> Result<()> {
    let mut file = File::open(path).map_err(|source| Error::Io { file: name(path), source })?;
    let outcome = file.seek(SeekFrom::Start(offset)).and_then(|_| file.read_exact(buffer));
    outcome.map_err(|source| match source.kind() {
        io::ErrorKind::UnexpectedEof => cut_short(path, file.metadata().map_or(offset, |data| data.len())),
        _ => Error::Io { file: name(path), source },
    })
}
