//! Lists, maps and structs.

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray};
use arrow::buffer::BooleanBuffer;
use arrow::compute::filter;
use arrow::datatypes::{ArrowNativeType, DataType};

use crate::error::{Error, Result};
use crate::proto::StreamKind;
use crate::write::stream::{StreamCoding, StreamWriter};
use crate::write::values::{ValueStreams, ValueTarget, WrittenRows};

/// Lists, and maps as lists of keys and of values.
pub(crate) struct ListValues;

impl ValueStreams for ListValues {
    fn streams(&self) -> Vec<StreamWriter> {
        vec![StreamWriter::new(StreamKind::Length, StreamCoding::Ints { signed: false })]
    }

    fn append(&mut self, rows: &WrittenRows<'_>, out: &mut ValueTarget<'_>) -> Result<Vec<ArrayRef>> {
        let ([lengths], digest) = out.parts()?;
        let lengths = &mut lengths.numbers;
        let before = lengths.len();
        let array = rows.array;
        let children = match array.data_type() {
            DataType::List(_) => {
                let list = array.as_list::<i32>();
                vec![items(rows, list.values(), lengths, between(list.value_offsets()))?]
            }
            DataType::LargeList(_) => {
                let list = array.as_list::<i64>();
                vec![items(rows, list.values(), lengths, between(list.value_offsets()))?]
            }
            DataType::FixedSizeList(_, size) => {
                let size = usize::try_from(*size).map_err(|_| Error::invalid("a list has a negative size"))?;
                vec![items(rows, array.as_fixed_size_list().values(), lengths, |n| (n * size, (n + 1) * size))?]
            }
            DataType::Map(..) => {
                let map = array.as_map();
                let entries: ArrayRef = std::sync::Arc::new(map.entries().clone());
                items(rows, &entries, lengths, between(map.value_offsets()))?.as_struct().columns().to_vec()
            }
            other => return Err(Error::internal(format!("{other} is not a list"))),
        };
        digest.statistics.add_lengths(&lengths[before..]);
        Ok(children)
    }
}

/// From where to where the items of a list lie.
fn between<O: ArrowNativeType>(ends: &[O]) -> impl Fn(usize) -> (usize, usize) {
    |list| (ends[list].as_usize(), ends[list + 1].as_usize())
}

/// Appends the lengths of lists that are not null to `lengths`, and returns their items.
fn items(
    rows: &WrittenRows<'_>,
    items: &ArrayRef,
    lengths: &mut Vec<i64>,
    range: impl Fn(usize) -> (usize, usize),
) -> Result<ArrayRef> {
    let lists = rows.array.len();
    let (first, last) = if lists == 0 { (0, 0) } else { (range(0).0, range(lists - 1).1) };
    let before = lengths.len();
    rows.for_each(|list| {
        let (start, end) = range(list);
        lengths.push((end - start) as i64);
    });
    let items = items.slice(first, last - first);
    // Lists that are null may have items, which no reader may see.
    if lengths[before..].iter().sum::<i64>() as usize == items.len() {
        return Ok(items);
    }
    let mut kept = vec![false; items.len()];
    rows.for_each(|list| {
        let (start, end) = range(list);
        kept[start - first..end - first].fill(true);
    });
    Ok(filter(&items, &BooleanArray::new(BooleanBuffer::from(kept), None))?)
}

/// Structs.
pub(crate) struct StructValues;

impl ValueStreams for StructValues {
    fn streams(&self) -> Vec<StreamWriter> {
        Vec::new()
    }

    fn append(&mut self, rows: &WrittenRows<'_>, _: &mut ValueTarget<'_>) -> Result<Vec<ArrayRef>> {
        let array = rows.array.as_struct_opt().ok_or_else(|| Error::internal("the array is not of structs"))?;
        let Some(nulls) = rows.nulls else { return Ok(array.columns().to_vec()) };
        // A field has a value only where its struct has one.
        let valid = BooleanArray::new(nulls.inner().clone(), None);
        Ok(array.columns().iter().map(|column| filter(column, &valid)).collect::<Result<_, _>>()?)
    }
}
