//! How far jobs that follow a source have come, in a document each, in the index of all loads.

use lakerace_io::{Error, Job, Result};
use serde_json::json;

use super::client::{Client, Request};
use super::journal::{Journal, path_of};
use crate::TargetState;

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
}

impl TargetState for IndexState {
    fn read(&self, name: &str) -> Result<Option<String>> {
        let Some(answer) = self.client.found(&self.job, Request::bare("GET", self.path(name)))? else {
            return Ok(None);
        };
        let text = answer["_source"]["text"].as_str().map(str::to_owned);
        let damaged = || Error::corrupt("what is kept for the job is damaged").at(&self.client.location().shown);
        text.map(Some).ok_or_else(damaged)
    }

    fn write(&self, name: &str, text: &str) -> Result<()> {
        Journal::new(&self.client, &self.job).create()?;
        let body = json!({ "target": self.client.location().index, "name": name, "text": text });
        self.client.object(&self.job, Request::json("PUT", self.path(name), &body)).map(drop)
    }
}
