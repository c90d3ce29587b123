//! Actions that the kernel's transactions do not know, in the same entry as theirs.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use arrow::array::{
    Array, ArrayRef, AsArray, BooleanArray, Int32Array, Int64Array, RecordBatch, StringArray, StructArray,
};
use arrow::buffer::NullBuffer;
use arrow::datatypes::{DataType, Field, Fields, Schema};
use delta_kernel::actions::deletion_vector::DeletionVectorDescriptor;
use delta_kernel::committer::{CommitMetadata, CommitResponse, Committer, FileSystemCommitter, PublishMetadata};
use delta_kernel::engine::arrow_data::{ArrowEngineData, EngineDataArrowExt};
use delta_kernel::expressions::ColumnName;
use delta_kernel::{Engine, FilteredEngineData, KernelResult, KernelResultIterator};
use lakerace_io::wait::lock;
use lakerace_io::{Error, Result};

use super::operation_metrics::{OperationFigures, metrics_column, text_map};
use crate::kernel::error::to_kernel;
use crate::log::completeness::ACTION_COUNT;
use crate::log::json_object::JsonObject;
use crate::protocol::{lowest, protocol_action};
use crate::table::Table;
use crate::write::{AddedFile, log_text};

/// The actions of the next entry in addition to the kernel's. Clones share it.
#[derive(Debug, Clone, Default)]
pub(crate) struct MoreActions {
    more: Arc<Mutex<ExtraActions>>,
}

/// The extra actions of an entry.
#[derive(Debug, Clone, Default)]
pub(crate) struct ExtraActions {
    /// Batches with one column, which has the action's name.
    pub batches: Vec<RecordBatch>,
    /// The statistics of files that were written for it, as the log states them, by their names.
    pub statistics: HashMap<String, String>,
    /// The deletion vectors of files that are added, by their names.
    pub vectors: HashMap<String, DeletionVectorDescriptor>,
    /// It changes data, though the kernel takes it for one that does not.
    pub tells_changes: bool,
    /// Rows that are written again get new ids.
    pub gives_ids: bool,
    /// The operation that the entry names in place of the kernel's, which reserves some names.
    pub operation: Option<String>,
    /// The figures of the operation, for its metrics.
    pub figures: OperationFigures,
}

/// The tag that says whether all rows keep their ids.
const IDS_ARE_KEPT: &str = "delta.rowTracking.preserved";

impl MoreActions {
    /// Replaces the actions.
    pub fn set(&self, more: ExtraActions) {
        *lock(&self.more) = more;
    }

    /// Returns true if it has nothing that the kernel would not say in other words.
    pub fn is_empty(&self) -> bool {
        let more = lock(&self.more);
        let ExtraActions { batches, statistics: _, vectors, tells_changes, gives_ids, operation: _, figures: _ } =
            &*more;
        batches.is_empty() && vectors.is_empty() && !tells_changes && !gives_ids
    }
}

/// Lowers the protocol of a new table to the lowest one that has its features. The kernel lists features where it need
/// not, and readers that do not support lists refuse such a table. The statistics of its files come from the second
/// part.
pub(crate) struct MinProtocolCommitter(pub Table, pub MoreActions);

impl Committer for MinProtocolCommitter {
    fn commit(
        &self,
        engine: &dyn Engine,
        actions: KernelResultIterator<'_, FilteredEngineData>,
        commit_metadata: CommitMetadata,
    ) -> KernelResult<CommitResponse> {
        let told = commit_metadata.protocol_metadata().new_protocol().cloned();
        let told = told.ok_or_else(|| to_kernel(Error::internal("the kernel created a table without a protocol")))?;
        let features = [told.reader_features(), told.writer_features()].map(Option::unwrap_or_default);
        let protocol = lowest(features[0], features[1]).and_then(|protocol| protocol_action(&self.0, &protocol));
        let protocol = protocol.map_err(to_kernel)?;
        let ExtraActions { statistics, figures, .. } = lock(&self.1.more).clone();
        let actions = actions.map(move |batch| {
            let batch = with_files(batch?, &statistics, &HashMap::new())?;
            let is_protocol = batch.data().has_field(&ColumnName::new(["protocol"]));
            Ok(if is_protocol { all_of(protocol.clone()) } else { batch })
        });
        commit_counted(engine, actions, &figures, commit_metadata)
    }

    fn is_catalog_committer(&self) -> bool {
        false
    }

    fn publish(&self, engine: &dyn Engine, publish_metadata: PublishMetadata) -> KernelResult<()> {
        FileSystemCommitter::new().publish(engine, publish_metadata)
    }
}

/// Puts the kernel's actions and ours into one entry, where there is none of its number.
pub(crate) struct WithExtraActions(pub MoreActions);

