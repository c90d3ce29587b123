//! From the batches of a source to the rows of a table's files.

use std::sync::Arc;

use arrow::array::{Array, ArrayData, ArrayRef, AsArray, RecordBatch, RecordBatchOptions, new_null_array};
use arrow::compute::{CastOptions, cast_with_options};
use arrow::datatypes::{DataType, Field, FieldRef, Schema, SchemaRef, TimeUnit};
use delta_kernel::expressions::ColumnName;
use lakerace_format::FindBy;
use lakerace_format::conform::{check, conform};
use lakerace_format::schema_text::{print_type, quoted_name};
use lakerace_io::option::{COLUMNS, EVOLVE, SCHEMA, WHERE};
use lakerace_io::{Error, Result};

use super::strict::{MissingFields, check_fields, refuse_duplicates};
use super::types::table_type;
use super::wider_type::wider;

/// A column of a table, as a write needs it.
#[derive(Debug, Clone)]
pub(crate) struct TargetColumn {
    /// As the table names it, at every level.
    pub logical: FieldRef,
    /// As its files do.
    pub stored: FieldRef,
}

/// The columns of a table, as a write needs them.
#[derive(Debug, Clone)]
pub(crate) struct TargetColumns {
    /// The columns that are in files.
    pub data: Vec<TargetColumn>,
    /// The columns that files are divided by.
    pub partitions: Vec<TargetColumn>,
    /// New columns, by their stored names, whose statistics are taken though the kernel does not know of them yet.
    pub new_statistics: Vec<ColumnName>,
    /// True if readers of the table have to support deletion vectors.
    pub has_vectors: bool,
}

/// Puts the columns of batches in the order, under the names and in the types of a table's files.
pub(crate) struct BatchFit {
    columns: Vec<FittedColumn>,
    schema: SchemaRef,
}

struct FittedColumn {
    target: TargetColumn,
    /// The position in the batches; `None`: it is null.
    source: Option<usize>,
    /// The type of the table that the batches' type is read as.
    plain: DataType,
    /// The type that files get.
    stored: DataType,
    /// True if an empty text is an error.
    refuses_empty: bool,
}

impl BatchFit {
    /// For batches of this schema. A column that the table lacks, one that must be there and is not, and a type that
    /// does not fit are errors.
    pub fn new(source: &Schema, targets: &[TargetColumn]) -> Result<Self> {
        refuse_duplicates(source.fields())?;
        let column = |target: &TargetColumn| FittedColumn::new(source, target, MissingFields::Null);
        Self::from_columns(targets.iter().map(column).collect::<Result<Vec<_>>>()?)
    }

    /// Fits like [`Self::new`], with exactly the types of the table, including the layout of text. The rows may take
    /// the place of others, so that a struct that lacks a field of the table's is an error.
    pub fn exact(source: &Schema, targets: &[TargetColumn]) -> Result<Self> {
        refuse_duplicates(source.fields())?;
        let exact = |target: &TargetColumn| {
            let column = FittedColumn::new(source, target, MissingFields::Refuse)?;
            Ok(FittedColumn { stored: target.stored.data_type().clone(), ..column })
        };
        Self::from_columns(targets.iter().map(exact).collect::<Result<Vec<_>>>()?)
    }

    /// Refuses empty texts in these columns, by which a table is partitioned.
    pub fn without_empty(mut self, partition_columns: &[String]) -> Self {
        for column in &mut self.columns {
            column.refuses_empty = partition_columns.contains(column.target.logical.name());
        }
        self
    }

    fn from_columns(columns: Vec<FittedColumn>) -> Result<Self> {
        let field = |column: &FittedColumn| column.target.stored.as_ref().clone().with_data_type(column.stored.clone());
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
            .map_err(|e| Error::invalid("the rows don't fit the table").because(e))
    }
}

impl FittedColumn {
    fn new(source: &Schema, target: &TargetColumn, missing: MissingFields) -> Result<Self> {
        let name = target.logical.name();
        let named = |error: Error| error.at(format!("column {name:?}"));
        let Some((at, field)) = source.column_with_name(name) else {
            if !target.logical.is_nullable() {
                return Err(Error::invalid(format!("the table needs a column {name:?}, but the rows do not have it")));
            }
            let stored = target.stored.data_type().clone();
            let plain = stored.clone();
            return Ok(Self { target: target.clone(), source: None, plain, stored, refuses_empty: false });
        };
        let plain = table_type(field.data_type(), Some(target.logical.data_type())).map_err(named)?;
        let (to, stored) = (target.stored.data_type(), target.logical.data_type());
        check_fields(&plain, stored, missing).map_err(named)?;
        check(&plain, to, stored, FindBy::Name)
            .map_err(|error| named(error.advice(type_advice(name, &plain, stored))))?;
        // Text and bytes may stay in their own layout: files have one for all.
        let stored = match (field.data_type(), to) {
            (DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View, DataType::Utf8)
            | (DataType::Binary | DataType::LargeBinary | DataType::BinaryView, DataType::Binary) => {
                field.data_type().clone()
            }
            _ => to.clone(),
        };
        Ok(Self { target: target.clone(), source: Some(at), plain, stored, refuses_empty: false })
    }

