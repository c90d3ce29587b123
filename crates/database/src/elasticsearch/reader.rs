//! Reads an index: a view, some slices of it, page after page.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use arrow::compute::filter_record_batch;
use arrow::datatypes::SchemaRef;
use arrow::record_batch::RecordBatch;
use bytes::Bytes;
use lakerace_exec::{ProducerThreads, ValueSender};
use lakerace_format::Predicate;
use lakerace_io::option::SCHEMA;
use lakerace_io::threads::not_started;
use lakerace_io::wait::lock;
use lakerace_io::{Error, Job, Result, runtime};
use serde_json::{Map, Value, json};

use super::client::{SearchClient, SearchRequest, ServerFailure, is_too_large};
use super::decode::{PageDecoder, UnmappedNames};
use super::pit::{KEEP_ALIVE, PointInTime};

/// Documents of the first page, as no one knows yet how large they are.
const FIRST_PAGE: usize = 256;
/// Bytes of a page, and how many times as many documents as the page before the next one may have.
const PAGE_BYTES: usize = 4 << 20;
const GROWTH: usize = 8;
/// Fewer documents than this are not worth another slice.
const SLICE_DOCUMENTS: u64 = 20_000;
const MOST_SLICES: usize = 8;
/// Names of a warning at most.
const SHOWN_NAMES: usize = 20;

/// A read of an index.
pub(super) struct IndexScan {
    pub client: SearchClient,
    pub job: Job,
    /// The columns of a page: those that are wanted and those that the filter needs.
    pub schema: SchemaRef,
    /// Which of them are wanted.
    pub projection: Vec<usize>,
    pub filter: Option<Predicate>,
    pub query: Option<Value>,
    /// `_source` of the requests.
    pub source: Value,
    pub limit: Option<u64>,
    pub batch_rows: usize,
    /// The most documents of a page that the index gives.
    pub window: usize,
    /// The approximate number of documents that the query finds.
    pub documents: u64,
    /// The fields of the index.
    pub properties: Map<String, Value>,
    /// Columns whose types are given or kept; others have theirs from the mapping.
    pub known: Option<SchemaRef>,
    /// True if values of documents that no column takes are reported.
    pub tells_unmapped: bool,
}

/// The batches of a read.
pub(super) struct IndexBatches {
    /// `None` while it is dropped.
    slices: Option<ProducerThreads<RecordBatch, Error>>,
    left: u64,
    batch: Option<RecordBatch>,
    batch_rows: usize,
    job: Job,
    /// Names of values that no column takes.
    unmapped: Arc<Mutex<BTreeSet<String>>>,
    /// Closed when nothing reads any more: it is dropped last.
    _view: Arc<PointInTime>,
}

struct ViewSlice {
    scan: Arc<IndexScan>,
    view: Arc<PointInTime>,
    number: usize,
    of: usize,
    unmapped: Arc<Mutex<BTreeSet<String>>>,
}

impl IndexScan {
    /// Opens the view and starts to read.
    pub fn start(self, index: &str) -> Result<IndexBatches> {
        let view = Arc::new(PointInTime::open(&self.client, index, &self.job)?);
        let slices = self.slices();
        let (job, batch_rows) = (self.job.clone(), self.batch_rows);
        let left = self.limit.unwrap_or(u64::MAX);
        let scan = Arc::new(self);
        let unmapped = Arc::default();
        let producer = |number| {
            let (scan, view, unmapped) = (Arc::clone(&scan), Arc::clone(&view), Arc::clone(&unmapped));
            let slice = ViewSlice { scan, view, number, of: slices, unmapped };
            move |sender: &ValueSender<RecordBatch, Error>| slice.pages(sender)
        };
        let started = ProducerThreads::start("lakerace-slice", slices as u64, &job, (0..slices).map(producer));
        let slices = Some(started.map_err(|error| not_started(&error))?.joined());
        Ok(IndexBatches { slices, left, batch: None, batch_rows, job, unmapped, _view: view })
    }

    fn slices(&self) -> usize {
        if self.limit.is_some() {
            return 1;
        }
        let worth = usize::try_from(self.documents / SLICE_DOCUMENTS).unwrap_or(usize::MAX);
        self.job.options().threads.min(worth).clamp(1, MOST_SLICES)
    }
}

