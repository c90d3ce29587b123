//! Sampled values of a target for filtered reads: data may be right where the statistics for pruning are not.

use std::collections::HashSet;
use std::sync::{Arc, Mutex};

use arrow::array::{
    Array, ArrayRef, AsArray, BooleanArray, Int64Array, PrimitiveArray, RecordBatch, Scalar, StringArray,
    downcast_primitive_array,
};
use arrow::compute::kernels::cmp::{eq, gt, lt};
use arrow::compute::{cast, max, max_boolean, min, min_boolean};
use arrow::datatypes::{ArrowNumericType, DataType, Float32Type, Float64Type, SchemaRef};
use lakerace_format::Batches;
use lakerace_io::wait::lock;
use lakerace_io::{Error, Result};

use crate::scan::Scan;

/// Filtered reads of a target at most: first for the greatest value of each column, then for the least one, zero and
/// nulls.
const READS_AT_MOST: usize = 100;
/// Longer texts are not sampled.
const TEXT_BYTES_AT_MOST: usize = 64 << 10;

/// The least and the greatest value of each column, and how many rows have them, a null or a zero.
pub(super) struct ColumnSamples {
    columns: Mutex<Vec<ColumnSample>>,
}

#[derive(Default)]
struct ColumnSample {
    name: String,
    least: Option<CountedValue>,
    greatest: Option<CountedValue>,
    zero: Option<CountedValue>,
    nulls: u64,
}

/// A value, as an array of one row, and the rows that have it.
struct CountedValue {
    value: ArrayRef,
    rows: u64,
}

/// A filter, its column, and the rows that it has to find.
struct ExpectedRows {
    column: String,
    condition: String,
    rows: u64,
}

impl ColumnSamples {
    /// Samples of the columns of a schema, without values.
    pub fn new(schema: &SchemaRef) -> Self {
        let column = |name: &String| ColumnSample { name: name.clone(), ..ColumnSample::default() };
        Self { columns: Mutex::new(schema.fields().iter().map(|field| column(field.name())).collect()) }
    }

    /// The batches, sampled on their way.
    pub fn note(self: Arc<Self>, batches: Batches) -> Batches {
        let schema = Arc::clone(batches.schema());
        let noted = batches.map(move |batch| {
            let batch = batch?;
            self.add(&batch)?;
            Ok(batch)
        });
        Batches::new(schema, noted)
    }

    /// Samples rows.
    pub fn add(&self, batch: &RecordBatch) -> Result<()> {
        for (column, array) in lock(&self.columns).iter_mut().zip(batch.columns()) {
            if let Some(values) = comparable(array) {
                column.nulls += array.null_count() as u64;
                column.add(&values)?;
            }
        }
        Ok(())
    }

    /// Searches the values by filtered reads of the same scan. An error names the filter that finds other rows.
    pub fn check(&self, scan: &Scan) -> Result<()> {
        for expected in self.expected()? {
            let found = scan.count_where(&expected.column, &expected.condition)?;
            if found != expected.rows {
                return Err(Error::corrupt(format!(
                    "the rows exist, but a filtered read does not find them: {} rows where {}, of {}",
                    found, expected.condition, expected.rows
                ))
                .advice(
                    "another program may have written to it in the meantime; otherwise its statistics are wrong: \
                     write it again",
                ));
            }
        }
        Ok(())
    }

    /// The filtered reads, in the order of [`READS_AT_MOST`].
    fn expected(&self) -> Result<Vec<ExpectedRows>> {
        let columns = lock(&self.columns);
        let mut expected = Vec::new();
        let kinds: [fn(&ColumnSample) -> &Option<CountedValue>; 3] = [|c| &c.greatest, |c| &c.least, |c| &c.zero];
        for kind in kinds {
            for column in columns.iter() {
                let Some(counted) = kind(column).as_ref().filter(|counted| counted.rows > 0) else { continue };
                let Some(literal) = literal(&counted.value)? else { continue };
                let condition = format!("{} = {literal}", quoted(&column.name));
                expected.push(ExpectedRows { column: column.name.clone(), condition, rows: counted.rows });
            }
        }
        for column in columns.iter().filter(|column| column.nulls > 0) {
            let condition = format!("{} IS NULL", quoted(&column.name));
            expected.push(ExpectedRows { column: column.name.clone(), condition, rows: column.nulls });
        }
        // Zero may be the least value, too.
        let mut asked = HashSet::new();
        expected.retain(|one| asked.insert(one.condition.clone()));
        expected.truncate(READS_AT_MOST);
        Ok(expected)
    }
}

