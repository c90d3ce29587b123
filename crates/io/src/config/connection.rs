//! Locations below a connection, and the storage options that they are opened with.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::check::{check_options, check_url, is_name, is_sqlite};
use super::entry::ConfigFile;
use super::file::default_path;
use super::variables::{Lookup, expand, expand_url};
use crate::error::{Error, Result};
use crate::nearest::nearest;
use crate::path::split_scheme;
use crate::store::foreign_options::{TranslatedOptions, is_same_option, translate};
use crate::store::kind::StoreKind;
use crate::store::options::StorageOptions;

/// A connection whose variables have values. Its options may be secrets.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct ConnectionOptions {
    /// The name in the file.
    pub name: String,
    options: BTreeMap<String, String>,
    warning: Option<String>,
}

/// The name alone: options may be secrets.
impl std::fmt::Debug for ConnectionOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ConnectionOptions").field("name", &self.name).finish_non_exhaustive()
    }
}

/// The URL or path that a location below a connection means. The URL may contain a password.
#[derive(Clone)]
pub struct ResolvedLocation {
    /// The whole location.
    pub url: String,
    /// The connection.
    pub connection: Arc<ConnectionOptions>,
}

impl ConnectionOptions {
    /// The warning about the file that it is from.
    pub fn warning(&self) -> Option<&str> {
        self.warning.as_deref()
    }

    /// The storage options of a store: those of the caller, and those of the connection which they do not replace.
    /// Credentials of the caller replace all those of the connection.
    pub(crate) fn options_of(&self, kind: &StoreKind, given: &StorageOptions) -> Result<StorageOptions> {
        let translated = translate(kind, &given.options)?;
        let gives_identity = given.credentials.is_some() || is_identity(kind, &translated);
        let mut merged = given.clone();
        for (name, value) in &self.options {
            let own = translate(kind, &BTreeMap::from([(name.clone(), value.clone())]))?;
            let is_given = own.options.keys().any(|own| {
                translated.options.keys().chain(given.options.keys()).any(|given| is_same_option(kind, own, given))
            });
            let is_replaced = is_given || gives_identity && is_identity(kind, &own);
            if !is_replaced {
                merged.options.insert(name.clone(), value.clone());
            }
        }
        Ok(merged)
    }
}

/// Settings of S3 that are credentials. Its own order of sources knows which of them belong together, so that its kind lists none.
const S3_CREDENTIALS: [&str; 8] = [
    "aws_access_key_id",
    "aws_secret_access_key",
    "aws_session_token",
    "aws_skip_signature",
    "aws_web_identity_token_file",
    "aws_role_arn",
    "aws_container_credentials_relative_uri",
    "aws_container_credentials_full_uri",
];

/// Returns true if options give credentials, or the place of credentials.
fn is_identity(kind: &StoreKind, options: &TranslatedOptions) -> bool {
    let is_of_s3 = |name: &String| S3_CREDENTIALS.iter().any(|known| is_same_option(kind, name, known));
    let names_other = options.profile.is_some() || options.role.is_some();
    names_other || kind.is_identity_given(options) || options.options.keys().any(is_of_s3)
}

/// Resolves the text after the `@` of a location.
pub(super) fn resolve(text: &str, config: Option<&ConfigFile>, lookup: Lookup<'_>) -> Result<ResolvedLocation> {
    let end = text.find(['/', '#']).unwrap_or(text.len());
    let (name, rest) = text.split_at(end);
    let entry = config.and_then(|config| config.connections.get(name));
    let (Some(config), Some(entry)) = (config, entry) else {
        return Err(unknown_connection(name, text, config));
    };
    let place = |line: usize| config.place_of(line);
    let base = expand_url(&entry.url.text, lookup).and_then(|url| check_url(&url).map(|()| url));
    let base = base.map_err(|error| error.at(format!("{}, url of {name}", place(entry.url.line))))?;
    let mut options = BTreeMap::new();
    for (option, value) in &entry.options {
        let value = expand(&value.text, lookup)
            .map_err(|error| error.at(format!("{}, {option} of {name}", place(value.line))))?;
        options.insert(option.clone(), value);
    }
    check_options(&base, options.keys().map(|option| (option.as_str(), entry.url.line)))
        .map_err(|(line, error)| error.at(place(line)))?;
    let url = join(&base, rest).map_err(|error| error.at(format!("@{name}")))?;
    let connection = ConnectionOptions { name: name.to_owned(), options, warning: config.warning() };
    Ok(ResolvedLocation { url, connection: Arc::new(connection) })
}

/// The error of a location without a connection. `text` is the location after its `@`.
fn unknown_connection(name: &str, text: &str, config: Option<&ConfigFile>) -> Error {
    let local = format!("a local file of this name is ./@{text}");
    if !is_name(name) {
        return Error::usage(format!("{name:?} is no name of a connection")).at(format!("@{text}")).advice(format!(
            "{local}; other locations that begin with @ are below a connection of the configuration file, such as @lake/orders"
        ));
    }
    let advice = match config {
        None => {
            let file =
                default_path().map_or_else(|| "a configuration file".to_owned(), |path| path.display().to_string());
            format!("there is no configuration file: write [connection.{name}] into {file}; {local}")
        }
        Some(config) if config.connections.is_empty() => {
            format!("{} has no connections; {local}", config.path.display())
        }
        Some(config) => {
            let names = || config.connections.keys().map(String::as_str);
            let all = names().map(|name| format!("@{name}")).collect::<Vec<_>>().join(", ");
            let file = config.path.display();
            match nearest(name, names()) {
                Some(near) => format!("did you mean @{near}? {file} has {all}; {local}"),
                None => format!("{file} has {all}; {local}"),
            }
        }
    };
    Error::usage(format!("unknown connection {name:?}")).at(format!("@{text}")).advice(advice)
}

/// Puts the rest of a location after the URL of its connection.
fn join(base: &str, rest: &str) -> Result<String> {
    let below = rest.trim_start_matches('/');
    if rest.is_empty() {
        return Ok(base.to_owned());
    }
    if is_sqlite(base) {
        if base.contains('#') || base.contains("?query=") {
            return Err(Error::usage("the connection already names a table").advice("omit what follows its name"));
        }
        return Ok(format!("{base}#{}", below.trim_start_matches('#')));
    }
    if rest.starts_with('#') {
        return Err(Error::usage("# names a table of SQLite, which the connection is not").advice("write / there"));
    }
    // In names of objects, a question mark is an ordinary character.
    let has_query = split_scheme(base).is_some() && StoreKind::of_url(base).is_none_or(|kind| kind.has_encoded_names);
    let (path, query) = match base.find('?').filter(|_| has_query) {
        Some(at) => base.split_at(at),
        None => (base, ""),
    };
    Ok(format!("{}/{below}{query}", path.strip_suffix('/').unwrap_or(path)))
}

#[cfg(test)]
mod tests;
