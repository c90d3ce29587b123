//! Files that a log names by absolute paths and URLs: in the table's store, and in others.

use std::fs;
use std::path::Path as FilePath;
use std::time::Duration;

use arrow::array::AsArray;
use arrow::datatypes::Int64Type;
use futures::executor::block_on;
use lakerace_delta::{CompactOptions, Table, VacuumOptions, WriteMode, changes, compact, vacuum};
use lakerace_io::object_store::{ObjectStoreExt, path::Path};
use lakerace_io::{ALLOW_FOREIGN_PATHS, Error, ErrorKind, Job, Location, Result, StorageOptions};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::common::{batch, read, read_at, rows, write};

fn open(place: &str, allows_foreign: bool) -> Table {
    let mut storage = StorageOptions::default();
    storage.options.insert(ALLOW_FOREIGN_PATHS.to_owned(), allows_foreign.to_string());
    Table::at(&Location::parse(place).unwrap(), &storage, &Job::default()).unwrap()
}

fn put(place: &str, text: String) {
    let (store, path) = Location::parse(place).unwrap().open(&StorageOptions::default(), &Job::default()).unwrap();
    block_on(store.store.put(&path, text.into())).unwrap();
}

/// A table of this machine with rows 0 to 9, and the action that adds its one file.
fn base() -> (TempDir, Value) {
    let folder = TempDir::new().unwrap();
    let table = open(folder.path().to_str().unwrap(), false);
    write(&table, WriteMode::Error, batch(&rows(0..10, "base")), &[], &[]);
    let add = actions(folder.path(), 0).into_iter().find(|action| action.get("add").is_some()).unwrap();
    (folder, add)
}

