//! Stores that end after the n-th request, for every n: a table reads as before or as after, never between, and the next
//! write succeeds.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, Int64Array, RecordBatch, StringArray};
use arrow::datatypes::Int64Type;
use lakerace_delta::{DeltaSink, DeltaSource, Evolve, Table, TableWrite, WriteMode};
use lakerace_format::{ReadRequest, Source, WriteOptions, Written};
use lakerace_io::object_store::ObjectStore;
use lakerace_io::object_store::memory::InMemory;
use lakerace_io::object_store::path::Path;
use lakerace_io::profile::Observations;
use lakerace_io::wrap::{Failing, FailingOptions};
use lakerace_io::{ErrorKind, Job, JobOptions, JobStore, Location, Result, StorageOptions};

/// A table in memory whose store ends after some requests.
fn table(after: Option<u64>, inner: &Arc<InMemory>) -> Table {
    let failing = FailingOptions { stop_after: after, ..FailingOptions::default() };
    let store = Failing::new(Arc::clone(inner) as Arc<dyn ObjectStore>, failing);
    let job = Job::new(JobOptions { threads: 2, ..JobOptions::default() });
    let store = JobStore::wrapping(Arc::new(store), "test://", Observations::local_disk(), &job);
    Table::on(&store, &Path::from("lake/a table")).unwrap()
}

fn batch(ids: std::ops::Range<i64>) -> RecordBatch {
    let texts: StringArray = ids.clone().map(|id| Some(format!("text {id}"))).collect();
    let columns: Vec<(&str, ArrayRef)> =
        vec![("id", Arc::new(Int64Array::from_iter_values(ids))), ("text", Arc::new(texts))];
    RecordBatch::try_from_iter(columns).unwrap()
}

fn write(table: &Table, mode: WriteMode, ids: std::ops::Range<i64>) -> Result<Written> {
    let batch = batch(ids);
    let options = WriteOptions { file_bytes: Some(1), ..WriteOptions::default() };
    let write = TableWrite {
        mode,
        partition_by: Vec::new(),
        properties: BTreeMap::new(),
        evolve: Evolve::default(),
        keep_not_null: false,
        options,
        load_name: None,
        resumes: false,
        replace_where: None,
    };
    let mut sink = DeltaSink::create(table, &batch.schema(), &write)?;
    // Two files.
    sink.write(batch.slice(0, batch.num_rows() / 2))?;
    sink.write(batch.slice(batch.num_rows() / 2, batch.num_rows() - batch.num_rows() / 2))?;
    sink.finish()
}

/// The ids in the table; `None` where there is none.
fn ids(table: &Table) -> Option<Vec<i64>> {
    let snapshot = match table.snapshot(None) {
        Err(error) if error.kind() == ErrorKind::NotFound => return None,
        other => other.unwrap(),
    };
    let source = DeltaSource::open(snapshot).unwrap();
    let plan = source.plan(&ReadRequest::default()).unwrap();
    let mut ids = Vec::new();
    for batch in source.read(&plan).unwrap() {
        ids.extend(batch.unwrap().column(0).as_primitive::<Int64Type>().values());
    }
    ids.sort_unstable();
    Some(ids)
}

#[test]
fn writes_that_break_off_are_whole_or_not_there() {
    for (mode, base) in
        [(WriteMode::Error, None), (WriteMode::Append, Some(0..10)), (WriteMode::Overwrite, Some(0..10))]
    {
        let (mut failures, mut done) = (0, 0);
        for requests in 0.. {
            let inner = Arc::new(InMemory::new());
            let healthy = table(None, &inner);
            if let Some(base) = base.clone() {
                write(&healthy, WriteMode::Error, base).unwrap();
            }
            let before = ids(&healthy);
            let outcome = write(&table(Some(requests), &inner), mode, 10..20);
            let after: Vec<i64> = if mode == WriteMode::Append { (0..20).collect() } else { (10..20).collect() };
            let now = ids(&table(None, &inner));
            match &outcome {
                Ok(_) => {
                    assert_eq!(now.as_ref(), Some(&after), "{mode:?}: {requests} requests");
                    done += 1;
                }
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::Unavailable, "{mode:?}, {requests} requests: {error}");
                    assert!(
                        now == before || now.as_ref() == Some(&after),
                        "{mode:?}: {now:?} after {requests} requests"
                    );
                    failures += 1;
                }
            }
            // Whatever was left behind, the next write works.
            let next = table(None, &inner);
            let mode = if now.is_some() { WriteMode::Append } else { WriteMode::Error };
            write(&next, mode, 30..32).unwrap();
            let expected = now.unwrap_or_default().into_iter().chain(30..32).collect::<Vec<_>>();
            assert_eq!(ids(&next), Some(expected));
            if done == 2 {
                break;
            }
        }
        assert!(failures > 5, "{mode:?} failed only {failures} times");
    }
}

#[test]
fn a_writer_that_comes_too_late_takes_its_folders_with_it() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("lake/table");
    let location = Location::parse(place.to_str().unwrap()).unwrap();
    let begin = |ids| {
        let batch = batch(ids);
        let partition_by = vec!["text".to_owned()];
        let (properties, evolve, options) = (BTreeMap::new(), Evolve::default(), WriteOptions::default());
        let write = TableWrite {
            mode: WriteMode::Error,
            partition_by,
            properties,
            evolve,
            keep_not_null: false,
            options,
            load_name: None,
            resumes: false,
            replace_where: None,
        };
        let table = Table::at(&location, &StorageOptions::default(), &Job::default()).unwrap();
        let mut sink = DeltaSink::create(&table, &batch.schema(), &write).unwrap();
        sink.write(batch).unwrap();
        sink
    };
    let (first, late) = (begin(0..3), begin(3..6));
    first.finish().unwrap();
    assert_eq!(late.finish().unwrap_err().kind(), ErrorKind::Conflict);
    let mut names: Vec<_> =
        std::fs::read_dir(&place).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    assert_eq!(names, ["_delta_log", "text=text 0", "text=text 1", "text=text 2"]);
}
