//! Checks of the operations that a location allows.

use lakerace_io::{Error, Job, LocationCheck, Result, StorageOptions, check_location};

use crate::delta;
use crate::resolve::LocationKind;

/// Tries out a location: the credentials, the store, the operations that it allows, and its speed. For a Delta table,
/// its folder is tried.
///
/// # Errors
/// Those of a location that is not one of a store, or that can't be opened. Operations that the store refuses are part
/// of the result.
pub fn check(location: &str, storage: &StorageOptions, job: &Job) -> Result<LocationCheck> {
    match LocationKind::classify(location) {
        LocationKind::Table { folder } => check_location(&format!("{}/", folder.trim_end_matches('/')), storage, job),
        LocationKind::Path => check_location(location, storage, job),
        LocationKind::Tpch | LocationKind::Database(_) => {
            Err(Error::unsupported("only files and stores of files can be checked, and this is neither")
                .at(delta::named(location).unwrap_or(location))
                .advice("read a row of it with `scan` to see that it answers"))
        }
    }
}
