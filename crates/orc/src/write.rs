//! From batches to the bytes of a file.
//!
//! A [`Writer`] takes record batches and hands out pieces of bytes; the caller puts them after each other, into a file, an
//! upload, or memory. Rows are encoded a row group at a time, columns in parallel if asked; a stripe is handed out when its
//! encoded bytes reach the size that the options say, so that no more than a stripe is ever held. The bytes do not depend on
//! the number of threads, and not on how the rows were cut into batches, unless single rows are so large that a row group
//! does not fit a stripe.
//!
//! ```
//! use arrow::array::{Int64Array, RecordBatch};
//! use lakerace_orc::write::{Writer, WriterOptions};
//! use std::sync::Arc;
//!
//! let batch = RecordBatch::try_from_iter([("n", Arc::new(Int64Array::from(vec![1, 2, 3])) as _)])?;
//! let mut writer = Writer::new(batch.schema(), WriterOptions::default())?;
//! let mut pieces = writer.write(&batch)?;
//! let finished = writer.finish()?;
//! pieces.extend(finished.pieces);
//! assert_eq!(finished.rows, 3);
//! assert!(pieces.concat().starts_with(b"ORC"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod bloom;
mod booleans;
mod byte_strings;
mod column;
mod decimals;
mod file;
mod floats;
mod integers;
mod micros;
mod nested;
mod options;
mod size;
mod statistics;
mod stream;
mod text_bounds;
mod texts;
mod timestamps;
mod types;
mod values;

use arrow::array::{Array, ArrayRef, RecordBatch};
use arrow::compute::cast;
use arrow::datatypes::SchemaRef;
use bytes::Bytes;
use lakerace_exec::map_with_states;

use crate::encode::codec::BlockCompressor;
use crate::error::{Error, Result};
use crate::schema::{OrcKind, OrcType};

use column::ColumnWriter;
use file::OrcFileWriter;
pub use options::WriterOptions;
use statistics::Statistics;

/// Writes one file.
pub struct Writer {
    schema: SchemaRef,
    options: WriterOptions,
    columns: Vec<ColumnWriter>,
    compressors: Vec<BlockCompressor>,
    file: OrcFileWriter,
    /// Rows of the current row group and stripe.
    group_rows: usize,
    stripe_rows: usize,
    /// The entries of the root, one for each row group of the stripe.
    root_groups: Vec<u64>,
}

/// The parts of a finished file.
#[derive(Debug, Clone)]
pub struct WrittenParts {
    /// The last pieces of the file, in order.
    pub pieces: Vec<Bytes>,
    /// Rows of the file.
    pub rows: u64,
    /// Stripes of the file.
    pub stripes: usize,
    /// Bytes of the file.
    pub bytes: u64,
}

/// A piece of a batch that is encoded in one step takes at most this part of a stripe.
const PIECES_OF_STRIPE: usize = 8;

/// The part of its size by which a stripe may grow for the rest of a row group.
const ROOM_OF_STRIPE: usize = 4;

impl Writer {
    /// A writer of batches of `schema`.
    ///
    /// # Errors
    /// Unsupported for types that ORC does not have, with advice, and for codecs that are only read; Invalid for options out
    /// of range and for bloom filters of columns that are not there.
    pub fn new(schema: SchemaRef, options: WriterOptions) -> Result<Self> {
        let compressors = options.compressors()?;
        let root = OrcType::from_arrow(&types::stored_schema(&schema)?)?;
        let root = if options.spark_timestamps { root.with_micros() } else { root };
        let mut blooms = options.bloom_filters.clone();
        let mut columns = Vec::new();
        if let OrcKind::Struct(fields) = &root.kind {
            for (name, orc) in fields {
                columns.push(ColumnWriter::new(orc, name.clone(), &options, &mut blooms)?);
            }
        }
        if let Some(name) = blooms.first() {
            return Err(Error::invalid(format!("there is no column {name} to build a bloom filter for")));
        }
        let file = OrcFileWriter::new(&root, &options);
        let (group_rows, stripe_rows) = (0, 0);
        Ok(Self { schema, options, columns, compressors, file, group_rows, stripe_rows, root_groups: Vec::new() })
    }

    /// Appends a batch, and returns the pieces of finished stripes in order, often none.
    ///
    /// # Errors
    /// Invalid for a batch of another schema and for values that the file can't hold; the place names the column. The writer
    /// is of no use after an error.
    pub fn write(&mut self, batch: &RecordBatch) -> Result<Vec<Bytes>> {
        let arrays = self.arrays(batch)?;
        let limit = self.rows_at_once(batch);
        let mut start = 0;
        while start < batch.num_rows() {
            let group_rest = self.options.group_rows() - self.group_rows;
            let rows = (batch.num_rows() - start).min(group_rest).min(limit);
            self.append(&arrays, start, rows)?;
            start += rows;
            let encoded: usize = self.columns.iter().map(ColumnWriter::encoded_bytes).sum();
            // The boundaries of batches must not decide where stripes end, so a row group is finished unless it is
            // huge.
            let room = if self.group_rows == 0 { 0 } else { self.options.stripe_size / ROOM_OF_STRIPE };
            if encoded >= self.options.stripe_size.saturating_add(room) {
                self.end_stripe()?;
            }
        }
        Ok(self.file.take_pieces())
    }

