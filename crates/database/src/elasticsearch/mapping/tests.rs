#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may panic")]

use lakerace_io::ErrorKind;

use super::*;

fn schema(fields: &[(&str, DataType)]) -> Schema {
    Schema::new(fields.iter().map(|(name, data_type)| Field::new(*name, data_type.clone(), true)).collect::<Vec<_>>())
}

#[test]
fn every_number_is_strict_and_dots_lead_into_objects() {
    let schema = schema(&[("a.b", DataType::Int64), ("a.c", DataType::Utf8), ("d", DataType::UInt64)]);
    let properties = properties(&schema, &LocationParameters::default()).unwrap();
    let expected = json!({
        "a": { "type": "object", "properties": {
            "b": { "type": "long", "coerce": false },
            "c": { "type": "keyword" },
        } },
        "d": { "type": "keyword" },
    });
    assert_eq!(Value::Object(properties), expected);
}

#[test]
fn names_that_no_field_has_are_refused() {
    for name in ["", "a.", ".a", "a..b", " ", "_source", "_ignored"] {
        let error = properties(&schema(&[(name, DataType::Int64)]), &LocationParameters::default()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid, "{name:?}");
    }
    let clash = schema(&[("a", DataType::Int64), ("a.b", DataType::Int64)]);
    assert_eq!(properties(&clash, &LocationParameters::default()).unwrap_err().kind(), ErrorKind::Invalid);
}

#[test]
fn an_existing_field_holds_refuses_or_narrows() {
    let micros = DataType::Timestamp(TimeUnit::Microsecond, None);
    let cases = [
        (DataType::Int64, "long", None),
        (DataType::Int64, "integer", Some(ErrorKind::Invalid)),
        (DataType::Int64, "double", Some(ErrorKind::Unsupported)),
        (DataType::Int32, "double", None),
        (DataType::Utf8, "long", Some(ErrorKind::Invalid)),
        (DataType::Utf8, "ip", None),
        (DataType::Float64, "float", None),
        (DataType::Float64, "half_float", Some(ErrorKind::Unsupported)),
        (DataType::Decimal128(38, 2), "scaled_float", Some(ErrorKind::Unsupported)),
        (micros.clone(), "date", Some(ErrorKind::Unsupported)),
        (micros, "date_nanos", None),
        (DataType::UInt64, "unsigned_long", None),
        (DataType::Boolean, "object", Some(ErrorKind::Invalid)),
    ];
    for (data_type, kind, wrong) in cases {
        let schema = schema(&[("c", data_type.clone())]);
        let wanted = properties(&schema, &LocationParameters::default()).unwrap();
        let existing = json!({ "c": { "type": kind } });
        let found = missing(&wanted, &schema, existing.as_object().unwrap(), |_| false);
        assert_eq!(found.err().map(|error| error.kind()), wrong, "{data_type} {kind}");
    }
}

#[test]
fn fields_that_lack_are_told_within_objects_too() {
    let inner =
        DataType::Struct(vec![Field::new("x", DataType::Int8, true), Field::new("y", DataType::Int8, true)].into());
    let schema = schema(&[("s", inner), ("n", DataType::Utf8)]);
    let wanted = properties(&schema, &LocationParameters::default()).unwrap();
    let existing = json!({ "s": { "properties": { "x": { "type": "byte" } } } });
    let lacks = missing(&wanted, &schema, existing.as_object().unwrap(), |_| false).unwrap();
    let expected = json!({
        "s": { "properties": { "y": { "type": "byte", "coerce": false } } },
        "n": { "type": "keyword" },
    });
    assert_eq!(Value::Object(lacks), expected);
}
