//! Tables without deletion vectors: the files that lose rows are written anew, and no others; whatever the writers and the faults.

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, Int64Array, RecordBatch, StringArray};
use arrow::datatypes::Int64Type;
use lakerace_delta::{
    ChangeOutcome, CompactOptions, DeltaSource, MergeOperator, Table, UpsertOptions, VersionSpec, WriteMode, compact,
    delete, delete_keys, explain_upsert, restore, upsert,
};
use lakerace_format::{Batches, ReadRequest, Source};
use lakerace_io::object_store::memory::InMemory;
use lakerace_io::object_store::path::Path;
use lakerace_io::object_store::{ObjectStore, PutOptions};
use lakerace_io::option::Door;
use lakerace_io::{ErrorKind, Job, JobOptions, Location, StorageOptions};
use percent_encoding::percent_decode_str;

use crate::common::{
    Meanwhile, Model, append, batch, create, entry, less, names, on, put, read, read_at, rows, scattered, stored,
    table, version, write,
};
use crate::faults::every_end;
use crate::feed::{has_change_files, replays};
use crate::vacuum::vacuum_now;

const PLAIN: (&str, &str) = ("delta.enableDeletionVectors", "false");
const FEED: (&str, &str) = ("delta.enableChangeDataFeed", "true");

fn stream(batch: RecordBatch) -> Batches {
    Batches::new(batch.schema(), std::iter::once(Ok(batch)))
}

fn by_id() -> UpsertOptions {
    UpsertOptions { key: vec!["id".to_owned()], ..UpsertOptions::default() }
}

/// A table of three files, of 10 rows each.
fn three_files(inner: &Arc<InMemory>) -> Table {
    let table = table(inner);
    create(&table, 0..10, &[PLAIN]);
    append(&table, 10..20, "base");
    append(&table, 20..30, "base");
    table
}

fn base() -> Model {
    rows(0..30, "base").into_iter().collect()
}

fn with(model: &Model, rows: Vec<(i64, String)>) -> Model {
    let mut model = model.clone();
    model.extend(rows);
    model
}

/// The data files of the last version, by what its log adds and removes.
fn live(inner: &Arc<InMemory>, last: u64) -> Vec<String> {
    let mut live = Vec::new();
    for version in 0..=last {
        for line in entry(inner, version) {
            let path = |action: &str| Some(line.get(action)?["path"].as_str()?.to_owned());
            if let Some(gone) = path("remove") {
                live.retain(|path| *path != gone);
            }
            live.extend(path("add"));
        }
    }
    live
}

/// A path as stores have it.
fn decoded(path: String) -> String {
    percent_decode_str(&path).decode_utf8().unwrap().into_owned()
}

/// Nothing is in the store but what some version has.
fn nothing_is_left_over(inner: &Arc<InMemory>, last: u64) {
    let mut known = Vec::new();
    for version in 0..=last {
        for line in entry(inner, version) {
            let path = |action: &str| Some(line.get(action)?["path"].as_str()?.to_owned());
            known.extend(path("add").into_iter().chain(path("cdc")).map(decoded));
        }
    }
    for name in stored(inner) {
        assert!(known.iter().any(|path| name.ends_with(path)), "{name} is of no version");
    }
}

#[test]
fn only_files_that_lose_rows_are_written_again() {
    let inner = Arc::new(InMemory::new());
    let table = three_files(&inner);
    let before = live(&inner, 2);
    let changed = put(&table, &rows([12, 15, 99], "new")).unwrap();
    assert_eq!((changed.written.rows, changed.hidden, changed.rewritten), (3, 2, 1));
    assert_eq!((changed.vectors, changed.removed, changed.probed), (0, 0, 1));
    assert!(changed.bytes_replaced > 0 && changed.bytes_rewritten > 0, "{changed:?}");
    let after = live(&inner, 3);
    assert_eq!(after.iter().filter(|path| before.contains(path)).count(), 2);
    assert_eq!(after.len(), 4);
    assert_eq!(read(&table), with(&base(), rows([12, 15, 99], "new")));
    assert_eq!(read_at(&table, Some(2)).unwrap(), base());
    let lines = entry(&inner, 3);
    let adds: Vec<_> = lines.iter().filter_map(|line| line.get("add")).collect();
    let counts = adds.iter().map(|add| {
        assert!(add.get("deletionVector").is_none_or(|vector| vector.is_null()));
        let stats: serde_json::Value = serde_json::from_str(add["stats"].as_str().unwrap()).unwrap();
        (stats["numRecords"].as_i64().unwrap(), stats["minValues"]["id"].as_i64().unwrap())
    });
    let mut counts: Vec<(i64, i64)> = counts.collect();
    counts.sort();
    assert_eq!(counts, [(3, 12), (8, 10)]);
    nothing_is_left_over(&inner, 3);
}

