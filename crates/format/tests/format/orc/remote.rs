//! ORC over stores with latency, faults and changes: requests are counted on the store itself.

use std::sync::Arc;
use std::time::Duration;

use arrow::array::{ArrayRef, Int64Array, RecordBatch};
use lakerace_format::{CompareOp, OrcSource, ReadPlan, ReadRequest, Source};
use lakerace_io::object_store::memory::InMemory;
use lakerace_io::object_store::path::Path;
use lakerace_io::object_store::{ObjectStore, ObjectStoreExt};
use lakerace_io::profile::Observations;
use lakerace_io::wrap::{
    Failing, FailingOptions, Metered, Operation, RetryPolicy, Retrying, ThrottleOptions, Throttled,
};
use lakerace_io::{Error, ErrorKind, Job, JobOptions, JobStore, MinSeekSize, RangeOptions, Result};
use lakerace_orc::Codec;
use lakerace_orc::write::WriterOptions;

use super::orc_bytes;
use crate::common::{self, compare, filtered, number, read_plan};

/// Columns of 4,096 numbers each: a small likeness of 65,536 rows x 128 columns.
const COLUMNS: usize = 128;
const ROWS: i64 = 4096;

fn table() -> RecordBatch {
    let column = |at: i64| -> ArrayRef {
        Arc::new(Int64Array::from_iter_values(
            (0..ROWS).map(move |i| (i * (at + 3)).wrapping_mul(0x1e37_79b9_7f4a_7c15)),
        ))
    };
    RecordBatch::try_from_iter((0..COLUMNS as i64).map(|at| (format!("c{at}"), column(at)))).unwrap()
}

fn wide_file() -> Vec<u8> {
    // Stripes end when their bytes reach the size, looked at after each row group.
    let options =
        WriterOptions { codec: Codec::None, row_index_stride: 512, stripe_size: 1 << 20, ..Default::default() };
    orc_bytes(&table(), options)
}

fn alternate() -> ReadRequest {
    let names = (0..COLUMNS).step_by(2).map(|at| format!("c{at}"));
    ReadRequest { columns: Some(names.collect()), ..ReadRequest::default() }
}

fn job(min_seek_size: MinSeekSize) -> Job {
    let ranges = RangeOptions { min_seek_size, max_request_bytes: Some(128 << 20), ..RangeOptions::default() };
    Job::new(JobOptions { threads: 2, ranges, ..JobOptions::default() })
}

/// A file in memory, as a remote store under `wrap`; what the wrapped store does is counted by the job.
fn source(
    store: &Arc<InMemory>,
    job: &Job,
    wrap: impl Fn(Arc<dyn ObjectStore>) -> Arc<dyn ObjectStore>,
) -> Result<OrcSource> {
    let counted =
        Arc::new(Metered::operations(wrap(Arc::clone(store) as Arc<dyn ObjectStore>), Arc::clone(job.meter())));
    let policy = RetryPolicy {
        retries: 12,
        first_backoff: Duration::from_millis(1),
        longest_backoff: Duration::from_millis(4),
        stall: Duration::from_secs(20),
        ..RetryPolicy::default()
    };
    let store = JobStore::wrapping(Arc::new(Retrying::new(counted, policy)), "test://", Observations::s3(), job);
    OrcSource::open(vec![store.object(Path::from("wide.orc"))], job)
}

async fn put(store: &InMemory, bytes: Vec<u8>) {
    store.put(&Path::from("wide.orc"), bytes.into()).await.unwrap();
}

fn stored(bytes: Vec<u8>) -> Arc<InMemory> {
    let store = Arc::new(InMemory::new());
    tokio::runtime::Runtime::new().unwrap().block_on(put(&store, bytes));
    store
}

fn gets(job: &Job) -> u64 {
    job.meter().counts().requests.get
}

fn slowly(store: Arc<dyn ObjectStore>) -> Arc<dyn ObjectStore> {
    let options = ThrottleOptions { latency: Duration::from_millis(2), ..ThrottleOptions::default() };
    Arc::new(Throttled::new(store, options))
}

