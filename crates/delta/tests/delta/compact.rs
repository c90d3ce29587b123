//! Compaction keeps the rows, whatever it does to the files and whoever writes meanwhile.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use arrow::array::{ArrayRef, AsArray, Int64Array, RecordBatch, StringArray};
use arrow::datatypes::Int64Type;
use futures::executor::block_on;
use lakerace_delta::{
    CompactOptions, Compacted, DeltaSource, Layout, Table, WriteMode, compact, compact_after_write, delete, history,
};
use lakerace_format::{Expr, ReadRequest, Source, WriteOptions};
use lakerace_io::ErrorKind;
use lakerace_io::object_store::ObjectStoreExt;
use lakerace_io::object_store::memory::InMemory;
use lakerace_io::object_store::path::Path;

use crate::common::{
    Meanwhile, append, batch, create, entry, less, on, put, read, read_at, rows, scattered, stored, table, version,
    write,
};
use crate::vacuum::vacuum_now;

fn files(table: &Table) -> u64 {
    DeltaSource::open(table.snapshot(None).unwrap()).unwrap().info().files
}

#[test]
fn small_files_become_one_and_hidden_rows_go() {
    let inner = Arc::new(InMemory::new());
    let table = table(&inner);
    create(&table, 0..100, &[]);
    (1..6).for_each(|n| append(&table, n * 100..n * 100 + 100, "a"));
    put(&table, &rows([5, 105, 999], "b")).unwrap();
    let before = read(&table);
    let done = compact(&table, &CompactOptions::default()).unwrap();
    assert_eq!((done.version, done.commits), (Some(7), 1));
    assert_eq!((done.files_removed, done.files_added, done.rows, done.rows_dropped), (7, 1, 601, 2));
    assert_eq!(done.given_up, 0);
    assert!(done.bytes_added < done.bytes_removed);
    assert_eq!(read(&table), before);
    assert_eq!(read_at(&table, Some(6)).unwrap(), before);
    assert_eq!(files(&table), 1);
    let actions = entry(&inner, 7);
    assert_eq!(actions[0]["commitInfo"]["operation"], "OPTIMIZE");
    let changes = actions.iter().filter_map(|line| line.get("add").or(line.get("remove")));
    assert!(changes.clone().count() == 8 && changes.clone().all(|action| action["dataChange"] == false));
    // Nothing is left to do.
    assert_eq!(compact(&table, &CompactOptions::default()).unwrap(), Compacted::default());
    assert_eq!(history(&table, Some(1)).unwrap()[0].files_removed, 7);
    // What it replaced is vacuum's.
    assert_eq!(vacuum_now(&table).unwrap().files.len(), 8);
    assert_eq!(read(&table), before);
}

#[test]
fn files_are_packed_up_to_the_target() {
    let inner = Arc::new(InMemory::new());
    let table = table(&inner);
    create(&table, 0..1000, &[]);
    (1..12).for_each(|n| append(&table, n * 1000..n * 1000 + 1000, "a"));
    let before = read(&table);
    let source = DeltaSource::open(table.snapshot(None).unwrap()).unwrap();
    let one = source.info().bytes / 12;
    let options = CompactOptions { target_bytes: one * 4 + one / 2, ..CompactOptions::default() };
    let done = compact(&table, &options).unwrap();
    assert_eq!((done.files_removed, done.files_added), (12, 3));
    assert_eq!(read(&table), before);
    // Files of the target size stay, whatever comes beside them.
    append(&table, 20_000..21_000, "b");
    assert_eq!(compact(&table, &CompactOptions { target_bytes: one * 4, ..options }).unwrap().version, None);
}

#[test]
fn full_files_are_written_anew_for_many_hidden_rows_only() {
    let inner = Arc::new(InMemory::new());
    let table = table(&inner);
    create(&table, 0..1000, &[]);
    let options = CompactOptions { target_bytes: 1, ..CompactOptions::default() };
    delete(&table, &less("id", 40)).unwrap();
    assert_eq!(compact(&table, &options).unwrap(), Compacted::default());
    delete(&table, &less("id", 60)).unwrap();
    let done = compact(&table, &options).unwrap();
    assert_eq!((done.files_removed, done.files_added, done.rows_dropped), (1, 1, 60));
    assert_eq!(read(&table).len(), 940);
    assert_eq!(compact(&table, &options).unwrap(), Compacted::default());
}

