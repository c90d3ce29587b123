//! Elasticsearch and OpenSearch: one protocol, JSON over HTTP.
//!
//! A load makes an index with strict fields next to the existing one and makes an alias point to it when it is
//! complete; or it adds to an index that exists, whose fields it respects. A journal records the acknowledged rows. A
//! read opens one view and pages through slices of it.

mod aliases;
mod catalog;
mod chunk;
mod client;
mod credentials;
mod date_format;
mod decode;
mod deferred;
mod encode;
mod filter;
mod journal;
mod json_tree;
mod location;
mod mapping;
mod outcome;
mod pit;
mod reader;
mod replaced;
mod schema;
mod sender;
mod settings;
mod sink;
mod source;
mod state;
mod target;
mod time;

use std::sync::Arc;

use self::location::SearchLocation;
use crate::system::{DatabaseClient, DatabaseSystem};

/// Elasticsearch, and OpenSearch, which speaks the same protocol.
pub static ELASTICSEARCH: DatabaseSystem = DatabaseSystem {
    name: "elasticsearch",
    schemes: &["elasticsearch", "elasticsearch+https"],
    example: "an Elasticsearch index (elasticsearch://…)",
    has_stable_order: false,
    has_transactions: false,
    infers_types: false,
    has_other_columns: false,
    has_nan: false,
    is_local_file: false,
};

pub(crate) static CLIENT: DatabaseClient = DatabaseClient {
    system: &ELASTICSEARCH,
    open_source: |location, options, job| {
        Ok(Arc::new(source::ElasticsearchSource::open(SearchLocation::parse(location)?, options, job)?))
    },
    open_sink: |location, schema, options, job| deferred::open(SearchLocation::parse(location)?, schema, options, job),
    examine_sink: |location, schema, options, job| {
        sink::ElasticsearchSink::examine(SearchLocation::parse(location)?, &schema, options, job)
    },
    shown: |location| Ok(SearchLocation::parse(location)?.shown),
    canonical: |location| Ok(SearchLocation::parse(location)?.canonical()),
    local_file: |_| None,
    open_state: |location, job| {
        let location = Arc::new(SearchLocation::parse(location)?);
        Ok(Arc::new(state::IndexState::new(client::SearchClient::new(&location, job)?, job)))
    },
};
