//! Sorting more rows than fit into memory: by keys that are bytes, in runs on the local disk, which are then merged.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BinaryArray, RecordBatch};
use arrow::compute::interleave_record_batch;
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use arrow::error::ArrowError;
use lakerace_io::{Error, Result};
use tempfile::TempDir;

use crate::spill::{self, RunWriter};

/// Rows of a batch that is given, or written to a run.
const BATCH_ROWS: usize = 8192;
/// What a row takes beside its values and its key while it is sorted: its number.
const BYTES_PER_ROW: u64 = 8;

/// Takes rows with their keys and gives them back in the order of the keys; equal ones in the order that they came in.
pub(crate) struct Sorter {
    /// The rows' columns, and their keys as the last one.
    schema: SchemaRef,
    limit_bytes: u64,
    batches: Vec<RecordBatch>,
    bytes: u64,
    runs: Vec<PathBuf>,
    folder: Option<TempDir>,
}

impl Sorter {
    /// For rows of this schema, of which about `limit_bytes` stay in memory.
    pub fn new(schema: &Schema, limit_bytes: u64) -> Self {
        let key = Arc::new(Field::new("key", DataType::Binary, false));
        let fields: Vec<_> = schema.fields().iter().cloned().chain([key]).collect();
        let schema = Arc::new(Schema::new(fields));
        Self { schema, limit_bytes, batches: Vec::new(), bytes: 0, runs: Vec::new(), folder: None }
    }

    /// Takes rows; a key for each.
    pub fn push(&mut self, rows: &RecordBatch, keys: BinaryArray) -> Result<()> {
        if rows.num_rows() == 0 {
            return Ok(());
        }
        let columns: Vec<ArrayRef> = rows.columns().iter().cloned().chain([Arc::new(keys) as ArrayRef]).collect();
        let batch = RecordBatch::try_new(Arc::clone(&self.schema), columns).map_err(internal)?;
        self.bytes += batch.get_array_memory_size() as u64 + batch.num_rows() as u64 * BYTES_PER_ROW;
        self.batches.push(batch);
        if self.bytes >= self.limit_bytes { self.spill() } else { Ok(()) }
    }

    /// The rows in order, without their keys.
    pub fn finish(mut self) -> Result<Sorted> {
        let memory = sorted(std::mem::take(&mut self.batches));
        if self.runs.is_empty() {
            return Ok(Sorted { sources: vec![Source::memory(memory)?], _folder: None });
        }
        // What is in memory came last, and so is the last of those with equal keys.
        let runs = self.runs.iter().map(|path| Source::run(path));
        let sources = runs.chain([Source::memory(memory)]).collect::<Result<_>>()?;
        Ok(Sorted { sources, _folder: self.folder })
    }

    /// Puts what is in memory on the disk as a run.
    fn spill(&mut self) -> Result<()> {
        let folder = match &self.folder {
            Some(folder) => folder,
            None => self.folder.insert(spill::folder("lakerace-sort-")?),
        };
        let path = folder.path().join(format!("{}.arrow", self.runs.len()));
        let mut run = RunWriter::create(&path, &self.schema)?;
        for batch in sorted(std::mem::take(&mut self.batches)) {
            run.write(&batch.map_err(internal)?)?;
        }
        run.finish()?;
        self.bytes = 0;
        self.runs.push(path);
        Ok(())
    }
}

/// The rows of these batches in the order of their keys.
fn sorted(batches: Vec<RecordBatch>) -> impl Iterator<Item = Result<RecordBatch, ArrowError>> + Send {
    let keys: Vec<BinaryArray> = batches.iter().map(key_column).collect();
    let rows = keys.iter().map(Array::len).sum();
    let mut order: Vec<(u32, u32)> = Vec::with_capacity(rows);
    for (batch, keys) in keys.iter().enumerate() {
        order.extend((0..keys.len() as u32).map(|row| (batch as u32, row)));
    }
    order.sort_by(|a, b| keys[a.0 as usize].value(a.1 as usize).cmp(keys[b.0 as usize].value(b.1 as usize)));
    drop(keys);
    let mut given = 0;
    std::iter::from_fn(move || {
        let slice = &order[given..order.len().min(given + BATCH_ROWS)];
        given += slice.len();
        let places: Vec<(usize, usize)> = slice.iter().map(|(batch, row)| (*batch as usize, *row as usize)).collect();
        let batches: Vec<&RecordBatch> = batches.iter().collect();
        (!places.is_empty()).then(|| interleave_record_batch(&batches, &places))
    })
}