#[test]
fn files_that_hide_most_are_written_anew_until_few_rows_are_hidden() {
    let inner = Arc::new(InMemory::new());
    let table = table(&inner);
    create(&table, 0..100, &[]);
    (1..4).for_each(|n| append(&table, n * 100..n * 100 + 100, "a"));
    let full = CompactOptions { target_bytes: 1, max_hidden_share: 0.5, ..CompactOptions::default() };
    let at_most = |most: f64| CompactOptions { max_hidden_per_visible: Some(most), ..full.clone() };
    // 10, 40, 30 and 20 hidden rows of 100 each: 100 for 300 visible ones.
    for (first, count) in [(0, 10), (100, 40), (200, 30), (300, 20)] {
        let not_before = Expr::Not(Box::new(less("id", first)));
        delete(&table, &Expr::And(vec![not_before, less("id", first + count)])).unwrap();
    }
    let before = read(&table);
    assert_eq!(before.len(), 300);
    assert_eq!(compact(&table, &full).unwrap(), Compacted::default());
    assert_eq!(compact(&table, &at_most(0.34)).unwrap(), Compacted::default());
    let done = compact(&table, &at_most(0.33)).unwrap();
    assert_eq!((done.files_removed, done.files_added, done.rows, done.rows_dropped), (1, 1, 60, 40));
    let done = compact(&table, &at_most(0.05)).unwrap();
    assert_eq!((done.files_removed, done.files_added, done.rows, done.rows_dropped), (2, 2, 150, 50));
    // Tiny files wait until there are many.
    let small = CompactOptions { target_bytes: 256 << 20, min_files: 50, ..at_most(0.0) };
    assert_eq!(compact(&table, &small).unwrap(), Compacted::default());
    assert_eq!(compact(&table, &at_most(0.0)).unwrap().rows_dropped, 10);
    assert_eq!(read(&table), before);
}

/// A table of six small files, the last one of an upsert.
fn upserted() -> (Arc<InMemory>, Table) {
    let inner = Arc::new(InMemory::new());
    let table = table(&inner);
    create(&table, 0..100, &[]);
    (1..5).for_each(|n| append(&table, n * 100..n * 100 + 100, "a"));
    put(&table, &rows([5, 105, 999], "b")).unwrap();
    (inner, table)
}

#[test]
fn after_a_write_the_log_is_not_read_again() {
    let requests = |table: &Table| table.job().meter().counts().requests;
    let (inner, known) = upserted();
    let (before, expected) = (requests(&known), read(&known));
    let before_compaction = requests(&known);
    assert_ne!(before_compaction.list, before.list);
    let done = compact_after_write(&known, &CompactOptions::default()).unwrap();
    assert_eq!((done.version, done.files_removed, done.rows_dropped), (Some(6), 6, 2));
    // The write has not opened the version that it made.
    assert_eq!(requests(&known).list, before_compaction.list + 1);
    assert_eq!(read(&table(&inner)), expected);

    let (inner, _) = upserted();
    let other = table(&inner);
    assert_eq!(compact_after_write(&other, &CompactOptions::default()).unwrap().version, Some(6));
    assert_ne!(requests(&other).list, 0);
    // Six entries, and whether there is a checkpoint.
    let read_of_log = requests(&other).get - (requests(&known).get - before_compaction.get);
    assert_eq!(read_of_log, 7);
}

#[test]
fn after_a_write_the_work_of_faster_writers_is_kept() {
    let (inner, known) = upserted();
    let other = table(&inner);
    put(&other, &rows([6, 105, 1000], "c")).unwrap();
    let expected = read(&other);
    let done = compact_after_write(&known, &CompactOptions::default()).unwrap();
    assert_eq!((done.version, done.files_removed), (Some(7), 6));
    assert_eq!(read(&other), expected);
    // It goes on from its own version, whatever came behind that.
    delete(&other, &less("id", 3)).unwrap();
    assert_eq!(compact_after_write(&known, &CompactOptions::default()).unwrap().version, Some(9));
    assert_eq!(read(&other).len(), expected.len() - 3);
}

