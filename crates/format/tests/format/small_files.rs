//! Small files on a remote store: their bytes come with their footers, by one request each.

use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, RecordBatch};
use arrow::compute::concat_batches;
use lakerace_format::{OrcSource, ParquetSource, ReadPlan, ReadRequest, Source};
use lakerace_io::object_store::memory::InMemory;
use lakerace_io::object_store::path::Path;
use lakerace_io::object_store::{ObjectStore, ObjectStoreExt};
use lakerace_io::profile::Observations;
use lakerace_io::wrap::Metered;
use lakerace_io::{Job, JobStore, Object, StoreAccess};
use lakerace_orc::write::WriterOptions;
use parquet::arrow::ArrowWriter;

use crate::common::{filtered, greater, job, read_plan};
use crate::orc::orc_bytes;

type Open<'a> = &'a dyn Fn(Vec<Object>, &Job) -> Box<dyn Source>;

fn rows(from: i64, count: i64) -> RecordBatch {
    let numbers =
        |step: i64| -> ArrayRef { Arc::new(Int64Array::from_iter_values((from..from + count).map(|n| n * step))) };
    RecordBatch::try_from_iter([("id", numbers(1)), ("other", numbers(0x1e37_79b9_7f4a_7c15 % 1_000_003))]).unwrap()
}

fn parquet_bytes(rows: &RecordBatch) -> Vec<u8> {
    let mut writer = ArrowWriter::try_new(Vec::new(), rows.schema(), None).unwrap();
    writer.write(rows).unwrap();
    writer.into_inner().unwrap()
}

/// These files in memory, as a store of this kind that counts its requests.
fn objects(files: &Arc<InMemory>, count: usize, access: StoreAccess) -> (Vec<Object>, Job) {
    let job = job(2);
    let counted = Metered::operations(Arc::clone(files) as Arc<dyn ObjectStore>, Arc::clone(job.meter()));
    let store = JobStore::wrapping(Arc::new(counted), "test://", Observations::s3(), &job);
    let store = JobStore { access, ..store };
    ((0..count).map(|n| store.object(Path::from(format!("{n:04}")))).collect(), job)
}

fn stored(files: impl IntoIterator<Item = Vec<u8>>) -> Arc<InMemory> {
    let store = Arc::new(InMemory::new());
    let runtime = tokio::runtime::Runtime::new().unwrap();
    for (n, bytes) in files.into_iter().enumerate() {
        runtime.block_on(store.put(&Path::from(format!("{n:04}")), bytes.into())).unwrap();
    }
    store
}

fn gets(job: &Job) -> u64 {
    job.meter().counts().requests.get
}

fn one_request_each(files: &Arc<InMemory>, open: Open) {
    let all: Vec<RecordBatch> = (0..20).map(|n| rows(n * 100, 100)).collect();
    let all = concat_batches(&all[0].schema(), &all).unwrap();
    let (remote, job) = objects(files, 20, StoreAccess::Remote);
    let source = open(remote, &job);
    for request in [ReadRequest::default(), filtered(greater("id", 1_499))] {
        let plan = source.plan(&request).unwrap();
        assert_eq!(plan.requests.requests.len(), 0, "{request:?}");
        let (wanted, _) = source.wanted(&plan).unwrap().unwrap();
        assert!(wanted.is_empty(), "{request:?}");
        let found = read_plan(source.as_ref(), &plan).unwrap();
        let expected = if request.filter.is_some() { all.slice(1_500, 500) } else { all.clone() };
        assert_eq!(found, expected.with_schema(found.schema()).unwrap());
        assert!(plan.files.iter().flat_map(|file| &file.units).any(|unit| unit.wanted_bytes > 0), "{request:?}");
    }
    assert_eq!(gets(&job), 20);
}

/// A plan may be run where its files are not known whole, and the other way round.
fn plans_travel(files: &Arc<InMemory>, open: Open) {
    let sources = [StoreAccess::Remote, StoreAccess::Memory].map(|access| {
        let (objects, job) = objects(files, 20, access);
        open(objects, &job)
    });
    for (here, there) in [(0, 1), (1, 0)] {
        let plan = serde_json::to_string(&sources[here].plan(&ReadRequest::default()).unwrap()).unwrap();
        let plan: ReadPlan = serde_json::from_str(&plan).unwrap();
        assert_eq!(plan.requests.requests.is_empty(), here == 0);
        assert_eq!(read_plan(sources[there].as_ref(), &plan).unwrap().num_rows(), 2_000);
    }
}

#[test]
fn parquet_files() {
    let files = stored((0..20).map(|n| parquet_bytes(&rows(n * 100, 100))));
    let open =
        |objects: Vec<Object>, job: &Job| Box::new(ParquetSource::open(objects, job).unwrap()) as Box<dyn Source>;
    one_request_each(&files, &open);
    plans_travel(&files, &open);
}

#[test]
fn orc_files() {
    let files = stored((0..20).map(|n| orc_bytes(&rows(n * 100, 100), WriterOptions::default())));
    let open = |objects: Vec<Object>, job: &Job| Box::new(OrcSource::open(objects, job).unwrap()) as Box<dyn Source>;
    one_request_each(&files, &open);
    plans_travel(&files, &open);
}

#[test]
fn so_many_that_memory_would_run_out_are_asked_for_again() {
    // 32 MiB are kept at most.
    const FILES: usize = 650;
    let bytes = parquet_bytes(&rows(0, 3_100));
    assert!((52 << 10..64 << 10).contains(&bytes.len()), "{} bytes", bytes.len());
    let files = stored(std::iter::repeat_n(bytes.clone(), FILES));
    let (remote, job) = objects(&files, FILES, StoreAccess::Remote);
    let source = ParquetSource::open(remote, &job).unwrap();
    assert_eq!(gets(&job), FILES as u64);
    let plan = source.plan(&ReadRequest::default()).unwrap();
    let kept = (32 << 20) / bytes.len();
    assert_eq!(plan.requests.requests.len(), FILES - kept);
    assert_eq!(read_plan(&source, &plan).unwrap().num_rows(), FILES * 3_100);
    assert_eq!(gets(&job), (2 * FILES - kept) as u64);
}

#[test]
fn larger_files_are_read_as_planned() {
    let files = stored([parquet_bytes(&rows(0, 100_000))]);
    let (remote, job) = objects(&files, 1, StoreAccess::Remote);
    let source = ParquetSource::open(remote, &job).unwrap();
    let plan = source.plan(&ReadRequest::default()).unwrap();
    assert!(!plan.requests.requests.is_empty());
    assert_eq!(read_plan(&source, &plan).unwrap().num_rows(), 100_000);
    assert_eq!(gets(&job), 1 + plan.requests.requests.len() as u64);
}
