//! The keys that rows are sorted by: the columns' values one after the other, or interleaved as a curve through all of them.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BinaryArray, RecordBatch};
use arrow::compute::{CastOptions, cast_with_options};
use arrow::datatypes::{DataType, Float32Type, Float64Type, SchemaRef};
use arrow::row::{RowConverter, SortField};
use lakerace_format::suggestions::column_not_found;
use lakerace_io::option::{SORT_BY, ZORDER};
use lakerace_io::{Error, Result};

/// The ranges that a column's values are divided into for a curve, with nearly equal numbers of rows.
const RANGES: usize = 1024;
/// Bits of the number of a range.
const RANGE_BITS: usize = 10;
/// Values that are sampled to find the ranges.
const SAMPLES: usize = 64 * RANGES;
/// Bytes of a sampled value at most: ranges are distinguished by these, and a value may have megabytes.
const SAMPLE_BYTES: usize = 128;

/// The columns that rows are sorted by.
pub(crate) struct SortColumns {
    names: Vec<String>,
    types: Vec<DataType>,
}

/// The ranges of each column's values: the least value of each but the first, as bytes that sort as the values do.
pub(crate) struct ZOrderCurve {
    bounds: Vec<Vec<Vec<u8>>>,
}

/// Looks at values to find the ranges of a [`ZOrderCurve`].
pub(crate) struct CurveSample {
    /// The values of each column, as bytes.
    values: Vec<Vec<Vec<u8>>>,
    /// The stride of the sample: one of so many values is taken.
    one_in: usize,
    seen: usize,
}

impl SortColumns {
    /// Columns of this schema. One that does not exist, or whose values have no order, is an error.
    pub fn new(names: &[String], schema: &SchemaRef) -> Result<Self> {
        let data_type = |name: &String| {
            let Ok(field) = schema.field_with_name(name) else {
                return Err(column_not_found(name, schema.fields().iter().map(|field| field.name().as_str())));
            };
            match field.data_type() {
                DataType::Utf8View => Ok(DataType::Utf8),
                DataType::BinaryView => Ok(DataType::Binary),
                nested if nested.is_nested() => {
                    Err(Error::unsupported(format!("sorting by a column of type {nested}"))
                        .at(format!("column {name:?}"))
                        .advice(format!("name columns of numbers, text, dates or times with {SORT_BY} or {ZORDER}")))
                }
                other => Ok(other.clone()),
            }
        };
        Ok(Self { names: names.to_vec(), types: names.iter().map(data_type).collect::<Result<_>>()? })
    }

    /// Their names.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The keys of rows that are sorted by the first column, then the second, and so on; nulls first.
    pub fn keys(&self, batch: &RecordBatch) -> Result<BinaryArray> {
        encoded(&self.columns(batch)?, &self.types)
    }

    fn columns(&self, batch: &RecordBatch) -> Result<Vec<ArrayRef>> {
        let column = |(name, data_type): (&String, &DataType)| {
            let found = batch.column_by_name(name);
            let found = found.ok_or_else(|| Error::internal(format!("there is no column {name:?} to sort by")))?;
            if found.data_type() == data_type {
                return Ok(with_equal_floats(found));
            }
            let options = CastOptions { safe: false, ..CastOptions::default() };
            cast_with_options(found, data_type, &options).map_err(Error::unexpected)
        };
        self.names.iter().zip(&self.types).map(column).collect()
    }

    /// Each column by itself, as bytes that sort as its values do.
    fn each(&self, batch: &RecordBatch) -> Result<Vec<BinaryArray>> {
        let columns = self.columns(batch)?;
        let one = |(column, data_type): (&ArrayRef, &DataType)| {
            encoded(std::slice::from_ref(column), std::slice::from_ref(data_type))
        };
        columns.iter().zip(&self.types).map(one).collect()
    }
}

