//! Feeds of versions between which the schema changes: all rows have the columns of the last version.

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, Float64Array, Int32Array, Int64Array, RecordBatch, StringArray, StructArray};
use arrow::datatypes::{DataType, Field};
use arrow::json::ArrayWriter;
use lakerace_delta::{Evolve, Table, UpsertOptions, WriteMode, changes, delete, upsert};
use lakerace_format::Batches;
use lakerace_io::object_store::memory::InMemory;
use lakerace_io::object_store::path::Path;
use lakerace_io::object_store::{ObjectStore, PutOptions};
use lakerace_io::{ErrorKind, Result};
use serde_json::{Value, json};

use crate::common::{batch, entry, less, put, rows, table, version, write};

const FEED: (&str, &str) = ("delta.enableChangeDataFeed", "true");

fn evolving(table: &Table, rows: RecordBatch) {
    let evolve = Evolve { add: true, widen: true };
    let options = UpsertOptions { key: vec!["id".to_owned()], evolve, ..UpsertOptions::default() };
    let rows = Batches::new(rows.schema(), std::iter::once(Ok(rows)));
    upsert(table, rows, &options).unwrap();
}

/// The rows of a feed as JSON objects, in order, without their times. What is null is left out.
fn told(table: &Table, from: u64, to: Option<u64>) -> Result<Vec<Value>> {
    let mut writer = ArrayWriter::new(Vec::new());
    for batch in changes(table, from, to)? {
        let batch = batch?;
        for (field, column) in batch.schema().fields().iter().zip(batch.columns()) {
            assert_eq!(field.data_type(), column.data_type());
        }
        writer.write(&batch).unwrap();
    }
    writer.finish().unwrap();
    let mut all: Vec<Value> = serde_json::from_slice(&writer.into_inner()).unwrap_or_default();
    for row in &mut all {
        row.as_object_mut().unwrap().remove("_commit_timestamp").unwrap();
    }
    all.sort_by_key(|row| (row["_commit_version"].as_i64(), row["id"].as_i64(), row["_change_type"].to_string()));
    Ok(all)
}

fn row(version: u64, kind: &str, mut values: Value) -> Value {
    values["_commit_version"] = version.into();
    values["_change_type"] = kind.into();
    values
}

/// Another engine changes the schema: `change` gets it as the log has it.
fn alter(inner: &Arc<InMemory>, change: impl FnOnce(&mut Value)) -> Table {
    let last = version(&table(inner));
    let metadata =
        (0..=last).rev().flat_map(|version| entry(inner, version)).find(|line| line.get("metaData").is_some());
    let mut metadata = metadata.unwrap();
    let text = metadata["metaData"]["schemaString"].as_str().unwrap();
    let mut schema: Value = serde_json::from_str(text).unwrap();
    change(&mut schema);
    metadata["metaData"]["schemaString"] = schema.to_string().into();
    let path = Path::from(format!("lake/table/_delta_log/{:020}.json", last + 1));
    let put = inner.put_opts(&path, format!("{metadata}\n").into(), PutOptions::default());
    futures::executor::block_on(put).unwrap();
    table(inner)
}

#[test]
fn columns_that_were_added_are_null_before() {
    for vectors in ["true", "false"] {
        let inner = Arc::new(InMemory::new());
        let table = table(&inner);
        let properties = [FEED, ("delta.enableDeletionVectors", vectors)];
        write(&table, WriteMode::Error, batch(&rows([1, 2, 3], "a")), &[], &properties);
        let ids: ArrayRef = Arc::new(Int64Array::from(vec![2, 4]));
        let texts: ArrayRef = Arc::new(StringArray::from(vec!["b", "d"]));
        let n: ArrayRef = Arc::new(Float64Array::from(vec![1.5, 2.5]));
        evolving(&table, RecordBatch::try_from_iter([("id", ids), ("text", texts), ("n", n)]).unwrap());
        // A file of the first schema loses a row.
        assert_eq!(delete(&table, &less("id", 2)).unwrap().hidden, 1);
        let expected = [
            row(0, "insert", json!({ "id": 1, "text": "a 1" })),
            row(0, "insert", json!({ "id": 2, "text": "a 2" })),
            row(0, "insert", json!({ "id": 3, "text": "a 3" })),
            row(1, "update_postimage", json!({ "id": 2, "text": "b", "n": 1.5 })),
            row(1, "update_preimage", json!({ "id": 2, "text": "a 2" })),
            row(1, "insert", json!({ "id": 4, "text": "d", "n": 2.5 })),
            row(2, "delete", json!({ "id": 1, "text": "a 1" })),
        ];
        assert_eq!(told(&table, 0, None).unwrap(), expected);
        assert_eq!(told(&table, 1, None).unwrap(), expected[3..]);
        assert_eq!(told(&table, 2, Some(2)).unwrap(), expected[6..]);
        assert_eq!(told(&table, 0, Some(0)).unwrap(), expected[..3]);
    }
}

