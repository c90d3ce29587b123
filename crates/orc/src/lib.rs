//! The ORC file format (version 1) on Arrow, without I/O: the caller is told which byte ranges are needed, fetches them as
//! it likes, and hands them in; a writer hands out the bytes to be appended.
//!
//! [`schema`] maps ORC types to Arrow types and back, [`proto`] holds the messages of the format, [`compress`] the chunks that
//! streams and footers are cut into, [`read`] the way from bytes to batches, [`write`] the way back.

#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

pub mod compress;
mod encode;
mod error;
pub mod proto;
pub mod read;
pub mod schema;
mod widths;
pub mod write;

pub use error::{Error, ErrorKind, Result};
