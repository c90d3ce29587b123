//! The byte strings of any array that holds texts or bytes.

use arrow::array::{Array, AsArray, ByteView};
use arrow::buffer::NullBuffer;
use arrow::datatypes::{ArrowNativeType, BinaryType, LargeBinaryType, LargeUtf8Type, Utf8Type};
use arrow::datatypes::{BinaryViewType, ByteArrayType, ByteViewType, DataType, StringViewType};

use crate::{Error, Result};

/// Strings of at most so many bytes lie in their view.
const INLINE: u32 = 12;

/// Calls `each` for every value that is not null.
pub(crate) fn for_each(array: &dyn Array, nulls: Option<&NullBuffer>, mut each: impl FnMut(&[u8])) -> Result<()> {
    match array.data_type() {
        DataType::Utf8 => contiguous::<Utf8Type>(array, nulls, each),
        DataType::LargeUtf8 => contiguous::<LargeUtf8Type>(array, nulls, each),
        DataType::Binary => contiguous::<BinaryType>(array, nulls, each),
        DataType::LargeBinary => contiguous::<LargeBinaryType>(array, nulls, each),
        DataType::Utf8View => views::<StringViewType>(array, nulls, each),
        DataType::BinaryView => views::<BinaryViewType>(array, nulls, each),
        DataType::FixedSizeBinary(_) => {
            let array = array.as_fixed_size_binary();
            for_each_valid(array.len(), nulls, |row| each(array.value(row)));
        }
        other => return Err(Error::internal(format!("{other} holds no byte strings"))),
    }
    Ok(())
}

/// Calls `each` for every row that is not null.
#[inline]
pub(crate) fn for_each_valid(rows: usize, nulls: Option<&NullBuffer>, mut each: impl FnMut(usize)) {
    match nulls {
        Some(nulls) => nulls.valid_indices().for_each(each),
        None => (0..rows).for_each(&mut each),
    }
}

#[inline]
fn contiguous<T: ByteArrayType>(array: &dyn Array, nulls: Option<&NullBuffer>, mut each: impl FnMut(&[u8])) {
    let array = array.as_bytes::<T>();
    let bytes: &[u8] = array.values();
    let ends = array.value_offsets();
    let at = |n: usize| ends[n].as_usize();
    for_each_valid(array.len(), nulls, |row| each(&bytes[at(row)..at(row + 1)]));
}

#[inline]
fn views<T: ByteViewType>(array: &dyn Array, nulls: Option<&NullBuffer>, mut each: impl FnMut(&[u8])) {
    let array = array.as_byte_view::<T>();
    let buffers = array.data_buffers();
    let views = array.views();
    for_each_valid(array.len(), nulls, |row| {
        let view = &views[row];
        let length = *view as u32;
        if length <= INLINE {
            let bytes = view.to_le_bytes();
            each(&bytes[4..4 + length as usize]);
        } else {
            let view = ByteView::from(*view);
            let start = view.offset as usize;
            each(&buffers[view.buffer_index as usize][start..start + length as usize]);
        }
    });
}
