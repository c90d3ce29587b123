//! Text of other encodings than UTF-8, as UTF-8.

use std::io::Read;
use std::str::FromStr;

use encoding_rs::{DecoderResult, Encoding, UTF_8, UTF_16BE, UTF_16LE};
use lakerace_io::option::ENCODING;
use lakerace_io::{Error, Result};

use super::ready_bytes::ReadyBytes;

/// An encoding of text by its name, such as `latin1`, `utf-16` or `windows-1252`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TextEncoding {
    /// ISO 8859-1, whose bytes are the first 256 characters. On the web, and in `encoding_rs`, the name means
    /// Windows-1252.
    Latin1,
    /// The first 128 characters. On the web, and in `encoding_rs`, the name means Windows-1252.
    Ascii,
    /// The byte order mark says the order; without one it is little-endian.
    Utf16,
    Known(&'static Encoding),
}

/// Names of ISO 8859-1, in small letters and with hyphens: those of IANA and of Python.
const LATIN1_NAMES: [&str; 15] = [
    "latin1",
    "latin-1",
    "latin",
    "l1",
    "iso-8859-1",
    "iso8859-1",
    "iso88591",
    "iso-8859-1:1987",
    "iso-8859-1-1987",
    "8859",
    "cp819",
    "819",
    "ibm819",
    "iso-ir-100",
    "csisolatin1",
];

impl FromStr for TextEncoding {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        let label = name.trim().to_ascii_lowercase();
        match label.replace('_', "-").as_str() {
            name if LATIN1_NAMES.contains(&name) => Ok(Self::Latin1),
            "ascii" | "us-ascii" | "ansi-x3.4-1968" | "iso646-us" | "646" => Ok(Self::Ascii),
            "utf-16" | "utf16" => Ok(Self::Utf16),
            // Python's names.
            "utf8" | "utf-8-sig" | "utf8-sig" => Ok(Self::Known(UTF_8)),
            "utf-16-le" => Ok(Self::Known(UTF_16LE)),
            "utf-16-be" => Ok(Self::Known(UTF_16BE)),
            other => {
                let page = other.strip_prefix("cp125").map(|page| format!("windows-125{page}"));
                let known = |label: &str| Encoding::for_label_no_replacement(label.as_bytes());
                let found = known(page.as_deref().unwrap_or(other)).or_else(|| known(&label));
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
    /// `None` until the first bytes are there, and for Latin-1 and ASCII.
    decoder: Option<encoding_rs::Decoder>,
    stored: Vec<u8>,
    utf8: ReadyBytes,
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
            utf8: ReadyBytes::default(),
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
        self.is_done = is_last;
        let utf8 = self.utf8.begin();
        let Some(decoder) = &mut self.decoder else {
            if let Some(at) =
                self.stored.iter().position(|byte| self.encoding == TextEncoding::Ascii && !byte.is_ascii())
            {
                self.line += memchr::memchr_iter(b'\n', &self.stored[..at]).count() as u64;
                return Err(std::io::Error::other(self.malformed(self.position + at as u64)));
            }
            self.position += self.stored.len() as u64;
            self.line += memchr::memchr_iter(b'\n', &self.stored).count() as u64;
            utf8.resize(2 * self.stored.len(), 0);
            let written = encoding_rs::mem::convert_latin1_to_utf8(&self.stored, utf8);
            utf8.truncate(written);
            return Ok(());
        };
        let enough = decoder.max_utf8_buffer_length_without_replacement(self.stored.len());
        utf8.resize(enough.unwrap_or(4 * CHUNK_BYTES), 0);
        let (result, read, written) = decoder.decode_to_utf8_without_replacement(&self.stored, utf8, is_last);
        utf8.truncate(written);
        self.line += memchr::memchr_iter(b'\n', utf8).count() as u64;
        if let DecoderResult::Malformed(bad_bytes, extra_bytes) = result {
            let after = u64::from(bad_bytes) + u64::from(extra_bytes);
            return Err(std::io::Error::other(self.malformed(self.position + (read as u64).saturating_sub(after))));
        }
        self.position += read as u64;
        Ok(())
    }

    fn begin(&mut self) {
        self.decoder = match (self.encoding, self.stored.as_slice()) {
            (TextEncoding::Latin1 | TextEncoding::Ascii, _) => None,
            (TextEncoding::Utf16, [0xfe, 0xff, ..]) => Some(UTF_16BE.new_decoder_with_bom_removal()),
            (TextEncoding::Utf16, _) => Some(UTF_16LE.new_decoder_with_bom_removal()),
            (TextEncoding::Known(encoding), _) => Some(encoding.new_decoder_with_bom_removal()),
        };
    }

    fn malformed(&self, at: u64) -> Error {
        let name = match self.encoding {
            TextEncoding::Latin1 => "ISO-8859-1",
            TextEncoding::Ascii => "ASCII",
            TextEncoding::Utf16 => "UTF-16",
            TextEncoding::Known(encoding) => encoding.name(),
        };
        let line = self.line;
        Error::invalid(format!("the text is not in {name}: byte {at} in line {line} does not belong to a character"))
            .advice(format!("set its own encoding with {ENCODING}"))
    }
}

impl Read for Utf8Reader {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        while self.utf8.is_given() && !self.is_done {
            self.fill()?;
        }
        Ok(self.utf8.give(buffer))
    }
}

#[cfg(test)]
mod tests;
