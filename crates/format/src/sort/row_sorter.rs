//! Sorting more rows than fit into memory: by keys that are bytes, in runs on the local disk, which are then merged.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BinaryArray, RecordBatch, RecordBatchOptions};
use arrow::compute::interleave;
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use lakerace_io::{Error, Result};

use super::spill::{self, SpillFile};
use crate::exec::is_large_row;
use crate::nested_types::contains_type;
use crate::own_texts::with_own_texts;

/// Rows of a batch that is given, or written to a run.
const BATCH_ROWS: usize = 8192;
/// Runs that are read side by side at most: then they become one.
const RUNS_AT_MOST: usize = 64;
/// The least number of runs of large rows that are merged together: fewer would be written again too often.
const LEAST_RUNS_AT_ONCE: usize = 4;
/// Rows of a batch that is merged at least, unless they are large.
const LEAST_MERGED_ROWS: usize = 64;
/// Input batches of one output batch at most: each of them occupies memory.
const BATCHES_AT_MOST: usize = 1024;
/// Bytes of a row next to its values and its key while it is sorted: its number.
const BYTES_PER_ROW: u64 = 8;

/// Sorts rows by their keys, which are bytes; rows with equal keys keep their order.
///
/// Rows that do not fit in memory are on the local disk for a while.
pub struct RowSorter {
    /// The rows' columns, and their keys as the last one.
    schema: SchemaRef,
    limit_bytes: u64,
    batches: Vec<RecordBatch>,
    bytes: u64,
    runs: Vec<spill::RunLocation>,
    spill: Option<SpillFile>,
    /// Rows of a batch of the runs at most.
    run_rows: usize,
    /// Bytes of a row, on average, in the run where it is largest.
    row_bytes: u64,
}

impl RowSorter {
    /// For rows of this schema, of which approximately `limit_bytes` stay in memory.
    pub fn new(schema: &Schema, limit_bytes: u64) -> Self {
        let key = Arc::new(Field::new("key", DataType::Binary, false));
        let fields: Vec<_> = schema.fields().iter().cloned().chain([key]).collect();
        let schema = Arc::new(Schema::new(fields));
        Self {
            schema,
            limit_bytes,
            batches: Vec::new(),
            bytes: 0,
            runs: Vec::new(),
            spill: None,
            run_rows: BATCH_ROWS,
            row_bytes: 0,
        }
    }

    /// Adds rows, with a key for each.
    pub fn push(&mut self, rows: &RecordBatch, keys: BinaryArray) -> Result<()> {
        if rows.num_rows() == 0 {
            return Ok(());
        }
        let columns: Vec<ArrayRef> = rows.columns().iter().cloned().chain([Arc::new(keys) as ArrayRef]).collect();
        let batch = RecordBatch::try_new(Arc::clone(&self.schema), columns).map_err(Error::unexpected)?;
        self.bytes += batch.get_array_memory_size() as u64 + batch.num_rows() as u64 * BYTES_PER_ROW;
        self.batches.push(batch);
        if self.bytes >= self.limit_bytes { self.spill() } else { Ok(()) }
    }

    /// The rows in order, without their keys.
    pub fn finish(mut self) -> Result<SortedBatches> {
        let batch_rows = self.batch_rows();
        if self.is_large() && self.spill.is_some() && !self.batches.is_empty() {
            // Large rows are copied into the output: the rows in memory would take space in addition to the copies.
            self.spill()?;
        }
        let memory = sorted(std::mem::take(&mut self.batches), batch_rows);
        let merged_rows = self.merged_rows(batch_rows);
        let Some(spill) = &self.spill else {
            return Ok(SortedBatches { sources: vec![RowSource::memory(memory)?], merged_rows });
        };
        // The rows in memory came last, so that they follow all others with equal keys.
        let runs = self.runs.iter().map(|run| RowSource::run(spill, *run));
        let sources = runs.chain([RowSource::memory(memory)]).collect::<Result<_>>()?;
        Ok(SortedBatches { sources, merged_rows })
    }

    /// Returns true if more rows will soon be written to the disk, or have been.
    pub fn is_crowded(&self) -> bool {
        self.bytes > self.limit_bytes / 2 || self.spill.is_some()
    }

