//! The rows of files that have changed.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::{RecordBatch, RecordBatchOptions};
use arrow::compute::cast;
use arrow::datatypes::SchemaRef;
use delta_kernel::actions::deletion_vector::DeletionVectorDescriptor;
use lakerace_format::{Batches, DeletedRows, InputFile, ParquetSource, ReadRequest, Source, TableSchema};
use lakerace_io::{Error, Result};
use roaring::RoaringTreemap;

use super::entries::{ChangedFile, ChangedRows, Entries};
use crate::Table;
use crate::deletion_vector;
use crate::snapshot::files::TableFile;
use crate::snapshot::row_counts;

/// Files that are open at the same time at most.
const FILES_AT_ONCE: usize = 64;

/// The rows that have changed, in these columns; `columns` is how files have all of them.
pub(super) fn read(entries: Entries, schema: SchemaRef, columns: &Arc<TableSchema>) -> Batches {
    let mut reader = Reader { entries, schema: Arc::clone(&schema), columns: Arc::clone(columns), batches: None };
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

struct Reader {
    entries: Entries,
    schema: SchemaRef,
    columns: Arc<TableSchema>,
    /// Those of the files that are open.
    batches: Option<Batches>,
}

impl Reader {
    fn next(&mut self) -> Result<Option<RecordBatch>> {
        let place = self.entries.table.place().to_owned();
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
        let changed = Changed::new(table, &self.columns, files)?;
        let inputs = files.iter().enumerate().map(|(number, file)| changed.input(number, file));
        let inputs: Vec<InputFile> = inputs.filter_map(Result::transpose).collect::<Result<_>>()?;
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
        let unfit = |error| Error::internal(format!("changes in another schema: {error}"));
        let columns = self.schema.fields().iter().zip(batch.columns());
        let columns = columns.map(|(field, column)| cast(column, field.data_type())).collect::<Result<Vec<_>, _>>();
        let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns.map_err(unfit)?, &options).map_err(unfit)
    }
}

/// Which rows of files have changed, as far as vectors tell of them.
struct Changed {
    /// What the vectors of files hide, of which all else is read.
    hidden: Vec<Option<Arc<DeletedRows>>>,
    /// Of files whose vector has changed: how many rows they have.
    counts: HashMap<usize, u64>,
    /// The vectors of which one is taken from another.
    vectors: HashMap<String, RoaringTreemap>,
}

impl Changed {
    /// Reads the vectors of files, each once.
    fn new(table: &Table, columns: &Arc<TableSchema>, files: &[ChangedFile]) -> Result<Self> {
        let whole = files.iter().map(|file| {
            let vector = file.file.vector.clone().filter(|_| matches!(file.rows, ChangedRows::Visible));
            TableFile { vector, ..file.file.clone() }
        });
        let whole: Vec<TableFile> = whole.collect();
        let hidden = deletion_vector::load(table, &whole.iter().collect::<Vec<_>>())?;
        let mut compared: HashMap<String, TableFile> = HashMap::new();
        let mut numbers = Vec::new();
        for (number, file) in files.iter().enumerate() {
            let ChangedRows::Between(hiding, showing) = &file.rows else { continue };
            numbers.push(number);
            for vector in [hiding, showing].into_iter().flatten() {
                let with_vector = || TableFile { vector: Some(vector.clone()), ..file.file.clone() };
                compared.entry(name_of(vector)).or_insert_with(with_vector);
            }
        }
        let (names, with_vectors): (Vec<String>, Vec<TableFile>) = compared.into_iter().unzip();
        let vectors = deletion_vector::treemaps(table, &with_vectors.iter().collect::<Vec<_>>())?;
        let vectors = names.into_iter().zip(vectors).filter_map(|(name, vector)| Some((name, vector?))).collect();
        let between: Vec<&TableFile> = numbers.iter().map(|number| &files[*number].file).collect();
        let counts = row_counts::count_of(&between, columns, table.job())?;
        Ok(Self { hidden, counts: numbers.into_iter().zip(counts).collect(), vectors })
    }

    /// A file with its changed rows alone; `None` where it has none.
    fn input(&self, number: usize, file: &ChangedFile) -> Result<Option<InputFile>> {
        let hidden = match &file.rows {
            ChangedRows::Visible => self.hidden[number].clone(),
            ChangedRows::Between(hiding, showing) => {
                let rows = self.rows(hiding.as_ref()) - self.rows(showing.as_ref());
                if rows.is_empty() {
                    return Ok(None);
                }
                let count = self.counts.get(&number).copied().unwrap_or(0);
                let hidden = DeletedRows::all_but(rows.iter(), count).map_err(|e| e.at(file.file.object.url()))?;
                Some(Arc::new(hidden))
            }
        };
        Ok(Some(InputFile { object: file.file.object.clone(), constants: file.file.constants.clone(), hidden }))
    }

    fn rows(&self, vector: Option<&DeletionVectorDescriptor>) -> RoaringTreemap {
        vector.and_then(|vector| self.vectors.get(&name_of(vector))).cloned().unwrap_or_default()
    }
}

/// What tells a vector from others of the table.
fn name_of(vector: &DeletionVectorDescriptor) -> String {
    format!("{} {} {:?}", vector.storage_type, vector.path_or_inline_dv, vector.offset)
}
