//! Text and workbooks that are written to a Delta table: its columns are read in the table's types, unless an option names others.

use std::sync::Arc;

use arrow::datatypes::{DataType, Field, Schema};
use lakerace_delta::{Evolve, Table, may_widen};
use lakerace_format::schema_text::print_schema;
use lakerace_format::{CsvOptions, FieldPositions};
use lakerace_io::{ErrorKind, Job, Result};

use crate::column_item::{ColumnItem, ComputedColumn};
use crate::column_nesting::ColumnNesting;
use crate::option_scope::PlaceKind;
use crate::options::ReadOptions;
use crate::scan::Scan;

/// Opens a source whose rows are written to a table. In CSV, TBL, JSON lines and Excel, columns of the table without a given
/// type are read in the table's type, because a type that is inferred from the first rows is often not that of the
/// column. A renamed column has the type of the table's column of its new name.
///
/// Numbers keep their inferred type where they may widen the table's: in columns that belong neither to `key` nor to
/// the partitions.
pub(crate) fn open(
    source: &str,
    read: &ReadOptions,
    table: &Table,
    evolve: Evolve,
    key: &[String],
    job: &Job,
) -> Result<Scan> {
    let is_typed = |scan: &Scan| PlaceKind::of_source(&scan.format()).is_typed_by_target();
    let scan = Scan::open(source, read, job);
    let is_computed = read.columns.iter().flatten().any(|item| item.as_computed().is_some());
    let looks = match &scan {
        Ok(scan) if is_typed(scan) => scan.source_schema(),
        // The filter and computed columns may fit the table's types, and not the inferred ones.
        Err(_) if read.filter.is_some() || is_computed => {
            let all = ReadOptions { filter: None, columns: None, order_by: None, ..read.clone() };
            match Scan::open(source, &all, job) {
                Ok(all) if is_typed(&all) => all.source_schema(),
                _ => return scan,
            }
        }
        _ => return scan,
    };
    let snapshot = match table.snapshot(None) {
        Ok(snapshot) => snapshot,
        // The table will be created from the source's rows.
        Err(error) if error.kind() == ErrorKind::NotFound => return scan,
        Err(error) => return Err(error),
    };
    let widens = |field: &Field, to: &DataType| evolve.widen && to.is_numeric() && may_widen(&snapshot, field, to, key);
    let positions = FieldPositions::new(looks.fields());
    let like = |field: &Field| positions.of_name(field.name()).map(|at| looks.field(at));
    let typed = |field: &Arc<Field>| {
        let as_read = field.as_ref().clone().with_name(source_of(field.name(), read.columns.as_deref())?);
        let like = like(&as_read).is_some_and(|like| !widens(field, like.data_type()));
        (like && !field.data_type().is_nested() && !field.data_type().is_binary()).then_some(as_read)
    };
    let mut fields: Vec<Field> = read.nesting.source_fields(snapshot.schema()).iter().filter_map(typed).collect();
    if let ColumnNesting::Flattened { separator } = &read.nesting {
        let own = FieldPositions::new(snapshot.schema().fields());
        let type_of = |name: &str, like: &DataType| {
            let field = snapshot.schema().field(own.of_name(name)?);
            let is_read = !field.data_type().is_nested() && !field.data_type().is_binary() && !widens(field, like);
            is_read.then(|| field.data_type().clone())
        };
        let structs = looks.fields().iter().filter(|field| matches!(field.data_type(), DataType::Struct(_)));
        fields.extend(structs.map(|field| with_types(field, field.name(), separator, &type_of)));
    }
    if fields.iter().all(|field| like(field).is_some_and(|like| like == field)) {
        return scan;
    }
    let csv = CsvOptions { types: Some(print_schema(&Schema::new(fields))), ..read.csv.clone() };
    Scan::open(source, &ReadOptions { csv, ..read.clone() }, job)
}

/// A column with these types of the columns that its fields become.
fn with_types(
    field: &Field,
    name: &str,
    separator: &str,
    type_of: &dyn Fn(&str, &DataType) -> Option<DataType>,
) -> Field {
    let data_type = match field.data_type() {
        DataType::Struct(inner) => {
            let typed = |inner: &Arc<Field>| {
                with_types(inner, &format!("{name}{separator}{}", inner.name()), separator, type_of)
            };
            DataType::Struct(inner.iter().map(typed).collect())
        }
        other => type_of(name, other).unwrap_or_else(|| other.clone()),
    };
    field.clone().with_data_type(data_type)
}

/// The source's column that has the type of a table's column: the one that goes there with its own or another name, or the
/// one of the same name from which its values are computed.
fn source_of<'a>(name: &'a str, items: Option<&'a [ColumnItem]>) -> Option<&'a str> {
    let items = items.unwrap_or_default();
    let computed = || items.iter().filter_map(ColumnItem::as_computed);
    if let Some(column) = computed().find(|column| column.name == name) {
        let is_renamed_alone = |renamed: &&str| !items.iter().any(|item| item.text() == *renamed);
        let mut needs_own = false;
        column.value.visit_columns(&mut |used| needs_own |= used == name);
        return if needs_own { Some(name) } else { column.renamed().filter(is_renamed_alone) };
    }
    // Its values go to a column of another name.
    let goes_elsewhere = |column: &ComputedColumn| column.renamed() == Some(name);
    let is_named = items.iter().any(|item| item.text() == name);
    (is_named || !computed().any(goes_elsewhere)).then_some(name)
}

#[cfg(test)]
mod tests;
