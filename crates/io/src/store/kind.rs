//! Kinds of remote stores. Each is one value next to its code, and one line of [`STORE_KINDS`].

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use object_store::client::HttpRequest;
use object_store::path::Path;
use object_store::{ClientOptions, ObjectStore, RetryConfig};
use serde::Serialize;

use super::foreign_options::{ForeignOption, TranslatedOptions};
use super::settings::{SettingsDraft, StoreSettings};
use super::wrap::AttemptConnector;
use super::{azure, google, http, s3};
use crate::error::{Error, Result};
use crate::meter::RequestKind;
use crate::option::STORAGE_OPTION;

/// All kinds of remote stores.
pub(crate) static STORE_KINDS: [&StoreKind; 4] = [&s3::S3, &google::GOOGLE, &azure::AZURE, &http::HTTP];

/// A kind of store: its name, its abilities, and the way to reach one.
pub struct StoreKind {
    /// Its name in messages.
    pub name: &'static str,
    /// Schemes of its URLs, in lower case. The first one is its own.
    pub schemes: &'static [&'static str],
    /// The schemes whose URLs have the container before an `@`, where others would have a secret.
    pub(crate) container_schemes: &'static [&'static str],
    /// A URL of an object, for advice.
    pub example: &'static str,
    /// The store can list its objects.
    pub can_list: bool,
    /// It takes and removes objects.
    pub can_write: bool,
    /// Its requests are billed to who sends them.
    pub is_billed: bool,
    /// It makes an object only where nothing has its name: Delta tables and locks need that.
    pub can_put_if_absent: bool,
    /// The way to make an object of several parts if no object has its name.
    pub(crate) conditional_parts: ConditionalParts,
    /// Names of a URL are percent-encoded.
    pub(crate) has_encoded_names: bool,
    /// The store's word for the first part of its URLs.
    pub(crate) container: &'static str,
    /// Storage options that users give most.
    pub(crate) common_options: &'static [&'static str],
    /// Settings that are credentials. If an option gives one of them, those of the environment are ignored.
    pub(crate) identity_settings: &'static [&'static str],
    /// Settings that are addresses of servers.
    pub(crate) addresses: &'static [&'static str],
    /// The advice to users for errors.
    pub(crate) advice: StoreAdvice,
    /// Returns true if a variable of the environment may be a setting.
    pub(crate) is_variable: fn(&str) -> bool,
    /// The name of a setting by any of its names in lower case.
    pub(crate) setting: fn(&str) -> Option<String>,
    /// The meaning of an option that other tools have, by its name in lower case.
    pub(crate) foreign_option: fn(&str) -> Option<ForeignOption>,
    /// Settings that neither options nor the store's own variables give.
    pub(crate) defaults: fn(&mut SettingsDraft, &TranslatedOptions) -> Result<()>,
    /// The address and the path of a URL, from its scheme in lower case, the text after it, and the URL for messages.
    pub(crate) parse: fn(&str, &str, &str) -> Result<(StoreAddress, Path)>,
    /// The billing category of a request; `None` if the request does not go to the store.
    pub(crate) bill: fn(&HttpRequest) -> Option<RequestKind>,
    /// Makes a client.
    pub(crate) build: fn(&StoreAddress, &StoreSettings, StoreClient) -> Result<BuiltStore>,
}

/// The way to make an object of several parts on the condition that no object has its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ConditionalParts {
    /// The request that completes it takes the condition.
    OnCompletion,
    /// It is completed under a hidden name, and copied under the condition.
    OnCopy,
}

/// Advice of errors.
pub(crate) struct StoreAdvice {
    /// For missing credentials.
    pub no_credentials: &'static str,
    /// The store denies access.
    pub denied: &'static str,
    /// The bucket or container does not exist.
    pub no_container: &'static str,
    /// The object does not exist.
    pub no_object: &'static str,
    /// For an answer of something else than the store.
    pub no_store: &'static str,
}

/// The client that stores are built with.
pub(crate) struct StoreClient {
    pub options: ClientOptions,
    pub retry: RetryConfig,
    pub connector: AttemptConnector,
}

/// A client of a store, and the identity that `lakerace check` reports.
pub(crate) struct BuiltStore {
    pub store: Arc<dyn ObjectStore>,
    pub identity: StoreIdentity,
}

/// The identity with which a store is used, and the place of the store.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StoreIdentity {
    /// The source of the credentials, in words. It has no secret.
    pub credentials: String,
    /// The region of the bucket.
    pub region: Option<StoreRegion>,
    /// The server, if it is not the provider's own.
    pub endpoint: Option<String>,
}

/// The region of a bucket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoreRegion {
    /// Its name: `eu-central-1`.
    pub name: String,
    /// The source of the name.
    pub source: RegionSource,
}

/// The source of the name of a region.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RegionSource {
    /// Storage options, variables of the environment or a profile.
    Settings,
    /// Amazon, which returns it without credentials.
    Amazon,
}

/// A remote store as a job uses it.
#[derive(Debug, Clone)]
pub struct RemoteStore {
    /// Its kind.
    pub kind: &'static StoreKind,
    /// The identity with which it is used, and its place.
    pub identity: StoreIdentity,
}

