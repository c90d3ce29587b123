//! Stores as they are: local, in memory, S3, Azure, Google, HTTP, and failing ones.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

// One binary for all of them: each would be linked with everything that is under test.
mod answers;
mod clouds;
mod http;
#[cfg(feature = "proxy")]
mod s3;
mod silence;
mod stores;
