#![allow(clippy::unwrap_used)]

use super::*;

#[test]
fn a_type_that_spark_lacks_names_the_column() {
    let schema = Schema::new(vec![Field::new("at", DataType::Time64(TimeUnit::Microsecond), true)]);
    let error = spark_schema(&schema).unwrap_err();
    assert!(error.to_string().contains("column \"at\""), "{error}");
}

#[test]
fn floats_and_nanoseconds_are_not_compared_for_spark() {
    assert_eq!(FilterPushdown::for_type(&DataType::Float64), FilterPushdown::Nulls);
    assert_eq!(FilterPushdown::for_type(&DataType::Timestamp(TimeUnit::Nanosecond, None)), FilterPushdown::Nulls);
    assert_eq!(FilterPushdown::for_type(&DataType::Timestamp(TimeUnit::Microsecond, None)), FilterPushdown::Exact);
    assert_eq!(
        FilterPushdown::for_type(&DataType::Dictionary(DataType::Int8.into(), DataType::Utf8.into())),
        FilterPushdown::Exact
    );
}

#[test]
fn fields_have_the_metadata_of_the_table() {
    let part = Field::new("x", DataType::Utf8, true);
    let nested = Field::new("element", DataType::Struct(vec![part].into()), true);
    let fields = vec![Field::new("l", DataType::List(nested.into()), true), Field::new("more", DataType::Int32, true)];
    let mut schema = spark_schema(&Schema::new(fields)).unwrap();
    let metadata = json!({"comment": "c", "delta.columnMapping.id": 7, "parquet.field.id": 7, "__CHAR_VARCHAR_TYPE_STRING": "char(3)",
        "CURRENT_DEFAULT": "'a'", "EXISTS_DEFAULT": "'a'", "__metadata_col": true});
    let part = json!({"name": "x", "type": "string", "nullable": true, "metadata": metadata});
    let element = json!({"type": "struct", "fields": [part]});
    let list = json!({"type": "array", "elementType": element, "containsNull": true});
    let table = json!({"type": "struct", "fields": [{"name": "other", "type": "long", "nullable": true, "metadata": {"comment": "no"}},
        {"name": "l", "type": list, "nullable": true, "metadata": {"mine": {"deep": [1]}}}]});
    add_metadata(&mut schema, &table);
    let [list, more] = [&schema["fields"][0], &schema["fields"][1]];
    assert_eq!(list["metadata"], json!({"mine": {"deep": [1]}}));
    let kept = json!({"comment": "c", "__CHAR_VARCHAR_TYPE_STRING": "char(3)", "CURRENT_DEFAULT": "'a'"});
    assert_eq!(list["type"]["elementType"]["fields"][0]["metadata"], kept);
    assert_eq!(more["metadata"], json!({}));
}
