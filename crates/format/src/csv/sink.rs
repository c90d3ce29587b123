//! CSV and TBL files as a sink.

use arrow::datatypes::SchemaRef;
use arrow::record_batch::RecordBatch;
use lakerace_io::{Job, Output, Result};

use super::format::{BatchFormatter, check_types};
use super::rules::{Dialect, DialectRules};
use crate::options::WriteOptions;
use crate::sink::Sink;
use crate::text::{TextRows, TextSink};
use crate::uuids::schema_with_uuid_texts;

/// Writes one CSV or TBL file.
///
/// Read back with the same schema and options, it gives the same rows: floats are written with as many digits as it
/// takes, timestamps as ISO 8601 with `T`, and `Z` where the column has a time zone (of any name: the text is UTC, and
/// the zone's name is not kept), times with three, six or nine digits of a fraction where there is one, `true` and
/// `false`. Null is the first null string (nothing, by default); texts that would be read as null, the empty one
/// included, and those with a delimiter, quote or line end stand in quotes. Without quotes (TBL), an empty text reads back
/// as null, and a text with a delimiter or line end is an error.
///
/// The file is packed as its name says (`.gz`, `.zst`), or as the options say where the name says nothing. UUIDs become texts. Other
/// binary columns, and nested, duration and interval ones are `Unsupported`.
pub struct CsvSink;

impl CsvSink {
    /// Starts a file.
    ///
    /// # Errors
    /// `Unsupported` for a column that has no text, `Usage` for options that contradict one another or the file's name.
    pub fn create(
        output: Output,
        schema: SchemaRef,
        dialect: Dialect,
        options: &WriteOptions,
        job: &Job,
    ) -> Result<Box<dyn Sink>> {
        check_types(&schema_with_uuid_texts(&schema)).map_err(|error| error.at(output.url()))?;
        let formatter = BatchFormatter::new(DialectRules::new(dialect, &options.csv)?);
        let rows = CsvRows { formatter, schema: SchemaRef::clone(&schema) };
        TextSink::create(output, schema, Box::new(rows), options, job)
    }
}

struct CsvRows {
    formatter: BatchFormatter,
    schema: SchemaRef,
}

impl TextRows for CsvRows {
    fn header(&self) -> Result<Vec<u8>> {
        self.formatter.header(&self.schema)
    }

    fn append(&self, batch: &RecordBatch, first_row: u64, out: &mut Vec<u8>) -> Result<()> {
        self.formatter.rows(batch, first_row, out)
    }
}
