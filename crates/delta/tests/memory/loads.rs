//! What a load into a table on a slow store takes of memory, however many rows there are.

use std::fmt;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use arrow::array::{ArrayRef, Int64Array, RecordBatch};
use async_trait::async_trait;
use futures::stream::BoxStream;
use lakerace_delta::{DeltaSink, Table, WriteMode};
use lakerace_format::WriteOptions;
use lakerace_io::object_store::memory::InMemory;
use lakerace_io::object_store::path::Path;
use lakerace_io::object_store::{
    CopyOptions, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta, ObjectStore, PutMultipartOptions,
    PutOptions, PutPayload, PutResult, Result, UploadPart,
};
use lakerace_io::profile::Observations;
use lakerace_io::{Job, JobOptions, JobStore};
use tokio::sync::Mutex;

use crate::{ALONE, peak, table_write};

const COLUMNS: usize = 8;
const BATCH_ROWS: usize = 8192;
const ROW_GROUP_BYTES: usize = 6 << 20;
/// Several files of a load, so that one is sent while the next one is written.
const FILE_BYTES: u64 = 64 << 20;
/// Slower than rows are encoded, so that what is encoded waits.
const BYTES_PER_SECOND: f64 = 20e6;

/// Keeps the log, and forgets the parts of data files once they were sent slowly, one after the other.
#[derive(Debug)]
struct Forgetful {
    log: InMemory,
    line: Arc<Mutex<()>>,
}

impl fmt::Display for Forgetful {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Forgetful({})", self.log)
    }
}

#[derive(Debug)]
struct Forgotten(Arc<Mutex<()>>);

#[async_trait]
impl MultipartUpload for Forgotten {
    fn put_part(&mut self, data: PutPayload) -> UploadPart {
        let line = Arc::clone(&self.0);
        Box::pin(async move {
            let _turn = line.lock().await;
            tokio::time::sleep(Duration::from_secs_f64(data.content_length() as f64 / BYTES_PER_SECOND)).await;
            Ok(())
        })
    }

    async fn complete(&mut self) -> Result<PutResult> {
        Ok(PutResult { e_tag: None, version: None, extensions: Default::default() })
    }

    async fn abort(&mut self) -> Result<()> {
        Ok(())
    }
}

#[async_trait]
impl ObjectStore for Forgetful {
    async fn put_opts(&self, location: &Path, payload: PutPayload, opts: PutOptions) -> Result<PutResult> {
        self.log.put_opts(location, payload, opts).await
    }

    async fn put_multipart_opts(&self, _: &Path, _: PutMultipartOptions) -> Result<Box<dyn MultipartUpload>> {
        Ok(Box::new(Forgotten(Arc::clone(&self.line))))
    }

    async fn get_opts(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        self.log.get_opts(location, options).await
    }

    fn delete_stream(&self, locations: BoxStream<'static, Result<Path>>) -> BoxStream<'static, Result<Path>> {
        self.log.delete_stream(locations)
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        self.log.list(prefix)
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        self.log.list_with_delimiter(prefix).await
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        self.log.copy_opts(from, to, options).await
    }
}

/// Numbers that no codec makes shorter.
fn batch(first: usize) -> RecordBatch {
    let mixed = |value: usize| (value as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(29) as i64;
    let column = |at: usize| {
        let values = (first..first + BATCH_ROWS).map(|row| mixed(mixed(row * COLUMNS + at) as usize));
        (format!("n{at}"), Arc::new(values.collect::<Int64Array>()) as ArrayRef, true)
    };
    RecordBatch::try_from_iter_with_nullable((0..COLUMNS).map(column)).unwrap()
}

/// The most that a load of so many batches takes.
fn load(batches: usize) -> usize {
    let job = Job::new(JobOptions { threads: 2, ..JobOptions::default() });
    let store = Arc::new(Forgetful { log: InMemory::new(), line: Arc::default() });
    let store = JobStore::wrapping(store, "test://", Observations::local_disk(), &job);
    let table = Table::on(&store, &Path::from("table")).unwrap();
    let options = WriteOptions {
        row_group_bytes: Some(ROW_GROUP_BYTES as u64),
        file_bytes: Some(FILE_BYTES),
        ..WriteOptions::default()
    };
    let write = table_write(WriteMode::Error, options);
    peak(|| {
        let mut sink = DeltaSink::create(&table, &batch(0).schema(), &write).unwrap();
        (0..batches).for_each(|number| sink.write(batch(number * BATCH_ROWS)).unwrap());
        assert_eq!(sink.finish().unwrap().rows, (batches * BATCH_ROWS) as u64);
    })
}

#[test]
fn a_load_into_a_slow_store_is_bounded_whatever_the_rows() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    // A row group that is encoded and one that is being sent, parts under way and the next one, arrays that wait or are looked at,
    // and a page of each column of either row group.
    let most = 2 * ROW_GROUP_BYTES + (32 << 20) + (8 << 20) + ROW_GROUP_BYTES / 4 + 2 * COLUMNS * (1 << 20);
    for batches in [40, 240] {
        let taken = load(batches);
        assert!(taken <= most, "{taken} bytes for {batches} batches, at most {most}");
    }
}
