//! What readers of a change data feed are told, version by version.

use std::sync::Arc;
use std::time::Duration;

use arrow::array::{Array, ArrayRef, AsArray, Int64Array, RecordBatch, StringArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Int64Type};
use lakerace_delta::{
    CompactOptions, Table, UpsertOptions, VacuumOptions, VersionSpec, WriteMode, changes, compact, delete, delete_keys,
    restore, upsert, vacuum,
};
use lakerace_format::Batches;
use lakerace_io::ErrorKind;
use lakerace_io::object_store::memory::InMemory;

use crate::common::{
    Meanwhile, Model, append, batch, entry, failing, less, names, on, put, read, read_at, rows, scattered, stored,
    table, version, write,
};

const FEED: (&str, &str) = ("delta.enableChangeDataFeed", "true");

/// A change: its version, its kind, the key and the text.
type Told = (u64, String, i64, String);

/// What the feed tells, in order.
fn told(table: &Table, from: u64, to: Option<u64>) -> Vec<Told> {
    let mut all = Vec::new();
    for batch in changes(table, from, to).unwrap() {
        let batch = batch.unwrap();
        let text = |name: &str| {
            let column = cast(batch.column_by_name(name).unwrap(), &DataType::Utf8).unwrap();
            column.as_string::<i32>().clone()
        };
        let number = |name: &str| batch.column_by_name(name).unwrap().as_primitive::<Int64Type>().clone();
        let (kinds, texts, ids, versions) =
            (text("_change_type"), text("text"), number("id"), number("_commit_version"));
        assert_eq!(batch.column_by_name("_commit_timestamp").unwrap().null_count(), 0);
        for row in 0..batch.num_rows() {
            let text = if texts.is_valid(row) { texts.value(row) } else { "null" };
            all.push((versions.value(row) as u64, kinds.value(row).to_owned(), ids.value(row), text.to_owned()));
        }
    }
    all.sort();
    all
}

fn changed(version: u64, rows: &[(&str, i64, &str)]) -> Vec<Told> {
    let mut all: Vec<Told> =
        rows.iter().map(|(kind, id, text)| (version, (*kind).to_owned(), *id, (*text).to_owned())).collect();
    all.sort();
    all
}

fn stream(batch: RecordBatch) -> Batches {
    Batches::new(batch.schema(), std::iter::once(Ok(batch)))
}

fn by_id() -> UpsertOptions {
    UpsertOptions { key: vec!["id".to_owned()], ..UpsertOptions::default() }
}

fn create(inner: &Arc<InMemory>, rows: &[(i64, String)]) -> Table {
    let table = table(inner);
    write(&table, WriteMode::Error, batch(rows), &[], &[FEED]);
    table
}

/// Whether an entry of the log names change files.
pub fn has_change_files(inner: &Arc<InMemory>, version: u64) -> bool {
    entry(inner, version).iter().any(|line| line.get("cdc").is_some())
}

/// What the feed tells of all versions makes each of them from the one before.
pub fn replays(table: &Table) {
    let mut model = Model::new();
    for version in 0..=version(table) {
        let told = told(table, version, Some(version));
        for (_, _, id, text) in told.iter().filter(|(_, kind, ..)| kind == "delete" || kind == "update_preimage") {
            assert_eq!(model.remove(id).as_ref(), Some(text), "version {version} takes {id}");
        }
        for (_, _, id, text) in told.iter().filter(|(_, kind, ..)| kind == "insert" || kind == "update_postimage") {
            assert_eq!(model.insert(*id, text.clone()), None, "version {version} gives {id}");
        }
        assert_eq!(read_at(table, Some(version)).unwrap(), model, "version {version}");
    }
}

#[test]
fn upserts_tell_what_was_and_what_is() {
    let inner = Arc::new(InMemory::new());
    let table = create(&inner, &rows(0..4, "a"));
    put(&table, &[rows([1, 7], "b"), rows([1], "c")].concat()).unwrap();
    let (before, after) = ("update_preimage", "update_postimage");
    assert_eq!(told(&table, 0, Some(0)).len(), 4);
    assert_eq!(told(&table, 1, None), changed(1, &[(before, 1, "a 1"), (after, 1, "c 1"), ("insert", 7, "b 7")]));
    assert!(has_change_files(&inner, 1));
    assert!(entry(&inner, 1).iter().all(|line| {
        let says = |action: &str| line.get(action).is_none_or(|action| action["dataChange"] == true);
        says("add") && says("remove") && line.get("cdc").is_none_or(|action| action["dataChange"] == false)
    }));
    // All rows of a file, which goes; and a row that stays as it is.
    put(&table, &rows([1, 7], "d")).unwrap();
    put(&table, &rows([1], "d")).unwrap();
    assert_eq!(
        told(&table, 2, Some(2)),
        changed(2, &[(before, 1, "c 1"), (after, 1, "d 1"), (before, 7, "b 7"), (after, 7, "d 7")])
    );
    assert_eq!(told(&table, 3, Some(3)), changed(3, &[(before, 1, "d 1"), (after, 1, "d 1")]));
    replays(&table);
}

