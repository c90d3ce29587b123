//! Sources that don't fit into memory: sorted runs on the local disk, merged again in the order of keys.

use std::ops::RangeInclusive;
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::compute::concat_batches;
use arrow::datatypes::SchemaRef;
use lakerace_format::sort::spill::{self, RunReader, SpillFile};
use lakerace_format::{is_large_row, with_own_texts};
use lakerace_io::{Error, Result};

use super::operator::MergeOperators;
use super::sorted_chunk::{ChunkBuilder, EqualKeys, OnDuplicate, SortedChunk};
use crate::key::{KeyColumns, Keys};

/// Rows that a run is written and read by at most.
const BATCH_ROWS: usize = 8192;
/// Runs that are read side by side at least and at most: more become one.
const RUNS_AT_ONCE: RangeInclusive<usize> = 4..=256;
/// Bytes that reading a run takes next to its rows: its buffer and its messages, and the description of each column.
const RUN_BYTES: usize = 16 << 10;
const COLUMN_BYTES: usize = 2 << 10;
/// Rows of several runs that are concatenated into one piece, where each run has few of them: each piece occupies
/// memory.
const PIECE_ROWS: usize = 1024;

/// Sorted chunks of one source, put on the local disk in the order of the source.
#[derive(Debug, Clone)]
pub(crate) struct ExternalSort {
    columns: KeyColumns,
    schema: SchemaRef,
    equal_keys: EqualKeys,
    operators: MergeOperators,
    /// Bytes that merging them may take.
    limit_bytes: usize,
    spill: SpillFile,
    /// In the order of the source; runs of the same level have similar sizes.
    places: Vec<RunPlace>,
    /// The most runs that are read at the same time; fewer once rows are large.
    at_once: usize,
}

#[derive(Debug, Clone, Copy)]
struct RunPlace {
    level: u32,
    run: spill::RunLocation,
}

/// The runs' rows, in chunks that follow on each other in the order of keys, one row a key.
#[derive(Debug)]
pub(crate) struct MergedChunks {
    columns: KeyColumns,
    schema: SchemaRef,
    runs: Vec<SortedRunReader>,
    limit_bytes: usize,
    at_once: usize,
    equal_keys: EqualKeys,
    operators: MergeOperators,
}

/// A run that is being read.
#[derive(Debug)]
struct SortedRunReader {
    reader: RunReader,
    /// The rows read and not yet given, with their keys. `None` at the end of the run.
    ahead: Option<(RecordBatch, Keys)>,
}

impl ExternalSort {
    /// An external sort without runs. Merging takes approximately `limit_bytes`.
    pub fn new(
        columns: KeyColumns,
        schema: SchemaRef,
        equal_keys: impl Into<EqualKeys>,
        operators: MergeOperators,
        limit_bytes: usize,
    ) -> Result<Self> {
        let equal_keys = equal_keys.into();
        let (spill, places) = (SpillFile::create()?, Vec::new());
        let one_bytes = RUN_BYTES + schema.fields().len() * COLUMN_BYTES;
        let at_once = (limit_bytes / 4 / one_bytes).clamp(*RUNS_AT_ONCE.start(), *RUNS_AT_ONCE.end());
        Ok(Self { columns, schema, equal_keys, operators, limit_bytes, spill, places, at_once })
    }

    /// The number of runs.
    #[cfg(test)]
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// Writes a chunk as the next run.
    pub fn push(&mut self, chunk: &SortedChunk) -> Result<()> {
        let row_bytes = chunk.row_bytes() / chunk.row_count().max(1);
        if is_large_row(row_bytes as u64, self.schema.fields().len()) {
            // A row of each run is in memory.
            let fitting = self.limit_bytes / 4 / row_bytes.max(1);
            self.at_once = self.at_once.min(fitting.max(*RUNS_AT_ONCE.start()));
        }
        while let Some(from) = self.full_level() {
            self.join(from)?;
        }
        let batch_rows = self.batch_rows(chunk);
        self.write(std::iter::once(Ok(chunk)), batch_rows, 0)
    }

    /// After the last chunk: leaves as many runs as are read side by side.
    pub fn settle(&mut self) -> Result<()> {
        while self.places.len() > self.at_once {
            // If there is one too many, several become one.
            let joined = (self.places.len() - self.at_once + 1).min(self.at_once);
            self.join(self.places.len() - joined)?;
        }
        Ok(())
    }

    /// The first of the last runs of one level, if they are as many as are merged together.
    fn full_level(&self) -> Option<usize> {
        let level = self.places.last()?.level;
        let count = self.places.iter().rev().take_while(|place| place.level == level).count();
        (count >= self.at_once).then(|| self.places.len() - count)
    }

    /// Makes one run of those from this one on.
    fn join(&mut self, from: usize) -> Result<()> {
        let joined: Vec<RunPlace> = self.places.drain(from..).collect();
        let (schema, operators) = (Arc::clone(&self.schema), self.operators.clone());
        let mut merged = self.merged(&joined, schema, None, self.equal_keys, operators)?;
        let Some(first) = merged.next().transpose()? else { return Ok(()) };
        let (batch_rows, level) = (self.batch_rows(&first), joined.iter().map(|place| place.level).max().unwrap_or(0));
        self.write(std::iter::once(Ok(first)).chain(merged), batch_rows, level + 1)?;
        joined.iter().for_each(|place| self.spill.forget(place.run));
        Ok(())
    }

    /// Rows of a batch so that one of each run takes half of the memory, at most.
    fn batch_rows(&self, chunk: &SortedChunk) -> usize {
        let row_bytes = (chunk.row_bytes() / chunk.row_count().max(1)).max(1);
        (self.limit_bytes / 2 / self.at_once / row_bytes).clamp(1, BATCH_ROWS)
    }

