#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, Float64Array, Int64Array, ListArray, StringArray, StructArray, TimestampMicrosecondArray,
};
use arrow::buffer::OffsetBuffer;
use arrow::datatypes::Field;
use serde_json::json;

use super::*;

/// Texts as the field `t` of an object.
fn objects(texts: &[Option<&str>]) -> ArrayRef {
    let texts: ArrayRef = Arc::new(StringArray::from(texts.to_vec()));
    let numbers: ArrayRef = Arc::new(Int64Array::from(vec![7; texts.len()]));
    let field = |name: &str, array: &ArrayRef| Arc::new(Field::new(name, array.data_type().clone(), true));
    Arc::new(StructArray::from(vec![(field("n", &numbers), numbers), (field("t", &texts), texts)]))
}

fn passed(array: &ArrayRef, mapped: &Value) -> Vec<Option<String>> {
    let limits = FieldLimits::new("o", array.data_type(), Some(mapped));
    let cells = CellColumn::new(array, false).unwrap();
    (0..array.len()).map(|row| limits.passed(&cells, row).map(|limit| limit.path.clone())).collect()
}

#[test]
fn fields_of_objects_have_limits_too() {
    let mapped = json!({ "properties": { "t": { "type": "keyword", "ignore_above": 3 }, "n": { "type": "long" } } });
    let texts = [Some("abc"), Some("abcd"), None, Some("é😀"), Some("é😀x")];
    let array = objects(&texts);
    let found = passed(&array, &mapped);
    let long = Some("o.t".to_owned());
    assert_eq!(found, [None, long.clone(), None, None, long.clone()]);
    // Lists of them, as of `nested` fields.
    let item = Arc::new(Field::new_list_field(array.data_type().clone(), true));
    let offsets = OffsetBuffer::new(vec![0, 1, 3, 3, 5].into());
    let list: ArrayRef = Arc::new(ListArray::new(item, offsets, array, None));
    assert_eq!(passed(&list, &mapped), [None, long.clone(), None, long]);
}

#[test]
fn where_nothing_is_limited_nothing_is_looked_at() {
    let array = objects(&[Some("abcd")]);
    let mapped = json!({ "properties": { "t": { "type": "keyword" }, "n": { "type": "long" } } });
    assert!(matches!(FieldLimits::new("o", array.data_type(), Some(&mapped)), FieldLimits::None));
    assert!(matches!(FieldLimits::new("o", array.data_type(), None), FieldLimits::None));
}

#[test]
fn digits_that_a_field_lacks_pass_its_limit() {
    let micros = |zone: Option<&str>| {
        let values = TimestampMicrosecondArray::from(vec![-1_000, -1, 1, 1_000]);
        Arc::new(values.with_timezone_opt(zone)) as ArrayRef
    };
    let floats: ArrayRef = Arc::new(Float64Array::from(vec![0.1, 0.123_456_789_012, 16_777_217.0, f64::NAN]));
    for (array, kind, expected) in [
        (micros(None), "date", [false, true, true, false]),
        (micros(Some("UTC")), "date_nanos", [true, true, false, false]),
        (floats.clone(), "float", [false, true, true, false]),
        (floats, "double", [false; 4]),
    ] {
        let mapped = json!({ "type": kind });
        let found: Vec<bool> = passed(&array, &mapped).iter().map(Option::is_some).collect();
        assert_eq!(found, expected, "{kind}");
        let limits = FieldLimits::new("o", array.data_type(), Some(&mapped)).allow_narrowing(&|path| path == "o");
        assert_eq!(matches!(limits, FieldLimits::None), kind != "date_nanos", "{kind}");
    }
}
