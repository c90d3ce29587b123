//! Panics of other crates as errors of a damaged file.

use lakerace_io::{Error, Result, panics};
use parquet::errors::ParquetError;

/// Calls into the parquet crate, and converts its errors and panics to ours. Most of them are caused by damaged bytes.
pub(crate) fn guarded<T>(what: &str, call: impl FnOnce() -> Result<T, ParquetError>) -> Result<T> {
    match panics::caught(call) {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(error)) => Err(from_parquet(what, error)),
        Err(_) => Err(Error::corrupt(format!("{what} can't be decoded"))),
    }
}

/// Converts an error of the parquet crate. Our own errors that passed through it are returned unchanged.
pub(crate) fn from_parquet(what: &str, error: ParquetError) -> Error {
    match error {
        ParquetError::External(inner) => match inner.downcast::<Error>() {
            Ok(own) => *own,
            Err(other) => Error::corrupt(format!("{what}: {}", without_frames(&other.to_string()))),
        },
        ParquetError::NYI(message) => Error::unsupported(format!("{what}: {message}")),
        other => Error::corrupt(format!("{what}: {}", without_frames(&other.to_string()))),
    }
}

/// A text of the parquet crate without the names of its types.
pub(crate) fn without_frames(text: &str) -> &str {
    let mut text = text.trim();
    while let Some(rest) = FRAMES.iter().find_map(|frame| text.strip_prefix(frame)) {
        text = rest.trim_start();
    }
    text
}

/// Names of types that the parquet crate and its dependencies put before their messages.
pub(crate) const FRAMES: [&str; 8] = [
    "Parquet error: ",
    "Parquet argument error: ",
    "Arrow: ",
    "External: ",
    "EOF: ",
    "Parser error: ",
    "Invalid argument error: ",
    "Compute error: ",
];
