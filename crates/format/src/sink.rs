//! Where batches go.

use arrow::record_batch::RecordBatch;
use lakerace_io::Result;
use serde::{Deserialize, Serialize};

/// Takes batches of one schema and makes them visible all at once. Dropped before [`Self::finish`],
/// it leaves nothing behind.
pub trait Sink: Send {
    /// Takes a batch. Blocks while the sink is behind.
    fn write(&mut self, batch: RecordBatch) -> Result<()>;

    /// Makes everything visible and says what was written.
    fn finish(self: Box<Self>) -> Result<Written>;
}

/// What a sink wrote.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Written {
    /// Rows.
    pub rows: u64,
    /// Bytes as stored.
    pub bytes: u64,
    /// The files, by path or URL.
    pub files: Vec<String>,
    /// The version that they made of a table that has versions.
    pub version: Option<u64>,
}
