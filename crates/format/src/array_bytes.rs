//! Sizes of arrays.

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes::DataType;

/// Approximate bytes of an array's values, without the parts of its buffers that belong to other arrays.
pub(crate) fn array_bytes(array: &ArrayRef) -> u64 {
    match array.data_type() {
        DataType::Utf8View => array.as_string_view().views().iter().map(|v| u64::from(*v as u32) + 4).sum(),
        DataType::BinaryView => array.as_binary_view().views().iter().map(|v| u64::from(*v as u32) + 4).sum(),
        _ => array.to_data().get_slice_memory_size().unwrap_or_else(|_| array.get_array_memory_size()) as u64,
    }
}
