//! Options of reads and loads.

use std::fmt;
use std::num::NonZeroU64;
use std::path::PathBuf;
use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use arrow::record_batch::RecordBatch;
use lakerace_io::option::DEAD_LETTER;
use lakerace_io::{Result, WriteMode};

/// Rows of an acknowledged checkpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum BatchRows {
    /// The whole load is one checkpoint: it streams, and becomes visible atomically where the system supports this.
    #[default]
    All,
    /// A number of rows: after the target has acknowledged them, a load that is stopped continues after them.
    Rows(NonZeroU64),
}

/// How to read from a database.
#[derive(Debug, Clone, Default)]
pub struct SourceOptions {
    /// The types of the columns, where the caller knows them; otherwise those that a load kept next to the rows, or
    /// those of all rows.
    pub schema: Option<SchemaRef>,
    /// The types that an earlier read has found: not all rows are looked at again. A value or a field that does not fit them is an
    /// error. They count where neither the caller nor the database knows a type.
    pub known: Option<SchemaRef>,
    /// Documents from which on a collection of MongoDB is read in parts; `None`: as many as make it worth while.
    pub split_documents: Option<u64>,
}

/// The run that a state of a target belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fence {
    /// The name of the state. Its text is JSON, with the run's token as `owner.token`.
    pub state: String,
    /// The token of the run.
    pub token: String,
}

/// How to load into a database.
#[derive(Debug, Clone, Default)]
pub struct SinkOptions {
    /// The treatment of existing rows.
    pub mode: WriteMode,
    /// The columns of the primary key, in order; empty: none.
    pub key: Vec<String>,
    /// Rows of a checkpoint. The caller calls `Sink::checkpoint` after each; a sink may use it to size its requests.
    pub batch_rows: BatchRows,
    /// At most this many rows a second. The caller paces its batches; a sink may spread its requests by it.
    pub max_rows_per_second: Option<NonZeroU64>,
    /// The name under which the target keeps which rows it has acknowledged: the same for the same rows of the same
    /// source. It has the form `SOURCE@VERSION`; the text before the last `@` is the same for all versions of the
    /// source. `None`: another read of the source would not return the same order.
    pub load_name: Option<String>,
    /// Go on after the rows that a load of this name has acknowledged.
    pub resume: bool,
    /// A file of JSON lines that gets rejected rows, each with its key and the reason.
    pub dead_letter: Option<PathBuf>,
    /// True if values may lose what the target's type can't hold, such as microseconds.
    pub allow_narrowing: bool,
    /// The listener that gets each rejected row.
    pub on_rejected: OnRejected,
    /// The name of the state ([`crate::TargetState`]) of the job that the load is a part of. A load that replaces rows
    /// removes the target's other states, as their jobs would otherwise continue after rows that are gone. Only this
    /// state stays.
    pub job_state: Option<String>,
    /// The run that the load is a part of. A target with transactions rejects the rows of a run that another one has
    /// taken over; for other targets, the caller checks this between two writes.
    pub fence: Option<Fence>,
    /// True if a table gets the columns that it lacks, where its system has a schema and lakerace has made it.
    pub adds_columns: bool,
}

impl SinkOptions {
    /// Advice where the target rejects rows. A job that follows a table has no dead-letter file.
    pub(crate) fn advice_on_rejected(&self) -> String {
        if self.adds_columns {
            return "fix these rows in the table that is followed, then run it again".to_owned();
        }
        format!("fix these rows, or set them aside with {}", DEAD_LETTER.to("FILE"))
    }
}

type Listener = dyn Fn(&RecordBatch) -> Result<()> + Send + Sync;

/// A listener that gets each rejected row, as a batch of one row.
#[derive(Clone, Default)]
pub struct OnRejected(Option<Arc<Listener>>);

impl OnRejected {
    /// Calls `listener` for each row.
    pub fn new(listener: impl Fn(&RecordBatch) -> Result<()> + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(listener)))
    }

    pub(crate) fn call(&self, one: &RecordBatch) -> Result<()> {
        self.0.as_ref().map_or(Ok(()), |listener| listener(one))
    }
}

impl fmt::Debug for OnRejected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "OnRejected" } else { "none" })
    }
}