    /// Writes the rows in memory to the disk as a run.
    fn spill(&mut self) -> Result<()> {
        let mut spill = match self.spill.take() {
            Some(spill) => spill,
            None => SpillFile::create()?,
        };
        let batch_rows = self.batch_rows();
        if self.runs.len() >= self.runs_at_most() {
            let joined = self.join(&mut spill)?;
            self.runs.drain(..).for_each(|run| spill.forget(run));
            self.runs.push(joined);
        }
        let mut run = spill.begin(&self.schema)?;
        self.run_rows = batch_rows;
        for batch in sorted(std::mem::take(&mut self.batches), batch_rows) {
            run.write(&batch?)?;
        }
        self.runs.push(run.finish()?);
        self.bytes = 0;
        self.spill = Some(spill);
        Ok(())
    }

    /// Makes one run of all.
    fn join(&self, spill: &mut SpillFile) -> Result<spill::RunLocation> {
        let sources = self.runs.iter().map(|run| RowSource::run(spill, *run)).collect::<Result<_>>()?;
        let mut all = SortedBatches { sources, merged_rows: self.merged_rows(self.run_rows) };
        let mut run = spill.begin(&self.schema)?;
        while let Some(batch) = all.next_stored()? {
            run.write(&batch)?;
        }
        run.finish()
    }

    /// Rows of a batch so that one of each run takes half of the memory, at most, if all rows are like those in memory.
    fn batch_rows(&mut self) -> usize {
        let rows: usize = self.batches.iter().map(RecordBatch::num_rows).sum();
        let row_bytes = (self.bytes / rows.max(1) as u64).max(1);
        self.row_bytes = self.row_bytes.max(row_bytes);
        let most = self.limit_bytes / 2 / RUNS_AT_MOST as u64 / row_bytes;
        usize::try_from(most).unwrap_or(BATCH_ROWS).clamp(1, self.run_rows)
    }

    fn is_large(&self) -> bool {
        is_large_row(self.row_bytes, self.schema.fields().len())
    }

    /// Runs that are read together, a batch of each: fewer where a large row of each would take more than half of the
    /// memory.
    fn runs_at_most(&self) -> usize {
        if !self.is_large() {
            return RUNS_AT_MOST;
        }
        let fitting = self.limit_bytes / 2 / self.row_bytes.max(1);
        usize::try_from(fitting).unwrap_or(RUNS_AT_MOST).clamp(LEAST_RUNS_AT_ONCE, RUNS_AT_MOST)
    }

    /// Rows of a batch that is merged from several runs, whose batches have so many.
    fn merged_rows(&self, batch_rows: usize) -> usize {
        if self.is_large() { batch_rows } else { batch_rows.max(LEAST_MERGED_ROWS) }
    }
}

/// The rows of these batches in the order of their keys.
fn sorted(batches: Vec<RecordBatch>, batch_rows: usize) -> impl Iterator<Item = Result<RecordBatch>> + Send {
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
        let slice = &order[given..order.len().min(given + batch_rows)];
        given += slice.len();
        let places: Vec<(usize, usize)> = slice.iter().map(|(batch, row)| (*batch as usize, *row as usize)).collect();
        let batches: Vec<&RecordBatch> = batches.iter().collect();
        (!places.is_empty()).then(|| gathered(&batches, &places))
    })
}

/// The rows at these places, with texts of their own. A row that is a batch is not copied.
fn gathered(batches: &[&RecordBatch], places: &[(usize, usize)]) -> Result<RecordBatch> {
    if let [(batch, 0)] = places
        && batches[*batch].num_rows() == 1
    {
        return Ok(batches[*batch].clone());
    }
    let schema = batches.first().map_or_else(|| Arc::new(Schema::empty()), |batch| batch.schema());
    let column = |at: usize| {
        let arrays: Vec<&dyn Array> = batches.iter().map(|batch| batch.column(at).as_ref()).collect();
        interleave(&arrays, places)
    };
    let columns = (0..schema.fields().len()).map(column).collect::<Result<_, _>>().map_err(Error::unexpected)?;
    let options = RecordBatchOptions::new().with_row_count(Some(places.len()));
    let has_views = schema.fields().iter().any(|field| has_views(field.data_type()));
    let gathered = RecordBatch::try_new_with_options(schema, columns, &options).map_err(Error::unexpected)?;
    if has_views { with_own_texts(&gathered) } else { Ok(gathered) }
}

/// Returns true if values of a type may refer to texts of other arrays.
fn has_views(data_type: &DataType) -> bool {
    contains_type(data_type, &|inner| matches!(inner, DataType::Utf8View | DataType::BinaryView))
}

fn key_column(batch: &RecordBatch) -> BinaryArray {
    batch.columns().last().map(|keys| keys.as_binary::<i32>().clone()).unwrap_or_else(|| BinaryArray::new_null(0))
}

