//! Targets of batches.

use std::sync::Arc;

use arrow::record_batch::RecordBatch;
use lakerace_io::option::BATCH_ROWS;
use lakerace_io::{Error, Result};
use serde::{Deserialize, Serialize};

/// Converts rows to those that a target stores, which may have other values, such as a null for a NaN.
pub type Narrowing = Arc<dyn Fn(&RecordBatch) -> Result<RecordBatch> + Send + Sync>;

/// Takes batches of one schema and makes them visible all together. A sink that is dropped before [`Self::finish`]
/// leaves nothing in the target.
pub trait Sink: Send {
    /// Takes a batch. Blocks while too many batches wait.
    fn write(&mut self, batch: RecordBatch) -> Result<()>;

    /// Makes the rows so far durable, and has the target acknowledge them: a load that is stopped after this continues there.
    /// A file is whole or not there, so its sinks refuse, as `Unsupported`.
    fn checkpoint(&mut self) -> Result<()> {
        Err(Error::unsupported("files are written whole, without checkpoints")
            .advice(format!("omit {BATCH_ROWS}, or use {}", BATCH_ROWS.to("all"))))
    }

    /// The number of first rows that the target acknowledged in an earlier load of the same name: the caller skips
    /// them.
    fn acknowledged_rows(&self) -> u64 {
        0
    }

    /// The conversion by which the target changes values; `None`: it stores them unchanged.
    fn narrowing(&self) -> Option<Narrowing> {
        None
    }

    /// Makes everything visible and returns the counts of rows and bytes.
    fn finish(self: Box<Self>) -> Result<Written>;
}

/// The outcome of a sink.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Written {
    /// Rows that the target has confirmed.
    pub rows: u64,
    /// Bytes as stored.
    pub bytes: u64,
    /// The files, by path or URL.
    pub files: Vec<String>,
    /// The version that they made of a table that has versions.
    pub version: Option<u64>,
    /// Columns of a new table that are nullable though the rows' are not, as `column.field`.
    pub made_nullable: Vec<String>,
    /// Rows that the target rejected, and that are in the dead-letter file.
    #[serde(default)]
    pub rejected: u64,
    /// Rows that were left out because an earlier load had them acknowledged.
    #[serde(default)]
    pub skipped: u64,
    /// The checksum of the sent rows, as 32 hexadecimal digits, if the target was read back and has the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checksum: Option<String>,
}
