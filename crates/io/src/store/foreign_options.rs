//! Storage options of other tools: delta-rs, polars, s3fs and pyarrow. Scripts hand them on.

use std::borrow::Cow;
use std::collections::BTreeMap;

use object_store::aws::AmazonS3ConfigKey;

use crate::option::{MAX_REQUESTS_IN_FLIGHT, MIN_SEEK_SIZE, RETRY_TIME};
use crate::{Error, Result};

/// The storage option with the time within which failed requests are repeated, such as `60s` (the default), `5m` or `0s`.
pub const RETRY_TIME_OPTION: &str = "retry_time";

/// The meaning of an option of another tool.
enum ForeignOption {
    /// Another name of an option of ours.
    Alias(&'static str),
    /// An option of ours whose value is made of this one. Where nothing is made, the value says what happens anyway.
    Converted(&'static str, fn(&str) -> Option<String>),
    /// The name of a profile in the configuration files of AWS.
    Profile,
    /// It has no effect, for a reason.
    Unneeded(Cow<'static, str>),
    /// It would change who signs requests, and can't be followed.
    Refused(&'static str),
}

/// Storage options by the names of ours.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct TranslatedOptions {
    /// The options, those of other tools under our names.
    pub options: BTreeMap<String, String>,
    /// The profile whose keys sign requests.
    pub profile: Option<String>,
    /// What the user should know.
    pub warnings: Vec<String>,
}

const PUT_IF_ABSENT: &str = "a commit is a put-if-absent, which is safe with several writers and renames nothing";
const NO_LOCK_TABLE: &str = "a commit is a put-if-absent and takes no lock in DynamoDB; writers that rely on the lock alone are not \
                             kept apart from it";
const CACHES: &str = "nothing is cached between jobs";
const CREDENTIALS: &str = "keys that are given are used; those of the machine are asked for where none are given";
const ROLES: &str = "roles are not assumed here; give the keys of the role as aws_access_key_id, aws_secret_access_key and \
                     aws_session_token, such as `aws sts assume-role` prints them";

fn retries() -> String {
    format!("failed requests are repeated with growing pauses for the time of {RETRY_TIME}, 60 s by default")
}

fn requests() -> String {
    format!("the requests of a read are planned; {MIN_SEEK_SIZE} and {MAX_REQUESTS_IN_FLIGHT} govern them")
}

/// The meaning of an option by its name in lower case; `None`: no tool that we know has it.
fn meaning(name: &str) -> Option<ForeignOption> {
    use ForeignOption::{Alias, Converted, Profile, Refused, Unneeded};
    Some(match name {
        "key" | "username" | "access_key" => Alias("aws_access_key_id"),
        "secret" | "password" | "secret_key" => Alias("aws_secret_access_key"),
        "region_name" => Alias("aws_region"),
        "endpoint_override" => Alias("aws_endpoint_url"),
        "anon" | "anonymous" => Alias("aws_skip_signature"),
        "requester_pays" => Alias("aws_request_payer"),
        "retry_timeout" => Alias(RETRY_TIME_OPTION),
        "retry_timeout_ms" => Converted(RETRY_TIME_OPTION, |value| Some(format!("{value}ms"))),
        "max_retries" | "retry_max_attempts" => {
            Converted(RETRY_TIME_OPTION, |value| (value.trim() == "0").then(|| "0s".to_owned()))
        }
        "use_ssl" => Converted("aws_allow_http", |value| is_false(value).then(|| "true".to_owned())),
        "scheme" => Converted("aws_allow_http", |value| value.eq_ignore_ascii_case("http").then(|| "true".to_owned())),
        "aws_s3_addressing_style" | "addressing_style" => {
            Converted("aws_virtual_hosted_style_request", |value| match value.to_ascii_lowercase().as_str() {
                "virtual" => Some("true".to_owned()),
                "path" => Some("false".to_owned()),
                _ => None,
            })
        }
        "aws_s3_pool_idle_timeout_seconds" => Converted("pool_idle_timeout", |value| Some(format!("{value}s"))),
        "aws_profile" | "profile" | "profile_name" => Profile,
        "aws_s3_allow_unsafe_rename" | "allow_unsafe_rename" | "mount_allow_unsafe_rename" => {
            Unneeded(PUT_IF_ABSENT.into())
        }
        "aws_s3_locking_provider" | "locking_provider" | "aws_endpoint_url_dynamodb" | "endpoint_url_dynamodb" => {
            Unneeded(NO_LOCK_TABLE.into())
        }
        name if name.ends_with("_dynamodb")
            || name.starts_with("delta_dynamo_")
            || name == "dynamo_lock_table_name" =>
        {
            Unneeded(NO_LOCK_TABLE.into())
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
        "aws_sts_pool_idle_timeout_seconds" | "aws_force_credential_load" | "aws_ec2_metadata_disabled" => {
            Unneeded(CREDENTIALS.into())
        }
        "asynchronous" => Unneeded("a job waits for its requests".into()),
        "aws_s3_assume_role_arn" | "aws_s3_role_session_name" | "aws_iam_role_arn" | "aws_iam_role_session_name" => {
            Refused(ROLES)
        }
        _ => return None,
    })
}

fn is_false(value: &str) -> bool {
    matches!(value.to_ascii_lowercase().as_str(), "false" | "0" | "no" | "off")
}

/// Whether another tool has an option of this name.
pub(super) fn is_foreign_option(name: &str) -> bool {
    meaning(&name.to_ascii_lowercase()).is_some()
}

/// The setting of `object_store` that a name stands for.
pub(super) fn config_key(name: &str) -> Option<AmazonS3ConfigKey> {
    name.to_ascii_lowercase().parse().ok()
}

/// Whether two names are of one option.
fn is_same_option(one: &str, other: &str) -> bool {
    one.eq_ignore_ascii_case(other) || (config_key(one).is_some() && config_key(one) == config_key(other))
}

/// Translates options. Those of ours win over those of others.
pub(super) fn translate(options: &BTreeMap<String, String>) -> Result<TranslatedOptions> {
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
            Some(ForeignOption::Unneeded(reason)) => translated.warn(name, &reason),
            Some(ForeignOption::Refused(advice)) => {
                return Err(Error::unsupported(format!("the storage option {name} is not followed")).advice(advice));
            }
        }
    }
    for (own, value) in converted {
        let is_given = translated.options.keys().any(|name| is_same_option(name, own));
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

#[cfg(test)]
mod tests;
