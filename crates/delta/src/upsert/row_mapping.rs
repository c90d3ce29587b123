//! The mapping of a source's rows to a table.

use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, RecordBatchOptions, new_null_array};
use arrow::datatypes::{FieldRef, Schema, SchemaRef};
use lakerace_format::suggestions::column_not_found;
use lakerace_format::{Batches, FieldPositions};
use lakerace_io::option::{ALTER, EVOLVE, KEY, SET};
use lakerace_io::{Error, Job, Result};

use super::UpsertOptions;
use super::key_windows::{KeyWindows, WindowGathering};
use super::operator::{MergeOperator, MergeOperators};
use super::streaming_write::StreamingWrite;
use crate::key::KeyColumns;
use crate::protocol::check_defaults;
use crate::snapshot::{KEY_PROPERTY, Snapshot};
use crate::write::{BatchFit, EvolvedSchema, TargetColumn, evolve};

/// The source's columns as the table's.
pub(crate) struct RowMapping {
    /// The key.
    pub columns: KeyColumns,
    /// From the source's columns to the same columns of the table.
    fit: BatchFit,
    /// The merge of rows of the source with the same key.
    own: MergeOperators,
    /// The merge with rows of the table; columns that the source lacks keep the table's values.
    pub operators: MergeOperators,
    /// The columns that are written.
    pub written: SchemaRef,
    /// The columns that the table is partitioned by.
    partitions: Vec<String>,
    /// The schema that the table gets, where it has to change for the rows.
    pub evolved: Option<EvolvedSchema>,
}

/// Memory of an upsert that is left to readers and writers, at most.
const BUFFER_BYTES: u64 = 128 << 20;

impl RowMapping {
    /// The rows of an upsert.
    pub fn of_upsert(snapshot: &Snapshot, source: &SchemaRef, options: &UpsertOptions) -> Result<Self> {
        let key = key(snapshot, options)?;
        check_declared_key(&snapshot.key(), &key)?;
        let evolved = evolve(snapshot, source, options.evolve, &key)?;
        let schema = evolved.as_ref().map_or(snapshot.schema(), |evolved| evolved.columns.schema.schema());
        check_defaults(snapshot, source)?;
        let of_table = FieldPositions::new(schema.fields());
        for field in source.fields() {
            if of_table.of_name(field.name()).is_none() {
                let near = column_not_found(field.name(), names(schema)).advice_text().unwrap_or_default().to_owned();
                return Err(Error::not_found(format!("the table has no column {:?}", field.name()))
                    .at(snapshot.table().location())
                    .advice(format!("{near}; {} adds new columns to the table", EVOLVE.to("add"))));
            }
        }
        Self::between(source, schema, (key, &snapshot.partition_columns()), options, evolved.clone())
    }

    /// The rows of an upsert that makes a table of this schema, with a key and partition columns.
    pub fn of_new_table(
        schema: &SchemaRef,
        (key, partitions): (Vec<String>, &[String]),
        source: &SchemaRef,
        options: &UpsertOptions,
    ) -> Result<Self> {
        Self::between(source, schema, (key, partitions), options, None)
    }

    /// Rows of a source for a table of this schema.
    fn between(
        source: &SchemaRef,
        schema: &SchemaRef,
        (key, partitions): (Vec<String>, &[String]),
        options: &UpsertOptions,
        evolved: Option<EvolvedSchema>,
    ) -> Result<Self> {
        let columns = KeyColumns::new(schema, &key)?;
        let of_source = FieldPositions::new(source.fields());
        let has = |name: &str| of_source.of_name(name).is_some();
        check_key(&key, source)?;
        if let Some((name, _)) = options.merge.iter().find(|(name, _)| !has(name)) {
            return Err(Error::usage(format!("there are no values of {name:?} to merge: the rows don't have it")));
        }
        let missing: Vec<FieldRef> = schema.fields().iter().filter(|field| !has(field.name())).cloned().collect();
        let fit = fit(source, schema.fields().iter().filter(|field| has(field.name())), partitions)?;
        let kept = missing.iter().map(|field| (field.name().clone(), MergeOperator::LastNotNull));
        let all = options.merge.iter().cloned().chain(kept.filter(|_| !options.insert_only));
        let fields: Vec<FieldRef> = fit.schema().fields().iter().cloned().chain(missing.iter().cloned()).collect();
        Ok(Self {
            own: MergeOperators::new(options.merge.iter().cloned(), schema, &key)?,
            operators: MergeOperators::new(all, schema, &key)?,
            written: Arc::new(Schema::new(fields)),
            columns,
            fit,
            partitions: partitions.to_vec(),
            evolved,
        })
    }

    /// The keys of a delete.
    pub fn of_delete(snapshot: &Snapshot, source: &SchemaRef, options: &UpsertOptions) -> Result<Self> {
        let key = key(snapshot, options)?;
        let schema = snapshot.schema();
        let columns = KeyColumns::new(schema, &key)?;
        check_key(&key, source)?;
        let partitions = snapshot.partition_columns().to_vec();
        let fit = fit(source, schema.fields().iter().filter(|field| key.contains(field.name())), &partitions)?;
        let (own, operators) = (MergeOperators::default(), MergeOperators::default());
        Ok(Self { columns, own, operators, written: Arc::clone(fit.schema()), fit, partitions, evolved: None })
    }

