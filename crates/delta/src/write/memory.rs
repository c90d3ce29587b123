//! The share of a limit of memory for files under way.

use lakerace_format::WriteOptions;
use lakerace_io::option::MEMORY_LIMIT;
use lakerace_io::{Error, Result};

/// Memory that there must be for each column, and twice for the rest.
const LEAST_COLUMN_BYTES: u64 = 16 << 10;

/// Bytes of a column in a row group at least, and of all columns together, where memory is little.
const LEAST_CHUNK_BYTES: u64 = 64 << 10;
const LEAST_ROW_GROUP_BYTES: u64 = 16 << 20;

/// Returns an error where a memory limit is too small for some rows and a buffer for each of so many columns.
pub(crate) fn check_memory(memory_bytes: u64, columns: usize) -> Result<()> {
    let least = LEAST_COLUMN_BYTES * (columns as u64 + 2);
    if memory_bytes >= least {
        return Ok(());
    }
    let plural = if columns == 1 { "" } else { "s" };
    Err(Error::usage(format!(
        "a memory limit of {memory_bytes} bytes is too small for rows of {columns} column{plural}"
    ))
    .advice(format!("allow {least} bytes or more with {MEMORY_LIMIT}")))
}

/// Limits the row groups of files with so many columns by memory: two of them fit into a quarter of it, or, unless
/// options ask for larger ones, into a twelfth, because rows that are encoded sooner are written sooner, and their
/// memory is used again. Each column gets a minimum of bytes, since its metadata in the footer takes memory, too.
pub(crate) fn within_memory(options: &WriteOptions, memory_bytes: u64, columns: usize) -> WriteOptions {
    let (usual, most, least) = (memory_bytes / 24, memory_bytes / 8, least_bytes(columns));
    let asked = options.row_group_bytes.unwrap_or(usual.max(least));
    let row_group_bytes = asked.min(most.max(least)).max(1);
    WriteOptions { row_group_bytes: Some(row_group_bytes), ..options.clone() }
}

/// Limits row groups to a quarter of the memory: for rows that are written immediately, one after the other.
pub(crate) fn streamed_within_memory(options: &WriteOptions, memory_bytes: u64, columns: usize) -> WriteOptions {
    let most = (memory_bytes / 4).max(least_bytes(columns));
    WriteOptions { row_group_bytes: Some(options.row_group_bytes.unwrap_or(most).min(most)), ..options.clone() }
}

fn least_bytes(columns: usize) -> u64 {
    (columns as u64 * LEAST_CHUNK_BYTES).min(LEAST_ROW_GROUP_BYTES)
}
