//! Paths of this machine and schemes of URLs.

use object_store::path::Path;
use std::path::PathBuf;

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
