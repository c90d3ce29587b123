//! Text of other encodings than UTF-8, as UTF-8.

use std::io::Read;
use std::str::FromStr;

use encoding_rs::{DecoderResult, Encoding, UTF_8, UTF_16BE, UTF_16LE};
use lakerace_io::option::ENCODING;
use lakerace_io::{Error, Result};

/// An encoding of text by its name, such as `latin1`, `utf-16` or `windows-1252`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TextEncoding {
    /// ISO 8859-1, whose bytes are the first 256 characters. On the web, and in `encoding_rs`, the name means
    /// Windows-1252.
    Latin1,
    /// The byte order mark says the order; without one it is little-endian.
    Utf16,
    Known(&'static Encoding),
}

impl FromStr for TextEncoding {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        match name.trim().to_ascii_lowercase().replace('_', "-").as_str() {
            "latin1" | "latin-1" | "iso-8859-1" | "iso8859-1" | "l1" => Ok(Self::Latin1),
            "utf-16" | "utf16" => Ok(Self::Utf16),
            "utf8" => Ok(Self::Known(UTF_8)),
            other => {
                // Python's names of code pages.
                let label = other.strip_prefix("cp125").map(|page| format!("windows-125{page}"));
                let found = Encoding::for_label_no_replacement(label.as_deref().unwrap_or(other).as_bytes());
                found.map(Self::Known).ok_or_else(|| {
                    Error::usage(format!("{ENCODING}: unknown encoding {name:?}")).advice(
                        "choose utf-8, latin1, utf-16, windows-1252 or another name of the WHATWG Encoding standard",
                    )
                })
            }
        }
    }
}

impl TextEncoding {
    /// Returns true if the text is UTF-8, which is read unchanged.
    pub fn is_utf8(self) -> bool {
        self == Self::Known(UTF_8)
    }
}

/// Bytes that are read and decoded together.
const CHUNK_BYTES: usize = 64 << 10;

/// A text as UTF-8.
pub(super) struct Utf8Reader {
    text: Box<dyn Read + Send>,
    encoding: TextEncoding,
    /// `None` until the first bytes are there, and for Latin-1.
    decoder: Option<encoding_rs::Decoder>,
    stored: Vec<u8>,
    utf8: Vec<u8>,
    /// The bytes of `utf8` that were returned.
    given: usize,
    /// Bytes of the text that were decoded.
    position: u64,
    line: u64,
    is_begun: bool,
    is_done: bool,
}

impl Utf8Reader {
    pub fn new(text: Box<dyn Read + Send>, encoding: TextEncoding) -> Self {
        Self {
            text,
            encoding,
            decoder: None,
            stored: Vec::new(),
            utf8: Vec::new(),
            given: 0,
            position: 0,
            line: 1,
            is_begun: false,
            is_done: false,
        }
    }

    /// Decodes the next chunk.
    fn fill(&mut self) -> std::io::Result<()> {
        self.stored.clear();
        self.text.by_ref().take(CHUNK_BYTES as u64).read_to_end(&mut self.stored)?;
        let is_last = self.stored.len() < CHUNK_BYTES;
        if !std::mem::replace(&mut self.is_begun, true) {
            self.begin();
        }
        (self.is_done, self.given) = (is_last, 0);
        self.utf8.clear();
        let Some(decoder) = &mut self.decoder else {
            self.utf8.resize(2 * self.stored.len(), 0);
            let written = encoding_rs::mem::convert_latin1_to_utf8(&self.stored, &mut self.utf8);
            self.utf8.truncate(written);
            return Ok(());
        };
        let enough = decoder.max_utf8_buffer_length_without_replacement(self.stored.len());
        self.utf8.resize(enough.unwrap_or(4 * CHUNK_BYTES), 0);
        let (result, read, written) = decoder.decode_to_utf8_without_replacement(&self.stored, &mut self.utf8, is_last);
        self.utf8.truncate(written);
        if let DecoderResult::Malformed(bad_bytes, extra_bytes) = result {
            let after = u64::from(bad_bytes) + u64::from(extra_bytes);
            return Err(std::io::Error::other(self.malformed(self.position + (read as u64).saturating_sub(after))));
        }
        self.position += read as u64;
        self.line += memchr::memchr_iter(b'\n', &self.utf8).count() as u64;
        Ok(())
    }

    fn begin(&mut self) {
        self.decoder = match (self.encoding, self.stored.as_slice()) {
            (TextEncoding::Latin1, _) => None,
            (TextEncoding::Utf16, [0xfe, 0xff, ..]) => Some(UTF_16BE.new_decoder_with_bom_removal()),
            (TextEncoding::Utf16, _) => Some(UTF_16LE.new_decoder_with_bom_removal()),
            (TextEncoding::Known(encoding), _) => Some(encoding.new_decoder_with_bom_removal()),
        };
    }

    fn malformed(&self, at: u64) -> Error {
        let name = match self.encoding {
            TextEncoding::Latin1 => "ISO-8859-1",
            TextEncoding::Utf16 => "UTF-16",
            TextEncoding::Known(encoding) => encoding.name(),
        };
        let line = self.line + memchr::memchr_iter(b'\n', &self.utf8).count() as u64;
        Error::invalid(format!("the text is not in {name}: byte {at} in line {line} does not belong to a character"))
            .advice(format!("set its own encoding with {ENCODING}"))
    }
}

impl Read for Utf8Reader {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        while self.given == self.utf8.len() && !self.is_done {
            self.fill()?;
        }
        let ready = &self.utf8[self.given..];
        let read = ready.len().min(buffer.len());
        buffer[..read].copy_from_slice(&ready[..read]);
        self.given += read;
        Ok(read)
    }
}

#[cfg(test)]
mod tests;
