//! Arrays from other libraries, checked before any code relies on them.
//!
//! The Arrow C interface passes addresses, and the libraries on the other side check little of the memory at these:
//! pyarrow reads text in Latin-1 from a Parquet file as text in UTF-8. This crate and the arrow crate assume valid
//! arrays. The parts that a library can get wrong are checked once, where rows come in: offsets, indices, texts.
//! Numbers can't be wrong.
//!
//! A dictionary may hold nulls among its values. Few writers check for them, so they become nulls of the rows.

mod text;

use arrow::array::{Array, ArrayData, ArrayRef, RecordBatch, RecordBatchOptions, make_array};
use arrow::datatypes::{DataType, SchemaRef};
use arrow::error::ArrowError;
use lakerace_io::{Error, Result, panics};

use self::text::{check_text, check_views};
use crate::nested_types::contains_type;

/// The trust in the parts of an array.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ArrayTrust {
    /// They were checked, or were made by the arrow crate.
    Checked,
    /// Nothing is known of them.
    Unknown,
}

/// Makes a batch of an array of another library, a struct of the columns of `schema`. `first_row` is the number of its
/// first row, from 1, for errors.
///
/// # Errors
/// `Invalid`, naming column and row, for arrays that are not valid: text that is not UTF-8, offsets and indices that lead out of their
/// buffers, and rows that are null as a whole.
pub fn checked_batch(schema: &SchemaRef, data: ArrayData, first_row: u64) -> Result<RecordBatch> {
    let rows = data.len();
    let layout = panics::caught(|| data.validate());
    layout.map_err(|_| Error::invalid("its buffers are too short"))?.map_err(|error| invalid(&error))?;
    if let Some(row) = data.nulls().and_then(|nulls| (0..rows).find(|row| nulls.is_null(*row))) {
        return Err(Error::invalid(format!("row {} is null as a whole", first_row + row as u64))
            .advice("pass a table of columns, whose values may be null"));
    }
    let mut columns = Vec::with_capacity(schema.fields().len());
    for (field, column) in schema.fields().iter().zip(data.child_data()) {
        let column = column.slice(data.offset(), rows);
        let checked = admit(&column, ArrayTrust::Unknown, first_row);
        let checked = checked.map_err(|error| error.at(format!("column {:?}", field.name())))?;
        columns.push(make_array(checked.unwrap_or(column)));
    }
    batch_of(schema, columns, rows)
}

/// The batch with nulls that dictionaries hold among their values as nulls of the rows.
///
/// # Errors
/// `Invalid` for nulls in a column that has none by its schema.
pub fn with_plain_nulls(batch: RecordBatch) -> Result<RecordBatch> {
    let schema = batch.schema();
    if !schema.fields().iter().any(|field| has_dictionary(field.data_type())) {
        return Ok(batch);
    }
    let rows = batch.num_rows();
    let plain = |column: &ArrayRef| -> Result<ArrayRef> {
        if !has_dictionary(column.data_type()) {
            return Ok(ArrayRef::clone(column));
        }
        let admitted = admit(&column.to_data(), ArrayTrust::Checked, 1)?;
        Ok(admitted.map_or_else(|| ArrayRef::clone(column), make_array))
    };
    let columns = batch.columns().iter().map(plain).collect::<Result<Vec<_>>>()?;
    batch_of(&schema, columns, rows)
}

fn batch_of(schema: &SchemaRef, columns: Vec<ArrayRef>, rows: usize) -> Result<RecordBatch> {
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    RecordBatch::try_new_with_options(SchemaRef::clone(schema), columns, &options).map_err(|error| invalid(&error))
}

fn invalid(error: &ArrowError) -> Error {
    let text = error.to_string();
    Error::invalid(text.strip_prefix("Invalid argument error: ").unwrap_or(&text).to_owned())
        .advice("fix the library that made the arrays; pyarrow's validate(full=True) shows details")
}

/// Returns true if a type has a dictionary at some level.
pub(crate) fn has_dictionary(data_type: &DataType) -> bool {
    contains_type(data_type, &|inner| matches!(inner, DataType::Dictionary(..)))
}

/// Checks an array if needed; returns a replacement if the array can't be used unchanged.
fn admit(data: &ArrayData, trust: ArrayTrust, first_row: u64) -> Result<Option<ArrayData>> {
    let is_checked = trust == ArrayTrust::Checked;
    if !is_checked {
        check_null_count(data)?;
        match data.data_type() {
            DataType::Utf8 => return check_text::<i32>(data, first_row),
            DataType::LargeUtf8 => return check_text::<i64>(data, first_row),
            DataType::Utf8View => return check_views(data, true, first_row),
            DataType::BinaryView => return check_views(data, false, first_row),
            _ => {}
        }
        let values = panics::caught(|| data.validate_values());
        values.map_err(|_| Error::invalid("its buffers are too short"))?.map_err(|error| invalid(&error))?;
    } else if !has_dictionary(data.data_type()) {
        return Ok(None);
    }
    let mut children = Vec::with_capacity(data.child_data().len());
    let mut is_changed = false;
    for (at, child) in data.child_data().iter().enumerate() {
        // Rows are counted where a child has one for each.
        let first_row = if matches!(data.data_type(), DataType::Struct(_)) { first_row } else { 1 };
        let admitted = admit(child, trust, first_row).map_err(|error| error.at(child_name(data.data_type(), at)))?;
        is_changed |= admitted.is_some();
        children.push(admitted.unwrap_or_else(|| child.clone()));
    }
    let with_children = match is_changed {
        true => data.clone().into_builder().child_data(children).build().map_err(|error| invalid(&error))?,
        false => data.clone(),
    };
    if matches!(data.data_type(), DataType::Dictionary(..))
        && let Some(plain) = without_null_values(&with_children)?
    {
        return Ok(Some(plain));
    }
    Ok(is_changed.then_some(with_children))
}

/// The dictionary with the nulls of its values as nulls of its rows; `None` if it has none.
fn without_null_values(data: &ArrayData) -> Result<Option<ArrayData>> {
    let has_nulls = |values: &ArrayData| make_array(values.clone()).logical_null_count() > 0;
    if !data.child_data().iter().any(has_nulls) {
        return Ok(None);
    }
    let nulls = make_array(data.clone()).logical_nulls();
    let plain = data.clone().into_builder().nulls(nulls).build();
    plain.map(Some).map_err(|error| invalid(&error))
}

fn check_null_count(data: &ArrayData) -> Result<()> {
    let Some(nulls) = data.nulls() else { return Ok(()) };
    let valid = nulls.inner().count_set_bits();
    if valid + nulls.null_count() == nulls.len() {
        return Ok(());
    }
    let (stated, found) = (nulls.null_count(), nulls.len() - valid);
    Err(Error::invalid(format!("an array states that {stated} of its values are null, but {found} are"))
        .advice("fix the library that made the arrays"))
}

fn child_name(data_type: &DataType, at: usize) -> String {
    match data_type {
        DataType::Struct(fields) => {
            fields.get(at).map_or_else(String::new, |field| format!("field {:?}", field.name()))
        }
        DataType::Dictionary(..) | DataType::RunEndEncoded(..) => "its values".to_owned(),
        DataType::Union(..) => format!("variant {at}"),
        _ => "its elements".to_owned(),
    }
}

#[cfg(test)]
mod tests;
