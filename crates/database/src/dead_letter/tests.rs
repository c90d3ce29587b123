#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;

use arrow::array::{ArrayRef, Decimal128Array, Float64Array, Int64Array, ListArray, StringArray, UInt64Array};
use arrow::datatypes::{DataType, Field, Float32Type, Schema};
use arrow::record_batch::RecordBatch;
use lakerace_io::{ErrorKind, Job};

use super::DeadLetters;
use crate::SinkOptions;

fn batch() -> RecordBatch {
    let schema = Schema::new(vec![
        Field::new("id", DataType::Int64, false),
        Field::new("name", DataType::Utf8, true),
        Field::new("x", DataType::Float64, true),
    ]);
    RecordBatch::try_new(
        Arc::new(schema),
        vec![
            Arc::new(Int64Array::from(vec![1, i64::MAX])),
            Arc::new(StringArray::from(vec![Some("a\"b"), None])),
            Arc::new(Float64Array::from(vec![f64::NAN, 0.5])),
        ],
    )
    .unwrap()
}

#[test]
fn rows_stand_with_key_and_reason_and_only_the_owner_reads_them() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("dead.jsonl");
    let options = SinkOptions { dead_letter: Some(path.clone()), key: vec!["id".to_owned()], ..SinkOptions::default() };
    let letters = DeadLetters::create(&options, &Job::default()).unwrap().unwrap();
    letters.reject(&batch(), 0, "too long").unwrap();
    letters.reject(&batch(), 1, "no").unwrap();
    assert_eq!(letters.rows(), 2);
    letters.flush().unwrap();
    drop(letters);
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    let lines: Vec<serde_json::Value> =
        std::fs::read_to_string(&path).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines[0]["row"]["x"], "NaN");
    assert_eq!(lines[0]["row"]["name"], "a\"b");
    assert_eq!(lines[0]["reason"], "too long");
    assert_eq!(lines[1]["key"]["id"], i64::MAX);
    assert!(lines[1]["row"]["name"].is_null());
    assert_eq!(DeadLetters::create(&options, &Job::default()).unwrap_err().kind(), ErrorKind::Conflict);
    drop(DeadLetters::create(&SinkOptions { resume: true, ..options }, &Job::default()).unwrap());
    assert_eq!(std::fs::read_to_string(&path).unwrap().lines().count(), 2);
}

#[test]
fn a_file_without_rows_goes() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("dead.jsonl");
    let options = SinkOptions { dead_letter: Some(path.clone()), ..SinkOptions::default() };
    drop(DeadLetters::create(&options, &Job::default()).unwrap());
    assert!(!path.exists());
    assert!(DeadLetters::create(&SinkOptions::default(), &Job::default()).unwrap().is_none());
}

#[test]
fn numbers_keep_their_digits_and_nested_floats_their_texts() {
    let decimals = Decimal128Array::from(vec![123_456_789_012_345_678_901]).with_precision_and_scale(38, 2).unwrap();
    let lists = ListArray::from_iter_primitive::<Float32Type, _, _>([Some([Some(f32::NEG_INFINITY), Some(0.5)])]);
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("amount", Arc::new(decimals)),
        ("big", Arc::new(UInt64Array::from(vec![u64::MAX]))),
        ("list", Arc::new(lists)),
    ];
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let line = String::from_utf8(super::line_of(&batch, &["amount".to_owned()], "a \"b\"").unwrap()).unwrap();
    let expected = r#"{"key":{"amount":1234567890123456789.01},"reason":"a \"b\"","row":{"amount":1234567890123456789.01,"big":18446744073709551615,"list":["-inf","0.5"]}}"#;
    assert_eq!(line, format!("{expected}\n"));
}
