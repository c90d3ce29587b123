//! Properties of tables that exist, and the protocols that they demand.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use arrow::datatypes::{DataType, Field};
use lakerace_delta::{AlterOptions, Altered, Table, alter, alter_announced};
use lakerace_io::object_store::memory::InMemory;
use lakerace_io::{ErrorKind, Result};
use serde_json::{Value, json};

use crate::common::{Meanwhile, append, create, entry, on, put, read, rows, table, version};

const PLAIN: (&str, &str) = ("delta.enableDeletionVectors", "false");

fn set(table: &Table, name: &str, value: &str) -> Result<Altered> {
    let set = BTreeMap::from([(name.to_owned(), value.to_owned())]);
    alter(table, &AlterOptions { set, ..AlterOptions::default() })
}

fn unset(table: &Table, name: &str) -> Result<Altered> {
    alter(table, &AlterOptions { unset: vec![name.to_owned()], ..AlterOptions::default() })
}

fn action(inner: &Arc<InMemory>, version: u64, name: &str) -> Option<Value> {
    entry(inner, version).into_iter().find_map(|line| line.get(name).cloned())
}

fn a_table(inner: &Arc<InMemory>) -> Table {
    let table = table(inner);
    create(&table, 0..10, &[PLAIN]);
    table
}

#[test]
fn a_property_is_set_and_unset() {
    let inner = Arc::new(InMemory::new());
    let table = a_table(&inner);
    let altered = set(&table, "delta.checkpointInterval", "20").unwrap();
    assert_eq!((altered.version, altered.features_added.len()), (Some(1), 0));
    assert_eq!(altered.properties["delta.checkpointInterval"], "20");
    // Nothing of the protocol changes, so it is not written.
    assert_eq!(action(&inner, 1, "protocol"), None);
    let info = action(&inner, 1, "commitInfo").unwrap();
    assert_eq!(info["operation"], "SET TBLPROPERTIES");
    assert_eq!(set(&table, "delta.checkpointInterval", "20").unwrap().version, None, "it is so already");

    let altered = unset(&table, "delta.checkpointInterval").unwrap();
    assert_eq!(altered.version, Some(2));
    assert!(!altered.properties.contains_key("delta.checkpointInterval"));
    assert_eq!(action(&inner, 2, "commitInfo").unwrap()["operation"], "UNSET TBLPROPERTIES");
    assert_eq!(read(&table), rows(0..10, "base").into_iter().collect());
}

#[test]
fn columns_and_comments_are_added() {
    let inner = Arc::new(InMemory::new());
    let table = a_table(&inner);
    let noted = |name: &str, data_type| {
        let metadata = HashMap::from([("comment".to_owned(), format!("{name} is new"))]);
        Field::new(name, data_type, true).with_metadata(metadata)
    };
    let add_columns = vec![noted("price", DataType::Decimal128(10, 2)), noted("words", DataType::Utf8)];
    let comments: BTreeMap<String, String> = [("words".to_owned(), "some".to_owned())].into();
    let options = AlterOptions { add_columns, comments, ..AlterOptions::default() };
    assert_eq!(alter(&table, &options).unwrap().version, Some(1));
    let schema = action(&inner, 1, "metaData").unwrap()["schemaString"].as_str().unwrap().to_owned();
    let schema: Value = serde_json::from_str(&schema).unwrap();
    let fields = schema["fields"].as_array().unwrap();
    let found: Vec<_> = fields.iter().rev().take(2).map(|field| (&field["name"], &field["metadata"])).collect();
    let expected = [("words", "some"), ("price", "price is new")];
    let expected = expected.map(|(name, comment)| (json!(name), json!({ "comment": comment })));
    assert_eq!(found, expected.iter().map(|(name, metadata)| (name, metadata)).collect::<Vec<_>>());

    let again = alter(&table, &options).unwrap_err();
    assert_eq!(again.kind(), ErrorKind::Usage, "{again}");
    let unknown = AlterOptions { comments: [("wordz".to_owned(), "x".to_owned())].into(), ..AlterOptions::default() };
    let unknown = alter(&table, &unknown).unwrap_err();
    assert_eq!(unknown.kind(), ErrorKind::NotFound);
    assert!(unknown.to_string().contains("wordz"), "{unknown}");
    let same = AlterOptions { comments: [("words".to_owned(), "some".to_owned())].into(), ..AlterOptions::default() };
    assert_eq!(alter(&table, &same).unwrap().version, None, "it is so already");
}

