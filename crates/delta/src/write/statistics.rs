//! Statistics of a file's values, for the log.

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, BooleanArray, Int64Array, PrimitiveArray, RecordBatch, RecordBatchOptions,
    StringViewArray, StringViewBuilder, StructArray, UInt32Array, downcast_primitive_array, new_null_array,
};
use arrow::buffer::NullBuffer;
use arrow::compute::{cast, concat, max, max_boolean, min, min_boolean, nullif, take};
use arrow::datatypes::{ArrowNumericType, DataType, Field, FieldRef, Fields, Schema, SchemaRef};
use delta_kernel_default_engine::stats::FileStatsAccumulator;
use lakerace_io::{Error, Result};

use crate::kernel::error::from_kernel;

mod log_text;

pub(crate) use self::log_text::log_text;

/// The most batches of which a column keeps two values; then they are reduced to two. So a file takes the same memory
/// in many batches as in few.
const KEPT_AT_MOST: usize = 64;

/// Collects the statistics of one file. The kernel determines which columns have any and how they are stored, but keeps
/// some kilobytes of each batch that it gets. So it gets a single batch, of two rows with the least and the largest
/// value of each column; nulls and rows are counted here.
pub(super) struct StatisticsCollector {
    kernel: FileStatsAccumulator,
    /// That of the batches, and its columns, once there is one.
    known: Option<(SchemaRef, Vec<CollectedStatistics>)>,
    rows: i64,
}

/// The known statistics of a column.
struct CollectedStatistics {
    name: String,
    nulls: i64,
    values: LeafValues,
}

enum LeafValues {
    /// The least and the largest value of each of some batches.
    Leaf(Vec<ArrayRef>),
    Struct(Vec<CollectedStatistics>),
}

impl StatisticsCollector {
    pub fn new(kernel: FileStatsAccumulator) -> Self {
        Self { kernel, known: None, rows: 0 }
    }

    /// Adds rows.
    pub fn merge(&mut self, rows: &RecordBatch) -> Result<()> {
        let (_, columns) = self.known.get_or_insert_with(|| (rows.schema(), columns(rows.schema_ref().fields())));
        self.rows += rows.num_rows() as i64;
        columns.iter_mut().zip(rows.columns()).try_for_each(|(column, array)| column.merge(array, None))
    }

    /// The statistics as the kernel takes them with the file.
    pub fn finish(mut self) -> Result<StructArray> {
        let Some((schema, columns)) = self.known.take() else {
            return Err(Error::internal("a file without rows was started"));
        };
        let fields = nullable(schema.fields());
        let arrays = columns.iter().zip(&fields).map(|(column, field)| column.two(field.data_type()));
        let arrays = arrays.collect::<Result<Vec<_>>>()?;
        let schema = Schema::new_with_metadata(fields, schema.metadata().clone());
        let options = RecordBatchOptions::new().with_row_count(Some(2));
        let two = RecordBatch::try_new_with_options(Arc::new(schema), arrays, &options).map_err(Error::unexpected)?;
        self.kernel.merge(&two).map_err(from_kernel)?;
        let statistics = self.kernel.finish().map_err(from_kernel)?;
        let statistics = statistics.ok_or_else(|| Error::internal("a batch has no statistics"))?;
        let count = |count: i64| Arc::new(Int64Array::from(vec![count])) as ArrayRef;
        let statistics = map_child(&statistics, "numRecords", &|_| Ok(count(self.rows)))?;
        let counts = |counts: &ArrayRef| Ok(Arc::new(null_counts(counts.as_struct(), &columns)?) as ArrayRef);
        let statistics = map_child(&statistics, "nullCount", &counts)?;
        [("minValues", 0), ("maxValues", 1)].into_iter().try_fold(statistics, |statistics, (name, row)| {
            map_child(&statistics, name, &|bounds| Ok(Arc::new(with_flags(bounds.as_struct(), &columns, row)?) as _))
        })
    }
}

fn columns(fields: &Fields) -> Vec<CollectedStatistics> {
    let column = |field: &FieldRef| CollectedStatistics {
        name: field.name().clone(),
        nulls: 0,
        values: match field.data_type() {
            DataType::Struct(fields) => LeafValues::Struct(columns(fields)),
            _ => LeafValues::Leaf(Vec::new()),
        },
    };
    fields.iter().map(column).collect()
}

