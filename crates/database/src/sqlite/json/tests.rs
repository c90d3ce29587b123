#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, Date32Array, DictionaryArray, DurationMillisecondArray, ListArray, MapArray, StringArray,
    StructArray, TimestampMicrosecondArray,
};
use arrow::buffer::OffsetBuffer;
use arrow::datatypes::{DataType, Field, Fields, Int32Type, IntervalUnit};
use lakerace_io::ErrorKind;

use super::{check, texts, values};

fn list(items: ArrayRef) -> ArrayRef {
    let field = Arc::new(Field::new_list_field(items.data_type().clone(), true));
    let offsets = OffsetBuffer::from_lengths([1, 0, items.len() - 1]);
    Arc::new(ListArray::new(field, offsets, items, None))
}

fn within(items: ArrayRef) -> ArrayRef {
    Arc::new(StructArray::new(Fields::from(vec![Field::new("x", items.data_type().clone(), true)]), vec![items], None))
}

fn map(items: ArrayRef) -> ArrayRef {
    let keys: ArrayRef = Arc::new(StringArray::from_iter_values((0..items.len()).map(|key| key.to_string())));
    let fields = Fields::from(vec![
        Field::new("key", DataType::Utf8, false),
        Field::new("value", items.data_type().clone(), true),
    ]);
    let offsets = OffsetBuffer::from_lengths([1, 0, items.len() - 1]);
    let entries = StructArray::new(fields.clone(), vec![keys, items], None);
    Arc::new(MapArray::new(Arc::new(Field::new_struct("entries", fields, false)), offsets, entries, None, false))
}

#[test]
fn what_is_written_is_read() {
    let durations: ArrayRef = Arc::new(DurationMillisecondArray::from(vec![Some(1), None, Some(i64::MIN)]));
    let dictionary: ArrayRef = Arc::new(DictionaryArray::<Int32Type>::from_iter([Some("a"), None, Some("b")]));
    let years = [-62_167_219_200_000_000, 0, 253_402_300_799_999_999];
    let times: ArrayRef = Arc::new(TimestampMicrosecondArray::from_iter_values(years));
    let instants: ArrayRef = Arc::new(TimestampMicrosecondArray::from_iter_values(years).with_timezone("+02:00"));
    for items in [durations, dictionary, times, instants] {
        for array in
            [list(Arc::clone(&items)), within(Arc::clone(&items)), map(Arc::clone(&items)), list(within(items))]
        {
            check(array.data_type()).unwrap();
            let texts = texts(&array).unwrap();
            let read = values(&texts, array.data_type()).unwrap();
            assert_eq!(&read, &array);
        }
    }
}

#[test]
fn what_would_not_be_read_is_not_written() {
    let far: [ArrayRef; 3] = [
        Arc::new(TimestampMicrosecondArray::from(vec![Some(0), None, Some(253_402_300_800_000_000)])),
        Arc::new(TimestampMicrosecondArray::from(vec![0, 1, -62_167_219_200_000_001]).with_timezone("Europe/Berlin")),
        Arc::new(Date32Array::from(vec![0, 1, 2_932_897])),
    ];
    for items in far {
        for array in [list(Arc::clone(&items)), map(within(items))] {
            let error = texts(&array).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Unsupported);
            assert!(error.message().contains("years 0 to 9999"), "{error}");
        }
    }
    let interval = DataType::List(Arc::new(Field::new_list_field(DataType::Interval(IntervalUnit::YearMonth), true)));
    check(&interval).unwrap_err();
}
