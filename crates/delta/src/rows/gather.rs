//! Putting rows of many batches into another order.

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, BinaryViewArray, GenericByteViewArray, MAX_INLINE_VIEW_LEN, RecordBatch, RecordBatchOptions,
    StringViewArray,
};
use arrow::buffer::{BooleanBuffer, NullBuffer};
use arrow::compute::interleave;
use arrow::datatypes::{ByteViewType, DataType, SchemaRef};
use arrow::error::ArrowError;

/// The rows of `batches` at these places: the number of a batch, and of a row in it.
pub(crate) fn gather(
    schema: &SchemaRef,
    batches: &[RecordBatch],
    at: &[(usize, usize)],
) -> Result<RecordBatch, ArrowError> {
    let column = |number: usize| {
        let arrays: Vec<&dyn Array> = batches.iter().map(|batch| batch.column(number).as_ref()).collect();
        match schema.field(number).data_type() {
            DataType::Utf8View => match downcast::<StringViewArray>(&arrays) {
                Some(arrays) => Ok(Arc::new(views(&arrays, at)) as ArrayRef),
                None => interleave(&arrays, at),
            },
            DataType::BinaryView => match downcast::<BinaryViewArray>(&arrays) {
                Some(arrays) => Ok(Arc::new(views(&arrays, at)) as ArrayRef),
                None => interleave(&arrays, at),
            },
            _ => interleave(&arrays, at),
        }
    };
    let columns = (0..schema.fields().len()).map(column).collect::<Result<Vec<_>, _>>()?;
    let options = RecordBatchOptions::new().with_row_count(Some(at.len()));
    RecordBatch::try_new_with_options(Arc::clone(schema), columns, &options)
}

fn downcast<'a, T: 'static>(arrays: &[&'a dyn Array]) -> Option<Vec<&'a T>> {
    arrays.iter().map(|array| array.as_any().downcast_ref()).collect()
}

/// Bits of a view after its length and prefix, where its buffer's number is stored.
const BUFFER_SHIFT: u32 = 64;

/// Views of the buffers of all arrays. Arrow's own kernel reads each view before it fetches the next one, and so waits
/// for memory once for each row; here they are all fetched first and then mapped to their buffers.
fn views<T: ByteViewType>(arrays: &[&GenericByteViewArray<T>], at: &[(usize, usize)]) -> GenericByteViewArray<T> {
    let slices: Vec<&[u128]> = arrays.iter().map(|array| &array.views()[..]).collect();
    let (mut buffers, mut firsts) = (Vec::new(), Vec::with_capacity(arrays.len()));
    for array in arrays {
        firsts.push((buffers.len() as u128) << BUFFER_SHIFT);
        buffers.extend(array.data_buffers().iter().cloned());
    }
    let mut views: Vec<u128> = at.iter().map(|(array, row)| slices[*array][*row]).collect();
    for (view, (array, _)) in views.iter_mut().zip(at) {
        let is_inside = *view as u32 <= MAX_INLINE_VIEW_LEN;
        *view += if is_inside { 0 } else { firsts[*array] };
    }
    let nulls = arrays
        .iter()
        .any(|array| array.null_count() > 0)
        .then(|| NullBuffer::from(BooleanBuffer::collect_bool(at.len(), |row| arrays[at[row].0].is_valid(at[row].1))));
    // SAFETY: each view is one of a valid array, with its buffer's number in the list of all buffers.
    unsafe { GenericByteViewArray::new_unchecked(views.into(), buffers.into(), nulls) }
}

#[cfg(test)]
mod tests;
