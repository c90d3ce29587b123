//! Sends commands, several at a time, and accounts for each row of them.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender as Channel, channel};
use std::time::Duration;

use bson::{Bson, Document, RawDocumentBuf, doc};
use lakerace_io::option::RESUME;
use lakerace_io::wait::receive;
use lakerace_io::{Error, Job, Result, runtime};

use super::connection::MongoConnection;
use super::count::count;
use super::failure;
use super::kept_schema::first_batch;
use super::statement::{WriteCommand, WriteStatement};

/// Commands on their way at most.
pub(super) const LANES: usize = 4;
/// The number of attempts for rows that the server rejects for a passing reason.
const ITEM_ATTEMPTS: u32 = 8;
const ITEM_BACKOFF: Duration = Duration::from_millis(50);
/// How long a sink that is dropped waits for the commands on their way.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(10);
/// `_id` or another unique index has the key already.
const DUPLICATE_KEY: i32 = 11000;

/// A row that the server rejected, by its place in the command.
pub(super) struct RejectedRow {
    pub index: usize,
    pub code: i32,
}

/// A command that was answered.
pub(super) struct DeliveredCommand {
    pub command: WriteCommand,
    pub rejected: Vec<RejectedRow>,
}

/// Commands on their way to one collection.
pub(super) struct CommandSender {
    target: Arc<CommandTarget>,
    job: Job,
    busy: [bool; LANES],
    results: Receiver<(usize, Result<DeliveredCommand>)>,
    result_to: Channel<(usize, Result<DeliveredCommand>)>,
}

struct CommandTarget {
    connection: MongoConnection,
    database: String,
    collection: String,
    /// Rows that are there already may be those of an earlier run.
    goes_on: bool,
}

impl CommandSender {
    pub(super) fn new(connection: &MongoConnection, collection: &str, goes_on: bool) -> Self {
        let (result_to, results) = channel();
        let target = CommandTarget {
            connection: connection.clone(),
            database: connection.location.database.clone(),
            collection: collection.to_owned(),
            goes_on,
        };
        Self { target: Arc::new(target), job: connection.job.clone(), busy: [false; LANES], results, result_to }
    }

    /// Sends a command in a lane, after the previous command of the lane. Rows of one key take the same lane, and so
    /// keep their order. Returns the commands that were answered in the meantime.
    pub(super) fn send(&mut self, lane: Option<usize>, command: WriteCommand) -> Result<Vec<DeliveredCommand>> {
        let mut delivered = Vec::new();
        let lane = loop {
            let free = match lane {
                Some(lane) => Some(lane).filter(|lane| !self.busy[*lane]),
                None => self.busy.iter().position(|busy| !busy),
            };
            match free {
                Some(lane) => break lane,
                None => delivered.push(self.wait()?),
            }
        };
        self.busy[lane] = true;
        let (target, result_to) = (Arc::clone(&self.target), self.result_to.clone());
        runtime()?.spawn(async move {
            let outcome = target.deliver(command).await;
            // No one listens where the load has failed.
            let _ = result_to.send((lane, outcome));
        });
        Ok(delivered)
    }

    /// Waits for one of the commands.
    fn wait(&mut self) -> Result<DeliveredCommand> {
        let received = receive(&self.results, &self.job)?;
        let (lane, outcome) = received.ok_or_else(|| Error::internal("a command ended without a response"))?;
        self.busy[lane] = false;
        outcome
    }

    /// Waits for all of them.
    pub(super) fn wait_for_all(&mut self) -> Result<Vec<DeliveredCommand>> {
        let mut delivered = Vec::new();
        while self.busy.contains(&true) {
            delivered.push(self.wait()?);
        }
        Ok(delivered)
    }

    /// Waits a while for commands of a load that has failed, so that none writes after the cleanup.
    pub(super) fn drain(&mut self) {
        let end = std::time::Instant::now() + DRAIN_TIMEOUT;
        while self.busy.contains(&true) {
            let left = end.saturating_duration_since(std::time::Instant::now());
            match self.results.recv_timeout(left) {
                Ok((lane, _)) => self.busy[lane] = false,
                Err(_) => return,
            }
        }
    }
}

