//! Values of a column as arrays.

use std::ops::Range;

use arrow::array::ArrayRef;
use arrow::array::types::{Date32Type, Float64Type, Int64Type, Time64MicrosecondType, TimestampMicrosecondType};
use arrow::datatypes::{DataType, Field};
use lakerace_io::{Error, Result};

use super::cell_arrays::{BadValues, booleans, primitives, text_views};
use super::cells::{CellValue, DAY_MS, is_exact_integer};
use super::given_values::given_array;
use super::sheet::SheetColumn;
use super::texts::SheetTexts;

/// The origin of a column's type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ColumnTypeOrigin {
    /// The user, or the table that rows go to.
    Given,
    /// The values of the first file.
    Inferred,
}

/// A column of a sheet, and the field that it is read as.
pub(super) struct ColumnToRead<'a> {
    /// `None`: all cells are empty.
    pub column: Option<&'a SheetColumn>,
    pub field: &'a Field,
    pub origin: ColumnTypeOrigin,
    /// Its number among those that are read.
    pub number: usize,
}

/// The array of a range of rows. Bad cells are nulls in it, and noted.
///
/// # Errors
/// `Unsupported` for a given type that cells have no values of.
pub(super) fn column_array(
    read: &ColumnToRead<'_>,
    rows: Range<usize>,
    texts: &SheetTexts,
    bad: &mut BadValues,
) -> Result<ArrayRef> {
    (bad.column, bad.is_nullable) = (read.number, read.field.is_nullable());
    let empty = SheetColumn::default();
    let cells = read.column.unwrap_or(&empty).values(rows);
    if read.origin == ColumnTypeOrigin::Given {
        return given_array(read.field, cells, texts, bad);
    }
    let data_type = read.field.data_type();
    Ok(match data_type {
        DataType::Boolean => booleans(cells, bad, |value| match value {
            CellValue::Boolean(value) => Some(*value),
            _ => None,
        }),
        DataType::Int64 => primitives::<Int64Type>(data_type, cells, bad, |value| match value {
            CellValue::Number(number) if is_exact_integer(*number) => Some(*number as i64),
            _ => None,
        }),
        DataType::Float64 => primitives::<Float64Type>(data_type, cells, bad, |value| match value {
            CellValue::Number(number) => Some(*number),
            _ => None,
        }),
        DataType::Date32 => primitives::<Date32Type>(data_type, cells, bad, |value| match value {
            CellValue::Date(days) => i32::try_from(*days).ok(),
            _ => None,
        }),
        DataType::Timestamp(..) => primitives::<TimestampMicrosecondType>(data_type, cells, bad, |value| match value {
            CellValue::Timestamp(ms) => Some(*ms * 1000),
            CellValue::Date(days) => Some(*days * DAY_MS * 1000),
            _ => None,
        }),
        DataType::Time64(_) => primitives::<Time64MicrosecondType>(data_type, cells, bad, |value| match value {
            CellValue::Time(ms) => Some(*ms * 1000),
            _ => None,
        }),
        DataType::Utf8View => text_views(cells, texts, bad)?,
        other => return Err(Error::internal(format!("{other} is not inferred from cells"))),
    })
}

#[cfg(test)]
mod tests;
