//! Settings of a store: variables of the environment and storage options, checked before anything is sent.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::time::Duration;

use url::{Host, Url};

use super::credentials::{Credentials, RoleRequest};
use super::error::unknown_option;
use super::foreign_options::{is_common_option, is_same_option, translate};
use super::kind::{STORE_KINDS, StoreKind};
use crate::error::{Error, Result};
use crate::option::STORAGE_OPTION;
use crate::store::options::{ALLOW_FOREIGN_PATHS, RETRY_TIME_OPTION, StorageOptions};

/// Settings by the names of `object_store`. Those of the options win over the environment's.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct StoreSettings {
    kind: &'static StoreKind,
    values: BTreeMap<String, String>,
    /// The names of those that options give.
    options: BTreeSet<String>,
    credentials: Option<Credentials>,
    /// The source of the credentials, if it is none of the settings.
    source: Option<String>,
    /// The roles that the credentials assume, one by the other.
    roles: Vec<RoleRequest>,
    /// Roles are requested from the one global endpoint, in the regions that know it.
    has_global_sts: bool,
    retry_time: Option<Duration>,
    /// The warnings for the user.
    warnings: Vec<String>,
}

/// Settings on their way: a kind of store adds its defaults between those of the environment and those of the options.
#[derive(Debug)]
pub(crate) struct SettingsDraft {
    settings: StoreSettings,
}

impl StoreSettings {
    /// The settings of this process and of one store.
    ///
    /// An option that no store knows, a value that no request can carry, and an address that is none are errors of kind
    /// `Usage`. They name the setting, and do not show its value: it may be a secret.
    pub(crate) fn gather(kind: &'static StoreKind, options: &StorageOptions) -> Result<Self> {
        let translated = translate(kind, &options.options)?;
        let settings = Self {
            kind,
            values: BTreeMap::new(),
            options: BTreeSet::new(),
            credentials: options.credentials.clone(),
            source: None,
            roles: Vec::new(),
            has_global_sts: false,
            retry_time: options.retry_time()?,
            warnings: translated.warnings.clone(),
        };
        let mut draft = SettingsDraft { settings };
        let is_identity_given = kind.is_identity_given(&translated);
        for (name, value) in std::env::vars_os() {
            let Some(name) = name.to_str().filter(|name| (kind.is_variable)(name)) else { continue };
            // Variables that only other tools know (AWS_PAGER, …) are not for us.
            let Some(setting) = setting_of(kind, name) else { continue };
            // Amazon's and Google's own tools take an empty variable for none.
            if value.is_empty() {
                continue;
            }
            // A setting that an option replaces is ignored, as are other credentials.
            if is_identity_given && kind.is_identity(name) {
                continue;
            }
            if translated.options.keys().any(|option| setting_of(kind, option).as_ref() == Some(&setting)) {
                continue;
            }
            let value =
                value.to_str().ok_or_else(|| Error::usage(format!("the variable {name} is not valid UTF-8")))?;
            draft.set(name, &setting, value)?;
        }
        (kind.defaults)(&mut draft, &translated)?;
        for (name, value) in &translated.options {
            if is_own_option(name) {
                continue;
            }
            match setting_of(kind, name) {
                Some(setting) => {
                    draft.set(&format!("the storage option {name}"), &setting, value)?;
                    draft.settings.options.insert(setting);
                }
                // The other side of a copy may be of another kind.
                None if is_known_option(name) => {}
                None => return Err(unknown_option(name)),
            }
        }
        Ok(draft.settings)
    }

    /// A setting by any of its names.
    pub(crate) fn value(&self, name: &str) -> Option<&str> {
        self.values.get(&setting_of(self.kind, name)?).map(String::as_str)
    }

    /// Checks the file that a setting names, whose contents are sent in a header. If it can't be read, the request that needs it says so.
    pub(crate) fn check_sent_file(&self, name: &str) -> Result<()> {
        let Some(path) = self.value(name) else { return Ok(()) };
        let Ok(text) = std::fs::read_to_string(path) else { return Ok(()) };
        check(&format!("the file {path} ({name})"), &text)
    }

    /// Returns true if a setting is given and true.
    pub(crate) fn is_true(&self, name: &str) -> bool {
        self.value(name).is_some_and(is_true)
    }

    /// Returns true if an option gives a setting.
    pub(crate) fn is_option(&self, name: &str) -> bool {
        setting_of(self.kind, name).is_some_and(|setting| self.options.contains(&setting))
    }

    /// The provider of credentials, if it is none of the settings.
    pub(crate) fn credentials(&self) -> Option<&Credentials> {
        self.credentials.as_ref()
    }

    /// The source of the credentials, where a profile says it.
    pub(crate) fn source(&self) -> Option<&str> {
        self.source.as_deref()
    }

