//! MongoDB: documents to batches and back, straight from and to the bytes of BSON.

mod columns;
mod connection;
mod count;
mod decimal;
mod decode;
mod elements;
mod failure;
mod filter;
mod infer;
mod journal;
mod json;
mod kept_schema;
mod location;
mod publication;
mod reader;
mod sender;
mod sink;
mod source;
mod state;
mod statement;
mod tag;
mod target;

use std::sync::Arc;

use self::connection::MongoConnection;
use self::location::MongoLocation;
use crate::system::{DatabaseClient, DatabaseSystem};

/// MongoDB.
pub static MONGODB: DatabaseSystem = DatabaseSystem {
    name: "mongodb",
    schemes: &["mongodb", "mongodb+srv"],
    example: "a MongoDB collection (mongodb://…)",
    has_stable_order: false,
    has_transactions: false,
    infers_types: true,
    has_other_columns: false,
    has_nan: true,
    is_local_file: false,
};

/// Without a schema that is given or kept, a source reads all documents once.
pub(crate) static CLIENT: DatabaseClient = DatabaseClient {
    system: &MONGODB,
    open_source: source::open,
    open_sink: target::open,
    examine_sink: target::examine,
    shown: |location| Ok(MongoLocation::parse(location)?.to_string()),
    canonical: |location| Ok(MongoLocation::parse(location)?.canonical()),
    local_file: |_| None,
    open_state: |location, job| {
        Ok(Arc::new(state::CollectionState(MongoConnection::open(MongoLocation::parse(location)?, job)?)))
    },
};

#[cfg(test)]
mod tests;