#[test]
fn few_small_files_can_be_left() {
    let inner = Arc::new(InMemory::new());
    let table = table(&inner);
    create(&table, 0..10, &[]);
    (1..4).for_each(|n| append(&table, n * 10..n * 10 + 10, "a"));
    let options = CompactOptions { min_files: 5, ..CompactOptions::default() };
    assert_eq!(compact(&table, &options).unwrap().version, None);
    append(&table, 50..60, "a");
    assert_eq!(compact(&table, &options).unwrap().files_removed, 5);
}

#[test]
fn a_full_file_does_not_wait_for_small_ones() {
    let inner = Arc::new(InMemory::new());
    let table = table(&inner);
    create(&table, 0..1000, &[]);
    let small = CompactOptions { min_files: 50, max_hidden_share: 0.5, ..CompactOptions::default() };
    let full = CompactOptions { target_bytes: 1, ..small.clone() };
    delete(&table, &less("id", 500)).unwrap();
    assert_eq!(compact(&table, &full).unwrap(), Compacted::default());
    delete(&table, &less("id", 501)).unwrap();
    assert_eq!(compact(&table, &small).unwrap(), Compacted::default());
    let sorted = CompactOptions { layout: Layout::SortBy(vec!["id".to_owned()]), ..full.clone() };
    assert_eq!(compact(&table, &sorted).unwrap(), Compacted::default());
    let done = compact(&table, &full).unwrap();
    assert_eq!((done.files_removed, done.files_added, done.rows, done.rows_dropped), (1, 1, 499, 501));
    assert_eq!(compact(&table, &full).unwrap(), Compacted::default());
}

#[test]
fn a_file_with_other_rows_than_the_log_says_is_named_and_nothing_is_changed() {
    let inner = Arc::new(InMemory::new());
    create(&table(&inner), 0..100, &[]);
    append(&table(&inner), 100..200, "a");
    let mut lines = entry(&inner, 1);
    let add = lines.iter_mut().find_map(|line| line.get_mut("add")).unwrap();
    let stats = add["stats"].as_str().unwrap().replace(r#""numRecords":100"#, r#""numRecords":90"#);
    let name = add["path"].as_str().unwrap().to_owned();
    add["stats"] = stats.into();
    let text = lines.iter().map(|line| format!("{line}\n")).collect::<String>();
    let path = Path::from(format!("lake/table/_delta_log/{:020}.json", 1));
    block_on(inner.put(&path, text.into())).unwrap();
    for layout in [Layout::AsIs, Layout::SortBy(vec!["id".to_owned()]), Layout::ZOrder(vec!["id".to_owned()])] {
        let error = compact(&table(&inner), &CompactOptions { layout, ..CompactOptions::default() }).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
        let said = error.to_string();
        assert!(said.contains(&name) && said.contains("100 rows, but the log states 90"), "{said}");
    }
    assert_eq!((version(&table(&inner)), stored(&inner).len()), (1, 2));
}

fn partitioned(rows: std::ops::Range<i64>) -> RecordBatch {
    let ids: ArrayRef = Arc::new(rows.clone().map(Some).collect::<Int64Array>());
    let texts: ArrayRef = Arc::new(rows.clone().map(|n| Some(format!("t{n}"))).collect::<StringArray>());
    let days: ArrayRef = Arc::new(rows.map(|n| (n % 4 != 3).then_some(n % 4)).collect::<Int64Array>());
    RecordBatch::try_from_iter_with_nullable([("id", ids, true), ("text", texts, true), ("day", days, true)]).unwrap()
}

#[test]
fn partitions_are_compacted_apart() {
    let inner = Arc::new(InMemory::new());
    let table = table(&inner);
    write(&table, WriteMode::Error, partitioned(0..40), &["day"], &[]);
    (1..5).for_each(|n| write(&table, WriteMode::Append, partitioned(n * 40..n * 40 + 40), &[], &[]));
    let before = read(&table);
    assert_eq!(files(&table), 20);
    let one = CompactOptions { condition: Some(less("day", 1)), ..CompactOptions::default() };
    assert_eq!(compact(&table, &one).unwrap().files_removed, 5);
    assert_eq!(files(&table), 16);
    let error = compact(&table, &CompactOptions { condition: Some(less("id", 1)), ..one }).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Usage, "{error}");
    let done = compact(&table, &CompactOptions::default()).unwrap();
    assert_eq!((done.files_removed, done.files_added), (15, 3));
    assert_eq!(read(&table), before);
}

