//! Changing the rows of a Delta table: upsert by key, delete by keys or by a condition.

use lakerace_delta::{Changed, Compacted, DeleteOptions, SourceRows, Table, UpsertPlan};
use lakerace_io::{Job, Result, StorageOptions};

use crate::delta::open_table;
use crate::{CompactOptions, ReadOptions, parse_filter, typed};

/// How to upsert, or to delete by keys.
#[derive(Debug, Clone, Default)]
pub struct UpsertOptions {
    /// What to read of the source, where that is a location, and the settings of the stores.
    pub read: ReadOptions,
    /// What becomes of its rows.
    pub rows: lakerace_delta::UpsertOptions,
}

/// Inserts the rows of `source` into a Delta table, or replaces those that have their key.
pub fn upsert(table: &str, source: &str, options: &UpsertOptions, job: &Job) -> Result<Changed> {
    upsert_rows(table, read_for_table(table, source, options, job)?, options, job)
}

/// Like [`upsert`], with a compaction by [`CompactOptions::auto`] behind it, which goes on with the version that the upsert has made.
///
/// The rows are written whatever becomes of the compaction, which is `None` where there was nothing to upsert.
pub fn upsert_and_compact(
    table: &str,
    source: &str,
    options: &UpsertOptions,
    job: &Job,
) -> Result<(Changed, Option<Result<Compacted>>)> {
    let table = open_table(table, &options.read.storage, job)?;
    let changed = lakerace_delta::upsert(&table, rows_for(&table, source, options, job)?, &options.rows)?;
    let compact = |_| lakerace_delta::compact_behind(&table, &CompactOptions::auto().rules);
    let compacted = changed.written.version.map(compact);
    Ok((changed, compacted))
}

/// Like [`upsert`], from rows that the caller has: batches, or those of [`crate::Scan::source_rows`].
pub fn upsert_rows(table: &str, rows: SourceRows, options: &UpsertOptions, job: &Job) -> Result<Changed> {
    lakerace_delta::upsert(&open_table(table, &options.read.storage, job)?, rows, &options.rows)
}

/// What an upsert would do. Reads the source, and of the table no more than its log and footers.
pub fn explain_upsert(table: &str, source: &str, options: &UpsertOptions, job: &Job) -> Result<UpsertPlan> {
    explain_upsert_rows(table, read_for_table(table, source, options, job)?, options, job)
}

/// Like [`explain_upsert`], from rows that the caller has.
pub fn explain_upsert_rows(table: &str, rows: SourceRows, options: &UpsertOptions, job: &Job) -> Result<UpsertPlan> {
    lakerace_delta::explain_upsert(&open_table(table, &options.read.storage, job)?, rows, &options.rows)
}

/// Deletes the rows of a Delta table for which a SQL expression is true.
pub fn delete(
    table: &str,
    condition: &str,
    options: &DeleteOptions,
    storage: &StorageOptions,
    job: &Job,
) -> Result<Changed> {
    lakerace_delta::delete_with(&open_table(table, storage, job)?, &parse_filter(condition)?, options)
}

/// Deletes the rows of a Delta table that have the key of a row of `source`.
pub fn delete_keys(table: &str, source: &str, options: &UpsertOptions, job: &Job) -> Result<Changed> {
    delete_keys_rows(table, read_for_table(table, source, options, job)?, options, job)
}

/// Like [`delete_keys`], from rows that the caller has.
pub fn delete_keys_rows(table: &str, rows: SourceRows, options: &UpsertOptions, job: &Job) -> Result<Changed> {
    lakerace_delta::delete_keys(&open_table(table, &options.read.storage, job)?, rows, &options.rows)
}

/// The rows of a location for an upsert or a delete by keys. Columns of CSV whose type is not given have that of the table.
pub fn read_for_table(table: &str, source: &str, options: &UpsertOptions, job: &Job) -> Result<SourceRows> {
    rows_for(&open_table(table, &options.read.storage, job)?, source, options, job)
}

fn rows_for(table: &Table, source: &str, options: &UpsertOptions, job: &Job) -> Result<SourceRows> {
    typed::open(source, &options.read, table, options.rows.evolve, job)?.source_rows()
}