impl Committer for WithExtraActions {
    fn commit(
        &self,
        engine: &dyn Engine,
        actions: KernelResultIterator<'_, FilteredEngineData>,
        commit_metadata: CommitMetadata,
    ) -> KernelResult<CommitResponse> {
        let more = lock(&self.0.more).clone();
        let ExtraActions { batches, statistics, vectors, tells_changes, gives_ids, operation, figures } = more;
        let actions = actions.map(move |batch| {
            let mut batch = with_files(batch?, &statistics, &vectors)?;
            if tells_changes {
                batch = with_field(batch, "dataChange", &|rows| Arc::new(BooleanArray::from(vec![true; rows])))?;
            }
            let has_info = batch.data().has_field(&ColumnName::new(["commitInfo"]));
            if let Some(operation) = operation.as_deref().filter(|_| has_info) {
                let named = |rows| -> ArrayRef { Arc::new(StringArray::from(vec![operation; rows])) };
                batch = with_field(batch, "operation", &named)?;
            }
            if gives_ids && has_info { with_field(batch, "tags", &ids_are_new) } else { Ok(batch) }
        });
        let more = batches.into_iter().map(|batch| Ok(all_of(batch)));
        commit_counted(engine, actions.chain(more), &figures, commit_metadata)
    }

    fn is_catalog_committer(&self) -> bool {
        false
    }

    fn publish(&self, engine: &dyn Engine, publish_metadata: PublishMetadata) -> KernelResult<()> {
        FileSystemCommitter::new().publish(engine, publish_metadata)
    }
}

/// Writes an entry that says how many actions it has, so that one which was cut is known as such, and the metrics of its
/// operation.
fn commit_counted(
    engine: &dyn Engine,
    actions: impl Iterator<Item = KernelResult<FilteredEngineData>>,
    figures: &OperationFigures,
    commit_metadata: CommitMetadata,
) -> KernelResult<CommitResponse> {
    let batches = actions.map(|batch| batch?.apply_selection_vector().try_into_record_batch());
    let batches = batches.collect::<KernelResult<Vec<RecordBatch>>>()?;
    let count = batches.iter().map(RecordBatch::num_rows).sum::<usize>() as i64;
    let metrics = metrics_column(&batches, figures);
    let counted = batches.into_iter().map(|batch| {
        let has_info = batch.schema_ref().field_with_name("commitInfo").is_ok();
        let batch = all_of(batch);
        if !has_info {
            return Ok(batch);
        }
        let batch = with_field(batch, ACTION_COUNT, &|rows| Arc::new(Int64Array::from(vec![count; rows])))?;
        with_field(batch, "operationMetrics", &metrics)
    });
    FileSystemCommitter::new().commit(engine, Box::new(counted), commit_metadata)
}

/// The statistics of files as the log states them, by their names.
pub(super) fn stated<'a>(files: impl IntoIterator<Item = &'a AddedFile>) -> Result<HashMap<String, String>> {
    files.into_iter().map(|file| Ok((file.name.clone(), log_text(&file.statistics)?))).collect()
}

fn all_of(batch: RecordBatch) -> FilteredEngineData {
    FilteredEngineData::with_all_rows_selected(Box::new(ArrowEngineData::new(batch)))
}

/// The actions of a batch with another value of a field, where they have it.
fn with_field(
    batch: FilteredEngineData,
    name: &str,
    values: &dyn Fn(usize) -> ArrayRef,
) -> KernelResult<FilteredEngineData> {
    let batch = batch.apply_selection_vector().try_into_record_batch()?;
    let mut columns: Vec<(Field, ArrayRef)> = Vec::with_capacity(batch.num_columns());
    for (field, column) in batch.schema_ref().fields().iter().zip(batch.columns()) {
        let mut column = Arc::clone(column);
        if let Some(actions) = column.as_struct_opt()
            && let Some(at) = actions.fields().iter().position(|field| field.name() == name)
        {
            let values = values(actions.len());
            let (mut fields, mut parts) = (actions.fields().to_vec(), actions.columns().to_vec());
            fields[at] = Arc::new(Field::new(name, values.data_type().clone(), true));
            parts[at] = values;
            let actions = StructArray::try_new(fields.into(), parts, actions.nulls().cloned());
            column = Arc::new(actions.map_err(|e| to_kernel(Error::unexpected(e)))?);
        }
        columns.push((field.as_ref().clone().with_data_type(column.data_type().clone()), column));
    }
    let (fields, columns): (Vec<Field>, Vec<ArrayRef>) = columns.into_iter().unzip();
    let batch = RecordBatch::try_new(Arc::new(Schema::new(fields)), columns);
    batch.map(all_of).map_err(|e| to_kernel(Error::unexpected(e)))
}

/// The tags of an entry whose rows get new ids. Protocol: "Writer Requirements for Row Tracking".
fn ids_are_new(rows: usize) -> ArrayRef {
    text_map(rows, std::iter::once((IDS_ARE_KEPT, "false".to_owned())))
}