#[test]
fn files_without_a_row_left_are_only_removed() {
    let inner = Arc::new(InMemory::new());
    let table = three_files(&inner);
    let changed = put(&table, &rows(10..20, "new")).unwrap();
    assert_eq!((changed.hidden, changed.rewritten, changed.removed), (10, 0, 1));
    assert_eq!((changed.bytes_replaced, changed.bytes_rewritten), (0, 0));
    let changed = delete(&table, &less("id", 15)).unwrap();
    assert_eq!((changed.hidden, changed.rewritten, changed.removed), (15, 1, 1));
    let expected: Model = rows(15..20, "new").into_iter().chain(rows(20..30, "base")).collect();
    assert_eq!(read(&table), expected);
    assert_eq!(delete(&table, &less("id", 15)).unwrap(), ChangeOutcome::default());
    assert_eq!(version(&table), 4);
    let changed = delete_keys(&table, stream(batch(&rows([15, 20, 77], ""))), &by_id()).unwrap();
    assert_eq!((changed.hidden, changed.rewritten, changed.written.rows), (2, 2, 0));
    let gone = |id: &i64| *id == 15 || *id == 20;
    assert_eq!(read(&table), expected.into_iter().filter(|(id, _)| !gone(id)).collect());
    nothing_is_left_over(&inner, 5);
}

#[test]
fn rows_stay_in_the_order_of_their_file() {
    let inner = Arc::new(InMemory::new());
    let table = table(&inner);
    let ids: Vec<i64> = (0..200_000).map(|n| n * 7919 % 200_000).collect();
    write(&table, WriteMode::Error, batch(&rows(ids.iter().copied(), "a")), &[], &[PLAIN]);
    let changed = delete(&table, &less("id", 70_000)).unwrap();
    assert_eq!((changed.hidden, changed.rewritten), (70_000, 1));
    let source = DeltaSource::open(table.snapshot(None).unwrap()).unwrap();
    let plan = source.plan(&ReadRequest::default()).unwrap();
    let batches: Vec<RecordBatch> = source.read(&plan).unwrap().map(Result::unwrap).collect();
    let left = batches.iter().flat_map(|batch| batch.column(0).as_primitive::<Int64Type>().values().to_vec());
    assert!(left.eq(ids.into_iter().filter(|id| *id >= 70_000)));
}

#[test]
fn partitions_and_stored_names_stay() {
    for mapping in
        [&[PLAIN][..], &[PLAIN, ("delta.columnMapping.mode", "name")], &[PLAIN, ("delta.columnMapping.mode", "id")]]
    {
        let inner = Arc::new(InMemory::new());
        let table = table(&inner);
        let some = |rows: &[(i64, Option<&str>)]| {
            let ids: ArrayRef = Arc::new(rows.iter().map(|(id, _)| Some(*id)).collect::<Int64Array>());
            let texts: ArrayRef = Arc::new(rows.iter().map(|(_, text)| *text).collect::<StringArray>());
            RecordBatch::try_from_iter_with_nullable([("id", ids, true), ("text", texts, true)]).unwrap()
        };
        let first = some(&[(1, Some("x/y z")), (2, None), (3, Some("x/y z")), (4, None), (5, Some("other"))]);
        write(&table, WriteMode::Error, first, &["text"], mapping);
        let changed = upsert(&table, stream(some(&[(1, Some("ü=&")), (2, Some("x/y z"))])), &by_id()).unwrap();
        assert_eq!((changed.hidden, changed.rewritten), (2, 2), "{mapping:?}");
        let source = DeltaSource::open(table.snapshot(None).unwrap()).unwrap();
        let plan = source.plan(&ReadRequest::default()).unwrap();
        let mut all = Vec::new();
        for batch in source.read(&plan).unwrap() {
            let batch = batch.unwrap();
            let texts = arrow::compute::cast(batch.column(1), &arrow::datatypes::DataType::Utf8).unwrap();
            let ids = batch.column(0).as_primitive::<Int64Type>().values().to_vec();
            all.extend(ids.into_iter().zip(texts.as_string::<i32>().iter().map(|text| text.map(str::to_owned))));
        }
        all.sort();
        let expected = [(1, Some("ü=&")), (2, Some("x/y z")), (3, Some("x/y z")), (4, None), (5, Some("other"))];
        let expected: Vec<_> = expected.map(|(id, text)| (id, text.map(str::to_owned))).into();
        assert_eq!(all, expected, "{mapping:?}");
        nothing_is_left_over(&inner, 1);
    }
}

