//! Which version of a table is meant.

use std::str::FromStr;

use lakerace_format::predicate::time::parse_timestamp;
use lakerace_io::Error;

/// A version of a table by its number, or by a moment: the last version that was there then.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VersionSpec {
    /// A number, counted from 0.
    Version(u64),
    /// Milliseconds since 1970-01-01 00:00:00 UTC.
    Timestamp(i64),
}

impl FromStr for VersionSpec {
    type Err = Error;

    /// A number is a version; anything else a date or timestamp, in UTC where it has no offset.
    fn from_str(text: &str) -> Result<Self, Error> {
        if let Ok(version) = text.trim().parse() {
            return Ok(Self::Version(version));
        }
        let millis = parse_timestamp(text).and_then(|(nanos, _)| i64::try_from(nanos.div_euclid(1_000_000)).ok());
        millis.map(Self::Timestamp).ok_or_else(|| {
            Error::usage(format!("{text:?} is neither a version nor a timestamp"))
                .advice("write a number such as 12, or a time such as 2026-11-22T08:30:00Z")
        })
    }
}

#[cfg(test)]
mod tests;
