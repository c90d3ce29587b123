//! Writing a Parquet file.
//!
//! A batch is cut at row group borders. The part of each column goes to that column's encoder, on the job's threads or,
//! with one thread, immediately. A row group ends at a number of rows or of encoded bytes, whichever is first,
//! independent of the ends of batches, so the same rows give the same file for any batches and any number of threads.
//! At most two row groups are in memory: one that takes rows and one whose last columns are being encoded.

mod doubtful_times;
pub(super) mod file;
pub(super) mod nested;
pub(super) mod options;
pub(super) mod pool;

use std::collections::VecDeque;
use std::sync::Arc;

use arrow::array::ArrayRef;
use arrow::compute::{CastOptions, cast_with_options};
use arrow::datatypes::SchemaRef;
use arrow::record_batch::RecordBatch;
use bytes::Bytes;
use lakerace_io::{Error, Job, Output, Result};

use self::file::FileParts;
use self::nested::NestedEncoder;
use self::options::{CheckedOptions, ColumnLayout, FileLayout};
use self::pool::{EncodePool, OpenRowGroup};
use super::encode::encoder::{ColumnEncoder, EncoderScratch};
use super::encode::flat_encoder;
use crate::array_bytes::array_bytes;
use crate::duplicates::refuse_to_write_duplicates;
use crate::options::WriteOptions;
use crate::sink::{Sink, Written};
use crate::whole_days::odd_date;

/// Limit of rows that go to an encoder together.
const SLICE_ROWS: usize = 65_536;
/// Approximate limit of bytes that go to the encoders together: a row group may exceed its size by as much.
const SLICE_BYTES: u64 = 16 << 20;

/// Bytes of a file that may wait to be written while the next row group is encoded.
const BEHIND_BYTES: u64 = 64 << 20;

/// Writes one Parquet file.
pub struct ParquetSink {
    encoder: FileEncoder,
    output: Output,
    job: Job,
}

impl ParquetSink {
    /// Starts a file of this schema. A type that Parquet can't hold, a bad option or an unknown bloom filter column is
    /// an error here, before anything is written.
    pub fn create(mut output: Output, schema: SchemaRef, options: &WriteOptions, job: &Job) -> Result<Box<dyn Sink>> {
        let url = output.url().to_owned();
        refuse_to_write_duplicates(&schema).map_err(|error| error.at(&url))?;
        let encoder = FileEncoder::new(schema, options, job).map_err(|e| e.at(url))?;
        if matches!(encoder.engine, WriteEngine::Threads { .. }) {
            output.write_behind(encoder.settings.row_group_bytes.min(BEHIND_BYTES) as usize);
        }
        Ok(Box::new(Self { encoder, output, job: job.clone() }))
    }
}

impl Sink for ParquetSink {
    fn write(&mut self, batch: RecordBatch) -> Result<()> {
        let (output, rows) = (&mut self.output, batch.num_rows() as u64);
        let written = self.encoder.write(batch, &mut |bytes| output.write(bytes));
        written.map_err(|e| e.at(self.output.url()))?;
        self.job.meter().wrote_rows(rows);
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<Written> {
        let Self { encoder, mut output, job } = *self;
        let url = output.url().to_owned();
        let rows = encoder.finish(&mut |bytes| output.write(bytes)).map_err(|e| e.at(&url))?;
        job.check()?;
        let bytes = output.position();
        output.finish()?;
        Ok(Written { rows, bytes, files: vec![url], ..Written::default() })
    }
}

/// Takes a file's bytes in their order.
type Emit<'a> = &'a mut dyn FnMut(Bytes) -> Result<()>;

/// Turns batches into the bytes of a file.
pub(crate) struct FileEncoder {
    schema: SchemaRef,
    settings: Arc<CheckedOptions>,
    layout: FileLayout,
    parts: FileParts,
    /// The first bytes, until they are emitted.
    magic: Option<Bytes>,
    job: Job,
    engine: WriteEngine,
    /// Rows of the row group under way.
    group_rows: usize,
}

enum WriteEngine {
    /// The caller's thread alone.
    Inline { scratch: Box<EncoderScratch>, encoders: Vec<Box<dyn ColumnEncoder>> },
    /// Several threads.
    Threads { pool: EncodePool, open: Option<OpenRowGroup>, closed: VecDeque<(OpenRowGroup, usize)> },
}

impl FileEncoder {
    /// An empty file.
    pub(crate) fn new(schema: SchemaRef, options: &WriteOptions, job: &Job) -> Result<Self> {
        let settings = Arc::new(CheckedOptions::new(options)?);
        let layout = FileLayout::new(&schema, options)?;
        let (parts, magic) = FileParts::new(Arc::clone(&layout.descriptor), layout.key_values.clone());
        // More threads than columns find nothing to do but the next row group.
        let threads = job.options().threads.min(2 * layout.columns.len());
        let pool = if threads > 1 { EncodePool::start(threads, &settings) } else { None };
        let engine = match pool {
            Some(pool) => WriteEngine::Threads { pool, open: None, closed: VecDeque::new() },
            None => WriteEngine::Inline { scratch: Box::new(EncoderScratch::new(&settings)), encoders: Vec::new() },
        };
        Ok(Self { schema, settings, layout, parts, magic: Some(magic), job: job.clone(), engine, group_rows: 0 })
    }

