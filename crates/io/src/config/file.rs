//! The place of the configuration file, and its bytes.

use std::fs::File;
use std::io::{ErrorKind as Io, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::entry::ConfigFile;
use super::parse::parse;
use crate::error::{Error, Result};

/// The variable with the path of the file. Empty: no file is read.
pub const CONFIG_VARIABLE: &str = "LAKERACE_CONFIG";

/// The bytes of a file at most: a larger one was named by mistake.
const MOST_BYTES: u64 = 1 << 20;

/// The file below the user's folder of configurations.
const DEFAULT: &str = "lakerace/config.toml";

/// The path of the file, and true if a caller or the variable names it: then it must exist.
pub(super) fn find(chosen: Option<&Path>) -> Option<(PathBuf, bool)> {
    if let Some(path) = chosen {
        return Some((path.to_owned(), true));
    }
    match std::env::var_os(CONFIG_VARIABLE) {
        Some(path) if path.is_empty() => None,
        Some(path) => Some((PathBuf::from(path), true)),
        None => default_path().map(|path| (path, false)),
    }
}

/// The path of the file that is read by default; `None` of a user without a home.
pub(super) fn default_path() -> Option<PathBuf> {
    // A relative path is not valid there: https://specifications.freedesktop.org/basedir-spec
    let folder = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let configurations = folder("XDG_CONFIG_HOME").or_else(|| folder("HOME").map(|home| home.join(".config")));
    configurations.map(|folder| folder.join(DEFAULT))
}

/// The time and the size of a file; `None` if it can't be asked.
pub(super) fn stamp(path: &Path) -> Option<(Option<SystemTime>, u64)> {
    std::fs::metadata(path).ok().map(|metadata| (metadata.modified().ok(), metadata.len()))
}

/// Reads a file; `None` if it does not exist and is not named.
///
/// # Errors
/// `NotFound` for a named file that does not exist, `Usage` for one that is not valid, others of reading it.
pub(super) fn read(path: &Path, is_named: bool) -> Result<Option<ConfigFile>> {
    let failed = |error: std::io::Error| {
        Error::from(error).at(path.display()).advice(format!(
            "it is the configuration file: name another one, or set {CONFIG_VARIABLE} to an empty text to read none"
        ))
    };
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if !is_named && matches!(error.kind(), Io::NotFound | Io::NotADirectory) => return Ok(None),
        Err(error) => return Err(failed(error)),
    };
    let metadata = file.metadata().map_err(failed)?;
    let mut bytes = Vec::new();
    file.take(MOST_BYTES + 1).read_to_end(&mut bytes).map_err(failed)?;
    let wrong = |what: &str| Error::usage(what).at(path.display());
    if bytes.len() as u64 > MOST_BYTES {
        return Err(wrong("the file is larger than 1 MiB, which no configuration is"));
    }
    let text = String::from_utf8(bytes).map_err(|_| wrong("the file is not valid UTF-8"))?;
    let mut config = parse(path, &text)?;
    config.is_exposed = metadata.is_file() && metadata.permissions().mode() & 0o044 != 0;
    Ok(Some(config))
}
