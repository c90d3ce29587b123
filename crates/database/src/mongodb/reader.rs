//! Reads documents in the background, and makes batches of them.

use std::sync::Arc;
use std::time::Duration;

use arrow::array::{BooleanArray, RecordBatch, RecordBatchOptions};
use arrow::compute::filter_record_batch;
use arrow::datatypes::SchemaRef;
use bson::{Document, RawDocumentBuf};
use futures::StreamExt;
use lakerace_exec::{Interruption, ProducerThreads, ValueSender};
use lakerace_format::{Batches, Predicate};
use lakerace_io::threads::not_started;
use lakerace_io::{Error, RequestKind, Result, runtime};
use mongodb::raw_batch_cursor::{RawBatch, RawBatchCursor};

use super::connection::MongoConnection;
use super::decode::{DocumentBuilder, UnknownFields};
use super::elements::{ElementIterator, damaged, shown_id};
use super::failure;

/// Documents of an answer at most; the server also ends one at 16 MiB.
const ANSWER_DOCUMENTS: u32 = 4000;
/// Answers that wait for the decoder.
const ANSWERS_AHEAD: usize = 1;
/// Batches that wait for the caller.
const BATCHES_AHEAD: u64 = 2;
/// The approximate maximum of the bytes of documents in a batch.
const BATCH_BYTES: usize = 16 << 20;
/// How long a server may take for one answer.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(300);

/// The queue of batches of a part's thread.
type BatchSender = ValueSender<RecordBatch, Error>;

/// A query of a server.
#[derive(Debug, Clone, Default)]
pub(super) struct MongoQuery {
    pub pipeline: Option<Vec<Document>>,
    pub filter: Option<Document>,
    pub projection: Option<Document>,
    pub limit: Option<u64>,
}

/// The decoding of answers.
#[derive(Clone)]
pub(super) struct ReadJob {
    pub connection: MongoConnection,
    pub read_schema: SchemaRef,
    /// The columns asked for, of `read_schema`.
    pub schema: SchemaRef,
    pub unknown: UnknownFields,
    pub filter: Option<Predicate>,
    pub limit: Option<u64>,
    pub batch_rows: usize,
}

impl MongoQuery {
    async fn run(self, connection: &MongoConnection) -> std::result::Result<RawBatchCursor, mongodb::error::Error> {
        let location = &connection.location;
        let collection =
            connection.client.database(&location.database).collection::<RawDocumentBuf>(&location.collection);
        match self.pipeline {
            None => {
                let mut find = collection.find(self.filter.unwrap_or_default()).batch_size(ANSWER_DOCUMENTS);
                if let Some(projection) = self.projection {
                    find = find.projection(projection);
                }
                // 0 is no limit to the server.
                if let Some(limit) = self.limit.filter(|limit| *limit > 0) {
                    find = find.limit(i64::try_from(limit).unwrap_or(i64::MAX));
                }
                find.batch().await
            }
            Some(mut stages) => {
                let stage = |name: &str, value: bson::Bson| Document::from_iter([(name.to_owned(), value)]);
                stages.extend(self.filter.map(|filter| stage("$match", filter.into())));
                let limit = self.limit.filter(|limit| *limit > 0).and_then(|limit| i64::try_from(limit).ok());
                stages.extend(limit.map(|limit| stage("$limit", limit.into())));
                stages.extend(self.projection.map(|projection| stage("$project", projection.into())));
                collection.aggregate(stages).batch_size(ANSWER_DOCUMENTS).batch().await
            }
        }
    }
}

/// The answers to a query that runs in the background; `None` after the last one.
type Answers = tokio::sync::mpsc::Receiver<Result<Option<RawBatch>>>;

/// Runs a query in the background.
fn answers(connection: &MongoConnection, query: MongoQuery) -> Result<Answers> {
    let (sender, receiver) = tokio::sync::mpsc::channel(ANSWERS_AHEAD);
    let connection = connection.clone();
    runtime()?.spawn(async move {
        let timeout = |_| Error::unavailable(format!("the server has not answered for {} s", ANSWER_TIMEOUT.as_secs()));
        let opened = tokio::time::timeout(ANSWER_TIMEOUT, query.run(&connection)).await.map_err(timeout);
        let mut cursor = match opened.and_then(|opened| opened.map_err(|error| failure::error(&error))) {
            Ok(cursor) => cursor,
            Err(error) => return drop(sender.send(Err(error)).await),
        };
        loop {
            connection.job.meter().count(RequestKind::Get, 1);
            let answer = match tokio::time::timeout(ANSWER_TIMEOUT, cursor.next()).await {
                Ok(answer) => answer.transpose().map_err(|error| failure::error(&error)),
                Err(elapsed) => Err(timeout(elapsed)),
            };
            if let Ok(Some(answer)) = &answer {
                connection.job.meter().read_bytes(answer.as_raw_document().as_bytes().len() as u64);
            }
            let is_last = !matches!(answer, Ok(Some(_)));
            if sender.send(answer).await.is_err() || is_last {
                return;
            }
        }
    });
    Ok(receiver)
}

