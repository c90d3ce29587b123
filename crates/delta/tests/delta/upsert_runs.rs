//! Upserts of large sources whose keys are read ahead: their rows are written in runs while they are read.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use arrow::array::{ArrayRef, AsArray, Int64Array, RecordBatch, StringArray};
use arrow::datatypes::Int64Type;
use lakerace_delta::{
    ChangeOutcome, OnDuplicate, SourceRows, Table, UpsertOptions, WriteMode, delete_keys, explain_upsert, upsert,
};
use lakerace_format::Batches;
use lakerace_io::object_store::memory::InMemory;
use lakerace_io::{Error, ErrorKind, Result};

use crate::common::{Meanwhile, Model, batch, on, put, read, rows, scattered, stored, table, version, write};

/// Rows that can be read again, which counts how often their keys and all of their columns are read.
#[derive(Default)]
struct Reads {
    keys: AtomicUsize,
    whole: AtomicUsize,
}

impl Reads {
    fn counts(&self) -> (usize, usize) {
        (self.keys.load(Ordering::Relaxed), self.whole.load(Ordering::Relaxed))
    }

    /// Batches of a source; `when_whole` are those that it has when its rows are read.
    fn source(self: &Arc<Self>, ahead: Vec<RecordBatch>, when_whole: Vec<RecordBatch>) -> SourceRows {
        let (reads, schema) = (Arc::clone(self), ahead[0].schema());
        let rows = ahead.iter().map(RecordBatch::num_rows).sum::<usize>() as u64;
        SourceRows::read_again(Arc::clone(&schema), rows, u64::MAX, move |columns| match columns {
            None => {
                reads.whole.fetch_add(1, Ordering::Relaxed);
                Ok(Batches::new(Arc::clone(&schema), when_whole.clone().into_iter().map(Ok)))
            }
            Some(names) => {
                reads.keys.fetch_add(1, Ordering::Relaxed);
                let numbers: Vec<usize> = names.iter().map(|name| schema.index_of(name).unwrap()).collect();
                let some = Arc::new(schema.project(&numbers).unwrap());
                let batches = ahead.clone().into_iter().map(move |batch| Ok(batch.project(&numbers).unwrap()));
                Ok(Batches::new(some, batches))
            }
        })
    }
}

/// Rows that can be read again.
fn again(batches: Vec<RecordBatch>) -> SourceRows {
    Arc::<Reads>::default().source(batches.clone(), batches)
}

/// So little memory that rows are written in several runs, and enough for their keys.
fn small(key: &[&str]) -> UpsertOptions {
    let key = key.iter().map(|name| (*name).to_owned()).collect();
    UpsertOptions { key, memory_bytes: 2 << 20, ..UpsertOptions::default() }
}

fn by_id() -> UpsertOptions {
    small(&["id"])
}

fn base(properties: &[(&str, &str)], partition_by: &[&str]) -> (Arc<InMemory>, Table) {
    let inner = Arc::new(InMemory::new());
    let table = table(&inner);
    write(&table, WriteMode::Error, batch(&rows(0..3000, "base")), partition_by, properties);
    (inner, table)
}

/// A text so long that some thousand of them are several runs.
fn long(text: &str) -> String {
    format!("{text} {}", "long ".repeat(40))
}

/// Rows in no order, in batches of several sizes.
fn shuffled(rows: &[(i64, String)]) -> Vec<RecordBatch> {
    let mut rest = rows;
    let mut batches = Vec::new();
    for size in [1, 700, 33].into_iter().cycle() {
        let (some, behind) = rest.split_at(rest.len().min(size));
        if some.is_empty() {
            return batches;
        }
        batches.push(batch(some));
        rest = behind;
    }
    batches
}

