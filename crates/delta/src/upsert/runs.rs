//! Sources that don't fit into memory: sorted runs on the local disk, merged again in the order of keys.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch, RecordBatchOptions, make_array};
use arrow::datatypes::{DataType, SchemaRef};
use arrow::error::ArrowError;
use lakerace_io::{Error, Result};
use tempfile::TempDir;

use super::chunk::{Chunk, ChunkBuilder, OnDuplicate};
use super::operator::MergeOperators;
use crate::key::{KeyColumns, Keys};
use crate::spill::{self, RunReader, RunWriter};

/// Rows that a run is written and read by at most.
const BATCH_ROWS: usize = 8192;
/// Runs that are read side by side at most: then they become one.
const RUNS_AT_MOST: usize = 256;

/// Sorted chunks of one source, put on the local disk in the order of the source.
#[derive(Debug, Clone)]
pub(crate) struct Runs {
    columns: KeyColumns,
    schema: SchemaRef,
    on_duplicate: OnDuplicate,
    operators: MergeOperators,
    /// Bytes that merging them may take.
    limit_bytes: usize,
    folder: Arc<TempDir>,
    files: Vec<PathBuf>,
    /// Files that there were, which names the next one.
    made: usize,
}

/// The runs' rows, in chunks that follow on each other in the order of keys, one row a key.
#[derive(Debug)]
pub(crate) struct MergedChunks {
    columns: KeyColumns,
    schema: SchemaRef,
    runs: Vec<Run>,
    limit_bytes: usize,
    on_duplicate: OnDuplicate,
    operators: MergeOperators,
    /// The runs' files, until the last row is read.
    _folder: Arc<TempDir>,
}

/// A run that is being read.
#[derive(Debug)]
struct Run {
    reader: RunReader,
    path: PathBuf,
    /// The rows read and not yet given, with their keys. `None` at the end of the run.
    ahead: Option<(RecordBatch, Keys)>,
}

impl Runs {
    /// No runs yet, in a new folder of the system's place for temporary files (`TMPDIR`), which goes when this does.
    /// Merging them takes about `limit_bytes`.
    pub fn new(
        columns: KeyColumns,
        schema: SchemaRef,
        on_duplicate: OnDuplicate,
        operators: MergeOperators,
        limit_bytes: usize,
    ) -> Result<Self> {
        let folder = Arc::new(spill::folder("lakerace-upsert-")?);
        Ok(Self { columns, schema, on_duplicate, operators, limit_bytes, folder, files: Vec::new(), made: 0 })
    }

    /// How many there are.
    #[cfg(test)]
    pub fn len(&self) -> usize {
        self.files.len()
    }

    /// Writes a chunk as the next run.
    pub fn push(&mut self, chunk: &Chunk) -> Result<()> {
        if self.files.len() == RUNS_AT_MOST {
            self.join()?;
        }
        let batch_rows = self.batch_rows(chunk);
        self.write(std::iter::once(Ok(chunk)), batch_rows)
    }

    /// Makes one run of all.
    fn join(&mut self) -> Result<()> {
        let mut merged = self.merge()?;
        let Some(first) = merged.next().transpose()? else { return Ok(()) };
        let batch_rows = self.batch_rows(&first);
        self.write(std::iter::once(Ok(first)).chain(merged), batch_rows)?;
        for file in self.files.drain(..self.files.len() - 1) {
            std::fs::remove_file(&file).map_err(|error| Error::from(error).at(file.display()))?;
        }
        Ok(())
    }

    /// Rows of a batch so that one of each run takes half of the memory, at most.
    fn batch_rows(&self, chunk: &Chunk) -> usize {
        let row_bytes = (chunk.row_bytes() / chunk.rows().max(1)).max(1);
        (self.limit_bytes / 2 / RUNS_AT_MOST / row_bytes).clamp(1, BATCH_ROWS)
    }

    /// Writes a run.
    fn write<C: std::borrow::Borrow<Chunk>>(
        &mut self,
        chunks: impl Iterator<Item = Result<C>>,
        batch_rows: usize,
    ) -> Result<()> {
        let path = self.folder.path().join(format!("{}.arrow", self.made));
        self.made += 1;
        let mut run = RunWriter::create(&path, &self.schema)?;
        for chunk in chunks {
            for batch in chunk?.borrow().sorted().batches(batch_rows) {
                let batch = batch?;
                let columns = batch.columns().iter().map(compact).collect::<Result<Vec<_>, _>>().map_err(internal)?;
                let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
                run.write(&RecordBatch::try_new_with_options(batch.schema(), columns, &options).map_err(internal)?)?;
            }
        }
        run.finish()?;
        self.files.push(path);
        Ok(())
    }

