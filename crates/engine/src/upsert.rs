//! Changing the rows of a Delta table: upsert by key, delete by a condition.

use lakerace_delta::{Changed, OnDuplicate};
use lakerace_format::{Batches, WriteOptions};
use lakerace_io::{Job, Result, StorageOptions};

use crate::delta::open_table;
use crate::{ReadOptions, Scan, parse_filter};

/// How to upsert.
#[derive(Debug, Clone)]
pub struct UpsertOptions {
    /// What to read of the source, where that is a location.
    pub read: ReadOptions,
    /// The key's columns; none: those that the table names (`lakerace.primaryKey`).
    pub key: Vec<String>,
    /// Rows of the source with the same key.
    pub on_duplicate: OnDuplicate,
    /// Bytes that the source's rows may take in memory.
    pub memory_bytes: u64,
    /// How new files are written.
    pub write: WriteOptions,
}

/// Memory of an upsert, unless options say otherwise.
const MEMORY_BYTES: u64 = 1 << 30;

impl Default for UpsertOptions {
    fn default() -> Self {
        Self {
            read: ReadOptions::default(),
            key: Vec::new(),
            on_duplicate: OnDuplicate::default(),
            memory_bytes: MEMORY_BYTES,
            write: WriteOptions::default(),
        }
    }
}

/// Inserts the rows of `source` into a Delta table, or replaces those that have their key.
pub fn upsert(table: &str, source: &str, options: &UpsertOptions, job: &Job) -> Result<Changed> {
    let scan = Scan::open(source, &options.read, job)?;
    upsert_batches(table, scan.batches()?, options, job)
}

/// Like [`upsert`], from batches that the caller makes.
pub fn upsert_batches(table: &str, batches: Batches, options: &UpsertOptions, job: &Job) -> Result<Changed> {
    let table = open_table(table, &options.read.storage, job)?;
    let options = lakerace_delta::UpsertOptions {
        key: options.key.clone(),
        on_duplicate: options.on_duplicate,
        memory_bytes: options.memory_bytes,
        write: options.write.clone(),
    };
    lakerace_delta::upsert(&table, batches, &options)
}

/// Deletes the rows of a Delta table for which a SQL expression is true.
pub fn delete(table: &str, condition: &str, storage: &StorageOptions, job: &Job) -> Result<Changed> {
    lakerace_delta::delete(&open_table(table, storage, job)?, &parse_filter(condition)?)
}
