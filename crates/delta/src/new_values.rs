//! New values of a table's columns: expressions over the columns of rows, in the types of the table.
//!
//! A value is converted as `CAST` converts it, between numbers, between dates and timestamps, and from and to text. A value
//! that does not fit is an error, and never null.

use std::collections::HashSet;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, RecordBatch, RecordBatchOptions, new_null_array};
use arrow::datatypes::{DataType, Field, FieldRef, Schema, SchemaRef};
use lakerace_format::predicate::RowValue;
use lakerace_format::schema_text::print_field_type;
use lakerace_format::suggestions::column_not_found;
use lakerace_format::{Expr, FieldPositions};
use lakerace_io::option::WHERE;
use lakerace_io::{Error, Result};

use crate::protocol::check_defaults;
use crate::snapshot::Snapshot;
use crate::write::{BatchFit, TargetColumn};

/// A new value of a column.
#[derive(Debug, Clone, PartialEq)]
pub struct ColumnAssignment {
    /// The column of the table.
    pub column: String,
    /// Its value.
    pub value: Expr,
    /// Both as they were written, for errors: `price = price * 1.1`.
    pub text: String,
}

/// Rows of a table that are made from others.
pub(crate) struct NewValues {
    columns: Vec<ColumnValue>,
    /// The columns of the table, NOT NULL where they are.
    table: SchemaRef,
    /// The columns of the table, all nullable.
    schema: SchemaRef,
    /// The columns of the input that are used.
    needed: Vec<String>,
    /// The location of the table, for errors.
    place: String,
}

/// The value of a column in all rows.
enum ColumnValue {
    /// The value of a column of the input, unchanged.
    Kept(String),
    Null,
    Assigned {
        value: Box<RowValue>,
        /// The conversion of a nested value.
        fit: Option<BatchFit>,
        text: String,
    },
}

impl NewValues {
    /// Rows of a table with this schema, which is at this place, from rows with the columns of `input`. Columns that nothing is assigned to have the value of the column
    /// that `kept` names, or null.
    ///
    /// # Errors
    /// `NotFound` for a column that the table or the input lacks, `Usage` for one that is assigned twice, `Invalid` for a value
    /// of a type that is not converted.
    pub fn bind(
        assignments: &[ColumnAssignment],
        input: &Schema,
        (table, place): (&SchemaRef, &str),
        kept: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Self> {
        check_columns(assignments, table)?;
        let mut needed = Vec::new();
        let column = |field: &FieldRef| -> Result<ColumnValue> {
            let assigned = assignments.iter().find(|assignment| assignment.column == *field.name());
            let value = match (assigned, kept(field.name())) {
                (Some(assignment), _) => {
                    assigned_value(assignment, input, field).map_err(|error| error.at(assignment.text.clone()))?
                }
                (None, Some(name)) => ColumnValue::Kept(name),
                (None, None) => ColumnValue::Null,
            };
            match &value {
                ColumnValue::Kept(name) => needed.push(name.clone()),
                ColumnValue::Null => {}
                ColumnValue::Assigned { value, .. } => {
                    needed.extend(value.columns().iter().map(|at| input.field(*at).name().clone()));
                }
            }
            Ok(value)
        };
        let columns = table.fields().iter().map(column).collect::<Result<Vec<_>>>()?;
        needed.sort_unstable();
        needed.dedup();
        let place = place.to_owned();
        Ok(Self { columns, table: Arc::clone(table), schema: nullable(table), needed, place })
    }

    /// The columns of the input that are used.
    pub fn needed(&self) -> &[String] {
        &self.needed
    }

    /// The schema of the rows, all of whose columns are nullable.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// The rows that are made from these.
    ///
    /// # Errors
    /// `Invalid` for a value that does not fit its column, and for a null in a column that is NOT NULL.
    pub fn rows(&self, input: &RecordBatch) -> Result<RecordBatch> {
        self.made_rows(input).map_err(|error| error.at(&self.place))
    }

    fn made_rows(&self, input: &RecordBatch) -> Result<RecordBatch> {
        let rows = input.num_rows();
        let positions = FieldPositions::new(input.schema_ref().fields());
        let column = |(column, field): (&ColumnValue, &FieldRef)| -> Result<ArrayRef> {
            let values = match column {
                ColumnValue::Kept(name) => {
                    let at = positions.of_name(name).ok_or_else(|| Error::internal(format!("no column {name:?}")))?;
                    Arc::clone(input.column(at))
                }
                ColumnValue::Null => new_null_array(field.data_type(), rows),
                ColumnValue::Assigned { value, fit, text } => {
                    evaluated(value, fit.as_ref(), field, input).map_err(|error| error.at(text.clone()))?
                }
            };
            if !field.is_nullable() && rows > 0 && values.null_count() > 0 {
                let message = format!("the new value of {:?} is null, but the column is NOT NULL", field.name());
                return Err(Error::invalid(message)
                    .advice(format!("exclude such rows with {WHERE}, or set a value such as coalesce(value, 0)")));
            }
            Ok(values)
        };
        let columns = self.columns.iter().zip(self.table.fields()).map(column).collect::<Result<Vec<_>>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &options)
            .map_err(|error| Error::internal("new values don't fit the table").because(error))
    }
}

