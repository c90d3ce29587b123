#![allow(clippy::unwrap_used)]

use super::*;
use crate::spark_type::spark_schema;

const SPARK: &str = r#"{"type":"struct","fields":[
    {"name":"a","type":"integer","nullable":false,"metadata":{}},
    {"name":"t","type":"timestamp","nullable":true,"metadata":{}},
    {"name":"d","type":"decimal(12,2)","nullable":true,"metadata":{}},
    {"name":"l","type":{"type":"array","elementType":"string","containsNull":false},"nullable":true,"metadata":{}},
    {"name":"m","type":{"type":"map","keyType":"long","valueType":"date","valueContainsNull":true},"nullable":true,"metadata":{}}]}"#;

#[test]
fn schemas_go_both_ways() {
    let schema = arrow_schema(SPARK).unwrap();
    assert_eq!(schema.field(2).data_type(), &DataType::Decimal128(12, 2));
    let back = spark_schema(&schema).unwrap();
    assert_eq!(back, serde_json::from_str::<Value>(SPARK).unwrap());
}

#[test]
fn a_type_that_is_not_written_names_the_column() {
    let text = r#"{"type":"struct","fields":[{"name":"i","type":"interval year to month","nullable":true}]}"#;
    let error = arrow_schema(text).unwrap_err();
    assert!(error.to_string().contains("column \"i\""), "{error}");
}