impl CollectedStatistics {
    /// Adds values. Those of a struct that is null, `above`, are null.
    fn merge(&mut self, array: &ArrayRef, above: Option<&NullBuffer>) -> Result<()> {
        let nulls = NullBuffer::union(array.nulls(), above);
        self.nulls += match array.data_type() {
            DataType::Null => array.len(),
            _ => nulls.as_ref().map_or(0, NullBuffer::null_count),
        } as i64;
        let kept = match &mut self.values {
            LeafValues::Struct(columns) => {
                let children = columns.iter_mut().zip(array.as_struct().columns());
                return children.into_iter().try_for_each(|(column, child)| column.merge(child, nulls.as_ref()));
            }
            LeafValues::Leaf(kept) => kept,
        };
        let two = match above.filter(|above| above.null_count() > 0) {
            Some(above) => {
                let hidden = BooleanArray::new(!above.inner(), None);
                extremes(&nullif(array, &hidden).map_err(Error::unexpected)?)?
            }
            None => extremes(array)?,
        };
        kept.extend(two);
        if kept.len() >= KEPT_AT_MOST {
            *kept = joined(kept)?.into_iter().collect();
        }
        Ok(())
    }

    /// The least and the largest value, or nulls where there is none, in a column of this type.
    fn two(&self, data_type: &DataType) -> Result<ArrayRef> {
        match (&self.values, data_type) {
            (LeafValues::Struct(columns), DataType::Struct(fields)) => {
                if fields.is_empty() {
                    return Ok(Arc::new(StructArray::new_empty_fields(2, None)));
                }
                let arrays = columns.iter().zip(fields).map(|(column, field)| column.two(field.data_type()));
                let arrays = arrays.collect::<Result<Vec<_>>>()?;
                Ok(Arc::new(StructArray::try_new(fields.clone(), arrays, None).map_err(Error::unexpected)?))
            }
            (LeafValues::Leaf(kept), _) => Ok(joined(kept)?.unwrap_or_else(|| new_null_array(data_type, 2))),
            (LeafValues::Struct(_), _) => Err(Error::internal("a file's column has changed its type")),
        }
    }
}

/// The least and the largest of the values of several pairs.
fn joined(kept: &[ArrayRef]) -> Result<Option<ArrayRef>> {
    match kept {
        [] => Ok(None),
        [one] => Ok(Some(Arc::clone(one))),
        many => extremes(&concat(&many.iter().map(AsRef::as_ref).collect::<Vec<_>>()).map_err(Error::unexpected)?),
    }
}

/// Makes the fields nullable wherever a struct may have nulls.
fn nullable(fields: &Fields) -> Fields {
    let field = |field: &FieldRef| {
        let field = Field::clone(field).with_nullable(true);
        let data_type = match field.data_type() {
            DataType::Struct(fields) => DataType::Struct(nullable(fields)),
            other => other.clone(),
        };
        field.with_data_type(data_type)
    };
    fields.iter().map(field).collect()
}

/// The counts of nulls of these columns in place of those that the kernel was shown.
fn null_counts(counts: &StructArray, columns: &[CollectedStatistics]) -> Result<StructArray> {
    columns.iter().try_fold(counts.clone(), |counts, column| {
        map_child(&counts, &column.name, &|count| match (&column.values, count.as_struct_opt()) {
            (LeafValues::Struct(columns), Some(inner)) => Ok(Arc::new(null_counts(inner, columns)?) as ArrayRef),
            _ => Ok(Arc::new(Int64Array::from(vec![column.nulls])) as ArrayRef),
        })
    })
}

/// Bounds with those of booleans, from this row of the two that a column keeps. The kernel leaves them null, and
/// delta-rs, for pyarrow, skips each file for which a column's bounds are missing.
fn with_flags(bounds: &StructArray, columns: &[CollectedStatistics], row: usize) -> Result<StructArray> {
    columns.iter().try_fold(bounds.clone(), |bounds, column| {
        map_child(&bounds, &column.name, &|bound| match (&column.values, bound.as_struct_opt()) {
            (LeafValues::Struct(columns), Some(inner)) => Ok(Arc::new(with_flags(inner, columns, row)?) as ArrayRef),
            (LeafValues::Leaf(kept), None) if *bound.data_type() == DataType::Boolean => {
                Ok(joined(kept)?.map_or_else(|| Arc::clone(bound), |two| two.slice(row, 1)))
            }
            _ => Ok(Arc::clone(bound)),
        })
    })
}