    fn fit(&self, batch: &RecordBatch) -> Result<ArrayRef> {
        let array = self.fit_type(batch)?;
        if self.refuses_empty && has_empty_text(&array) {
            return Err(empty_partition_value(self.target.logical.name()));
        }
        Ok(array)
    }

    fn fit_type(&self, batch: &RecordBatch) -> Result<ArrayRef> {
        let named = |error: Error| error.at(format!("column {:?}", self.target.logical.name()));
        let Some(source) = self.source else { return Ok(new_null_array(&self.stored, batch.num_rows())) };
        let array = batch.column(source);
        if array.data_type() == &self.stored && !self.stored.is_nested() {
            return Ok(Arc::clone(array));
        }
        if *array.data_type() == DataType::Null {
            return Ok(new_null_array(&self.stored, array.len()));
        }
        check_digits(&array.to_data()).map_err(named)?;
        let options = CastOptions { safe: false, ..CastOptions::default() };
        let plain = cast_with_options(array, &self.plain, &options)
            .map_err(|e| named(Error::invalid("its values don't fit the table").because(e)))?;
        let (to, logical) = (self.target.stored.data_type(), self.target.logical.data_type());
        conform(&plain, to, logical, FindBy::Name).map_err(named)
    }
}

/// The advice on a column of the rows that has another type than the table's. Numbers with fractions have to be rounded: no type of a
/// column of text makes integers of them.
fn type_advice(name: &str, rows: &DataType, table: &DataType) -> String {
    let has_fractions = rows.is_floating() || matches!(rows, DataType::Decimal128(_, scale) if *scale > 0);
    if !(table.is_integer() && has_fractions) {
        return format!(
            "cast the column to the table's type in a copy of the rows, with {COLUMNS}, or copy the table with the rows' \
             type; for rows of CSV or Excel, {SCHEMA} gives the type"
        );
    }
    let rounded = format!("CAST(round({0}) AS {1}) as {0}", quoted_name(name), print_type(table));
    let widened = match wider(table, rows) {
        Some(_) => format!(", or give the table's column a wider type with {}", EVOLVE.to("widen")),
        None => String::new(),
    };
    format!(
        "round the values, with {} among the columns{widened}; or copy the table with the rows' type",
        COLUMNS.to(rounded)
    )
}

/// The error of a row with an empty text in a partition column. The log has the same text for it and for null. Format:
/// <https://github.com/delta-io/delta/blob/master/PROTOCOL.md#partition-value-serialization>.
pub(crate) fn empty_partition_value(column: &str) -> Error {
    Error::invalid("a row has an empty string, which Delta can't tell from null in a partition column")
        .at(format!("partition column {column:?}"))
        .advice(format!(
            "change it to null or another string, exclude such rows with {WHERE}, or partition the table by another column"
        ))
}

fn has_empty_text(array: &ArrayRef) -> bool {
    let is_empty = |value: Option<&[u8]>| value.is_some_and(<[u8]>::is_empty);
    match array.data_type() {
        DataType::Utf8 => array.as_string::<i32>().iter().any(|value| is_empty(value.map(str::as_bytes))),
        DataType::LargeUtf8 => array.as_string::<i64>().iter().any(|value| is_empty(value.map(str::as_bytes))),
        DataType::Utf8View => array.as_string_view().iter().any(|value| is_empty(value.map(str::as_bytes))),
        DataType::Binary => array.as_binary::<i32>().iter().any(is_empty),
        DataType::BinaryView => array.as_binary_view().iter().any(is_empty),
        _ => false,
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
                    "the date64 value {value} ms is not a whole day, but Delta's dates are whole days"
                ))
                .advice("cast the column to a timestamp"),
                _ => Error::invalid(format!(
                    "a timestamp has nanoseconds ({value} since 1970), but Delta stores microseconds"
                ))
                .advice("cast the column to timestamp(us)"),
            });
        }
    }
    array.child_data().iter().try_for_each(check_digits)
}

/// Milliseconds of a day.
const DAY_MILLIS: i64 = 86_400_000;
