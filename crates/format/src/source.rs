//! Sources of batches.

use std::collections::{BTreeMap, BTreeSet};

use arrow::datatypes::SchemaRef;
use arrow::record_batch::RecordBatch;
use lakerace_exec::OwningProcess;
use lakerace_io::{PathProfile, Result, Wanted};
use serde::{Deserialize, Serialize};

use crate::plan::{ReadPlan, ReadRequest};
use crate::predicate::Value;

/// A data source with a schema: files, a table, a generator. Opening it reads only what the schema needs (footers, a
/// CSV sample).
pub trait Source: Send + Sync {
    /// The schema of all its columns.
    fn schema(&self) -> SchemaRef;

    /// The facts that are known without reading data.
    fn info(&self) -> SourceInfo;

    /// Plans a read. Reads metadata at most (page indexes, bloom filters).
    fn plan(&self, request: &ReadRequest) -> Result<ReadPlan>;

    /// Runs a plan made by this source (or by an equal one in another process). The batches
    /// are in the order of the files and of the rows in them, filtered and projected exactly as asked.
    fn read(&self, plan: &ReadPlan) -> Result<Batches>;

    /// Reads like [`Self::read`]. These columns may have their [`compact_type`](crate::compact_type), which the schema of
    /// the batches says then. A source does that where it costs no work.
    fn read_compact(&self, plan: &ReadPlan, columns: &[String]) -> Result<Batches> {
        let _ = columns;
        self.read(plan)
    }

    /// The byte ranges that a plan of this source needs, and the cost of the path to them: the input of its request
    /// planning, to price them under other settings. `None` if a source has none. Sends no request.
    fn wanted(&self, plan: &ReadPlan) -> Result<Option<(Vec<Wanted>, PathProfile)>> {
        let _ = plan;
        Ok(None)
    }

    /// Returns true if rows are left out because of the values in their columns: their number depends on the columns
    /// that are read.
    fn leaves_out_rows(&self) -> bool {
        false
    }

    /// The owners of the columns that files have and that their places give as well.
    fn column_owners(&self) -> ColumnOwners {
        ColumnOwners::default()
    }

    /// The least and the greatest value of a column in all rows, if metadata contains them exactly. Reads only
    /// metadata.
    fn extremes(&self, column: &str) -> Result<Option<Extremes>> {
        let _ = column;
        Ok(None)
    }
}

/// Columns that files have and that their places give as well. One file, the first of all of a table, says whose values
/// are read, so that they do not depend on the files that a filter leaves.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ColumnOwners {
    /// Columns that the first file has: the values in files are read, and those of the places in files without the
    /// column. A file's place does not tell whether a filter is true for its rows.
    pub files: BTreeSet<String>,
    /// Columns that the first file lacks: the values of the places are read in all files. Each with the URL of a file
    /// that has it.
    pub places: BTreeMap<String, String>,
}

/// The least and the greatest value of a column; `None` where no row has one.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Extremes {
    /// The least.
    pub min: Option<Value>,
    /// The greatest.
    pub max: Option<Value>,
}

/// A stream of batches, pulled by a blocking `next`. After an error it ends. Dropped, it stops its threads. In a process that is forked
/// from its own, it has one error.
pub struct Batches {
    schema: SchemaRef,
    /// `None` only while it is dropped.
    iterator: Option<Box<dyn Iterator<Item = Result<RecordBatch>> + Send>>,
    failed: bool,
    /// The process whose threads make the batches.
    owner: OwningProcess,
}

impl Batches {
    /// A stream of batches with this schema.
    pub fn new(schema: SchemaRef, iterator: impl Iterator<Item = Result<RecordBatch>> + Send + 'static) -> Self {
        Self { schema, iterator: Some(Box::new(iterator)), failed: false, owner: OwningProcess::current() }
    }

    /// The schema of every batch.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }
}

impl Iterator for Batches {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.failed {
            return None;
        }
        if let Err(forked) = self.owner.check() {
            self.failed = true;
            return Some(Err(forked.into()));
        }
        let next = self.iterator.as_mut()?.next();
        self.failed = matches!(next, Some(Err(_)));
        next
    }
}

impl Drop for Batches {
    fn drop(&mut self) {
        // Threads of the other process may have had its locks at the fork.
        if self.owner.is_forked() {
            std::mem::forget(self.iterator.take());
        }
    }
}

/// Information on a source that is known without reading its data.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceInfo {
    /// `parquet`, `csv`, …
    pub format: String,
    /// Rows, where the metadata says so.
    pub rows: Option<u64>,
    /// Files.
    pub files: u64,
    /// Bytes of these files as stored.
    pub bytes: u64,
    /// Row groups, stripes, …, where known.
    pub units: Option<u64>,
}
