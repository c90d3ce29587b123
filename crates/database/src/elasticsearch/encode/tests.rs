#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may panic")]

use std::sync::Arc;

use arrow::array::{
    ArrayRef, BinaryArray, Date32Array, Decimal128Array, DictionaryArray, Float64Array, Int64Array, NullArray,
    StringArray, TimestampMicrosecondArray, UInt64Array,
};
use arrow::datatypes::Int32Type;

use super::*;

fn batch(columns: Vec<(&str, ArrayRef)>) -> RecordBatch {
    RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, array)| (name, array, true))).unwrap()
}

fn lines(
    batch: &RecordBatch,
    key: &[&str],
    action: DocumentAction,
    fields: &Value,
) -> Vec<std::result::Result<String, String>> {
    let key: Vec<String> = key.iter().map(|name| (*name).to_owned()).collect();
    let fields = fields.as_object().cloned().unwrap_or_default();
    let encoder = LineEncoder::new(&batch.schema(), &key, action, &fields, "run").unwrap();
    let rows = encoder.rows(batch).unwrap();
    (0..batch.num_rows())
        .map(|row| {
            let mut out = Vec::new();
            rows.write(row, row as u64, &mut out).map(|first| {
                assert_eq!(out[first - 1], b'\n');
                String::from_utf8(out).unwrap()
            })
        })
        .collect()
}

#[test]
fn every_type_is_written_as_the_guide_says() {
    let dictionary: DictionaryArray<Int32Type> = vec!["007"].into_iter().collect();
    let decimal = Decimal128Array::from(vec![-105]).with_precision_and_scale(38, 2).unwrap();
    let batch = batch(vec![
        ("i", Arc::new(Int64Array::from(vec![i64::MIN]))),
        ("u", Arc::new(UInt64Array::from(vec![u64::MAX]))),
        ("f", Arc::new(Float64Array::from(vec![0.1]))),
        ("d", Arc::new(decimal)),
        ("t", Arc::new(StringArray::from(vec!["a\"\\\n\u{1}é"]))),
        ("b", Arc::new(BinaryArray::from_vec(vec![b"\x00\xff"]))),
        ("day", Arc::new(Date32Array::from(vec![19_782]))),
        ("at", Arc::new(TimestampMicrosecondArray::from(vec![-1]).with_timezone("UTC"))),
        ("c", Arc::new(dictionary)),
        ("n", Arc::new(NullArray::new(1))),
    ]);
    let written = lines(&batch, &[], DocumentAction::Index, &Value::Null).remove(0).unwrap();
    let expected = concat!(
        "{\"index\":{\"_id\":\"run-0\"}}\n",
        r#"{"i":-9223372036854775808,"u":"18446744073709551615","f":0.1,"d":"-1.05","t":"a\"\\\n\u0001é","b":"AP8=","#,
        r#""day":"2024-02-29","at":"1969-12-31T23:59:59.999999Z","c":"007","n":null}"#,
        "\n"
    );
    assert_eq!(written, expected);
}

#[test]
fn numbers_are_bare_where_the_field_is_numeric() {
    let decimal = Decimal128Array::from(vec![150]).with_precision_and_scale(10, 2).unwrap();
    let batch = batch(vec![("d", Arc::new(decimal)), ("u", Arc::new(UInt64Array::from(vec![7])))]);
    let fields = serde_json::json!({ "d": { "type": "scaled_float" }, "u": { "type": "unsigned_long" } });
    let written = lines(&batch, &[], DocumentAction::Create, &fields).remove(0).unwrap();
    assert_eq!(written, "{\"create\":{\"_id\":\"run-0\"}}\n{\"d\":1.50,\"u\":7}\n");
}

#[test]
fn keys_of_several_columns_never_meet() {
    let batch = batch(vec![
        ("a", Arc::new(StringArray::from(vec!["x|y", "x", "x\\"]))),
        ("b", Arc::new(StringArray::from(vec!["z", "y|z", "|z"]))),
    ]);
    let mut written = lines(&batch, &["a", "b"], DocumentAction::Delete, &Value::Null);
    written.sort();
    written.dedup();
    assert_eq!(written.len(), 3);
}

#[test]
fn keys_that_would_refuse_a_whole_request_refuse_their_row() {
    let long = "x".repeat(513);
    let batch =
        batch(vec![("k", Arc::new(StringArray::from(vec![Some(long.as_str()), Some(""), None, Some(&long[1..])])))]);
    let written = lines(&batch, &["k"], DocumentAction::Index, &Value::Null);
    let refused: Vec<bool> = written.iter().map(std::result::Result::is_err).collect();
    assert_eq!(refused, [true, true, true, false]);
    assert!(!written[0].as_ref().unwrap_err().contains("xxx"));
}

#[test]
fn numbers_that_json_lacks_name_their_column() {
    let batch = batch(vec![("f", Arc::new(Float64Array::from(vec![f64::NAN])))]);
    let refused = lines(&batch, &[], DocumentAction::Index, &Value::Null).remove(0).unwrap_err();
    assert!(refused.contains("\"f\""), "{refused}");
}

#[test]
fn metadata_columns_are_no_part_of_the_document() {
    let batch = batch(vec![
        ("_id", Arc::new(StringArray::from(vec!["k"]))),
        ("_routing", Arc::new(StringArray::from(vec!["r"]))),
        ("v", Arc::new(Int64Array::from(vec![1]))),
    ]);
    let written = lines(&batch, &[], DocumentAction::Index, &Value::Null).remove(0).unwrap();
    assert_eq!(written, "{\"index\":{\"_id\":\"k\",\"routing\":\"r\"}}\n{\"v\":1}\n");
}
