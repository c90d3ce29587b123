//! Upserts in parts: several processes write and look, and one commits.

use std::sync::Arc;

use arrow::array::RecordBatch;
use lakerace_delta::{
    AppTransaction, ChangeOutcome, CompactOptions, OnDuplicate, PartKeys, Snapshot, Table, UpsertOptions, UpsertPart,
    VersionSpec, WriteMode, commit_upsert, compact, discard_files, files_per_key, has_transaction, is_divisible,
    upsert_part,
};
use lakerace_format::Batches;
use lakerace_io::object_store::memory::InMemory;
use lakerace_io::{ErrorKind, Result};

use crate::common::{Model, batch, less, names, put, read, rows, scattered, table, version, write};

fn options() -> UpsertOptions {
    let key = vec!["id".to_owned()];
    UpsertOptions { key, on_duplicate: OnDuplicate::Error, memory_bytes: 8 << 20, ..UpsertOptions::default() }
}

fn at(table: &Table, version: u64) -> Snapshot {
    table.snapshot(Some(VersionSpec::Version(version))).unwrap()
}

fn part(table: &Table, version: u64, rows: &[(i64, String)]) -> Result<UpsertPart> {
    let batch = batch(rows);
    let part = upsert_part(
        &at(table, version),
        Batches::new(batch.schema(), std::iter::once(Ok::<RecordBatch, _>(batch))),
        &options(),
    )?;
    // Parts go from process to process as text.
    Ok(serde_json::from_str(&serde_json::to_string(&part).unwrap()).unwrap())
}

/// Rows by the remainder of their keys.
fn divided(rows: &[(i64, String)], count: i64) -> Vec<Vec<(i64, String)>> {
    (0..count).map(|n| rows.iter().filter(|(id, _)| id.rem_euclid(count) == n).cloned().collect()).collect()
}

fn commit(table: &Table, version: u64, parts: Vec<UpsertPart>) -> Result<ChangeOutcome> {
    commit_upsert(&at(table, version), parts, PartKeys::Own, &options(), None)
}

#[test]
fn parts_are_an_upsert_together() {
    for (properties, partition_by) in
        [(vec![], vec![]), (vec![("delta.enableDeletionVectors", "false")], vec![]), (vec![], vec!["text"])]
    {
        let inner = Arc::new(InMemory::new());
        let table = table(&inner);
        let base = rows(0..1000, "base");
        write(&table, WriteMode::Error, batch(&base), &partition_by, &properties);
        let mut model: Model = base.into_iter().collect();
        for round in 0..5u64 {
            let some: Model = (0..200).map(|n| (scattered(round * 1000 + n, 1500), format!("round {round}"))).collect();
            let all: Vec<(i64, String)> = some.clone().into_iter().collect();
            let from = version(&table);
            let parts = divided(&all, 3).iter().map(|rows| part(&table, from, rows).unwrap()).collect();
            let known = some.keys().filter(|id| model.contains_key(id)).count() as u64;
            let changed = commit(&table, from, parts).unwrap();
            assert_eq!((changed.written.rows, changed.hidden), (some.len() as u64, known));
            assert_eq!(changed.written.version, Some(from + 1));
            model.extend(some);
            assert_eq!(read(&table), model, "round {round}");
        }
    }
}

#[test]
fn other_writers_meanwhile_lose_nothing() {
    for key in [vec!["id"], vec!["id", "text"]] {
        let inner = Arc::new(InMemory::new());
        let table = table(&inner);
        write(&table, WriteMode::Error, batch(&rows(0..100, "base")), &["text"], &[]);
        let options = UpsertOptions { key: key.iter().map(|name| (*name).to_owned()).collect(), ..options() };
        let mine = batch(&rows(50..150, "mine"));
        let mine = Batches::new(mine.schema(), std::iter::once(Ok(mine)));
        let parts = vec![upsert_part(&at(&table, 0), mine, &options).unwrap()];
        // New rows, rows that are gone, and a row that is written by both.
        put(&table, &rows([10, 60, 149, 200], "theirs")).unwrap();
        lakerace_delta::delete(&table, &less("id", 5)).unwrap();
        commit_upsert(&at(&table, 0), parts, PartKeys::Own, &options, None).unwrap();
        let mut expected: Model = rows(5..100, "base").into_iter().chain(rows([10, 60, 149, 200], "theirs")).collect();
        if key.len() == 1 {
            expected.extend(rows(50..150, "mine"));
            assert_eq!(read(&table), expected);
        } else {
            // The rows of others have another key.
            assert_eq!(table.snapshot(None).unwrap().row_count().unwrap(), expected.len() as u64 + 100);
        }
    }
}

