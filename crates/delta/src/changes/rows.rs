//! The rows of files that have changed.

use std::sync::Arc;

use arrow::array::{RecordBatch, RecordBatchOptions};
use arrow::compute::cast;
use arrow::datatypes::SchemaRef;
use lakerace_format::{Batches, ParquetSource, ReadRequest, Source, TableSchema};
use lakerace_io::{Error, Result};

use super::entries::{ChangedFile, FeedEntries};
use crate::snapshot::changed_rows;

/// Files that are open at the same time at most.
const FILES_AT_ONCE: usize = 64;

/// The rows that have changed, in these columns; `columns` is how files have all of them.
pub(super) fn read(entries: FeedEntries, schema: SchemaRef, columns: &Arc<TableSchema>) -> Batches {
    let mut reader = FeedReader { entries, schema: Arc::clone(&schema), columns: Arc::clone(columns), batches: None };
    let mut is_over = false;
    let next = move || {
        if is_over {
            return None;
        }
        let next = reader.next().transpose();
        is_over = !matches!(next, Some(Ok(_)));
        next
    };
    Batches::new(schema, std::iter::from_fn(next))
}

struct FeedReader {
    entries: FeedEntries,
    schema: SchemaRef,
    columns: Arc<TableSchema>,
    /// The batches of the open files.
    batches: Option<Batches>,
}

impl FeedReader {
    fn next(&mut self) -> Result<Option<RecordBatch>> {
        let place = self.entries.table.location().to_owned();
        let named = |error: Error| error.at(&place);
        loop {
            if let Some(batch) = self.batches.as_mut().and_then(Iterator::next) {
                return batch.and_then(|batch| self.plain(&batch)).map(Some).map_err(named);
            }
            let files = self.entries.next_files(FILES_AT_ONCE).map_err(named)?;
            if files.is_empty() {
                return Ok(None);
            }
            self.batches = self.open(&files).map_err(named)?;
        }
    }

    /// Opens files; `None` where none of their rows has changed.
    fn open(&self, files: &[ChangedFile]) -> Result<Option<Batches>> {
        let table = &self.entries.table;
        let changed: Vec<_> = files.iter().map(|changed| (&changed.file, &changed.rows)).collect();
        let inputs: Vec<_> = changed_rows::inputs(table, &self.columns, &changed)?.into_iter().flatten().collect();
        if inputs.is_empty() {
            return Ok(None);
        }
        let source = ParquetSource::open_table(inputs, &self.columns, table.job())?;
        let columns = self.schema.fields().iter().map(|field| field.name().clone()).collect();
        let plan = source.plan(&ReadRequest { columns: Some(columns), ..ReadRequest::default() })?;
        source.read(&plan).map(Some)
    }

    /// A batch with plain texts where readers have views.
    fn plain(&self, batch: &RecordBatch) -> Result<RecordBatch> {
        let unfit = |error| Error::internal("changes in another schema").because(error);
        let columns = self.schema.fields().iter().zip(batch.columns());
        let columns = columns.map(|(field, column)| cast(column, field.data_type())).collect::<Result<Vec<_>, _>>();
        let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns.map_err(unfit)?, &options).map_err(unfit)
    }
}
