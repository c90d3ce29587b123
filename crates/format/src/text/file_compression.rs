//! Detection and decompression of whole files: gzip, zstd, bzip2, xz, and zip archives of one file.

use std::io::{BufRead, Read};

use lakerace_io::{Error, Result};

use super::gzip_members::GzipMembers;

/// The compression of a file as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FileCompression {
    None,
    Gzip,
    Zstd,
    Bzip2,
    Xz,
    /// An archive, whose one file is found by its directory: see [`super::ZipMember`].
    Zip,
}

/// Bytes at a file's start that are enough to detect its compression.
pub(crate) const COMPRESSION_FRONT_BYTES: usize = 16;

/// Limit of memory for an xz stream: `xz -9` needs 65 MiB, and crafted files may need gigabytes.
const MAX_XZ_BYTES: u64 = 512 << 20;

const MAKE_AGAIN: &str = "download or create the file again";

/// A compression, its name, the endings of names, and the first bytes of files (for bzip2, after its level).
type KnownCompression = (FileCompression, &'static str, &'static [&'static str], &'static [&'static [u8]]);

/// All compressions.
const COMPRESSIONS: [KnownCompression; 5] = [
    (FileCompression::Gzip, "gzip", &[".gz"], &[&[0x1f, 0x8b, 0x08]]),
    (FileCompression::Zstd, "zstd", &[".zst", ".zstd"], &[&[0x28, 0xb5, 0x2f, 0xfd]]),
    // A block, or the end of a stream without one.
    (FileCompression::Bzip2, "bzip2", &[".bz2"], &[b"1AY&SY", b"\x17rE8P\x90"]),
    (FileCompression::Xz, "xz", &[".xz"], &[b"\xfd7zXZ\0"]),
    // A file, or the end of an archive without one.
    (FileCompression::Zip, "zip", &[".zip"], &[b"PK\x03\x04", b"PK\x05\x06"]),
];

impl FileCompression {
    /// Detects the compression by the file's name, or else by its first bytes.
    pub fn detect(name: &str, first_bytes: &[u8]) -> Self {
        let name = name.to_ascii_lowercase();
        let is_named = |endings: &[&str]| endings.iter().any(|ending| name.ends_with(ending));
        let by_name = COMPRESSIONS.iter().find(|(_, _, endings, _)| is_named(endings)).map(|known| known.0);
        by_name.or_else(|| Self::of_front(first_bytes)).unwrap_or(Self::None)
    }

    fn of_front(first_bytes: &[u8]) -> Option<Self> {
        // A frame of zstd that is skipped.
        if matches!(first_bytes, [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..]) {
            return Some(Self::Zstd);
        }
        let begins = |kind: Self, mark: &&[u8]| match kind {
            Self::Bzip2 => matches!(first_bytes, [b'B', b'Z', b'h', b'1'..=b'9', rest @ ..] if rest.starts_with(mark)),
            _ => first_bytes.starts_with(mark),
        };
        COMPRESSIONS
            .iter()
            .find(|(kind, _, _, marks)| marks.iter().any(|mark| begins(*kind, mark)))
            .map(|known| known.0)
    }

    /// The compression for the ending of a name, which is given without its dot.
    pub fn of_ending(ending: &str) -> Option<Self> {
        let is_it = |known: &&str| known.strip_prefix('.') == Some(ending);
        COMPRESSIONS.iter().find(|(_, _, endings, _)| endings.iter().any(is_it)).map(|known| known.0)
    }

    /// The name in texts.
    pub fn name(self) -> &'static str {
        COMPRESSIONS.iter().find(|(kind, ..)| *kind == self).map_or("none", |known| known.1)
    }

    /// The decompressed text: of all members of a gzip file, all frames or streams of a zstd, bzip2 or xz one.
    ///
    /// # Errors
    /// `Corrupt` if the first bytes do not belong to such a file.
    pub fn decompress(self, mut compressed: impl BufRead + Send + 'static) -> Result<Box<dyn Read + Send>> {
        let first = compressed.fill_buf().map_err(|e| self.error(&e))?;
        self.check_front(first)?;
        Ok(match self {
            Self::None => Box::new(compressed),
            Self::Gzip => Box::new(GzipMembers::new(compressed)),
            Self::Zstd => {
                let decoder = zstd::stream::read::Decoder::with_buffer(compressed);
                Box::new(decoder.map_err(|e| self.error(&e))?)
            }
            Self::Bzip2 => Box::new(bzip2::bufread::MultiBzDecoder::new(compressed)),
            Self::Xz => Box::new(xz_decoder(compressed).map_err(|e| self.error(&e))?),
            Self::Zip => return Err(Error::internal("a zip archive can't be read as a stream")),
        })
    }

    /// Fails where the first bytes of a file are not those of its compression.
    pub(super) fn check_front(self, first: &[u8]) -> Result<()> {
        if self == Self::None {
            return Ok(());
        }
        let name = self.name();
        if first.is_empty() {
            return Err(Error::corrupt(format!("the file is empty, so it is no {name} file")).advice(MAKE_AGAIN));
        }
        // Streams are read in pieces, the first of which may be short.
        let is_it = match (self, first) {
            (Self::Gzip, _) => first.iter().zip([0x1f, 0x8b]).all(|(byte, wanted)| *byte == wanted),
            (Self::Bzip2, _) => first.iter().zip(b"BZh").all(|(byte, wanted)| byte == wanted),
            // A frame, or one that is skipped.
            (Self::Zstd, [0x50..=0x5f, ..]) => true,
            _ => {
                let begins = |mark: &&[u8]| first.iter().zip(*mark).all(|(byte, wanted)| byte == wanted);
                COMPRESSIONS.iter().any(|(kind, _, _, marks)| *kind == self && marks.iter().any(begins))
            }
        };
        if is_it {
            return Ok(());
        }
        Err(Error::corrupt(format!("the name indicates a file compressed with {name}, but its content is not"))
            .advice("rename the file to match its content, or compress it"))
    }

    /// The error for one of reading decompressed text.
    pub fn error(self, error: &std::io::Error) -> Error {
        // An error of the store, or of the consumer of the text, that came through the decompressor.
        if let Some(inner) = error.get_ref().and_then(|e| e.downcast_ref::<Error>()) {
            return inner.clone();
        }
        let name = match self {
            Self::None => "file".to_owned(),
            Self::Zip => "file in the zip archive".to_owned(),
            packed => format!("{} stream", packed.name()),
        };
        let cause = error.get_ref().and_then(|e| e.downcast_ref::<liblzma::stream::Error>());
        if matches!(cause, Some(liblzma::stream::Error::MemLimit)) {
            let limit = MAX_XZ_BYTES >> 20;
            return Error::unsupported(format!("the xz stream needs more than {limit} MiB of memory"))
                .advice("compress it again with a smaller dictionary, for example with: xz -6");
        }
        if error.kind() == std::io::ErrorKind::UnexpectedEof {
            Error::corrupt(format!("the {name} is truncated")).advice(MAKE_AGAIN)
        } else {
            Error::corrupt(format!("the {name} is damaged: {error}")).advice(MAKE_AGAIN)
        }
    }
}

/// The decompressed bytes of all streams of an xz file, in bounded memory.
pub(crate) fn xz_decoder<R: BufRead>(compressed: R) -> std::io::Result<liblzma::bufread::XzDecoder<R>> {
    let stream = liblzma::stream::Stream::new_stream_decoder(MAX_XZ_BYTES, liblzma::stream::CONCATENATED)?;
    Ok(liblzma::bufread::XzDecoder::new_stream(compressed, stream))
}