    /// Takes a batch; emits row groups when they are complete.
    pub(crate) fn write(&mut self, batch: RecordBatch, emit: Emit<'_>) -> Result<()> {
        self.check(&batch)?;
        if let Some(magic) = self.magic.take() {
            emit(magic)?;
        }
        let total = batch.num_rows();
        let row_bytes = batch.columns().iter().map(array_bytes).sum::<u64>() / total.max(1) as u64;
        let slice_rows = SLICE_BYTES.div_ceil(row_bytes.max(1)).min(SLICE_ROWS as u64) as usize;
        let mut at = 0;
        while at < total {
            self.job.check()?;
            let rows = slice_rows.min(total - at).min(self.settings.row_group_rows - self.group_rows);
            self.write_slice(&batch.slice(at, rows))?;
            at += rows;
            self.group_rows += rows;
            if self.group_rows >= self.settings.row_group_rows || self.is_full()? {
                self.close_group(emit)?;
            }
            self.emit_done(1, emit)?;
        }
        Ok(())
    }

    /// Ends the file; gives the number of its rows.
    pub(crate) fn finish(mut self, emit: Emit<'_>) -> Result<u64> {
        if let Some(magic) = self.magic.take() {
            emit(magic)?;
        }
        if self.group_rows > 0 {
            self.close_group(emit)?;
        }
        self.emit_done(0, emit)?;
        let rows = self.parts.rows();
        emit(self.parts.finish()?)?;
        Ok(rows)
    }

    fn check(&self, batch: &RecordBatch) -> Result<()> {
        let schema = batch.schema_ref();
        if Arc::ptr_eq(schema, &self.schema) {
            return Ok(());
        }
        if schema.fields().len() != self.schema.fields().len() {
            let (found, wanted) = (schema.fields().len(), self.schema.fields().len());
            return Err(Error::invalid(format!("a batch has {found} columns, but the file has {wanted}")));
        }
        for (found, wanted) in schema.fields().iter().zip(self.schema.fields()) {
            if found.data_type() != wanted.data_type() {
                let (found_type, wanted_type) = (found.data_type(), wanted.data_type());
                return Err(Error::invalid(format!("a batch has {found_type}, but the file has {wanted_type}"))
                    .at(format!("column {:?}", wanted.name())));
            }
        }
        Ok(())
    }

    fn write_slice(&mut self, batch: &RecordBatch) -> Result<()> {
        let Self { layout, settings, engine, job, .. } = self;
        match engine {
            WriteEngine::Inline { scratch, encoders } => {
                if encoders.is_empty() {
                    *encoders = new_encoders(layout, settings)?;
                }
                for ((column, array), encoder) in layout.columns.iter().zip(batch.columns()).zip(encoders) {
                    let named = |e: Error| e.at(format!("column {:?}", column.field.name()));
                    encoder.write(&stored_array(column, array)?, scratch).map_err(named)?;
                }
            }
            WriteEngine::Threads { pool, open, .. } => {
                let group = match open {
                    Some(group) => group,
                    None => {
                        let names = layout.columns.iter().map(|c| c.field.name().clone());
                        open.insert(OpenRowGroup::new(names.zip(new_encoders(layout, settings)?)))
                    }
                };
                for (at, (column, array)) in layout.columns.iter().zip(batch.columns()).enumerate() {
                    let array = stored_array(column, array)?;
                    let bytes = array_bytes(&array).max(1);
                    pool.submit(group, at, array, bytes)?;
                }
                pool.wait_for_room(job)?;
            }
        }
        Ok(())
    }

