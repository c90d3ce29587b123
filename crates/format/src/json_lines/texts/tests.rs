#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, StringArray};
use arrow::datatypes::{DataType, Field, Float64Type, Int64Type, UInt64Type};
use lakerace_io::{ErrorKind, Result};

use super::values_of_json;

fn list(item: DataType) -> DataType {
    DataType::List(Arc::new(Field::new_list_field(item, true)))
}

fn read(text: &str, data_type: DataType) -> Result<ArrayRef> {
    values_of_json(&StringArray::from(vec![Some(text), None]), &Field::new("v", data_type, true))
}

#[test]
fn integers_keep_all_digits() {
    let read_list = |text, item| read(text, list(item)).unwrap().as_list::<i32>().values().clone();
    let numbers = read_list("[9007199254740993, -9223372036854775808, null]", DataType::Int64);
    let expected = [Some(9_007_199_254_740_993), Some(i64::MIN), None];
    assert_eq!(numbers.as_primitive::<Int64Type>().iter().collect::<Vec<_>>(), expected);
    let numbers = read_list("[18446744073709551615]", DataType::UInt64);
    assert_eq!(numbers.as_primitive::<UInt64Type>().values(), &[u64::MAX]);
    let numbers = read_list("[9007199254740992, 0.1]", DataType::Float64);
    assert_eq!(numbers.as_primitive::<Float64Type>().values(), &[9_007_199_254_740_992.0, 0.1]);
}

#[test]
fn numbers_that_would_change_are_refused() {
    for (text, item) in [
        ("[9007199254740993.5]", DataType::Int64),
        ("[1.7]", DataType::Int64),
        ("[9007199254740993]", DataType::Float64),
        ("[16777217]", DataType::Float32),
        ("[9223372036854775808]", DataType::Int64),
        ("[1.005]", DataType::Decimal128(10, 2)),
    ] {
        let error = read(text, list(item)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid, "{text}");
        assert!(error.message().contains("is not a value of type"), "{text}: {error}");
    }
}

#[test]
fn a_text_is_one_value() {
    let text = "{\"a\" :\n[1] }";
    let fields = DataType::Struct(vec![Field::new("a", list(DataType::Int64), true)].into());
    assert_eq!(read(text, fields.clone()).unwrap().len(), 2);
    for text in ["{\"a\":[1]} {}", "{\"a\":[1]", "", "[1]"] {
        assert_eq!(read(text, fields.clone()).unwrap_err().kind(), ErrorKind::Invalid, "{text}");
    }
}
