#![doc = include_str!("../README.md")]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod compress;
mod encode;
mod error;
#[doc(hidden)]
pub mod internals;
mod prefetch;
// For tools and tests that inspect a file; not part of the versioned interface.
#[doc(hidden)]
pub mod proto;
pub mod read;
pub mod schema;
// For writers of other formats, whose bounds the same readers take.
#[doc(hidden)]
pub mod skipped_days;
// For decoders of other formats, whose values are dense as well.
#[doc(hidden)]
pub mod spread;
mod widths;
pub mod write;

pub use compress::Codec;
pub use error::{Error, ErrorKind, Result};
// For crates above, whose texts lie all over memory as often as ours.
#[doc(hidden)]
pub use prefetch::prefetch;
pub use proto::StreamKind;
