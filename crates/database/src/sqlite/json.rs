//! Nested values as JSON texts, exactly.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, StringArray, StringBuilder, make_array, new_null_array};
use arrow::datatypes::{DataType, Field, Float16Type, Float32Type, Float64Type, Schema};
use arrow::json::ReaderBuilder;
use arrow::json::writer::{LineDelimited, WriterBuilder};
use arrow::record_batch::RecordBatch;
use lakerace_io::{Error, Result};

/// The name of the one column of the rows that arrow-json writes and reads.
const NAME: &str = "v";
const FRONT: &str = "{\"v\":";

/// JSON of each value; null of a null.
pub(super) fn texts(array: &ArrayRef) -> Result<StringArray> {
    if !is_finite(array) {
        return Err(Error::unsupported("a nested number is not finite, which JSON lacks"));
    }
    let failed = |error: arrow::error::ArrowError| Error::unsupported(format!("it can't be JSON: {error}"));
    let schema = Schema::new(vec![Field::new(NAME, array.data_type().clone(), true)]);
    let batch = RecordBatch::try_new(Arc::new(schema), vec![Arc::clone(array)]).map_err(failed)?;
    let mut writer = WriterBuilder::new().with_explicit_nulls(true).build::<_, LineDelimited>(Vec::new());
    writer.write(&batch).map_err(failed)?;
    writer.finish().map_err(failed)?;
    let lines = String::from_utf8(writer.into_inner()).map_err(|_| Error::internal("JSON that is no UTF-8"))?;
    let mut texts = StringBuilder::with_capacity(array.len(), lines.len());
    for (row, line) in lines.lines().enumerate() {
        let value = line.strip_prefix(FRONT).and_then(|line| line.strip_suffix('}'));
        let value = value.ok_or_else(|| Error::internal("a JSON row of another form"))?;
        if array.is_null(row) { texts.append_null() } else { texts.append_value(value) }
    }
    Ok(texts.finish())
}

/// The values of JSON texts.
pub(super) fn values(texts: &StringArray, data_type: &DataType) -> Result<ArrayRef> {
    if texts.is_empty() {
        return Ok(new_null_array(data_type, 0));
    }
    let mut lines = String::with_capacity(texts.values().len() + texts.len() * 8);
    for text in texts {
        lines.push_str(FRONT);
        // A line break in a text of another tool is a blank between two tokens.
        lines.push_str(&text.unwrap_or("null").replace(['\n', '\r'], " "));
        lines.push_str("}\n");
    }
    let schema = Arc::new(Schema::new(vec![Field::new(NAME, data_type.clone(), true)]));
    let failed = |error: arrow::error::ArrowError| Error::invalid(format!("it is no JSON of its type: {error}"));
    let reader = ReaderBuilder::new(schema).with_batch_size(texts.len()).build(lines.as_bytes()).map_err(failed)?;
    let batches = reader.collect::<std::result::Result<Vec<_>, _>>().map_err(failed)?;
    match batches.as_slice() {
        [batch] if batch.num_rows() == texts.len() => Ok(Arc::clone(batch.column(0))),
        _ => Err(Error::invalid("a text holds more than one JSON value")),
    }
}

fn is_finite(array: &ArrayRef) -> bool {
    match array.data_type() {
        DataType::Float64 => array.as_primitive::<Float64Type>().iter().flatten().all(f64::is_finite),
        DataType::Float32 => array.as_primitive::<Float32Type>().iter().flatten().all(f32::is_finite),
        DataType::Float16 => array.as_primitive::<Float16Type>().iter().flatten().all(|float| float.is_finite()),
        _ => array.to_data().child_data().iter().all(|child| is_finite(&make_array(child.clone()))),
    }
}
