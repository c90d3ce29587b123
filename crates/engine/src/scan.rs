//! Scanning: open, plan, explain, read, count, checksum.

use std::fmt;
use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use lakerace_format::{Batches, CsvOptions, Format, ReadPlan, Source};
use lakerace_io::{Error, Job, Result, StorageOptions};
use serde::{Deserialize, Serialize};

/// What to read and how.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ReadOptions {
    /// Columns in the order wanted; `None`: all.
    pub columns: Option<Vec<String>>,
    /// A SQL expression.
    pub filter: Option<String>,
    /// At most this many rows.
    pub limit: Option<u64>,
    /// Rows in a batch at most.
    pub batch_rows: Option<usize>,
    /// The format, where the name does not say it.
    pub format: Option<Format>,
    /// How CSV is read.
    pub csv: CsvOptions,
    /// Settings of the store.
    pub storage: StorageOptions,
}

/// A source with a plan.
pub struct Scan {
    source: Arc<dyn Source>,
    plan: ReadPlan,
    job: Job,
}

/// A plan in words, with its price under the chosen and the alternative settings. `Display` is for people,
/// `Serialize` for `--json`.
#[derive(Debug, Clone, Serialize)]
pub struct Explain {
    /// The plan.
    pub plan: ReadPlan,
}

/// Row count and order-independent checksum of a set of rows; see `docs/checksum.md` for its definition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checksum {
    /// Rows.
    pub rows: u64,
    /// The sum.
    pub sum: u128,
}

impl Scan {
    /// Opens a location and plans the read: footers and the like are read, data is not.
    pub fn open(_location: &str, _options: &ReadOptions, _job: &Job) -> Result<Self> {
        Err(Error::unsupported("not yet"))
    }

    /// Opens a location for a plan that was made elsewhere, such as a part of [`ReadPlan::split`].
    pub fn with_plan(_location: &str, _options: &ReadOptions, _plan: ReadPlan, _job: &Job) -> Result<Self> {
        Err(Error::unsupported("not yet"))
    }

    /// The schema of the batches.
    pub fn schema(&self) -> SchemaRef {
        Arc::clone(&self.plan.schema)
    }

    /// The plan.
    pub fn plan(&self) -> &ReadPlan {
        &self.plan
    }

    /// The plan in words. Sends no request.
    pub fn explain(&self) -> Explain {
        Explain { plan: self.plan.clone() }
    }

    /// Starts reading. May be called again: each call reads anew.
    pub fn batches(&self) -> Result<Batches> {
        let _ = &self.job;
        self.source.read(&self.plan)
    }

    /// The number of rows; from metadata alone where that is exact.
    pub fn count(&self) -> Result<u64> {
        unimplemented!()
    }

    /// Row count and checksum of all rows of the scan.
    pub fn checksum(&self) -> Result<Checksum> {
        checksum(self.batches()?, &self.job)
    }
}

/// Row count and checksum of any batches, on `job`'s threads.
pub fn checksum(_batches: Batches, _job: &Job) -> Result<Checksum> {
    unimplemented!()
}

impl fmt::Display for Checksum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.sum)
    }
}

impl fmt::Display for Explain {
    fn fmt(&self, _f: &mut fmt::Formatter<'_>) -> fmt::Result {
        unimplemented!()
    }
}
