//! Paths of this machine and schemes of URLs.

use std::path::{Component, PathBuf};

use object_store::path::Path;

use crate::error::{Error, Result};

/// The name of standard input as a source, and of standard output as a target.
pub const STANDARD_STREAM: &str = "-";

/// Returns true if the name of a file or folder is hidden from readers of folders: those of other programs, and the locks of
/// files that Office has open. A folder of a partition (`_day=1`) is hidden only by a dot, as for Spark.
///
/// ```
/// use lakerace_io::is_hidden_name;
/// assert!([".x", ".x=1", "_x", "~$x.xlsx"].into_iter().all(is_hidden_name));
/// assert!(!["x~$", "~x", "$x", "_x=1", "~$x=1"].into_iter().any(is_hidden_name));
/// ```
pub fn is_hidden_name(name: &str) -> bool {
    let is_partition = name.contains('=');
    name.starts_with('.') || !is_partition && (name.starts_with('_') || name.starts_with("~$"))
}

/// The file system path of `path` in a local store.
pub(crate) fn file_path(path: &Path) -> PathBuf {
    PathBuf::from(format!("/{path}"))
}

/// Splits `scheme://rest`. A colon later in a path does not make a scheme.
pub(crate) fn split_scheme(text: &str) -> Option<(&str, &str)> {
    let (scheme, rest) = text.split_once("://")?;
    let valid = scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'));
    valid.then_some((scheme, rest))
}

/// The path that a `file://` URL names after its scheme.
pub(crate) fn file_url(rest: &str, shown: &str) -> Result<Path> {
    let path = rest.strip_prefix("localhost").unwrap_or(rest);
    if !path.starts_with('/') {
        return Err(Error::usage("a file URL needs an absolute path").at(shown).advice("write file:///folder/file"));
    }
    let decoded = percent_encoding::percent_decode_str(path)
        .decode_utf8()
        .map_err(|_| Error::usage("the decoded path is not valid UTF-8").at(shown))?;
    local_path(&decoded, shown)
}

/// Makes a path absolute and takes `.` and `..` out, by name only: a symbolic link before `..` is resolved first.
pub(crate) fn local_path(text: &str, shown: &str) -> Result<Path> {
    let mut absolute = PathBuf::new();
    let given = std::path::Path::new(text);
    if !given.is_absolute() {
        let here = std::env::current_dir()
            .map_err(|e| Error::invalid("the current folder can't be determined").because(e).at(shown))?;
        absolute.push(here);
    }
    for component in given.components() {
        match component {
            Component::ParentDir => {
                // `a/link/..` is the parent of what the link points to.
                if absolute.symlink_metadata().is_ok_and(|m| m.is_symlink()) {
                    absolute = absolute.canonicalize().map_err(|e| Error::from(e).at(shown))?;
                }
                absolute.pop();
            }
            Component::Normal(part) => absolute.push(part),
            Component::RootDir => absolute.push("/"),
            Component::CurDir | Component::Prefix(_) => {}
        }
    }
    let utf8 = absolute.to_str().ok_or_else(|| Error::unsupported("the path is not valid UTF-8").at(shown))?;
    Path::parse(utf8).map_err(|e| {
        Error::unsupported("lakerace can't use this path")
            .because(e)
            .at(shown)
            .advice("rename it without control characters")
    })
}
