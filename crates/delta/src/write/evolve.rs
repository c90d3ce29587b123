//! A table's schema that follows its sources: new columns, and numbers that become wider.
//!
//! The entry that adds the rows also changes the schema: by an action that lakerace adds, because the kernel's
//! transactions change no types. Earlier files stay unchanged: their readers return nulls for new columns and widen
//! values. Format: <https://github.com/delta-io/delta/blob/master/PROTOCOL.md#type-widening>.

use std::sync::Arc;

use arrow::datatypes::{DataType, Field, Schema};
use delta_kernel::expressions::ColumnName;
use delta_kernel::schema::StructType;
use lakerace_io::{Error, Result};
use serde_json::Value;

use super::fit::TargetColumn;
use super::strict::{refuse_duplicates, refuse_same_names};
use super::types::table_types;
use super::wider_type::wider;
use crate::changes::is_feed_column;
use crate::commit::metadata::MetadataChanges;
use crate::log::exact_numbers::ExactNumbers;
use crate::snapshot::Snapshot;
use crate::snapshot::columns::TableColumns;

pub(crate) mod fields;

use fields::EvolvingSchema;

/// The changes of a table's schema that a write may make.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Evolve {
    /// Columns that the table lacks become its own; rows of before have nulls there.
    pub add: bool,
    /// Numbers that don't fit a column's type make it wider, where the table allows it (`delta.enableTypeWidening`).
    pub widen: bool,
}

/// A schema that has changed.
#[derive(Clone)]
pub(crate) struct EvolvedSchema {
    /// The columns that files get.
    pub columns: Arc<TableColumns>,
    /// The changes of the table.
    pub changes: MetadataChanges,
    /// The columns that are new, by their stored names, and that have values to compare.
    new_columns: Vec<String>,
}

/// Columns that have statistics, where the table does not say which.
const STATISTICS_AT_MOST: usize = 32;

impl EvolvedSchema {
    /// The new columns that get statistics, in addition to so many others.
    pub fn statistics(&self, known: usize) -> Vec<ColumnName> {
        let names = self.new_columns.iter().take(STATISTICS_AT_MOST.saturating_sub(known));
        names.map(|name| ColumnName::new([name.as_str()])).collect()
    }
}

/// The highest id that a column has.
pub(crate) const MAX_COLUMN_ID: &str = "delta.columnMapping.maxColumnId";

/// Returns true if rows of a type may widen a column of a table. Columns of the partitions and of the key, by default
/// the table's own, may not be widened.
pub fn may_widen(snapshot: &Snapshot, column: &Field, source: &DataType, key: &[String]) -> bool {
    let name = column.name();
    let is_key = if key.is_empty() { snapshot.key().contains(name) } else { key.contains(name) };
    let is_fixed = is_key || snapshot.partition_columns().contains(name);
    !is_fixed && fields::allows_widening(snapshot) && wider(column.data_type(), source).is_some()
}

/// The schema of a table that can take batches of the source's schema; `None` where the present one can, or must not
/// change. Columns of the key stay unchanged. A new column that needs a feature which the table lacks is an error.
pub(crate) fn evolve(
    snapshot: &Snapshot,
    source: &Schema,
    allowed: Evolve,
    key: &[String],
) -> Result<Option<EvolvedSchema>> {
    evolve_with(snapshot, source, allowed, key, false)
}

/// The same as [`evolve`]; with `adds_features`, the caller adds the features that new columns need.
pub(crate) fn evolve_with(
    snapshot: &Snapshot,
    source: &Schema,
    allowed: Evolve,
    key: &[String],
    adds_features: bool,
) -> Result<Option<EvolvedSchema>> {
    if allowed == Evolve::default() {
        return Ok(None);
    }
    let configuration = snapshot.kernel().table_configuration();
    let mut schema = ExactNumbers::parse(configuration.metadata().schema_string())
        .map_err(|e| Error::corrupt(format!("the table's schema can't be read: {e}")))?;
    let fields = schema.tree.get_mut("fields").and_then(Value::as_array_mut);
    let fields = fields.ok_or_else(|| Error::corrupt("the table's schema has no fields"))?;
    let table = snapshot.columns().logical();
    refuse_duplicates(source.fields())?;
    if allowed.add {
        refuse_same_names(&table_types(source, Some(table.fields()))?)?;
    }
    let mut evolving = EvolvingSchema::new(snapshot, allowed)?;
    evolving.adds_features = adds_features;
    let mut added = Vec::new();
    for field in source.fields() {
        let named = |error: Error| error.at(format!("column {:?}", field.name()));
        match table.column_with_name(field.name()) {
            Some((at, known)) => {
                let is_fixed = snapshot.partition_columns().contains(field.name()) || key.contains(field.name());
                evolving.field(&mut fields[at], known, field.data_type(), is_fixed).map_err(named)?;
            }
            None if allowed.add && snapshot.has_change_feed() && is_feed_column(field.name()) => {
                let message = "a table with a change data feed can't have a column of this name";
                return Err(named(Error::unsupported(message).advice("rename it in the source, or exclude it")));
            }
            None if allowed.add => added.push(evolving.added(field, table.fields()).map_err(named)?),
            None => {}
        }
    }
    if !evolving.has_changed {
        return Ok(None);
    }
    let mut changes = MetadataChanges::default();
    if let Some(highest) = evolving.highest {
        changes.properties.insert(MAX_COLUMN_ID.to_owned(), highest.to_string());
    }
    let names: Vec<String> = added.iter().filter_map(|field| field["name"].as_str().map(str::to_owned)).collect();
    fields.extend(added);
    let text = schema.text();
    let kernel: StructType = serde_json::from_str(&text).map_err(Error::unexpected)?;
    let columns = Arc::new(TableColumns::new(&kernel, configuration.column_mapping_mode())?);
    changes.schema = Some(text);
    let targets = columns.targets();
    let is_new =
        |target: &&TargetColumn| names.contains(target.logical.name()) && !target.logical.data_type().is_nested();
    let new_columns = targets.iter().filter(is_new).map(|target| target.stored.name().clone()).collect();
    // A table that names the columns with statistics means these.
    let chosen = snapshot.kernel().table_properties().data_skipping_stats_columns.is_some();
    Ok(Some(EvolvedSchema { columns, changes, new_columns: if chosen { Vec::new() } else { new_columns } }))
}

#[cfg(test)]
mod tests;
