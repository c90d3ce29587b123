//! The share of a limit of memory for files under way.

use lakerace_format::WriteOptions;
use lakerace_io::Result;
use lakerace_io::memory_limit::check_memory;

/// Bytes of a column in a row group at least, and of all columns together, where memory is little.
const LEAST_CHUNK_BYTES: u64 = 64 << 10;
const LEAST_ROW_GROUP_BYTES: u64 = 16 << 20;

/// The options of files with so many columns, within the limit of memory that the options name. Rows that are sorted by
/// key share it with the row groups.
pub(super) fn limited(options: &WriteOptions, columns: usize, is_sorted: bool) -> Result<WriteOptions> {
    let Some(bytes) = options.memory_bytes else { return Ok(options.clone()) };
    check_memory(bytes, columns)?;
    Ok(if is_sorted { within_memory(options, bytes, columns) } else { options.clone() })
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
