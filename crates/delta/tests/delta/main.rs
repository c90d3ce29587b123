//! Delta tables on stores in memory: maintenance beside writers, and stores that end.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;
mod compact;
mod faults;
mod log;
mod restore;
mod vacuum;
