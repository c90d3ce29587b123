//! How far jobs that follow a source have come, in a document each, in the index of all loads.

use lakerace_io::{Error, Job, Result};
use serde_json::{Value, json};

use super::client::{Answer, Client, Request, Said};
use super::journal::{JOURNAL, Journal, path_of};
use crate::TargetState;

/// The document that tells when the rows of an index were replaced last. States of before are of rows that are gone. They stay
/// there, as the server finds documents of this index by their names alone.
const REPLACED: &str = "replaced";

/// Forgets what jobs keep for an index whose rows are gone, but for the state of the job that replaces them.
pub(super) fn forget_states(client: &Client, job: &Job, job_state: Option<&str>) -> Result<()> {
    // A role that only loads an index need not reach this one.
    let is_denied = |answer: &Answer| answer.status == 403 && !Said::of(&answer.body).is_block();
    let found = client.call(job, Request::bare("GET", format!("/{JOURNAL}")))?;
    if found.status == 404 || is_denied(&found) {
        return Ok(());
    }
    let target = &client.location().index;
    let generation = format!("{:032x}", rand::random::<u128>());
    let body = json!({ "target": target, "generation": generation, "stays": job_state });
    let answer = client.call(job, Request::json("PUT", path_of(target, REPLACED), &body))?;
    if answer.status < 300 || is_denied(&answer) { Ok(()) } else { Err(client.refusal(&answer)) }
}

/// What is kept for an index.
pub(super) struct IndexState {
    client: Client,
    job: Job,
}

impl IndexState {
    pub fn new(client: Client, job: &Job) -> Self {
        Self { client, job: job.clone() }
    }

    fn path(&self, name: &str) -> String {
        path_of(&self.client.location().index, &format!("state/{name}"))
    }

    /// What tells of the last rows that were replaced; null where none were.
    fn replaced(&self) -> Result<Value> {
        let path = path_of(&self.client.location().index, REPLACED);
        let answer = self.client.found(&self.job, Request::bare("GET", path))?;
        Ok(answer.map(|answer| answer["_source"].clone()).unwrap_or_default())
    }
}

impl TargetState for IndexState {
    fn read(&self, name: &str) -> Result<Option<String>> {
        let Some(answer) = self.client.found(&self.job, Request::bare("GET", self.path(name)))? else {
            return Ok(None);
        };
        let replaced = self.replaced()?;
        let is_of_now = answer["_source"]["generation"] == replaced["generation"];
        if !is_of_now && replaced["stays"] != name {
            return Ok(None);
        }
        let text = answer["_source"]["text"].as_str().map(str::to_owned);
        let damaged = || Error::corrupt("what is kept for the job is damaged").at(&self.client.location().shown);
        text.map(Some).ok_or_else(damaged)
    }

    fn write(&self, name: &str, text: &str) -> Result<()> {
        Journal::new(&self.client, &self.job).create()?;
        let generation = self.replaced()?["generation"].clone();
        let target = &self.client.location().index;
        let body = json!({ "target": target, "name": name, "text": text, "generation": generation });
        self.client.object(&self.job, Request::json("PUT", self.path(name), &body)).map(drop)
    }
}