impl CommandTarget {
    async fn deliver(&self, mut command: WriteCommand) -> Result<DeliveredCommand> {
        let bytes = std::mem::take(&mut command.bytes);
        let raw = RawDocumentBuf::from_bytes(bytes).map_err(Error::unexpected)?;
        let mut was_sent_again = self.goes_on;
        let mut attempt = 0;
        let rejected = loop {
            let answer = self.connection.send(&self.database, raw.clone()).await?;
            was_sent_again |= answer.was_sent_again;
            let rejected = self.account(&command, &answer.document, was_sent_again)?;
            attempt += 1;
            let passes = |row: &RejectedRow| {
                failure::is_transient_code(row.code)
                    || (row.code == DUPLICATE_KEY && command.statement == WriteStatement::Upsert && attempt < 3)
            };
            if attempt == ITEM_ATTEMPTS || !rejected.iter().any(passes) {
                break rejected;
            }
            was_sent_again = true;
            tokio::time::sleep(ITEM_BACKOFF * (1 << attempt.min(5))).await;
        };
        command.bytes = raw.into_bytes();
        let rejected = self.without_own(&command, rejected, was_sent_again).await?;
        self.connection.job.meter().wrote_bytes(command.payload());
        Ok(DeliveredCommand { command, rejected })
    }

    /// Returns the rows that an answer rejects, after a check that it accounts for each row.
    fn account(&self, command: &WriteCommand, answer: &Document, was_sent_again: bool) -> Result<Vec<RejectedRow>> {
        let errors = answer.get_array("writeErrors").map(Vec::as_slice).unwrap_or_default();
        let mut rejected = Vec::with_capacity(errors.len());
        for error in errors.iter().filter_map(Bson::as_document) {
            let index = count(error, "index")?.and_then(|index| usize::try_from(index).ok());
            let index = index.filter(|index| *index < command.len()).ok_or_else(unaccounted)?;
            let code = error.get_i32("code").unwrap_or(0);
            rejected.push(RejectedRow { index, code });
        }
        let confirmed = count(answer, "n")?.and_then(|n| usize::try_from(n).ok()).ok_or_else(unaccounted)?;
        let expected = command.len() - rejected.len();
        // Deletes count documents, of which a key may have none.
        let is_whole = command.statement == WriteStatement::Delete || confirmed == expected;
        if is_whole || was_sent_again && confirmed <= expected { Ok(rejected) } else { Err(unaccounted()) }
    }

    /// Leaves out rows that are there because an earlier attempt has written these very documents.
    async fn without_own(
        &self,
        command: &WriteCommand,
        rejected: Vec<RejectedRow>,
        was_sent_again: bool,
    ) -> Result<Vec<RejectedRow>> {
        if command.statement != WriteStatement::Insert
            || !was_sent_again
            || !rejected.iter().any(|row| row.code == DUPLICATE_KEY)
        {
            return Ok(rejected);
        }
        let duplicates = rejected.iter().filter(|row| row.code == DUPLICATE_KEY);
        let ours: Vec<(usize, Document)> = duplicates
            .filter_map(|row| {
                let bytes = command.document(row.index)?;
                Some((row.index, Document::from_reader(bytes).ok()?))
            })
            .collect();
        let ids: Vec<Bson> = ours.iter().filter_map(|(_, document)| document.get("_id").cloned()).collect();
        let find = doc! {
            "find": &self.collection,
            "filter": { "_id": { "$in": ids } },
            "singleBatch": true,
            "batchSize": ours.len() as i64,
        };
        let find = RawDocumentBuf::try_from(find).map_err(Error::unexpected)?;
        let answer = self.connection.send(&self.database, find).await?;
        let there: std::collections::HashSet<Vec<u8>> =
            first_batch(&answer.document).iter().filter_map(encoded).collect();
        let own: Vec<usize> = ours
            .iter()
            .filter(|(_, document)| encoded(document).is_some_and(|bytes| there.contains(&bytes)))
            .map(|(index, _)| *index)
            .collect();
        Ok(rejected.into_iter().filter(|row| row.code != DUPLICATE_KEY || !own.contains(&row.index)).collect())
    }
}

/// The bytes of a document, which distinguish NaN and types.
fn encoded(document: &Document) -> Option<Vec<u8>> {
    RawDocumentBuf::try_from(document.clone()).ok().map(RawDocumentBuf::into_bytes)
}

fn unaccounted() -> Error {
    Error::unavailable("the server's response does not report the outcome of each row")
        .advice(format!("continue with {RESUME}, which duplicates no row"))
}