fn actions(folder: &FilePath, version: u64) -> Vec<Value> {
    let text = fs::read_to_string(folder.join(format!("_delta_log/{version:020}.json"))).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Makes a table at `place` like the base, with its changes told, whose first version has this action in place of its own.
fn clone(base: &FilePath, place: &str, add: &Value) {
    let feed = json!({"delta.enableChangeDataFeed": "true"});
    let lines = actions(base, 0).into_iter().map(|mut action| {
        if let Some(metadata) = action.get_mut("metaData") {
            metadata["configuration"] = feed.clone();
        }
        if let Some(protocol) = action.get_mut("protocol") {
            *protocol = json!({"minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": ["deletionVectors"],
                "writerFeatures": ["deletionVectors", "changeDataFeed"]});
        }
        if action.get("add").is_some() { add.clone() } else { action }
    });
    let lines: Vec<String> = lines.map(|action| action.to_string()).collect();
    put(&format!("{place}/_delta_log/{:020}.json", 0), lines.join("\n"));
}

fn with_path(add: &Value, path: &str) -> Value {
    let mut add = add.clone();
    add["add"]["path"] = json!(path);
    add
}

fn changed(table: &Table) -> Result<i64> {
    let mut sum = 0;
    for batch in changes(table, 0, None)? {
        let batch = batch?;
        sum += batch.column(0).as_primitive::<Int64Type>().iter().flatten().sum::<i64>();
    }
    Ok(sum)
}

fn is_refused(outcome: std::result::Result<impl Sized, Error>, name: &str) {
    let error = outcome.map(drop).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
    assert!(error.to_string().contains(name) && error.to_string().contains("`allow_foreign_paths`"), "{error}");
}

#[test]
fn a_remote_table_reads_no_files_of_this_machine_unless_allowed() {
    let (folder, add) = base();
    let file = format!("{}/{}", folder.path().display(), add["add"]["path"].as_str().unwrap());
    for (number, name) in [file.clone(), format!("file:{file}"), format!("file://{file}")].iter().enumerate() {
        let place = format!("memory://foreign{number}/t");
        clone(folder.path(), &place, &with_path(&add, name));
        is_refused(read_at(&open(&place, false), None), name);
        is_refused(vacuum(&open(&place, false), &VacuumOptions::default()), name);
        assert_eq!(read(&open(&place, true)).len(), 10);
        if name.starts_with("file:") {
            is_refused(changed(&open(&place, false)), "file:");
            assert_eq!(changed(&open(&place, true)).unwrap(), 45);
        }
    }
    clone(folder.path(), "memory://foreign3/t", &with_path(&add, "memory://other/p.parquet"));
    is_refused(read_at(&open("memory://foreign3/t", false), None), "memory://other/p.parquet");
    let local = TempDir::new().unwrap();
    let place = local.path().to_str().unwrap();
    clone(folder.path(), place, &with_path(&add, "memory://other/p.parquet"));
    is_refused(read_at(&open(place, false), None), "memory://other/p.parquet");
}

#[test]
fn vectors_and_parts_of_checkpoints_in_other_stores_are_refused() {
    let (folder, mut add) = base();
    let vector = json!({"storageType": "p", "pathOrInlineDv": "file:///etc/v.bin", "offset": 1, "sizeInBytes": 34,
        "cardinality": 2});
    add["add"]["deletionVector"] = vector;
    clone(folder.path(), "memory://foreign4/t", &with_path(&add, "memory://foreign4/t/p.parquet"));
    is_refused(read_at(&open("memory://foreign4/t", false), None), "file:///etc/v.bin");
    let place = "memory://foreign5/t";
    let of = |name: &str| actions(folder.path(), 0).into_iter().find(|action| action.get(name).is_some()).unwrap();
    let protocol = json!({"protocol": {"minReaderVersion": 3, "minWriterVersion": 7,
        "readerFeatures": ["v2Checkpoint"], "writerFeatures": ["v2Checkpoint"]}});
    let lines = [
        json!({"checkpointMetadata": {"version": 1}}),
        protocol,
        of("metaData"),
        json!({"sidecar": {"path": "file:///etc/s.parquet", "sizeInBytes": 9, "modificationTime": 1}}),
    ];
    let text: Vec<String> = lines.iter().map(Value::to_string).collect();
    let name = "00000000000000000001.checkpoint.80a083e8-7026-4e79-81be-64bd76c43a11.json";
    put(&format!("{place}/_delta_log/{name}"), text.join("\n"));
    put(&format!("{place}/_delta_log/{:020}.json", 1), "{\"commitInfo\":{}}".to_owned());
    is_refused(read_at(&open(place, false), None), "file:///etc/s.parquet");
}

#[test]
fn a_shallow_clone_reads_its_base_and_never_removes_of_it() {
    let (folder, add) = base();
    let base_table = open(folder.path().to_str().unwrap(), false);
    let file = folder.path().join(add["add"]["path"].as_str().unwrap());
    let local = TempDir::new().unwrap();
    let place = local.path().to_str().unwrap();
    clone(folder.path(), place, &with_path(&add, &format!("file://{}", file.display())));
    let table = open(place, false);
    assert_eq!(read(&table).len(), 10);
    assert_eq!(changed(&table).unwrap(), 45);
    write(&table, WriteMode::Append, batch(&rows(10..12, "new")), &[], &[]);
    compact(&table, &CompactOptions::default()).unwrap();
    std::thread::sleep(Duration::from_millis(5));
    let now = VacuumOptions { retain: Some(Duration::ZERO), allow_short_retention: true, dry_run: false };
    assert_eq!(vacuum(&table, &now).unwrap().files.len(), 1);
    assert!(file.exists());
    assert_eq!(read(&table).len(), 12);
    assert_eq!(read(&base_table).len(), 10);
}

#[test]
fn odd_spellings_of_a_live_file_are_that_file() {
    let (folder, add) = base();
    let path = add["add"]["path"].as_str().unwrap();
    let absolute = format!("{}/{path}", folder.path().display());
    fs::write(folder.path().join("left.parquet"), "left").unwrap();
    std::thread::sleep(Duration::from_millis(5));
    let spellings =
        [format!("./{path}"), format!(".//./{path}"), format!("file://{absolute}"), absolute.replacen('/', "//", 2)];
    for (number, spelling) in spellings.iter().enumerate() {
        clone(folder.path(), folder.path().to_str().unwrap(), &with_path(&add, spelling));
        let table = open(folder.path().to_str().unwrap(), false);
        assert_eq!(read(&table).len(), 10, "{spelling}");
        let now = VacuumOptions { retain: Some(Duration::ZERO), allow_short_retention: true, dry_run: false };
        assert_eq!(vacuum(&table, &now).unwrap().files.len(), usize::from(number == 0), "{spelling}");
        assert_eq!(read(&table).len(), 10, "{spelling}");
    }
}

#[test]
fn a_colon_makes_no_url() {
    let (folder, add) = base();
    let place = folder.path().to_str().unwrap();
    fs::rename(folder.path().join(add["add"]["path"].as_str().unwrap()), folder.path().join("x:y.parquet")).unwrap();
    clone(folder.path(), place, &with_path(&add, "x:y.parquet"));
    let table = open(place, false);
    assert_eq!(read(&table).len(), 10);
    assert_eq!(changed(&table).unwrap(), 45);
    assert!(vacuum(&table, &VacuumOptions::default()).unwrap().files.is_empty());
    // An unencoded name of another writer stays, though its reader would look for another file.
    let (store, root) =
        Location::parse("memory://odd/t").unwrap().open(&StorageOptions::default(), &Job::default()).unwrap();
    clone(folder.path(), "memory://odd/t", &with_path(&add, "a%20b.parquet"));
    block_on(store.store.put(&Path::parse(format!("{root}/a%20b.parquet")).unwrap(), "x".into())).unwrap();
    std::thread::sleep(Duration::from_millis(5));
    let now = VacuumOptions { retain: Some(Duration::ZERO), allow_short_retention: true, dry_run: false };
    assert_eq!(vacuum(&open("memory://odd/t", false), &now).unwrap().kept, 1);
}