#[test]
fn values_are_merged_and_columns_kept() {
    let inner = Arc::new(InMemory::new());
    let table = three_files(&inner);
    let merge = vec![("text".to_owned(), MergeOperator::Concat("+".to_owned()))];
    let options = UpsertOptions { merge, ..by_id() };
    let changed = upsert(&table, stream(batch(&rows([5, 25, 40], "x"))), &options).unwrap();
    assert_eq!((changed.hidden, changed.rewritten), (2, 2));
    let ids: ArrayRef = Arc::new(Int64Array::from(vec![5, 6]));
    let alone = RecordBatch::try_from_iter_with_nullable([("id", ids, true)]).unwrap();
    upsert(&table, stream(alone), &by_id()).unwrap();
    let merged = [(5, "base 5+x 5"), (25, "base 25+x 25"), (40, "x 40")];
    assert_eq!(read(&table), with(&base(), merged.map(|(id, text)| (id, text.to_owned())).into()));
}

#[test]
fn an_insert_rewrites_nothing() {
    let inner = Arc::new(InMemory::new());
    let table = three_files(&inner);
    let insert = UpsertOptions { insert_only: true, ..by_id() };
    let changed = upsert(&table, stream(batch(&rows([2, 33], "b"))), &insert).unwrap();
    assert_eq!((changed.written.rows, changed.rewritten, changed.hidden), (1, 0, 0));
    assert_eq!(read(&table), with(&base(), rows([33], "b")));
}

#[test]
fn a_plan_says_what_is_rewritten() {
    let inner = Arc::new(InMemory::new());
    let table = three_files(&inner);
    let plan = explain_upsert(&table, stream(batch(&rows([5, 25, 99], "b"))), &by_id()).unwrap();
    assert_eq!((plan.rewrites_at_most, plan.vectors_at_most), (2, 0));
    let bytes: u64 = plan.files.iter().filter(|file| file.pruned.is_none()).map(|file| file.size_bytes).sum();
    assert_eq!(plan.rewritten_bytes_at_most, bytes);
    let text = Door::CommandLine.show(&plan.to_string()).into_owned();
    assert!(text.contains("rewrite: at most 2 files") && text.contains("--enable-deletion-vectors"), "{text}");
    let changed = put(&table, &rows([5, 25, 99], "b")).unwrap();
    assert_eq!((changed.rewritten, changed.bytes_replaced), (2, bytes));
    let insert = UpsertOptions { insert_only: true, ..by_id() };
    let plan = explain_upsert(&table, stream(batch(&rows([5], "b"))), &insert).unwrap();
    assert_eq!((plan.rewrites_at_most, plan.vectors_at_most), (0, 0));
}

#[test]
fn a_feed_tells_the_same() {
    let inner = Arc::new(InMemory::new());
    let table = table(&inner);
    create(&table, 0..10, &[PLAIN, FEED]);
    append(&table, 10..20, "a");
    put(&table, &rows([3, 12, 44], "b")).unwrap();
    put(&table, &rows([55], "b")).unwrap();
    assert!(!has_change_files(&inner, 3));
    // Of one file all rows go, of the other some: both are told by change files.
    delete(&table, &less("id", 12)).unwrap();
    assert!(has_change_files(&inner, 4));
    delete_keys(&table, stream(batch(&rows([44, 13, 99], ""))), &by_id()).unwrap();
    // Whole files alone tell it themselves.
    append(&table, 60..70, "c");
    delete_keys(&table, stream(batch(&rows(60..70, ""))), &by_id()).unwrap();
    assert!(!has_change_files(&inner, 7));
    replays(&table);
    nothing_is_left_over(&inner, 7);
}

