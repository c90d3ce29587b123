//! Input and output of bytes: locations, metered stores, requests for byte ranges, and atomic writes.
//!
//! All stores implement the trait [`object_store::ObjectStore`]. Wrappers of the same trait add behaviour:
//! [`Metered`](wrap::Metered) counts, [`Retrying`](wrap::Retrying) repeats, [`Throttled`](wrap::Throttled) simulates a
//! slower path, [`Failing`](wrap::Failing) injects faults.

#[cfg(not(unix))]
compile_error!("lakerace runs on Linux and macOS: its files are read and written by positions, as Unix has them");

pub mod address_space;
pub mod config;
pub mod conformance;
mod durability;
mod error;
mod fetch;
mod file_io;
pub mod freed_memory;
mod glob;
#[doc(hidden)]
pub mod internals;
mod job;
mod location;
mod location_check;
pub mod memory_limit;
mod meter;
pub mod nearest;
pub mod open_files;
pub mod option;
mod output;
pub mod panics;
mod path;
mod pipe;
mod plan;
mod printable;
mod private_file;
pub mod profile;
#[cfg(feature = "proxy")]
pub mod proxy;
mod read_permit;
mod redacted;
mod runtime;
mod store;
pub mod threads;
pub mod wait;
mod write_mode;

pub use durability::DurabilityLevel;
pub use error::{Error, ErrorKind, ErrorText, Result};
pub use fetch::Fetcher;
pub use file_io::FileIo;
pub use glob::Glob;
pub use job::{Job, JobOptions};
pub use location::{Location, STORE_LOCATIONS, canonical_path};
pub use location_check::{LocationCheck, RightCheck, RightOutcome, check_location};
pub use meter::{Counts, Meter, Prices, RequestKind, Requests};
pub use output::hidden_file::{give_up_folders, make_folders, remove_folders};
pub use output::orphaned_files::{hold, remove_orphaned_files};
pub use output::permissions::KeptPermissions;
pub use output::{Deferred, IfExists, InFlight, Output, Unpublished};
pub use path::{STANDARD_STREAM, is_hidden_name};
pub use pipe::{Pipe, PipeReader, PipeWriter};
pub use plan::{MinSeekSize, PathProfile, RangeOptions, Request, RequestPlan, Wanted, parse_bytes, plan_requests};
pub use printable::printable;
pub use private_file::{private_file, release};
pub use redacted::redacted;
pub use runtime::runtime;
pub use store::credentials::{Credential, CredentialSource, Credentials};
pub use store::error::store_error;
pub use store::kind::{RegionSource, RemoteStore, StoreIdentity, StoreKind, StoreRegion};
pub use store::local_links::FileIds;
pub use store::object::{JobStore, Object, ObjectTail, StoreAccess};
pub use store::object_info::ObjectInfo;
pub use store::options::{ALLOW_FOREIGN_PATHS, RETRY_TIME_OPTION, StorageOptions};
pub use store::wrap;
pub use write_mode::WriteMode;

pub use object_store;