/// Checks that new rows with these values leave out no column that has a default.
///
/// # Errors
/// `Unsupported` if they do.
pub(crate) fn check_assigned(assignments: &[ColumnAssignment], snapshot: &Snapshot) -> Result<()> {
    let field = |assignment: &ColumnAssignment| snapshot.schema().field_with_name(&assignment.column).ok().cloned();
    check_defaults(snapshot, &Schema::new(assignments.iter().filter_map(field).collect::<Vec<_>>()))
}

/// The columns of a table, all nullable.
pub(crate) fn nullable(table: &Schema) -> SchemaRef {
    let fields = table.fields().iter().map(|field| Arc::new(field.as_ref().clone().with_nullable(true)));
    Arc::new(Schema::new(fields.collect::<Vec<_>>()))
}

/// An error where a column does not exist, or is assigned twice.
fn check_columns(assignments: &[ColumnAssignment], table: &Schema) -> Result<()> {
    let mut seen = HashSet::new();
    for ColumnAssignment { column, text, .. } in assignments {
        if table.index_of(column).is_err() {
            let is_field = column
                .split_once('.')
                .is_some_and(|(head, _)| table.field_with_name(head).is_ok_and(|field| field.data_type().is_nested()));
            if is_field {
                let message = format!("{column:?} is a field of a column, which can only be set as a whole");
                return Err(Error::unsupported(message).at(text.clone()));
            }
            let names = table.fields().iter().map(|field| field.name().as_str());
            return Err(column_not_found(column, names).at(text.clone()));
        }
        if !seen.insert(column) {
            return Err(Error::usage(format!("the column {column:?} is set twice")).at(text.clone()));
        }
    }
    Ok(())
}

fn assigned_value(assignment: &ColumnAssignment, input: &Schema, field: &Field) -> Result<ColumnValue> {
    let value = RowValue::bind(&assignment.value, input)?;
    let (from, to) = (value.data_type().clone(), field.data_type());
    let text = assignment.text.clone();
    if from == DataType::Null {
        return Ok(ColumnValue::Null);
    }
    if from == *to {
        return Ok(ColumnValue::Assigned { value: Box::new(value), fit: None, text });
    }
    if !is_converted(&from, to) {
        let own = value.field(field.name(), input);
        return Err(Error::invalid(format!(
            "the value is {}, but the column {:?} is {}",
            print_field_type(&own),
            field.name(),
            print_field_type(field)
        ))
        .advice("convert it with CAST"));
    }
    if from.is_nested() {
        let source = Schema::new(vec![Field::new(field.name(), from, true)]);
        let own = Arc::new(field.clone().with_nullable(true));
        let fit = BatchFit::exact(&source, &[TargetColumn { logical: Arc::clone(&own), stored: own }])?;
        return Ok(ColumnValue::Assigned { value: Box::new(value), fit: Some(fit), text });
    }
    let data_type = lakerace_format::schema_text::print_type(to);
    let cast = Expr::Cast { expr: Box::new(assignment.value.clone()), data_type, is_lenient: false };
    Ok(ColumnValue::Assigned { value: Box::new(RowValue::bind(&cast, input)?), fit: None, text })
}

fn evaluated(value: &RowValue, fit: Option<&BatchFit>, field: &Field, input: &RecordBatch) -> Result<ArrayRef> {
    let Some(fit) = fit else { return value.evaluate_as(field.data_type(), input) };
    let values = value.evaluate(input)?;
    let source = Arc::new(Schema::new(vec![Field::new(field.name(), values.data_type().clone(), true)]));
    let batch = RecordBatch::try_new(source, vec![values]).map_err(Error::unexpected)?;
    Ok(Arc::clone(fit.fit(&batch)?.column(0)))
}

/// The kinds of values of which one is converted to another without a `CAST`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ConversionKind {
    Number,
    Text,
    Binary,
    Instant,
    Nested,
    Other,
}

impl ConversionKind {
    fn of_type(data_type: &DataType) -> Self {
        match data_type {
            DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => Self::Text,
            DataType::Binary | DataType::LargeBinary | DataType::BinaryView | DataType::FixedSizeBinary(_) => {
                Self::Binary
            }
            DataType::Date32 | DataType::Date64 | DataType::Timestamp(..) => Self::Instant,
            other if other.is_numeric() => Self::Number,
            other if other.is_nested() => Self::Nested,
            _ => Self::Other,
        }
    }
}

/// Returns true if values of a type are converted to another one.
fn is_converted(from: &DataType, to: &DataType) -> bool {
    let (from, to) = (ConversionKind::of_type(from), ConversionKind::of_type(to));
    match (from, to) {
        (ConversionKind::Other, ConversionKind::Text) | (ConversionKind::Text, ConversionKind::Other) => true,
        (ConversionKind::Nested, other) | (other, ConversionKind::Nested) => other == ConversionKind::Nested,
        (ConversionKind::Binary, other) | (other, ConversionKind::Binary) => other == ConversionKind::Binary,
        (ConversionKind::Text, _) | (_, ConversionKind::Text) => true,
        (from, to) => from == to && from != ConversionKind::Other,
    }
}

#[cfg(test)]
mod tests;
