//! Upserts and deletes hold what a map would hold: whatever the batches, the order, the writers and the faults.

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, Int64Array, RecordBatch, StringArray};
use arrow::datatypes::Int64Type;
use lakerace_delta::{ChangeOutcome, CommitFence, DeltaSource, OnDuplicate, Table, UpsertOptions, WriteMode};
use lakerace_delta::{delete, delete_keys, explain_upsert, upsert};
use lakerace_format::{Batches, ReadRequest, Source};
use lakerace_io::object_store::memory::InMemory;
use lakerace_io::{ErrorKind, Result};

use crate::common::{Model, batch, failing, less, put, read, read_at, rows, scattered, stored, table, write};

fn stream(batches: Vec<RecordBatch>) -> Batches {
    Batches::new(batches[0].schema(), batches.into_iter().map(Ok))
}

fn options(key: &[&str]) -> UpsertOptions {
    UpsertOptions { key: key.iter().map(|name| (*name).to_owned()).collect(), ..UpsertOptions::default() }
}

fn create(table: &Table, rows: &[(i64, String)], properties: &[(&str, &str)]) {
    write(table, WriteMode::Error, batch(rows), &[], properties);
}

#[test]
fn many_upserts_are_a_map() {
    let inner = Arc::new(InMemory::new());
    let table = table(&inner);
    let base = rows(0..2000, "base");
    create(&table, &base, &[]);
    let mut model: Model = base.into_iter().collect();
    for round in 0..12u64 {
        let some: Vec<(i64, String)> =
            (0..300).map(|n| scattered(round * 1000 + n, 4000)).map(|id| (id, format!("round {round} {id}"))).collect();
        let fresh = some
            .iter()
            .filter(|(id, _)| !model.contains_key(id))
            .map(|(id, _)| id)
            .collect::<std::collections::BTreeSet<_>>();
        let distinct = some.iter().map(|(id, _)| id).collect::<std::collections::BTreeSet<_>>().len();
        // In batches of uneven sizes.
        let batches = vec![batch(&some[..7]), batch(&some[7..8]), batch(&some[8..])];
        let changed = upsert(&table, stream(batches), &options(&["id"])).unwrap();
        assert_eq!(changed.written.rows, distinct as u64);
        assert_eq!(changed.hidden, (distinct - fresh.len()) as u64);
        model.extend(some);
        assert_eq!(read(&table), model, "round {round}");
        if round % 4 == 3 {
            let below = i128::from(round) * 100;
            let gone = model.keys().filter(|id| i128::from(**id) < below).count();
            assert_eq!(delete(&table, &less("id", below)).unwrap().hidden, gone as u64);
            model.retain(|id, _| i128::from(*id) >= below);
            assert_eq!(read(&table), model, "delete of round {round}");
        }
    }
    assert_eq!(delete(&table, &less("id", -5)).unwrap(), ChangeOutcome::default());
}

#[test]
fn files_that_cannot_have_the_keys_are_not_read() {
    let inner = Arc::new(InMemory::new());
    let table = table(&inner);
    create(&table, &rows(0..100, "a"), &[]);
    put(&table, &rows(100..200, "b")).unwrap();
    let between = put(&table, &rows(200..300, "c")).unwrap();
    assert_eq!((between.probed, between.hidden), (0, 0));
    // Between the keys of a source lie whole files.
    let around = put(&table, &rows([50, 250], "d")).unwrap();
    assert_eq!((around.probed, around.hidden, around.vectors), (2, 2, 2));
    let whole = put(&table, &rows(100..200, "e")).unwrap();
    assert_eq!((whole.hidden, whole.vectors, whole.removed), (100, 0, 1));
    assert_eq!(read(&table).len(), 300);
}

#[test]
fn vectors_of_a_commit_are_one_file() {
    let inner = Arc::new(InMemory::new());
    let table = table(&inner);
    create(&table, &rows(0..10, "a"), &[]);
    (1..5).for_each(|n| drop(put(&table, &rows(n * 10..n * 10 + 10, "a")).unwrap()));
    let changed = put(&table, &rows((0..5).map(|n| n * 10 + 3), "b")).unwrap();
    assert_eq!(changed.vectors, 5);
    assert_eq!(stored(&inner).iter().filter(|name| name.ends_with(".bin")).count(), 1);
}

