//! How far jobs that follow a source have come, in a document each, in the index of all loads.

use std::sync::atomic::{AtomicBool, Ordering};

use lakerace_io::{Error, Job, Result};
use serde_json::{Value, json};

use super::catalog::IndexCatalog;
use super::client::{SearchClient, SearchRequest, ServerAnswer, ServerFailure};
use super::journal::{JOURNAL, LoadJournal, path_of};
use crate::state::TargetState;

/// The document that records when the rows of an index were last replaced. States from before the replacement belong to
/// rows that are gone. Their documents stay, as the server finds documents of this index only by their names.
const REPLACED: &str = "replaced";

/// Forgets the states of jobs for an index whose rows are gone, except for the state of the job that replaces them.
pub(super) fn forget_states(client: &SearchClient, job: &Job, job_state: Option<&str>) -> Result<()> {
    // A role that only loads an index need not reach this one.
    let is_denied = |answer: &ServerAnswer| answer.status == 403 && !ServerFailure::from_body(&answer.body).is_block();
    let found = client.call(job, SearchRequest::bare("GET", format!("/{JOURNAL}")))?;
    if found.status == 404 || is_denied(&found) {
        return Ok(());
    }
    let target = &client.location().index;
    let generation = format!("{:032x}", rand::random::<u128>());
    let body = json!({ "target": target, "generation": generation, "stays": job_state });
    let answer = client.call(job, SearchRequest::json("PUT", path_of(target, REPLACED), &body))?;
    if answer.status < 300 || is_denied(&answer) { Ok(()) } else { Err(client.refusal(&answer)) }
}

/// The kept state of an index.
pub(super) struct IndexState {
    client: SearchClient,
    job: Job,
    /// The index of all loads is known to be there.
    has_journal: AtomicBool,
}

impl IndexState {
    pub fn new(client: SearchClient, job: &Job) -> Self {
        Self { client, job: job.clone(), has_journal: AtomicBool::new(false) }
    }

    fn path(&self, name: &str) -> String {
        path_of(&self.client.location().index, &format!("state/{name}"))
    }

    /// Finds the text of a name and the document that stores it. The text is `None` if it belongs to rows that were
    /// replaced since, the document is returned in both cases.
    fn find(&self, name: &str) -> Result<(Option<String>, Option<Value>)> {
        let Some(answer) = self.client.found(&self.job, SearchRequest::bare("GET", self.path(name)))? else {
            return Ok((None, None));
        };
        let replaced = self.replaced()?;
        let is_of_now = answer["_source"]["generation"] == replaced["generation"];
        if !is_of_now && replaced["stays"] != name {
            return Ok((None, Some(answer)));
        }
        let damaged = || Error::corrupt("the stored state of the job is damaged").at(&self.client.location().shown);
        let text = answer["_source"]["text"].as_str().map(str::to_owned).ok_or_else(damaged)?;
        Ok((Some(text), Some(answer)))
    }

    /// The mark of the rows that were replaced last; null where none were.
    fn replaced(&self) -> Result<Value> {
        let path = path_of(&self.client.location().index, REPLACED);
        let answer = self.client.found(&self.job, SearchRequest::bare("GET", path))?;
        Ok(answer.map(|answer| answer["_source"].clone()).unwrap_or_default())
    }
}

impl TargetState for IndexState {
    fn read(&self, name: &str) -> Result<Option<String>> {
        Ok(self.find(name)?.0)
    }

    fn replace(&self, name: &str, before: Option<&str>, text: &str) -> Result<bool> {
        if !self.has_journal.load(Ordering::Relaxed) {
            LoadJournal::new(&self.client, &self.job).create()?;
            self.has_journal.store(true, Ordering::Relaxed);
        }
        let (known, document) = self.find(name)?;
        if known.as_deref() != before {
            return Ok(known.as_deref() == Some(text));
        }
        let condition = match &document {
            Some(found) => format!("if_seq_no={}&if_primary_term={}", found["_seq_no"], found["_primary_term"]),
            None => "op_type=create".to_owned(),
        };
        let generation = self.replaced()?["generation"].clone();
        let target = &self.client.location().index;
        let body = json!({ "target": target, "name": name, "text": text, "generation": generation });
        let request = SearchRequest::json("PUT", format!("{}?{condition}", self.path(name)), &body);
        let answer = self.client.call(&self.job, request)?;
        match answer.status {
            200..=299 => Ok(true),
            // A request that is sent again finds its own text.
            409 => Ok(self.read(name)?.as_deref() == Some(text)),
            _ => Err(self.client.refusal(&answer)),
        }
    }

    fn forget(&self, name: &str) -> Result<()> {
        self.client.found(&self.job, SearchRequest::bare("DELETE", self.path(name))).map(drop)
    }

    fn identity(&self) -> Result<Option<String>> {
        let found = IndexCatalog::new(&self.client, &self.job).find(&self.client.location().index)?;
        Ok(match found.indices.as_slice() {
            [] => None,
            [index] if !found.is_alias && index.is_placeholder() => None,
            [index] => {
                let setting = |name: &str| index.setting(name).unwrap_or_default();
                Some(format!("{} {}", setting("index.uuid"), setting("index.creation_date")))
            }
            // A data stream gets indices and loses them.
            _ => Some("several indices".to_owned()),
        })
    }
}
