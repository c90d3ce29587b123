//! SQLite: tables, views and queries as sources, tables as sinks.
//!
//! Tables that lakerace makes are STRICT. The Arrow types that SQLite's five types can't express are kept in a separate
//! table, and as comments in the table's SQL. The number of committed rows of a load is stored by the transaction that
//! commits them.

mod catalog;
mod connect;
mod decode;
mod definition;
mod encode;
mod error;
mod examine;
mod identity;
mod infer;
mod json;
mod kind;
mod location;
mod lower_bound;
mod mark;
mod numbers;
mod pushdown;
mod row_lookup;
mod scan;
mod sink;
mod source;
mod state;
mod target;
mod time_form;
mod times;

use std::sync::Arc;

use self::location::DatabasePlace;
use crate::system::{DatabaseClient, DatabaseSystem};

/// SQLite.
pub static SQLITE: DatabaseSystem = DatabaseSystem {
    name: "sqlite",
    schemes: &["sqlite"],
    example: "a SQLite table (sqlite:…#table)",
    has_stable_order: true,
    has_transactions: true,
    infers_types: true,
    has_other_columns: true,
    has_nan: false,
    is_local_file: true,
};

pub(crate) static CLIENT: DatabaseClient = DatabaseClient {
    system: &SQLITE,
    open_source: |location, options, job| Ok(Arc::new(source::SqliteSource::open(location, options, job)?)),
    open_sink: |location, schema, options, job| sink::SqliteSink::create(location, &schema, options, job),
    examine_sink: |location, schema, options, job| examine::examine(location, &schema, options, job),
    shown: |location| Ok(DatabasePlace::parse(location)?.shown()),
    canonical: |location| Ok(DatabasePlace::parse(location)?.canonical()),
    local_file: |location| DatabasePlace::parse(location).ok().map(|place| place.path),
    open_state: |location, job| Ok(Arc::new(state::TableState::new(location, job)?)),
};
