//! What sources read and sinks write, file format by file format.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

// One binary for all of them: each would be linked with everything that is under test.
mod common;
mod compact_decimals;
mod csv_fuzz;
mod csv_inferred;
mod csv_read;
mod csv_round_trip;
mod extremes;
mod folder_sink;
mod foreign_files;
mod foreign_statistics;
mod logical_types;
mod nested_columns;
mod old_calendar;
mod orc;
mod parquet_hidden;
mod parquet_read;
mod parquet_row_groups;
mod parquet_write;
mod related_files;
mod skipped_days;
mod small_files;
mod text_keys;
mod used_fields;
