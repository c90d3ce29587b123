//! How far jobs that follow a source have come, in a document each.

use bson::{Bson, DateTime, Document, doc};
use lakerace_io::{Error, Result};

use super::connection::MongoConnection;
use super::count::count;
use super::kept_schema::{collection_info, expect_written, first_batch};
use crate::state::TargetState;

/// The collection that has a document for each job.
const STATES: &str = "lakerace.states";

/// Forgets the states of jobs for the location's collection, except for the state of the job that replaces its rows.
pub(super) fn forget_states(connection: &MongoConnection, job_state: Option<&str>) -> Result<()> {
    let of_collection = doc! {
        "_id.collection": &connection.location.collection,
        "_id.name": { "$ne": job_state.map_or(Bson::Null, Bson::from) },
    };
    let delete = doc! { "q": of_collection, "limit": 0 };
    let command = doc! { "delete": STATES, "deletes": [delete], "writeConcern": { "w": "majority" } };
    expect_written(&connection.command(command)?)
}

/// The kept state of the location's collection.
pub(super) struct CollectionState(pub MongoConnection);

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
        let damaged = |_| Error::corrupt("the stored state of the job is damaged").at(STATES);
        found.get_str("text").map(|text| Some(text.to_owned())).map_err(damaged)
    }

    fn replace(&self, name: &str, before: Option<&str>, text: &str) -> Result<bool> {
        // A request that is sent again finds its own text.
        let known: Vec<&str> = before.into_iter().chain([text]).collect();
        let query = doc! { "_id": self.id(name), "text": { "$in": known } };
        let set = doc! { "$set": { "text": text, "updated_at": DateTime::now() } };
        // Where a document has another text, an upsert collides with its `_id`.
        let update = doc! { "q": query, "u": set, "upsert": before.is_none() };
        let command = doc! { "update": STATES, "updates": [update], "writeConcern": { "w": "majority" } };
        let answer = self.0.command(command)?;
        if has_duplicate(&answer) {
            return Ok(self.read(name)?.as_deref() == Some(text));
        }
        expect_written(&answer)?;
        Ok(count(&answer, "n")? == Some(1))
    }

    fn forget(&self, name: &str) -> Result<()> {
        let delete = doc! { "q": { "_id": self.id(name) }, "limit": 1 };
        let command = doc! { "delete": STATES, "deletes": [delete], "writeConcern": { "w": "majority" } };
        expect_written(&self.0.command(command)?)
    }

    fn identity(&self) -> Result<Option<String>> {
        let collection = &self.0.location.collection;
        let Some(info) = collection_info(&self.0, collection)? else { return Ok(None) };
        Ok(Some(match info.uuid {
            Some(Bson::Binary(uuid)) => uuid.bytes.iter().map(|byte| format!("{byte:02x}")).collect(),
            Some(other) => other.to_string(),
            // Servers without these ids at least distinguish an empty collection from one with documents.
            None => {
                let counted = self.0.command(doc! { "count": collection, "limit": 1 })?;
                if count(&counted, "n")? == Some(0) { "empty".to_owned() } else { "with documents".to_owned() }
            }
        }))
    }
}

/// True where a document of this `_id` was there already.
fn has_duplicate(answer: &Document) -> bool {
    let errors = answer.get_array("writeErrors").map(Vec::as_slice).unwrap_or_default();
    errors.iter().filter_map(Bson::as_document).any(|error| error.get_i32("code").is_ok_and(|code| code == 11000))
}