impl ColumnSample {
    fn add(&mut self, values: &ArrayRef) -> Result<()> {
        let Some([least, greatest]) = extremes(values) else { return Ok(()) };
        let holds =
            |found: Result<BooleanArray, _>| found.map(|found| found.true_count() > 0).map_err(Error::unexpected);
        if self.least.as_ref().map_or(Ok(true), |known| holds(lt(&least, &known.value)))? {
            self.least = Some(CountedValue { value: least, rows: 0 });
        }
        if self.greatest.as_ref().map_or(Ok(true), |known| holds(gt(&greatest, &known.value)))? {
            self.greatest = Some(CountedValue { value: greatest, rows: 0 });
        }
        if self.zero.is_none() && values.data_type().is_numeric() {
            let zero = cast(&Int64Array::from(vec![0]), values.data_type()).map_err(Error::unexpected)?;
            self.zero = Some(CountedValue { value: zero, rows: 0 });
        }
        for counted in [&mut self.least, &mut self.greatest, &mut self.zero].into_iter().flatten() {
            let equal = eq(values, &Scalar::new(&counted.value)).map_err(Error::unexpected)?;
            counted.rows += equal.true_count() as u64;
        }
        Ok(())
    }
}

/// The values of a column as filters compare them: zeros of one sign, and no floats that equal no literal. `None` where
/// filters define no order of them.
fn comparable(array: &ArrayRef) -> Option<ArrayRef> {
    Some(match array.data_type() {
        DataType::Float32 => {
            let floats = array.as_primitive::<Float32Type>();
            Arc::new(floats.unary_opt::<_, Float32Type>(|float| float.is_finite().then_some(float + 0.0)))
        }
        DataType::Float64 => {
            let floats = array.as_primitive::<Float64Type>();
            Arc::new(floats.unary_opt::<_, Float64Type>(|float| float.is_finite().then_some(float + 0.0)))
        }
        DataType::Decimal128(..) | DataType::Date32 | DataType::Timestamp(..) | DataType::Boolean => Arc::clone(array),
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => Arc::clone(array),
        other if other.is_integer() => Arc::clone(array),
        _ => return None,
    })
}

/// The least and the greatest text.
fn both<'a>(texts: impl Iterator<Item = &'a str> + Clone) -> Option<(&'a str, &'a str)> {
    texts.clone().min().zip(texts.max())
}

/// The least and the greatest value, as arrays of one row; `None` where all are null.
fn extremes(values: &ArrayRef) -> Option<[ArrayRef; 2]> {
    let text = |two: Option<(&str, &str)>| -> Option<[ArrayRef; 2]> {
        let one = |text: &str| cast(&StringArray::from(vec![text]), values.data_type()).ok();
        let (least, greatest) = two?;
        Some([one(least)?, one(greatest)?])
    };
    let array = values.as_ref();
    downcast_primitive_array!(
        array => of_numbers(array),
        DataType::Boolean => {
            let flags = array.as_boolean();
            let one = |flag| -> ArrayRef { Arc::new(BooleanArray::from(vec![flag])) };
            Some([one(min_boolean(flags)?), one(max_boolean(flags)?)])
        },
        DataType::Utf8 => text(both(array.as_string::<i32>().iter().flatten())),
        DataType::LargeUtf8 => text(both(array.as_string::<i64>().iter().flatten())),
        DataType::Utf8View => text(both(array.as_string_view().iter().flatten())),
        _ => None
    )
}

fn of_numbers<T: ArrowNumericType>(values: &PrimitiveArray<T>) -> Option<[ArrayRef; 2]> {
    let one = |value: T::Native| -> ArrayRef {
        let one = PrimitiveArray::<T>::from_iter_values([value]);
        Arc::new(one.with_data_type(values.data_type().clone()))
    };
    Some([one(min(values)?), one(max(values)?)])
}

fn quoted(column: &str) -> String {
    format!("\"{}\"", column.replace('"', "\"\""))
}

/// A value as a literal of a filter; `None` where that would be too long, or of a year that has no text.
fn literal(value: &ArrayRef) -> Result<Option<String>> {
    let text = |array: &dyn Array| -> Result<String> {
        let text = cast(array, &DataType::Utf8).map_err(Error::unexpected)?;
        Ok(text.as_string::<i32>().value(0).to_owned())
    };
    let dated = |text: String| (!text.starts_with(['+', '-'])).then_some(text);
    Ok(match value.data_type() {
        DataType::Float32 => Some(format!("{:?}", value.as_primitive::<Float32Type>().value(0))),
        DataType::Float64 => Some(format!("{:?}", value.as_primitive::<Float64Type>().value(0))),
        DataType::Boolean => Some(value.as_boolean().value(0).to_string()),
        DataType::Date32 => dated(text(value)?).map(|day| format!("DATE '{day}'")),
        DataType::Timestamp(unit, zone) => {
            let units = cast(value, &DataType::Int64).map_err(Error::unexpected)?;
            let wall = cast(&units, &DataType::Timestamp(*unit, None)).map_err(Error::unexpected)?;
            let zone = if zone.is_some() { "Z" } else { "" };
            dated(text(&wall)?).map(|wall| format!("TIMESTAMP '{wall}{zone}'"))
        }
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => {
            let text = text(value)?;
            (text.len() <= TEXT_BYTES_AT_MOST).then(|| format!("'{}'", text.replace('\'', "''")))
        }
        _ => Some(text(value)?),
    })
}

#[cfg(test)]
mod tests;
