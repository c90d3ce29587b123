//! How far jobs that follow a source have come, in a document each.

use bson::{Bson, DateTime, Document, doc};
use lakerace_io::{Error, Result};

use super::connection::Connection;
use super::kept_schema::{expect_written, first_batch};
use crate::TargetState;

/// The collection that has a document for each job.
const STATES: &str = "lakerace.states";

/// Forgets what jobs keep for the location's collection, but for the state of the job that replaces its rows.
pub(super) fn forget_states(connection: &Connection, job_state: Option<&str>) -> Result<()> {
    let of_collection = doc! {
        "_id.collection": &connection.location.collection,
        "_id.name": { "$ne": job_state.map_or(Bson::Null, Bson::from) },
    };
    let delete = doc! { "q": of_collection, "limit": 0 };
    let command = doc! { "delete": STATES, "deletes": [delete], "writeConcern": { "w": "majority" } };
    expect_written(&connection.command(command)?)
}

/// What is kept for the location's collection.
pub(super) struct CollectionState(pub Connection);

impl CollectionState {
    fn id(&self, name: &str) -> Document {
        doc! { "collection": &self.0.location.collection, "name": name }
    }
}

impl TargetState for CollectionState {
    fn read(&self, name: &str) -> Result<Option<String>> {
        let find = doc! { "find": STATES, "filter": { "_id": self.id(name) }, "limit": 1, "readConcern": { "level": "majority" } };
        let answer = self.0.command(find)?;
        let Some(found) = first_batch(&answer).into_iter().next() else { return Ok(None) };
        let damaged = |_| Error::corrupt("the document of the job is damaged").at(STATES);
        found.get_str("text").map(|text| Some(text.to_owned())).map_err(damaged)
    }

    fn write(&self, name: &str, text: &str) -> Result<()> {
        let set = doc! { "$set": { "text": text, "updated_at": DateTime::now() } };
        let update = doc! { "q": { "_id": self.id(name) }, "u": set, "upsert": true };
        let command = doc! { "update": STATES, "updates": [update], "writeConcern": { "w": "majority" } };
        expect_written(&self.0.command(command)?)
    }
}
