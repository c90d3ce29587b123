//! Rows with their ids: the file that they are in, and their number in it.

use std::ops::Range;
use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray, Int64Array, RecordBatch, StringArray};
use arrow::buffer::BooleanBuffer;
use arrow::compute::{and_kleene, filter_record_batch};
use arrow::datatypes::{DataType, Field, FieldRef, Schema, SchemaRef};
use lakerace_format::{Batches, Expr, InputFile, ParquetSource, Predicate, ReadRequest, TableSchema};
use lakerace_io::{Error, Result};
use roaring::RoaringTreemap;

use super::{FILE_COLUMN, POSITION_COLUMN};
use crate::deletion_vector::treemaps;
use crate::snapshot::Snapshot;
use crate::snapshot::files::TableFile;
use crate::table::Table;

/// A schema with the columns of ids appended.
pub(crate) fn schema_with_ids(schema: &Schema) -> SchemaRef {
    let ids = [(FILE_COLUMN, DataType::Utf8), (POSITION_COLUMN, DataType::Int64)];
    let ids = ids.map(|(name, data_type)| FieldRef::new(Field::new(name, data_type, false)));
    Arc::new(Schema::new(schema.fields().iter().cloned().chain(ids).collect::<Vec<_>>()))
}

/// The visible rows of some files of a version for which a filter is true: these columns, followed by the ids.
pub(crate) fn read_with_ids(
    snapshot: &Snapshot,
    names: &[String],
    columns: &[String],
    filter: Option<&Expr>,
) -> Result<Batches> {
    let all = &snapshot.files()?.files;
    let file = |name: &String| {
        let found = all.iter().find(|file| file.path == *name);
        found.ok_or_else(|| Error::internal(format!("version {} has no file {name}", snapshot.version())))
    };
    let files = names.iter().map(file).collect::<Result<Vec<_>>>()?;
    let request = ReadRequest { columns: Some(columns.to_vec()), filter: filter.cloned(), ..ReadRequest::default() };
    read_files(snapshot.table(), snapshot.table_schema(), (&files, &[]), &request)
        .map_err(|error| snapshot.broken(error))
}

/// The visible rows of files for which the filter of a request is true: its columns, followed by the ids. Only those
/// row groups of a file are read whose midpoint is in its range; no ranges: all. The limit is the caller's.
pub(crate) fn read_files(
    table: &Table,
    columns: &Arc<TableSchema>,
    (files, ranges): (&[&TableFile], &[Range<u64>]),
    request: &ReadRequest,
) -> Result<Batches> {
    let hidden = treemaps(table, files)?;
    let inputs = files.iter().map(|file| InputFile {
        object: file.object.clone(),
        constants: file.constants.clone(),
        // With the hidden rows, so that their numbers are those of the file.
        hidden: None,
        stated_rows: file.rows,
    });
    let source = ParquetSource::open_table(inputs.collect(), columns, table.job())?;
    let condition = RowCondition::new(table, columns.schema(), request)?.map(Arc::new);
    let request = ReadRequest { limit: None, ..request.clone() };
    let request = match &condition {
        None => request,
        Some(condition) => condition.widened(request),
    };
    let plan = source.plan_ranges(&request, ranges)?;
    let wanted = plan.schema.fields().len() - condition.as_ref().map_or(0, |condition| condition.added.len());
    let schema = schema_with_ids(&Schema::new(&plan.schema.fields()[..wanted]));
    let rows: Vec<Arc<IdentifiedRows>> = files
        .iter()
        .zip(hidden)
        .map(|(file, hidden)| {
            let (name, schema, condition) = (file.path.clone(), Arc::clone(&schema), condition.clone());
            Arc::new(IdentifiedRows { name, hidden: hidden.unwrap_or_default(), schema, condition, wanted })
        })
        .collect();
    let batches = source.kept_row_groups(&plan)?.into_iter().flat_map(move |group| {
        let (read, failed) = match source.read_row_group_fields(&group, &request) {
            Ok(read) => (Some(read), None),
            Err(error) => (None, Some(Err(error))),
        };
        let rows = rows.get(group.file).cloned();
        let batches = read.into_iter().flatten().map(move |read| {
            let (first, batch) = read?;
            rows.as_ref().ok_or_else(|| Error::internal("a row group without a file"))?.keep(first, &batch)
        });
        batches.chain(failed)
    });
    Ok(Batches::new(schema, batches))
}

/// The rows of one file.
struct IdentifiedRows {
    name: String,
    /// The rows that are deleted.
    hidden: RoaringTreemap,
    schema: SchemaRef,
    condition: Option<Arc<RowCondition>>,
    /// Columns that are wanted; those that only the filter needs follow them.
    wanted: usize,
}

impl IdentifiedRows {
    /// The rows of a batch that are neither deleted nor left out by the filter, with their ids.
    fn keep(&self, first: u64, batch: &RecordBatch) -> Result<RecordBatch> {
        let rows = batch.num_rows();
        let positions = Int64Array::from_iter_values((first..).take(rows).map(|row| row as i64));
        let names = StringArray::from_iter_values(std::iter::repeat_n(&self.name, rows));
        let ids: [ArrayRef; 2] = [Arc::new(names), Arc::new(positions)];
        let columns = batch.columns().iter().take(self.wanted).cloned().chain(ids).collect();
        let all = RecordBatch::try_new(Arc::clone(&self.schema), columns).map_err(Error::unexpected)?;
        let visible = BooleanBuffer::collect_bool(rows, |row| !self.hidden.contains(first + row as u64));
        let visible = BooleanArray::new(visible, None);
        let kept = match &self.condition {
            None => visible,
            Some(condition) => and_kleene(&condition.matches(batch)?, &visible).map_err(Error::unexpected)?,
        };
        filter_record_batch(&all, &kept).map_err(Error::unexpected)
    }
}

/// A filter of rows that are read with more columns than are wanted.
struct RowCondition {
    predicate: Predicate,
    /// The columns that only the filter needs.
    added: Vec<String>,
    /// The columns of the filter.
    filtered: Vec<String>,
    /// The positions of the filter's columns among those that are read.
    places: Vec<usize>,
}

impl RowCondition {
    /// The filter of a request; `None` where it has none.
    fn new(table: &Table, schema: &Schema, request: &ReadRequest) -> Result<Option<Self>> {
        let Some(filter) = &request.filter else { return Ok(None) };
        let predicate = Predicate::bind(filter, schema).map_err(|error| error.at(table.location()))?;
        let wanted = request.columns.as_deref().unwrap_or_default();
        let (mut added, mut filtered, mut places) = (Vec::new(), Vec::new(), Vec::new());
        for at in predicate.columns() {
            let name = schema.field(*at).name();
            places.push(wanted.iter().position(|known| known == name).unwrap_or_else(|| {
                added.push(name.clone());
                wanted.len() + added.len() - 1
            }));
            filtered.push(name.clone());
        }
        Ok(Some(Self { predicate, added, filtered, places }))
    }

    /// The request with the columns that the filter needs, which are read with all their fields.
    fn widened(&self, mut request: ReadRequest) -> ReadRequest {
        request.columns.get_or_insert_default().extend(self.added.iter().cloned());
        request.fields.retain(|column, _| !self.filtered.contains(column));
        request
    }

    /// Evaluates the filter for each row.
    fn matches(&self, batch: &RecordBatch) -> Result<BooleanArray> {
        self.predicate.evaluate(&batch.project(&self.places).map_err(Error::unexpected)?)
    }
}
