//! Bytes: locations, metered stores, and reading little in few requests.
//!
//! The small trait under everything is [`object_store::ObjectStore`]. Behaviour is added by wrappers of the same
//! trait: [`Metered`](wrap::Metered) counts, [`Retrying`](wrap::Retrying) repeats, [`Throttled`](wrap::Throttled) simulates a
//! slower path, [`Failing`](wrap::Failing) injects faults.

#[cfg(not(unix))]
compile_error!("lakerace runs on Linux and macOS: its files are read and written by positions, as Unix has them");

mod buffers;
pub mod conformance;
mod error;
mod fetch;
mod file_io;
mod hidden_file;
mod job;
mod local_links;
mod local_store;
mod location;
mod meter;
mod object;
mod orphaned_files;
mod output;
mod page_cache;
pub mod panics;
mod permissions;
mod pipe;
mod plan;
mod printable;
mod private_file;
pub mod profile;
#[cfg(feature = "proxy")]
pub mod proxy;
mod rate_limit;
mod semaphore;
mod store_error;
mod stores;
pub mod wrap;

pub use error::{Error, ErrorKind, Result};
pub use fetch::Fetcher;
pub use file_io::FileIo;
pub use hidden_file::{give_up_folders, make_folders, remove_folders};
pub use job::{Job, JobOptions, runtime};
pub use local_links::FileIds;
pub use location::{ALLOW_FOREIGN_PATHS, Location, StorageOptions};
pub use meter::{Counts, Meter, Prices, RequestKind, Requests};
pub use object::{JobStore, Object, ObjectInfo, Tail};
pub use orphaned_files::{hold, remove_orphaned_files};
pub use output::{Deferred, IfExists, Output};
pub use permissions::KeptPermissions;
pub use pipe::{Pipe, PipeReader, PipeWriter, STANDARD_STREAM};
pub use plan::{MinSeekSize, PathProfile, RangeOptions, Request, RequestPlan, Wanted, parse_bytes, plan_requests};
pub use printable::printable;
pub use private_file::{private_file, release};
pub use store_error::store_error;

pub use object_store;