/// Sets the statistics and vectors of the files that a batch adds.
fn with_files(
    batch: FilteredEngineData,
    statistics: &HashMap<String, String>,
    vectors: &HashMap<String, DeletionVectorDescriptor>,
) -> KernelResult<FilteredEngineData> {
    let has_more = !statistics.is_empty() || !vectors.is_empty();
    if !has_more || !batch.data().has_field(&ColumnName::new(["add"])) {
        return Ok(batch);
    }
    let batch = batch.apply_selection_vector().try_into_record_batch()?;
    let Some(adds) = batch.column_by_name("add").and_then(|adds| adds.as_struct_opt()) else {
        return Ok(all_of(batch));
    };
    let adds = adds_with_statistics(adds, statistics, vectors).map_err(to_kernel)?;
    let adds = if vectors.is_empty() { adds } else { adds_with_vectors(&adds, vectors).map_err(to_kernel)? };
    let field = Field::new("add", adds.data_type().clone(), true);
    let batch = RecordBatch::try_new(Arc::new(Schema::new(vec![field])), vec![Arc::new(adds)]);
    batch.map(all_of).map_err(|e| to_kernel(Error::unexpected(e)))
}

/// A text of every file that is added.
fn texts<'a>(adds: &'a StructArray, name: &str) -> Result<&'a StringArray> {
    let column = adds.column_by_name(name).and_then(|column| column.as_string_opt::<i32>());
    column.ok_or_else(|| Error::internal(format!("the kernel added files without {name}")))
}

/// Sets the statistics of files in the log; those of files with a vector cover more rows than these show.
fn adds_with_statistics(
    adds: &StructArray,
    statistics: &HashMap<String, String>,
    vectors: &HashMap<String, DeletionVectorDescriptor>,
) -> Result<StructArray> {
    let (paths, known) = (texts(adds, "path")?, texts(adds, "stats")?);
    let of_row = |row: usize| {
        let path = paths.value(row);
        let known = known.is_valid(row).then(|| known.value(row));
        match (statistics.get(path).map(String::as_str).or(known), vectors.contains_key(path)) {
            (Some(text), true) => wide(text).map(Some),
            (text, _) => Ok(text.map(str::to_owned)),
        }
    };
    let stated: StringArray = (0..adds.len()).map(of_row).collect::<Result<Vec<_>>>()?.into_iter().collect();
    let (fields, mut columns, nulls) = adds.clone().into_parts();
    let at = fields.iter().position(|field| field.name() == "stats");
    let at = at.ok_or_else(|| Error::internal("the kernel added files without stats"))?;
    columns[at] = Arc::new(stated);
    StructArray::try_new(fields, columns, nulls).map_err(Error::unexpected)
}

fn adds_with_vectors(adds: &StructArray, vectors: &HashMap<String, DeletionVectorDescriptor>) -> Result<StructArray> {
    let paths = texts(adds, "path")?;
    let of_row: Vec<Option<&DeletionVectorDescriptor>> =
        (0..adds.len()).map(|row| vectors.get(paths.value(row))).collect();
    let mut columns: Vec<(Arc<Field>, ArrayRef)> = adds
        .fields()
        .iter()
        .zip(adds.columns())
        .filter(|(field, _)| field.name() != "deletionVector")
        .map(|(field, column)| (Arc::clone(field), Arc::clone(column)))
        .collect();
    let array = descriptors(&of_row)?;
    columns.push((Arc::new(Field::new("deletionVector", array.data_type().clone(), true)), Arc::new(array)));
    let (fields, columns): (Vec<_>, Vec<_>) = columns.into_iter().unzip();
    StructArray::try_new(fields.into(), columns, adds.nulls().cloned()).map_err(Error::unexpected)
}

/// Statistics that hold for more rows than the file shows.
fn wide(stats: &str) -> Result<String> {
    let mut stats = JsonObject::parse(stats).ok_or_else(|| Error::internal("the statistics are not a JSON object"))?;
    stats.set("tightBounds", "false");
    Ok(stats.to_string())
}

fn descriptors(of_row: &[Option<&DeletionVectorDescriptor>]) -> Result<StructArray> {
    let fields = Fields::from(vec![
        Field::new("storageType", DataType::Utf8, true),
        Field::new("pathOrInlineDv", DataType::Utf8, true),
        Field::new("offset", DataType::Int32, true),
        Field::new("sizeInBytes", DataType::Int32, true),
        Field::new("cardinality", DataType::Int64, true),
    ]);
    let kinds: StringArray = of_row.iter().map(|v| v.map(|v| v.storage_type.to_string())).collect();
    let names: StringArray = of_row.iter().map(|v| v.map(|v| v.path_or_inline_dv.clone())).collect();
    let offsets: Int32Array = of_row.iter().map(|v| v.and_then(|v| v.offset)).collect();
    let sizes: Int32Array = of_row.iter().map(|v| v.map(|v| v.size_in_bytes)).collect();
    let counts: Int64Array = of_row.iter().map(|v| v.map(|v| v.cardinality)).collect();
    let nulls = NullBuffer::from(of_row.iter().map(Option::is_some).collect::<Vec<bool>>());
    let columns: Vec<ArrayRef> =
        vec![Arc::new(kinds), Arc::new(names), Arc::new(offsets), Arc::new(sizes), Arc::new(counts)];
    StructArray::try_new(fields, columns, Some(nulls)).map_err(Error::unexpected)
}
