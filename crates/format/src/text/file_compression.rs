//! Detection and decompression of whole files in gzip or zstd.

use std::io::{BufRead, Read};

use lakerace_io::{Error, Result};

use super::gzip_members::GzipMembers;

/// The compression of a file as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FileCompression {
    None,
    Gzip,
    Zstd,
}

const MAKE_AGAIN: &str = "fetch or make the file again";

/// True where bytes begin with a mark, as far as they go.
fn begins_like(bytes: &[u8], mark: &[u8]) -> bool {
    bytes.iter().zip(mark).all(|(byte, wanted)| byte == wanted)
}

impl FileCompression {
    /// Detects the compression by the file's name, or else by its first bytes.
    pub fn detect(name: &str, first_bytes: &[u8]) -> Self {
        let name = name.to_ascii_lowercase();
        if name.ends_with(".gz") || first_bytes.starts_with(&[0x1f, 0x8b, 0x08]) {
            Self::Gzip
        } else if name.ends_with(".zst")
            || name.ends_with(".zstd")
            || matches!(first_bytes, [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..])
        {
            Self::Zstd
        } else {
            Self::None
        }
    }

    /// The decompressed text: of all members of a gzip file, all frames of a zstd one.
    ///
    /// # Errors
    /// `Corrupt` where the first bytes are of no such file, whatever its name is.
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
        })
    }

    /// Fails where the first bytes of a file are not those of its compression.
    fn check_front(self, first: &[u8]) -> Result<()> {
        let (name, is_it) = match self {
            Self::None => return Ok(()),
            Self::Gzip => ("gzip", begins_like(first, &[0x1f, 0x8b])),
            // A frame, or one that is skipped.
            Self::Zstd => (
                "zstd",
                begins_like(first, &[0x28, 0xb5, 0x2f, 0xfd]) || first.first().is_some_and(|byte| byte >> 4 == 5),
            ),
        };
        if first.is_empty() {
            return Err(Error::corrupt(format!("the file is empty, so it is no {name} file")).advice(MAKE_AGAIN));
        }
        if is_it {
            return Ok(());
        }
        Err(Error::corrupt(format!("the name says that the file is packed with {name}, and its content is not"))
            .advice("rename the file as what it is, or pack it"))
    }

    /// The error for one of reading decompressed text.
    pub fn error(self, error: &std::io::Error) -> Error {
        // An error of the store that came through the decompressor.
        if let Some(inner) = error.get_ref().and_then(|e| e.downcast_ref::<Error>()) {
            return inner.clone();
        }
        let name = match self {
            Self::None => "file",
            Self::Gzip => "gzip stream",
            Self::Zstd => "zstd stream",
        };
        if error.kind() == std::io::ErrorKind::UnexpectedEof {
            Error::corrupt(format!("the {name} is truncated")).advice(MAKE_AGAIN)
        } else {
            Error::corrupt(format!("the {name} is damaged: {error}")).advice(MAKE_AGAIN)
        }
    }
}