/// Upserts and deletes while another writer is faster; gives the change, and the version that it made.
fn beside(
    inner: &Arc<InMemory>,
    mine: impl FnOnce(&Table) -> ChangeOutcome,
    other: impl FnOnce(&Table) + Send + 'static,
) -> (ChangeOutcome, u64) {
    let others = table(inner);
    let next = version(&others) + 1;
    let changed = mine(&on(Meanwhile::before(next, inner, move || other(&others))));
    (changed, version(&table(inner)))
}

#[test]
fn another_writer_may_rewrite_the_same_file() {
    let inner = Arc::new(InMemory::new());
    three_files(&inner);
    let other = |table: &Table| drop(put(table, &rows([11, 12, 70], "other")).unwrap());
    let (changed, last) = beside(&inner, |table| put(table, &rows([12, 13, 70], "mine")).unwrap(), other);
    assert_eq!((changed.hidden, changed.rewritten, changed.written.version), (3, 2, Some(last)));
    let expected = with(&with(&base(), rows([11], "other")), rows([12, 13, 70], "mine"));
    assert_eq!(read(&table(&inner)), expected);
    nothing_is_left_over(&inner, last);
}

#[test]
fn what_was_written_for_files_that_are_as_they_were_is_kept() {
    let inner = Arc::new(InMemory::new());
    three_files(&inner);
    let other = |table: &Table| drop(put(table, &rows([25], "other")).unwrap());
    let store = Meanwhile::before(3, &inner, {
        let others = table(&inner);
        move || other(&others)
    });
    let mine = on(store);
    let changed = put(&mine, &rows([12, 13], "mine")).unwrap();
    assert_eq!((changed.hidden, changed.rewritten), (2, 1));
    // The file of rows 10 to 19 was written anew once, new rows once; the entry twice.
    assert_eq!(names(&inner).iter().filter(|name| name.ends_with(".parquet")).count(), 3 + 2 + 2);
    let expected = with(&with(&base(), rows([25], "other")), rows([12, 13], "mine"));
    assert_eq!(read(&table(&inner)), expected);
    nothing_is_left_over(&inner, 4);
}

#[test]
fn another_writer_may_delete_compact_or_restore() {
    /// What another writer does, and what becomes of the rows by it.
    type Act = (fn(&Table), fn(Model) -> Model);
    let from_15 = |model: Model| model.into_iter().filter(|row| row.0 >= 15).collect();
    let below_10 = |model: Model| model.into_iter().filter(|row| row.0 < 10).collect();
    let acts: [Act; 4] = [
        (|table| assert_eq!(delete(table, &less("id", 15)).unwrap().hidden, 15), from_15),
        (|table| assert_eq!(compact(table, &CompactOptions::default()).unwrap().files_removed, 3), |model| model),
        (|table| assert_eq!(restore(table, VersionSpec::Version(0)).unwrap().files_removed, 2), below_10),
        (|table| append(table, 100..110, "other"), |model| with(&model, rows(100..110, "other"))),
    ];
    for (number, (act, then)) in acts.into_iter().enumerate() {
        for feeds in [false, true] {
            let inner = Arc::new(InMemory::new());
            let some = table(&inner);
            create(&some, 0..10, if feeds { &[PLAIN, FEED] } else { &[PLAIN] });
            append(&some, 10..20, "base");
            append(&some, 20..30, "base");
            let (_, last) = beside(&inner, |table| put(table, &rows([5, 12, 17, 105], "mine")).unwrap(), act);
            assert_eq!(read(&table(&inner)), with(&then(base()), rows([5, 12, 17, 105], "mine")), "act {number}");
            nothing_is_left_over(&inner, last);
            if feeds {
                replays(&table(&inner));
            }
        }
    }
}

