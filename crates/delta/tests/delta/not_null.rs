//! NOT NULL of a source in a new table, and what writes to such a table refuse.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, ListArray, RecordBatch, StringArray, StructArray};
use arrow::buffer::OffsetBuffer;
use arrow::datatypes::{DataType, Field, Schema};
use lakerace_delta::{ChangeOutcome, DeltaSink, Evolve, Table, TableWrite, UpsertOptions, WriteMode, upsert};
use lakerace_format::{Batches, WriteOptions, Written};
use lakerace_io::object_store::memory::InMemory;
use lakerace_io::{ErrorKind, Result};

use crate::common::{entry, table};

fn int(name: &str, nullable: bool) -> Field {
    Field::new(name, DataType::Int64, nullable)
}

/// A key, a text to divide by, a struct that is NOT NULL, one that may be null, and a list; all the rest is NOT NULL.
fn source(nullable: bool, ids: &[Option<i64>], days: &[&str], fields: &[Option<i64>]) -> RecordBatch {
    let inner = vec![int("a", nullable), int("b", true)];
    let values: Vec<ArrayRef> =
        vec![Arc::new(Int64Array::from(fields.to_vec())), Arc::new(Int64Array::from(fields.to_vec()))];
    let given = StructArray::new(inner.clone().into(), values, None);
    let maybe = StructArray::new_null(vec![int("c", nullable)].into(), ids.len());
    let element = Arc::new(Field::new("element", DataType::Int64, nullable));
    let offsets = OffsetBuffer::from_lengths(vec![1; ids.len()]);
    let list = ListArray::new(element, offsets, Arc::new(Int64Array::from(vec![1; ids.len()])), None);
    let columns: Vec<ArrayRef> = vec![
        Arc::new(Int64Array::from(ids.to_vec())),
        Arc::new(StringArray::from(days.to_vec())),
        Arc::new(given),
        Arc::new(maybe),
        Arc::new(list),
    ];
    let named = [("id", nullable), ("day", nullable), ("given", nullable), ("maybe", true), ("list", nullable)];
    let field = |((name, nullable), column): (&(&str, bool), &ArrayRef)| {
        Field::new(*name, column.data_type().clone(), *nullable)
    };
    let schema = Schema::new(named.iter().zip(&columns).map(field).collect::<Vec<_>>());
    RecordBatch::try_new(Arc::new(schema), columns).unwrap()
}

fn copy(table: &Table, mode: WriteMode, batch: &RecordBatch, partition_by: &[&str], keep: bool) -> Result<Written> {
    let write = TableWrite {
        mode,
        partition_by: partition_by.iter().map(|name| (*name).to_owned()).collect(),
        properties: BTreeMap::new(),
        evolve: Evolve::default(),
        keep_not_null: keep,
        options: WriteOptions::default(),
        load_name: None,
        resumes: false,
        replace_where: None,
    };
    let mut sink = DeltaSink::create(table, &batch.schema(), &write)?;
    sink.write(batch.clone())?;
    sink.finish()
}

fn put(table: &Table, batch: &RecordBatch) -> Result<ChangeOutcome> {
    let options = UpsertOptions { key: vec!["id".to_owned()], ..UpsertOptions::default() };
    upsert(table, Batches::new(batch.schema(), std::iter::once(Ok(batch.clone()))), &options)
}

/// The paths that a schema of the log has as NOT NULL.
fn not_null(inner: &Arc<InMemory>) -> Vec<String> {
    fn collect(parent: &str, fields: &serde_json::Value, found: &mut Vec<String>) {
        for field in fields.as_array().unwrap() {
            let path = format!("{parent}{}", field["name"].as_str().unwrap());
            if field["nullable"] == false {
                found.push(path.clone());
            }
            if field["type"]["containsNull"] == false {
                found.push(format!("{path}.element"));
            }
            if field["type"]["fields"].is_array() {
                collect(&format!("{path}."), &field["type"]["fields"], found);
            }
        }
    }
    let lines = entry(inner, 0);
    let text = lines.iter().find_map(|line| line["metaData"]["schemaString"].as_str()).unwrap();
    let schema: serde_json::Value = serde_json::from_str(text).unwrap();
    let mut found = Vec::new();
    collect("", &schema["fields"], &mut found);
    found
}

#[test]
fn a_new_table_is_nullable_and_says_so() {
    let inner = Arc::new(InMemory::new());
    let table = table(&inner);
    let batch = source(false, &[Some(1)], &["x"], &[Some(1)]);
    let written = copy(&table, WriteMode::Error, &batch, &[], false).unwrap();
    assert_eq!(written.made_nullable, ["id", "day", "given", "given.a", "maybe.c", "list", "list.element"]);
    assert_eq!(not_null(&inner), Vec::<String>::new());
    let again = copy(&table, WriteMode::Append, &batch, &[], false).unwrap();
    assert_eq!(again.made_nullable, Vec::<String>::new());
}

#[test]
fn a_new_table_keeps_not_null_where_delta_can_say_it() {
    for partition_by in [&[][..], &["day"][..]] {
        let inner = Arc::new(InMemory::new());
        let table = table(&inner);
        let batch = source(false, &[Some(1), Some(2)], &["x", "y"], &[Some(1), Some(2)]);
        let written = copy(&table, WriteMode::Error, &batch, partition_by, true).unwrap();
        assert_eq!(written.made_nullable, ["maybe.c", "list.element"]);
        assert_eq!(not_null(&inner), ["id", "day", "given", "given.a", "list"]);

        // What is NOT NULL already may be asked for again, and rows without nulls go in by every door.
        copy(&table, WriteMode::Append, &batch, &[], true).unwrap();
        let nullable = |id, day, field| source(true, &[id], &[day], &[field]);
        copy(&table, WriteMode::Overwrite, &nullable(Some(3), "x", Some(3)), &[], false).unwrap();
        put(&table, &nullable(Some(3), "x", Some(4))).unwrap();
        put(&table, &nullable(Some(5), "z", Some(5))).unwrap();

        let version = table.snapshot(None).unwrap().version();
        for bad in [nullable(None, "x", Some(1)), nullable(Some(3), "x", None), nullable(Some(9), "x", None)] {
            for mode in [WriteMode::Append, WriteMode::Overwrite] {
                let error = copy(&table, mode, &bad, &[], false).unwrap_err();
                assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
            }
            let error = put(&table, &bad).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
        }
        assert_eq!(table.snapshot(None).unwrap().version(), version);
    }
}

#[test]
fn an_empty_text_is_no_value_of_a_partition_column_that_is_not_null() {
    let inner = Arc::new(InMemory::new());
    let table = table(&inner);
    let batch = source(false, &[Some(1)], &["x"], &[Some(1)]);
    copy(&table, WriteMode::Error, &batch, &["day"], true).unwrap();
    let error = copy(&table, WriteMode::Append, &source(true, &[Some(2)], &[""], &[Some(1)]), &[], false).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
    assert!(error.to_string().contains("day"), "{error}");
}

#[test]
fn not_null_is_asked_for_in_vain_of_a_table_that_exists() {
    let inner = Arc::new(InMemory::new());
    let table = table(&inner);
    let batch = source(false, &[Some(1)], &["x"], &[Some(1)]);
    copy(&table, WriteMode::Error, &batch, &[], false).unwrap();
    let error = copy(&table, WriteMode::Append, &batch, &[], true).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(error.to_string().contains("\"id\"") && error.to_string().contains("`keep_not_null`"), "{error}");
}
