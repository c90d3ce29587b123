#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may panic")]

use arrow::array::{Array, AsArray};
use arrow::datatypes::{DataType, Field, Schema};
use lakerace_io::ErrorKind;

use super::*;

fn schema(fields: Vec<Field>) -> SchemaRef {
    Arc::new(Schema::new(fields))
}

fn answer(sources: &[&str]) -> String {
    let hits: Vec<String> = sources
        .iter()
        .enumerate()
        .map(|(row, source)| {
            format!(r#"{{"_index":"i","_id":"id{row}","_score":null,"_source":{source},"sort":[{row}]}}"#)
        })
        .collect();
    format!(
        r#"{{"pit_id":"p","took":1,"timed_out":false,"_shards":{{"total":1,"successful":1,"skipped":0,"failed":0}},"hits":{{"hits":[{}]}}}}"#,
        hits.join(",")
    )
}

fn decoded(fields: Vec<Field>, sources: &[&str]) -> Result<RecordBatch> {
    let schema = schema(fields);
    let mut decoder = PageDecoder::new(Arc::clone(&schema), &Map::new(), Some(&schema))?;
    let page = decoder.page(answer(sources).as_bytes())?;
    assert_eq!(page.rows, sources.len());
    assert_eq!(page.pit_id.as_deref(), Some("p"));
    decoder.batch()
}

#[test]
fn null_missing_and_empty_lists_are_told_apart() {
    let item = Arc::new(Field::new("item", DataType::Int64, true));
    let batch = decoded(
        vec![Field::new("l", DataType::List(item), true)],
        &[r#"{"l":null}"#, "{}", r#"{"l":[]}"#, r#"{"l":[7]}"#, r#"{"l":[1,null]}"#, r#"{"l":7}"#],
    )
    .unwrap();
    let list = batch.column(0).as_list::<i32>();
    let lengths: Vec<Option<i32>> = (0..6).map(|row| list.is_valid(row).then(|| list.value_length(row))).collect();
    assert_eq!(lengths, [None, None, Some(0), Some(1), Some(2), Some(1)]);
}

#[test]
fn dots_lead_into_objects_and_out_of_them() {
    let inner = DataType::Struct(vec![Field::new("b", DataType::Int64, true)].into());
    let fields = vec![Field::new("a", inner, true), Field::new("x.y", DataType::Utf8, true)];
    let batch = decoded(fields, &[r#"{"a.b":1,"x":{"y":"s"}}"#, r#"{"x.y":"t","a":{"b":2}}"#]).unwrap();
    assert_eq!(
        batch.column(0).as_struct().column(0).as_primitive::<arrow::datatypes::Int64Type>().values().as_ref(),
        [1, 2]
    );
    assert_eq!(batch.column(1).as_string::<i32>().iter().collect::<Vec<_>>(), [Some("s"), Some("t")]);
}

#[test]
fn values_that_do_not_fit_name_document_and_column() {
    let cases = [
        (DataType::Int64, "1.7"),
        (DataType::Int64, "9223372036854775808"),
        (DataType::Int64, "[1,2]"),
        (DataType::Int8, "128"),
        (DataType::Float64, r#""x""#),
        (DataType::Utf8, r#"{"a":1}"#),
        (DataType::Decimal128(5, 2), r#""1.234""#),
        (DataType::Date32, r#""2023-02-30""#),
        (DataType::Timestamp(arrow::datatypes::TimeUnit::Millisecond, None), r#""2023-01-01T00:00:00.0001""#),
        (DataType::Boolean, "1"),
        (DataType::Binary, r#""!""#),
    ];
    for (data_type, value) in cases {
        let source = format!(r#"{{"c":{value}}}"#);
        let error = decoded(vec![Field::new("c", data_type.clone(), true)], &["{}", &source]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid, "{data_type} {value}");
        assert!(error.message().contains("\"id1\"") && error.message().contains("\"c\""), "{error}");
        assert!(!error.message().contains("1.7") && !error.message().contains("9223372036854775808"), "{error}");
    }
}

#[test]
fn a_null_in_a_column_that_has_none_is_an_error() {
    let error = decoded(vec![Field::new("c", DataType::Int64, false)], &[r#"{"c":1}"#, "{}"]).unwrap_err();
    assert!(error.message().contains("id1"), "{error}");
}

#[test]
fn failed_shards_time_outs_and_cut_answers_are_errors() {
    let whole = answer(&["{}"]);
    let failed = whole.replace(r#""failed":0"#, r#""failed":1,"failures":[{"reason":{"reason":"disk"}}]"#);
    let late = whole.replace(r#""timed_out":false"#, r#""timed_out":true"#);
    let mut wrong: Vec<String> = (0..whole.len()).map(|length| whole[..length].to_owned()).collect();
    wrong.extend([failed, late, r#"{"error":"x"}"#.to_owned()]);
    for body in wrong {
        let mut decoder = PageDecoder::new(schema(Vec::new()), &Map::new(), None).unwrap();
        assert_eq!(decoder.page(body.as_bytes()).unwrap_err().kind(), ErrorKind::Unavailable, "{body}");
    }
}

#[test]
fn numbers_under_dotted_keys_have_all_digits() {
    let decimal = DataType::Decimal128(38, 2);
    let inner = DataType::Struct(vec![Field::new("b", decimal.clone(), true)].into());
    let fields = vec![Field::new("a", inner, true), Field::new("x.y", decimal, true)];
    let source = r#"{"a.b":1234567890123456789.01,"x":{"y":-1234567890123456789.01}}"#;
    let batch = decoded(fields, &[source]).unwrap();
    let unscaled = 123_456_789_012_345_678_901_i128;
    let value = |array: &dyn Array| array.as_primitive::<arrow::datatypes::Decimal128Type>().value(0);
    assert_eq!(value(batch.column(0).as_struct().column(0)), unscaled);
    assert_eq!(value(batch.column(1)), -unscaled);
}

#[test]
fn an_id_is_read_as_its_column_or_is_an_error() {
    let texts = decoded(vec![Field::new("_id", DataType::Utf8, false)], &["{}"]).unwrap();
    assert_eq!(texts.column(0).as_string::<i32>().value(0), "id0");
    for data_type in [DataType::UInt64, DataType::Date32, DataType::Boolean, DataType::Decimal128(5, 1)] {
        let error = decoded(vec![Field::new("_id", data_type.clone(), true)], &["{}"]).unwrap_err();
        assert!(error.message().contains("_id"), "{data_type}: {error}");
    }
    let missing = decoded(vec![Field::new("_routing", DataType::Utf8, false)], &["{}"]).unwrap_err();
    assert!(missing.message().contains("_routing"), "{missing}");
}

#[test]
fn names_outside_of_the_columns_are_noted_with_their_objects() {
    let inner = DataType::Struct(vec![Field::new("b", DataType::Int64, true)].into());
    let fields = schema(vec![Field::new("a", inner, true)]);
    let mut decoder = PageDecoder::new(fields, &Map::new(), None).unwrap();
    decoder.unmapped = UnmappedNames::new(true);
    let sources = [r#"{"a":{"b":1,"c":2},"d":{"e":1}}"#, r#"{"a.b":1,"a.f":[0],"g":null,"h":[]}"#];
    decoder.page(answer(&sources).as_bytes()).unwrap();
    assert_eq!(decoder.unmapped.take().into_iter().collect::<Vec<_>>(), ["a.c", "a.f", "d"]);
    assert!(decoder.unmapped.take().is_empty());
}
