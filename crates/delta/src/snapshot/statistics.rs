//! The log's statistics of the values in a file.

use std::cmp::Ordering;

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes::{DataType, Fields, Int64Type};
use lakerace_format::predicate::{Bounds, ColumnRef, ColumnStatistics, Value};

use super::columns::TableColumns;
use super::files::TableFile;

pub(crate) mod counts;
pub(crate) mod imprecise;
pub(crate) mod lenient;
pub(crate) mod misfit;
pub(crate) mod validity;

/// The statistics of one file.
pub(crate) struct FileStatistics<'a> {
    pub file: &'a TableFile,
    pub columns: &'a TableColumns,
}

impl FileStatistics<'_> {
    /// A number of the statistics, such as the least value of a column.
    pub(crate) fn array(&self, kind: &str, path: &[&str]) -> Option<(ArrayRef, usize)> {
        let (statistics, row) = self.file.statistics.as_ref()?;
        let mut array = statistics.column_by_name(kind)?.clone();
        for name in path {
            array = array.as_struct_opt()?.column_by_name(name)?.clone();
        }
        Some((array, *row))
    }

    /// The first column, or field of a struct column, whose minimum is above its maximum, by more than writers are imprecise.
    pub(crate) fn reversed_column(&self) -> Option<String> {
        self.reversed_field(self.columns.logical().fields(), &mut Vec::new())
    }

    fn reversed_field(&self, fields: &Fields, path: &mut Vec<String>) -> Option<String> {
        fields.iter().find_map(|field| {
            path.push(field.name().clone());
            let found = match field.data_type() {
                DataType::Struct(inner) => self.reversed_field(inner, path),
                data_type => self.is_reversed(path, data_type).then(|| path.join(".")),
            };
            path.pop();
            found
        })
    }

    fn is_reversed(&self, path: &[String], data_type: &DataType) -> bool {
        let Some(stored) = self.columns.stored_path(path) else { return false };
        let min = self.bound("minValues", &stored, data_type).and_then(|min| imprecise::at_least(min, data_type));
        let max = self.bound("maxValues", &stored, data_type).and_then(|max| imprecise::at_most(max, data_type));
        min.zip(max).is_some_and(|(min, max)| min.compare(&max).is_some_and(Ordering::is_gt))
    }

    fn bound(&self, kind: &str, path: &[&str], data_type: &DataType) -> Option<Value> {
        let (array, row) = self.array(kind, path)?;
        if !is_same(array.data_type(), data_type) {
            return None;
        }
        // NaN as a bound says nothing: other values may lie on either side of it.
        Value::from_array(&array, row).filter(|value| !matches!(value, Value::Float(float) if float.is_nan()))
    }
}

impl ColumnStatistics for FileStatistics<'_> {
    fn row_count(&self) -> Option<u64> {
        self.file.rows
    }

    fn bounds(&self, column: &ColumnRef) -> Bounds {
        if let Some(constants) = &self.file.constants
            && let Some(bounds) = constants.bounds_of(column, self.file.rows)
        {
            return bounds;
        }
        let Some(path) = self.columns.stored_path(&column.path) else { return Bounds::default() };
        let nulls = self.array("nullCount", &path).and_then(|(array, row)| {
            let counts = array.as_primitive_opt::<Int64Type>()?;
            u64::try_from(counts.is_valid(row).then(|| counts.value(row))?).ok()
        });
        let min = self.bound("minValues", &path, &column.data_type);
        let max = self.bound("maxValues", &path, &column.data_type);
        let stated = Bounds { min, max, null_count: nulls }.plausible(self.file.rows);
        Bounds {
            min: stated.min.and_then(|min| self::imprecise::at_least(min, &column.data_type)),
            max: stated.max.and_then(|max| self::imprecise::at_most(max, &column.data_type)),
            null_count: stated.null_count,
        }
    }

    fn label(&self) -> &str {
        "log statistics"
    }
}

/// Returns true if both types have the same values; layouts of text may differ.
fn is_same(log: &DataType, column: &DataType) -> bool {
    match (log, column) {
        (DataType::Utf8, DataType::Utf8View) | (DataType::Binary, DataType::BinaryView) => true,
        (log, column) => log == column,
    }
}
