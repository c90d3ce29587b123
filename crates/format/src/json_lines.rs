//! JSON lines: one object a row, with nulls.

mod blocks;
mod column;
mod fault;
mod layout;
mod parse;
mod places;
mod sample;
mod shape;
mod source;
mod texts;

use std::fmt::Write;
use std::sync::Arc;

use arrow::array::{
    Array, ArrayData, ArrayRef, AsArray, Float16Array, Float32Array, Float64Array, PrimitiveArray, make_array,
};
use arrow::compute::{max, min};
use arrow::datatypes::{ArrowNumericType, DataType, FieldRef, Int32Type, Int64Type, SchemaRef};
use arrow::json::writer::{LineDelimited, WriterBuilder};
use arrow::record_batch::RecordBatch;
use arrow::util::display::{ArrayFormatter, FormatOptions};
use lakerace_io::option::{COLUMNS, COMPRESSION, FILE_NAME_COLUMN, INFER_ROWS, ON_BAD_ROW, SCHEMA};
use lakerace_io::{Error, Job, Output, Result};

use self::layout::JsonLayout;
pub use self::source::JsonLinesSource;
pub use self::texts::values_of_json;
use crate::duplicates::refuse_to_write_duplicates;
use crate::file_format::FileFormat;
use crate::foreign_arrays::with_plain_nulls;
use crate::map_keys::refuse_keys_twice;
use crate::nested_types::contains_type;
use crate::options::WriteOptions;
use crate::schema_text::print_field_type;
use crate::sink::Sink;
use crate::text::{TextRows, TextSink};
use crate::utc::with_instants_in_utc;
use crate::uuids::with_uuid_texts;

/// JSON lines: an object a line.
pub static JSON_LINES: FileFormat = FileFormat {
    title: "JSON lines",
    help: Some("One JSON object per line"),
    endings: &["jsonl", "ndjson"],
    marks: &[b"{"],
    is_streamed: true,
    text_check: Some(|schema, _| JsonLinesSource::check_schema(schema)),
    options: &[&FILE_NAME_COLUMN, &SCHEMA, &INFER_ROWS, &ON_BAD_ROW, &COMPRESSION],
    ..FileFormat::new(
        "jsonl",
        |files, options, job| {
            let layout = JsonLayout::Lines;
            Ok(Arc::new(JsonLinesSource::open_files(files, options.all, options.csv, layout, job)?))
        },
        JsonLinesSink::create,
    )
};

/// One array of JSON objects.
pub static JSON: FileFormat = FileFormat {
    name: "json",
    title: "JSON",
    help: Some("One array of JSON objects; JSON lines are also accepted"),
    endings: &["json"],
    // Any text may start with a bracket: `DetectedContent` checks the bytes after it.
    marks: &[],
    open: |files, options, job| {
        let layout = JsonLayout::Array;
        Ok(Arc::new(JsonLinesSource::open_files(files, options.all, options.csv, layout, job)?))
    },
    create: |output, schema, options, job| JsonLinesSink::create_as(JsonLayout::Array, output, schema, options, job),
    ..JSON_LINES
};

/// Rows as JSON lines.
///
/// JSON has no numbers that are not finite, and the writer of the arrow crate has no texts for times far from ours: it
/// writes a null or the text of an error in their place. Rows with such values are an error here.
///
/// ```
/// # use std::sync::Arc;
/// # use arrow::array::{ArrayRef, Int64Array, RecordBatch};
/// let ids: ArrayRef = Arc::new(Int64Array::from(vec![1, 2]));
/// let batch = RecordBatch::try_from_iter([("id", ids)])?;
/// let lines = lakerace_format::JsonLines::new(&batch.schema())?;
/// assert_eq!(lines.encode(&batch, 1)?, b"{\"id\":1}\n{\"id\":2}\n");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct JsonLines(());

impl JsonLines {
    /// # Errors
    /// `Invalid` for a duplicate name of a column or field; `Unsupported` for a column with a union.
    pub fn new(schema: &SchemaRef) -> Result<Self> {
        refuse_to_write_duplicates(schema)?;
        let has_union =
            |field: &&FieldRef| contains_type(field.data_type(), &|inner| matches!(inner, DataType::Union(..)));
        match schema.fields().iter().find(has_union) {
            None => Ok(Self(())),
            Some(field) => {
                let (name, data_type) = (field.name(), print_field_type(field));
                Err(Error::unsupported(format!("column {name:?} of type {data_type} can't be written as JSON"))
                    .advice(format!("choose another format, or exclude the column with {COLUMNS}")))
            }
        }
    }

    /// The lines of a batch whose first row has this number, from 1.
    ///
    /// # Errors
    /// `Unsupported` for values that JSON lines have no place for; it names their column. `Invalid` for a map that has a key
    /// twice, naming column, row and key.
    pub fn encode(&self, batch: &RecordBatch, first_row: u64) -> Result<Vec<u8>> {
        let mut lines = Vec::new();
        self.write(batch, first_row, &mut lines)?;
        Ok(lines)
    }

