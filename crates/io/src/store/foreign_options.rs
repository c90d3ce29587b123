//! Storage options of other tools: delta-rs, polars, fsspec and pyarrow. Scripts hand them on.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::kind::StoreKind;
use crate::error::Result;
use crate::option::{MAX_REQUESTS_IN_FLIGHT, MIN_SEEK_SIZE, RETRY_TIME};

/// The storage option with the time within which failed requests are repeated, such as `60s` (the default), `5m` or `0s`.
pub const RETRY_TIME_OPTION: &str = "retry_time";

/// The meaning of an option of another tool.
pub(crate) enum ForeignOption {
    /// Another name of one of our options.
    Alias(&'static str),
    /// One of our options, whose value is converted from this one. Without a converted value, the default has the same
    /// effect.
    Converted(&'static str, fn(&str) -> Option<String>),
    /// The name of a profile in the configuration files of AWS.
    Profile,
    /// The name of a role that the credentials of S3 assume.
    Role,
    /// The name of the role's session.
    RoleSessionName,
    /// A connection string of Azure.
    Connection,
    /// It has no effect, for a reason.
    Unneeded(Cow<'static, str>),
}

/// Storage options by our names.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct TranslatedOptions {
    /// The options, those of other tools under our names.
    pub options: BTreeMap<String, String>,
    /// The profile whose keys sign requests.
    pub profile: Option<String>,
    /// The role that the credentials assume.
    pub role: Option<String>,
    /// The name of the role's session.
    pub role_session_name: Option<String>,
    /// The connection string that names an account and its key.
    pub connection: Option<String>,
    /// The warnings for the user.
    pub warnings: Vec<String>,
}

const CACHES: &str = "nothing is cached between jobs";

fn retries() -> String {
    format!("failed requests are repeated with increasing pauses for up to {RETRY_TIME}, 60 s by default")
}

fn requests() -> String {
    format!("the requests of a read are planned; set {MIN_SEEK_SIZE} and {MAX_REQUESTS_IN_FLIGHT} to change them")
}

/// The meaning of an option that other tools have for every store, by its name in lower case.
fn common_option(name: &str) -> Option<ForeignOption> {
    use ForeignOption::{Alias, Converted, Unneeded};
    Some(match name {
        "retry_timeout" => Alias(RETRY_TIME_OPTION),
        "retry_timeout_ms" => Converted(RETRY_TIME_OPTION, |value| Some(format!("{value}ms"))),
        "max_retries" | "retry_max_attempts" => {
            Converted(RETRY_TIME_OPTION, |value| (value.trim() == "0").then(|| "0s".to_owned()))
        }
        "aws_s3_get_internal_server_error_retries" | "retry_mode" => Unneeded(retries().into()),
        "retry_init_backoff_ms" | "retry_max_backoff_ms" | "retry_base_multiplier" => Unneeded(retries().into()),
        name if name.starts_with("backoff_config.") => Unneeded(retries().into()),
        "object_store_concurrency_limit" | "max_concurrency" | "default_block_size" | "fixed_upload_size" => {
            Unneeded(requests().into())
        }
        "default_cache_type"
        | "default_fill_cache"
        | "cache_regions"
        | "use_listings_cache"
        | "listings_expiry_time"
        | "skip_instance_cache"
        | "max_paths"
        | "file_cache_ttl"
        | "version_aware" => Unneeded(CACHES.into()),
        "asynchronous" => Unneeded("a job waits for its requests".into()),
        _ => return None,
    })
}

pub(crate) fn is_false(value: &str) -> bool {
    matches!(value.to_ascii_lowercase().as_str(), "false" | "0" | "no" | "off")
}

/// Returns true if another tool has an option of this name for every store.
pub(super) fn is_common_option(name: &str) -> bool {
    common_option(name).is_some()
}

/// Our options that every store has, including those of other tools under our names.
pub(super) fn translate_common(options: &BTreeMap<String, String>) -> Result<TranslatedOptions> {
    translate_by(options, common_option, |one, other| one.eq_ignore_ascii_case(other))
}

/// Translates options for a kind of store. Our own take precedence over those of others.
pub(crate) fn translate(kind: &StoreKind, options: &BTreeMap<String, String>) -> Result<TranslatedOptions> {
    let meaning = |name: &str| (kind.foreign_option)(name).or_else(|| common_option(name));
    translate_by(options, meaning, |one, other| is_same_option(kind, one, other))
}

/// Returns true if two names are of one option.
pub(crate) fn is_same_option(kind: &StoreKind, one: &str, other: &str) -> bool {
    let setting = |name: &str| (kind.setting)(&name.to_ascii_lowercase());
    one.eq_ignore_ascii_case(other) || (setting(one).is_some() && setting(one) == setting(other))
}

fn translate_by(
    options: &BTreeMap<String, String>,
    meaning: impl Fn(&str) -> Option<ForeignOption>,
    is_same: impl Fn(&str, &str) -> bool,
) -> Result<TranslatedOptions> {
    let mut translated = TranslatedOptions::default();
    let mut converted = BTreeMap::new();
    for (name, value) in options {
        match meaning(&name.to_ascii_lowercase()) {
            None => drop(translated.options.insert(name.clone(), value.clone())),
            Some(ForeignOption::Alias(own)) => drop(converted.insert(own, value.clone())),
            Some(ForeignOption::Converted(own, convert)) => match convert(value) {
                Some(value) => drop(converted.insert(own, value)),
                None if own == RETRY_TIME_OPTION => translated.warn(name, &retries()),
                None => {}
            },
            Some(ForeignOption::Profile) => translated.profile = Some(value.clone()),
            // The newer one of delta-rs's two names comes first.
            Some(ForeignOption::Role) => translated.role = translated.role.or_else(|| Some(value.clone())),
            Some(ForeignOption::RoleSessionName) => {
                translated.role_session_name = translated.role_session_name.or_else(|| Some(value.clone()));
            }
            Some(ForeignOption::Connection) => translated.connection = Some(value.clone()),
            Some(ForeignOption::Unneeded(reason)) => translated.warn(name, &reason),
        }
    }
    for (own, value) in converted {
        let is_given = translated.options.keys().any(|name| is_same(name, own));
        if !is_given {
            translated.options.insert(own.to_owned(), value);
        }
    }
    Ok(translated)
}

impl TranslatedOptions {
    /// Options of one reason are one warning.
    fn warn(&mut self, name: &str, reason: &str) {
        let is_told = |warning: &String| warning.ends_with(reason);
        match self.warnings.iter_mut().find(|warning| is_told(warning)) {
            Some(told) => *told = told.replacen(" has no effect: ", &format!(", {name} has no effect: "), 1),
            None => self.warnings.push(format!("the storage option {name} has no effect: {reason}")),
        }
    }
}