/// A struct with one of its fields changed, including its type; unchanged if it lacks the field.
fn map_child(of: &StructArray, name: &str, change: &dyn Fn(&ArrayRef) -> Result<ArrayRef>) -> Result<StructArray> {
    let Some(at) = of.fields().iter().position(|field| field.name() == name) else { return Ok(of.clone()) };
    let (mut fields, mut columns) = (of.fields().to_vec(), of.columns().to_vec());
    columns[at] = change(&columns[at])?;
    fields[at] = Arc::new(Field::clone(&fields[at]).with_data_type(columns[at].data_type().clone()));
    StructArray::try_new(fields.into(), columns, of.nulls().cloned()).map_err(Error::unexpected)
}

/// The least and the largest value, as an array of two. `None` where all are null, or are of a type for which the log
/// has no bounds.
fn extremes(array: &ArrayRef) -> Result<Option<ArrayRef>> {
    let array = array.as_ref();
    Ok(downcast_primitive_array!(
        array => two_numbers(array),
        DataType::Boolean => two_flags(array.as_boolean()),
        DataType::Utf8View => two_texts(array.as_string_view()),
        DataType::Utf8 => two_rows(array, array.as_string::<i32>().iter())?,
        DataType::LargeUtf8 => two_rows(array, array.as_string::<i64>().iter())?,
        _ => None
    ))
}

fn two_flags(flags: &BooleanArray) -> Option<ArrayRef> {
    Some(Arc::new(BooleanArray::from(vec![min_boolean(flags)?, max_boolean(flags)?])))
}

fn two_numbers<T: ArrowNumericType>(array: &PrimitiveArray<T>) -> Option<ArrayRef> {
    let two = PrimitiveArray::<T>::from_iter_values([min(array)?, max(array)?]);
    Some(Arc::new(two.with_data_type(array.data_type().clone())))
}

fn two_rows<'a>(array: &dyn Array, texts: impl Iterator<Item = Option<&'a str>>) -> Result<Option<ArrayRef>> {
    type Bound<'a> = Option<(&'a str, u32)>;
    let (mut least, mut largest): (Bound<'_>, Bound<'_>) = (None, None);
    for (row, text) in texts.enumerate().filter_map(|(row, text)| Some((row as u32, text?))) {
        least = least.filter(|(least, _)| *least <= text).or(Some((text, row)));
        largest = largest.filter(|(largest, _)| *largest >= text).or(Some((text, row)));
    }
    let Some(((_, least), (_, largest))) = least.zip(largest) else { return Ok(None) };
    let two = take(array, &UInt32Array::from(vec![least, largest]), None).map_err(Error::unexpected)?;
    // Views have their texts cut.
    let views = |two: &ArrayRef| cast(two, &DataType::Utf8View).map_err(Error::unexpected);
    if two.get_array_memory_size() <= 4 * KEPT_TEXT_BYTES {
        return Ok(Some(two));
    }
    let cut = two_texts(views(&two)?.as_string_view());
    cut.map(|cut| cast(&cut, two.data_type()).map_err(Error::unexpected)).transpose()
}

/// Bytes of a text that are kept at most. The log has the first 32 characters of a bound, and the kernel examines twice
/// as many for one that is above all.
const KEPT_TEXT_BYTES: usize = 4096;

fn two_texts(texts: &StringViewArray) -> Option<ArrayRef> {
    let (least, largest) = extreme_rows(texts)?;
    let two = [texts.value(least), texts.value(largest)].map(|text| &text[..text.floor_char_boundary(KEPT_TEXT_BYTES)]);
    let bytes = two.iter().map(|text| text.len() as u32).sum::<u32>().max(1);
    let mut builder = StringViewBuilder::with_capacity(2).with_fixed_block_size(bytes);
    two.iter().for_each(|text| builder.append_value(text));
    Some(Arc::new(builder.finish()))
}

/// The rows of the least and of the largest text; `None` where all are null.
fn extreme_rows(texts: &StringViewArray) -> Option<(usize, usize)> {
    let views = texts.views();
    // The first four bytes of a text are in its view: as a number of the same order they decide nearly always.
    let prefix = |row: usize| ((views[row] >> 32) as u32).swap_bytes();
    let mut rows = (0..texts.len()).filter(|row| texts.is_valid(*row));
    let first = rows.next()?;
    let (mut least, mut largest) = (first, first);
    let (mut low, mut high) = (prefix(first), prefix(first));
    for row in rows {
        let this = prefix(row);
        if this <= low && (this < low || texts.value(row) < texts.value(least)) {
            (least, low) = (row, this);
        }
        if this >= high && (this > high || texts.value(row) > texts.value(largest)) {
            (largest, high) = (row, this);
        }
    }
    Some((least, largest))
}

#[cfg(test)]
mod tests;