#[test]
fn runs_hold_what_a_map_would_hold() {
    let (_, table) = base(&[], &[]);
    let mut model = read(&table);
    for round in 0..4u64 {
        // Each key twice on average, near and far from each other.
        let some: Vec<(i64, String)> =
            (0..6000).map(|n| (scattered(round * 10_000 + n, 5000), long(&format!("round {round} row {n}")))).collect();
        let different: BTreeSet<i64> = some.iter().map(|(id, _)| *id).collect();
        let known = different.iter().filter(|id| model.contains_key(id)).count();
        let reads = Arc::<Reads>::default();
        let changed = upsert(&table, reads.source(shuffled(&some), shuffled(&some)), &by_id()).unwrap();
        assert_eq!(reads.counts(), (1, 1));
        assert_eq!((changed.written.rows, changed.hidden), (different.len() as u64, known as u64));
        assert_eq!(changed.windows, 1);
        model.extend(some);
        assert_eq!(read(&table), model, "round {round}");
    }
}

#[test]
fn no_rows_are_no_version() {
    let (inner, table) = base(&[], &[]);
    let before = stored(&inner);
    assert_eq!(upsert(&table, again(vec![batch(&[])]), &by_id()).unwrap(), ChangeOutcome::default());
    assert_eq!((version(&table), stored(&inner)), (0, before));
}

#[test]
fn rows_in_order_are_written_as_they_come() {
    let (_, table) = base(&[], &[]);
    let mut model = read(&table);
    let some = rows((1000..4000).flat_map(|id| [id, id]), "new");
    upsert(&table, again(shuffled(&some)), &by_id()).unwrap();
    model.extend(some);
    assert_eq!(read(&table), model);
}

#[test]
fn keys_may_be_texts_and_tables_partitioned() {
    let texts = |ids: &[i64], part: &str| {
        let keys: ArrayRef = Arc::new(ids.iter().map(|id| Some(format!("key {id}"))).collect::<StringArray>());
        let numbers: ArrayRef = Arc::new(ids.iter().map(|id| Some(*id)).collect::<Int64Array>());
        let parts: ArrayRef = Arc::new(StringArray::from(vec![part; ids.len()]));
        RecordBatch::try_from_iter_with_nullable([("key", keys, true), ("id", numbers, true), ("text", parts, true)])
            .unwrap()
    };
    let table = table(&Arc::new(InMemory::new()));
    write(&table, WriteMode::Error, texts(&(0..2000).collect::<Vec<_>>(), "a"), &["text"], &[]);
    // Half of the rows move to another partition; some come twice, with another partition each time.
    let ids: Vec<i64> = (0..4000).map(|n| n * 7919 % 4000 + 1000).collect();
    let batches = [("b", &ids[..3000]), ("c", &ids[2000..])];
    let batches: Vec<RecordBatch> =
        batches.iter().flat_map(|(part, ids)| ids.chunks(500).map(|ids| texts(ids, part))).collect();
    let changed = upsert(&table, again(batches), &small(&["key"])).unwrap();
    assert_eq!((changed.written.rows, changed.hidden), (4000, 1000));
    let model = read(&table);
    assert_eq!(model.len(), 5000);
    for (part, ids) in [("b", &ids[..2000]), ("c", &ids[2000..])] {
        assert!(ids.iter().all(|id| model[id] == part), "{part}");
    }
}

#[test]
fn what_needs_all_rows_at_once_is_read_once() {
    let (_, table) = base(&[], &[]);
    let some = shuffled(&rows((0..4000).map(|n| n * 7919 % 4000), "new"));
    let ids = some.iter().map(|batch| batch.project(&[0]).unwrap()).collect::<Vec<_>>();
    let merge = vec![("text".to_owned(), "concat:+".parse().unwrap())];
    let ways: [(UpsertOptions, &[RecordBatch]); 3] = [
        (UpsertOptions { insert_only: true, ..by_id() }, &some),
        (UpsertOptions { merge, ..by_id() }, &some),
        // A column keeps what the table has.
        (by_id(), &ids),
    ];
    for (options, batches) in ways {
        let reads = Arc::<Reads>::default();
        upsert(&table, reads.source(batches.to_vec(), batches.to_vec()), &options).unwrap();
        assert_eq!(reads.counts(), (0, 1), "{options:?}");
    }
    let reads = Arc::<Reads>::default();
    delete_keys(&table, reads.source(some.clone(), some.clone()), &by_id()).unwrap();
    // Of rows to be deleted nothing but keys is read.
    assert_eq!(reads.counts(), (1, 0));
    assert_eq!(read(&table).len(), 0);
}

