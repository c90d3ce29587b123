#![allow(clippy::unwrap_used)]

use arrow::array::{Int64Array, ListArray, StringViewArray, StructArray};
use arrow::datatypes::{Field, Int64Type};

use super::*;

#[test]
fn texts_are_copied_at_every_level() {
    let texts: StringViewArray = (0..1000).map(|n| Some(format!("a long text with the number {n}"))).collect();
    let field = Arc::new(Field::new("t", DataType::Utf8View, true));
    let nested: ArrayRef = Arc::new(StructArray::from(vec![(Arc::clone(&field), Arc::new(texts) as ArrayRef)]));
    let one = arrow::compute::take(&nested, &Int64Array::from(vec![5]), None).unwrap();
    let list: ArrayRef = Arc::new(ListArray::from_iter_primitive::<Int64Type, _, _>([Some([Some(1)])]));
    let batch = RecordBatch::try_from_iter([("one", Arc::clone(&one)), ("list", list)]).unwrap();
    let small = with_own_texts(&batch).unwrap();
    assert_eq!(small, batch);
    assert!(small.column(0).get_buffer_memory_size() < 200 && one.get_buffer_memory_size() > 20_000);
}
