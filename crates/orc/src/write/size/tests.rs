use std::sync::Arc;

use arrow::array::{ArrayRef, BinaryArray, Int32Array, LargeStringArray, ListArray, RecordBatch, StringViewArray};
use arrow::array::{StructArray, types::Int32Type};

use super::*;

#[test]
fn counts_what_a_slice_holds() {
    let text = "x".repeat(100);
    let numbers: ArrayRef = Arc::new(Int32Array::from(vec![7; 1000]));
    let lists = ListArray::from_iter_primitive::<Int32Type, _, _>((0..1000).map(|_| Some([Some(1); 10])));
    let columns: [(&str, ArrayRef, usize); 5] = [
        ("int", numbers.clone(), 4),
        ("text", Arc::new(LargeStringArray::from(vec![text.as_str(); 1000])), 108),
        ("view", Arc::new(StringViewArray::from(vec![text.as_str(); 1000])), 116),
        ("bytes", Arc::new(BinaryArray::from(vec![&b"abcdef"[..]; 1000])), 10),
        ("list", Arc::new(lists), 40),
    ];
    for (name, array, row) in &columns {
        let bytes = value_bytes(&array.slice(300, 100));
        assert!((row * 100..row * 100 + 16).contains(&bytes), "{name}: {bytes}");
    }
    let batch = RecordBatch::try_from_iter(columns.map(|(name, array, _)| (name, array))).unwrap();
    let bytes = value_bytes(&StructArray::from(batch).slice(10, 10));
    assert!((2780..2880).contains(&bytes), "{bytes}");
}