#[test]
fn rows_that_only_come_or_go_are_told_by_files_and_vectors() {
    let inner = Arc::new(InMemory::new());
    let table = create(&inner, &rows(0..4, "a"));
    put(&table, &rows([5], "b")).unwrap();
    let insert = UpsertOptions { insert_only: true, ..by_id() };
    upsert(&table, stream(batch(&rows([1, 6], "c"))), &insert).unwrap();
    delete(&table, &less("id", 1)).unwrap();
    delete_keys(&table, stream(batch(&rows([1, 5, 99], ""))), &by_id()).unwrap();
    append(&table, 7..8, "d");
    let expected = [
        changed(1, &[("insert", 5, "b 5")]),
        changed(2, &[("insert", 6, "c 6")]),
        changed(3, &[("delete", 0, "a 0")]),
        changed(4, &[("delete", 1, "a 1"), ("delete", 5, "b 5")]),
        changed(5, &[("insert", 7, "d 7")]),
    ];
    assert_eq!(told(&table, 1, None), expected.concat());
    assert!((1..=5).all(|version| !has_change_files(&inner, version)));
    assert!(names(&inner).iter().all(|name| !name.contains("_change_data")));
    replays(&table);
}

#[test]
fn other_operations_tell_what_they_change() {
    let inner = Arc::new(InMemory::new());
    let table = create(&inner, &rows(0..4, "a"));
    put(&table, &rows([1, 4], "b")).unwrap();
    assert_eq!(compact(&table, &CompactOptions::default()).unwrap().version, Some(2));
    assert_eq!(told(&table, 2, Some(2)), []);
    write(&table, WriteMode::Overwrite, batch(&rows([1], "c")), &[], &[]);
    let gone = [("delete", 0, "a 0"), ("delete", 1, "b 1"), ("delete", 2, "a 2"), ("delete", 3, "a 3")];
    assert_eq!(
        told(&table, 3, Some(3)),
        changed(3, &[&gone[..], &[("delete", 4, "b 4"), ("insert", 1, "c 1")]].concat())
    );
    // To a version whose files came and went, and one whose files differ by their vectors only.
    restore(&table, VersionSpec::Version(1)).unwrap();
    delete(&table, &less("id", 2)).unwrap();
    restore(&table, VersionSpec::Version(4)).unwrap();
    assert_eq!(told(&table, 6, Some(6)), changed(6, &[("insert", 0, "a 0"), ("insert", 1, "b 1")]));
    replays(&table);
}

#[test]
fn rows_that_are_merged_are_told_whole() {
    let inner = Arc::new(InMemory::new());
    let table = create(&inner, &rows(0..3, "a"));
    let concat = UpsertOptions { merge: vec![("text".to_owned(), "concat:+".parse().unwrap())], ..by_id() };
    upsert(&table, stream(batch(&[rows([2, 5], "b"), rows([2], "c")].concat())), &concat).unwrap();
    let (before, after) = ("update_preimage", "update_postimage");
    assert_eq!(
        told(&table, 1, None),
        changed(1, &[(before, 2, "a 2"), (after, 2, "a 2+b 2+c 2"), ("insert", 5, "b 5")])
    );
    // A source without texts.
    let ids: ArrayRef = Arc::new(Int64Array::from(vec![2, 8]));
    upsert(&table, stream(RecordBatch::try_from_iter([("id", ids)]).unwrap()), &by_id()).unwrap();
    assert_eq!(
        told(&table, 2, None),
        changed(2, &[(before, 2, "a 2+b 2+c 2"), (after, 2, "a 2+b 2+c 2"), ("insert", 8, "null")])
    );
}

#[test]
fn a_key_that_the_table_had_twice_goes_but_once() {
    let inner = Arc::new(InMemory::new());
    let table = create(&inner, &rows([1, 2], "a"));
    append(&table, 1..2, "b");
    put(&table, &rows([1], "c")).unwrap();
    let (before, after) = ("update_preimage", "update_postimage");
    assert_eq!(told(&table, 2, None), changed(2, &[("delete", 1, "a 1"), (before, 1, "b 1"), (after, 1, "c 1")]));
}

#[test]
fn rows_may_move_to_another_partition() {
    for properties in
        [&[FEED][..], &[FEED, ("delta.columnMapping.mode", "name")], &[FEED, ("delta.columnMapping.mode", "id")]]
    {
        let inner = Arc::new(InMemory::new());
        let table = table(&inner);
        let some = |rows: &[(i64, Option<&str>)]| {
            let ids: ArrayRef = Arc::new(rows.iter().map(|(id, _)| Some(*id)).collect::<Int64Array>());
            let texts: ArrayRef = Arc::new(rows.iter().map(|(_, text)| *text).collect::<StringArray>());
            RecordBatch::try_from_iter_with_nullable([("id", ids, true), ("text", texts, true)]).unwrap()
        };
        write(
            &table,
            WriteMode::Error,
            some(&[(1, Some("x/y z")), (2, None), (3, Some("x/y z"))]),
            &["text"],
            properties,
        );
        upsert(&table, stream(some(&[(1, None), (2, Some("ü=&")), (4, Some("x/y z"))])), &by_id()).unwrap();
        let (before, after) = ("update_preimage", "update_postimage");
        let expected = changed(
            1,
            &[(before, 1, "x/y z"), (after, 1, "null"), (before, 2, "null"), (after, 2, "ü=&"), ("insert", 4, "x/y z")],
        );
        assert_eq!(told(&table, 1, None), expected, "{properties:?}");
        let files = names(&inner);
        let folder = files.iter().filter(|name| name.contains("/_change_data/"));
        assert_eq!(folder.count(), 3, "{files:?}");
        let at_once = VacuumOptions { retain: Some(Duration::ZERO), allow_short_retention: true, dry_run: false };
        std::thread::sleep(Duration::from_millis(5));
        vacuum(&table, &at_once).unwrap();
        assert!(names(&inner).iter().all(|name| !name.contains("/_change_data/")));
    }
}

