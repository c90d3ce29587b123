//! Data files whose rows are sorted by the table's key, as far as memory allows.

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use lakerace_io::Result;

use super::by_key::{ByKey, InOrder};
use super::files::DataFiles;
use super::published::PublishedFiles;

/// Writes rows into files, by key where there is one. If it is dropped before [`Self::publish`], all files are removed.
pub(crate) struct SortedFiles {
    files: DataFiles,
    by_key: Option<ByKey>,
}

impl SortedFiles {
    /// Files for rows of this schema, which are sorted by these columns on so many threads, with so many bytes of rows in
    /// memory. Without columns, or where they have no order, rows keep their own. `files` gets whether rows are sorted: they
    /// then share the memory with the files.
    pub fn new(
        schema: &SchemaRef,
        key: &[String],
        threads: usize,
        memory_bytes: Option<u64>,
        files: impl FnOnce(bool) -> Result<DataFiles>,
    ) -> Result<Self> {
        let by_key = ByKey::new(schema, key, threads, memory_bytes);
        Ok(Self { files: files(by_key.is_some())?, by_key })
    }

    /// Writes a batch.
    pub fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        let Self { files, by_key } = self;
        match by_key {
            Some(by_key) => by_key.write(batch, &mut |next| take_in(files, next)),
            None => files.write(batch),
        }
    }

    /// Ends all files and makes them visible in the table's folder. They are not the table's yet.
    pub fn publish(self) -> Result<PublishedFiles> {
        let Self { mut files, by_key } = self;
        if let Some(by_key) = by_key {
            by_key.finish(&mut |next| take_in(&mut files, next))?;
        }
        files.publish()
    }
}

fn take_in(files: &mut DataFiles, next: InOrder) -> Result<()> {
    match next {
        InOrder::Rows(batch) => files.write(&batch),
        InOrder::RunEnds => files.end_all(),
    }
}