impl ViewSlice {
    fn pages(&self, sender: &ValueSender<RecordBatch, Error>) -> Result<()> {
        let scan = &self.scan;
        let mut decoder = PageDecoder::new(Arc::clone(&scan.schema), &scan.properties, scan.known.as_deref())?;
        decoder.unmapped = UnmappedNames::new(scan.tells_unmapped);
        let mut size =
            self.scan.limit.map_or(FIRST_PAGE, |limit| FIRST_PAGE.min(usize::try_from(limit).unwrap_or(FIRST_PAGE)));
        size = size.clamp(1, self.scan.window);
        // The start of the page that is waited for.
        let mut from: Option<Vec<u8>> = None;
        let mut next = self.ask(None, size)?;
        loop {
            let body = match next.wait(&self.scan.job) {
                Err(error) if size > 1 && is_too_large(&error) => {
                    size = (size / GROWTH).max(1);
                    next = self.ask(from.as_deref(), size)?;
                    continue;
                }
                outcome => outcome?,
            };
            // The next page is on its way while this one is decoded.
            let after = last_sort(&body);
            let asked = size;
            size = self.next_size(asked, body.len());
            let ahead = after.clone().map(|after| self.ask(Some(&after), size)).transpose()?;
            let page = decoder.page(&body).map_err(|error| error.at(&self.scan.client.location().shown))?;
            drop(body);
            self.tell(&mut decoder);
            if let Some(id) = page.pit_id {
                self.view.renew(id);
            }
            if page.rows > 0 && !self.send(decoder.batch()?, sender)? {
                return Ok(());
            }
            if page.rows < asked {
                return Ok(());
            }
            let last = page.last_sort.ok_or_else(|| Error::internal("a page has no sort values"))?;
            next = match ahead {
                Some(ahead) if after.as_ref() == Some(&last) => ahead,
                _ => self.ask(Some(&last), size)?,
            };
            from = Some(last);
        }
    }

    /// Reports the values of a page that the columns don't take.
    fn tell(&self, decoder: &mut PageDecoder) {
        for field in decoder.cut_fields() {
            self.scan.job.warn(&format!(
                "field {field:?} has times with digits below microseconds, which are cut off: to keep them, give it a \
                 type such as timestamp(ns, UTC) or utf8 with {SCHEMA}"
            ));
        }
        let mut names = decoder.unmapped.take();
        if !names.is_empty() {
            lock(&self.unmapped).append(&mut names);
        }
    }

    /// Gives a batch away, and says whether more is wanted.
    fn send(&self, batch: RecordBatch, sender: &ValueSender<RecordBatch, Error>) -> Result<bool> {
        let kept = match &self.scan.filter {
            Some(filter) => filter_record_batch(&batch, &filter.evaluate(&batch)?).map_err(Error::unexpected)?,
            None => batch,
        };
        if kept.num_rows() == 0 {
            return Ok(sender.has_receiver());
        }
        let wanted = kept.project(&self.scan.projection).map_err(Error::unexpected)?;
        Ok(sender.send(Ok(wanted), 1).is_ok())
    }

    fn next_size(&self, asked: usize, bytes: usize) -> usize {
        let fitting = asked * PAGE_BYTES / bytes.max(1);
        fitting.clamp(1, asked.saturating_mul(GROWTH)).min(self.scan.window)
    }

    fn ask(&self, after: Option<&[u8]>, size: usize) -> Result<PageRequest> {
        let mut body = json!({
            "size": size,
            "pit": { "id": self.view.id(), "keep_alive": KEEP_ALIVE },
            "sort": [{ "_shard_doc": "asc" }],
            "track_total_hits": false,
            "_source": self.scan.source,
        });
        if let Some(query) = &self.scan.query {
            body["query"] = query.clone();
        }
        if self.of > 1 {
            body["slice"] = json!({ "id": self.number, "max": self.of });
        }
        if let Some(after) = after {
            body["search_after"] =
                serde_json::from_slice(after).map_err(|_| Error::internal("the sort values are not valid JSON"))?;
        }
        let request = SearchRequest::json("POST", "/_search?allow_partial_search_results=false", &body);
        let (client, patience) = (self.scan.client.clone(), self.scan.client.row_patience());
        let task = runtime()?.spawn(async move {
            let answer = client.ask(request, patience).await?;
            if answer.status == 200 { Ok(answer.body) } else { Err(refused(&client, &answer)) }
        });
        Ok(PageRequest { task: Some(task) })
    }
}