#[test]
fn a_plan_needs_the_keys_alone() {
    let (_, table) = base(&[], &[]);
    let some = shuffled(&rows((0..4000).map(|n| n * 7919 % 4000), "new"));
    let reads = Arc::<Reads>::default();
    let plan = explain_upsert(&table, reads.source(some.clone(), some.clone()), &by_id()).unwrap();
    assert_eq!((reads.counts(), plan.rows, plan.windows, plan.vectors_at_most), ((1, 0), 4000, 1, 1));
    let known = explain_upsert(&table, Batches::new(some[0].schema(), some.into_iter().map(Ok)), &by_id()).unwrap();
    assert_eq!((plan.key_bytes, plan.row_groups, plan.rows), (known.key_bytes, known.row_groups, known.rows));
}

#[test]
fn small_sources_are_sorted_at_once() {
    let (_, table) = base(&[], &[]);
    let some = batch(&rows([7, 3], "new"));
    let read_twice = |columns: Option<&[String]>| match columns {
        Some(_) => Err(Error::internal("keys are not needed")),
        None => Ok(Batches::new(batch(&[]).schema(), [Ok(batch(&rows([7, 3], "new")))].into_iter())),
    };
    upsert(&table, SourceRows::read_again(some.schema(), 2, 100, read_twice), &by_id()).unwrap();
    assert_eq!(read(&table)[&3], "new 3");
}

#[test]
fn keys_that_do_not_fit_come_in_windows() {
    let (_, table) = base(&[], &[]);
    let some = rows((0..40_000).map(|n| n * 7919 % 40_000), "new");
    let reads = Arc::<Reads>::default();
    let changed = upsert(&table, reads.source(shuffled(&some), shuffled(&some)), &by_id()).unwrap();
    assert!(changed.windows > 1, "{changed:?}");
    assert_eq!(reads.counts(), (1, 1));
    assert_eq!(read(&table), some.into_iter().collect::<Model>());
}

#[test]
fn duplicates_are_an_error_that_names_them_on_request() {
    let (inner, table) = base(&[], &[]);
    let before = (version(&table), stored(&inner));
    let mut some = rows((0..4000).map(|n| n * 7919 % 4000), "new");
    let options = UpsertOptions { on_duplicate: OnDuplicate::Error, ..by_id() };
    some[3999] = some[10].clone();
    let error = upsert(&table, again(shuffled(&some)), &options).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert!(error.message().contains("rows 11 and 4000 have the same key, id = "), "{error}");
    assert_eq!((version(&table), stored(&inner)), before);
    some.pop();
    assert_eq!(upsert(&table, again(shuffled(&some)), &options).unwrap().written.rows, 3999);
}

