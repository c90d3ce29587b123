//! Logs that say nothing, little or nonsense of what is in a file: its footer says how many rows there are.

use std::sync::Arc;

use arrow::array::RecordBatch;
use lakerace_delta::{CompactOptions, Table, UpsertOptions, compact, delete, delete_keys, explain_upsert};
use lakerace_format::Batches;
use lakerace_io::object_store::memory::InMemory;
use lakerace_io::object_store::path::Path;
use lakerace_io::object_store::{ObjectStore, PutOptions};
use serde_json::{Value, json};

use crate::common::{Meanwhile, Model, append, batch, create, entry, less, names, on, put, read, rows, table};
use crate::feed::replays;

fn stream(batch: RecordBatch) -> Batches {
    Batches::new(batch.schema(), std::iter::once(Ok(batch)))
}

fn by_id() -> UpsertOptions {
    UpsertOptions { key: vec!["id".to_owned()], ..UpsertOptions::default() }
}

/// Changes the statistics of all files of an entry; `None` leaves them out.
fn restate(inner: &Arc<InMemory>, version: u64, change: &dyn Fn(Value) -> Option<String>) {
    let mut lines = entry(inner, version);
    for add in lines.iter_mut().filter_map(|line| line.get_mut("add")) {
        let stats = serde_json::from_str(add["stats"].as_str().unwrap()).unwrap();
        match change(stats) {
            Some(text) => add["stats"] = text.into(),
            None => drop(add.as_object_mut().unwrap().remove("stats")),
        }
    }
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let path = Path::from(format!("lake/table/_delta_log/{version:020}.json"));
    futures::executor::block_on(inner.put_opts(&path, text.into(), PutOptions::default())).unwrap();
}

type Change = fn(Value) -> Option<String>;

fn set(mut stats: Value, name: &str, value: Value) -> Option<String> {
    stats[name] = value;
    Some(stats.to_string())
}

/// Statistics as writers and accidents make them.
const CHANGES: &[(&str, Change)] = &[
    ("none", |_| None),
    ("empty", |_| Some(String::new())),
    ("no object", |_| Some("[1]".to_owned())),
    ("null", |_| Some("null".to_owned())),
    ("cut", |stats| Some(stats.to_string()[..20].to_owned())),
    ("count alone", |stats| Some(json!({ "numRecords": stats["numRecords"] }).to_string())),
    ("no count", |mut stats| {
        stats.as_object_mut().unwrap().remove("numRecords");
        Some(stats.to_string())
    }),
    ("count of text", |stats| {
        let text = stats["numRecords"].to_string();
        set(stats, "numRecords", text.into())
    }),
    ("count with a fraction", |stats| set(stats, "numRecords", json!(10.5))),
    ("count below zero", |stats| set(stats, "numRecords", json!(-1))),
    ("count of null", |stats| set(stats, "numRecords", Value::Null)),
    ("no null counts", |mut stats| {
        stats.as_object_mut().unwrap().remove("nullCount");
        Some(stats.to_string())
    }),
    ("null counts of text", |stats| set(stats, "nullCount", json!({ "id": "none" }))),
    ("bounds of another type", |stats| set(stats, "minValues", json!({ "id": "low", "text": 7 }))),
    ("bounds that are wide", |stats| set(stats, "tightBounds", json!(false))),
    ("more than is known", |stats| set(stats, "somethingNew", json!({ "a": [1] }))),
];

/// A table of two files whose statistics were changed.
fn made(inner: &Arc<InMemory>, change: Change, properties: &[(&str, &str)]) -> Table {
    let first = table(inner);
    create(&first, 0..10, properties);
    append(&first, 10..20, "base");
    restate(inner, 0, &change);
    restate(inner, 1, &change);
    table(inner)
}

fn base() -> Model {
    rows(0..20, "base").into_iter().collect()
}

#[test]
fn rows_are_counted_by_footers() {
    for (name, change) in CHANGES {
        let inner = Arc::new(InMemory::new());
        let table = made(&inner, *change, &[]);
        assert_eq!(table.snapshot(None).unwrap().row_count().unwrap(), 20, "{name}");
        assert_eq!(read(&table), base(), "{name}");
    }
}

#[test]
fn upserts_and_deletes_are_right_whatever_is_known() {
    for vectors in ["true", "false"] {
        for (name, change) in CHANGES {
            let inner = Arc::new(InMemory::new());
            let table = made(&inner, *change, &[("delta.enableDeletionVectors", vectors)]);
            explain_upsert(&table, stream(batch(&rows([3], "b"))), &by_id()).unwrap();
            let changed = put(&table, &rows([3, 14, 33], "b")).unwrap();
            assert_eq!((changed.hidden, changed.removed), (2, 0), "{name}");
            assert_eq!(changed.vectors + changed.rewritten, 2, "{name}");
            let changed = delete(&table, &less("id", 2)).unwrap();
            assert_eq!(changed.hidden, 2, "{name}");
            // All rows of a file: it goes, whatever the log says of it.
            let changed = delete_keys(&table, stream(batch(&rows(0..10, ""))), &by_id()).unwrap();
            assert_eq!((changed.hidden, changed.removed), (8, 1), "{name}");
            let mut expected = base();
            expected.extend(rows([14, 33], "b"));
            expected.retain(|id, _| *id >= 10);
            assert_eq!(read(&table), expected, "{name}");
            assert_eq!(table.snapshot(None).unwrap().row_count().unwrap(), 11, "{name}");
            let vectored =
                (0..=4).flat_map(|version| entry(&inner, version)).filter_map(|line| line.get("add").cloned());
            for add in vectored.filter(|add| !add["deletionVector"].is_null()) {
                let stats: Value = serde_json::from_str(add["stats"].as_str().unwrap()).unwrap();
                assert!(stats["numRecords"] == 10 || stats["numRecords"] == 3, "{name}: {add}");
            }
        }
    }
}