#[test]
fn keys_of_several_columns() {
    let inner = Arc::new(InMemory::new());
    let table = table(&inner);
    create(&table, &rows([1, 2], "a"), &[]);
    let key = options(&["id", "text"]);
    upsert(&table, stream(vec![batch(&rows([1], "a")), batch(&rows([5], "b"))]), &key).unwrap();
    assert_eq!(read(&table).len(), 3);
    let error = upsert(&table, stream(vec![batch(&rows([1], "a"))]), &options(&["id", "nope"])).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert_eq!(
        upsert(&table, stream(vec![batch(&rows([1], "a"))]), &options(&[])).unwrap_err().kind(),
        ErrorKind::Usage
    );
}

#[test]
fn the_table_may_know_its_key() {
    let inner = Arc::new(InMemory::new());
    let table = table(&inner);
    create(&table, &rows(0..3, "a"), &[("lakerace.primaryKey", "id")]);
    upsert(&table, stream(vec![batch(&rows([2, 3], "b"))]), &options(&[])).unwrap();
    assert_eq!(read(&table).len(), 4);
}

#[test]
fn rows_of_a_table_that_knows_its_key_are_written_in_its_order() {
    let inner = Arc::new(InMemory::new());
    let table = table(&inner);
    let key = [("lakerace.primaryKey", "id")];
    let shuffled: Vec<i64> = (0..5000).map(|n| n * 7919 % 5000).collect();
    create(&table, &rows(shuffled.iter().copied(), "a"), &key);
    let source = DeltaSource::open(table.snapshot(None).unwrap()).unwrap();
    let plan = source.plan(&ReadRequest::default()).unwrap();
    let batches: Vec<RecordBatch> = source.read(&plan).unwrap().map(Result::unwrap).collect();
    let ids = batches.iter().flat_map(|batch| batch.column(0).as_primitive::<Int64Type>().values().to_vec());
    assert!(ids.eq(0..5000));
    write(&table, WriteMode::Append, batch(&rows([9000, 7000, 8000], "b")), &[], &[]);
    let changed = upsert(&table, stream(vec![batch(&rows([8000, 1, 6000], "c"))]), &options(&[])).unwrap();
    assert_eq!((changed.written.rows, changed.hidden), (3, 2));
    let all = rows(0..5000, "a").into_iter().chain(rows([7000, 9000], "b")).chain(rows([8000, 1, 6000], "c"));
    assert_eq!(read(&table), all.collect());
}

#[test]
fn the_last_row_of_a_key_wins_or_is_an_error() {
    let inner = Arc::new(InMemory::new());
    let table = table(&inner);
    create(&table, &rows(0..3, "a"), &[]);
    let twice = [rows([1], "first"), rows([7], "x"), rows([1], "last")].concat();
    let strict = UpsertOptions { on_duplicate: OnDuplicate::Error, ..options(&["id"]) };
    let error = upsert(&table, stream(vec![batch(&twice)]), &strict).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert!(error.to_string().contains("rows 1 and 3"), "{error}");
    put(&table, &twice).unwrap();
    assert_eq!(read(&table)[&1], "last 1");
}

#[test]
fn rows_without_a_key_are_refused_by_number() {
    let inner = Arc::new(InMemory::new());
    let table = table(&inner);
    create(&table, &rows(0..3, "a"), &[]);
    let ids: ArrayRef = Arc::new(Int64Array::from(vec![Some(1), None]));
    let texts: ArrayRef = Arc::new(StringArray::from(vec!["x", "y"]));
    let nulls = RecordBatch::try_from_iter_with_nullable([("id", ids, true), ("text", texts, true)]).unwrap();
    let error = upsert(&table, stream(vec![batch(&rows([9], "z")), nulls]), &options(&["id"])).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert!(error.to_string().contains("row 3"), "{error}");
    assert_eq!(read(&table).len(), 3);
}

#[test]
fn sources_beyond_the_memory_are_the_same() {
    let inner = Arc::new(InMemory::new());
    let table = table(&inner);
    let base = rows(0..20_000, "base");
    create(&table, &base, &[]);
    let mut model: Model = base.into_iter().collect();
    for round in 0..3u64 {
        let some: Vec<(i64, String)> = (0..30_000)
            .map(|n| scattered(round * 100_000 + n, 40_000))
            .map(|id| (id, format!("round {round} {id}")))
            .collect();
        let known = some.iter().map(|(id, _)| id).filter(|id| model.contains_key(id));
        let known = known.collect::<std::collections::BTreeSet<_>>().len();
        let small = UpsertOptions { memory_bytes: 1 << 20, ..options(&["id"]) };
        let batches = some.chunks(1000).map(batch).collect();
        let changed = upsert(&table, stream(batches), &small).unwrap();
        assert!(changed.windows > 3, "{changed:?}");
        assert_eq!(changed.hidden, known as u64);
        model.extend(some);
        assert_eq!(read(&table), model, "round {round}");
    }
}