/// A bucket, a container or a server.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct StoreAddress {
    pub kind: &'static StoreKind,
    /// The text before an object's path in its URL: `s3://bucket/`.
    pub url_prefix: String,
    /// The bucket, the container or the server.
    pub container: String,
    /// The account that the URL names.
    pub account: Option<String>,
    /// The server of the account that the URL names, if it is not one of the provider's usual ones.
    pub account_endpoint: Option<String>,
    /// The query of the URL, which may be a secret.
    pub query: Option<String>,
}

impl StoreKind {
    /// The kind of store that has this scheme, in letters of any case.
    pub(crate) fn of_scheme(scheme: &str) -> Option<&'static Self> {
        STORE_KINDS.into_iter().find(|kind| kind.schemes.iter().any(|known| known.eq_ignore_ascii_case(scheme)))
    }

    /// The kind of store that a URL is of.
    pub(crate) fn of_url(url: &str) -> Option<&'static Self> {
        Self::of_scheme(url.split_once("://")?.0)
    }

    /// Returns true if an option is one of its settings, or of other tools for the same store.
    pub(crate) fn knows_option(&self, name: &str) -> bool {
        (self.setting)(name).is_some() || (self.foreign_option)(name).is_some()
    }

    /// Returns true if options give credentials.
    pub(crate) fn is_identity_given(&self, options: &TranslatedOptions) -> bool {
        options.connection.is_some() || options.options.keys().any(|name| self.is_identity(name))
    }

    /// Returns true if a setting, by any of its names, is a credential.
    pub(crate) fn is_identity(&self, name: &str) -> bool {
        let setting = (self.setting)(&name.to_ascii_lowercase());
        setting.is_some() && self.identity_settings.iter().any(|known| (self.setting)(known) == setting)
    }

    /// Refuses writes to a store that takes none; `url` names the target.
    pub(crate) fn check_writable(&self, url: impl FnOnce() -> String) -> Result<()> {
        if self.can_write { Ok(()) } else { Err(self.read_only(&url())) }
    }

    /// The error of a write to a store that takes none.
    pub(crate) fn read_only(&self, url: &str) -> Error {
        Error::unsupported(format!("{} locations are read-only", self.name))
            .at(url)
            .advice("write to a local path or to an object store")
    }

    /// The error of a listing of a store that has none.
    pub(crate) fn no_listing(&self, url: &str) -> Error {
        let error = Error::unsupported(
            "an HTTP server has no reliable listings, so folders, patterns and tables can't be read",
        )
        .advice("give the URL of one file, with an ending that names its format");
        if url.is_empty() { error } else { error.at(url) }
    }

    /// A bucket and a key of a URL such as `s3://bucket/key`. Keys are taken as they stand: `%` and `#` are characters of the key.
    pub(crate) fn bucket_and_key(&'static self, rest: &str, shown: &str) -> Result<(StoreAddress, Path)> {
        let (container, path) = container_and_key(self, rest, shown)?;
        let url_prefix = format!("{}://{container}/", self.schemes[0]);
        Ok((
            StoreAddress { kind: self, url_prefix, container, account: None, account_endpoint: None, query: None },
            path,
        ))
    }
}

/// The two parts of a URL without its scheme.
pub(crate) fn container_and_key(kind: &StoreKind, rest: &str, shown: &str) -> Result<(String, Path)> {
    if is_signed(rest) {
        return Err(Error::usage("presigned URLs are not accepted, because each is for one request only")
            .at(shown)
            .advice(format!("write {}; {}", kind.example, kind.advice.no_credentials)));
    }
    let (container, key) = rest.split_once('/').unwrap_or((rest, ""));
    if container.contains('@') {
        return Err(Error::usage("credentials in a URL are not accepted, because they would end up in logs")
            .at(shown)
            .advice(format!("{}, or pass {STORAGE_OPTION}", kind.advice.no_credentials)));
    }
    if container.is_empty() {
        let message = format!("the URL names no {}", kind.container);
        return Err(Error::usage(message).at(shown).advice(format!("write {}", kind.example)));
    }
    let path = Path::parse(key).map_err(|e| Error::usage("not a valid key").because(e).at(shown))?;
    Ok((container.to_owned(), path))
}

/// Returns true if it has the query of a presigned URL: of Amazon (versions 4 and 2 of its signatures), Google or Azure.
pub(crate) fn is_signed(rest: &str) -> bool {
    const SIGNATURES: [&str; 7] = [
        "x-amz-signature",
        "x-amz-credential",
        "x-amz-security-token",
        "signature",
        "x-goog-signature",
        "x-goog-credential",
        "sig",
    ];
    let query = rest.split_once('?').map_or("", |(_, query)| query);
    query.split('&').any(|part| {
        let name = part.split('=').next().unwrap_or_default();
        SIGNATURES.iter().any(|known| name.eq_ignore_ascii_case(known))
    })
}

impl fmt::Debug for StoreAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("StoreAddress").field(&self.url_prefix).finish()
    }
}

impl fmt::Debug for StoreKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("StoreKind").field(&self.name).finish()
    }
}

impl PartialEq for StoreKind {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for StoreKind {}

impl Hash for StoreKind {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name.hash(state);
    }
}

#[cfg(test)]
mod tests;
