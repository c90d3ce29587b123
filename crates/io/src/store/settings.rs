//! What a user says of an S3 store: variables of the environment and storage options, checked before anything is sent.

use std::collections::BTreeMap;
use std::time::Duration;

use object_store::aws::AmazonS3ConfigKey;
use url::{Host, Url};

use super::aws_profile::profile_settings;
use super::credentials::Credentials;
use super::error::unknown_option;
use super::foreign_options::{config_key, is_foreign_option, translate};
use crate::option::STORAGE_OPTION;
use crate::{ALLOW_FOREIGN_PATHS, Error, RETRY_TIME_OPTION, Result, StorageOptions};

/// Settings by the names of `object_store`. Those of the options win over the environment's.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Settings {
    settings: BTreeMap<String, String>,
    credentials: Option<Credentials>,
    retry_time: Option<Duration>,
}

/// Settings that are addresses.
const ADDRESSES: [AmazonS3ConfigKey; 3] =
    [AmazonS3ConfigKey::S3Endpoint, AmazonS3ConfigKey::Endpoint, AmazonS3ConfigKey::MetadataEndpoint];

impl Settings {
    /// The settings of this process and of one store.
    ///
    /// An option that no store knows, a value that no request can carry, and an address that is none are errors of kind
    /// `Usage`. They name the setting, and do not show its value: it may be a secret.
    pub(crate) fn gather(options: &StorageOptions) -> Result<Self> {
        let translated = translate(&options.options)?;
        let mut settings = BTreeMap::new();
        for (name, value) in std::env::vars_os() {
            let Some(name) = name.to_str().filter(|name| name.starts_with("AWS_")) else { continue };
            // Variables that only other tools know (AWS_PROFILE, AWS_PAGER, …) are not for us.
            let Some(key) = config_key(name) else { continue };
            // What an option replaces is not looked at.
            if translated.options.keys().any(|option| config_key(option) == Some(key)) {
                continue;
            }
            let value = value.to_str().ok_or_else(|| Error::usage(format!("the variable {name} is not UTF-8")))?;
            check(name, key, value)?;
            settings.insert(key.as_ref().to_owned(), value.to_owned());
        }
        let mut keys = translated.options.keys().filter_map(|name| config_key(name));
        if translated.profile.is_some() || keys.any(|key| key == AmazonS3ConfigKey::AccessKeyId) {
            // A token of the environment belongs to the environment's keys.
            settings.remove(AmazonS3ConfigKey::Token.as_ref());
        }
        if let Some(profile) = &translated.profile {
            for (name, value) in profile_settings(profile)? {
                let key = config_key(name).ok_or_else(|| unknown_option(name))?;
                check(&format!("{name} of the profile {profile:?}"), key, &value)?;
                settings.insert(key.as_ref().to_owned(), value);
            }
        }
        for (name, value) in &translated.options {
            if is_own_option(name) {
                continue;
            }
            let key = config_key(name).ok_or_else(|| unknown_option(name))?;
            check(&format!("the storage option {name}"), key, value)?;
            settings.insert(key.as_ref().to_owned(), value.clone());
        }
        Ok(Self { settings, credentials: options.credentials.clone(), retry_time: options.retry_time()? })
    }

    /// A setting by any of its names.
    pub(crate) fn value(&self, name: &str) -> Option<&str> {
        self.settings.get(config_key(name)?.as_ref()).map(String::as_str)
    }

    /// Who hands out credentials, if it is none of the settings.
    pub(crate) fn credentials(&self) -> Option<&Credentials> {
        self.credentials.as_ref()
    }

    /// The time within which failed requests are repeated, where an option says it.
    pub(crate) fn retry_time(&self) -> Option<Duration> {
        self.retry_time
    }

    /// All settings but the bucket: the URL names that, and AWS_BUCKET must not override it.
    pub(crate) fn all(&self) -> impl Iterator<Item = (AmazonS3ConfigKey, &str)> {
        let known = self.settings.iter().filter_map(|(name, value)| Some((config_key(name)?, value.as_str())));
        known.filter(|(key, _)| *key != AmazonS3ConfigKey::Bucket)
    }

    /// Where the store is, if it is none of Amazon's.
    pub(crate) fn endpoint(&self) -> Result<Option<Url>> {
        let text = self.value("aws_endpoint_url_s3").or(self.value("aws_endpoint_url"));
        let Some(text) = text else { return Ok(None) };
        let endpoint = address("AWS_ENDPOINT_URL", text)?;
        let allows_http = self.value("aws_allow_http").is_some_and(is_true);
        if endpoint.scheme() == "http" && !allows_http {
            return Err(Error::usage("the endpoint is plain http, which is not allowed by default").advice(format!(
                "set AWS_ALLOW_HTTP=true or {}, or use an https endpoint",
                STORAGE_OPTION.to("aws_allow_http=true")
            )));
        }
        Ok(Some(endpoint))
    }
}

impl StorageOptions {
    /// Refuses names that no store knows: a setting that nothing reads is a mistake.
    ///
    /// # Errors
    /// `Usage`, with the nearest known name.
    pub fn check_names(&self) -> Result<()> {
        self.retry_time()?;
        match self.options.keys().find(|name| !is_known_option(name)) {
            None => Ok(()),
            Some(name) => Err(unknown_option(name)),
        }
    }
}

/// Whether a store or a table knows a storage option.
fn is_known_option(name: &str) -> bool {
    is_own_option(name) || config_key(name).is_some() || is_foreign_option(name)
}

/// Whether it is an option of ours, which `object_store` does not know.
fn is_own_option(name: &str) -> bool {
    [ALLOW_FOREIGN_PATHS, RETRY_TIME_OPTION].into_iter().any(|own| name.eq_ignore_ascii_case(own))
}

fn is_true(value: &str) -> bool {
    matches!(value.to_ascii_lowercase().as_str(), "true" | "1" | "yes" | "on" | "y")
}

fn check(name: &str, key: AmazonS3ConfigKey, value: &str) -> Result<()> {
    // They go into headers, where a line break would begin another one.
    if let Some(at) = value.bytes().position(|byte| !(b' '..=b'~').contains(&byte)) {
        let what = match value.as_bytes().get(at) {
            Some(b'\r' | b'\n') => "a line break",
            Some(byte) if byte.is_ascii() => "a control character",
            _ => "a character that is not ASCII",
        };
        return Err(Error::usage(format!("{name} has {what}, as character {}", at + 1))
            .advice("set it anew: a file that it was read from may end its lines differently"));
    }
    if ADDRESSES.contains(&key) {
        address(name, value)?;
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
    let url = Url::parse(text).map_err(|e| wrong(&format!("is no address: {e}")))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(wrong("does not begin with http:// or https://"));
    }
    if url.host().is_none() {
        return Err(wrong("names no host"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(wrong("has credentials in it, which would end up in logs"));
    }
    if url.query().is_some() || url.fragment().is_some() {
        return Err(wrong("has a query or a fragment, which no request would keep"));
    }
    Ok(url)
}

/// Whether the way to `endpoint` (Amazon's own, where there is none) keeps bodies from being changed, so that no signature has to:
/// it is TLS, or does not leave this machine. The tools of AWS sign bodies by the same rule, but for the latter:
/// <https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html>, "Unsigned payload option".
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

#[cfg(test)]
mod tests;