#[test]
fn columns_that_rows_lack_keep_their_values() {
    for memory_bytes in [1 << 30, 1 << 16] {
        let inner = Arc::new(InMemory::new());
        let table = table(&inner);
        create(&table, &rows(0..5000, "a"), &[]);
        put(&table, &rows(1000..2000, "b")).unwrap();
        let mut model = read(&table);
        let ids: ArrayRef = Arc::new(Int64Array::from_iter_values((0..6000).step_by(3)));
        let keys = RecordBatch::try_from_iter([("id", ids)]).unwrap();
        let small = UpsertOptions { memory_bytes, ..options(&["id"]) };
        let changed = upsert(&table, stream(vec![keys]), &small).unwrap();
        assert_eq!((changed.written.rows, changed.hidden), (2000, 1667));
        // The new rows have no text.
        model.extend((0..6000).step_by(3).filter(|id| *id >= 5000).map(|id| (id, String::new())));
        assert_eq!(read(&table), model);
    }
}

#[test]
fn values_are_merged_by_operators() {
    let inner = Arc::new(InMemory::new());
    let table = table(&inner);
    create(&table, &rows(0..10, "a"), &[]);
    let concat = UpsertOptions { merge: vec![("text".to_owned(), "concat:+".parse().unwrap())], ..options(&["id"]) };
    let twice = [rows([3, 12], "b"), rows([3], "c")].concat();
    upsert(&table, stream(vec![batch(&twice)]), &concat).unwrap();
    let now = read(&table);
    assert_eq!((now[&3].as_str(), now[&12].as_str(), now[&4].as_str()), ("a 3+b 3+c 3", "b 12", "a 4"));
    let wrong = UpsertOptions { merge: vec![("text".to_owned(), "sum".parse().unwrap())], ..options(&["id"]) };
    let error = upsert(&table, stream(vec![batch(&twice)]), &wrong).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Usage);
}

#[test]
fn rows_with_known_keys_may_be_left_out() {
    let inner = Arc::new(InMemory::new());
    let table = table(&inner);
    create(&table, &rows(0..10, "a"), &[]);
    delete(&table, &less("id", 2)).unwrap();
    let insert = UpsertOptions { insert_only: true, ..options(&["id"]) };
    let changed = upsert(&table, stream(vec![batch(&rows([1, 5, 20], "b"))]), &insert).unwrap();
    assert_eq!((changed.written.rows, changed.hidden, changed.vectors), (2, 0, 0));
    let expected: Model = rows(2..10, "a").into_iter().chain(rows([1, 20], "b")).collect();
    assert_eq!(read(&table), expected);
    let again = upsert(&table, stream(vec![batch(&rows([1, 5, 20], "c"))]), &insert).unwrap();
    assert_eq!((again.written.version, again.written.rows), (None, 0));
    assert_eq!(read(&table), expected);
}

#[test]
fn rows_are_deleted_by_their_keys() {
    let inner = Arc::new(InMemory::new());
    let table = table(&inner);
    create(&table, &rows(0..10, "a"), &[]);
    let changed = delete_keys(&table, stream(vec![batch(&rows([3, 7, 99], ""))]), &options(&["id"])).unwrap();
    assert_eq!((changed.hidden, changed.written.rows, changed.written.version), (2, 0, Some(1)));
    assert_eq!(read(&table).into_keys().collect::<Vec<_>>(), [0, 1, 2, 4, 5, 6, 8, 9]);
    let none = delete_keys(&table, stream(vec![batch(&rows([3, 99], ""))]), &options(&["id"])).unwrap();
    assert_eq!(none.written.version, None);
}

