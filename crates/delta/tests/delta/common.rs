//! Tables in memory, and what they hold.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use arrow::array::{ArrayRef, AsArray, Int64Array, RecordBatch, StringArray};
use arrow::datatypes::{Int64Type, SchemaRef};
use async_trait::async_trait;
use futures::StreamExt;
use futures::executor::block_on;
use futures::stream::BoxStream;
use lakerace_delta::{
    ChangeOutcome, DeltaSink, DeltaSource, Evolve, Table, TableWrite, UpsertOptions, VersionSpec, WriteMode, upsert,
};
use lakerace_format::{Batches, CompareOp, Expr, Literal, ReadRequest, Sink, Source, WriteOptions};
use lakerace_io::object_store::memory::InMemory;
use lakerace_io::object_store::path::Path;
use lakerace_io::object_store::{
    CopyOptions, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta, ObjectStore, PutMultipartOptions,
    PutOptions, PutPayload, PutResult,
};
use lakerace_io::profile::Observations;
use lakerace_io::wrap::{Failing, FailingOptions, Metered};
use lakerace_io::{Job, JobOptions, JobStore, Result};

/// What a table of ids and texts holds.
pub type Model = BTreeMap<i64, String>;

/// The table of a store in memory.
pub fn table(inner: &Arc<InMemory>) -> Table {
    on(Arc::clone(inner) as _)
}

/// The same, whose store ends after some requests.
pub fn failing(inner: &Arc<InMemory>, requests: u64) -> Table {
    let options = FailingOptions { stop_after: Some(requests), ..FailingOptions::default() };
    on(Arc::new(Failing::new(Arc::clone(inner) as Arc<dyn ObjectStore>, options)))
}

/// The table of any store.
pub fn on(store: Arc<dyn ObjectStore>) -> Table {
    let job = Job::new(JobOptions { threads: 2, ..JobOptions::default() });
    let counted = Metered::operations(store, Arc::clone(job.meter()));
    let store = JobStore::wrapping(Arc::new(counted), "test://", Observations::local_disk(), &job);
    Table::on(&store, &Path::from("lake/table")).unwrap()
}

pub fn batch(rows: &[(i64, String)]) -> RecordBatch {
    let ids: ArrayRef = Arc::new(rows.iter().map(|(id, _)| Some(*id)).collect::<Int64Array>());
    let texts: ArrayRef = Arc::new(rows.iter().map(|(_, text)| Some(text.as_str())).collect::<StringArray>());
    RecordBatch::try_from_iter_with_nullable([("id", ids, true), ("text", texts, true)]).unwrap()
}

pub fn rows(ids: impl IntoIterator<Item = i64>, text: &str) -> Vec<(i64, String)> {
    ids.into_iter().map(|id| (id, format!("{text} {id}"))).collect()
}

/// Creates the table, or adds to it.
pub fn write(table: &Table, mode: WriteMode, batch: RecordBatch, partition_by: &[&str], properties: &[(&str, &str)]) {
    let properties = properties.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    let partition_by = partition_by.iter().map(|name| (*name).to_owned()).collect();
    let write = TableWrite {
        mode,
        partition_by,
        properties,
        evolve: Evolve::default(),
        keep_not_null: false,
        options: WriteOptions::default(),
        load_name: None,
        resumes: false,
        replace_where: None,
    };
    let mut sink: Box<dyn Sink> = DeltaSink::create(table, &batch.schema(), &write).unwrap();
    sink.write(batch).unwrap();
    sink.finish().unwrap();
}

pub fn create(table: &Table, ids: Range<i64>, properties: &[(&str, &str)]) {
    write(table, WriteMode::Error, batch(&rows(ids, "base")), &[], properties);
}

pub fn append(table: &Table, ids: Range<i64>, text: &str) {
    write(table, WriteMode::Append, batch(&rows(ids, text)), &[], &[]);
}

pub fn put(table: &Table, rows: &[(i64, String)]) -> Result<ChangeOutcome> {
    let batch = batch(rows);
    let schema: SchemaRef = batch.schema();
    let options = UpsertOptions { key: vec!["id".to_owned()], ..UpsertOptions::default() };
    upsert(table, Batches::new(schema, std::iter::once(Ok(batch))), &options)
}

/// The rows of a version. A key that comes twice is a failure.
pub fn read_at(table: &Table, at: Option<u64>) -> Result<Model> {
    let source = DeltaSource::open(table.snapshot(at.map(VersionSpec::Version))?)?;
    let plan = source.plan(&ReadRequest::default())?;
    let mut model = Model::new();
    for batch in source.read(&plan)? {
        let batch = batch?;
        let ids = batch.column_by_name("id").unwrap().as_primitive::<Int64Type>().clone();
        let texts = batch.column_by_name("text").unwrap().as_string_view().clone();
        for row in 0..batch.num_rows() {
            let before = model.insert(ids.value(row), texts.value(row).to_owned());
            assert_eq!(before, None, "key {} comes twice", ids.value(row));
        }
    }
    Ok(model)
}

pub fn read(table: &Table) -> Model {
    read_at(table, None).unwrap()
}

