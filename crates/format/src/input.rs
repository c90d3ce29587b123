//! The files that a source is opened from.

use std::sync::Arc;

use arrow::array::{ArrayRef, UInt32Array, new_null_array};
use arrow::compute::take;
use arrow::datatypes::{Field, FieldRef, Fields};
use lakerace_io::{Error, Object, Result};

use crate::deleted_rows::DeletedRows;
use crate::predicate::{Bounds, ColumnRef, ColumnStatistics, Value, array_of};

/// A file to open.
#[derive(Debug, Clone)]
pub struct InputFile {
    /// The location of the file.
    pub object: Object,
    /// Columns whose values its place gives; a column that the file itself has wins.
    pub constants: Option<Arc<Constants>>,
    /// Rows of it that are not read. Parquet files only.
    pub hidden: Option<Arc<DeletedRows>>,
    /// Its rows, the hidden ones included, where a table says so: a file of a table with another number is damaged.
    /// Parquet files only.
    pub stated_rows: Option<u64>,
}

/// Columns with the same value in all rows of a file: those that Hive partitions name in folders (`day=2024-02-29/`).
#[derive(Debug, Clone, PartialEq)]
pub struct Constants {
    fields: Fields,
    values: Vec<Option<Value>>,
}

impl From<Object> for InputFile {
    fn from(object: Object) -> Self {
        Self { object, constants: None, hidden: None, stated_rows: None }
    }
}

impl InputFile {
    /// An error where rows are hidden, for formats that can't leave them out.
    pub(crate) fn refuse_hidden(&self, format: &str) -> Result<()> {
        match self.hidden {
            None => Ok(()),
            Some(_) => {
                Err(Error::unsupported(format!("{format} files with deleted rows are not supported"))
                    .at(self.object.url()))
            }
        }
    }
}

impl Constants {
    /// Columns and their values, `None` for null. All fields become nullable.
    pub fn new(columns: impl IntoIterator<Item = (Field, Option<Value>)>) -> Self {
        let (fields, values): (Vec<Field>, Vec<Option<Value>>) =
            columns.into_iter().map(|(field, value)| (field.with_nullable(true), value)).unzip();
        Self { fields: fields.into(), values }
    }

    /// These columns and another one after them.
    #[must_use]
    pub fn with(&self, field: Field, value: Option<Value>) -> Self {
        let fields = self.fields.iter().cloned().chain([Arc::new(field.with_nullable(true))]).collect();
        Self { fields, values: self.values.iter().cloned().chain([value]).collect() }
    }

    /// The columns.
    pub fn fields(&self) -> &Fields {
        &self.fields
    }

    /// The column of this name and its value.
    pub fn get(&self, name: &str) -> Option<(&FieldRef, Option<&Value>)> {
        let at = self.fields.iter().position(|field| field.name() == name)?;
        Some((&self.fields[at], self.values[at].as_ref()))
    }

    /// The column of this name for `rows` rows; `None` if there is none.
    pub fn array(&self, name: &str, rows: usize) -> Result<Option<ArrayRef>> {
        let Some((field, value)) = self.get(name) else { return Ok(None) };
        let Some(value) = value else { return Ok(Some(new_null_array(field.data_type(), rows))) };
        let one = array_of(std::slice::from_ref(value), field.data_type())?;
        let indices = UInt32Array::from(vec![0; rows]);
        take(&one, &indices, None).map(Some).map_err(Error::unexpected)
    }

    /// The bounds of a column in `rows` rows; `None` if it is not among these, or has another type.
    pub fn bounds_of(&self, column: &ColumnRef, rows: Option<u64>) -> Option<Bounds> {
        let [name] = column.path.as_slice() else { return None };
        let (field, value) = self.get(name)?;
        if field.data_type() != &column.data_type {
            return None;
        }
        Some(match value {
            None => Bounds { null_count: rows, ..Bounds::default() },
            Some(value) => Bounds { min: Some(value.clone()), max: Some(value.clone()), null_count: Some(0) },
        })
    }
}

/// Statistics of one row that represents all: the number of rows is known once the file is opened.
impl ColumnStatistics for Constants {
    fn row_count(&self) -> Option<u64> {
        Some(1)
    }

    fn bounds(&self, column: &ColumnRef) -> Bounds {
        self.bounds_of(column, Some(1)).unwrap_or_default()
    }

    fn label(&self) -> &str {
        "partition"
    }
}

#[cfg(test)]
mod tests;
