//! From the batches of a source to the rows of a table's files.

use std::sync::Arc;

use arrow::array::{Array, ArrayData, ArrayRef, RecordBatch, RecordBatchOptions, new_null_array};
use arrow::compute::{CastOptions, cast_with_options};
use arrow::datatypes::{DataType, Field, FieldRef, Schema, SchemaRef, TimeUnit};
use lakerace_format::FindBy;
use lakerace_format::conform::{check, conform};
use lakerace_io::{Error, Result};

use super::types::table_type;

/// A column of a table, as a write needs it.
#[derive(Debug, Clone)]
pub(crate) struct Target {
    /// As the table names it, at every level.
    pub logical: FieldRef,
    /// As its files do.
    pub stored: FieldRef,
}

/// Puts the columns of batches in the order, under the names and in the types of a table's files.
pub(crate) struct Fit {
    columns: Vec<Column>,
    schema: SchemaRef,
}

struct Column {
    target: Target,
    /// Where it is in the batches; `None`: it is null.
    source: Option<usize>,
    /// The type of the table that the batches' type is read as.
    plain: DataType,
    /// The type that files get.
    stored: DataType,
}

impl Fit {
    /// For batches of this schema. A column that the table lacks, one that must be there and is not, and a type that
    /// does not fit are errors.
    pub fn new(source: &Schema, targets: &[Target]) -> Result<Self> {
        Self::of(targets.iter().map(|target| Column::new(source, target)).collect::<Result<Vec<_>>>()?)
    }

    /// Like [`Self::new`], with the very types of the table: text has its own layout nowhere.
    pub fn exact(source: &Schema, targets: &[Target]) -> Result<Self> {
        let exact = |target: &Target| {
            let column = Column::new(source, target)?;
            Ok(Column { stored: target.stored.data_type().clone(), ..column })
        };
        Self::of(targets.iter().map(exact).collect::<Result<Vec<_>>>()?)
    }

    fn of(columns: Vec<Column>) -> Result<Self> {
        let field = |column: &Column| column.target.stored.as_ref().clone().with_data_type(column.stored.clone());
        let schema = Arc::new(Schema::new(columns.iter().map(field).collect::<Vec<Field>>()));
        Ok(Self { columns, schema })
    }

    /// The schema of the batches that it makes.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// The batch as the files have it.
    pub fn fit(&self, batch: &RecordBatch) -> Result<RecordBatch> {
        let arrays = self.columns.iter().map(|column| column.fit(batch)).collect::<Result<Vec<_>>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        RecordBatch::try_new_with_options(Arc::clone(&self.schema), arrays, &options)
            .map_err(|e| Error::invalid(format!("the rows don't fit the table: {e}")))
    }
}

impl Column {
    fn new(source: &Schema, target: &Target) -> Result<Self> {
        let name = target.logical.name();
        let named = |error: Error| error.at(format!("column {name:?}"));
        let Some((at, field)) = source.column_with_name(name) else {
            if !target.logical.is_nullable() {
                return Err(Error::invalid(format!("the table needs a column {name:?}, and the rows have none")));
            }
            let stored = target.stored.data_type().clone();
            return Ok(Self { target: target.clone(), source: None, plain: stored.clone(), stored });
        };
        let plain = table_type(field.data_type()).map_err(named)?;
        let (to, stored) = (target.stored.data_type(), target.logical.data_type());
        let advice = "cast the column; where the rows come from CSV, name its type (--schema)";
        check(&plain, to, stored, FindBy::Name).map_err(|error| named(error.advice(advice)))?;
        if let (DataType::Timestamp(_, from), DataType::Timestamp(_, to)) = (&plain, to)
            && from.is_some() != to.is_some()
        {
            let message = "one of row and table counts time in UTC, the other as a clock on the wall shows it";
            return Err(named(Error::invalid(message).advice("cast the column")));
        }
        // Text and bytes may stay in their own layout: files have one for all.
        let stored = match (field.data_type(), to) {
            (DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View, DataType::Utf8)
            | (DataType::Binary | DataType::LargeBinary | DataType::BinaryView, DataType::Binary) => {
                field.data_type().clone()
            }
            _ => to.clone(),
        };
        Ok(Self { target: target.clone(), source: Some(at), plain, stored })
    }

    fn fit(&self, batch: &RecordBatch) -> Result<ArrayRef> {
        let named = |error: Error| error.at(format!("column {:?}", self.target.logical.name()));
        let Some(source) = self.source else { return Ok(new_null_array(&self.stored, batch.num_rows())) };
        let array = batch.column(source);
        if array.data_type() == &self.stored && !self.stored.is_nested() {
            return Ok(Arc::clone(array));
        }
        check_digits(&array.to_data()).map_err(named)?;
        let options = CastOptions { safe: false, ..CastOptions::default() };
        let plain = cast_with_options(array, &self.plain, &options)
            .map_err(|e| named(Error::invalid(format!("its values don't fit the table: {e}"))))?;
        let (to, logical) = (self.target.stored.data_type(), self.target.logical.data_type());
        conform(&plain, to, logical, FindBy::Name).map_err(named)
    }
}

/// An error where a time has digits that the table's type can't hold: nanoseconds of a timestamp, the hour of a date.
fn check_digits(array: &ArrayData) -> Result<()> {
    let unit = match array.data_type() {
        DataType::Timestamp(TimeUnit::Nanosecond, _) => Some(1000),
        DataType::Date64 => Some(DAY_MILLIS),
        _ => None,
    };
    if let Some(unit) = unit {
        let values = &array.buffers()[0].typed_data::<i64>()[array.offset()..array.offset() + array.len()];
        let is_valid = |row: usize| array.nulls().is_none_or(|nulls| nulls.is_valid(row));
        if let Some(row) = (0..values.len()).find(|row| values[*row] % unit != 0 && is_valid(*row)) {
            let value = values[row];
            return Err(match unit {
                DAY_MILLIS => Error::invalid(format!(
                    "the date64 value {value} ms is not a whole day, and Delta's dates are days"
                ))
                .advice("cast the column to a timestamp"),
                _ => Error::invalid(format!(
                    "a timestamp has nanoseconds ({value} since 1970), and Delta counts microseconds"
                ))
                .advice("cast the column to timestamp(us)"),
            });
        }
    }
    array.child_data().iter().try_for_each(check_digits)
}

/// Milliseconds of a day.
const DAY_MILLIS: i64 = 86_400_000;
