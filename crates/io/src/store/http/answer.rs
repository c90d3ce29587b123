//! The properties of a file in a server's answer: its size, its tag, and the range of the bytes that follow.

use std::ops::Range;

use http::HeaderMap;
use http::header::{CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_RANGE, ETAG, LAST_MODIFIED};
use object_store::ObjectMeta;
use object_store::path::Path;

use crate::error::{Error, Result};

/// The headers of an answer, checked.
#[derive(Debug)]
pub(super) struct FileAnswer {
    /// Bytes of the file, where the server says it.
    pub size_bytes: Option<u64>,
    /// The bytes that a partial answer has.
    pub range: Option<Range<u64>>,
    e_tag: Option<String>,
    last_modified: chrono::DateTime<chrono::Utc>,
}

impl FileAnswer {
    /// Reads the headers of an answer with this status, 200 or 206.
    pub(super) fn read(status: u16, headers: &HeaderMap) -> Result<Self> {
        let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
        if let Some(encoding) = text(CONTENT_ENCODING).filter(|encoding| !encoding.eq_ignore_ascii_case("identity")) {
            return Err(Error::unsupported(format!(
                "the server sends the file compressed ({encoding}), so its ranges are not ranges of the file"
            )));
        }
        let body_bytes = text(CONTENT_LENGTH).map(number).transpose()?;
        let modified = text(LAST_MODIFIED).and_then(|text| chrono::DateTime::parse_from_rfc2822(text).ok());
        let (range, size_bytes) = match status {
            206 => {
                let range =
                    text(CONTENT_RANGE).ok_or_else(|| wrong("a part of the file without its range (Content-Range)"))?;
                let (range, size) = content_range(range)?;
                (Some(range), size)
            }
            _ => (None, body_bytes),
        };
        if let (Some(range), Some(bytes)) = (&range, body_bytes)
            && range.end - range.start != bytes
        {
            return Err(wrong(&format!("{bytes} bytes for the range {}..{}", range.start, range.end)));
        }
        let e_tag = match (text(ETAG), modified, size_bytes) {
            (Some(tag), _, _) => Some(tag.to_owned()),
            // A file that was changed within a second to one of the same size is treated as the same.
            (None, Some(time), Some(size)) => Some(format!("{}-{size}", time.timestamp())),
            _ => None,
        };
        let last_modified = modified.map(|time| time.to_utc()).unwrap_or_default();
        Ok(Self { size_bytes, range, e_tag, last_modified })
    }

    /// The tag by which a later answer is known to be of the same file.
    pub(super) fn e_tag(&self) -> Option<&str> {
        self.e_tag.as_deref()
    }

    /// The file's properties as stores return them; it has `size_bytes` bytes.
    pub(super) fn meta(&self, location: &Path, size_bytes: u64) -> ObjectMeta {
        ObjectMeta {
            location: location.clone(),
            last_modified: self.last_modified,
            size: size_bytes,
            e_tag: self.e_tag.clone(),
            version: None,
        }
    }
}

/// `bytes 0-99/1000`: the range, and the size if known.
fn content_range(text: &str) -> Result<(Range<u64>, Option<u64>)> {
    let parsed = || {
        let (range, size) = text.trim().strip_prefix("bytes")?.trim_start().split_once('/')?;
        let (first, last) = range.trim().split_once('-')?;
        let (first, last) = (first.trim().parse::<u64>().ok()?, last.trim().parse::<u64>().ok()?);
        let size = match size.trim() {
            "*" => None,
            size => Some(size.parse::<u64>().ok()?),
        };
        (first <= last && size.is_none_or(|size| last < size)).then_some((first..last.checked_add(1)?, size))
    };
    parsed().ok_or_else(|| wrong(&format!("the invalid range {text:?} (Content-Range)")))
}

fn number(text: &str) -> Result<u64> {
    text.trim().parse().map_err(|_| wrong(&format!("the invalid length {text:?}")))
}

/// An answer that contradicts itself or the request.
pub(super) fn wrong(what: &str) -> Error {
    Error::corrupt(format!("the server answered with {what}"))
        .advice("it does not serve ranges as HTTP requires: download the file first")
}

#[cfg(test)]
mod tests;
