//! CSV text for callers that have an output of their own.

use arrow::datatypes::SchemaRef;
use arrow::record_batch::RecordBatch;
use lakerace_io::Result;

use super::format::{BatchFormatter, check_types};
use super::rules::{Dialect, DialectRules};
use crate::options::CsvOptions;
use crate::uuids::schema_with_uuid_texts;

/// Batches as lines of CSV or TBL, one after the other: the text that [`super::CsvSink`] writes.
#[derive(Debug)]
pub struct CsvLines {
    formatter: BatchFormatter,
    schema: SchemaRef,
    rows: u64,
}

impl CsvLines {
    /// Lines for batches of `schema`.
    ///
    /// # Errors
    /// `Unsupported` for a column that has no text, `Usage` for options that contradict one another.
    pub fn new(schema: SchemaRef, dialect: Dialect, options: &CsvOptions) -> Result<Self> {
        check_types(&schema_with_uuid_texts(&schema))?;
        Ok(Self { formatter: BatchFormatter::new(DialectRules::new(dialect, options)?), schema, rows: 0 })
    }

    /// The line of names; empty where the dialect or the options have none.
    pub fn header(&self) -> Result<Vec<u8>> {
        self.formatter.header(&self.schema)
    }

    /// Appends the rows of the next batch to `out`.
    pub fn append(&mut self, batch: &RecordBatch, out: &mut Vec<u8>) -> Result<()> {
        let first_row = self.rows + 1;
        self.rows += batch.num_rows() as u64;
        self.formatter.rows(batch, first_row, out)
    }
}
