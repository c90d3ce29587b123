//! How many bytes the rows of an array hold.

use arrow::array::{Array, AsArray};
use arrow::datatypes::DataType;

/// The approximate size of the values of `array`, in bytes. Other contents of its buffers, such as those outside of a
/// slice, are not counted.
pub(crate) fn value_bytes(array: &dyn Array) -> usize {
    let views = |views: &[u128]| views.iter().map(|view| 16 + *view as u32 as usize).sum();
    let child = |items: &dyn Array, first: usize, last: usize| value_bytes(&items.slice(first, last - first));
    match array.data_type() {
        DataType::Utf8View => views(array.as_string_view().views()),
        DataType::BinaryView => views(array.as_binary_view().views()),
        DataType::Struct(_) => array.as_struct().columns().iter().map(|column| value_bytes(column)).sum(),
        DataType::List(_) => {
            let list = array.as_list::<i32>();
            let ends = list.value_offsets();
            child(list.values(), ends[0] as usize, ends[array.len()] as usize)
        }
        DataType::LargeList(_) => {
            let list = array.as_list::<i64>();
            let ends = list.value_offsets();
            child(list.values(), ends[0] as usize, ends[array.len()] as usize)
        }
        DataType::FixedSizeList(..) => value_bytes(array.as_fixed_size_list().values()),
        DataType::Map(..) => {
            let map = array.as_map();
            let ends = map.value_offsets();
            child(map.entries(), ends[0] as usize, ends[array.len()] as usize)
        }
        DataType::Dictionary(..) => array.len() * size_of::<u64>(),
        _ => array.to_data().get_slice_memory_size().unwrap_or_else(|_| array.get_array_memory_size()),
    }
}

#[cfg(test)]
mod tests;
