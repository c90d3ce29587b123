#![allow(clippy::unwrap_used)]

use arrow::array::{DictionaryArray, Int64Array, ListArray, StringArray, StringViewArray, StructArray};
use arrow::datatypes::{ArrowDictionaryKeyType, ArrowNativeType, Field, Int16Type, Int64Type, UInt32Type};

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

fn dictionary<K: ArrowDictionaryKeyType>(values: ArrayRef) -> ArrayRef {
    let keys = (0..values.len()).map(|row| K::Native::from_usize(row).filter(|_| row % 3 != 0)).collect();
    Arc::new(DictionaryArray::<K>::try_new(keys, values).unwrap())
}

#[test]
fn dictionaries_keep_the_values_of_their_rows() {
    let long = |row: usize| format!("a long text with the number {row}");
    let texts: ArrayRef = Arc::new(StringArray::from_iter_values((0..1000).map(long)));
    let views: ArrayRef = Arc::new(StringViewArray::from_iter_values((0..1000).map(long)));
    let whole: Vec<(&str, ArrayRef)> =
        vec![("texts", dictionary::<UInt32Type>(texts)), ("views", dictionary::<Int16Type>(views))];
    let whole = RecordBatch::try_from_iter(whole).unwrap();
    let rows = Int64Array::from(vec![Some(5), Some(700), Some(5), None, Some(0)]);
    let few = arrow::compute::take_record_batch(&whole, &rows).unwrap();
    let own = with_own_texts(&few).unwrap();
    assert_eq!(own, few);
    for (column, shared) in own.columns().iter().zip(few.columns()) {
        let dictionary = column.as_any_dictionary();
        assert_eq!(dictionary.values().len(), 2);
        assert!(dictionary.values().get_buffer_memory_size() < 400 && shared.get_buffer_memory_size() > 20_000);
    }
    let same = with_own_texts(&whole).unwrap();
    assert_eq!(same.column(0).as_any_dictionary().values().len(), 1000);
}
