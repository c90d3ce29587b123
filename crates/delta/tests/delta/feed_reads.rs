//! What is read of a change data feed: the rows that have changed, the columns that are asked for, and no others.

use std::sync::Arc;

use arrow::array::{AsArray, RecordBatch};
use arrow::datatypes::Int64Type;
use lakerace_delta::{ChangeFeed, ChangeOrigin, Table, UpsertOptions, WriteMode, changes, delete_keys};
use lakerace_format::Batches;
use lakerace_io::Counts;
use lakerace_io::object_store::memory::InMemory;
use lakerace_io::object_store::path::Path;
use lakerace_io::object_store::{ObjectStore, PutOptions};

use crate::common::{append, batch, entry, on, put, rows, scattered, table, write};

const ROWS: i64 = 100_000;

/// Texts that can't be compressed much.
fn words(ids: impl IntoIterator<Item = i64>) -> Vec<(i64, String)> {
    let word = |id: i64, at: u64| format!("{:016x}", scattered(id as u64 * 4 + at, u64::MAX));
    ids.into_iter().map(|id| (id, (0..4).map(|at| word(id, at)).collect())).collect()
}

/// A table of many rows, with its changes told.
fn made(inner: &Arc<InMemory>) -> Table {
    let table = table(inner);
    let properties = [("delta.enableChangeDataFeed", "true"), ("delta.enableDeletionVectors", "true")];
    write(&table, WriteMode::Error, batch(&words(0..ROWS)), &[], &properties);
    table
}

fn remove(table: &Table, ids: impl IntoIterator<Item = i64>) {
    let keys = batch(&rows(ids, "")).project(&[0]).unwrap();
    let options = UpsertOptions { key: vec!["id".to_owned()], ..UpsertOptions::default() };
    delete_keys(table, Batches::new(keys.schema(), std::iter::once(Ok(keys))), &options).unwrap();
}

/// What a read gives, and takes.
fn counted(inner: &Arc<InMemory>, read: impl FnOnce(&Table) -> Batches) -> (Vec<RecordBatch>, Counts) {
    let table = on(Arc::clone(inner) as _);
    let batches = read(&table).collect::<Result<Vec<_>, _>>().unwrap();
    (batches, table.job().meter().counts())
}

fn ids(batches: &[RecordBatch]) -> Vec<i64> {
    let of = |batch: &RecordBatch| batch.column_by_name("id").unwrap().as_primitive::<Int64Type>().values().to_vec();
    batches.iter().flat_map(of).collect()
}

fn file_bytes(inner: &Arc<InMemory>, version: u64) -> u64 {
    let size = |line: serde_json::Value| line.get("add").and_then(|add| add["size"].as_u64());
    entry(inner, version).into_iter().filter_map(size).sum()
}

fn removed_keys(table: &Table, version: u64) -> Batches {
    let feed = ChangeFeed::open(table, version, Some(version)).unwrap();
    feed.read(&[ChangeOrigin::Removed], Some(&["id".to_owned()])).unwrap()
}

#[test]
fn of_rows_that_went_only_pages_and_columns_that_are_asked_for_are_read() {
    let inner = Arc::new(InMemory::new());
    remove(&made(&inner), [70_000, 70_001, 70_005]);
    let whole = file_bytes(&inner, 0);
    assert!(whole > 3_000_000, "{whole}");
    let (batches, keys) = counted(&inner, |table| removed_keys(table, 1));
    assert_eq!(ids(&batches), [70_000, 70_001, 70_005]);
    let (batches, all) = counted(&inner, |table| changes(table, 1, None).unwrap());
    assert_eq!(ids(&batches), [70_000, 70_001, 70_005]);
    assert!(keys.bytes_read < all.bytes_read && all.bytes_read < whole / 4, "{keys:?} {all:?} {whole}");
    assert!(keys.bytes_read < whole / 20, "{keys:?} {whole}");
    // The log, the vector, the footer, the page index and the pages.
    assert!(keys.requests.get <= 9 && keys.requests.list <= 4, "{keys:?}");
}

#[test]
fn rows_of_other_origins_are_not_read() {
    let inner = Arc::new(InMemory::new());
    let table = made(&inner);
    append(&table, ROWS..ROWS + 3, "new");
    put(&table, &rows([5, 6], "changed")).unwrap();
    remove(&table, [7]);
    let of = |origins: &[ChangeOrigin]| {
        let (batches, counts) = counted(&inner, |table| {
            ChangeFeed::open(table, 0, None).unwrap().read(origins, Some(&["id".to_owned()])).unwrap()
        });
        (ids(&batches), counts)
    };
    let (removed, counts) = of(&[ChangeOrigin::Removed]);
    assert_eq!(removed, [7]);
    assert!(counts.bytes_read < file_bytes(&inner, 0) / 10, "{counts:?}");
    let (mut told, counts) = of(&[ChangeOrigin::ChangeFile]);
    told.sort_unstable();
    assert_eq!(told, [5, 5, 6, 6]);
    assert!(counts.bytes_read < file_bytes(&inner, 0) / 20, "{counts:?}");
    assert_eq!(of(&[ChangeOrigin::Added]).0.len(), ROWS as usize + 3);
}

#[test]
fn files_of_unknown_length_are_told_of_too() {
    let inner = Arc::new(InMemory::new());
    let table = made(&inner);
    remove(&table, [3, 99_999]);
    let mut lines = entry(&inner, 1);
    for add in lines.iter_mut().filter_map(|line| line.get_mut("add")) {
        add.as_object_mut().unwrap().remove("stats");
    }
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let path = Path::from(format!("lake/table/_delta_log/{:020}.json", 1));
    futures::executor::block_on(inner.put_opts(&path, text.into(), PutOptions::default())).unwrap();
    assert_eq!(ids(&counted(&inner, |table| removed_keys(table, 1)).0), [3, 99_999]);
}