#[test]
fn more_files_than_are_open_at_once_become_one_a_partition() {
    let inner = Arc::new(InMemory::new());
    let table = table(&inner);
    let days = 600;
    let by_day = |ids: std::ops::Range<i64>| {
        let day: ArrayRef = Arc::new(ids.clone().map(|id| Some(id % days)).collect::<Int64Array>());
        let texts: ArrayRef = Arc::new(ids.clone().map(|id| Some(format!("t{id}"))).collect::<StringArray>());
        let ids: ArrayRef = Arc::new(ids.map(Some).collect::<Int64Array>());
        RecordBatch::try_from_iter_with_nullable([("id", ids, true), ("text", texts, true), ("day", day, true)])
            .unwrap()
    };
    write(&table, WriteMode::Error, by_day(0..days), &["day"], &[]);
    write(&table, WriteMode::Append, by_day(days..2 * days), &[], &[]);
    let before = read(&table);
    let done = compact(&table, &CompactOptions::default()).unwrap();
    assert_eq!((done.commits, done.files_removed, done.files_added, done.rows), (1, 1200, 600, 1200));
    assert_eq!(read(&table), before);
}

/// The ids in the order of the files and their rows.
fn in_order(table: &Table) -> Vec<i64> {
    let source = DeltaSource::open(table.snapshot(None).unwrap()).unwrap();
    let plan = source.plan(&ReadRequest::default()).unwrap();
    let mut ids = Vec::new();
    for batch in source.read(&plan).unwrap() {
        ids.extend(batch.unwrap().column(0).as_primitive::<Int64Type>().values());
    }
    ids
}

#[test]
fn rows_are_sorted_over_all_files_of_a_partition() {
    for memory_bytes in [1 << 30, 500_000] {
        let inner = Arc::new(InMemory::new());
        let table = table(&inner);
        let mut all: Vec<i64> = (0..40_000).collect();
        all.sort_by_key(|id| scattered(*id as u64, 1 << 40));
        create(&table, -1..0, &[]);
        for part in all.chunks(8000) {
            write(&table, WriteMode::Append, batch(&rows(part.iter().copied(), "a")), &[], &[]);
        }
        delete(&table, &less("id", 100)).unwrap();
        let before = read(&table);
        let options = CompactOptions {
            layout: Layout::SortBy(vec!["id".to_owned()]),
            target_bytes: 50_000,
            memory_bytes,
            write: WriteOptions { row_group_rows: Some(1000), ..WriteOptions::default() },
            ..CompactOptions::default()
        };
        let done = compact(&table, &options).unwrap();
        assert_eq!(in_order(&table), (100..40_000).collect::<Vec<i64>>());
        assert_eq!(read(&table), before);
        assert!(done.files_added > 1, "{done:?}");
        assert_eq!(done.rows, 39_900);
        // A filter opens those files only that can have its rows.
        let source = DeltaSource::open(table.snapshot(None).unwrap()).unwrap();
        let request = ReadRequest { filter: Some(less("id", 120)), ..ReadRequest::default() };
        let plan = source.plan(&request).unwrap();
        let read = plan.files.iter().filter(|file| file.units.iter().any(|unit| unit.pruned.is_none())).count();
        assert_eq!((read, plan.files.len() as u64), (1, done.files_added));
        let nope = CompactOptions { layout: Layout::SortBy(vec!["nope".to_owned()]), ..options };
        assert_eq!(compact(&table, &nope).unwrap_err().kind(), ErrorKind::NotFound);
    }
}

