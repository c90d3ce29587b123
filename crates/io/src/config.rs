//! The configuration file of a user: named connections, and defaults of the command's options.
//!
//! A location that begins with `@` is below a connection: with `url = "s3://bucket/prefix"` in `[connection.lake]`,
//! `@lake/orders` is `s3://bucket/prefix/orders`, opened with the storage options of that connection. A local file of
//! such a name is `./@lake/orders`.
//!
//! The file is the one that [`use_file`] has named, else that of the variable `LAKERACE_CONFIG`, else
//! `lakerace/config.toml` in the user's folder of configurations. A file in the working directory is never read: whoever
//! can write there could lead a job to another place.

mod check;
mod connection;
mod entry;
mod file;
mod parse;
mod variables;

use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::SystemTime;

use arc_swap::ArcSwapOption;
use lakerace_exec::{ProcessLocal, lock};

pub use self::connection::{ConnectionOptions, ResolvedLocation};
pub use self::entry::{ConfigFile, ConfigText, ConnectionEntry, DefaultEntry};
pub use self::file::CONFIG_VARIABLE;
pub use self::parse::WITH_DEFAULTS;
use crate::error::Result;

/// The first character of a location below a connection.
const MARK: char = '@';

/// A file that was read, and the marks of its content.
struct LoadedFile {
    path: PathBuf,
    stamp: (Option<SystemTime>, u64),
    config: Arc<ConfigFile>,
}

/// The file that a caller has chosen. Without a lock, which a fork could leave locked: the choice applies to forked processes.
static CHOSEN: ArcSwapOption<PathBuf> = ArcSwapOption::const_empty();

/// The file that was read last.
static LOADED: ProcessLocal<Mutex<Option<LoadedFile>>> = ProcessLocal::new(Mutex::default);

/// Chooses the file of this process; `None`: the one that the environment names.
///
/// # Errors
/// `NotFound` if it does not exist, `Usage` if it is not valid. The file that was chosen before then stays.
pub fn use_file(path: Option<PathBuf>) -> Result<()> {
    if let Some(path) = &path {
        file::read(path, true)?;
    }
    CHOSEN.store(path.map(Arc::new));
    Ok(())
}

/// The configuration that applies now, read again where its file has changed; `None` without a file.
///
/// # Errors
/// `NotFound` for a file that was named and does not exist, `Usage` for one that is not valid.
pub fn active() -> Result<Option<Arc<ConfigFile>>> {
    let chosen = CHOSEN.load();
    let Some((path, is_named)) = file::find(chosen.as_deref().map(PathBuf::as_path)) else { return Ok(None) };
    let stamp = file::stamp(&path);
    let mut last = lock(&LOADED);
    if let Some(loaded) = last.as_ref().filter(|loaded| loaded.path == path && Some(loaded.stamp) == stamp) {
        return Ok(Some(Arc::clone(&loaded.config)));
    }
    let Some(config) = file::read(&path, is_named)?.map(Arc::new) else { return Ok(None) };
    *last = stamp.map(|stamp| LoadedFile { path, stamp, config: Arc::clone(&config) });
    Ok(Some(config))
}

/// Returns true if a location is below a connection. Whether the connection exists is not asked.
pub fn is_below_connection(location: &str) -> bool {
    location.starts_with(MARK)
}

/// The URL that a location below a connection means; `None` of other locations.
///
/// # Errors
/// `Usage` for an unknown connection, with the known ones, and for a variable that is not set; those of [`active`].
pub fn resolve(location: &str) -> Result<Option<ResolvedLocation>> {
    let Some(text) = location.strip_prefix(MARK) else { return Ok(None) };
    let config = active()?;
    connection::resolve(text, config.as_deref(), &|name| std::env::var(name)).map(Some)
}

#[cfg(test)]
mod tests;
