//! Which rows of a load the target has acknowledged, kept in a document next to it.

use bson::spec::BinarySubtype;
use bson::{Binary, Bson, DateTime, Document, RawDocumentBuf, doc};
use lakerace_io::option::RESUME;
use lakerace_io::{Error, Result};

use super::connection::MongoConnection;
use super::count::count;
use super::kept_schema::{CollectionInfo, expect_written, first_batch};

/// The collection that has a document for each named load.
const LOADS: &str = "lakerace.loads";

/// A named load.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct MongoJournal {
    id: Document,
    /// The prefix of the `_id` of rows without a key: the same when the load continues.
    pub token: [u8; 7],
    /// The staging collection that is loaded, if there is one.
    pub staging: Option<String>,
    /// The server's own id of the collection that is loaded. One that is made again has another; most servers let a renamed one keep it.
    /// Loads of earlier versions have noted none.
    pub uuid: Option<Bson>,
    /// The first rows, all of which the server has confirmed or rejected.
    pub acknowledged_rows: u64,
    /// The number of rows that are in no document. Loads of earlier versions have noted none.
    pub rejected_rows: u64,
    /// True if all rows are there and visible.
    pub is_finished: bool,
    /// True if all rows are there, and the staging collection is being renamed.
    pub is_publishing: bool,
    /// The options of the collection that is being replaced: a server may forget them with the new name.
    pub replaced_options: Document,
    schema: Vec<u8>,
}

impl MongoJournal {
    /// The load of this name into a collection.
    pub(super) fn find(connection: &MongoConnection, collection: &str, load: &str) -> Result<Option<Self>> {
        let id = doc! { "collection": collection, "load": load };
        let answer = connection.command(doc! { "find": LOADS, "filter": { "_id": id.clone() }, "limit": 1 })?;
        let Some(found) = first_batch(&answer).into_iter().next() else { return Ok(None) };
        let damaged = || Error::corrupt("the document that records the load is damaged").at(LOADS);
        let rows = found.get_i64("acknowledged_rows").map_err(|_| damaged())?;
        Ok(Some(Self {
            id,
            token: found
                .get_binary_generic("token")
                .ok()
                .and_then(|t| t.as_slice().try_into().ok())
                .ok_or_else(damaged)?,
            staging: found.get_str("staging").ok().map(str::to_owned),
            uuid: found.get("uuid").filter(|uuid| **uuid != Bson::Null).cloned(),
            acknowledged_rows: u64::try_from(rows).map_err(|_| damaged())?,
            rejected_rows: found.get_i64("rejected_rows").ok().and_then(|rows| rows.try_into().ok()).unwrap_or(0),
            is_finished: found.get_bool("finished").map_err(|_| damaged())?,
            is_publishing: found.get_bool("publishing").unwrap_or(false),
            replaced_options: match found.get_binary_generic("replaced_options") {
                Ok(bytes) => Document::from_reader(bytes.as_slice()).map_err(|_| damaged())?,
                Err(_) => Document::new(),
            },
            schema: found.get_binary_generic("schema").map_err(|_| damaged())?.clone(),
        }))
    }

    /// Begins a load of this name; an earlier one is forgotten.
    pub(super) fn begin(
        connection: &MongoConnection,
        collection: &str,
        load: &str,
        token: [u8; 7],
        (staging, uuid): (Option<String>, Option<Bson>),
        schema: Vec<u8>,
    ) -> Result<Self> {
        let id = doc! { "collection": collection, "load": load };
        let journal = Self {
            id,
            token,
            staging,
            uuid,
            acknowledged_rows: 0,
            rejected_rows: 0,
            is_finished: false,
            is_publishing: false,
            replaced_options: Document::new(),
            schema,
        };
        let update = doc! { "q": { "_id": journal.id.clone() }, "u": journal.document(), "upsert": true };
        expect_written(&connection.command(command(update))?)?;
        Ok(journal)
    }

    fn document(&self) -> Document {
        doc! {
            "_id": self.id.clone(),
            "token": binary(&self.token),
            "staging": self.staging.clone().map_or(Bson::Null, Bson::String),
            "uuid": self.uuid.clone().unwrap_or(Bson::Null),
            "acknowledged_rows": self.acknowledged_rows as i64,
            "rejected_rows": self.rejected_rows as i64,
            "finished": self.is_finished,
            "publishing": self.is_publishing,
            "schema": binary(&self.schema),
            "updated_at": DateTime::now(),
        }
    }

    /// The documents that all acknowledged rows have made.
    pub(super) fn documents(&self) -> u64 {
        self.acknowledged_rows.saturating_sub(self.rejected_rows)
    }

    /// Returns true if a collection is the one that the load started with, as far as the journal records it.
    pub(super) fn is_of(&self, info: Option<&CollectionInfo>) -> bool {
        match (info, &self.uuid) {
            (None, _) => false,
            (Some(info), Some(uuid)) => info.uuid.as_ref().is_none_or(|found| found == uuid),
            (Some(_), None) => true,
        }
    }

    /// Returns an error where the rows of a continued load have another schema.
    pub(super) fn check_schema(&self, schema: &[u8]) -> Result<()> {
        if self.schema == schema {
            return Ok(());
        }
        Err(Error::conflict("the rows have another schema than the load started with")
            .advice(format!("start the load again, without {RESUME}")))
    }

    /// Writes down that the first `rows` are acknowledged, or that all are there.
    pub(super) fn acknowledge(&mut self, connection: &MongoConnection, rows: u64, is_finished: bool) -> Result<()> {
        // A request that is sent again may find the values that it has written itself.
        let before = [self.acknowledged_rows as i64, rows as i64];
        let query = doc! {
            "_id": self.id.clone(),
            "token": self.document().get("token").cloned().unwrap_or(Bson::Null),
            "acknowledged_rows": { "$in": before.to_vec() },
        };
        let mut set = doc! {
            "acknowledged_rows": rows as i64,
            "rejected_rows": self.rejected_rows as i64,
            "finished": is_finished,
            "publishing": self.is_publishing,
            "updated_at": DateTime::now(),
        };
        if let Some(uuid) = &self.uuid {
            set.insert("uuid", uuid.clone());
        }
        if !self.replaced_options.is_empty() {
            // Names of operators stand in a validator, which no document may have.
            let bytes = RawDocumentBuf::try_from(self.replaced_options.clone());
            let bytes = bytes.map_err(|_| Error::internal("the options are not valid BSON"))?;
            set.insert("replaced_options", binary(bytes.as_bytes()));
        }
        let answer = connection.command(command(doc! { "q": query, "u": { "$set": set } }))?;
        expect_written(&answer)?;
        if count(&answer, "n")? != Some(1) {
            return Err(Error::conflict("another run of the same load is writing to the collection")
                .advice(format!("let one of them end, then continue with {RESUME}")));
        }
        self.acknowledged_rows = rows;
        self.is_finished = is_finished;
        Ok(())
    }
}

fn binary(bytes: &[u8]) -> Binary {
    Binary { subtype: BinarySubtype::Generic, bytes: bytes.to_vec() }
}

fn command(update: Document) -> Document {
    doc! { "update": LOADS, "updates": [update], "writeConcern": { "w": "majority" } }
}