#[test]
fn keys_of_a_wrong_kind_are_refused() {
    let inner = Arc::new(InMemory::new());
    let table = table(&inner);
    create(&table, &rows(0..3, "a"), &[]);
    let kind = |columns: Vec<(&str, ArrayRef)>, key: &[&str]| {
        let batch = RecordBatch::try_from_iter(columns).unwrap();
        upsert(&table, stream(vec![batch]), &options(key)).unwrap_err().kind()
    };
    let (text, id) = (
        || -> ArrayRef { Arc::new(StringArray::from(vec!["1"])) },
        || -> ArrayRef { Arc::new(Int64Array::from(vec![1])) },
    );
    assert_eq!(kind(vec![("id", text()), ("text", text())], &["id"]), ErrorKind::Invalid);
    assert_eq!(kind(vec![("text", text())], &["id"]), ErrorKind::NotFound);
    assert_eq!(kind(vec![("id", id()), ("nope", text())], &["id"]), ErrorKind::NotFound);
    assert_eq!(kind(vec![("id", id())], &["id", "id"]), ErrorKind::Usage);
    // Narrower integers are the table's.
    let ids: ArrayRef = Arc::new(arrow::array::Int32Array::from(vec![1, 7]));
    let texts: ArrayRef = Arc::new(StringArray::from(vec!["x", "y"]));
    let narrow = RecordBatch::try_from_iter([("text", texts), ("id", ids)]).unwrap();
    assert_eq!(upsert(&table, stream(vec![narrow]), &options(&["id"])).unwrap().hidden, 1);
    assert_eq!(read(&table)[&1], "x");
    assert_eq!(table.snapshot(None).unwrap().version(), 1);
}

#[test]
fn a_plan_says_what_is_read() {
    let inner = Arc::new(InMemory::new());
    let table = table(&inner);
    create(&table, &rows(0..100, "a"), &[]);
    put(&table, &rows(100..200, "b")).unwrap();
    let plan = explain_upsert(&table, stream(vec![batch(&rows([150, 150, 300], "c"))]), &options(&["id"])).unwrap();
    assert_eq!((plan.version, plan.rows, plan.windows, plan.row_groups, plan.vectors_at_most), (1, 2, 1, 1, 1));
    assert_eq!(plan.files.iter().filter(|file| file.pruned.is_some()).count(), 1);
    // The keys come with the footer of the small file.
    assert!(plan.key_bytes > 0 && plan.requests == 1, "{plan:?}");
    assert!(plan.to_string().contains("keys of 1 of 2 files"), "{plan}");
    assert_eq!(table.snapshot(None).unwrap().version(), 1);
}

/// Many pages of rows, in the order of their keys or here and there.
fn many_pages(table: &Table, rows: u64, is_sorted: bool) -> Model {
    let id = |n: u64| if is_sorted { n as i64 * 3 } else { scattered(n, 3 * rows) };
    let model: Model = (0..rows).map(id).map(|id| (id, format!("base {id}"))).collect();
    let mut rows: Vec<(i64, String)> = model.clone().into_iter().collect();
    if !is_sorted {
        rows.sort_unstable_by_key(|(id, _)| id.wrapping_mul(0x5851_f42d_4c95_7f2d));
    }
    create(table, &rows, &[]);
    model
}

#[test]
fn few_keys_read_the_pages_that_may_have_them() {
    for is_sorted in [true, false] {
        let inner = Arc::new(InMemory::new());
        let table = table(&inner);
        let mut model = many_pages(&table, 300_000, is_sorted);
        let all = explain_upsert(&table, stream(vec![batch(&rows(0..900_000, "all"))]), &options(&["id"])).unwrap();
        let known: Vec<i64> = model.keys().copied().step_by(160_000).collect();
        let some = rows(known.iter().copied().chain([1, 2_000_000]), "new");
        let plan = explain_upsert(&table, stream(vec![batch(&some)]), &options(&["id"])).unwrap();
        if is_sorted {
            assert!(plan.key_bytes * 2 < all.key_bytes, "{plan}: {} bytes of all keys", all.key_bytes);
        } else {
            assert_eq!(plan.key_bytes, all.key_bytes, "{plan}");
        }
        let replaced = some.iter().filter(|(id, _)| model.contains_key(id)).count();
        assert_eq!(put(&table, &some).unwrap().hidden, replaced as u64);
        model.extend(some);
        assert!(read(&table) == model);

        let insert = UpsertOptions { insert_only: true, ..options(&["id"]) };
        let twice = rows(known.iter().copied().chain([2]), "insert");
        let changed = upsert(&table, stream(vec![batch(&twice)]), &insert).unwrap();
        for (id, text) in twice {
            model.entry(id).or_insert(text);
        }
        assert!(read(&table) == model && changed.written.rows < 2, "{changed:?}");
        let concat = UpsertOptions { merge: vec![("text".into(), "concat:|".parse().unwrap())], ..options(&["id"]) };
        upsert(&table, stream(vec![batch(&rows(known.clone(), "more"))]), &concat).unwrap();
        for id in &known {
            let text = format!("{}|more {id}", model[id]);
            model.insert(*id, text);
        }
        assert!(read(&table) == model);
        let gone = delete_keys(&table, stream(vec![batch(&rows(known.clone(), ""))]), &options(&["id"])).unwrap();
        assert_eq!(gone.hidden, known.len() as u64);
        model.retain(|id, _| !known.contains(id));
        assert!(read(&table) == model);
        let gone = delete(&table, &less("id", 1000)).unwrap().hidden;
        assert_eq!(gone, model.range(..1000).count() as u64);
        model.retain(|id, _| *id >= 1000);
        assert!(read(&table) == model);
    }
}