/// Why a page is refused.
fn refused(client: &SearchClient, answer: &super::client::ServerAnswer) -> Error {
    let said = ServerFailure::from_body(&answer.body);
    let shown = &client.location().shown;
    if said.kind() == "search_context_missing_exception" || said.kind() == "no_such_remote_cluster_exception" {
        return Error::unavailable(
            "the server has lost the point in time of this read, because it restarted or the read paused too long",
        )
        .at(shown)
        .advice("run it again");
    }
    if said.reason().contains("_shard_doc") {
        return Error::unsupported("the server does not support the sort order _shard_doc")
            .at(shown)
            .advice("use at least Elasticsearch 7.12 or OpenSearch 3.3");
    }
    client.refusal(answer)
}

/// A page on its way, which is aborted on drop.
struct PageRequest {
    task: Option<tokio::task::JoinHandle<Result<Bytes>>>,
}

impl PageRequest {
    fn wait(mut self, job: &Job) -> Result<Bytes> {
        let Some(task) = self.task.take() else { return Err(Error::internal("a page is awaited twice")) };
        let abort = task.abort_handle();
        let outcome = job.block_on(async move {
            task.await.unwrap_or_else(|_| Err(Error::internal("a request ended without a response")))
        });
        abort.abort();
        outcome
    }
}

impl Drop for PageRequest {
    fn drop(&mut self) {
        if let Some(task) = &self.task {
            task.abort();
        }
    }
}

/// The sort value of the last hit, from the end of an answer. No text of JSON holds an unescaped quote, so a match is
/// the sort value or a field of that name; callers compare it with the decoded value.
fn last_sort(body: &[u8]) -> Option<Vec<u8>> {
    let start = memchr::memmem::rfind(body, b"\"sort\":[")? + b"\"sort\":".len();
    let end = memchr::memchr(b']', &body[start..])?;
    Some(body[start..=start + end].to_vec())
}

impl Iterator for IndexBatches {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if self.left == 0 {
                self.warn();
                return None;
            }
            if let Some(batch) = self.batch.take() {
                return Some(Ok(self.cut(batch)));
            }
            match self.slices.as_mut()?.take() {
                Ok(Some(batch)) => self.batch = Some(batch),
                Ok(None) => {
                    self.warn();
                    return None;
                }
                Err(error) => return Some(Err(error)),
            }
        }
    }
}

impl IndexBatches {
    /// Warns once of the names of values that no column takes.
    fn warn(&self) {
        let names = std::mem::take(&mut *lock(&self.unmapped));
        if names.is_empty() {
            return;
        }
        let shown: Vec<String> = names.iter().take(SHOWN_NAMES).map(|name| format!("{name:?}")).collect();
        let more = match names.len() - shown.len() {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        self.job.warn(&format!(
            "documents have values outside of the index's mapping, which are left out: {}{more}; read them as JSON \
             with ?json=NAME,…, or with types of your own with {SCHEMA}",
            shown.join(", ")
        ));
    }

    fn cut(&mut self, batch: RecordBatch) -> RecordBatch {
        let left = usize::try_from(self.left).unwrap_or(usize::MAX);
        let rows = batch.num_rows().min(left).min(self.batch_rows);
        if rows < batch.num_rows() {
            self.batch = Some(batch.slice(rows, batch.num_rows() - rows));
        }
        self.left -= rows as u64;
        self.job.meter().read_rows(rows as u64);
        batch.slice(0, rows)
    }
}

impl Drop for IndexBatches {
    fn drop(&mut self) {
        // The threads must have ended: only then are the names of all left-out values known.
        self.slices = None;
        self.warn();
    }
}
