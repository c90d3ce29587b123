//! The rest of a publication: the loaded collection has its final name, and its options and schema follow.
//!
//! A load may be stopped between any two of these steps. Each can be taken again by the next run.

use bson::oid::ObjectId;
use bson::{Bson, Document, doc};
use lakerace_io::{Error, Result};

use super::connection::MongoConnection;
use super::count::count;
use super::journal::MongoJournal;
use super::kept_schema::{self, CollectionInfo, KeptSchema, collection_info, first_batch};

/// Options of a collection that can be set at any time.
pub(super) const CHANGEABLE_OPTIONS: [&str; 4] =
    ["validator", "validationLevel", "validationAction", "changeStreamPreAndPostImages"];

/// Returns true if the location's collection is the one that a load has filled as `staging` and given this name.
///
/// Sharded clusters, and some servers, give a renamed collection another id. There the collection is recognised by its
/// rows: by their `_id`s where the load has made them (`has_row_ids`), otherwise by the number of documents.
pub(super) fn has_name(
    connection: &MongoConnection,
    journal: &MongoJournal,
    staging: &str,
    info: Option<&CollectionInfo>,
    has_row_ids: bool,
) -> Result<bool> {
    let Some(info) = info.filter(|info| !info.is_view) else { return Ok(false) };
    if info.uuid.is_some() && info.uuid == journal.uuid {
        return Ok(true);
    }
    if !journal.is_publishing || collection_info(connection, staging)?.is_some() {
        return Ok(false);
    }
    if has_row_ids && journal.documents() > 0 {
        return has_row_of(connection, journal.token);
    }
    Ok(documents(connection)? == journal.documents())
}

/// Returns true if the location's collection has a document whose `_id` a load with this token has made.
fn has_row_of(connection: &MongoConnection, token: [u8; 7]) -> Result<bool> {
    let id = |rest: u8| {
        let mut bytes = [rest; 12];
        bytes[..7].copy_from_slice(&token);
        ObjectId::from_bytes(bytes)
    };
    let answer = connection.command(doc! {
        "find": &connection.location.collection,
        "filter": { "_id": { "$gte": id(0), "$lte": id(u8::MAX) } },
        "projection": { "_id": 1 },
        "limit": 1,
    })?;
    Ok(!first_batch(&answer).is_empty())
}

/// The number of the location's documents, counted one by one: the count that a server keeps may be wrong after a
/// crash.
fn documents(connection: &MongoConnection) -> Result<u64> {
    let all = doc! { "$group": { "_id": Bson::Null, "documents": { "$sum": 1 } } };
    let answer = connection.command(doc! {
        "aggregate": &connection.location.collection,
        "pipeline": [all],
        "cursor": {},
    })?;
    // Without documents there is no group.
    let Some(found) = first_batch(&answer).into_iter().next() else { return Ok(0) };
    count(&found, "documents")?
        .ok_or_else(|| Error::internal("the server returned groups of documents without a count"))
}

/// Completes the publication of an earlier run, and notes that its load is finished.
pub(super) fn complete_earlier(connection: &MongoConnection, journal: &mut MongoJournal, staging: &str) -> Result<()> {
    let kept = kept_schema::of_name(connection, staging)?;
    let uuid = complete(connection, staging, journal.replaced_options.clone(), kept.as_ref())?;
    journal.uuid = uuid.or(journal.uuid.take());
    journal.acknowledge(connection, journal.acknowledged_rows, true)
}

/// Sets the options that the server has forgotten with the new name, and keeps the schema under it. Gives the collection's id.
pub(super) fn complete(
    connection: &MongoConnection,
    staging: &str,
    options: Document,
    kept: Option<&KeptSchema>,
) -> Result<Option<Bson>> {
    let name = &connection.location.collection;
    restore_options(connection, name, options)?;
    let uuid = match kept {
        Some(kept) => kept_schema::keep(connection, name, kept)?,
        None => collection_info(connection, name)?.and_then(|info| info.uuid),
    };
    kept_schema::forget(connection, staging)?;
    Ok(uuid)
}

fn restore_options(connection: &MongoConnection, name: &str, options: Document) -> Result<()> {
    let is_changeable = |(name, _): &(String, Bson)| CHANGEABLE_OPTIONS.contains(&name.as_str());
    let options: Vec<(String, Bson)> = options.into_iter().filter(is_changeable).collect();
    if options.is_empty() {
        return Ok(());
    }
    let kept = collection_info(connection, name)?.map(|info| info.options).unwrap_or_default();
    let mut command = doc! { "collMod": name };
    command.extend(options.into_iter().filter(|(name, value)| kept.get(name) != Some(value)));
    if command.len() == 1 { Ok(()) } else { connection.command(command).map(drop) }
}