#[test]
fn merges_of_writers_at_the_same_time_lose_nothing() {
    let inner = Arc::new(InMemory::new());
    create(&table(&inner), &rows(0..20, "base"), &[]);
    std::thread::scope(|scope| {
        for writer in 0..3i64 {
            let inner = Arc::clone(&inner);
            scope.spawn(move || {
                let table = table(&inner);
                for round in 0..4 {
                    let concat = vec![("text".to_owned(), "concat:|".parse().unwrap())];
                    let options = UpsertOptions { merge: concat, ..options(&["id"]) };
                    let some = rows([5, 30, 100 + writer], &format!("w{writer}r{round}"));
                    upsert(&table, stream(vec![batch(&some)]), &options).unwrap();
                }
            });
        }
    });
    let now = read(&table(&inner));
    for (id, parts) in [(5, 13), (30, 12), (100, 4), (102, 4), (6, 1)] {
        assert_eq!(now[&id].split('|').count(), parts, "{id}: {}", now[&id]);
    }
    for writer in 0..3 {
        let rounds = |id: i64| (0..4).map(|round| now[&id].find(&format!("w{writer}r{round} "))).collect::<Vec<_>>();
        assert!(rounds(5).is_sorted() && rounds(5)[0].is_some(), "{}", now[&5]);
    }
}

#[test]
fn writers_at_the_same_time_lose_nothing() {
    let inner = Arc::new(InMemory::new());
    create(&table(&inner), &rows(0..200, "base"), &[]);
    std::thread::scope(|scope| {
        for writer in 0..4u64 {
            let inner = Arc::clone(&inner);
            scope.spawn(move || {
                let table = table(&inner);
                for round in 0..6u64 {
                    let ids = (0..40).map(|n| scattered(writer * 977 + round * 31 + n, 300));
                    let ids: std::collections::BTreeSet<i64> = ids.chain([1000 + writer as i64]).collect();
                    put(&table, &rows(ids, &format!("writer {writer} round {round}"))).unwrap();
                }
            });
        }
    });
    let now = read(&table(&inner));
    for writer in 0..4i64 {
        assert_eq!(now[&(1000 + writer)], format!("writer {writer} round 5 {}", 1000 + writer));
    }
    assert!((0..200).all(|id| now.contains_key(&id)));
    assert_eq!(table(&inner).snapshot(None).unwrap().version(), 24);
}

/// Each writer reads a number, and writes the next one: without a fence, the last one of two that read the same number wins.
#[test]
fn of_writers_that_read_before_they_write_a_fence_lets_one_pass() {
    let inner = Arc::new(InMemory::new());
    create(&table(&inner), &[(7, "0".to_owned())], &[]);
    let add_one = |table: &Table| -> Result<ChangeOutcome> {
        let snapshot = table.snapshot(None)?;
        let fence = Some(CommitFence::read(Some(&snapshot), "counter")?);
        let number: u64 = read_at(table, Some(snapshot.version()))?[&7].parse().unwrap();
        let next = batch(&[(7, (number + 1).to_string())]);
        upsert(table, stream(vec![next]), &UpsertOptions { fence, ..options(&["id"]) })
    };
    std::thread::scope(|scope| {
        for _ in 0..4 {
            let inner = Arc::clone(&inner);
            scope.spawn(move || {
                let table = table(&inner);
                for _ in 0..5 {
                    while let Err(error) = add_one(&table) {
                        assert_eq!(error.kind(), ErrorKind::Conflict, "{error}");
                    }
                }
            });
        }
    });
    let table = table(&inner);
    assert_eq!(read(&table), Model::from([(7, "20".to_owned())]));
    // What was read before another one has passed does not pass later, whichever version it starts from.
    let before = CommitFence::read(None, "counter").unwrap();
    let late = UpsertOptions { fence: Some(before), ..options(&["id"]) };
    let error = upsert(&table, stream(vec![batch(&[(7, "late".to_owned())])]), &late).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict);
    assert_eq!(read(&table)[&7], "20");
}