#[test]
fn alternate_columns_take_three_requests_or_one_for_each_column() {
    let store = stored(wide_file());
    let wanted = table().project(&(0..COLUMNS).step_by(2).collect::<Vec<_>>()).unwrap();
    let read = |min_seek_size| {
        let job = job(min_seek_size);
        let source = source(&store, &job, slowly).unwrap();
        let plan = source.plan(&alternate()).unwrap();
        let rows = read_plan(&source, &plan).unwrap();
        assert_eq!(rows, wanted.clone().with_schema(rows.schema()).unwrap());
        let stripes = source.info().units.unwrap();
        assert!(stripes > 2, "{stripes} stripes");
        (gets(&job), plan.requests.requests.len() as u64, stripes)
    };
    let (all, data, _) = read(MinSeekSize::Bytes(4 << 20));
    assert!(all <= 3 && data == 1, "{all} requests, {data} for data");
    let (all, data, stripes) = read(MinSeekSize::Bytes(0));
    // The streams of a column in a stripe touch.
    assert_eq!(data, stripes * COLUMNS as u64 / 2);
    // The tail, and the footers of the stripes that do not lie in it.
    assert!((1..=stripes + 1).contains(&(all - data)), "{all} requests, {data} for data");
    let (all, _, _) = read(MinSeekSize::Auto);
    assert!(all <= 3 + stripes, "{all} requests");
}

#[test]
fn a_filter_adds_one_request_for_the_indexes_of_all_stripes() {
    let store = stored(wide_file());
    let job = job(MinSeekSize::Bytes(4 << 20));
    let source = source(&store, &job, slowly).unwrap();
    let value = table().column(5).to_data().buffers()[0].typed_data::<i64>()[3000];
    let request = ReadRequest {
        columns: Some(vec!["c7".into()]),
        ..filtered(compare("c5", CompareOp::Eq, number(value.into())))
    };
    let plan = source.plan(&request).unwrap();
    assert_eq!(gets(&job), 2, "the tail; footers and indexes");
    assert_eq!(read_plan(&source, &plan).unwrap().num_rows(), 1);
    assert_eq!(gets(&job), 3);
}

#[test]
fn dropped_connections_and_errors_are_tried_again() {
    let store = stored(wide_file());
    for (seed, gap) in [(1, 0), (2, 4 << 20), (3, 100_000)] {
        let job = job(MinSeekSize::Bytes(gap));
        let options = FailingOptions { seed, error_rate: 0.1, reset_rate: 0.15, short_rate: 0.1, ..Default::default() };
        let source = source(&store, &job, |inner| Arc::new(Failing::new(inner, options.clone()))).unwrap();
        let rows = common::read(&source, &ReadRequest::default()).unwrap();
        assert_eq!(rows, table().with_schema(rows.schema()).unwrap());
    }
}

#[test]
fn a_store_that_is_gone_is_an_error() {
    let store = stored(wide_file());
    for requests in 0..8 {
        let job = job(MinSeekSize::Bytes(0));
        let options = FailingOptions { fail_from: Some((Operation::Get, requests + 1)), ..Default::default() };
        let read = || -> Result<RecordBatch> {
            let source = source(&store, &job, |inner| Arc::new(Failing::new(inner, options.clone())))?;
            common::read(&source, &alternate())
        };
        let error = read().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
        assert_eq!(error.to_string().matches("wide.orc").count(), 1, "{error}");
    }
}

/// What a read says when the object becomes `bytes` between its plan and it.
fn changed(bytes: Vec<u8>) -> Error {
    let store = stored(wide_file());
    let job = job(MinSeekSize::Bytes(4 << 20));
    let source = source(&store, &job, |inner| inner).unwrap();
    let plan: ReadPlan = source.plan(&alternate()).unwrap();
    tokio::runtime::Runtime::new().unwrap().block_on(put(&store, bytes));
    read_plan(&source, &plan).unwrap_err()
}

#[test]
fn an_object_that_changes_between_plan_and_read_is_a_conflict() {
    let error = changed(wide_file());
    assert_eq!(error.kind(), ErrorKind::Conflict, "{error}");
    assert!(error.to_string().contains("wide.orc"), "{error}");
    let cut = changed(wide_file()[..100_000].to_vec());
    assert!(matches!(cut.kind(), ErrorKind::Conflict | ErrorKind::Corrupt), "{cut}");
}

#[test]
fn truncated_objects_are_corrupt() {
    let whole = wide_file();
    for length in [0, 1, 3, 1000, whole.len() / 2, whole.len() - 1] {
        let error = source(&stored(whole[..length].to_vec()), &job(MinSeekSize::Auto), |inner| inner).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt, "{length}: {error}");
        assert!(error.to_string().contains("test://wide.orc"), "{error}");
    }
}
