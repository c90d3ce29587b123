//! Counts in the answers of servers.

use bson::{Bson, Document};
use lakerace_io::{Error, Result};

/// The count that an answer has by this name; `None`: it has none.
///
/// # Errors
/// `Unsupported` for a value that is no integer: floating-point numbers can't represent all large counts.
pub(super) fn count(answer: &Document, name: &str) -> Result<Option<u64>> {
    let count = match answer.get(name) {
        None | Some(Bson::Null) => return Ok(None),
        Some(Bson::Int32(count)) => u64::try_from(*count).ok(),
        Some(Bson::Int64(count)) => u64::try_from(*count).ok(),
        Some(_) => None,
    };
    let shown = || answer.get(name).map_or_else(String::new, ToString::to_string);
    let not_exact =
        || Error::unsupported(format!("the server returned {name}: {}, which is not an exact count", shown()));
    count.map(Some).ok_or_else(not_exact)
}

#[cfg(test)]
mod tests;