pub fn version(table: &Table) -> u64 {
    table.snapshot(None).unwrap().version()
}

/// The table's data files and deletion vectors that are there, in the log or not.
pub fn stored(inner: &Arc<InMemory>) -> Vec<String> {
    names(inner).into_iter().filter(|name| !name.contains("_delta_log")).collect()
}

/// All names in a store.
pub fn names(inner: &Arc<InMemory>) -> Vec<String> {
    let listed = block_on(inner.list(None).collect::<Vec<_>>());
    let mut names: Vec<String> = listed.into_iter().map(|meta| meta.unwrap().location.to_string()).collect();
    names.sort();
    names
}

/// The lines of an entry of the log.
pub fn entry(inner: &Arc<InMemory>, version: u64) -> Vec<serde_json::Value> {
    let path = Path::from(format!("lake/table/_delta_log/{version:020}.json"));
    let bytes = block_on(async { inner.get_opts(&path, GetOptions::default()).await.unwrap().bytes().await.unwrap() });
    let lines = bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    lines.map(|line| serde_json::from_slice(line).unwrap()).collect()
}

/// `column < value`.
pub fn less(column: &str, value: i128) -> Expr {
    let literal = Literal::Number { digits: value, scale: 0 };
    let (left, right) = (Box::new(Expr::Column(column.to_owned())), Box::new(Expr::Literal(literal)));
    Expr::Compare { op: CompareOp::Less, left, right }
}

/// Numbers without a pattern, the same in every run.
pub fn scattered(seed: u64, below: u64) -> i64 {
    let mut z = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    ((z ^ (z >> 27)) % below) as i64
}

type Act = Box<dyn FnOnce() + Send>;

pub type Answer<T> = lakerace_io::object_store::Result<T>;

/// The way in which a store in memory puts and answers.
#[async_trait]
pub trait StoreHooks: Send + Sync + 'static {
    async fn put(
        &self,
        inner: &InMemory,
        location: &Path,
        payload: PutPayload,
        options: PutOptions,
    ) -> Answer<PutResult> {
        inner.put_opts(location, payload, options).await
    }

    async fn get(&self, inner: &InMemory, location: &Path, options: GetOptions) -> Answer<GetResult> {
        inner.get_opts(location, options).await
    }

    fn list(&self, inner: &InMemory, prefix: Option<&Path>) -> BoxStream<'static, Answer<ObjectMeta>> {
        inner.list(prefix)
    }
}

/// A store in memory with hooks.
pub struct HookedStore<H> {
    inner: Arc<InMemory>,
    pub hooks: H,
}

impl<H> HookedStore<H> {
    pub fn new(inner: &Arc<InMemory>, hooks: H) -> Arc<Self> {
        Arc::new(Self { inner: Arc::clone(inner), hooks })
    }
}

impl<H> fmt::Debug for HookedStore<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("HookedStore")
    }
}

impl<H> fmt::Display for HookedStore<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("HookedStore")
    }
}

#[async_trait]
impl<H: StoreHooks> ObjectStore for HookedStore<H> {
    async fn put_opts(&self, location: &Path, payload: PutPayload, options: PutOptions) -> Answer<PutResult> {
        self.hooks.put(&self.inner, location, payload, options).await
    }

    async fn put_multipart_opts(&self, location: &Path, opts: PutMultipartOptions) -> Answer<Box<dyn MultipartUpload>> {
        self.inner.put_multipart_opts(location, opts).await
    }

    async fn get_opts(&self, location: &Path, options: GetOptions) -> Answer<GetResult> {
        self.hooks.get(&self.inner, location, options).await
    }

    fn delete_stream(&self, locations: BoxStream<'static, Answer<Path>>) -> BoxStream<'static, Answer<Path>> {
        self.inner.delete_stream(locations)
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Answer<ObjectMeta>> {
        self.hooks.list(&self.inner, prefix)
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Answer<ListResult> {
        self.inner.list_with_delimiter(prefix).await
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Answer<()> {
        self.inner.copy_opts(from, to, options).await
    }
}

/// Something that happens just before an entry of the log is written for the first time.
pub struct Meanwhile {
    version: u64,
    act: Mutex<Option<Act>>,
}

impl Meanwhile {
    pub fn before(version: u64, inner: &Arc<InMemory>, act: impl FnOnce() + Send + 'static) -> Arc<HookedStore<Self>> {
        HookedStore::new(inner, Self { version, act: Mutex::new(Some(Box::new(act))) })
    }
}

#[async_trait]
impl StoreHooks for Meanwhile {
    async fn put(
        &self,
        inner: &InMemory,
        location: &Path,
        payload: PutPayload,
        options: PutOptions,
    ) -> Answer<PutResult> {
        if location.as_ref().ends_with(&format!("_delta_log/{:020}.json", self.version)) {
            let act = self.act.lock().unwrap_or_else(PoisonError::into_inner).take();
            if let Some(act) = act {
                // Not on a thread of the runtime: it waits for requests itself, and another thread of the runtime takes this one's place.
                tokio::task::block_in_place(|| std::thread::spawn(act).join().unwrap());
            }
        }
        inner.put_opts(location, payload, options).await
    }
}
