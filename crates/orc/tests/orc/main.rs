//! Files of other writers, of our own, and damaged ones.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

// One binary for all of them: each would be linked with everything that is under test.
mod calendars;
mod common;
mod conformance;
mod damage;
mod json;
mod memory;
mod row_groups;
mod write;
