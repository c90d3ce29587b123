//! Checks of what can be done at a location.

use lakerace_io::{Error, Job, LocationCheck, Result, StorageOptions, check_location};

use crate::delta;
use crate::resolve::LocationKind;

/// Tries out what can be done at a location: who asks, where the store is, what it allows, and how fast it answers. Of a Delta table,
/// its folder is tried.
///
/// # Errors
/// Where the location is not one of a store, and where it can't be opened. What the store refuses is part of what was found.
pub fn check(location: &str, storage: &StorageOptions, job: &Job) -> Result<LocationCheck> {
    match LocationKind::of(location) {
        LocationKind::Table { folder } => check_location(&format!("{}/", folder.trim_end_matches('/')), storage, job),
        LocationKind::Path => check_location(location, storage, job),
        LocationKind::Tpch | LocationKind::Database(_) => {
            Err(Error::unsupported("files and stores of files are checked, and this is neither")
                .at(delta::named(location).unwrap_or(location))
                .advice("read a row of it by `scan` to see that it answers"))
        }
    }
}
