//! The least and the greatest value of a column, if footers contain both exactly.

use std::sync::Arc;

use arrow::datatypes::{DataType, Field, SchemaRef, TimeUnit};
use parquet::basic::Type as Physical;

use super::prune::{StoredColumn, group_bounds};
use crate::parquet::footer::FileMeta;
use crate::predicate::{ColumnRef, Value};
use crate::source::Extremes;

/// The extremes of all rows of the files; `None` if a footer does not contain them, or rows are hidden.
pub(crate) fn extremes(files: &[Arc<FileMeta>], schema: &SchemaRef, column: &str) -> Option<Extremes> {
    let root = schema.index_of(column).ok()?;
    let data_type = schema.field(root).data_type().clone();
    let column = ColumnRef { root, path: vec![column.to_owned()], data_type };
    let mut found = Extremes::default();
    for file in files {
        if file.hidden.is_some() || !is_exact(file, &column) {
            return None;
        }
        for group in file.metadata().row_groups() {
            let rows = u64::try_from(group.num_rows()).ok()?;
            let bounds = group_bounds(file, group, &column);
            match (bounds.min, bounds.max) {
                _ if rows == 0 => {}
                (None, None) if bounds.null_count == Some(rows) => {}
                (Some(min), Some(max)) => found.widen(min, max)?,
                _ => return None,
            }
        }
    }
    Some(found)
}

/// Returns true if the bounds of a column are values of it. Texts may be cut, floats may have NaN in addition, and a
/// timestamp of nanoseconds is another value for readers that support only microseconds.
fn is_exact(file: &FileMeta, column: &ColumnRef) -> bool {
    let [name] = column.path.as_slice() else { return false };
    match (file.schema().field_with_name(name), StoredColumn::find(file, column)) {
        (Err(_), _) => is_exact_type(&column.data_type),
        (Ok(_), None) => false,
        (Ok(field), Some(stored)) => {
            let physical = file.metadata().file_metadata().schema_descr().column(stored.leaf).physical_type();
            matches!(physical, Physical::BOOLEAN | Physical::INT32 | Physical::INT64)
                && is_exact_type(&column.data_type)
                && is_same_or_wider(field, &column.data_type)
        }
    }
}

fn is_exact_type(data_type: &DataType) -> bool {
    match data_type {
        DataType::Timestamp(unit, _) => *unit != TimeUnit::Nanosecond,
        DataType::Boolean | DataType::Date32 => true,
        other => other.is_integer() || other.is_decimal(),
    }
}

fn is_same_or_wider(field: &Field, data_type: &DataType) -> bool {
    field.data_type() == data_type || field.data_type().is_integer() && data_type.is_integer()
}

impl Extremes {
    /// Adds the bounds of more rows; `None` if they are not valid bounds.
    fn widen(&mut self, min: Value, max: Value) -> Option<()> {
        if min.compare(&max)?.is_gt() {
            return None;
        }
        if self.min.as_ref().map_or(Some(true), |known| Some(min.compare(known)?.is_lt()))? {
            self.min = Some(min);
        }
        if self.max.as_ref().map_or(Some(true), |known| Some(max.compare(known)?.is_gt()))? {
            self.max = Some(max);
        }
        Some(())
    }
}
