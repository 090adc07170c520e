//! The four compressions that files come in, known by their first bytes or their extension.

use std::io::{self, BufReader, Read, Write};
use std::path::Path;

/// Bytes that a thread compresses at a time. What is begun is finished also when the writing is stopped, so it is less
/// than the 24 MiB that the preset would take.
const XZ_BLOCK: u64 = 4 << 20;

/// How a file is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Compression {
    Gzip,
    Zstd,
    Bzip2,
    Xz,
}

impl Compression {
    const ALL: [Self; 4] = [Self::Gzip, Self::Zstd, Self::Bzip2, Self::Xz];

    /// Bytes that are enough for [`Compression::of_content`].
    pub(super) const MAGIC: usize = 6;

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Gzip => "gzip",
            Self::Zstd => "zstd",
            Self::Bzip2 => "bzip2",
            Self::Xz => "xz",
        }
    }

    fn extension(self) -> &'static str {
        match self {
            Self::Gzip => "gz",
            Self::Zstd => "zst",
            Self::Bzip2 => "bz2",
            Self::Xz => "xz",
        }
    }

    /// What the first bytes of a file say.
    pub(super) fn of_content(magic: &[u8]) -> Option<Self> {
        match magic {
            [0x1f, 0x8b, ..] => Some(Self::Gzip),
            [0x28, 0xb5, 0x2f, 0xfd, ..] => Some(Self::Zstd),
            [b'B', b'Z', b'h', b'1'..=b'9', ..] => Some(Self::Bzip2),
            [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => Some(Self::Xz),
            _ => None,
        }
    }

    /// Splits `roads.gr.gz` into `roads.gr` and its compression.
    pub(super) fn split_name(name: &Path) -> (&Path, Option<Self>) {
        let extension = name.extension().and_then(|e| e.to_str()).unwrap_or_default();
        match Self::ALL.into_iter().find(|c| extension.eq_ignore_ascii_case(c.extension())) {
            Some(compression) => (Path::new(name.file_stem().unwrap_or_default()), Some(compression)),
            None => (name, None),
        }
    }

    /// Decompresses; several members or frames one after another are one file.
    pub(super) fn reader(self, file: Box<dyn Read + Send>) -> io::Result<Box<dyn Read + Send>> {
        Ok(match self {
            Self::Gzip => Box::new(flate2::bufread::MultiGzDecoder::new(BufReader::with_capacity(1 << 16, file))),
            Self::Zstd => Box::new(zstd::Decoder::new(file)?),
            Self::Bzip2 => Box::new(bzip2::read::MultiBzDecoder::new(file)),
            Self::Xz => Box::new(liblzma::read::XzDecoder::new_multi_decoder(file)),
        })
    }

    /// Compresses what `write` writes.
    pub(super) fn write<E: From<io::Error>>(
        self,
        out: &mut dyn Write,
        write: impl FnOnce(&mut dyn Write) -> Result<(), E>,
    ) -> Result<(), E> {
        match self {
            Self::Gzip => {
                let mut encoder = flate2::write::GzEncoder::new(out, flate2::Compression::default());
                write(&mut encoder)?;
                encoder.finish()?;
            }
            Self::Zstd => {
                let mut encoder = zstd::Encoder::new(out, zstd::DEFAULT_COMPRESSION_LEVEL)?;
                encoder.multithread(threads())?;
                write(&mut encoder)?;
                encoder.finish()?;
            }
            Self::Bzip2 => {
                let mut encoder = bzip2::write::BzEncoder::new(out, bzip2::Compression::default());
                write(&mut encoder)?;
                encoder.finish()?;
            }
            Self::Xz => {
                let mut builder = liblzma::stream::MtStreamBuilder::new();
                let stream = builder.threads(threads()).preset(6).block_size(XZ_BLOCK).encoder();
                let stream = stream.map_err(io::Error::from)?;
                let mut encoder = liblzma::write::XzEncoder::new_stream(out, stream);
                write(&mut encoder)?;
                encoder.finish()?;
            }
        }
        Ok(())
    }
}

/// Threads for the compressors that can use several.
fn threads() -> u32 {
    rayon::current_num_threads().min(64) as u32
}