/// Calls `look` with the documents of each answer until it says false.
pub(super) fn each_batch(
    connection: &MongoConnection,
    query: &MongoQuery,
    mut look: impl FnMut(&[&[u8]]) -> Result<bool>,
) -> Result<()> {
    let mut answers = answers(connection, query.clone())?;
    // A task that ends without saying so has panicked.
    while let Some(answer) = answers.blocking_recv().unwrap_or_else(|| Err(Interruption::Ended.into()))? {
        connection.job.check()?;
        let array = answer.doc_slices().map_err(|_| damaged())?;
        let mut elements = ElementIterator::new(array.as_bytes())?;
        let mut documents = Vec::with_capacity(ANSWER_DOCUMENTS as usize);
        while let Some((_, value)) = elements.next_element(&[])? {
            documents.push(value.bytes);
        }
        if !look(&documents)? {
            return Ok(());
        }
    }
    Ok(())
}

/// Reads the parts concurrently, each by a thread.
pub(super) fn read(job: ReadJob, parts: Vec<MongoQuery>) -> Result<Batches> {
    let schema = Arc::clone(&job.schema);
    if job.limit == Some(0) {
        return Ok(Batches::new(schema, std::iter::empty()));
    }
    let producer = |part: MongoQuery| {
        let job = job.clone();
        move |sender: &BatchSender| {
            part_batches(&job, &part, sender).map_err(|error| error.at(&job.connection.location))
        }
    };
    let parts = parts.into_iter().map(producer);
    let batches = ProducerThreads::start("lakerace-mongodb", BATCHES_AHEAD, &job.connection.job, parts);
    let batches = batches.map_err(|error| not_started(&error))?;
    Ok(Batches::new(schema, BatchReceiver { batches, left: job.limit, job: job.connection.job }))
}

struct BatchReceiver {
    batches: ProducerThreads<RecordBatch, Error>,
    left: Option<u64>,
    job: lakerace_io::Job,
}

impl Iterator for BatchReceiver {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.left == Some(0) {
            return None;
        }
        let batch = match self.batches.take().transpose()? {
            Ok(batch) => batch,
            Err(error) => return Some(Err(error)),
        };
        let batch = match &mut self.left {
            None => batch,
            Some(left) => {
                let rows = (batch.num_rows() as u64).min(*left);
                *left -= rows;
                batch.slice(0, rows as usize)
            }
        };
        self.job.meter().read_rows(batch.num_rows() as u64);
        Some(Ok(batch))
    }
}

/// Decodes one part. Ends early when no one wants more.
fn part_batches(job: &ReadJob, query: &MongoQuery, sender: &BatchSender) -> Result<()> {
    let mut documents = DocumentBuilder::new(job.read_schema.fields(), job.unknown)?;
    let ignored = job.read_schema.index_of("_id").is_err().then_some(&b"_id"[..]);
    let mut bytes = 0;
    let emit = |documents: &mut DocumentBuilder| -> Result<bool> {
        let batch = job.batch(documents)?;
        Ok(batch.num_rows() == 0 || sender.send(Ok(batch), 1).is_ok())
    };
    each_batch(&job.connection, query, |found| {
        for document in found {
            documents.append(document, ignored).map_err(|error| error.at(shown_id(document)))?;
            bytes += document.len();
            if documents.len() >= job.batch_rows || bytes >= BATCH_BYTES {
                bytes = 0;
                if !emit(&mut documents)? {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    })?;
    if documents.len() > 0 {
        emit(&mut documents)?;
    }
    Ok(())
}

impl ReadJob {
    /// The rows so far, filtered and with the columns asked for.
    fn batch(&self, documents: &mut DocumentBuilder) -> Result<RecordBatch> {
        let rows = RecordBatchOptions::new().with_row_count(Some(documents.len()));
        let columns = documents.finish()?;
        let batch = RecordBatch::try_new_with_options(Arc::clone(&self.read_schema), columns, &rows)
            .map_err(Error::unexpected)?;
        let batch = match &self.filter {
            None => batch,
            Some(filter) => {
                let keep: BooleanArray = filter.evaluate(&batch)?;
                filter_record_batch(&batch, &keep).map_err(Error::unexpected)?
            }
        };
        if self.schema.fields() == self.read_schema.fields() {
            let rows = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
            return RecordBatch::try_new_with_options(Arc::clone(&self.schema), batch.columns().to_vec(), &rows)
                .map_err(Error::unexpected);
        }
        let columns = self.schema.fields().iter().map(|field| {
            let column = batch.column_by_name(field.name());
            column.cloned().ok_or_else(|| Error::internal("a column was not read"))
        });
        let rows = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns.collect::<Result<_>>()?, &rows)
            .map_err(Error::unexpected)
    }
}
