//! What a read or a load may say.

use std::num::NonZeroU64;
use std::path::PathBuf;

use arrow::datatypes::SchemaRef;

/// Rows of an acknowledged checkpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum BatchRows {
    /// The whole load is one checkpoint: it streams, and becomes visible at once where the system can do that.
    #[default]
    All,
    /// So many rows: when the target has acknowledged them, a load that is stopped goes on behind them.
    Rows(NonZeroU64),
}

/// What happens to rows that are there already.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum WriteMode {
    /// A target that exists is an error of kind `Conflict`.
    #[default]
    Error,
    /// The target is replaced when the new rows are complete.
    Overwrite,
    /// Rows are added.
    Append,
    /// Rows are inserted, or replace those of the same key.
    Upsert,
    /// Rows of these keys are removed.
    Delete,
}

/// How to read from a database.
#[derive(Debug, Clone, Default)]
pub struct SourceOptions {
    /// The types of the columns, where the caller knows them; else what a load kept beside the rows, else what all rows have.
    pub schema: Option<SchemaRef>,
}

/// How to load into a database.
#[derive(Debug, Clone, Default)]
pub struct SinkOptions {
    /// What happens to rows that are there already.
    pub mode: WriteMode,
    /// The columns of the primary key, in order; empty: none.
    pub key: Vec<String>,
    /// Rows of a checkpoint. The caller calls `Sink::checkpoint` behind so many; a sink may use it to size its requests.
    pub batch_rows: BatchRows,
    /// At most this many rows a second.
    pub max_rows_per_second: Option<NonZeroU64>,
    /// The name under which the target keeps which rows it has acknowledged: the same for the same rows of the same source.
    pub load_name: Option<String>,
    /// Go on behind the rows that a load of this name has acknowledged.
    pub resume: bool,
    /// A file of JSON lines that gets rejected rows, each with its key and the reason.
    pub dead_letter: Option<PathBuf>,
    /// Whether values may lose what the target's type can't hold, such as microseconds.
    pub allow_narrowing: bool,
}
