//! Where the bytes of a Parquet file are, for its decoder, which looks at them here and there.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use parquet::errors::ParquetError;
use parquet::file::reader::{ChunkReader, Length};
use xxhash_rust::xxh3::xxh3_64;

use crate::error::Result;
use crate::io::source::{Source, Whole};

/// The file as the decoder reads it: all of it in memory, mapped or read; or piece by piece from where it lies.
pub(super) enum Place {
    Whole(Bytes),
    File { file: Arc<Mutex<File>>, size: u64 },
}

impl Place {
    /// The place of a file. If it is a plain one it is mapped, or read where it lies (`whole` or not); else it is read whole.
    pub(super) fn of(source: &mut Source, whole: bool) -> Result<Self> {
        Ok(match source.plain_file()? {
            Some((file, size)) if !whole => Place::File { file: Arc::new(Mutex::new(file)), size },
            _ => Place::Whole(Bytes::from_owner(Mapped(source.whole()?))),
        })
    }

    /// XXH3-64 of all bytes where they are in memory anyway, else 0.
    pub(super) fn hash(&self) -> u64 {
        match self {
            Place::Whole(bytes) => xxh3_64(bytes),
            Place::File { .. } => 0,
        }
    }
}

/// All bytes of the file, mapped or read.
struct Mapped(Whole);

impl AsRef<[u8]> for Mapped {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl Length for Place {
    fn len(&self) -> u64 {
        match self {
            Place::Whole(bytes) => bytes.len() as u64,
            Place::File { size, .. } => *size,
        }
    }
}

impl ChunkReader for Place {
    type T = Box<dyn Read>;

    fn get_read(&self, start: u64) -> Result<Self::T, ParquetError> {
        match self {
            Place::Whole(bytes) => Ok(Box::new(bytes.get_read(start)?)),
            Place::File { file, .. } => Ok(Box::new(BufReader::new(At { file: Arc::clone(file), offset: start }))),
        }
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes, ParquetError> {
        match self {
            Place::Whole(bytes) => bytes.get_bytes(start, length),
            Place::File { file, size } => {
                // Nothing is longer than the file, whatever its footer says.
                if start.checked_add(length as u64).is_none_or(|end| end > *size) {
                    return Err(ParquetError::EOF("a page lies behind the end of the file".into()));
                }
                let mut bytes = vec![0; length];
                At { file: Arc::clone(file), offset: start }.read_exact(&mut bytes)?;
                Ok(bytes.into())
            }
        }
    }
}

/// A place in a file that several threads read.
struct At {
    file: Arc<Mutex<File>>,
    offset: u64,
}

impl Read for At {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        file.seek(SeekFrom::Start(self.offset))?;
        let count = file.read(buffer)?;
        self.offset += count as u64;
        Ok(count)
    }
}