#[test]
fn rows_are_put_along_a_curve() {
    let inner = Arc::new(InMemory::new());
    let table = table(&inner);
    create(&table, 0..2000, &[]);
    append(&table, 2000..4000, "a");
    let before = read(&table);
    let layout = Layout::ZOrder(vec!["id".to_owned(), "text".to_owned()]);
    let done = compact(&table, &CompactOptions { layout, ..CompactOptions::default() }).unwrap();
    assert_eq!((done.files_removed, done.files_added, done.rows), (2, 1, 4000));
    assert_eq!(read(&table), before);
    assert_eq!(entry(&inner, 2)[0]["commitInfo"]["operationParameters"]["zOrderBy"], r#"["id","text"]"#);
}

#[test]
fn rows_that_are_hidden_meanwhile_are_hidden_in_the_new_files() {
    let inner = Arc::new(InMemory::new());
    let healthy = table(&inner);
    create(&healthy, 0..100, &[]);
    append(&healthy, 100..200, "a");
    put(&healthy, &rows([0, 7, 120], "before")).unwrap();
    let other = table(&inner);
    let store = Meanwhile::before(3, &inner, move || {
        put(&other, &rows([5, 7, 99, 100, 150], "meanwhile")).unwrap();
    });
    let done = compact(&on(store), &CompactOptions::default()).unwrap();
    // 197 rows of the base, and 3 of the upsert before: 5 of them are hidden by now.
    assert_eq!((done.version, done.commits, done.files_removed, done.rows), (Some(4), 1, 3, 200));
    let added: Vec<_> =
        entry(&inner, 4).into_iter().filter_map(|mut line| line.get_mut("add").map(serde_json::Value::take)).collect();
    assert_eq!((added.len(), &added[0]["deletionVector"]["cardinality"]), (1, &serde_json::json!(5)));
    assert!(added[0]["stats"].as_str().unwrap().contains(r#""tightBounds":false"#));
    let now = read(&healthy);
    assert_eq!(now.len(), 200);
    for (id, text) in [(0, "before 0"), (5, "meanwhile 5"), (7, "meanwhile 7"), (99, "meanwhile 99"), (101, "a 101")] {
        assert_eq!(now[&id], text);
    }
    assert_eq!(read_at(&healthy, Some(3)).unwrap(), now);
    // The vectors of then, those of the upsert, and ours; three data files of then, one of the upsert, and ours.
    assert_eq!(stored(&inner).len(), 8);
    assert_eq!(compact(&healthy, &CompactOptions::default()).unwrap().rows_dropped, 5);
    assert_eq!(read(&healthy), now);
}

#[test]
fn rows_that_are_hidden_meanwhile_are_found_in_every_group() {
    let inner = Arc::new(InMemory::new());
    let healthy = table(&inner);
    write(&healthy, WriteMode::Error, partitioned(0..40), &["day"], &[]);
    write(&healthy, WriteMode::Append, partitioned(40..80), &[], &[]);
    let other = table(&inner);
    let store = Meanwhile::before(2, &inner, move || {
        // All but one row of a file of each partition.
        delete(&other, &less("id", 36)).unwrap();
    });
    let done = compact(&on(store), &CompactOptions::default()).unwrap();
    assert_eq!((done.version, done.commits, done.given_up), (Some(3), 1, 0));
    assert_eq!(read(&healthy).keys().copied().collect::<Vec<_>>(), (36..80).collect::<Vec<_>>());
}

#[test]
fn sorted_files_that_change_meanwhile_are_given_up_and_then_done() {
    let inner = Arc::new(InMemory::new());
    let healthy = table(&inner);
    create(&healthy, 0..100, &[]);
    append(&healthy, 100..200, "a");
    let other = table(&inner);
    let store = Meanwhile::before(2, &inner, move || {
        put(&other, &rows([5, 150], "meanwhile")).unwrap();
    });
    let options = CompactOptions { layout: Layout::SortBy(vec!["text".to_owned()]), ..CompactOptions::default() };
    let done = compact(&on(store), &options).unwrap();
    // The first attempt was for files that have vectors by now; the second one left the upsert's own file alone.
    assert_eq!((done.version, done.commits, done.files_removed, done.rows), (Some(3), 1, 2, 198));
    let now = read(&healthy);
    assert_eq!((now.len(), now[&5].as_str(), now[&150].as_str()), (200, "meanwhile 5", "meanwhile 150"));
    // The files of the first attempt are gone: two data files of then, one of the upsert, its vectors, and ours.
    assert_eq!(stored(&inner).len(), 5);
}

#[test]
fn other_groups_are_committed_all_the_same() {
    let inner = Arc::new(InMemory::new());
    let healthy = table(&inner);
    write(&healthy, WriteMode::Error, partitioned(0..40), &["day"], &[]);
    write(&healthy, WriteMode::Append, partitioned(40..80), &[], &[]);
    let before = read(&healthy);
    let other = table(&inner);
    let store = Meanwhile::before(2, &inner, move || {
        // A partition of which no row is left.
        delete(&other, &less("day", 1)).unwrap();
    });
    let done = compact(&on(store), &CompactOptions::default()).unwrap();
    assert_eq!((done.version, done.commits, done.files_removed, done.files_added), (Some(3), 1, 6, 3));
    assert_eq!((done.rows, done.given_up), (60, 0));
    let mut expected = before;
    expected.retain(|id, _| *id % 4 != 0);
    assert_eq!(read(&healthy), expected);
}

#[test]
fn a_table_that_was_overwritten_meanwhile_stays_so() {
    let inner = Arc::new(InMemory::new());
    let healthy = table(&inner);
    create(&healthy, 0..100, &[]);
    append(&healthy, 100..200, "a");
    let other = table(&inner);
    let store = Meanwhile::before(2, &inner, move || {
        write(&other, WriteMode::Overwrite, batch(&rows(0..3, "new")), &[], &[]);
    });
    let done = compact(&on(store), &CompactOptions::default()).unwrap();
    assert_eq!((done.version, done.given_up), (None, 0));
    assert_eq!((read(&healthy).len(), version(&healthy)), (3, 2));
    assert_eq!(stored(&inner).len(), 3);
}

#[test]
fn upserts_beside_compactions_lose_nothing() {
    let inner = Arc::new(InMemory::new());
    create(&table(&inner), 0..300, &[]);
    let is_over = AtomicBool::new(false);
    let commits = std::thread::scope(|scope| {
        let compactor = scope.spawn(|| {
            let mut commits = 0;
            while !is_over.load(Ordering::Relaxed) {
                commits += compact(&table(&inner), &CompactOptions::default()).unwrap().commits;
            }
            commits
        });
        let writers: Vec<_> = (0..3i64)
            .map(|writer| {
                let inner = &inner;
                scope.spawn(move || {
                    let table = table(inner);
                    for round in 0..8u64 {
                        let ids = (0..40).map(|n| scattered(writer as u64 * 977 + round * 31 + n, 400));
                        let ids: std::collections::BTreeSet<i64> = ids.chain([1000 + writer]).collect();
                        put(&table, &rows(ids, &format!("writer {writer} round {round}"))).unwrap();
                    }
                })
            })
            .collect();
        writers.into_iter().for_each(|writer| writer.join().unwrap());
        is_over.store(true, Ordering::Relaxed);
        compactor.join().unwrap()
    });
    let table = table(&inner);
    let now = read(&table);
    for writer in 0..3i64 {
        assert_eq!(now[&(1000 + writer)], format!("writer {writer} round 7 {}", 1000 + writer));
    }
    assert!((0..300).all(|id| now.contains_key(&id)));
    assert_eq!(version(&table), 24 + commits);
    compact(&table, &CompactOptions::default()).unwrap();
    assert_eq!(read(&table), now);
}
