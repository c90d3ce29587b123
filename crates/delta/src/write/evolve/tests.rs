#![allow(clippy::unwrap_used)]

use arrow::datatypes::DataType as T;
use serde_json::json;

use super::fields::{assign, json_field};
use crate::write::types::table_type;
use crate::write::wider_type::wider;

#[test]
fn types_widen_as_the_protocol_allows() {
    let cases = [
        (T::Int8, T::Int16, Some(T::Int16)),
        (T::Int16, T::Int8, None),
        (T::Int32, T::Int64, Some(T::Int64)),
        (T::Int32, T::UInt32, Some(T::Int64)),
        (T::Int64, T::Int32, None),
        (T::Float32, T::Float64, Some(T::Float64)),
        (T::Float64, T::Float32, None),
        (T::Int32, T::Float32, Some(T::Float64)),
        (T::Int64, T::Float64, None),
        (T::Decimal128(10, 2), T::Decimal128(12, 2), Some(T::Decimal128(12, 2))),
        (T::Decimal128(10, 2), T::Decimal128(8, 4), Some(T::Decimal128(12, 4))),
        (T::Decimal128(10, 2), T::Decimal128(9, 1), None),
        (T::Decimal128(38, 0), T::Decimal128(38, 5), None),
        (T::Int16, T::Decimal128(5, 2), Some(T::Decimal128(12, 2))),
        (T::Int64, T::Decimal128(25, 1), Some(T::Decimal128(25, 1))),
        (T::Utf8, T::Int64, None),
        (T::Utf8, T::Utf8View, None),
    ];
    for (table, source, expected) in cases {
        assert_eq!(wider(&table, &table_type(&source, None).unwrap()), expected, "{table} with {source}");
    }
}

#[test]
fn new_fields_get_ids_at_every_level() {
    let inner = vec![arrow::datatypes::Field::new("x", T::Int32, true)];
    let list = T::List(std::sync::Arc::new(arrow::datatypes::Field::new("element", T::Struct(inner.into()), true)));
    let mut field = json_field("a", &list).unwrap();
    let mut highest = 7;
    assign(&mut field, &mut highest).unwrap();
    assert_eq!(highest, 9);
    assert_eq!(field["metadata"]["delta.columnMapping.id"], json!(8));
    let below = &field["type"]["elementType"]["fields"][0]["metadata"];
    assert_eq!(below["delta.columnMapping.id"], json!(9));
    assert!(below["delta.columnMapping.physicalName"].as_str().unwrap().starts_with("col-"));
}
