//! The Arrow schema of a collection, kept in a document next to it.

use std::sync::Arc;

use arrow::datatypes::{DataType, Field, FieldRef, Schema, SchemaRef};
use bson::spec::BinarySubtype;
use bson::{Binary, Bson, Document, doc};
use lakerace_format::{decode_schema, encode_schema, map_inner_fields};
use lakerace_io::option::MODE;
use lakerace_io::{Error, Result};

use super::connection::MongoConnection;

/// The collection that has a document for each collection that was loaded.
pub(super) const SCHEMAS: &str = "lakerace.schemas";

/// The kind of `_id` of a collection's documents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum DocumentIds {
    /// Made from the load and the number of the row.
    Row,
    /// A column of the rows.
    Column,
    /// The columns of the primary key.
    Key(Vec<String>),
}

/// A schema that was kept.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct KeptSchema {
    pub schema: SchemaRef,
    pub ids: DocumentIds,
}

/// The server's description of a collection.
#[derive(Debug, Clone)]
pub(super) struct CollectionInfo {
    pub is_view: bool,
    pub options: Document,
    /// Stays the same on most servers when the collection is renamed.
    pub uuid: Option<Bson>,
}

/// Looks a collection up.
pub(super) fn collection_info(connection: &MongoConnection, name: &str) -> Result<Option<CollectionInfo>> {
    let answer = connection.command(doc! { "listCollections": 1, "filter": { "name": name } })?;
    let Some(found) =
        first_batch(&answer).into_iter().find(|found| found.get_str("name").is_ok_and(|found| found == name))
    else {
        return Ok(None);
    };
    Ok(Some(CollectionInfo {
        is_view: found.get_str("type").is_ok_and(|kind| kind == "view"),
        options: found.get_document("options").cloned().unwrap_or_default(),
        uuid: found.get_document("info").ok().and_then(|info| info.get("uuid")).cloned(),
    }))
}

/// The documents of a first answer.
pub(super) fn first_batch(answer: &Document) -> Vec<Document> {
    let batch = answer.get_document("cursor").and_then(|cursor| cursor.get_array("firstBatch"));
    batch.map(|batch| batch.iter().filter_map(|value| value.as_document().cloned()).collect()).unwrap_or_default()
}

/// The schema that a load has kept of this very collection, not of an earlier one of the same name.
pub(super) fn find(connection: &MongoConnection, name: &str, info: &CollectionInfo) -> Result<Option<KeptSchema>> {
    match &info.uuid {
        Some(uuid) => look(connection, name, doc! { "uuid": uuid.clone() }),
        None => of_name(connection, name),
    }
}

/// The schema that is kept under the name of a collection, even if an earlier one had that name.
pub(super) fn of_name(connection: &MongoConnection, name: &str) -> Result<Option<KeptSchema>> {
    look(connection, name, doc! { "_id": name })
}

fn look(connection: &MongoConnection, name: &str, filter: Document) -> Result<Option<KeptSchema>> {
    let answer = connection.command(doc! { "find": SCHEMAS, "filter": filter })?;
    let found = first_batch(&answer);
    // A load that was stopped while it renamed the collection leaves its schema under the previous name.
    let found = found.iter().find(|found| found.get_str("_id").is_ok_and(|id| id == name)).or(found.first());
    found.map(|found| parse(found).map_err(|error| error.at(format!("{SCHEMAS}, {name}")))).transpose()
}

fn parse(found: &Document) -> Result<KeptSchema> {
    let damaged =
        || Error::corrupt("the stored schema is damaged").advice("remove its document, or read with ?schema=infer");
    let bytes = found.get_binary_generic("arrow").map_err(|_| damaged())?;
    let schema: Schema = decode_schema(bytes).map_err(|_| damaged())?;
    let key =
        found.get_array("key").map(|key| key.iter().filter_map(|name| name.as_str().map(str::to_owned)).collect());
    let ids = match found.get_str("ids") {
        Ok("row") => DocumentIds::Row,
        Ok("column") => DocumentIds::Column,
        Ok("key") => DocumentIds::Key(key.map_err(|_| damaged())?),
        _ => return Err(damaged()),
    };
    Ok(KeptSchema { schema: Arc::new(schema), ids })
}

