//! What tables demand of writers: features that are listed are no matter, those in use are; and the protocol that lakerace gives.

use std::sync::Arc;

use lakerace_delta::{
    CompactOptions, DeleteOptions, Table, UpsertOptions, VacuumOptions, WriteMode, compact, delete, delete_with,
    upsert, vacuum,
};
use lakerace_format::Batches;
use lakerace_io::ErrorKind;
use lakerace_io::object_store::memory::InMemory;
use lakerace_io::object_store::path::Path;
use lakerace_io::object_store::{ObjectStore, PutOptions};
use serde_json::{Value, json};

use crate::common::{
    Meanwhile, append, batch, create, entry, less, on, put, read, read_at, rows, table, version, write,
};

type Change = Box<dyn Fn(&mut Value)>;

const PLAIN: (&str, &str) = ("delta.enableDeletionVectors", "false");

/// A table of rows 0 to 9, whose first entry was changed so.
fn made(change: &dyn Fn(&mut Value)) -> (Arc<InMemory>, Table) {
    let inner = Arc::new(InMemory::new());
    create(&table(&inner), 0..10, &[PLAIN]);
    let mut lines = entry(&inner, 0);
    lines.iter_mut().for_each(change);
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let path = Path::from(format!("lake/table/_delta_log/{:020}.json", 0));
    futures::executor::block_on(inner.put_opts(&path, text.into(), PutOptions::default())).unwrap();
    let table = table(&inner);
    (inner, table)
}

fn with_protocol(protocol: &Value) -> impl Fn(&mut Value) {
    let protocol = protocol.clone();
    move |line| {
        if line.get("protocol").is_some() {
            line["protocol"] = protocol.clone();
        }
    }
}

fn protocols() -> Vec<Value> {
    let legacy = |reader: i32, writer: i32| json!({ "minReaderVersion": reader, "minWriterVersion": writer });
    let unused = ["checkConstraints", "generatedColumns", "identityColumns", "allowColumnDefaults", "invariants"];
    let mut all: Vec<Value> = (1..=6).map(|writer| legacy(1, writer)).collect();
    all.extend([legacy(2, 5), legacy(2, 6)]);
    all.push(json!({ "minReaderVersion": 1, "minWriterVersion": 7, "writerFeatures": unused }));
    all.push(json!({ "minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": [], "writerFeatures": unused }));
    all
}

fn actions(inner: &Arc<InMemory>, version: u64, name: &str) -> Vec<Value> {
    entry(inner, version).into_iter().filter_map(|line| line.get(name).cloned()).collect()
}

#[test]
fn features_that_nothing_uses_hinder_no_writer() {
    for protocol in protocols() {
        let (inner, table) = made(&with_protocol(&protocol));
        append(&table, 10..20, "base");
        put(&table, &rows(5..8, "new")).unwrap();
        delete(&table, &less("id", 2)).unwrap();
        for id in 20..30 {
            append(&table, id..id + 1, "base");
        }
        compact(&table, &CompactOptions::default()).unwrap();
        vacuum(&table, &VacuumOptions::default()).unwrap();
        let found = read(&crate::common::table(&inner));
        assert_eq!(found.len(), 28, "{protocol}");
        assert_eq!(found[&6], "new 6", "{protocol}");
        let told = (1..=version(&table)).flat_map(|version| actions(&inner, version, "protocol")).count();
        assert_eq!(told, 0, "{protocol}");
        write(&table, WriteMode::Overwrite, batch(&rows(0..3, "last")), &[], &[]);
        assert_eq!(read(&table).len(), 3);
        let configured = crate::common::names(&inner).iter().filter(|name| name.contains(".checkpoint.")).count();
        assert!(configured > 0, "{protocol}");
    }
}

#[test]
fn features_in_use_are_refused_by_name() {
    let in_schema = |metadata: Value| {
        move |line: &mut Value| {
            if let Some(told) = line.get_mut("metaData") {
                let mut schema: Value = serde_json::from_str(told["schemaString"].as_str().unwrap()).unwrap();
                schema["fields"][1]["metadata"] = metadata.clone();
                told["schemaString"] = schema.to_string().into();
            }
        }
    };
    let constraint = |line: &mut Value| {
        if let Some(told) = line.get_mut("metaData") {
            told["configuration"]["delta.constraints.positive"] = "id >= 0".into();
        }
    };
    let cases: Vec<(&str, Change)> = vec![
        ("checkConstraints", Box::new(constraint)),
        ("generatedColumns", Box::new(in_schema(json!({ "delta.generationExpression": "'x'" })))),
        ("identityColumns", Box::new(in_schema(json!({ "delta.identity.start": 1, "delta.identity.step": 1 })))),
        (
            "invariants",
            Box::new(in_schema(json!({ "delta.invariants": "{\"expression\": {\"expression\": \"id > 0\"}}" }))),
        ),
    ];
    for (feature, change) in cases {
        for writer in [
            json!({ "minReaderVersion": 1, "minWriterVersion": 6 }),
            json!({ "minReaderVersion": 1, "minWriterVersion": 7, "writerFeatures": [feature, "invariants"] }),
        ] {
            let (_, table) = made(&|line| {
                with_protocol(&writer)(line);
                change(line);
            });
            let refused = |error: lakerace_io::Error| {
                assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
                assert!(error.to_string().contains(feature), "{error}");
            };
            refused(put(&table, &rows(5..8, "new")).unwrap_err());
            refused(delete(&table, &less("id", 2)).unwrap_err());
            assert_eq!(read(&table).len(), 10);
        }
    }
}

