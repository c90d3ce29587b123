//! UUIDs as texts: for formats without a type for them, and in filters.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, FixedSizeBinaryArray, RecordBatch, RecordBatchOptions, StringArray};
use arrow::array::{FixedSizeBinaryBuilder, StringBuilder, make_array};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Field, FieldRef, Fields, Schema, SchemaRef};
use arrow::error::ArrowError;
use lakerace_io::{Error, Result};

use crate::extension_types::has_uuid_values;
use crate::nested_types::{inner_fields, map_inner_fields, with_type};

/// Bytes of a UUID.
pub(crate) const UUID_BYTES: i32 = 16;

/// Characters of a text.
const TEXT_LENGTH: usize = 36;

/// The usual text of 16 bytes: `8-4-4-4-12` hexadecimal digits.
///
/// ```
/// let text = lakerace_format::uuid_text(&[0x12; 16]);
/// assert_eq!(text, "12121212-1212-1212-1212-121212121212");
/// ```
pub fn uuid_text(id: &[u8]) -> String {
    const DIGITS: [char; 16] = ['0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'a', 'b', 'c', 'd', 'e', 'f'];
    let mut text = String::with_capacity(TEXT_LENGTH);
    for (at, byte) in id.iter().enumerate() {
        if matches!(at, 4 | 6 | 8 | 10) {
            text.push('-');
        }
        text.extend([DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]);
    }
    text
}

/// The bytes of a UUID: 32 hexadecimal digits with hyphens between them and braces around them, or without.
pub(crate) fn uuid_bytes(text: &str) -> Option<Vec<u8>> {
    let inside = text.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')).unwrap_or(text);
    let digits: Option<Vec<u8>> = inside
        .chars()
        .filter(|c| *c != '-')
        .map(|c| c.to_digit(16).and_then(|digit| u8::try_from(digit).ok()))
        .collect();
    let digits = digits.filter(|digits| digits.len() == 32)?;
    Some(digits.chunks_exact(2).map(|pair| pair[0] << 4 | pair[1]).collect())
}

/// The batch with texts in place of UUIDs, also within other columns.
///
/// # Errors
/// `Internal` for an array whose children do not fit it.
pub fn with_uuid_texts(batch: RecordBatch) -> Result<RecordBatch> {
    let schema = batch.schema();
    if !has_uuids(&schema) {
        return Ok(batch);
    }
    let texts = |(column, field): (&ArrayRef, &FieldRef)| array_with_texts(column, field);
    let columns = batch.columns().iter().zip(schema.fields()).map(texts).collect::<Result<_, _>>();
    let rows = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    let schema = schema_with_uuid_texts(&schema);
    columns.and_then(|columns| RecordBatch::try_new_with_options(schema, columns, &rows)).map_err(Error::unexpected)
}

/// Returns true if a column has UUIDs, or one within it.
pub(crate) fn has_uuids(schema: &Schema) -> bool {
    schema.fields().iter().any(|field| !Arc::ptr_eq(field, &field_with_texts(field)))
}

/// The schema with texts in place of UUIDs.
pub(crate) fn schema_with_uuid_texts(schema: &Schema) -> SchemaRef {
    let fields: Fields = schema.fields().iter().map(field_with_texts).collect();
    Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone()))
}

fn field_with_texts(field: &FieldRef) -> FieldRef {
    if has_uuid_values(field) {
        return Arc::new(Field::new(field.name(), DataType::Utf8, field.is_nullable()));
    }
    let data_type = map_inner_fields(field.data_type(), field_with_texts);
    data_type.map_or_else(|| Arc::clone(field), |data_type| with_type(field, data_type))
}

fn array_with_texts(array: &ArrayRef, field: &FieldRef) -> Result<ArrayRef, ArrowError> {
    if has_uuid_values(field) {
        let plain = cast(array, &DataType::FixedSizeBinary(UUID_BYTES))?;
        return Ok(Arc::new(texts(plain.as_fixed_size_binary())));
    }
    let with_texts = field_with_texts(field);
    if Arc::ptr_eq(field, &with_texts) {
        return Ok(Arc::clone(array));
    }
    let data = array.to_data();
    let children = data.child_data().iter().zip(inner_fields(field.data_type()).into_iter().flatten());
    let children = children.map(|(child, field)| array_with_texts(&make_array(child.clone()), field));
    let children = children.map(|child| child.map(|child| child.to_data())).collect::<Result<Vec<_>, _>>()?;
    let builder = data.into_builder().data_type(with_texts.data_type().clone()).child_data(children);
    Ok(make_array(builder.build()?))
}

/// The UUIDs in texts, or bytes that are UUIDs; null for others if `is_lenient`.
///
/// # Errors
/// `Invalid` for a value that is none.
pub(crate) fn uuids_of(array: &ArrayRef, is_lenient: bool) -> Result<ArrayRef> {
    let is_bytes = !array.data_type().is_string();
    let plain = if is_bytes { DataType::BinaryView } else { DataType::Utf8View };
    let values = cast(array, &plain).map_err(Error::unexpected)?;
    let mut ids = FixedSizeBinaryBuilder::with_capacity(values.len(), UUID_BYTES);
    for row in (0..values.len()).map(|row| values.is_valid(row).then_some(row)) {
        let Some(row) = row else {
            ids.append_null();
            continue;
        };
        let (id, shown) = match is_bytes {
            true => {
                let bytes = values.as_binary_view().value(row);
                (
                    Some(bytes.to_vec()).filter(|bytes| bytes.len() == UUID_BYTES as usize),
                    format!("{} bytes", bytes.len()),
                )
            }
            false => {
                let text = values.as_string_view().value(row);
                (uuid_bytes(text.trim()), format!("{text:?}"))
            }
        };
        match id {
            Some(id) => ids.append_value(id).map_err(Error::unexpected)?,
            None if is_lenient => ids.append_null(),
            None => {
                return Err(Error::invalid(format!("a value can't be cast to uuid: {shown}"))
                    .advice("use TRY_CAST, which returns null for values that don't fit"));
            }
        }
    }
    Ok(Arc::new(ids.finish()))
}

/// The texts of UUIDs.
pub(crate) fn uuid_texts(ids: &ArrayRef) -> ArrayRef {
    Arc::new(texts(ids.as_fixed_size_binary()))
}

fn texts(ids: &FixedSizeBinaryArray) -> StringArray {
    let mut texts = StringBuilder::with_capacity(ids.len(), ids.len() * TEXT_LENGTH);
    ids.iter().for_each(|id| texts.append_option(id.map(uuid_text)));
    texts.finish()
}

#[cfg(test)]
mod tests;