#[test]
fn deletes_beside_other_writers() {
    for feeds in [false, true] {
        let inner = Arc::new(InMemory::new());
        let some = table(&inner);
        create(&some, 0..20, if feeds { &[PLAIN, FEED] } else { &[PLAIN] });
        append(&some, 20..30, "base");
        let other = |table: &Table| drop(put(table, &rows([4, 9, 21], "other")).unwrap());
        let (changed, last) = beside(&inner, |table| delete(table, &less("id", 6)).unwrap(), other);
        assert_eq!((changed.hidden, changed.rewritten), (6, 2));
        let expected = with(&base(), rows([9, 21], "other")).into_iter().filter(|row| row.0 >= 6).collect::<Model>();
        assert_eq!(read(&table(&inner)), expected);
        nothing_is_left_over(&inner, last);
        if feeds {
            replays(&table(&inner));
        }
    }
}

#[test]
fn a_compaction_beside_a_rewrite_gives_way() {
    let inner = Arc::new(InMemory::new());
    three_files(&inner);
    let others = table(&inner);
    let store = Meanwhile::before(3, &inner, move || drop(put(&others, &rows([5], "other")).unwrap()));
    let done = compact(&on(store), &CompactOptions::default()).unwrap();
    assert_eq!(done.given_up, 0);
    assert_eq!(read(&table(&inner)), with(&base(), rows([5], "other")));
    nothing_is_left_over(&inner, version(&table(&inner)));
}

/// Writers of the same keys at once: each key has the row of the writer that came last, and comes once.
fn race(open: impl Fn() -> Table + Sync, properties: &[(&str, &str)]) {
    const WRITERS: i64 = 4;
    const ROUNDS: i64 = 5;
    create(&open(), 0..100, properties);
    std::thread::scope(|scope| {
        for writer in 0..WRITERS {
            let open = &open;
            scope.spawn(move || {
                let table = open();
                for round in 0..ROUNDS {
                    // Keys of one file that all of them want, and keys of its own.
                    let own = 1000 * (writer + 1);
                    let ids = [round, 50 + writer, own + round, own + round + 1];
                    put(&table, &rows(ids, &format!("{writer}/{round}"))).unwrap();
                    let gone = rows([90 + writer], "");
                    delete_keys(&table, stream(batch(&gone)), &by_id()).unwrap();
                }
            });
        }
    });
    let model = read(&open());
    let own = |writer: i64| (0..=ROUNDS).map(move |n| 1000 * (writer + 1) + n);
    let expected: Vec<i64> = (0..90).chain(90 + WRITERS..100).chain((0..WRITERS).flat_map(own)).collect();
    assert_eq!(model.keys().copied().collect::<Vec<_>>(), expected);
    for writer in 0..WRITERS {
        assert_eq!(model[&(50 + writer)], format!("{writer}/{} {}", ROUNDS - 1, 50 + writer));
        let last = 1000 * (writer + 1) + ROUNDS;
        assert_eq!(model[&last], format!("{writer}/{} {last}", ROUNDS - 1));
    }
    for shared in 0..ROUNDS {
        assert!(model[&shared].ends_with(&format!("/{shared} {shared}")), "{}", model[&shared]);
    }
}

#[test]
fn many_writers_of_one_file_lose_nothing() {
    let inner = Arc::new(InMemory::new());
    race(|| table(&inner), &[PLAIN]);
    nothing_is_left_over(&inner, version(&table(&inner)));
}

#[test]
fn many_writers_of_one_file_with_a_feed_lose_nothing() {
    let inner = Arc::new(InMemory::new());
    race(|| table(&inner), &[PLAIN, FEED]);
    nothing_is_left_over(&inner, version(&table(&inner)));
    replays(&table(&inner));
}

#[test]
fn many_writers_of_one_local_file_lose_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("table");
    let location = Location::parse(place.to_str().unwrap()).unwrap();
    let open = || {
        let job = Job::new(JobOptions { threads: 2, ..JobOptions::default() });
        Table::at(&location, &StorageOptions::default(), &job).unwrap()
    };
    race(open, &[PLAIN]);
    let table = open();
    let expected = read(&table);
    vacuum_now(&table).unwrap();
    assert_eq!(read(&table), expected);
}

fn made(inner: &Arc<InMemory>) -> Table {
    let table = three_files(inner);
    put(&table, &rows([3, 44], "b")).unwrap();
    table
}

#[test]
fn upserts_that_break_off() {
    let upsert = |table: &Table| put(table, &rows([5, 12, 60], "c")).map(drop);
    every_end(made, upsert, |model| with(model, rows([5, 12, 60], "c")));
}