    /// The runs' rows. Of rows in several runs with the same key, those of a later run are the later ones.
    pub fn merge(&self) -> Result<MergedChunks> {
        self.merged(Arc::clone(&self.schema), None, self.on_duplicate, self.operators.clone())
    }

    /// The runs' keys, in rows of the key columns alone.
    pub fn merge_keys(&self) -> Result<MergedChunks> {
        let at = |name: &str| self.schema.index_of(name).map_err(internal);
        let columns = self.columns.names().map(at).collect::<Result<Vec<_>>>()?;
        let schema = Arc::new(self.schema.project(&columns).map_err(internal)?);
        self.merged(schema, Some(columns), OnDuplicate::Last, MergeOperators::default())
    }

    fn merged(
        &self,
        schema: SchemaRef,
        projection: Option<Vec<usize>>,
        on_duplicate: OnDuplicate,
        operators: MergeOperators,
    ) -> Result<MergedChunks> {
        let open = |path: &PathBuf| Run::open(path, projection.clone(), &self.columns);
        let runs = self.files.iter().map(open).collect::<Result<_>>()?;
        Ok(MergedChunks {
            columns: self.columns.clone(),
            schema,
            runs,
            limit_bytes: self.limit_bytes / 2,
            on_duplicate,
            operators,
            _folder: Arc::clone(&self.folder),
        })
    }
}

impl Run {
    fn open(path: &Path, projection: Option<Vec<usize>>, columns: &KeyColumns) -> Result<Self> {
        let mut run = Self { reader: spill::open(path, projection)?, path: path.to_owned(), ahead: None };
        run.read_ahead(columns)?;
        Ok(run)
    }

    fn read_ahead(&mut self, columns: &KeyColumns) -> Result<()> {
        let batch = self.reader.next().transpose().map_err(|error| spill::broken(error, &self.path))?;
        self.ahead = match batch {
            Some(batch) => Some((batch.clone(), columns.keys(&batch, 0)?)),
            None => None,
        };
        Ok(())
    }

    /// Gives the rows read ahead whose keys are not beyond `bound`.
    fn take_up_to(&mut self, bound: &Keys, columns: &KeyColumns) -> Result<Option<RecordBatch>> {
        let Some((batch, keys)) = self.ahead.take() else { return Ok(None) };
        let rows = keys.rows_up_to(bound);
        if rows == batch.num_rows() {
            self.read_ahead(columns)?;
        } else {
            let rest: Vec<u32> = (rows as u32..batch.num_rows() as u32).collect();
            self.ahead = Some((batch.slice(rows, batch.num_rows() - rows), keys.take(&rest)));
        }
        Ok((rows > 0).then(|| batch.slice(0, rows)))
    }
}

impl MergedChunks {
    fn next_chunk(&mut self) -> Result<Option<Chunk>> {
        let mut builder = ChunkBuilder::new(self.columns.clone(), Arc::clone(&self.schema), None, 1);
        // One look ahead at least, however little memory there is.
        while builder.rows() == 0 || !builder.is_full(self.limit_bytes) {
            // All that has arrived of every run up to the nearest end of what was read ahead. Keys are distinct within
            // a run, so the rows of one key are all among them.
            let ends = self.runs.iter().filter_map(|run| run.ahead.as_ref()).map(|(_, keys)| keys.last());
            let Some(bound) = ends.reduce(Keys::smaller) else { break };
            for run in &mut self.runs {
                if let Some(batch) = run.take_up_to(&bound, &self.columns)? {
                    builder.push(batch)?;
                }
            }
        }
        if builder.rows() == 0 {
            return Ok(None);
        }
        builder.finish(self.on_duplicate, &self.operators).map(Some)
    }
}

impl Iterator for MergedChunks {
    type Item = Result<Chunk>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_chunk().transpose()
    }
}

/// An array whose buffers hold its own values only: views may share those of a whole source.
fn compact(array: &ArrayRef) -> Result<ArrayRef, ArrowError> {
    match array.data_type() {
        DataType::Utf8View => Ok(Arc::new(array.as_string_view().gc())),
        DataType::BinaryView => Ok(Arc::new(array.as_binary_view().gc())),
        DataType::Dictionary(..) => Ok(Arc::clone(array)),
        nested if nested.is_nested() => {
            let data = array.to_data();
            let children =
                data.child_data().iter().map(|child| compact(&make_array(child.clone())).map(|a| a.to_data()));
            let children = children.collect::<Result<Vec<_>, _>>()?;
            Ok(make_array(data.into_builder().child_data(children).build()?))
        }
        _ => Ok(Arc::clone(array)),
    }
}

fn internal(error: ArrowError) -> Error {
    Error::internal(error.to_string())
}

#[cfg(test)]
#[path = "runs_tests.rs"]
mod tests;
