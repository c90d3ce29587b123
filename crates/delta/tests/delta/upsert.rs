//! Upserts and deletes hold what a map would hold: whatever the batches, the order, the writers and the faults.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, Int64Array, RecordBatch, StringArray};
use arrow::datatypes::{Int64Type, SchemaRef};
use lakerace_delta::{Changed, DeltaSource, OnDuplicate, Table, UpsertOptions, delete, upsert};
use lakerace_delta::{DeltaSink, Evolve, TableWrite, WriteMode};
use lakerace_format::{Batches, CompareOp, Expr, Literal, ReadRequest, Source, WriteOptions};
use lakerace_io::object_store::ObjectStore;
use lakerace_io::object_store::memory::InMemory;
use lakerace_io::object_store::path::Path;
use lakerace_io::profile::Observations;
use lakerace_io::wrap::{Failing, FailingOptions};
use lakerace_io::{ErrorKind, Job, JobOptions, JobStore, Result};

type Model = BTreeMap<i64, String>;

fn table(after: Option<u64>, inner: &Arc<InMemory>) -> Table {
    let failing = FailingOptions { stop_after: after, ..FailingOptions::default() };
    let store = Failing::new(Arc::clone(inner) as Arc<dyn ObjectStore>, failing);
    let job = Job::new(JobOptions { threads: 2, ..JobOptions::default() });
    let store = JobStore::wrapping(Arc::new(store), "test://", Observations::local_disk(), &job);
    Table::on(&store, &Path::from("table")).unwrap()
}

fn batch(rows: &[(i64, String)]) -> RecordBatch {
    let ids: ArrayRef = Arc::new(rows.iter().map(|(id, _)| Some(*id)).collect::<Int64Array>());
    let texts: ArrayRef = Arc::new(rows.iter().map(|(_, text)| Some(text.as_str())).collect::<StringArray>());
    RecordBatch::try_from_iter_with_nullable([("id", ids, true), ("text", texts, true)]).unwrap()
}

fn stream(batches: Vec<RecordBatch>) -> Batches {
    let schema: SchemaRef = batches[0].schema();
    Batches::new(schema, batches.into_iter().map(Ok))
}

fn options(key: &[&str]) -> UpsertOptions {
    UpsertOptions {
        key: key.iter().map(|name| (*name).to_owned()).collect(),
        on_duplicate: OnDuplicate::Last,
        memory_bytes: 1 << 30,
        write: WriteOptions::default(),
    }
}

fn create(table: &Table, rows: &[(i64, String)], properties: &[(&str, &str)]) {
    let properties = properties.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    let options = WriteOptions::default();
    let write =
        TableWrite { mode: WriteMode::Error, partition_by: Vec::new(), properties, evolve: Evolve::default(), options };
    let batch = batch(rows);
    let mut sink = DeltaSink::create(table, &batch.schema(), &write).unwrap();
    sink.write(batch).unwrap();
    sink.finish().unwrap();
}

fn rows(ids: impl IntoIterator<Item = i64>, text: &str) -> Vec<(i64, String)> {
    ids.into_iter().map(|id| (id, format!("{text} {id}"))).collect()
}

fn put(table: &Table, rows: &[(i64, String)]) -> Result<Changed> {
    upsert(table, stream(vec![batch(rows)]), &options(&["id"]))
}

/// The rows of the table. A key that comes twice is a failure.
fn read(table: &Table) -> Model {
    let source = DeltaSource::open(table.snapshot(None).unwrap()).unwrap();
    let plan = source.plan(&ReadRequest::default()).unwrap();
    let mut model = Model::new();
    for batch in source.read(&plan).unwrap() {
        let batch = batch.unwrap();
        let ids = batch.column_by_name("id").unwrap().as_primitive::<Int64Type>().clone();
        let texts = batch.column_by_name("text").unwrap().as_string_view().clone();
        for row in 0..batch.num_rows() {
            let before = model.insert(ids.value(row), texts.value(row).to_owned());
            assert_eq!(before, None, "key {} comes twice", ids.value(row));
        }
    }
    model
}

/// Numbers without a pattern, the same in every run.
fn scattered(seed: u64, below: u64) -> i64 {
    let mut z = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    ((z ^ (z >> 27)) % below) as i64
}

fn less(column: &str, value: i128) -> Expr {
    let literal = Literal::Number { digits: value, scale: 0 };
    let (left, right) = (Box::new(Expr::Column(column.to_owned())), Box::new(Expr::Literal(literal)));
    Expr::Compare { op: CompareOp::Less, left, right }
}

#[test]
fn many_upserts_are_a_map() {
    let inner = Arc::new(InMemory::new());
    let table = table(None, &inner);
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
    assert_eq!(delete(&table, &less("id", -5)).unwrap(), Changed::default());
}

