#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use arrow::datatypes::{DataType, Field, Schema};
use lakerace_io::{ErrorKind, IfExists, Job, Location, StorageOptions};

use super::refuse_to_write_duplicates;
use crate::csv::{CsvSink, Dialect};
use crate::{ArrowSink, AvroSink, JsonLinesSink, OrcSink, ParquetSink, WriteOptions};

fn twice() -> DataType {
    DataType::Struct(vec![Field::new("a", DataType::Int64, true), Field::new("a", DataType::Int64, true)].into())
}

fn item(data_type: DataType) -> Arc<Field> {
    Arc::new(Field::new_list_field(data_type, true))
}

fn map(key: DataType, value: DataType) -> DataType {
    let pair = vec![Field::new("key", key, false), Field::new("value", value, true)];
    DataType::Map(Arc::new(Field::new_struct("entries", pair, false)), false)
}

fn schema(data_type: DataType) -> Schema {
    Schema::new(vec![Field::new("c", data_type, true)])
}

#[test]
fn fields_of_one_name_are_found_at_any_depth() {
    let within = DataType::Struct(vec![Field::new("s", twice(), true)].into());
    let types = [
        twice(),
        within,
        DataType::List(item(twice())),
        DataType::LargeList(item(DataType::FixedSizeList(item(twice()), 2))),
        map(DataType::Utf8, twice()),
        map(twice(), DataType::Utf8),
        DataType::Dictionary(Box::new(DataType::Int8), Box::new(twice())),
    ];
    for data_type in types {
        let error = refuse_to_write_duplicates(&schema(data_type.clone())).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid, "{data_type}");
        let says = error.to_string();
        assert!(says.contains("column \"c\"") && says.contains("fields 1 and 2 are both named \"a\""), "{says}");
    }
    refuse_to_write_duplicates(&schema(map(DataType::Utf8, DataType::Int64))).unwrap();
}

#[test]
fn no_file_is_begun_with_fields_of_one_name() {
    let folder = tempfile::tempdir().unwrap();
    let (options, job) = (WriteOptions::default(), Job::default());
    let schema = Arc::new(schema(DataType::List(item(twice()))));
    for ending in ["parquet", "orc", "arrow", "avro", "jsonl", "csv"] {
        let file = folder.path().join(format!("x.{ending}"));
        let location = Location::parse(file.to_str().unwrap()).unwrap();
        let (store, path) = location.open(&StorageOptions::default(), &job).unwrap();
        let output = lakerace_io::Output::create(&store, &path, IfExists::Error).unwrap();
        let schema = Arc::clone(&schema);
        let begun = match ending {
            "parquet" => ParquetSink::create(output, schema, &options, &job),
            "orc" => OrcSink::create(output, schema, &options, &job),
            "arrow" => ArrowSink::create(output, &schema, &options),
            "avro" => AvroSink::create(output, &schema, &options, &job),
            "jsonl" => JsonLinesSink::create(output, schema, &options, &job),
            _ => CsvSink::create(output, schema, Dialect::Csv, &options, &job),
        };
        assert!(begun.is_err(), "{ending}");
        drop(begun);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "{ending}");
    }
}
