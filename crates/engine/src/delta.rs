//! Delta tables by the names that users give them.

use lakerace_delta::{At, DeltaSource, Snapshot, Table};
use lakerace_io::object_store::path::Path;
use lakerace_io::{Error, Job, JobStore, Location, Result};

use crate::ReadOptions;

/// The folder of a table's log, below its own.
const LOG: &str = "_delta_log";

/// What stands before the folder of a Delta table, to say that it is one.
const SCHEME: &str = "delta:";

/// The folder in `delta:FOLDER`; `None` where the name does not say that it is a Delta table.
pub(crate) fn named(location: &str) -> Option<&str> {
    let scheme = location.get(..SCHEME.len())?;
    scheme.eq_ignore_ascii_case(SCHEME).then(|| &location[SCHEME.len()..])
}

/// Whether an object, or a path of a file, is a part of the log of the table in `folder`.
pub(crate) fn is_log_of(folder: &Path, path: &Path) -> bool {
    let below = path.as_ref().strip_prefix(folder.as_ref()).unwrap_or_default();
    below.trim_start_matches('/').strip_prefix(LOG).is_some_and(|rest| rest.starts_with('/'))
}

/// Whether a folder of this machine is a Delta table.
pub(crate) fn is_local_table(store: &JobStore, path: &Path) -> bool {
    store.local_files && std::fs::metadata(format!("/{path}/{LOG}")).is_ok_and(|metadata| metadata.is_dir())
}

/// The version that a read is for, opened.
pub(crate) fn open(location: &Location, options: &ReadOptions, job: &Job) -> Result<DeltaSource> {
    if options.format.is_some() {
        return Err(Error::usage("it is a Delta table, which has its own format")
            .at(location.as_str())
            .advice("leave the format out; its files alone are not its rows"));
    }
    DeltaSource::open(snapshot(location, options, job)?)
}

fn snapshot(location: &Location, options: &ReadOptions, job: &Job) -> Result<Snapshot> {
    let at = options.at.as_deref().map(str::parse::<At>).transpose()?;
    Table::at(location, &options.storage, job)?.snapshot(at)
}
