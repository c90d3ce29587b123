//! JSON lines as a sink.

use arrow::array::{Array, ArrayData, Float16Array, Float32Array, Float64Array, make_array};
use arrow::datatypes::{DataType, SchemaRef};
use arrow::json::writer::{LineDelimited, Writer, WriterBuilder};
use arrow::record_batch::RecordBatch;
use lakerace_io::{Error, Output, Result};

use crate::{Codec, Sink, WriteOptions, Written};

/// Writes JSON lines: one object a row, with nulls.
///
/// Rows with a float that is not finite are an error, as JSON has no such numbers.
pub struct JsonLinesSink {
    output: Output,
    writer: Writer<Vec<u8>, LineDelimited>,
    rows: u64,
}

impl JsonLinesSink {
    /// Begins a file or stream.
    ///
    /// # Errors
    /// `Unsupported` for a codec, `Invalid` for a column's name that is there twice.
    pub fn create(output: Output, schema: &SchemaRef, options: &WriteOptions) -> Result<Box<dyn Sink>> {
        if options.compression.is_some_and(|compression| compression.codec != Codec::None) {
            return Err(Error::unsupported("JSON lines are written without a codec")
                .at(output.url())
                .advice("leave --compression (compression) out"));
        }
        let mut names: Vec<&String> = schema.fields().iter().map(|field| field.name()).collect();
        names.sort_unstable();
        if let Some(twice) = names.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(Error::invalid(format!("two columns are named {:?}", twice[0])).at(output.url()));
        }
        let writer = WriterBuilder::new().with_explicit_nulls(true).build(Vec::new());
        Ok(Box::new(Self { output, writer, rows: 0 }))
    }
}

impl Sink for JsonLinesSink {
    fn write(&mut self, batch: RecordBatch) -> Result<()> {
        for (field, column) in batch.schema_ref().fields().iter().zip(batch.columns()) {
            if has_floats(field.data_type()) && !is_finite(&column.to_data()) {
                let message = format!("column {:?} has a number that is not finite, which JSON lacks", field.name());
                return Err(Error::unsupported(message)
                    .at(self.output.url())
                    .advice("choose another --output-format, or leave the column out with --columns"));
            }
        }
        self.writer.write(&batch).map_err(|error| {
            Error::unsupported(format!("these rows can't be written as JSON: {error}"))
                .at(self.output.url())
                .advice("choose another --output-format, or leave the column out with --columns")
        })?;
        self.rows += batch.num_rows() as u64;
        self.output.write(std::mem::take(self.writer.get_mut()).into())
    }

    fn finish(mut self: Box<Self>) -> Result<Written> {
        self.writer.finish().map_err(|error| Error::internal(error.to_string()))?;
        self.output.write(std::mem::take(self.writer.get_mut()).into())?;
        let (bytes, files) = (self.output.position(), vec![self.output.url().to_owned()]);
        self.output.finish()?;
        Ok(Written { rows: self.rows, bytes, files, ..Written::default() })
    }
}

fn has_floats(data_type: &DataType) -> bool {
    match data_type {
        DataType::Struct(fields) => fields.iter().any(|field| has_floats(field.data_type())),
        DataType::List(field)
        | DataType::LargeList(field)
        | DataType::FixedSizeList(field, _)
        | DataType::Map(field, _) => has_floats(field.data_type()),
        DataType::Dictionary(_, values) => has_floats(values),
        other => other.is_floating(),
    }
}

fn is_finite(data: &ArrayData) -> bool {
    let array = make_array(data.clone());
    let any = array.as_any();
    if let Some(floats) = any.downcast_ref::<Float64Array>() {
        return floats.iter().flatten().all(f64::is_finite);
    }
    if let Some(floats) = any.downcast_ref::<Float32Array>() {
        return floats.iter().flatten().all(f32::is_finite);
    }
    if let Some(floats) = any.downcast_ref::<Float16Array>() {
        return floats.iter().flatten().all(|float| float.is_finite());
    }
    data.child_data().iter().all(is_finite)
}
