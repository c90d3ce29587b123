//! Delta as a table format.

use lakerace_format::{PARQUET, TableFormat};
use lakerace_io::option::{BLOOM_FILTER, COMPRESSION, FILE_BYTES, MEMORY_LIMIT, ROW_GROUP_BYTES, ROW_GROUP_ROWS};

/// Delta tables.
pub static DELTA: TableFormat = TableFormat {
    name: "delta",
    title: "Delta",
    scheme: "delta:",
    files: &PARQUET,
    options: &[&COMPRESSION, &ROW_GROUP_ROWS, &ROW_GROUP_BYTES, &BLOOM_FILTER, &FILE_BYTES, &MEMORY_LIMIT],
};