#[test]
fn the_protocol_gets_what_a_property_demands() {
    for (name, value, feature, reader) in [
        ("delta.enableDeletionVectors", "true", "deletionVectors", 3),
        ("delta.enableTypeWidening", "true", "typeWidening", 3),
        ("delta.checkpointPolicy", "v2", "v2Checkpoint", 3),
        ("delta.enableChangeDataFeed", "true", "changeDataFeed", 1),
        ("delta.feature.vacuumProtocolCheck", "supported", "vacuumProtocolCheck", 3),
        ("delta.feature.domainMetadata", "supported", "domainMetadata", 1),
    ] {
        let inner = Arc::new(InMemory::new());
        let table = a_table(&inner);
        assert_eq!(action(&inner, 0, "protocol").unwrap(), json!({ "minReaderVersion": 1, "minWriterVersion": 2 }));
        let altered = set(&table, name, value).unwrap();
        assert_eq!(altered.features_added, [feature], "{name}");
        let of_readers: &[&str] = if reader == 3 { &[feature] } else { &[] };
        assert_eq!(altered.reader_features_added, of_readers, "{name}");
        let protocol = action(&inner, 1, "protocol").unwrap();
        assert_eq!(
            (&protocol["minReaderVersion"], &protocol["minWriterVersion"]),
            (&json!(reader), &json!(7)),
            "{name}"
        );
        // What the old version stood for stays.
        let mut writers: Vec<&str> =
            protocol["writerFeatures"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
        writers.sort_unstable();
        let mut wanted = vec!["appendOnly", feature, "invariants"];
        wanted.sort_unstable();
        assert_eq!(writers, wanted, "{name}");
        match reader {
            3 => assert_eq!(protocol["readerFeatures"], json!([feature]), "{name}"),
            _ => assert!(protocol.get("readerFeatures").is_none_or(Value::is_null), "{name}"),
        }
        assert_eq!(altered.properties.contains_key(name), !name.starts_with("delta.feature."), "{name}");
        // Again, the table has it.
        let again = set(&table, name, value).unwrap();
        let none = Altered { version: None, features_added: vec![], reader_features_added: vec![], ..altered };
        assert_eq!(again, none);
        append(&table, 10..20, "more");
        put(&table, &rows(5..15, "put")).unwrap();
        let mut wanted: BTreeMap<i64, String> = rows(0..10, "base").into_iter().collect();
        wanted.extend(rows(10..20, "more"));
        wanted.extend(rows(5..15, "put"));
        assert_eq!(read(&table), wanted.into_iter().collect(), "{name}");
    }
}

#[test]
fn deletion_vectors_are_used_from_then_on_and_given_up_again() {
    let inner = Arc::new(InMemory::new());
    let table = a_table(&inner);
    assert_eq!(put(&table, &rows(0..1, "put")).unwrap().rewritten, 1);
    set(&table, "delta.enableDeletionVectors", "true").unwrap();
    let changed = put(&table, &rows(1..2, "put")).unwrap();
    assert_eq!((changed.rewritten, changed.vectors), (0, 1));
    set(&table, "delta.enableDeletionVectors", "false").unwrap();
    let changed = put(&table, &rows(2..3, "put")).unwrap();
    assert_eq!((changed.rewritten, changed.vectors), (1, 0));
}

#[test]
fn a_key_is_checked_against_the_schema() {
    let inner = Arc::new(InMemory::new());
    let table = a_table(&inner);
    assert_eq!(set(&table, "lakerace.primaryKey", "id").unwrap().version, Some(1));
    assert_eq!(table.snapshot(None).unwrap().key(), ["id"]);
    for (name, value, kind) in [
        ("lakerace.primaryKey", "idd", ErrorKind::NotFound),
        ("lakerace.primarykey", "id", ErrorKind::Usage),
        ("lakerace.primaryKey", "", ErrorKind::NotFound),
        ("delta.enableDeletionVector", "true", ErrorKind::Usage),
        ("delta.enableDeletionVectors", "yes", ErrorKind::Usage),
        ("delta.checkpointInterval", "0", ErrorKind::Usage),
        ("delta.deletedFileRetentionDuration", "7d", ErrorKind::Usage),
        ("delta.dataSkippingStatsColumns", "nothing", ErrorKind::NotFound),
        ("delta.columnMapping.mode", "name", ErrorKind::Unsupported),
        ("delta.enableRowTracking", "true", ErrorKind::Unsupported),
        ("delta.enableInCommitTimestamps", "true", ErrorKind::Unsupported),
        ("delta.enableIcebergCompatV2", "true", ErrorKind::Unsupported),
        ("delta.constraints.positive", "id > 0", ErrorKind::Unsupported),
        ("delta.minWriterVersion", "7", ErrorKind::Unsupported),
        ("delta.feature.columnMapping", "supported", ErrorKind::Unsupported),
        ("delta.feature.nothing", "supported", ErrorKind::Usage),
        ("delta.feature.deletionVectors", "true", ErrorKind::Usage),
    ] {
        let error = set(&table, name, value).unwrap_err();
        assert_eq!(error.kind(), kind, "{name}={value}: {error}");
        assert!(error.to_string().contains(name), "{error}");
    }
    for name in ["delta.checkpointInterval", "lakerace.primarykey"] {
        let error = unset(&table, name).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotFound, "{error}");
    }
    assert_eq!(version(&table), 1);
    assert_eq!(alter(&table, &AlterOptions::default()).unwrap_err().kind(), ErrorKind::Usage);
    // What a user calls his own is his business.
    assert_eq!(set(&table, "owner", "me").unwrap().properties["owner"], "me");
}