#[test]
fn deletes_that_break_off() {
    let after = |model: &Model| model.clone().into_iter().filter(|(id, _)| *id >= 15).collect();
    every_end(made, |table| delete(table, &less("id", 15)).map(drop), after);
}

#[test]
fn deletes_with_a_feed_that_break_off() {
    let made = |inner: &Arc<InMemory>| {
        let table = table(inner);
        create(&table, 0..20, &[PLAIN, FEED]);
        append(&table, 20..30, "base");
        table
    };
    let after = |model: &Model| model.clone().into_iter().filter(|(id, _)| *id >= 25).collect();
    every_end(made, |table| delete(table, &less("id", 25)).map(drop), after);
}

#[test]
fn many_changes_are_a_map() {
    let inner = Arc::new(InMemory::new());
    let table = table(&inner);
    create(&table, 0..500, &[PLAIN]);
    let mut model: Model = rows(0..500, "base").into_iter().collect();
    for round in 0..12u64 {
        let ids = (0..40).map(|n| scattered(round * 100 + n, 1000));
        let some = rows(ids, &format!("round {round}"));
        put(&table, &some).unwrap();
        model.extend(some);
        if round % 3 == 2 {
            delete(&table, &less("id", i128::from(round) * 20)).unwrap();
            model.retain(|id, _| *id >= round as i64 * 20);
        }
        if round % 5 == 4 {
            compact(&table, &CompactOptions::default()).unwrap();
        }
        assert_eq!(read(&table), model, "round {round}");
    }
    nothing_is_left_over(&inner, version(&table));
}

#[test]
fn sources_beyond_the_memory_rewrite_each_file_once() {
    let inner = Arc::new(InMemory::new());
    let table = table(&inner);
    create(&table, 0..10_000, &[PLAIN]);
    let some: Vec<(i64, String)> =
        (0..15_000).map(|n| scattered(n, 20_000)).map(|id| (id, format!("new {id}"))).collect();
    let small = UpsertOptions { memory_bytes: 1 << 20, ..by_id() };
    let batches: Vec<_> = some.chunks(1000).map(batch).collect();
    let source = Batches::new(batches[0].schema(), batches.into_iter().map(Ok));
    let changed = upsert(&table, source, &small).unwrap();
    assert!(changed.windows > 1 && changed.rewritten == 1, "{changed:?}");
    let mut model: Model = rows(0..10_000, "base").into_iter().collect();
    model.extend(some);
    assert_eq!(read(&table), model);
}

#[test]
fn vectors_of_earlier_times_are_heeded() {
    let inner = Arc::new(InMemory::new());
    let first = table(&inner);
    create(&first, 0..20, &[("delta.enableDeletionVectors", "true")]);
    assert_eq!(delete(&first, &less("id", 4)).unwrap().vectors, 1);
    // Another engine turns them off.
    let mut metadata = entry(&inner, 0).into_iter().find(|line| line.get("metaData").is_some()).unwrap();
    metadata["metaData"]["configuration"]["delta.enableDeletionVectors"] = "false".into();
    let path = Path::from("lake/table/_delta_log/00000000000000000002.json");
    let put_entry = inner.put_opts(&path, format!("{metadata}\n").into(), PutOptions::default());
    futures::executor::block_on(put_entry).unwrap();
    let table = table(&inner);
    let changed = put(&table, &rows([2, 6], "b")).unwrap();
    assert_eq!((changed.hidden, changed.rewritten, changed.vectors), (1, 1, 0));
    let expected: Model = rows(4..20, "base").into_iter().chain(rows([2, 6], "b")).collect();
    assert_eq!(read(&table), expected);
    assert!(entry(&inner, 3).iter().all(|line| line.get("add").is_none_or(|add| add["deletionVector"].is_null())));
}

#[test]
fn rows_with_ids_are_not_moved() {
    let inner = Arc::new(InMemory::new());
    let table = table(&inner);
    create(&table, 0..10, &[PLAIN, ("delta.enableRowTracking", "true")]);
    put(&table, &rows([20], "b")).unwrap();
    let error = put(&table, &rows([5], "b")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(error.to_string().contains("delta.enableRowTracking"), "{error}");
    assert_eq!(read(&table).len(), 11);
    nothing_is_left_over(&inner, 1);
}