#[test]
fn types_that_were_widened_are_wide_before() {
    let inner = Arc::new(InMemory::new());
    let table = table(&inner);
    let some = |ids: Vec<i64>, n: ArrayRef| {
        let ids: ArrayRef = Arc::new(Int64Array::from(ids));
        RecordBatch::try_from_iter_with_nullable([("id", ids, true), ("n", n, true)]).unwrap()
    };
    let first = some(vec![1, 2], Arc::new(Int32Array::from(vec![Some(7), None])));
    write(&table, WriteMode::Error, first, &[], &[FEED, ("delta.enableTypeWidening", "true")]);
    evolving(&table, some(vec![2], Arc::new(Int64Array::from(vec![1 << 40]))));
    assert_eq!(delete(&table, &less("id", 2)).unwrap().hidden, 1);
    let expected = [
        row(0, "insert", json!({ "id": 1, "n": 7 })),
        row(0, "insert", json!({ "id": 2 })),
        row(1, "update_postimage", json!({ "id": 2, "n": 1_i64 << 40 })),
        row(1, "update_preimage", json!({ "id": 2 })),
        row(2, "delete", json!({ "id": 1, "n": 7 })),
    ];
    assert_eq!(told(&table, 0, None).unwrap(), expected);
    let batches = changes(&table, 0, None).unwrap();
    assert_eq!(batches.schema().field_with_name("n").unwrap().data_type(), &DataType::Int64);
}

#[test]
fn columns_are_the_same_by_their_stored_names() {
    let inner = Arc::new(InMemory::new());
    let first = table(&inner);
    let properties = [FEED, ("delta.columnMapping.mode", "name")];
    write(&first, WriteMode::Error, batch(&rows([1], "a")), &[], &properties);
    // The text gets another name, and a new column gets its old one.
    let table = alter(&inner, |schema| {
        let fields = schema["fields"].as_array_mut().unwrap();
        fields[1]["name"] = "words".into();
        let metadata = json!({ "delta.columnMapping.id": 3, "delta.columnMapping.physicalName": "col-new" });
        fields.push(json!({ "name": "text", "type": "string", "nullable": true, "metadata": metadata }));
    });
    put(&table, &rows([2], "b")).unwrap();
    let expected =
        [row(0, "insert", json!({ "id": 1, "words": "a 1" })), row(2, "insert", json!({ "id": 2, "text": "b 2" }))];
    assert_eq!(told(&table, 0, None).unwrap(), expected);
    // A column that goes is in no row.
    let table = alter(&inner, |schema| {
        schema["fields"].as_array_mut().unwrap().remove(1);
    });
    let expected = [row(0, "insert", json!({ "id": 1 })), row(2, "insert", json!({ "id": 2, "text": "b 2" }))];
    assert_eq!(told(&table, 0, None).unwrap(), expected);
}

#[test]
fn nested_fields_may_come() {
    let inner = Arc::new(InMemory::new());
    let first = table(&inner);
    let a: ArrayRef = Arc::new(Int64Array::from(vec![5]));
    let s: ArrayRef = Arc::new(StructArray::from(vec![(Arc::new(Field::new("a", DataType::Int64, true)), a)]));
    let ids: ArrayRef = Arc::new(Int64Array::from(vec![1]));
    let rows = RecordBatch::try_from_iter_with_nullable([("id", ids, true), ("s", s, true)]).unwrap();
    write(&first, WriteMode::Error, rows, &[], &[FEED]);
    let table = alter(&inner, |schema| {
        let field = json!({ "name": "b", "type": "string", "nullable": true, "metadata": {} });
        schema["fields"][1]["type"]["fields"].as_array_mut().unwrap().insert(0, field);
    });
    assert_eq!(told(&table, 0, None).unwrap(), [row(0, "insert", json!({ "id": 1, "s": { "a": 5 } }))]);
    let batches: Vec<RecordBatch> = changes(&table, 0, None).unwrap().map(Result::unwrap).collect();
    assert_eq!(batches[0].column(1).as_struct().column_names(), ["b", "a"]);
}

#[test]
fn types_that_can_not_become_the_last_are_refused_by_name() {
    let inner = Arc::new(InMemory::new());
    let first = table(&inner);
    write(&first, WriteMode::Error, batch(&rows([1], "a")), &[], &[FEED]);
    let table = alter(&inner, |schema| schema["fields"][1]["type"] = "integer".into());
    let error = told(&table, 0, None).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    let text = error.to_string();
    assert!(text.contains("\"text\"") && text.contains("`to=0`"), "{text}");
    assert_eq!(told(&table, 0, Some(0)).unwrap().len(), 1);
}
