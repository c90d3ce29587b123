//! The format that the first bytes of a file tell, where its name tells none.

use std::io::Read;

use lakerace_io::option::INPUT_FORMAT;
use lakerace_io::{Error, Result};

use crate::FileFormat;
use crate::text::{BYTE_ORDER_MARK, FileCompression};

/// What the first bytes of a file are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Content {
    /// A format of its own mark, or JSON lines.
    Known(&'static FileFormat),
    /// Text that is no JSON.
    Text,
    /// Nothing but blanks, or a packed block that is not whole: more bytes tell more.
    Unclear,
    /// One JSON array, which is no JSON lines.
    JsonArray,
    /// A packing that is not read here, by its name.
    Packed(&'static str),
    /// A format that is read from its end, in gzip or zstd.
    PackedFile(&'static FileFormat),
    /// Bytes of no known format.
    Unknown,
}

/// Bytes that tell the format of any packed text: those of the longest block of zstd, and some.
pub const PACKED_FRONT_BYTES: usize = 512 << 10;

/// Bytes of a byte order mark and the longest mark of a format, or of the front of a JSON array, about.
const LONGEST_MARK_BYTES: usize = 16;

/// Packings that are not read, by how they begin.
const UNREAD_PACKINGS: [(&[u8], &str); 4] =
    [(b"\xfd7zXZ\0", "xz"), (b"\x04\x22\x4d\x18", "lz4"), (b"PK\x03\x04", "zip"), (b"\x1f\x9d", "compress")];

impl Content {
    /// What the first bytes of a file tell. Text in gzip or zstd is looked at unpacked, and without a byte order mark and blank lines
    /// in front.
    pub fn of(front: &[u8]) -> Self {
        match FileCompression::detect("", front) {
            FileCompression::None => Self::of_plain(front),
            compression => {
                let (text, is_cut) = decompressed(front, compression);
                match Self::of_plain(&text) {
                    Self::Known(format) if !format.is_text() => Self::PackedFile(format),
                    // A frame may end within a mark.
                    Self::Text | Self::Unknown if is_cut && text.len() < LONGEST_MARK_BYTES => Self::Unclear,
                    other => other,
                }
            }
        }
    }

    fn of_plain(front: &[u8]) -> Self {
        if let Some(format) = FileFormat::of_front(front, false) {
            return Self::Known(format);
        }
        if let [b'B', b'Z', b'h', b'1'..=b'9', b'1', b'A', b'Y', b'&', ..] = front {
            return Self::Packed("bzip2");
        }
        if let Some((_, name)) = UNREAD_PACKINGS.iter().find(|(magic, _)| front.starts_with(magic)) {
            return Self::Packed(name);
        }
        // Text with several marks is read without the first one: its reader says what is wrong with it.
        let mut text = front;
        while let Some(rest) = text.strip_prefix(BYTE_ORDER_MARK) {
            text = rest;
        }
        let text = text.trim_ascii_start();
        if let Some(format) = FileFormat::of_front(text, true) {
            return Self::Known(format);
        }
        match text {
            [] => Self::Unclear,
            [b'[', rest @ ..] => match rest.trim_ascii_start() {
                [] => Self::Unclear,
                [b'{' | b'[' | b']' | b'"' | b'-' | b'0'..=b'9', ..] => Self::JsonArray,
                _ => Self::Text,
            },
            // Text in UTF-16 has zeros, and is refused by its mark.
            text if text.contains(&0) && !text.starts_with(b"\xff\xfe") && !text.starts_with(b"\xfe\xff") => {
                Self::Unknown
            }
            _ => Self::Text,
        }
    }

    /// The format of the file. Text that is no JSON is taken for `text`; without it, the name has to say the format.
    ///
    /// # Errors
    /// `Invalid` for an empty file, `Unsupported` for JSON arrays and packings that are not read, `Usage` for unknown formats.
    pub fn format(self, text: Option<&'static FileFormat>) -> Result<&'static FileFormat> {
        let say_it = || format!("say the format by {INPUT_FORMAT}");
        match self {
            Self::Known(format) => Ok(format),
            Self::Text => {
                text.ok_or_else(|| Error::usage("neither the name nor the content says the format").advice(say_it()))
            }
            Self::Unclear => {
                Err(Error::invalid("it is empty, has only blanks in front, or is cut short").advice(say_it()))
            }
            Self::JsonArray => Err(Error::unsupported("it is one JSON array, and rows are read from lines of JSON")
                .advice("make each row a line, for example with: jq -c '.[]' FILE")),
            Self::Packed(name) => Err(Error::unsupported(format!("it is packed with {name}, which is not read"))
                .advice("unpack it first, or pack it with gzip or zstd")),
            Self::PackedFile(FileFormat { name, .. }) => {
                Err(Error::unsupported(format!("it is a {name} file in gzip or zstd")).advice("unpack it first"))
            }
            Self::Unknown => Err(Error::usage("its content is of no known format").advice(say_it())),
        }
    }
}

/// The text that packed bytes give after a byte order mark and blanks, and whether it ends for want of more packed bytes.
fn decompressed(front: &[u8], compression: FileCompression) -> (Vec<u8>, bool) {
    const STEP_BYTES: u64 = 4096;
    // A few bytes may pack gigabytes of blanks.
    const BLANK_BYTES_AT_MOST: usize = 16 << 20;
    let mut text = Vec::new();
    let Ok(mut reader) = compression.decompress(std::io::Cursor::new(front.to_vec())) else { return (text, true) };
    let mut passed_bytes = 0;
    loop {
        // An end within a block is the end of what is looked at; damage is found by the read.
        let read = reader.by_ref().take(STEP_BYTES).read_to_end(&mut text);
        if passed_bytes == 0 && text.starts_with(BYTE_ORDER_MARK) {
            text.drain(..BYTE_ORDER_MARK.len());
        }
        let is_blank = text.trim_ascii_start().is_empty();
        if !is_blank || passed_bytes > BLANK_BYTES_AT_MOST || !read.as_ref().is_ok_and(|bytes| *bytes > 0) {
            return (text, read.is_err());
        }
        passed_bytes += text.len();
        text.clear();
    }
}

#[cfg(test)]
mod tests;