    /// Returns true if the row group under way has its bytes. With threads, some arrays may not be encoded yet: if
    /// these could make the difference, the call waits for them, so that the answer does not depend on the number of
    /// threads.
    fn is_full(&self) -> Result<bool> {
        let limit = self.settings.row_group_bytes;
        match &self.engine {
            WriteEngine::Inline { encoders, .. } => Ok(encoders.iter().map(|e| e.bytes()).sum::<u64>() >= limit),
            WriteEngine::Threads { pool, open: Some(group), .. } => {
                // Encoded bytes may exceed the arrays' own by headers and incompressible blocks.
                let at_most = group.encoded_bytes() + pool.waiting_bytes() * 5 / 4;
                if at_most < limit {
                    return Ok(false);
                }
                pool.wait_until_idle(&self.job)?;
                Ok(group.encoded_bytes() >= limit)
            }
            WriteEngine::Threads { .. } => Ok(false),
        }
    }

    fn close_group(&mut self, emit: Emit<'_>) -> Result<()> {
        let rows = std::mem::take(&mut self.group_rows);
        match &mut self.engine {
            WriteEngine::Inline { scratch, encoders } => {
                let mut chunks = Vec::with_capacity(self.layout.descriptor.num_columns());
                for (encoder, column) in std::mem::take(encoders).into_iter().zip(&self.layout.columns) {
                    let named = |e: Error| e.at(format!("column {:?}", column.field.name()));
                    chunks.extend(encoder.finish(scratch).map_err(named)?);
                }
                self.parts.row_group(chunks, rows as u64)?.into_iter().try_for_each(emit)
            }
            WriteEngine::Threads { pool, open, closed } => {
                if let Some(group) = open.take() {
                    pool.close(&group)?;
                    closed.push_back((group, rows));
                }
                Ok(())
            }
        }
    }

    /// Emits complete row groups, and waits for them while more than `leave` are closed.
    fn emit_done(&mut self, leave: usize, emit: Emit<'_>) -> Result<()> {
        let Self { parts, engine, job, .. } = self;
        if let WriteEngine::Threads { pool, closed, .. } = engine {
            while let Some((group, rows)) = closed.front() {
                if closed.len() <= leave && !group.is_done() {
                    break;
                }
                pool.wait_for(group, job)?;
                for piece in parts.row_group(group.take_chunks(), *rows as u64)? {
                    emit(piece)?;
                }
                closed.pop_front();
            }
        }
        Ok(())
    }
}

fn new_encoders(layout: &FileLayout, settings: &Arc<CheckedOptions>) -> Result<Vec<Box<dyn ColumnEncoder>>> {
    let encoder = |column: &ColumnLayout| -> Result<Box<dyn ColumnEncoder>> {
        if column.is_nested {
            return Ok(Box::new(NestedEncoder::new(column, &layout.descriptor, settings)?));
        }
        flat_encoder(&layout.descriptor.column(column.first_leaf), settings, !column.bloom.is_empty())
    };
    layout.columns.iter().map(encoder).collect()
}

/// An array in the units that are stored.
fn stored_array(column: &ColumnLayout, array: &ArrayRef) -> Result<ArrayRef> {
    if column.stored.data_type() == column.field.data_type() {
        return Ok(Arc::clone(array));
    }
    let named = |message: String| Error::invalid(message).at(format!("column {:?}", column.field.name()));
    if let Some(odd) = odd_date(array.as_ref()) {
        return Err(named(format!("the date64 value {odd} ms is not a whole day, but Parquet's dates are days"))
            .advice("cast the column to a timestamp"));
    }
    let options = CastOptions { safe: false, ..CastOptions::default() };
    cast_with_options(array, column.stored.data_type(), &options).map_err(|e| named(e.to_string()))
}