    /// The roles that the credentials assume, one by the other.
    pub(crate) fn roles(&self) -> &[RoleRequest] {
        &self.roles
    }

    /// Returns true if roles are requested from the one global endpoint.
    pub(crate) fn has_global_sts(&self) -> bool {
        self.has_global_sts
    }

    /// The warnings for the user.
    pub(crate) fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// The time within which failed requests are repeated, where an option says it.
    pub(crate) fn retry_time(&self) -> Option<Duration> {
        self.retry_time
    }

    /// All settings by their names.
    pub(crate) fn all(&self) -> impl Iterator<Item = (&str, &str)> {
        self.values.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// The server that a setting names, if it is not the provider's own. Plain http must be allowed by another setting.
    pub(crate) fn endpoint(&self, name: &str, allow_http: &str) -> Result<Option<Url>> {
        let Some(text) = self.value(name) else { return Ok(None) };
        let endpoint = address(name, text)?;
        if endpoint.scheme() == "http" && !self.is_true(allow_http) {
            return Err(Error::usage("the endpoint is plain http, which is not allowed by default").advice(format!(
                "set {}=true or {}, or use an https endpoint",
                allow_http.to_ascii_uppercase(),
                STORAGE_OPTION.to(format!("{allow_http}=true"))
            )));
        }
        Ok(Some(endpoint))
    }
}

/// The names alone: values may be secrets.
impl fmt::Debug for StoreSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Settings").field("kind", &self.kind).field("names", &self.values.keys()).finish()
    }
}

impl SettingsDraft {
    /// A variable of the environment that is no setting of `object_store`; `None` if it is empty.
    pub(crate) fn variable(&self, name: &str) -> Result<Option<String>> {
        match std::env::var(name) {
            Ok(value) => Ok(Some(value).filter(|value| !value.is_empty())),
            Err(std::env::VarError::NotPresent) => Ok(None),
            Err(std::env::VarError::NotUnicode(_)) => {
                Err(Error::usage(format!("the variable {name} is not valid UTF-8")))
            }
        }
    }

    /// A setting by any of its names.
    pub(crate) fn value(&self, name: &str) -> Option<&str> {
        self.settings.value(name)
    }

    /// Returns true if two names are of one setting.
    pub(crate) fn is_same(&self, one: &str, other: &str) -> bool {
        is_same_option(self.settings.kind, one, other)
    }

    /// Returns true if there is a provider of credentials.
    pub(crate) fn has_credentials(&self) -> bool {
        self.settings.credentials.is_some()
    }

    /// Sets a value, which `says` says.
    pub(crate) fn set(&mut self, says: &str, name: &str, value: &str) -> Result<()> {
        let setting = setting_of(self.settings.kind, name).ok_or_else(|| unknown_option(name))?;
        check(says, value)?;
        if self.settings.kind.addresses.contains(&setting.as_str()) {
            address(says, value)?;
        }
        self.settings.values.insert(setting, value.to_owned());
        Ok(())
    }

    /// Sets a value, whose source is `says`, if no other setting gives it.
    pub(crate) fn check_default(&mut self, says: &str, name: &str, value: &str) -> Result<()> {
        if self.value(name).is_some() { Ok(()) } else { self.set(says, name, value) }
    }

    /// Sets a default of this crate if no other setting gives it.
    pub(crate) fn set_default(&mut self, name: &str, value: &str) {
        if let Some(setting) = setting_of(self.settings.kind, name) {
            self.settings.values.entry(setting).or_insert_with(|| value.to_owned());
        }
    }

    /// Takes a value away.
    pub(crate) fn remove(&mut self, name: &str) {
        if let Some(setting) = setting_of(self.settings.kind, name) {
            self.settings.values.remove(&setting);
        }
    }

    /// Sets a provider of credentials.
    pub(crate) fn set_credentials(&mut self, credentials: Credentials) {
        self.settings.credentials = Some(credentials);
    }

    /// Has the credentials assume a role, after those before.
    pub(crate) fn add_role(&mut self, role: RoleRequest) {
        self.settings.roles.push(role);
    }

    /// Returns true if the credentials assume a role.
    pub(crate) fn has_roles(&self) -> bool {
        !self.settings.roles.is_empty()
    }

    /// Requests roles from the one global endpoint, in the regions that know it.
    pub(crate) fn use_global_sts(&mut self) {
        self.settings.has_global_sts = true;
    }

    /// Adds a warning for the user.
    pub(crate) fn warn(&mut self, warning: String) {
        self.settings.warnings.push(warning);
    }

    /// Notes the source of the credentials.
    pub(crate) fn set_source(&mut self, source: String) {
        self.settings.source = Some(source);
    }
}