#[test]
fn sources_beyond_the_memory_are_told_the_same() {
    let inner = Arc::new(InMemory::new());
    let table = create(&inner, &rows(0..10_000, "base"));
    let some: Vec<(i64, String)> =
        (0..15_000).map(|n| scattered(n, 20_000)).map(|id| (id, format!("new {id}"))).collect();
    let small = UpsertOptions { memory_bytes: 1 << 20, ..by_id() };
    let batches: Vec<_> = some.chunks(1000).map(batch).collect();
    let source = Batches::new(batches[0].schema(), batches.into_iter().map(Ok));
    assert!(upsert(&table, source, &small).unwrap().windows > 1);
    replays(&table);
    // Windows without any row that the table has.
    let batches: Vec<_> = (0..15).map(|n| batch(&rows(100_000 + n * 1000..101_000 + n * 1000, "more"))).collect();
    let source = Batches::new(batches[0].schema(), batches.into_iter().map(Ok));
    assert!(upsert(&table, source, &small).unwrap().windows > 1);
    assert!(has_change_files(&inner, 1) && !has_change_files(&inner, 2));
    replays(&table);
}

#[test]
fn rows_that_another_writer_changes_meanwhile_are_told_again() {
    let inner = Arc::new(InMemory::new());
    create(&inner, &rows(0..10, "a"));
    let other = Arc::clone(&inner);
    let meanwhile = Meanwhile::before(1, &inner, move || drop(put(&table(&other), &rows([3, 20], "other")).unwrap()));
    put(&on(meanwhile), &rows([3, 4, 20], "mine")).unwrap();
    let table = table(&inner);
    let (before, after) = ("update_preimage", "update_postimage");
    let expected = [
        (before, 3, "other 3"),
        (after, 3, "mine 3"),
        (before, 4, "a 4"),
        (after, 4, "mine 4"),
        (before, 20, "other 20"),
        (after, 20, "mine 20"),
    ];
    assert_eq!(told(&table, 2, None), changed(2, &expected));
    replays(&table);
    // The files of the attempt that came too late are gone.
    assert_eq!(names(&inner).iter().filter(|name| name.contains("/_change_data/")).count(), 2);
}

#[test]
fn writers_at_the_same_time_are_told_one_after_the_other() {
    let inner = Arc::new(InMemory::new());
    create(&inner, &rows(0..100, "base"));
    std::thread::scope(|scope| {
        for writer in 0..3u64 {
            let inner = Arc::clone(&inner);
            scope.spawn(move || {
                let table = table(&inner);
                for round in 0..4u64 {
                    let ids = (0..20).map(|n| scattered(writer * 977 + round * 31 + n, 150));
                    let ids: std::collections::BTreeSet<i64> = ids.collect();
                    put(&table, &rows(ids, &format!("writer {writer} round {round}"))).unwrap();
                }
            });
        }
    });
    assert_eq!(version(&table(&inner)), 12);
    replays(&table(&inner));
}

#[test]
fn upserts_that_break_off_leave_no_change_files_that_vacuum_does_not_find() {
    let mut failures = 0;
    for requests in 0.. {
        let inner = Arc::new(InMemory::new());
        let table = create(&inner, &rows(0..50, "a"));
        let outcome = put(&failing(&inner, requests), &rows([5, 45, 99], "c"));
        replays(&table);
        if let Err(error) = &outcome {
            assert_eq!(error.kind(), ErrorKind::Unavailable, "{requests} requests: {error}");
            failures += 1;
        }
        put(&table, &rows([5, 46], "d")).unwrap();
        replays(&table);
        let is_young =
            VacuumOptions { retain: Some(Duration::from_secs(3600)), allow_short_retention: true, dry_run: false };
        assert_eq!(vacuum(&table, &is_young).unwrap().files, Vec::<String>::new());
        std::thread::sleep(Duration::from_millis(2));
        vacuum(&table, &VacuumOptions { retain: Some(Duration::ZERO), ..is_young }).unwrap();
        assert!(stored(&inner).iter().all(|name| !name.contains("_change_data")));
        assert_eq!(read(&table)[&46], "d 46");
        if outcome.is_ok() {
            break;
        }
    }
    assert!(failures > 5, "it failed only {failures} times");
}
