//! The format of a file by its first bytes, for names that do not give one.

use std::borrow::Cow;
use std::io::Read;

use lakerace_io::option::INPUT_FORMAT;
use lakerace_io::{Error, Result};

use crate::csv::{CSV, TSV, has_tabs};
use crate::excel::{EXCEL, is_document_part};
use crate::file_format::FileFormat;
use crate::json_lines::JSON;
use crate::options::CsvOptions;
use crate::text::{BYTE_ORDER_MARK, FileCompression};

/// The content of a file's first bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DetectedContent {
    /// A format that is known by its mark, or JSON.
    Known(&'static FileFormat),
    /// Text that is not JSON.
    Text,
    /// Only blanks, or an incomplete packed block: more bytes are needed.
    Unclear,
    /// A zip archive whose first file has a name without a known format.
    Archive,
    /// A compression that is not supported, by its name.
    Packed(&'static str),
    /// A format that is read from its end, packed as a whole.
    PackedFile(&'static FileFormat),
    /// Bytes of no known format.
    Unknown,
}

/// Bytes that are enough to detect the format of any compressed text: the longest block of zstd, and some more.
pub const PACKED_FRONT_BYTES: usize = 512 << 10;

/// Approximate length in bytes of a byte order mark and the longest mark of a format, or of the start of a JSON array.
const LONGEST_MARK_BYTES: usize = 16;

/// Compressions that are not supported, by their first bytes.
const UNREAD_PACKINGS: [(&[u8], &str); 2] = [(b"\x04\x22\x4d\x18", "lz4"), (b"\x1f\x9d", "compress")];

impl DetectedContent {
    /// Detects the content by the first bytes of a file. Compressed text is inspected decompressed, without a byte
    /// order mark and leading blank lines.
    pub fn detect(front: &[u8]) -> Self {
        match FileCompression::detect("", front) {
            FileCompression::None => Self::of_plain(front),
            FileCompression::Zip => Self::of_zip(front),
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

    /// A zip archive, whose content follows from the name of its first file. A workbook is one, too.
    fn of_zip(front: &[u8]) -> Self {
        const NAME_AT: usize = 30;
        let name_bytes = front.get(26..28).map_or(0, |bytes| usize::from(u16::from_le_bytes([bytes[0], bytes[1]])));
        let name = String::from_utf8_lossy(front.get(NAME_AT..NAME_AT + name_bytes).unwrap_or_default());
        match FileFormat::of_file_name(&name) {
            Some(format) if format.is_text() => Self::Known(format),
            Some(format) => Self::PackedFile(format),
            None if is_document_part(&name) => Self::Known(&EXCEL),
            None => Self::Archive,
        }
    }

    /// The format of text that is not JSON, by the first bytes of a file: TSV where each line has as many tabs, or CSV.
    pub fn table_of_text(front: &[u8], is_whole: bool, options: &CsvOptions) -> &'static FileFormat {
        if options.delimiter.is_some() || options.encoding.is_some() {
            return &CSV;
        }
        let (text, is_cut) = match FileCompression::detect("", front) {
            FileCompression::None => (Cow::Borrowed(front), !is_whole),
            compression => {
                let Ok(reader) = compression.decompress(std::io::Cursor::new(front.to_vec())) else { return &CSV };
                let mut text = Vec::new();
                let read = reader.take(PACKED_FRONT_BYTES as u64).read_to_end(&mut text);
                let is_cut = read.is_err() || !is_whole || text.len() == PACKED_FRONT_BYTES;
                (Cow::Owned(text), is_cut)
            }
        };
        let text = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&text);
        if has_tabs(text, !is_cut, options.skip_rows, options.comment.as_deref()) { &TSV } else { &CSV }
    }

    fn of_plain(front: &[u8]) -> Self {
        if let Some(format) = FileFormat::of_front(front, false) {
            return Self::Known(format);
        }
        if let Some((_, name)) = UNREAD_PACKINGS.iter().find(|(magic, _)| front.starts_with(magic)) {
            return Self::Packed(name);
        }
        // Text with several byte order marks is inspected without any; the reader reports the error.
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
                [b'{' | b'[' | b']' | b'"' | b'-' | b'0'..=b'9', ..] => Self::Known(&JSON),
                _ => Self::Text,
            },
            // Text in UTF-16 has zeros, and is refused by its mark.
            text if text.contains(&0) && !text.starts_with(b"\xff\xfe") && !text.starts_with(b"\xfe\xff") => {
                Self::Unknown
            }
            _ => Self::Text,
        }
    }

    /// The format of the file. Text that is not JSON has the format `text`; without it, the name has to give the
    /// format.
    ///
    /// # Errors
    /// `Invalid` for an empty file, `Unsupported` for compressions that are not supported, `Usage` for unknown formats.
    pub fn format(self, text: Option<&'static FileFormat>) -> Result<&'static FileFormat> {
        let say_it = || format!("set the format with {INPUT_FORMAT}");
        match self {
            Self::Known(format) => Ok(format),
            Self::Text => {
                text.ok_or_else(|| Error::usage("neither the name nor the content reveals the format").advice(say_it()))
            }
            Self::Unclear => {
                Err(Error::invalid("it is empty, starts with many blanks, or is truncated").advice(say_it()))
            }
            Self::Archive => {
                Err(Error::usage("it is a zip archive, and its name does not give the format of its file")
                    .advice(say_it()))
            }
            Self::Packed(name) => {
                Err(Error::unsupported(format!("it is compressed with {name}, which is not supported"))
                    .advice("decompress it first, or compress it with gzip or zstd"))
            }
            Self::PackedFile(FileFormat { title, .. }) => {
                Err(Error::unsupported(format!("the {title} file is compressed as a whole"))
                    .advice("decompress it first"))
            }
            Self::Unknown => Err(Error::usage("its content has no known format").advice(say_it())),
        }
    }
}

/// Returns true if these are the first bytes of a zip archive, which is read from its end.
pub fn is_zip(front: &[u8]) -> bool {
    FileCompression::detect("", front) == FileCompression::Zip
}

/// Decompresses the first bytes, without a byte order mark and leading blanks. The flag is true if the text ends
/// because more compressed bytes are needed.
fn decompressed(front: &[u8], compression: FileCompression) -> (Vec<u8>, bool) {
    const STEP_BYTES: u64 = 4096;
    // A few bytes may pack gigabytes of blanks.
    const BLANK_BYTES_AT_MOST: usize = 16 << 20;
    let mut text = Vec::new();
    let Ok(mut reader) = compression.decompress(std::io::Cursor::new(front.to_vec())) else { return (text, true) };
    let mut passed_bytes = 0;
    loop {
        // An end within a block ends the inspected text; the read itself reports damage.
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