#[test]
fn rows_with_all_columns_are_written_where_columns_have_defaults() {
    let (_, table) = made(&|line| {
        with_protocol(
            &json!({ "minReaderVersion": 1, "minWriterVersion": 7, "writerFeatures": ["allowColumnDefaults"] }),
        )(line);
        if let Some(told) = line.get_mut("metaData") {
            let mut schema: Value = serde_json::from_str(told["schemaString"].as_str().unwrap()).unwrap();
            schema["fields"][1]["metadata"] = json!({ "CURRENT_DEFAULT": "'x'" });
            told["schemaString"] = schema.to_string().into();
        }
    });
    append(&table, 10..20, "base");
    put(&table, &rows(5..8, "new")).unwrap();
    assert_eq!(read(&table).len(), 20);
    let ids = batch(&rows(0..3, "")).project(&[0]).unwrap();
    let options = UpsertOptions { key: vec!["id".to_owned()], ..UpsertOptions::default() };
    let error = upsert(&table, Batches::new(ids.schema(), std::iter::once(Ok(ids))), &options).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
    assert!(error.to_string().contains("allowColumnDefaults") && error.to_string().contains("\"text\""), "{error}");
}

#[test]
fn a_new_table_demands_no_more_than_it_needs_and_grows_with_its_first_vector() {
    let inner = Arc::new(InMemory::new());
    let table = table(&inner);
    create(&table, 0..10, &[("lakerace.primaryKey", "id")]);
    assert_eq!(actions(&inner, 0, "protocol"), [json!({ "minReaderVersion": 1, "minWriterVersion": 2 })]);
    // New keys alone hide nothing.
    put(&table, &rows(10..12, "base")).unwrap();
    assert!(actions(&inner, 1, "protocol").is_empty() && actions(&inner, 1, "metaData").is_empty());
    let changed = put(&table, &rows(5..8, "new")).unwrap();
    assert_eq!((changed.vectors, changed.rewritten, changed.hidden), (1, 0, 3));
    let protocol = &actions(&inner, 2, "protocol")[0];
    assert_eq!(protocol["readerFeatures"], json!(["deletionVectors"]));
    assert_eq!(protocol["writerFeatures"], json!(["appendOnly", "invariants", "deletionVectors"]));
    assert_eq!(actions(&inner, 2, "metaData")[0]["configuration"]["delta.enableDeletionVectors"], "true");
    put(&table, &rows(7..9, "newer")).unwrap();
    assert!(actions(&inner, 3, "protocol").is_empty());
    assert_eq!(read(&table).len(), 12);
    assert_eq!(read(&table)[&6], "new 6");
    assert_eq!(read_at(&table, Some(1)).unwrap()[&6], "base 6");
}

#[test]
fn other_tables_get_vectors_where_that_is_asked_for() {
    for protocol in protocols() {
        let (inner, table) = made(&with_protocol(&protocol));
        assert_eq!(delete(&table, &less("id", 1)).unwrap().vectors, 0);
        let options = DeleteOptions { enables_vectors: true };
        let changed = delete_with(&table, &less("id", 3), None, &options).unwrap();
        assert_eq!((changed.vectors, changed.hidden), (1, 2), "{protocol}");
        let told = &actions(&inner, 2, "protocol")[0];
        assert_eq!((&told["minReaderVersion"], &told["minWriterVersion"]), (&json!(3), &json!(7)));
        assert_eq!(delete(&table, &less("id", 4)).unwrap().vectors, 1);
        assert_eq!(read(&table).len(), 6, "{protocol}");
    }
}

#[test]
fn writers_that_race_for_the_first_vector_both_end() {
    let inner = Arc::new(InMemory::new());
    create(&table(&inner), 0..10, &[]);
    let other = table(&inner);
    let meanwhile = Meanwhile::before(1, &inner, move || {
        put(&other, &rows(0..2, "other")).unwrap();
    });
    let mine = on(meanwhile);
    assert_eq!(put(&mine, &rows(1..4, "mine")).unwrap().hidden, 3);
    let found = read(&table(&inner));
    assert_eq!((found.len(), found[&0].as_str(), found[&1].as_str()), (10, "other 0", "mine 1"));
    assert_eq!(actions(&inner, 1, "protocol").len() + actions(&inner, 2, "protocol").len(), 1);
    let other = table(&inner);
    let meanwhile = Meanwhile::before(3, &inner, move || {
        put(&other, &rows(9..10, "other")).unwrap();
    });
    append(&on(meanwhile), 10..12, "appended");
    assert_eq!(read(&table(&inner)).len(), 12);
}
