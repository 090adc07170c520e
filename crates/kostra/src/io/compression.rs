//! The four compressions that files come in, known by their first bytes or their extension.

use std::fmt;
use std::io::{self, BufRead, BufReader, Read, Write};
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
        let member = Member::new(self, BufReader::with_capacity(1 << 17, file))?;
        Ok(Box::new(Members { compression: self, member: Some(member) }))
    }

    /// Whether another member may begin so, as far as the bytes go: like a file, or in zstd with a frame to be skipped.
    fn begins(self, bytes: &[u8]) -> bool {
        let is_like = |magic: &[u8]| bytes.iter().zip(magic).all(|(a, b)| a == b);
        match self {
            Self::Gzip => is_like(&[0x1f, 0x8b]),
            Self::Zstd => {
                is_like(&[0x28, 0xb5, 0x2f, 0xfd])
                    || matches!(bytes, [first @ 0x50..=0x5f, ..] if is_like(&[*first, 0x2a, 0x4d, 0x18]))
            }
            Self::Bzip2 => is_like(b"BZh"),
            Self::Xz => is_like(b"\xfd7zXZ\0"),
        }
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

type File = BufReader<Box<dyn Read + Send>>;

/// One compressed stream, from its header to its end and not a byte further.
enum Member {
    Gzip(flate2::bufread::GzDecoder<File>),
    Zstd(zstd::Decoder<'static, File>),
    Bzip2(bzip2::bufread::BzDecoder<File>),
    Xz(liblzma::bufread::XzDecoder<File>),
}

impl Member {
    fn new(compression: Compression, file: File) -> io::Result<Self> {
        Ok(match compression {
            Compression::Gzip => Self::Gzip(flate2::bufread::GzDecoder::new(file)),
            Compression::Zstd => Self::Zstd(zstd::Decoder::with_buffer(file)?.single_frame()),
            Compression::Bzip2 => Self::Bzip2(bzip2::bufread::BzDecoder::new(file)),
            Compression::Xz => Self::Xz(liblzma::bufread::XzDecoder::new(file)),
        })
    }

    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Gzip(member) => member.read(buffer),
            Self::Zstd(member) => member.read(buffer),
            Self::Bzip2(member) => member.read(buffer),
            Self::Xz(member) => member.read(buffer),
        }
    }

    fn into_file(self) -> File {
        match self {
            Self::Gzip(member) => member.into_inner(),
            Self::Zstd(member) => member.finish(),
            Self::Bzip2(member) => member.into_inner(),
            Self::Xz(member) => member.into_inner(),
        }
    }
}

/// The members of a file. Between and behind them may be zeros, with which some programs fill up blocks.
struct Members {
    compression: Compression,
    /// The one that is read; none at the end.
    member: Option<Member>,
}

impl Read for Members {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while let Some(member) = &mut self.member {
            let count = member.read(buffer)?;
            if count > 0 || buffer.is_empty() {
                return Ok(count);
            }
            self.member = self.next_member()?;
        }
        Ok(0)
    }
}

impl Members {
    fn next_member(&mut self) -> io::Result<Option<Member>> {
        let Some(mut file) = self.member.take().map(Member::into_file) else { return Ok(None) };
        loop {
            let bytes = file.fill_buf()?;
            if bytes.is_empty() {
                return Ok(None);
            }
            let zeros = bytes.iter().take_while(|&&byte| byte == 0).count();
            match &bytes[zeros..] {
                [] => file.consume(zeros),
                rest if self.compression.begins(rest) => {
                    file.consume(zeros);
                    return Member::new(self.compression, file).map(Some);
                }
                _ => return Err(io::Error::new(io::ErrorKind::InvalidData, Junk)),
            }
        }
    }
}

/// Something stands behind the end of the compressed data.
#[derive(Debug)]
pub(super) struct Junk;

impl std::error::Error for Junk {}

impl fmt::Display for Junk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("something else follows")
    }
}

/// Threads for the compressors that can use several.
fn threads() -> u32 {
    rayon::current_num_threads().min(64) as u32
}