    fn write(&self, batch: &RecordBatch, first_row: u64, out: &mut Vec<u8>) -> Result<()> {
        let advice = || format!("choose another format, or exclude the column with {COLUMNS}");
        let batch = &with_uuid_texts(with_instants_in_utc(batch.clone())?)?;
        for (field, column) in batch.schema_ref().fields().iter().zip(batch.columns()) {
            if let Some(what) = has_checked(field.data_type()).then(|| unfit(&column.to_data())).flatten() {
                let message = format!("column {:?} has {what}", field.name());
                return Err(Error::unsupported(message).advice(advice()));
            }
            refuse_keys_twice(column, first_row).map_err(|error| error.at(format!("column {:?}", field.name())))?;
        }
        let batch = &with_plain_nulls(batch.clone())?;
        let failed = |e: arrow::error::ArrowError| {
            Error::unsupported("these rows can't be written as JSON").because(e).advice(advice())
        };
        let mut writer = WriterBuilder::new().with_explicit_nulls(true).build::<_, LineDelimited>(out);
        writer.write(batch).map_err(failed)
    }
}

/// Writes JSON lines to a file or stream, packed as its name or the options say.
pub struct JsonLinesSink;

impl JsonLinesSink {
    /// Starts a file or stream.
    ///
    /// # Errors
    /// `Usage` for a codec that does not apply to text, `Invalid` for a duplicate column name.
    pub fn create(output: Output, schema: SchemaRef, options: &WriteOptions, job: &Job) -> Result<Box<dyn Sink>> {
        Self::create_as(JsonLayout::Lines, output, schema, options, job)
    }

    fn create_as(
        layout: JsonLayout,
        output: Output,
        schema: SchemaRef,
        options: &WriteOptions,
        job: &Job,
    ) -> Result<Box<dyn Sink>> {
        let lines = JsonLines::new(&schema).map_err(|error| error.at(output.url()))?;
        let rows: Box<dyn TextRows> = match layout {
            JsonLayout::Lines => Box::new(lines),
            JsonLayout::Array => Box::new(JsonElements(lines)),
        };
        TextSink::create(output, schema, rows, options, job)
    }
}

impl TextRows for JsonLines {
    fn append(&self, batch: &RecordBatch, first_row: u64, out: &mut Vec<u8>) -> Result<()> {
        self.write(batch, first_row, out)
    }
}

/// Rows as the elements of one array, an element a line.
struct JsonElements(JsonLines);

impl TextRows for JsonElements {
    fn header(&self) -> Result<Vec<u8>> {
        Ok(b"[".to_vec())
    }

    fn append(&self, batch: &RecordBatch, first_row: u64, out: &mut Vec<u8>) -> Result<()> {
        let lines = self.0.encode(batch, first_row)?;
        // Line ends within values are escaped.
        for (line, row) in lines.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).zip(first_row..) {
            out.extend_from_slice(if row == 1 { b"\n" } else { b",\n" });
            out.extend_from_slice(line);
        }
        Ok(())
    }

    fn footer(&self) -> &[u8] {
        b"\n]\n"
    }
}

/// Returns true if values of this type may have no place.
fn has_checked(data_type: &DataType) -> bool {
    contains_type(data_type, &|inner| inner.is_floating() || inner.is_temporal())
}

/// Names the part of an array that JSON has no form for.
fn unfit(data: &ArrayData) -> Option<&'static str> {
    let array = make_array(data.clone());
    if !array.data_type().is_nested() && array.data_type().is_temporal() {
        return (!has_texts(&array)).then_some("a time or duration that has no text form");
    }
    if is_finite(&array) {
        data.child_data().iter().find_map(unfit)
    } else {
        Some("a number that is not finite, which JSON does not allow")
    }
}

fn is_finite(array: &ArrayRef) -> bool {
    let any = array.as_any();
    if let Some(floats) = any.downcast_ref::<Float64Array>() {
        return floats.iter().flatten().all(f64::is_finite);
    }
    if let Some(floats) = any.downcast_ref::<Float32Array>() {
        return floats.iter().flatten().all(f32::is_finite);
    }
    any.downcast_ref::<Float16Array>().is_none_or(|floats| floats.iter().flatten().all(|float| float.is_finite()))
}

/// Returns true if all times of an array have texts: if the first and the last of them have, all between have.
fn has_texts(array: &ArrayRef) -> bool {
    let ends = match array.data_type() {
        DataType::Date32 | DataType::Time32(_) => ends::<Int32Type>(array),
        DataType::Date64 | DataType::Time64(_) | DataType::Timestamp(..) | DataType::Duration(_) => {
            ends::<Int64Type>(array)
        }
        _ => None,
    };
    let Some(ends) = ends else { return true };
    let Ok(texts) = ArrayFormatter::try_new(&ends, &FormatOptions::new().with_display_error(false)) else {
        return false;
    };
    (0..ends.len()).all(|row| {
        let mut text = String::new();
        write!(text, "{}", texts.value(row)).is_ok() && text != INVALID
    })
}

/// The text that the arrow crate writes for a duration that it can't.
const INVALID: &str = "<invalid>";

/// The least and the largest value of an array of integers of another name.
fn ends<T: ArrowNumericType>(array: &ArrayRef) -> Option<ArrayRef> {
    let integers = array.to_data().into_builder().data_type(T::DATA_TYPE).build().ok()?;
    let integers = make_array(integers);
    let integers = integers.as_primitive::<T>();
    let ends = PrimitiveArray::<T>::from_iter_values([min(integers)?, max(integers)?]);
    Some(make_array(ends.into_data().into_builder().data_type(array.data_type().clone()).build().ok()?))
}

#[cfg(test)]
mod tests;
