//! Generated tables through the source that everybody reads them by.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod allocations;
mod common;
mod plans;
mod reads;
mod reference;
mod refresh;