    /// Writes a run.
    fn write<C: std::borrow::Borrow<SortedChunk>>(
        &mut self,
        chunks: impl Iterator<Item = Result<C>>,
        batch_rows: usize,
        level: u32,
    ) -> Result<()> {
        let mut run = self.spill.begin(&self.schema)?;
        for chunk in chunks {
            for batch in chunk?.borrow().sorted().batches(batch_rows) {
                run.write(&with_own_texts(&batch?)?)?;
            }
        }
        let run = run.finish()?;
        self.places.push(RunPlace { level, run });
        Ok(())
    }

    /// The runs' rows. Of rows in several runs with the same key, those of a later run are the later ones.
    pub fn merge(&self) -> Result<MergedChunks> {
        self.merged(&self.places, Arc::clone(&self.schema), None, self.equal_keys, self.operators.clone())
    }

    /// The runs' keys, as rows that only have the key columns.
    pub fn merge_keys(&self) -> Result<MergedChunks> {
        let at = |name: &str| self.schema.index_of(name).map_err(Error::unexpected);
        let columns = self.columns.names().map(at).collect::<Result<Vec<_>>>()?;
        let schema = Arc::new(self.schema.project(&columns).map_err(Error::unexpected)?);
        let last = EqualKeys::One(OnDuplicate::Last);
        self.merged(&self.places, schema, Some(columns), last, MergeOperators::default())
    }

    fn merged(
        &self,
        places: &[RunPlace],
        schema: SchemaRef,
        projection: Option<Vec<usize>>,
        equal_keys: EqualKeys,
        operators: MergeOperators,
    ) -> Result<MergedChunks> {
        let open =
            |place: &RunPlace| SortedRunReader::open(self.spill.open(place.run, projection.clone())?, &self.columns);
        let runs = places.iter().map(open).collect::<Result<_>>()?;
        Ok(MergedChunks {
            columns: self.columns.clone(),
            schema,
            runs,
            limit_bytes: self.limit_bytes / 2,
            at_once: self.at_once,
            equal_keys,
            operators,
        })
    }
}

impl SortedRunReader {
    fn open(reader: RunReader, columns: &KeyColumns) -> Result<Self> {
        let mut run = Self { reader, ahead: None };
        run.read_ahead(columns)?;
        Ok(run)
    }

    fn read_ahead(&mut self, columns: &KeyColumns) -> Result<()> {
        let batch = self.reader.next().transpose().map_err(spill::broken)?;
        self.ahead = match batch {
            Some(batch) => Some((batch.clone(), columns.keys(&batch, 0)?)),
            None => None,
        };
        Ok(())
    }

    /// Takes the rows read ahead whose keys are not beyond `bound`.
    fn take_up_to(&mut self, bound: &Keys, columns: &KeyColumns) -> Result<Option<RecordBatch>> {
        let Some((batch, keys)) = self.ahead.take() else { return Ok(None) };
        let rows = keys.rows_up_to(bound);
        if rows == 0 && batch.num_rows() > 0 {
            self.ahead = Some((batch, keys));
            return Ok(None);
        }
        if rows == batch.num_rows() {
            self.read_ahead(columns)?;
        } else {
            let rest: Vec<u32> = (rows as u32..batch.num_rows() as u32).collect();
            self.ahead = Some((batch.slice(rows, batch.num_rows() - rows), keys.take(&rest)));
        }
        Ok(Some(batch.slice(0, rows)))
    }
}

impl MergedChunks {
    fn next_chunk(&mut self) -> Result<Option<SortedChunk>> {
        let mut builder = ChunkBuilder::new(self.columns.clone(), Arc::clone(&self.schema), None, 1);
        let (mut pieces, mut rows, mut rounds) = (Vec::new(), 0, 0);
        // At least one round, even with little memory.
        while builder.rows() == 0 || !builder.is_full(self.limit_bytes) {
            // The rows of every run up to the nearest end of a run's read-ahead: all rows of a key are among them.
            let ends = self.runs.iter().filter_map(|run| run.ahead.as_ref()).map(|(_, keys)| keys.last());
            let Some(bound) = ends.reduce(Keys::smaller) else { break };
            let before = pieces.len();
            for run in &mut self.runs {
                while let Some(piece) = run.take_up_to(&bound, &self.columns)? {
                    pieces.push(piece);
                }
            }
            // The read-ahead of all runs takes half of the memory, and one round takes approximately that of one run.
            rows += pieces[before..].iter().map(RecordBatch::num_rows).sum::<usize>();
            rounds += 1;
            if rows >= PIECE_ROWS || rounds * 8 >= self.at_once {
                self.take_in(&mut pieces, &mut builder)?;
                (rows, rounds) = (0, 0);
            }
        }
        self.take_in(&mut pieces, &mut builder)?;
        if builder.rows() == 0 {
            return Ok(None);
        }
        builder.finish(self.equal_keys, &self.operators).map(Some)
    }

    /// Takes in pieces: unchanged, or concatenated where they are small.
    fn take_in(&self, pieces: &mut Vec<RecordBatch>, builder: &mut ChunkBuilder) -> Result<()> {
        let rows: usize = pieces.iter().map(RecordBatch::num_rows).sum();
        if pieces.len() > 1 && rows / pieces.len() < PIECE_ROWS / 2 {
            let schema = pieces[0].schema();
            let one = concat_batches(&schema, &*pieces).map_err(Error::unexpected)?;
            pieces.clear();
            return builder.push(one);
        }
        pieces.drain(..).try_for_each(|piece| builder.push(piece))
    }
}

impl Iterator for MergedChunks {
    type Item = Result<SortedChunk>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_chunk().transpose()
    }
}

#[cfg(test)]
mod tests;
