//! The journal of the rows of a load that the target has acknowledged: a document for each load, in a separate index.

use lakerace_io::{Job, Result};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::catalog::{IndexCatalog, SearchIndex};
use super::client::{SearchClient, SearchRequest};
use super::location::escape;
use crate::fnv::fnv;

/// The index of all loads of a server.
pub(super) const JOURNAL: &str = "lakerace-loads";

/// How far a load is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct JournalEntry {
    /// The index, alias or data stream that it loads.
    pub target: String,
    /// Its name.
    pub load: String,
    /// The prefix of the `_id` of rows without a key.
    pub run: String,
    /// The index that it fills, if that is not the target.
    pub staging: Option<String>,
    /// Its first rows that are acknowledged.
    pub acknowledged_rows: u64,
    /// All of them are, and visible.
    pub is_finished: bool,
    /// The server's own id of the index that it fills. Loads of earlier versions have noted none.
    #[serde(default)]
    pub uuid: Option<String>,
    /// The number of acknowledged rows that the index has rejected.
    #[serde(default)]
    pub rejected_rows: u64,
}

impl JournalEntry {
    /// Returns true if an index is the one that the load fills, as far as the journal records it.
    pub fn is_of(&self, index: &SearchIndex) -> bool {
        self.uuid.is_none() || self.uuid.as_deref() == index.setting("index.uuid")
    }
}

/// The journal of a server.
pub(super) struct LoadJournal {
    client: SearchClient,
    job: Job,
}

impl LoadJournal {
    pub fn new(client: &SearchClient, job: &Job) -> Self {
        Self { client: client.clone(), job: job.clone() }
    }

    /// How far an earlier run of a load came.
    pub fn read(&self, target: &str, load: &str) -> Result<Option<JournalEntry>> {
        let path = path_of(target, load);
        let Some(answer) = self.client.found(&self.job, SearchRequest::bare("GET", path))? else { return Ok(None) };
        Ok(serde_json::from_value(answer["_source"].clone()).ok())
    }

    /// Notes how far a load is.
    pub fn write(&self, entry: &JournalEntry) -> Result<()> {
        let body = serde_json::to_value(entry).unwrap_or_default();
        let path = path_of(&entry.target, &entry.load);
        self.client.object(&self.job, SearchRequest::json("PUT", path, &body)).map(drop)
    }

    /// Creates the index of the journal, unless it exists.
    pub fn create(&self) -> Result<()> {
        let catalog = IndexCatalog::new(&self.client, &self.job);
        if !catalog.find(JOURNAL)?.indices.is_empty() {
            return Ok(());
        }
        let body = json!({
            "settings": { "number_of_shards": 1, "auto_expand_replicas": "0-1", "hidden": true },
            "mappings": { "dynamic": false, "properties": {} },
        });
        match catalog.create(JOURNAL, &body) {
            Err(error) if error.kind() == lakerace_io::ErrorKind::Conflict => Ok(()),
            made => made,
        }
    }
}

/// The path of the document of a name.
pub(super) fn path_of(target: &str, name: &str) -> String {
    format!("/{JOURNAL}/_doc/{}", escape(&id(target, name)))
}

/// A name that fits an `_id` of 512 bytes.
fn id(target: &str, load: &str) -> String {
    let whole = format!("{target}/{load}");
    if whole.len() <= 400 {
        return whole;
    }
    // Long names keep their ends, where paths differ, and a sum of all of it.
    let sum = fnv(whole.as_bytes());
    let tail: String = whole.chars().rev().take(90).collect::<Vec<_>>().into_iter().rev().collect();
    format!("{sum:016x}/{tail}")
}