#[test]
fn files_that_cannot_have_the_keys_are_not_read() {
    let inner = Arc::new(InMemory::new());
    let table = table(None, &inner);
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
    let table = table(None, &inner);
    create(&table, &rows(0..10, "a"), &[]);
    (1..5).for_each(|n| drop(put(&table, &rows(n * 10..n * 10 + 10, "a")).unwrap()));
    let changed = put(&table, &rows((0..5).map(|n| n * 10 + 3), "b")).unwrap();
    assert_eq!(changed.vectors, 5);
    let count = |ending: &str| {
        let names = futures::executor::block_on(futures::StreamExt::collect::<Vec<_>>(inner.list(None)));
        names.into_iter().filter(|meta| meta.as_ref().unwrap().location.as_ref().ends_with(ending)).count()
    };
    assert_eq!(count(".bin"), 1);
}

#[test]
fn keys_of_several_columns() {
    let inner = Arc::new(InMemory::new());
    let table = table(None, &inner);
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
    let table = table(None, &inner);
    create(&table, &rows(0..3, "a"), &[("lakerace.primaryKey", "id")]);
    upsert(&table, stream(vec![batch(&rows([2, 3], "b"))]), &options(&[])).unwrap();
    assert_eq!(read(&table).len(), 4);
}

#[test]
fn the_last_row_of_a_key_wins_or_is_an_error() {
    let inner = Arc::new(InMemory::new());
    let table = table(None, &inner);
    create(&table, &rows(0..3, "a"), &[]);
    let twice = [rows([1], "first"), rows([7], "x"), rows([1], "last")].concat();
    let strict = UpsertOptions { on_duplicate: OnDuplicate::Error, ..options(&["id"]) };
    let error = upsert(&table, stream(vec![batch(&twice)]), &strict).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert!(error.to_string().contains("row 3"), "{error}");
    put(&table, &twice).unwrap();
    assert_eq!(read(&table)[&1], "last 1");
}

#[test]
fn rows_without_a_key_are_refused_by_number() {
    let inner = Arc::new(InMemory::new());
    let table = table(None, &inner);
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
fn sources_beyond_the_memory_and_tables_without_vectors_are_refused() {
    let inner = Arc::new(InMemory::new());
    let one = table(None, &inner);
    create(&one, &rows(0..3, "a"), &[("delta.enableDeletionVectors", "false")]);
    assert_eq!(put(&one, &rows([1], "b")).unwrap_err().kind(), ErrorKind::Unsupported);
    let inner = Arc::new(InMemory::new());
    let two = table(None, &inner);
    create(&two, &rows(0..3, "a"), &[]);
    let small = UpsertOptions { memory_bytes: 1000, ..options(&["id"]) };
    let error = upsert(&two, stream(vec![batch(&rows(0..1000, "b"))]), &small).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
}

#[test]
fn writers_at_the_same_time_lose_nothing() {
    let inner = Arc::new(InMemory::new());
    create(&table(None, &inner), &rows(0..200, "base"), &[]);
    std::thread::scope(|scope| {
        for writer in 0..4u64 {
            let inner = Arc::clone(&inner);
            scope.spawn(move || {
                let table = table(None, &inner);
                for round in 0..6u64 {
                    let ids = (0..40).map(|n| scattered(writer * 977 + round * 31 + n, 300));
                    let ids: std::collections::BTreeSet<i64> = ids.chain([1000 + writer as i64]).collect();
                    put(&table, &rows(ids, &format!("writer {writer} round {round}"))).unwrap();
                }
            });
        }
    });
    let now = read(&table(None, &inner));
    for writer in 0..4i64 {
        assert_eq!(now[&(1000 + writer)], format!("writer {writer} round 5 {}", 1000 + writer));
    }
    assert!((0..200).all(|id| now.contains_key(&id)));
    assert_eq!(table(None, &inner).snapshot(None).unwrap().version(), 24);
}

#[test]
fn upserts_that_break_off_are_whole_or_not_there() {
    let (mut failures, mut done) = (0, 0);
    for requests in 0.. {
        let inner = Arc::new(InMemory::new());
        let healthy = table(None, &inner);
        create(&healthy, &rows(0..50, "a"), &[]);
        put(&healthy, &rows(40..60, "b")).unwrap();
        let before = read(&healthy);
        let mut after = before.clone();
        after.extend(rows([5, 45, 99], "c"));
        let outcome = put(&table(Some(requests), &inner), &rows([5, 45, 99], "c"));
        let now = read(&table(None, &inner));
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
        put(&table(None, &inner), &rows([5, 45, 99], "c")).unwrap();
        assert_eq!(read(&table(None, &inner)), after);
        if done == 2 {
            break;
        }
    }
    assert!(failures > 5, "it failed only {failures} times");
}