impl StorageOptions {
    /// Refuses names that no store knows: a setting that nothing reads is a mistake.
    ///
    /// # Errors
    /// `Usage`, with the nearest known name.
    pub fn check_names(&self) -> Result<()> {
        self.retry_time()?;
        for kind in STORE_KINDS {
            translate(kind, &self.options)?;
        }
        match self.options.keys().find(|name| !is_known_option(name)) {
            None => Ok(()),
            Some(name) => Err(unknown_option(name)),
        }
    }
}

impl StorageOptions {
    /// An option that none of these stores uses, and the kinds of stores that do. Options that are no store's settings
    /// are ignored.
    pub fn unread_option(&self, kinds: &[&'static StoreKind]) -> Option<(&str, Vec<&'static StoreKind>)> {
        self.options.keys().filter(|name| !is_own_option(name)).find_map(|name| {
            let lower = name.to_ascii_lowercase();
            let is_common = is_common_option(&lower);
            let reads = |kind: &&'static StoreKind| is_common || kind.knows_option(&lower);
            let is_read = kinds.iter().any(reads);
            (!is_read).then(|| (name.as_str(), STORE_KINDS.into_iter().filter(reads).collect()))
        })
    }
}

/// The setting of a kind of store with this name, in letters of any case.
fn setting_of(kind: &StoreKind, name: &str) -> Option<String> {
    (kind.setting)(&name.to_ascii_lowercase())
}

/// Returns true if a store or a table knows a storage option.
pub(crate) fn is_known_option(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    is_own_option(name) || is_common_option(&lower) || STORE_KINDS.iter().any(|kind| kind.knows_option(&lower))
}

/// Returns true if it is one of our own options, which `object_store` does not know.
fn is_own_option(name: &str) -> bool {
    [ALLOW_FOREIGN_PATHS, RETRY_TIME_OPTION].into_iter().any(|own| name.eq_ignore_ascii_case(own))
}

fn is_true(value: &str) -> bool {
    matches!(value.to_ascii_lowercase().as_str(), "true" | "1" | "yes" | "on" | "y")
}

fn check(name: &str, value: &str) -> Result<()> {
    // They are sent in headers, where a line break would start another one.
    if let Some(at) = value.bytes().position(|byte| !(b' '..=b'~').contains(&byte)) {
        let what = match value.as_bytes().get(at) {
            Some(b'\r' | b'\n') => "a line break",
            Some(byte) if byte.is_ascii() => "a control character",
            _ => "a character that is not ASCII",
        };
        return Err(Error::usage(format!("{name} contains {what} at character {}", at + 1))
            .advice("set it again; a file that it was read from may have other line ends"));
    }
    Ok(())
}

/// An address of a server that speaks HTTP.
fn address(name: &str, text: &str) -> Result<Url> {
    const ADVICE: &str = "write it as https://host or http://host:port";
    let wrong = |what: &str| Error::usage(format!("{name} {what}")).advice(ADVICE);
    if text.is_empty() {
        return Err(Error::usage(format!("{name} is empty")).advice("unset it, or write it as https://host:port"));
    }
    let url = Url::parse(text).map_err(|e| wrong(&format!("is not an address: {e}")))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(wrong("does not start with http:// or https://"));
    }
    if url.host().is_none() {
        return Err(wrong("names no host"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(wrong("contains credentials, which would end up in logs"));
    }
    if url.query().is_some() || url.fragment().is_some() {
        return Err(wrong("has a query or a fragment, which requests would drop"));
    }
    Ok(url)
}

/// Returns true if the connection to `endpoint` (Amazon's own, if there is none) protects bodies from changes, so that
/// they need no signature: it uses TLS, or does not leave this machine. The tools of AWS sign bodies by the same rule,
/// except for the latter: <https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html>, "Unsigned
/// payload option".
pub(crate) fn protects_bodies(endpoint: Option<&Url>) -> bool {
    let Some(endpoint) = endpoint else { return true };
    let is_here = match endpoint.host() {
        Some(Host::Domain(name)) => name.eq_ignore_ascii_case("localhost"),
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    };
    endpoint.scheme() == "https" || is_here
}

/// The error of settings that no client can be made with, which names the one that is refused. Its value is not shown: it may be a
/// secret. `is_refused` tries one alone.
pub(crate) fn refused_setting(
    kind: &StoreKind,
    settings: &StoreSettings,
    error: object_store::Error,
    is_refused: impl Fn(&str, &str) -> bool,
) -> Error {
    match settings.all().find(|(name, value)| is_refused(name, value)) {
        Some((name, _)) => Error::usage(format!("the value of the {} setting {name} is not valid", kind.name)),
        None => Error::usage(format!("the {} settings contradict each other", kind.name)),
    }
    .advice(format!("check {STORAGE_OPTION} and the environment variables"))
    .caused_by(error)
}

#[cfg(test)]
mod tests;