    /// Sorts the rows of the source into windows.
    pub fn gather(&self, batches: Batches, options: &UpsertOptions, job: &Job) -> Result<KeyWindows> {
        let gather = WindowGathering {
            columns: &self.columns,
            fit: &self.fit,
            equal_keys: options.on_duplicate.into(),
            operators: &self.own,
            memory_bytes: memory_bytes(options),
            job,
        };
        gather.gather(batches)
    }

    /// The options of writing rows whose keys are known in advance.
    pub fn in_runs<'a>(&'a self, run_bytes: usize, job: &'a Job) -> StreamingWrite<'a> {
        StreamingWrite { fit: &self.fit, run_bytes, job }
    }

    /// From the key columns of a source to those of the table.
    pub fn fit_keys(&self, source: &SchemaRef) -> Result<BatchFit> {
        let is_key = |field: &&FieldRef| self.columns.names().any(|name| name == field.name());
        fit(source, self.written.fields().iter().filter(is_key), &self.partitions)
    }

    /// Returns true if rows with the same key become one that is neither of them.
    pub fn combines_own(&self) -> bool {
        self.own.combine_rows()
    }

    /// Rows with all the columns that are written: those that the source lacks are null.
    pub fn whole(&self, batch: &RecordBatch) -> Result<RecordBatch> {
        let positions = FieldPositions::new(batch.schema_ref().fields());
        let column = |field: &FieldRef| match positions.of_name(field.name()) {
            Some(at) => Ok(Arc::clone(batch.column(at))),
            None if field.is_nullable() => Ok(new_null_array(field.data_type(), batch.num_rows())),
            None => Err(Error::invalid(format!(
                "the rows do not have the column {:?}, which the table needs",
                field.name()
            ))),
        };
        let columns = self.written.fields().iter().map(column).collect::<Result<Vec<ArrayRef>>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        RecordBatch::try_new_with_options(Arc::clone(&self.written), columns, &options)
            .map_err(|e| Error::invalid(format!("the rows don't fit the table: {e}")))
    }
}

/// The memory for rows and keys.
pub(super) fn memory_bytes(options: &UpsertOptions) -> usize {
    let buffers = BUFFER_BYTES.min(options.memory_bytes / 2);
    usize::try_from(options.memory_bytes - buffers).unwrap_or(usize::MAX)
}

/// The key's columns.
pub(super) fn key(snapshot: &Snapshot, options: &UpsertOptions) -> Result<Vec<String>> {
    let key = if options.key.is_empty() { snapshot.key() } else { options.key.clone() };
    if key.is_empty() {
        return Err(Error::usage("no key is given, and the table does not have one (lakerace.primaryKey)")
            .advice(format!("name the key columns with {}", KEY.to("A,B"))));
    }
    Ok(key)
}

/// An error where rows would be put by another key than the one that their table declares: they could double a row by
/// its declared key.
pub fn check_declared_key(declared: &[String], given: &[String]) -> Result<()> {
    let is_same = declared.len() == given.len() && declared.iter().all(|name| given.contains(name));
    if declared.is_empty() || is_same {
        return Ok(());
    }
    let names_column = |name: &String| given.iter().any(|other| other.eq_ignore_ascii_case(name));
    let differs_in_case = declared.len() == given.len() && declared.iter().all(names_column);
    let (declared, given) = (declared.join(","), given.join(","));
    let own = KEY.to(declared.clone());
    let advice = if differs_in_case {
        format!("spell the key as the table does: {own}")
    } else {
        let alter = ALTER.with([SET.to(format!("{KEY_PROPERTY}={given}"))]);
        format!("use the table's key: {own}; or give the table this one: {alter}")
    };
    Err(Error::usage(format!("the key of the upsert is {given}, and the table's is {declared} ({KEY_PROPERTY})"))
        .at(KEY.to(given))
        .advice(advice))
}

/// An error where the rows lack a key column.
fn check_key(key: &[String], source: &SchemaRef) -> Result<()> {
    match key.iter().find(|name| source.field_with_name(name).is_err()) {
        Some(name) => Err(column_not_found(name, names(source)).at("the rows")),
        None => Ok(()),
    }
}

fn names(schema: &SchemaRef) -> impl Iterator<Item = &str> + Clone {
    schema.fields().iter().map(|field| field.name().as_str())
}

/// Columns of a source in the types of the table's batches. Nulls where the table has none are for others to find.
fn fit<'a>(source: &SchemaRef, fields: impl Iterator<Item = &'a FieldRef>, partitions: &[String]) -> Result<BatchFit> {
    let same = |field: &FieldRef| {
        let field = Arc::new(field.as_ref().clone().with_nullable(true));
        TargetColumn { logical: Arc::clone(&field), stored: field }
    };
    Ok(BatchFit::exact(source, &fields.map(same).collect::<Vec<_>>())?.without_empty(partitions))
}

#[cfg(test)]
mod tests;
