//! Elasticsearch as it is: loads and reads against the server that `tests/rust.py` starts.

#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may panic")]

mod faults;
mod loads;
mod proxy;
mod reads;
mod server;
mod types;
