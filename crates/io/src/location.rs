//! Locations of files and folders, and the store that each belongs to.

use std::borrow::Cow;
use std::sync::Arc;

use object_store::path::Path;

use crate::config::{self, ConnectionOptions};
use crate::error::{Error, Result};
use crate::job::Job;
use crate::path::{STANDARD_STREAM, file_url, local_path, split_scheme};
use crate::store::is_signed;
use crate::store::kind::{StoreAddress, StoreKind};
use crate::store::object::{JobStore, Object};
use crate::store::options::StorageOptions;
use crate::{redacted, store};

/// A local path or URL of bytes: `/a/b.parquet`, `./x/`, `file:///a`, `s3://bucket/key`, `gs://bucket/key`,
/// `az://container/key`, `https://host/file`, `memory://name/key`.
///
/// Keys of object stores and of `memory://` are taken as they stand, as the AWS command does: `%` and `#` are characters of the key.
/// URLs of `file://`, `http://` and `https://` are percent-decoded; a plain path is not.
///
/// `@lake/key` is below a connection of the [configuration file](crate::config), and is opened with its storage options.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Location {
    text: String,
    target: LocationTarget,
    /// The connection that it is below. Its options apply to this location alone.
    connection: Option<Arc<ConnectionOptions>>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum LocationTarget {
    Local(Path),
    Remote { address: StoreAddress, path: Path },
    Memory { name: String, path: Path },
}

/// The forms of a location of files, as advice.
pub const STORE_LOCATIONS: &str =
    "choose a local path, or a URL with file://, s3://, gs://, az://, abfss://, https://, http:// or memory://";

impl Location {
    /// Parses a path or URL, or resolves a location below a connection.
    ///
    /// # Errors
    /// `Usage` for an unknown scheme, with the known ones, and those of [`config::resolve`].
    pub fn parse(text: &str) -> Result<Self> {
        match config::resolve(text)? {
            Some(resolved) => Ok(Self { connection: Some(resolved.connection), ..Self::parse_url(&resolved.url)? }),
            None => Self::parse_url(text),
        }
    }

    fn parse_url(text: &str) -> Result<Self> {
        if text.is_empty() {
            return Err(Error::usage("the location is empty").advice("give a file, a folder or a URL"));
        }
        if text == STANDARD_STREAM {
            return Err(Error::usage("standard input and output can't be used here")
                .at(text)
                .advice("for a file of this name, write ./-"));
        }
        let Some((scheme, rest)) = split_scheme(text) else {
            let target = LocationTarget::Local(local_path(text, text)?);
            return Ok(Self { text: text.to_owned(), target, connection: None });
        };
        let shown = without_credentials(scheme, rest);
        let scheme = scheme.to_ascii_lowercase();
        let target = match (scheme.as_str(), StoreKind::of_scheme(&scheme)) {
            ("file", _) => LocationTarget::Local(file_url(rest, &shown)?),
            ("memory", _) => {
                let (name, path) = name_and_key(rest, &shown)?;
                LocationTarget::Memory { name, path }
            }
            (scheme, Some(kind)) => {
                let (address, path) = (kind.parse)(scheme, rest, &shown)?;
                LocationTarget::Remote { address, path }
            }
            (scheme, None) => {
                return Err(Error::usage(format!("unknown scheme {scheme:?}"))
                    .at(redacted(&shown))
                    .advice(STORE_LOCATIONS));
            }
        };
        Ok(Self { text: shown, target, connection: None })
    }

    /// Returns true if a text is a URL whose scheme no store has.
    pub fn has_unknown_scheme(text: &str) -> bool {
        split_scheme(text).is_some_and(|(scheme, _)| {
            let scheme = scheme.to_ascii_lowercase();
            !matches!(scheme.as_str(), "file" | "memory") && StoreKind::of_scheme(&scheme).is_none()
        })
    }

    /// Returns true if another location is in the same store: on this machine, or in the same bucket or on the same server.
    pub fn is_in_store_of(&self, other: &Self) -> bool {
        let is_same = match (&self.target, &other.target) {
            (LocationTarget::Local(_), LocationTarget::Local(_)) => true,
            (LocationTarget::Remote { address, .. }, LocationTarget::Remote { address: known, .. }) => {
                address.url_prefix == known.url_prefix
            }
            (LocationTarget::Memory { name, .. }, LocationTarget::Memory { name: known, .. }) => name == known,
            _ => false,
        };
        is_same && self.connection == other.connection
    }

    /// The text of the user, without credentials; the URL of a location below a connection.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The location in one spelling: of a local path the one from the root, without links, and of a folder the one without a slash
    /// at its end.
    pub fn canonical(&self) -> String {
        match &self.target {
            LocationTarget::Local(path) => {
                canonical_path(std::path::Path::new(&format!("/{path}"))).display().to_string()
            }
            LocationTarget::Remote { address, path } => match &address.query {
                Some(query) if address.kind.has_encoded_names => format!("{}{path}?{query}", address.url_prefix),
                _ => format!("{}{path}", address.url_prefix),
            },
            LocationTarget::Memory { name, path } => format!("memory://{name}/{path}"),
        }
    }

