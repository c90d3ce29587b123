//! Delta tables on stores in memory: damaged logs, upserts against a model, maintenance beside writers, stores that end.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

// One binary for all of them: each would be linked with everything that is under test.
mod alter;
mod checkpoints;
mod common;
mod compact;
mod counts;
mod damage;
mod faults;
mod feed;
mod feed_reads;
mod feed_schemas;
mod foreign;
mod foreign_statistics;
mod fuzz;
mod ids;
mod links;
mod log;
mod many_files;
mod merge;
mod names;
mod new_tables;
mod not_null;
mod protocol;
mod restore;
mod rewrite;
mod short_answers;
mod update;
mod upsert;
mod upsert_parts;
mod upsert_runs;
mod vacuum;
mod verify;
mod write_faults;
