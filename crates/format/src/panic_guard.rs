//! Panics of other crates as errors of a damaged file.

use lakerace_io::{Error, Result, panics};
use parquet::errors::ParquetError;

/// Calls into the parquet crate: its errors and panics become ours. Damaged bytes are what both mostly come from.
pub(crate) fn guarded<T>(what: &str, call: impl FnOnce() -> Result<T, ParquetError>) -> Result<T> {
    match panics::caught(call) {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(error)) => Err(from_parquet(what, error)),
        Err(_) => Err(Error::corrupt(format!("{what} can't be decoded"))),
    }
}

/// An error of the parquet crate as ours. Errors of our own that travelled through it come out unchanged.
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

/// Names of types that the parquet crate and those below it put in front of their messages.
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
