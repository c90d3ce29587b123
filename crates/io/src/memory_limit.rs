//! The least limit of memory for rows.

use crate::error::{Error, Result};
use crate::option::MEMORY_LIMIT;

/// Memory that there must be for each column, and twice for the rest.
const LEAST_COLUMN_BYTES: u64 = 16 << 10;

/// Returns an error where a memory limit is too small for some rows and a buffer for each of so many columns.
///
/// # Errors
/// `Usage`, with the least limit.
pub fn check_memory(memory_bytes: u64, columns: usize) -> Result<()> {
    let least = LEAST_COLUMN_BYTES * (columns as u64 + 2);
    if memory_bytes >= least {
        return Ok(());
    }
    let counted = |count: u64, noun: &str| format!("{count} {noun}{}", if count == 1 { "" } else { "s" });
    let (limit, columns) = (counted(memory_bytes, "byte"), counted(columns as u64, "column"));
    Err(Error::usage(format!("a memory limit of {limit} is too small for rows of {columns}"))
        .advice(format!("allow {least} bytes or more with {MEMORY_LIMIT}")))
}

#[cfg(test)]
mod tests;
