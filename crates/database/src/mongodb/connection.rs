//! Connections, and commands with a limit of time.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use bson::{Document, RawDocumentBuf, doc};
use lakerace_io::{Error, Job, RequestKind, Result};
use mongodb::Client;
use mongodb::options::ClientOptions;

use super::failure;
use super::location::MongoLocation;

/// How long a server is looked for before it counts as down.
const SELECTION_TIMEOUT: Duration = Duration::from_secs(10);
/// How long a server may take for one answer.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(300);
/// How long a request is sent again, while the server is down or restarts.
const RETRY_TIMEOUT: Duration = Duration::from_secs(60);
const FIRST_BACKOFF: Duration = Duration::from_millis(50);
const LAST_BACKOFF: Duration = Duration::from_secs(2);

/// A client of the servers that a location names.
#[derive(Clone)]
pub(super) struct MongoConnection {
    pub client: Client,
    pub location: Arc<MongoLocation>,
    pub job: Job,
    has_answered: Arc<AtomicBool>,
}

/// The answer to a request that may have been sent more than once.
pub(super) struct CommandAnswer {
    pub document: Document,
    /// True if an earlier attempt may have been carried out.
    pub was_sent_again: bool,
}

impl MongoConnection {
    /// Connects, and asks the server for a first answer: wrong names, credentials and certificates show here.
    pub(super) fn open(location: MongoLocation, job: &Job) -> Result<Self> {
        let location = Arc::new(location);
        let shown = location.to_string();
        let uri = location.uri.clone();
        let client = job
            .block_on(async move {
                let mut options = ClientOptions::parse(&uri).await.map_err(|error| failure::error(&error))?;
                options.app_name = Some("lakerace".to_owned());
                options.server_selection_timeout.get_or_insert(SELECTION_TIMEOUT);
                options.connect_timeout.get_or_insert(SELECTION_TIMEOUT);
                Client::with_options(options).map_err(|error| failure::error(&error))
            })
            .map_err(|error| error.at(&shown))?;
        let connection = Self { client, location, job: job.clone(), has_answered: Arc::default() };
        connection.command_on("admin", doc! { "ping": 1 })?;
        // Servers without users answer a ping to anybody.
        connection.command(doc! { "listCollections": 1, "nameOnly": true, "filter": { "name": "" } })?;
        Ok(connection)
    }

    /// Runs a command on the location's database. Only for commands that may be sent twice.
    pub(super) fn command(&self, command: Document) -> Result<Document> {
        self.command_on(&self.location.database.clone(), command)
    }

    /// Runs a command on a database. Only for commands that may be sent twice.
    pub(super) fn command_on(&self, database: &str, command: Document) -> Result<Document> {
        let raw = RawDocumentBuf::try_from(command).map_err(|_| Error::internal("a command is not valid BSON"))?;
        let (this, database) = (self.clone(), database.to_owned());
        let shown = self.location.to_string();
        let answer = self.job.block_on(async move { this.send(&database, raw).await });
        answer.map(|answer| answer.document).map_err(|error| error.at(shown))
    }

    /// Sends a command until the server answers it, for a minute at most.
    pub(super) async fn send(&self, database: &str, command: RawDocumentBuf) -> Result<CommandAnswer> {
        let database = self.client.database(database);
        let began = Instant::now();
        let (mut backoff, mut was_sent_again) = (FIRST_BACKOFF, false);
        loop {
            self.job.meter().count(RequestKind::Put, 1);
            let once = tokio::time::timeout(ANSWER_TIMEOUT, database.run_raw_command(command.clone())).await;
            let transient = match once {
                Err(_) => {
                    return Err(Error::unavailable(format!(
                        "the server has not answered for {} s",
                        ANSWER_TIMEOUT.as_secs()
                    )));
                }
                Ok(Ok(document)) => match write_concern_code(&document) {
                    None => {
                        self.has_answered.store(true, Ordering::Relaxed);
                        return Ok(CommandAnswer { document, was_sent_again });
                    }
                    Some(code) if failure::is_transient_code(code) => {
                        Error::unavailable(format!("the server could not confirm a write (code {code})"))
                    }
                    Some(code) => {
                        return Err(Error::unavailable(format!("the server could not confirm a write (code {code})"))
                            .advice("check the replica set, or require fewer confirmations with w=1"));
                    }
                },
                Ok(Err(error)) if failure::is_transient(&error) => failure::error(&error),
                Ok(Err(error)) => return Err(failure::error(&error)),
            };
            was_sent_again = true;
            // A server that has never answered is not waited for twice.
            if began.elapsed() + backoff > RETRY_TIMEOUT || !self.has_answered.load(Ordering::Relaxed) {
                return Err(transient);
            }
            tokio::time::sleep(backoff).await;
            backoff = (backoff * 2).min(LAST_BACKOFF);
        }
    }
}

fn write_concern_code(document: &Document) -> Option<i32> {
    let error = document.get_document("writeConcernError").ok()?;
    Some(error.get_i32("code").unwrap_or(0))
}
