//! Paths of the files that a log names.
//!
//! A log may be written by others. A name in it is a file of the table's folder, or an absolute path or URL. An
//! absolute one may be in the store of the table: the same bucket, or a local folder for a local table (as in shallow
//! clones). One in another store would be read with the reader's own rights and keys: it is refused, unless the reader
//! allows it.

use lakerace_io::object_store::path::Path;
use lakerace_io::option::ALLOW_FOREIGN_PATHS;
use lakerace_io::{Error, JobStore, Location, Object, Result, StorageOptions};
use percent_encoding::percent_decode_str;

/// A table's folder and store, and the names that are allowed in its log.
pub(crate) struct TablePaths {
    pub store: JobStore,
    pub root: Path,
    /// The table as the user named it.
    pub place: String,
    pub storage: StorageOptions,
}

/// The kind of a name in a log.
enum LoggedName {
    /// A path below the table's folder.
    Below(Path),
    /// A path in the table's store.
    InStore(Path),
    /// A URL or path of another store, decoded.
    Foreign(String),
}

impl TablePaths {
    /// The object that a log names; the name is encoded as a URI.
    pub fn object(&self, name: &str) -> Result<Object> {
        match self.parse(name)? {
            LoggedName::Below(path) => Ok(self.store.object(self.below(&path))),
            LoggedName::InStore(path) => Ok(self.store.object(path)),
            LoggedName::Foreign(url) => self.foreign(&url),
        }
    }

    /// The paths in the table's store that a name may mean, in any encoding of its writer. None for a path of another
    /// store.
    pub fn own_paths(&self, name: &str) -> Result<Vec<Path>> {
        let mut paths = match self.parse(name)? {
            LoggedName::Below(path) => vec![self.below(&path)],
            LoggedName::InStore(path) => vec![path],
            LoggedName::Foreign(_) => return Ok(Vec::new()),
        };
        if name.contains('%') {
            // A writer that does not encode names means this one.
            paths.extend(normal(name).ok().map(|path| self.below(&path)));
        }
        Ok(paths)
    }

    fn below(&self, path: &Path) -> Path {
        self.root.parts().chain(path.parts()).collect()
    }

    fn parse(&self, name: &str) -> Result<LoggedName> {
        let decoded = percent_decode_str(name)
            .decode_utf8()
            .map_err(|_| Error::corrupt("the log names a file whose path is not valid UTF-8").at(&self.place))?;
        let named = |e: String| Error::corrupt(format!("the log names the file {decoded:?}: {e}")).at(&self.place);
        if !is_absolute(name) {
            return normal(&decoded).map(LoggedName::Below).map_err(named);
        }
        match self.in_store(&decoded) {
            Some(path) => normal(path).map(LoggedName::InStore).map_err(named),
            None => Ok(LoggedName::Foreign(decoded.into_owned())),
        }
    }

    /// The path in the table's store of an absolute path or URL.
    fn in_store<'a>(&self, name: &'a str) -> Option<&'a str> {
        if self.store.has_local_files() {
            return local_path(name);
        }
        let (scheme, rest) = name.split_once("://")?;
        let (own, prefix) = self.store.url_prefix.split_once("://")?;
        // Hadoop has other schemes for S3.
        let scheme = if matches!(scheme, "s3a" | "s3n") { "s3" } else { scheme };
        scheme.eq_ignore_ascii_case(own).then(|| rest.strip_prefix(prefix)).flatten()
    }

    fn foreign(&self, name: &str) -> Result<Object> {
        let refused = |what: &str| Error::unsupported(format!("the log names {name:?}, {what}")).at(&self.place);
        let url = local_path(name).map_or_else(|| name.to_owned(), |path| format!("/{path}"));
        let Ok(location) = Location::parse(&url) else {
            return Err(refused("which is in a store that can't be read"));
        };
        if !self.storage.allows_foreign_paths()? {
            return Err(refused("which is not in the table's store").advice(format!(
                "if you trust the writer of the table, pass {ALLOW_FOREIGN_PATHS}: the file is read with your \
                 permissions and keys"
            )));
        }
        location.object(&self.storage, &self.store.job)
    }
}

/// The path in a store without empty parts and `.`; an error where it has `..` or is none.
fn normal(name: &str) -> Result<Path, String> {
    let parts: Vec<&str> = name.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
    if parts.contains(&"..") {
        return Err("it leads out of the table".to_owned());
    }
    if parts.is_empty() {
        return Err("it has no name".to_owned());
    }
    Path::parse(parts.join("/")).map_err(|_| "a path can't contain control characters".to_owned())
}

/// Returns true if an encoded name is a URL (`s3://…`, `file:/…`) or an absolute path. A colon alone does not make it
/// one: names of files may have colons.
fn is_absolute(name: &str) -> bool {
    let is_scheme = |scheme: &str| {
        scheme.starts_with(|c: char| c.is_ascii_alphabetic())
            && scheme.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'))
    };
    name.starts_with('/') || local_path(name).is_some() || name.split_once("://").is_some_and(|(s, _)| is_scheme(s))
}

/// The path of a file of this machine: Hadoop writes `file:/a/b` for `file:///a/b`.
fn local_path(name: &str) -> Option<&str> {
    let path = match name.get(..5) {
        Some(scheme) if scheme.eq_ignore_ascii_case("file:") => &name[5..],
        _ => name,
    };
    let path = path.strip_prefix("//localhost/").map_or(path, |_| &path["//localhost".len()..]);
    path.starts_with('/').then(|| path.trim_start_matches('/'))
}

/// The folder of the log, in a table's folder.
pub const LOG: &str = "_delta_log";

/// The table's folder as the kernel knows it; see [`LogStore`].
pub(crate) const ROOT: &str = "table:///";

/// The folder of change files, in the table's.
pub(crate) const CHANGE_FOLDER: &str = "_change_data";

/// The prefix of the names of data files.
pub(crate) const DATA_FILE: &str = "part";
/// The prefix of the names of change files.
pub(crate) const CHANGE_FILE: &str = "cdc";
/// Hexadecimal digits in the name of a file.
const NAME_DIGITS: usize = 32;

/// The name of a file of rows: `part-00000-<32 hexadecimal digits>.parquet`.
pub(crate) fn file_name(kind: &str, number: usize, random: u128) -> String {
    format!("{kind}-{number:05}-{random:0NAME_DIGITS$x}.parquet")
}

/// Returns true if a path ends in a name that [`file_name`] makes for data files. Files of other writers have other
/// names.
pub(crate) fn is_own_data_file(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let name = name.strip_prefix(DATA_FILE).and_then(|name| name.strip_prefix('-')?.strip_suffix(".parquet"));
    name.and_then(|name| name.split_once('-')).is_some_and(|(number, digits)| {
        number.bytes().all(|byte| byte.is_ascii_digit())
            && digits.len() == NAME_DIGITS
            && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
    })
}

#[cfg(test)]
mod tests;