#[test]
fn a_writer_that_was_faster_keeps_its_rows_and_one_that_altered_is_told() {
    let inner = Arc::new(InMemory::new());
    a_table(&inner);
    let faster = table(&inner);
    let store = Meanwhile::before(1, &inner, move || append(&faster, 10..20, "base"));
    let altered = set(&on(store), "delta.enableDeletionVectors", "true").unwrap();
    assert_eq!(altered.version, Some(2));
    assert_eq!(read(&table(&inner)), rows(0..20, "base").into_iter().collect());

    let faster = table(&inner);
    let store = Meanwhile::before(3, &inner, move || drop(set(&faster, "delta.checkpointInterval", "7").unwrap()));
    let error = set(&on(store), "owner", "me").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict, "{error}");
    assert!(!table(&inner).snapshot(None).unwrap().properties().contains_key("owner"));
}

#[test]
fn the_announced_changes_are_those_that_are_committed() {
    let inner = Arc::new(InMemory::new());
    a_table(&inner);
    let faster = table(&inner);
    let store = Meanwhile::before(1, &inner, move || append(&faster, 10..20, "base"));
    let announced_of = |table: &Table, options: &AlterOptions| {
        let mut announced = Vec::new();
        let altered = alter_announced(table, options, &mut |changes| {
            announced.push((changes.clone(), version(table)));
        });
        (altered, announced)
    };
    let options = |name: &str, value: &str, dry_run| AlterOptions {
        set: BTreeMap::from([(name.to_owned(), value.to_owned())]),
        dry_run,
        ..AlterOptions::default()
    };
    // A retry with the same changes announces nothing again.
    let vectors = options("delta.enableDeletionVectors", "true", false);
    let (altered, announced) = announced_of(&on(store), &vectors);
    let altered = altered.unwrap();
    assert_eq!(altered.version, Some(2));
    assert_eq!(altered.reader_features_added, ["deletionVectors"]);
    assert_eq!(announced, [(Altered { version: None, ..altered }, 0)]);
    // Without a change, or a commit, nothing is announced.
    for options in [&vectors, &options("delta.enableChangeDataFeed", "true", true)] {
        let (altered, announced) = announced_of(&table(&inner), options);
        assert_eq!((altered.unwrap().version, announced), (None, Vec::new()));
    }
}