    /// Ends the file and returns its last pieces.
    ///
    /// # Errors
    /// Those of [`Writer::write`].
    pub fn finish(mut self) -> Result<WrittenParts> {
        self.end_stripe()?;
        let mut statistics = vec![counts(self.file.rows())];
        self.columns.iter().for_each(|column| column.push_file_statistics(&mut statistics));
        let compressor = first(&mut self.compressors)?;
        self.file.finish(statistics, &self.options, compressor)
    }

    /// Bytes held: the encoded data of the current stripe, and allocated room.
    pub fn memory_bytes(&self) -> usize {
        self.columns.iter().map(ColumnWriter::memory_bytes).sum::<usize>() + self.file.memory_bytes()
    }

    /// The arrays of the batch, cast to the types that are encoded.
    fn arrays(&self, batch: &RecordBatch) -> Result<Vec<ArrayRef>> {
        let types = |schema: &SchemaRef| schema.fields().iter().map(|f| f.data_type().clone()).collect::<Vec<_>>();
        if types(&self.schema) != types(batch.schema_ref()) {
            return Err(Error::invalid(format!(
                "the batch has columns {:?}, but the file has {:?}",
                types(batch.schema_ref()),
                types(&self.schema)
            )));
        }
        batch.columns().iter().map(spread).collect()
    }

    /// Rows that are encoded before the size of the stripe is looked at again, where a row group of them is too large.
    fn rows_at_once(&self, batch: &RecordBatch) -> usize {
        let bytes: usize = batch.columns().iter().map(|column| size::value_bytes(column)).sum();
        let row = bytes / batch.num_rows().max(1);
        (self.options.stripe_size / PIECES_OF_STRIPE / row.max(1)).max(1)
    }

    /// Encodes rows that do not reach into the next row group.
    fn append(&mut self, arrays: &[ArrayRef], start: usize, rows: usize) -> Result<()> {
        let starts = self.group_rows == 0;
        let ends = self.group_rows + rows == self.options.group_rows();
        self.for_each_column(|nth, column, compressor| {
            if starts {
                column.start_group();
            }
            column.append(&arrays[nth].slice(start, rows), compressor)?;
            if ends { column.end_group(compressor) } else { Ok(()) }
        })?;
        self.group_rows += rows;
        self.stripe_rows += rows;
        if ends {
            self.root_groups.push(self.group_rows as u64);
            self.group_rows = 0;
        }
        Ok(())
    }

    fn end_stripe(&mut self) -> Result<()> {
        if self.stripe_rows == 0 {
            return Ok(());
        }
        let ends = self.group_rows > 0;
        if ends {
            self.root_groups.push(self.group_rows as u64);
        }
        let finished = self.for_each_column(|_, column, compressor| {
            if ends {
                column.end_group(compressor)?;
            }
            let mut finished = Vec::new();
            column.end_stripe(compressor, &mut finished)?;
            Ok(finished)
        })?;
        let columns = finished.into_iter().flatten().collect();
        let compressor = first(&mut self.compressors)?;
        let groups = self.root_groups.drain(..).map(counts).collect();
        self.file.push_stripe(columns, self.stripe_rows as u64, groups, counts(self.stripe_rows as u64), compressor)?;
        (self.group_rows, self.stripe_rows) = (0, 0);
        Ok(())
    }

    /// Calls `work` for every column of the table, on the writer's threads.
    fn for_each_column<R: Send>(
        &mut self,
        work: impl Fn(usize, &mut ColumnWriter, &mut BlockCompressor) -> Result<R> + Sync,
    ) -> Result<Vec<R>> {
        let threads = self.compressors.len().min(self.columns.len().max(1));
        let columns = self.columns.iter_mut().enumerate();
        let work =
            |compressor: &mut BlockCompressor, (nth, column): (usize, &mut ColumnWriter)| work(nth, column, compressor);
        map_with_states(&mut self.compressors[..threads], columns, work)
    }
}

/// The statistics of the root, which has only a number of rows.
fn counts(rows: u64) -> crate::proto::ColumnStatistics {
    let mut statistics = Statistics::new(&OrcKind::Struct(Vec::new()));
    statistics.values = rows;
    statistics.to_proto()
}

fn first(compressors: &mut [BlockCompressor]) -> Result<&mut BlockCompressor> {
    compressors.first_mut().ok_or_else(|| Error::internal("a writer has no compressor"))
}

fn spread(array: &ArrayRef) -> Result<ArrayRef> {
    let stored = types::spread_type(array.data_type());
    Ok(if stored == *array.data_type() { array.clone() } else { cast(array, &stored)? })
}