    /// Opens the store of this location, metered by `job`; returns it and the path in it (without trailing slash).
    pub fn open(&self, options: &StorageOptions, job: &Job) -> Result<(JobStore, Path)> {
        options.check_names()?;
        if let Some(warning) = self.connection.as_ref().and_then(|connection| connection.warning()) {
            job.warn(warning);
        }
        let options = &*self.options(options)?;
        let (store, path) = match &self.target {
            LocationTarget::Local(path) => (store::local(job), path),
            LocationTarget::Remote { address, path } => {
                (store::remote(address, options, job).map_err(|e| e.at(&self.text))?, path)
            }
            LocationTarget::Memory { name, path } => (store::memory(name, job), path),
        };
        Ok((store, path.clone()))
    }

    /// The storage options of this location: the given ones, and those of its connection which they do not replace.
    ///
    /// # Errors
    /// `Usage` for options that no store takes.
    pub fn options<'a>(&self, given: &'a StorageOptions) -> Result<Cow<'a, StorageOptions>> {
        match (&self.connection, &self.target) {
            (Some(connection), LocationTarget::Remote { address, .. }) => {
                connection.options_of(address.kind, given).map(Cow::Owned)
            }
            _ => Ok(Cow::Borrowed(given)),
        }
    }

    /// Returns true if the store can list its objects: folders, patterns and tables need that.
    pub fn can_list(&self) -> bool {
        match &self.target {
            LocationTarget::Remote { address, .. } => address.kind.can_list,
            LocationTarget::Local(_) | LocationTarget::Memory { .. } => true,
        }
    }

    /// The kind of the remote store; `None` of this machine and of stores in memory.
    pub fn store_kind(&self) -> Option<&'static StoreKind> {
        match &self.target {
            LocationTarget::Remote { address, .. } => Some(address.kind),
            LocationTarget::Local(_) | LocationTarget::Memory { .. } => None,
        }
    }

    /// Refuses writes to a store that takes none.
    ///
    /// # Errors
    /// `Unsupported`, with advice.
    pub fn check_writable(&self) -> Result<()> {
        self.store_kind().map_or(Ok(()), |kind| kind.check_writable(|| self.as_str().to_owned()))
    }

    /// The path on this machine; `None` of other stores.
    pub fn local_path(&self) -> Option<std::path::PathBuf> {
        match &self.target {
            LocationTarget::Local(path) => Some(std::path::PathBuf::from(format!("/{path}"))),
            LocationTarget::Remote { .. } | LocationTarget::Memory { .. } => None,
        }
    }

    /// The location as one object of unknown size. No request is sent.
    pub fn object(&self, options: &StorageOptions, job: &Job) -> Result<Object> {
        let (store, path) = self.open(options, job)?;
        Ok(store.object(path))
    }
}

/// A path from the root, with links resolved for the part that exists.
pub fn canonical_path(path: &std::path::Path) -> std::path::PathBuf {
    let whole = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    for ancestor in whole.ancestors() {
        if let (Ok(found), Ok(rest)) = (std::fs::canonicalize(ancestor), whole.strip_prefix(ancestor)) {
            // Nothing is joined without a slash at the end.
            return if rest.as_os_str().is_empty() { found } else { found.join(rest) };
        }
    }
    whole
}

/// The URL for error messages: without credentials before the host, and without a query that may sign a request.
fn without_credentials(scheme: &str, rest: &str) -> String {
    let kind = StoreKind::of_scheme(scheme);
    let is_local = ["file", "memory"].iter().any(|known| known.eq_ignore_ascii_case(scheme));
    // In names of objects, a question mark is an ordinary character.
    let keeps_query = is_local || kind.is_some_and(|kind| !kind.has_encoded_names);
    let rest = match rest.find('?') {
        Some(at) if !keeps_query || is_signed(rest) => &rest[..at],
        _ => rest,
    };
    let host_end = rest.find('/').unwrap_or(rest.len());
    let host = &rest[..host_end];
    // For a file system of Azure, the part before the `@` is the container, which is no secret.
    let is_container = !host.contains(':')
        && kind.is_some_and(|kind| kind.container_schemes.iter().any(|known| known.eq_ignore_ascii_case(scheme)));
    match host.rfind('@').filter(|_| !is_container) {
        Some(at) => format!("{scheme}://{}{}", &host[at + 1..], &rest[host_end..]),
        None => format!("{scheme}://{rest}"),
    }
}

/// The two parts of a URL of a store in memory.
fn name_and_key(rest: &str, shown: &str) -> Result<(String, Path)> {
    let (name, key) = rest.split_once('/').unwrap_or((rest, ""));
    if name.is_empty() {
        return Err(Error::usage("the URL names no memory store").at(shown).advice("write memory://name/key"));
    }
    let path = Path::parse(key).map_err(|e| Error::usage("not a valid key").because(e).at(shown))?;
    Ok((name.to_owned(), path))
}

#[cfg(test)]
mod tests;