#[test]
fn rows_that_a_compaction_moves_meanwhile_are_replaced() {
    let inner = Arc::new(InMemory::new());
    let table = table(&inner);
    write(&table, WriteMode::Error, batch(&rows(0..50, "base")), &[], &[]);
    put(&table, &rows(50..100, "base")).unwrap();
    let parts = vec![part(&table, 1, &rows(20..80, "mine")).unwrap()];
    assert_eq!(compact(&table, &CompactOptions::default()).unwrap().files_removed, 2);
    assert_eq!(commit(&table, 1, parts).unwrap().hidden, 60);
    let mut expected: Model = rows(0..100, "base").into_iter().collect();
    expected.extend(rows(20..80, "mine"));
    assert_eq!(read(&table), expected);
}

#[test]
fn a_key_of_two_parts_is_an_error_where_nobody_has_divided_the_rows() {
    let inner = Arc::new(InMemory::new());
    let table = table(&inner);
    write(&table, WriteMode::Error, batch(&rows(0..100, "base")), &[], &[]);
    let before = names(&inner);
    // Keys that don't fit into memory are sorted on the disk.
    for memory_bytes in [8 << 20, 512 << 10] {
        let options = UpsertOptions { memory_bytes, ..options() };
        let parts = [rows(0..30_000, "one"), rows(29_999..50_000, "two")].map(|rows| part(&table, 0, &rows).unwrap());
        let error = commit_upsert(&at(&table, 0), parts.into(), PartKeys::Unknown, &options, None).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid);
        assert!(error.to_string().contains("29999"), "{error}");
        assert_eq!(names(&inner), before);
    }
    let parts = [rows(50..150, "one"), rows(150..200, "two"), vec![]].map(|rows| part(&table, 0, &rows).unwrap());
    let changed = commit_upsert(&at(&table, 0), parts.into(), PartKeys::Unknown, &options(), None).unwrap();
    assert_eq!((changed.written.rows, changed.hidden), (150, 50));
}

#[test]
fn a_transaction_takes_effect_once() {
    let inner = Arc::new(InMemory::new());
    let table = table(&inner);
    write(&table, WriteMode::Error, batch(&rows(0..10, "base")), &[], &[]);
    let transaction = |number| AppTransaction { name: "job".to_owned(), number };
    let upsert = |version, text: &str, number| {
        let parts = vec![part(&table, version, &rows(5..15, text)).unwrap()];
        let transaction = transaction(number);
        commit_upsert(&at(&table, version), parts, PartKeys::Own, &options(), Some(&transaction)).unwrap()
    };
    assert_eq!(upsert(0, "first", 3).written.version, Some(1));
    let before = names(&inner);
    for number in [3, 2] {
        assert_eq!(upsert(1, "again", number), ChangeOutcome::default());
        assert_eq!(names(&inner), before);
    }
    assert!(has_transaction(&table.snapshot(None).unwrap(), &transaction(3)).unwrap());
    assert_eq!(upsert(1, "next", 4).written.version, Some(2));
    let mut expected: Model = rows(0..5, "base").into_iter().collect();
    expected.extend(rows(5..15, "next"));
    assert_eq!(read(&table), expected);
}

#[test]
fn parts_that_are_given_up_leave_nothing() {
    let inner = Arc::new(InMemory::new());
    let table = table(&inner);
    write(&table, WriteMode::Error, batch(&rows(0..100, "base")), &[], &[]);
    let before = names(&inner);
    let given_up = part(&table, 0, &rows(50..150, "new")).unwrap();
    assert!(names(&inner).len() > before.len());
    discard_files(&table, given_up.files).unwrap();
    assert_eq!(names(&inner), before);
    let twice = part(&table, 0, &rows([1, 1], "twice")).unwrap_err();
    assert_eq!(twice.kind(), ErrorKind::Invalid);
    assert_eq!(names(&inner), before);
    assert_eq!(commit(&table, 0, vec![part(&table, 0, &[]).unwrap()]).unwrap(), ChangeOutcome::default());
    assert_eq!(version(&table), 0);
}

#[test]
fn rows_that_depend_on_the_tables_are_not_divided() {
    let inner = Arc::new(InMemory::new());
    let table = table(&inner);
    write(&table, WriteMode::Error, batch(&rows(0..10, "a")), &[], &[("delta.enableChangeDataFeed", "true")]);
    let snapshot = at(&table, 0);
    let whole = batch(&rows(0..1, "b"));
    assert!(!is_divisible(&snapshot, &whole.schema(), &options()).unwrap());
    assert_eq!(part(&table, 0, &rows(0..1, "b")).unwrap_err().kind(), ErrorKind::Unsupported);
}

#[test]
fn files_of_a_key() {
    let inner = Arc::new(InMemory::new());
    let table = table(&inner);
    let spread = |table: &Table| files_per_key(&table.snapshot(None).unwrap(), &["id".to_owned()]).unwrap();
    write(&table, WriteMode::Error, batch(&rows(0..10, "a")), &[], &[]);
    (1..8).for_each(|n| drop(put(&table, &rows(n * 10..n * 10 + 10, "a")).unwrap()));
    assert_eq!(spread(&table), Some(1.0));
    // Each of these is all over the table.
    (0..8).for_each(|n| drop(put(&table, &rows([n - 10, n + 1000], "b")).unwrap()));
    assert!(spread(&table).unwrap() > 4.0);
}