/// Keeps the schema of a collection, and gives the server's id of it.
pub(super) fn keep(connection: &MongoConnection, name: &str, kept: &KeptSchema) -> Result<Option<Bson>> {
    let uuid = collection_info(connection, name)?.and_then(|info| info.uuid);
    let (ids, key) = match &kept.ids {
        DocumentIds::Row => ("row", Vec::new()),
        DocumentIds::Column => ("column", Vec::new()),
        DocumentIds::Key(key) => ("key", key.clone()),
    };
    let replacement = doc! {
        "_id": name,
        "uuid": uuid.clone().unwrap_or(Bson::Null),
        "arrow": Binary { subtype: BinarySubtype::Generic, bytes: encode_schema(&kept.schema) },
        "ids": ids,
        "key": key,
        "lakerace": env!("CARGO_PKG_VERSION"),
    };
    let update = doc! { "q": { "_id": name }, "u": replacement, "upsert": true };
    let command = doc! { "update": SCHEMAS, "updates": [update], "writeConcern": { "w": "majority" } };
    expect_written(&connection.command(command)?)?;
    Ok(uuid)
}

/// Forgets the schema of a collection that is gone.
pub(super) fn forget(connection: &MongoConnection, name: &str) -> Result<()> {
    let delete = doc! { "q": { "_id": name }, "limit": 1 };
    connection.command(doc! { "delete": SCHEMAS, "deletes": [delete] }).map(|_| ())
}

/// An error where a write of one of our own documents was rejected.
pub(super) fn expect_written(answer: &Document) -> Result<()> {
    match answer.get_array("writeErrors").ok().and_then(|errors| errors.first()).and_then(Bson::as_document) {
        None => Ok(()),
        Some(error) => {
            let code = error.get_i32("code").unwrap_or(0);
            Err(Error::invalid(format!("the server rejects a document that records the load (code {code})")))
        }
    }
}

/// A type by its values alone: texts, bytes and lists are the same, however they lie in memory.
fn without_layout(data_type: &DataType) -> DataType {
    let plain = |field: &FieldRef| -> FieldRef {
        Arc::new(field.as_ref().clone().with_data_type(without_layout(field.data_type())))
    };
    match data_type {
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => DataType::Utf8,
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView => DataType::Binary,
        DataType::List(item) | DataType::LargeList(item) | DataType::ListView(item) | DataType::LargeListView(item) => {
            DataType::List(plain(item))
        }
        DataType::Dictionary(_, values) => without_layout(values),
        other => map_inner_fields(other, plain).unwrap_or_else(|| other.clone()),
    }
}

/// The schema of a collection that has rows of one and gets rows of another.
pub(super) fn merged(kept: &Schema, new: &Schema) -> Result<Schema> {
    let mut fields: Vec<Field> = Vec::with_capacity(kept.fields().len());
    for field in kept.fields() {
        match new.field_with_name(field.name()) {
            Err(_) => fields.push(field.as_ref().clone().with_nullable(true)),
            Ok(other) if without_layout(other.data_type()).equals_datatype(&without_layout(field.data_type())) => {
                fields.push(field.as_ref().clone().with_nullable(field.is_nullable() || other.is_nullable()));
            }
            Ok(other) => {
                return Err(Error::invalid(format!(
                    "the collection stores it as {}, but the rows have {}",
                    field.data_type(),
                    other.data_type()
                ))
                .at(field.name())
                .advice(format!(
                    "give the rows the same type, or replace the collection with {}",
                    MODE.to("overwrite")
                )));
            }
        }
    }
    let added = new.fields().iter().filter(|field| kept.field_with_name(field.name()).is_err());
    fields.extend(added.map(|field| field.as_ref().clone().with_nullable(true)));
    Ok(Schema::new_with_metadata(fields, kept.metadata().clone()))
}
