//! Checks of a connection's texts.

use super::entry::ConnectionEntry;
use crate::error::{Error, Result};
use crate::path::split_scheme;
use crate::store::error::unknown_option;
use crate::store::kind::StoreKind;
use crate::store::options::StorageOptions;
use crate::store::settings::is_known_option;

/// The scheme of SQLite, whose tables follow a `#`.
const SQLITE: &str = "sqlite:";

/// Returns true if a text can be the name of a connection.
pub(super) fn is_name(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'))
}

/// Returns true if a URL is that of a database file of SQLite.
pub(super) fn is_sqlite(url: &str) -> bool {
    url.get(..SQLITE.len()).is_some_and(|scheme| scheme.eq_ignore_ascii_case(SQLITE))
}

/// Checks the texts of a connection as far as that is possible without variables; errors have their lines.
pub(super) fn check_entry(entry: &ConnectionEntry) -> Result<(), (usize, Error)> {
    let url = &entry.url;
    for (name, value) in &entry.options {
        if !is_known_option(name) {
            return Err((value.line, unknown_option(name)));
        }
    }
    if url.text.starts_with("${") {
        return Ok(());
    }
    check_url(&url.text).map_err(|error| (url.line, error))?;
    check_options(&url.text, entry.options.iter().map(|(name, value)| (name.as_str(), value.line)))
}

/// Refuses a URL that depends on the folder of the process, or on another connection. It is not shown: it may have a
/// password.
pub(super) fn check_url(url: &str) -> Result<()> {
    let is_absolute = |path: &str| path.starts_with('/');
    let is_whole = match is_sqlite(url) {
        true => is_absolute(&url[SQLITE.len()..]),
        false => is_absolute(url) || split_scheme(url).is_some(),
    };
    match is_whole {
        true => Ok(()),
        false => Err(Error::usage("the url of the connection is neither a URL nor a path from the root")
            .advice("write it as s3://bucket/prefix, mongodb://host/database, sqlite:///folder/file.db or /folder")),
    }
}

/// Refuses storage options that the store of a URL does not read.
pub(super) fn check_options<'a>(
    url: &str,
    mut options: impl Iterator<Item = (&'a str, usize)>,
) -> Result<(), (usize, Error)> {
    let kind = StoreKind::of_url(url);
    let unread = options.find_map(|(name, line)| {
        let option = StorageOptions::from_iter([(name.to_owned(), String::new())]);
        let kinds: Vec<_> = kind.into_iter().collect();
        let is_unread = kind.is_none() || option.unread_option(&kinds).is_some();
        is_unread.then(|| (line, name.to_owned()))
    });
    let Some((line, name)) = unread else { return Ok(()) };
    let place = match kind {
        Some(kind) => format!("the connection is on {}", kind.name),
        None => "the connection is not on an object store".to_owned(),
    };
    let error = Error::usage(format!("the storage option {name} does not apply: {place}"));
    Err((line, error.advice("remove it from the connection")))
}
