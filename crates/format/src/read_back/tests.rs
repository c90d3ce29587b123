#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use arrow::datatypes::{DataType, Field, Schema};
use lakerace_io::ErrorKind;

use super::{check_read_back, read_back_schema};
use crate::schema_text::print_schema;
use crate::{CSV, CsvOptions, JSON_LINES, PARQUET, TBL};

fn schema(name: &str, data_type: DataType) -> Schema {
    Schema::new(vec![Field::new(name, data_type, true)])
}

fn dictionary() -> DataType {
    DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8))
}

#[test]
fn dictionaries_are_read_back_as_their_values() {
    let list = DataType::List(Arc::new(Field::new_list_field(dictionary(), true)));
    for (given, expected) in [(dictionary(), "c utf8"), (list, "c list(utf8)")] {
        let given = schema("c", given);
        assert_eq!(print_schema(&read_back_schema(&given)), expected);
        check_read_back(&JSON_LINES, &given, &CsvOptions::default()).unwrap();
    }
    check_read_back(&CSV, &schema("c", dictionary()), &CsvOptions::default()).unwrap();
}

#[test]
fn what_text_does_not_give_back_is_known_before() {
    let headless = CsvOptions { header: Some(false), ..CsvOptions::default() };
    let options = CsvOptions::default();
    let refused = [
        (&JSON_LINES, schema("c", DataType::Decimal128(10, -2)), &options),
        (&CSV, schema("c", DataType::Decimal128(10, -2)), &options),
        (&CSV, schema("", DataType::Int64), &options),
        (&CSV, schema("  ", DataType::Int64), &options),
        (&CSV, schema("c", DataType::Duration(arrow::datatypes::TimeUnit::Second)), &options),
        (&JSON_LINES, Schema::empty(), &options),
        (&CSV, Schema::empty(), &options),
    ];
    for (format, schema, options) in refused {
        let error = check_read_back(format, &schema, options).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported, "{schema}");
        assert!(error.to_string().contains("could not be read back: "), "{error}");
    }
    for (format, schema, options) in [
        (&PARQUET, schema("", DataType::Decimal128(10, -2)), &options),
        (&JSON_LINES, schema("", DataType::Int64), &options),
        (&CSV, schema("", DataType::Int64), &headless),
        (&TBL, schema("", DataType::Int64), &options),
    ] {
        check_read_back(format, &schema, options).unwrap();
    }
}