/// Rows in the order of their keys.
pub struct SortedBatches {
    sources: Vec<RowSource>,
    /// Rows of a batch that takes some of several sources.
    merged_rows: usize,
}

/// A run, or the rows that stayed in memory.
struct RowSource {
    batches: Box<dyn Iterator<Item = Result<RecordBatch>> + Send>,
    ahead: Option<BatchAhead>,
}

/// The batch that is being given.
struct BatchAhead {
    batch: RecordBatch,
    keys: BinaryArray,
    next: usize,
}

impl RowSource {
    fn memory(batches: impl Iterator<Item = Result<RecordBatch>> + Send + 'static) -> Result<Self> {
        Self::over(Box::new(batches))
    }

    fn run(spill: &SpillFile, run: spill::RunLocation) -> Result<Self> {
        Self::over(Box::new(spill.open(run, None)?.map(|batch| batch.map_err(spill::broken))))
    }

    fn over(batches: Box<dyn Iterator<Item = Result<RecordBatch>> + Send>) -> Result<Self> {
        let mut source = Self { batches, ahead: None };
        source.advance()?;
        Ok(source)
    }

    fn advance(&mut self) -> Result<()> {
        let batch = self.batches.next().transpose()?;
        self.ahead = batch.map(|batch| BatchAhead { keys: key_column(&batch), batch, next: 0 });
        Ok(())
    }

    /// The next row's key, of the source of this number.
    fn key(&self, source: usize) -> Option<Reverse<SourceKey>> {
        self.ahead.as_ref().map(|ahead| Reverse(SourceKey { keys: ahead.keys.clone(), row: ahead.next, source }))
    }
}

/// The key of a row, in the buffer that it is in: a key may have megabytes. Equal keys are in the order of their sources.
struct SourceKey {
    keys: BinaryArray,
    row: usize,
    source: usize,
}

impl Ord for SourceKey {
    fn cmp(&self, other: &Self) -> Ordering {
        let by_key = self.keys.value(self.row).cmp(other.keys.value(other.row));
        by_key.then(self.source.cmp(&other.source))
    }
}

impl PartialOrd for SourceKey {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for SourceKey {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for SourceKey {}

impl SortedBatches {
    /// The next rows in order.
    pub fn next_batch(&mut self) -> Result<Option<RecordBatch>> {
        self.next_of(without_key)
    }

    /// The next rows in order, and their keys.
    pub fn next_with_keys(&mut self) -> Result<Option<(RecordBatch, BinaryArray)>> {
        let stored = self.next_stored()?;
        stored.map(|batch| Ok((without_key(&batch)?, key_column(&batch)))).transpose()
    }

    /// The next rows in order, with their keys as the last column.
    fn next_stored(&mut self) -> Result<Option<RecordBatch>> {
        self.next_of(|batch| Ok(batch.clone()))
    }

    /// The next rows in order, of the columns that `columns` gives of a batch.
    fn next_of(&mut self, columns: impl Fn(&RecordBatch) -> Result<RecordBatch>) -> Result<Option<RecordBatch>> {
        if let [source] = self.sources.as_mut_slice() {
            let batch = source.ahead.take().map(|ahead| columns(&ahead.batch)).transpose()?;
            source.advance()?;
            return Ok(batch);
        }
        // Batches that rows are taken from: those of all sources, and those that end in the meantime.
        let mut batches: Vec<RecordBatch> = Vec::new();
        let mut numbers: Vec<Option<usize>> = vec![None; self.sources.len()];
        let mut places = Vec::with_capacity(BATCH_ROWS);
        let mut heap: BinaryHeap<Reverse<SourceKey>> =
            self.sources.iter().enumerate().filter_map(|(at, source)| source.key(at)).collect();
        while places.len() < self.merged_rows && batches.len() < BATCHES_AT_MOST {
            let Some(Reverse(SourceKey { source: at, .. })) = heap.pop() else { break };
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
            heap.extend(source.key(at));
        }
        if places.is_empty() {
            return Ok(None);
        }
        let wanted = batches.iter().map(columns).collect::<Result<Vec<_>>>()?;
        drop(batches);
        gathered(&wanted.iter().collect::<Vec<_>>(), &places).map(Some)
    }
}

fn without_key(batch: &RecordBatch) -> Result<RecordBatch> {
    batch.project(&(0..batch.num_columns() - 1).collect::<Vec<_>>()).map_err(Error::unexpected)
}

#[cfg(test)]
mod tests;