fn key_column(batch: &RecordBatch) -> BinaryArray {
    batch.columns().last().map(|keys| keys.as_binary::<i32>().clone()).unwrap_or_else(|| BinaryArray::new_null(0))
}

/// Sorted rows.
pub(crate) struct Sorted {
    sources: Vec<Source>,
    /// The runs, until the last row is read.
    _folder: Option<TempDir>,
}

/// A run, or what stayed in memory.
struct Source {
    batches: Box<dyn Iterator<Item = Result<RecordBatch>> + Send>,
    ahead: Option<Ahead>,
}

/// The batch that is being given.
struct Ahead {
    batch: RecordBatch,
    keys: BinaryArray,
    next: usize,
}

impl Source {
    fn memory(batches: impl Iterator<Item = Result<RecordBatch, ArrowError>> + Send + 'static) -> Result<Self> {
        Self::over(Box::new(batches.map(|batch| batch.map_err(internal))))
    }

    fn run(path: &Path) -> Result<Self> {
        let (reader, path) = (spill::open(path, None)?, path.to_owned());
        Self::over(Box::new(reader.map(move |batch| batch.map_err(|error| spill::broken(error, &path)))))
    }

    fn over(batches: Box<dyn Iterator<Item = Result<RecordBatch>> + Send>) -> Result<Self> {
        let mut source = Self { batches, ahead: None };
        source.advance()?;
        Ok(source)
    }

    fn advance(&mut self) -> Result<()> {
        let batch = self.batches.next().transpose()?;
        self.ahead = batch.map(|batch| Ahead { keys: key_column(&batch), batch, next: 0 });
        Ok(())
    }

    fn key(&self) -> Option<&[u8]> {
        self.ahead.as_ref().map(|ahead| ahead.keys.value(ahead.next))
    }
}

impl Sorted {
    /// The next rows in order.
    pub fn next_batch(&mut self) -> Result<Option<RecordBatch>> {
        if let [source] = self.sources.as_mut_slice() {
            let batch = source.ahead.take().map(|ahead| without_key(&ahead.batch)).transpose()?;
            source.advance()?;
            return Ok(batch);
        }
        // Batches that rows are taken from: those of all sources, and those that end meanwhile.
        let mut batches: Vec<RecordBatch> = Vec::new();
        let mut numbers: Vec<Option<usize>> = vec![None; self.sources.len()];
        let mut places = Vec::with_capacity(BATCH_ROWS);
        let keys = self.sources.iter().enumerate().filter_map(|(at, source)| Some((source.key()?.to_vec(), at)));
        let mut heap: BinaryHeap<Reverse<(Vec<u8>, usize)>> = keys.map(Reverse).collect();
        while places.len() < BATCH_ROWS {
            let Some(Reverse((_, at))) = heap.pop() else { break };
            let source = &mut self.sources[at];
            let Some(ahead) = &mut source.ahead else { continue };
            let number = *numbers[at].get_or_insert_with(|| {
                batches.push(ahead.batch.clone());
                batches.len() - 1
            });
            places.push((number, ahead.next));
            ahead.next += 1;
            if ahead.next == ahead.keys.len() {
                numbers[at] = None;
                source.advance()?;
            }
            if let Some(key) = source.key() {
                heap.push(Reverse((key.to_vec(), at)));
            }
        }
        if places.is_empty() {
            return Ok(None);
        }
        let all: Vec<&RecordBatch> = batches.iter().collect();
        without_key(&interleave_record_batch(&all, &places).map_err(internal)?).map(Some)
    }
}

fn without_key(batch: &RecordBatch) -> Result<RecordBatch> {
    batch.project(&(0..batch.num_columns() - 1).collect::<Vec<_>>()).map_err(internal)
}

fn internal(error: impl std::fmt::Display) -> Error {
    Error::internal(error.to_string())
}

#[cfg(test)]
#[path = "sort_tests.rs"]
mod tests;
