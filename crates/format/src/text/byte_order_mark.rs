//! The byte order mark before text.

use bytes::Bytes;
use lakerace_io::option::ENCODING;
use lakerace_io::{Error, Result};

/// The mark of UTF-8.
pub(crate) const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// The text after a byte order mark.
///
/// # Errors
/// `Invalid` for text in UTF-16 or UTF-32.
pub(crate) fn without_byte_order_mark(bytes: Bytes, url: &str) -> Result<Bytes> {
    if bytes.starts_with(BYTE_ORDER_MARK) {
        return Ok(bytes.slice(BYTE_ORDER_MARK.len()..));
    }
    if bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]) {
        return Err(Error::invalid("the file starts with the byte order mark of UTF-16 at byte 0, line 1")
            .at(url)
            .advice(format!(
                "read CSV with {}, and convert other files to UTF-8, for example with: iconv -f UTF-16 -t UTF-8",
                ENCODING.to("utf-16")
            )));
    }
    Ok(bytes)
}