#[test]
fn a_row_without_a_key_is_named_before_anything_is_written() {
    let (inner, table) = base(&[], &[]);
    let before = stored(&inner);
    let ids: ArrayRef = Arc::new(Int64Array::from(vec![Some(1), None, Some(3)]));
    let texts: ArrayRef = Arc::new(StringArray::from(vec!["a", "b", "c"]));
    let broken = RecordBatch::try_from_iter_with_nullable([("id", ids, true), ("text", texts, true)]).unwrap();
    let reads = Arc::<Reads>::default();
    let batches = vec![batch(&rows(0..2000, "new")), broken];
    let error = upsert(&table, reads.source(batches.clone(), batches), &by_id()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert!(error.to_string().contains("row 2002"), "{error}");
    assert_eq!((reads.counts(), stored(&inner)), ((1, 0), before));
}

#[test]
fn a_source_that_changes_between_its_readings_is_an_error() {
    let (inner, table) = base(&[], &[]);
    let before = (version(&table), stored(&inner), read(&table));
    let all = shuffled(&rows((0..4000).map(|n| n * 7919 % 4000), "new"));
    let more = all.iter().cloned().chain([batch(&rows([1], "more"))]).collect();
    for other in [all[..all.len() - 1].to_vec(), more, Vec::new()] {
        let error = upsert(&table, Arc::<Reads>::default().source(all.clone(), other), &by_id()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Conflict, "{error}");
        assert_eq!((version(&table), stored(&inner), read(&table)), before);
    }
}

#[test]
fn an_error_of_the_source_leaves_nothing() {
    let (inner, table) = base(&[], &[]);
    let before = (version(&table), stored(&inner), read(&table));
    let all = shuffled(&rows((0..4000).map(|n| n * 7919 % 4000), "new"));
    for fails_ahead in [true, false] {
        let (all, schema) = (all.clone(), all[0].schema());
        let read = move |columns: Option<&[String]>| {
            let fails = columns.is_some() == fails_ahead;
            let (schema, end) = match columns {
                Some(_) => (Arc::new(schema.project(&[0]).unwrap()), 1),
                None => (Arc::clone(&schema), 2),
            };
            let batches = all.clone().into_iter().map(move |batch| Ok(batch.project(&[0, 1][..end]).unwrap()));
            let error = fails.then(|| Err(Error::invalid("the source is broken")));
            Ok(Batches::new(schema, batches.take(15).chain(error).chain(Vec::new())))
        };
        let error = upsert(&table, SourceRows::read_again(batch(&[]).schema(), 4000, u64::MAX, read), &by_id());
        assert_eq!(error.unwrap_err().message(), "the source is broken");
        assert_eq!((version(&table), stored(&inner), crate::common::read(&table)), before);
    }
}

#[test]
fn rows_of_another_writer_are_found_too() {
    let (inner, quiet) = base(&[], &[]);
    let other = table(&inner);
    let meanwhile = Meanwhile::before(1, &inner, move || drop(put(&other, &rows([5, 100_000], "other")).unwrap()));
    let some = rows((0..4000).map(|n| n * 7919 % 4000), "new");
    let changed: Result<ChangeOutcome> = upsert(&on(meanwhile), again(shuffled(&some)), &by_id());
    assert_eq!(changed.unwrap().written.version, Some(2));
    let model = read(&quiet);
    assert_eq!((model.len(), model[&5].as_str(), model[&100_000].as_str()), (4001, "new 5", "other 100000"));
}

#[test]
fn runs_that_break_off_are_whole_or_not_there() {
    let some = shuffled(&rows((0..3000).map(|n| n * 7919 % 3000), &long("c")));
    crate::upsert::break_off(&|table| upsert(table, again(some.clone()), &by_id()));
}

#[test]
fn files_of_runs_are_in_order_run_by_run() {
    let (_, table) = base(&[], &[]);
    let some = rows((0..4000).map(|n| n * 7919 % 4000 + 10_000), &long("new"));
    upsert(&table, again(shuffled(&some)), &by_id()).unwrap();
    let source = lakerace_delta::DeltaSource::open(table.snapshot(None).unwrap()).unwrap();
    let plan = lakerace_format::Source::plan(&source, &lakerace_format::ReadRequest::default()).unwrap();
    let batches = lakerace_format::Source::read(&source, &plan).unwrap();
    let ids: Vec<i64> = batches
        .flat_map(|batch| batch.unwrap().column(0).as_primitive::<Int64Type>().values().to_vec())
        .filter(|id| *id >= 10_000)
        .collect();
    assert_eq!(ids.len(), 4000);
    let runs = 1 + ids.windows(2).filter(|two| two[0] > two[1]).count();
    assert!((2..20).contains(&runs), "{runs} runs");
}
