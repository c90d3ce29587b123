use std::sync::Arc;

use arrow::datatypes::{Field, TimeUnit};

use super::*;

fn columns() -> Schema {
    let field = |name: &str, data_type: DataType| Field::new(name, data_type, true);
    let micros = |zone: Option<&str>| DataType::Timestamp(TimeUnit::Microsecond, zone.map(Into::into));
    Schema::new(vec![
        field("long", DataType::Int64),
        field("int", DataType::Int32),
        field("byte", DataType::Int8),
        field("double", DataType::Float64),
        field("decimal", DataType::Decimal128(5, 2)),
        field("wide", DataType::Decimal128(38, 0)),
        field("bool", DataType::Boolean),
        field("date", DataType::Date32),
        field("time", micros(Some("UTC"))),
        field("local", micros(None)),
        field("text", DataType::Utf8),
        field("bytes", DataType::Binary),
        field("list", DataType::List(Arc::new(field("element", DataType::Int64)))),
        field(
            "variant",
            DataType::Struct(
                vec![Field::new("metadata", DataType::Binary, false), Field::new("value", DataType::Binary, false)]
                    .into(),
            ),
        ),
        field("struct", DataType::Struct(vec![field("a", DataType::Int64), field("b", DataType::Date32)].into())),
    ])
}

fn found(text: &str) -> Option<String> {
    misfit(text, &columns(), &columns())
}

#[test]
fn bounds_that_readers_take_fit() {
    for (column, values) in [
        ("long", r#"1 "1" 1.0 9223372036854775807 -9223372036854775808 1e3 null"#),
        ("int", "2147483647 -2147483648"),
        ("byte", "127 -128"),
        ("double", r#"1 1.5 "NaN" "Infinity" "-Infinity" -0.0 1e308"#),
        ("decimal", r#"999.99 "1.25" 1.23456 1000.0 -999.994"#),
        // The nearest double of 38 nines.
        ("wide", "1e38 99999999999999999999999999999999999999 9223372036854775807"),
        ("bool", "true false"),
        ("date", r#""2024-02-29" "1500-02-29" "-0044-03-15" "+10000-01-01" "2020-01-01T00:00:00Z""#),
        ("time", r#""2020-01-01T00:00:00.000Z" "2020-01-01" "1880-01-01T00:00:00.000+00:53" "2020-01-01T12:30""#),
        ("local", r#""2020-01-01T00:00:00.000" "2020-01-01T00:00:00.123456""#),
        ("text", r#""" "a" 5 true"#),
        ("bytes", r#""a" 5 {}"#),
        ("list", "5 [] {}"),
        ("unknown", "5 [] {}"),
        ("variant", r#""z85" 5"#),
        ("struct", r#"{} {"a":1} {"a":null,"b":"2020-01-01","c":[]}"#),
    ] {
        for value in values.split(' ') {
            for kind in ["minValues", "maxValues"] {
                let text = format!("{{\"{kind}\":{{\"{column}\":{value}}}}}");
                assert_eq!(found(&text), None, "{text}");
            }
        }
    }
    // A space between date and time, as delta-rs writes it.
    assert_eq!(found(r#"{"maxValues":{"local":"2020-01-01 23:59:59.5"}}"#), None);
    assert_eq!(found(r#"{"nullCount":{"long":0,"list":2,"variant":3,"struct":{"a":1},"unknown":{}}}"#), None);
    assert_eq!(found("no JSON"), None);
}

#[test]
fn bounds_that_no_reader_takes_are_named() {
    for (column, name, values) in [
        ("long", "long", r#""x" true [] {} 9223372036854775808 1e300 2.5 -0.5 "2.5" "NaN" "Infinity""#),
        ("int", "int", "2147483648 0.1"),
        ("byte", "byte", "128 -129 1.5"),
        ("double", "double", r#""x" true"#),
        ("decimal", "decimal", r#""x" 12345.25 1001 true"#),
        ("bool", "bool", r#"0 "x" "true""#),
        ("date", "date", r#""x" "2020-13-01" "2020-02-30" "2019-02-29" "2020-1" 18262 true {}"#),
        ("time", "time", r#""x" "2020-01-01T25:00" "2020-01-01X" 5 {}"#),
        ("text", "text", "{} []"),
        ("struct", "struct", r#"5 "a""#),
        ("struct", "struct.a", r#"{"a":"q"}"#),
        ("struct", "struct.b", r#"{"a":1,"b":"q"}"#),
    ] {
        for value in values.split(' ') {
            let problem = found(&format!("{{\"maxValues\":{{\"{column}\":{value}}}}}")).unwrap_or_default();
            assert!(
                problem.contains(&format!(" as maxValues of {name}, which must be a value of ")),
                "{value}: {problem}"
            );
        }
    }
    assert_eq!(
        found(r#"{"minValues":{"long":"x"}}"#).as_deref(),
        Some(r#"have "x" as minValues of long, which must be a value of int64"#)
    );
    let counts =
        |rows: u64| found(&format!(r#"{{"numRecords":{rows},"nullCount":{{"long":3,"struct":{{"a":5}},"q":9}}}}"#));
    assert_eq!(counts(5), None);
    assert_eq!(counts(4).as_deref(), Some("have 5 as nullCount of struct.a, but 4 as numRecords"));
    for (count, words) in [
        (r#"{"struct":0}"#, "have 0 as nullCount of struct, which must be an object of its fields"),
        (r#"{"long":{}}"#, "have {} as nullCount of long, which must be a count"),
    ] {
        assert_eq!(found(&format!("{{\"nullCount\":{count}}}")).as_deref(), Some(words));
    }
}

#[test]
fn columns_have_their_names_in_statistics() {
    let stored = Schema::new(
        columns()
            .fields()
            .iter()
            .map(|field| Field::clone(field).with_name(format!("col-{}", field.name())))
            .collect::<Vec<_>>(),
    );
    let found = |text: &str| misfit(text, &columns(), &stored);
    assert_eq!(found(r#"{"minValues":{"long":"x"}}"#), None);
    let problem = found(r#"{"minValues":{"col-long":"x"}}"#).unwrap_or_default();
    assert!(problem.contains("minValues of long,"), "{problem}");
}