/// Floats of which those are the same that readers take for equal: both zeros, and all NaNs.
fn with_equal_floats(column: &ArrayRef) -> ArrayRef {
    match column.data_type() {
        DataType::Float32 => {
            let one = |value: f32| if value.is_nan() { f32::NAN } else { value + 0.0 };
            Arc::new(column.as_primitive::<Float32Type>().unary::<_, Float32Type>(one))
        }
        DataType::Float64 => {
            let one = |value: f64| if value.is_nan() { f64::NAN } else { value + 0.0 };
            Arc::new(column.as_primitive::<Float64Type>().unary::<_, Float64Type>(one))
        }
        _ => Arc::clone(column),
    }
}

fn encoded(columns: &[ArrayRef], types: &[DataType]) -> Result<BinaryArray> {
    let fields = types.iter().map(|data_type| SortField::new(data_type.clone())).collect();
    let rows = RowConverter::new(fields).and_then(|converter| converter.convert_columns(columns));
    rows.and_then(arrow::row::Rows::try_into_binary).map_err(Error::unexpected)
}

fn sampled(value: &[u8]) -> Vec<u8> {
    value[..value.len().min(SAMPLE_BYTES)].to_vec()
}

impl CurveSample {
    /// Starts a sample of a table that has approximately so many rows.
    pub fn new(columns: &SortColumns, rows: u64) -> Self {
        let one_in = usize::try_from(rows / SAMPLES as u64).unwrap_or(usize::MAX).max(1);
        Self { values: vec![Vec::new(); columns.names.len()], one_in, seen: 0 }
    }

    /// Samples rows of a batch.
    pub fn look(&mut self, columns: &SortColumns, batch: &RecordBatch) -> Result<()> {
        let first = self.seen.next_multiple_of(self.one_in) - self.seen;
        for (values, column) in self.values.iter_mut().zip(columns.each(batch)?) {
            let taken = (first..column.len()).step_by(self.one_in);
            values.extend(taken.map(|row| sampled(column.value(row))));
        }
        self.seen += batch.num_rows();
        Ok(())
    }

    /// The curve through the sampled values.
    pub fn curve(self) -> ZOrderCurve {
        let bounds = |mut values: Vec<Vec<u8>>| {
            values.sort_unstable();
            let at = |range: usize| values.get(range * values.len() / RANGES).cloned();
            let mut bounds: Vec<Vec<u8>> = (1..RANGES).filter_map(at).collect();
            bounds.dedup();
            // The first range starts with the least value, which may fill more than one range.
            if bounds.first() == values.first() && !bounds.is_empty() {
                bounds.remove(0);
            }
            bounds
        };
        ZOrderCurve { bounds: self.values.into_iter().map(bounds).collect() }
    }
}

impl ZOrderCurve {
    /// The places of rows on the curve: the bits of their ranges' numbers, the highest of each column first.
    pub fn keys(&self, columns: &SortColumns, batch: &RecordBatch) -> Result<BinaryArray> {
        let columns = columns.each(batch)?;
        let bytes = (self.bounds.len() * RANGE_BITS).div_ceil(8);
        let mut keys = Vec::with_capacity(batch.num_rows());
        for row in 0..batch.num_rows() {
            let range = |(bounds, column): (&Vec<Vec<u8>>, &BinaryArray)| {
                bounds.partition_point(|bound| bound.as_slice() <= column.value(row))
            };
            let ranges: Vec<usize> = self.bounds.iter().zip(&columns).map(range).collect();
            keys.push(interleave(&ranges, bytes));
        }
        Ok(BinaryArray::from_iter_values(keys))
    }
}

/// The bits of numbers below [`RANGES`], the highest of each first.
fn interleave(numbers: &[usize], bytes: usize) -> Vec<u8> {
    let mut key = vec![0u8; bytes];
    let bits = (0..RANGE_BITS).rev().flat_map(|bit| numbers.iter().map(move |number| number >> bit & 1));
    for (at, bit) in bits.enumerate() {
        key[at / 8] |= (bit as u8) << (7 - at % 8);
    }
    key
}

#[cfg(test)]
mod tests;