#[test]
fn a_change_that_is_lost_to_another_writer_has_the_outcome_of_the_retry() {
    let vectors = AlterOptions {
        set: BTreeMap::from([("delta.enableDeletionVectors".to_owned(), "true".to_owned())]),
        ..AlterOptions::default()
    };
    // The other writer makes the same change, or one after which the announced one is an error.
    for (name, is_same) in [("delta.enableDeletionVectors", true), ("delta.enableChangeDataFeed", false)] {
        let inner = Arc::new(InMemory::new());
        a_table(&inner);
        let faster = table(&inner);
        let store = Meanwhile::before(1, &inner, move || drop(set(&faster, name, "true").unwrap()));
        let mut announced = Vec::new();
        let altered = alter_announced(&on(store), &vectors, &mut |changes| announced.push(changes.clone()));
        assert_eq!(announced.len(), 1);
        assert_eq!(announced[0].reader_features_added, ["deletionVectors"]);
        match altered {
            Ok(altered) => assert_eq!((altered.version, altered.features_added.len(), is_same), (None, 0, true)),
            Err(error) => assert_eq!((error.kind(), is_same), (ErrorKind::Conflict, false), "{error}"),
        }
        assert_eq!(version(&table(&inner)), 1);
    }
}

#[test]
fn a_table_that_is_not_there_is_told() {
    let inner = Arc::new(InMemory::new());
    let error = set(&table(&inner), "owner", "me").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound, "{error}");
}

#[test]
fn metadata_of_new_columns_names_no_id_of_another_table() {
    let inner = Arc::new(InMemory::new());
    let table = table(&inner);
    create(&table, 0..10, &[PLAIN, ("delta.columnMapping.mode", "name")]);
    let new = |metadata: &[(&str, &str)]| {
        let metadata: HashMap<String, String> =
            metadata.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let add_columns = vec![Field::new("price", DataType::Int32, true).with_metadata(metadata)];
        alter(&table, &AlterOptions { add_columns, ..AlterOptions::default() })
    };
    for name in ["delta.generationExpression", "delta.identity.start", "CURRENT_DEFAULT"] {
        let error = new(&[(name, "1")]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
        assert!(error.to_string().contains(name), "{error}");
    }
    let of_another = [("delta.columnMapping.id", "1"), ("delta.columnMapping.physicalName", "id"), ("comment", "new")];
    new(&of_another).unwrap();
    let metadata = action(&inner, 1, "metaData").unwrap();
    let schema: Value = serde_json::from_str(metadata["schemaString"].as_str().unwrap()).unwrap();
    let added = &schema["fields"].as_array().unwrap().last().unwrap()["metadata"];
    assert_eq!(added["comment"], "new");
    assert_eq!(
        added["delta.columnMapping.id"].to_string(),
        metadata["configuration"]["delta.columnMapping.maxColumnId"].as_str().unwrap()
    );
    assert!(added["delta.columnMapping.physicalName"].as_str().unwrap().starts_with("col-"), "{added}");
}

#[test]
fn a_feature_that_is_asked_for_twice_is_listed_once() {
    let inner = Arc::new(InMemory::new());
    let table = a_table(&inner);
    let set = [
        ("delta.enableTypeWidening", "true"),
        ("delta.feature.typeWidening", "supported"),
        ("delta.appendOnly", "true"),
    ];
    let options = AlterOptions {
        set: set.map(|(name, value)| (name.to_owned(), value.to_owned())).into(),
        column_types: [("id".to_owned(), DataType::Int64)].into(),
        ..AlterOptions::default()
    };
    assert_eq!(alter(&table, &options).unwrap().features_added, ["typeWidening"]);
    let protocol = action(&inner, 1, "protocol").unwrap();
    assert_eq!(protocol["readerFeatures"], json!(["typeWidening"]));
}