#[test]
fn compactions_follow_other_writers() {
    for (name, change) in CHANGES {
        let inner = Arc::new(InMemory::new());
        made(&inner, *change, &[]);
        let others = table(&inner);
        let store = Meanwhile::before(2, &inner, move || drop(put(&others, &rows([3, 15], "b")).unwrap()));
        let done = compact(&on(store), &CompactOptions::default()).unwrap();
        assert_eq!((done.given_up, done.files_removed), (0, 2), "{name}");
        let mut expected = base();
        expected.extend(rows([3, 15], "b"));
        assert_eq!(read(&table(&inner)), expected, "{name}");
    }
}

#[test]
fn feeds_need_no_counts() {
    for vectors in ["true", "false"] {
        for (name, change) in CHANGES {
            let inner = Arc::new(InMemory::new());
            let properties = [("delta.enableDeletionVectors", vectors), ("delta.enableChangeDataFeed", "true")];
            let table = made(&inner, *change, &properties);
            put(&table, &rows([3, 14, 33], "b")).unwrap();
            delete(&table, &less("id", 5)).unwrap();
            replays(&table);
            assert_eq!(read(&table).len(), 16, "{name}");
        }
    }
}

#[test]
fn tables_that_index_no_column_say_how_many_rows_there_are() {
    for property in [("delta.dataSkippingNumIndexedCols", "0"), ("delta.dataSkippingStatsColumns", "")] {
        for vectors in ["true", "false"] {
            let inner = Arc::new(InMemory::new());
            let first = table(&inner);
            create(&first, 0..10, &[property, ("delta.enableDeletionVectors", vectors)]);
            append(&first, 10..20, "base");
            let table = table(&inner);
            let changed = put(&table, &rows([3, 33], "b")).unwrap();
            assert_eq!((changed.hidden, changed.vectors + changed.rewritten), (1, 1), "{property:?}");
            assert_eq!(delete(&table, &less("id", 1)).unwrap().hidden, 1, "{property:?}");
            compact(&table, &CompactOptions::default()).unwrap();
            let mut expected = base();
            expected.extend(rows([3, 33], "b"));
            expected.remove(&0);
            assert_eq!(read(&table), expected, "{property:?}");
        }
    }
}

#[test]
fn checkpoints_may_have_statistics_in_one_form_or_in_none() {
    for (as_json, as_struct) in [("false", "true"), ("true", "false"), ("false", "false"), ("true", "true")] {
        for vectors in ["true", "false"] {
            let inner = Arc::new(InMemory::new());
            let properties = [
                ("delta.checkpoint.writeStatsAsJson", as_json),
                ("delta.checkpoint.writeStatsAsStruct", as_struct),
                ("delta.checkpointInterval", "2"),
                ("delta.enableDeletionVectors", vectors),
            ];
            let first = table(&inner);
            create(&first, 0..10, &properties);
            append(&first, 10..20, "base");
            append(&first, 20..30, "base");
            assert!(names(&inner).iter().any(|name| name.contains(".checkpoint.")), "{as_json} {as_struct}");
            let table = table(&inner);
            let changed = put(&table, &rows([3, 33], "b")).unwrap();
            assert_eq!((changed.hidden, changed.vectors + changed.rewritten), (1, 1), "{as_json} {as_struct}");
            if (as_json, as_struct) != ("false", "false") {
                assert_eq!(changed.probed, 1, "{as_json} {as_struct}");
                let add = entry(&inner, 3).into_iter().filter_map(|line| line.get("add").cloned());
                let bounds = add.map(|add| serde_json::from_str::<Value>(add["stats"].as_str().unwrap()).unwrap());
                let mut bounds: Vec<_> = bounds.map(|stats| stats["maxValues"]["id"].as_i64().unwrap()).collect();
                bounds.sort();
                assert_eq!(bounds, [9, 33], "{as_json} {as_struct}");
            }
            assert_eq!(table.snapshot(None).unwrap().row_count().unwrap(), 31, "{as_json} {as_struct}");
            delete_keys(&table, stream(batch(&rows(10..20, ""))), &by_id()).unwrap();
            let mut expected: Model = rows((0..10).chain(20..30), "base").into_iter().collect();
            expected.extend(rows([3, 33], "b"));
            assert_eq!(read(&table), expected, "{as_json} {as_struct}");
        }
    }
}
