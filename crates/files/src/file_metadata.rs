//! Metadata of files: their time of modification, and JSON of the caller's.

use std::time::{SystemTime, UNIX_EPOCH};

use lakerace_io::{Error, Result};

/// Now, in milliseconds since 1970-01-01 UTC.
pub(crate) fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

/// Checks metadata, which is any JSON.
///
/// # Errors
/// `Invalid` for text that is no JSON.
pub(crate) fn check_metadata(metadata: Option<&str>) -> Result<()> {
    match metadata.map(serde_json::from_str::<serde::de::IgnoredAny>) {
        None | Some(Ok(_)) => Ok(()),
        Some(Err(e)) => Err(Error::invalid("the metadata is not valid JSON").because(e)),
    }
}