/// Breaks a change off after each number of requests, until it is done twice.
pub fn break_off(change: &dyn Fn(&Table) -> Result<ChangeOutcome>) {
    let (mut failures, mut done) = (0, 0);
    let prepare = || {
        let inner = Arc::new(InMemory::new());
        let healthy = table(&inner);
        create(&healthy, &rows(0..50, "a"), &[]);
        put(&healthy, &rows(40..60, "b")).unwrap();
        inner
    };
    let inner = prepare();
    let before = read(&table(&inner));
    change(&table(&inner)).unwrap();
    let after = read(&table(&inner));
    assert_ne!(before, after);
    for requests in 0.. {
        let inner = prepare();
        let outcome = change(&failing(&inner, requests));
        let now = read(&table(&inner));
        match outcome {
            Ok(_) => {
                assert_eq!(now, after);
                done += 1;
            }
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::Unavailable, "{requests} requests: {error}");
                assert!(now == before || now == after, "between, after {requests} requests");
                failures += 1;
            }
        }
        put(&table(&inner), &rows([5, 45, 99], "c")).unwrap();
        assert_eq!(read(&table(&inner))[&45], "c 45");
        if done == 2 {
            break;
        }
    }
    assert!(failures > 5, "it failed only {failures} times");
}

#[test]
fn upserts_that_break_off_are_whole_or_not_there() {
    break_off(&|table| put(table, &rows([5, 45, 99], "c")));
}

#[test]
fn other_changes_that_break_off_are_whole_or_not_there() {
    let source = || stream(vec![batch(&rows([5, 45, 99], "c"))]);
    break_off(&|table| delete_keys(table, source(), &options(&["id"])));
    break_off(&|table| upsert(table, source(), &UpsertOptions { insert_only: true, ..options(&["id"]) }));
    let concat = vec![("text".to_owned(), "concat:+".parse().unwrap())];
    break_off(&|table| upsert(table, source(), &UpsertOptions { merge: concat.clone(), ..options(&["id"]) }));
    break_off(&|table| delete(table, &less("id", 45)));
    let spilled = || stream((0..40).map(|n| batch(&rows(n * 5..n * 5 + 400, "c"))).collect());
    break_off(&|table| {
        let changed = upsert(table, spilled(), &UpsertOptions { memory_bytes: 1 << 16, ..options(&["id"]) })?;
        assert!(changed.windows > 1, "{changed:?}");
        Ok(changed)
    });
}

#[test]
fn files_are_left_out_by_each_key_column() {
    let some = |text: &str| -> Vec<(i64, String)> { (0..100).map(|id| (id, text.to_owned())).collect() };
    for partition_by in [&["text"][..], &[]] {
        for key in [["id", "text"], ["text", "id"]] {
            let inner = Arc::new(InMemory::new());
            let table = table(&inner);
            write(&table, WriteMode::Error, batch(&some("a")), partition_by, &[]);
            for text in ["b", "d"] {
                write(&table, WriteMode::Append, batch(&some(text)), &[], &[]);
            }
            let of_b: Vec<(i64, String)> = (50..60).map(|id| (id, "b".to_owned())).collect();
            let plan = explain_upsert(&table, stream(vec![batch(&of_b)]), &options(&key)).unwrap();
            assert_eq!(plan.files.iter().filter(|file| file.pruned.is_none()).count(), 1, "{plan}");
            let changed = upsert(&table, stream(vec![batch(&of_b)]), &options(&key)).unwrap();
            assert_eq!((changed.probed, changed.hidden), (1, 10), "{partition_by:?} {key:?}");
            // A text that no file has.
            let of_c: Vec<(i64, String)> = (50..60).map(|id| (id, "c".to_owned())).collect();
            let changed = upsert(&table, stream(vec![batch(&of_c)]), &options(&key)).unwrap();
            assert_eq!((changed.probed, changed.hidden, changed.written.rows), (0, 0, 10));
        }
    }
}
