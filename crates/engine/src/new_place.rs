//! Places of new files on this machine.

use std::path::Path;

use lakerace_database::DatabaseSystem;
use lakerace_delta::check_outside_tables;
use lakerace_io::{Job, Location, Result, StorageOptions, canonical_path};

use crate::database::shown;

/// Checks a database that is a file of this machine like [`check_new_file`].
///
/// # Errors
/// `Conflict`, with the table.
pub(crate) fn check_new_database(system: &DatabaseSystem, location: &str, job: &Job) -> Result<()> {
    let Some(file) = lakerace_database::local_file(system, location) else { return Ok(()) };
    check_new_file(&file, job).map_err(|error| error.at(shown(location)))
}

/// Checks that a file or a folder that a job makes on this machine is outside of the folders of Delta tables. An existing one stays
/// usable.
///
/// # Errors
/// `Conflict`, with the table.
pub fn check_new_file(path: &Path, job: &Job) -> Result<()> {
    let path = canonical_path(path);
    // The folder is parsed apart: a file's name may look like a pattern.
    let (Some(folder), Some(name)) = (path.parent().and_then(Path::to_str), path.file_name()) else { return Ok(()) };
    if path.exists() {
        return Ok(());
    }
    let (store, folder) = Location::parse(&format!("{folder}/"))?.open(&StorageOptions::default(), job)?;
    check_outside_tables(&store, &folder.join(&*name.to_string_lossy()))
}
