//! The sources of S3's credentials, in the order of Amazon's own tools.

use crate::error::{Error, Result};
use crate::store::error::no_credentials;
use crate::store::foreign_options::{TranslatedOptions, is_same_option};
use crate::store::settings::{SettingsDraft, StoreSettings};

use super::S3;
use super::profile::{self, ProfileCredentials};

/// Settings of tokens for which a service returns keys.
const TOKENS: [&str; 3] =
    ["aws_web_identity_token_file", "aws_container_credentials_relative_uri", "aws_container_credentials_full_uri"];

/// Further settings for credentials other than keys.
const OTHER_SOURCES: [&str; 2] = ["aws_metadata_endpoint", "aws_skip_signature"];

const KEYS: [&str; 3] = ["aws_access_key_id", "aws_secret_access_key", "aws_session_token"];

/// The profile if the user names none.
const DEFAULT_PROFILE: &str = "default";

/// Returns true if an option gives a setting, by any of its names.
fn gives(options: &TranslatedOptions, setting: &str) -> bool {
    options.options.keys().any(|name| is_same_option(&S3, name, setting))
}

fn other_sources() -> impl Iterator<Item = &'static str> {
    TOKENS.into_iter().chain(OTHER_SOURCES)
}

/// Takes keys, region and endpoint from a profile, if options and variables do not give them. A profile that an option
/// names takes precedence over the variables.
pub(super) fn defaults(draft: &mut SettingsDraft, options: &TranslatedOptions) -> Result<()> {
    let named = match &options.profile {
        Some(name) => Some(name.clone()),
        None => draft.variable("AWS_PROFILE")?.or(draft.variable("AWS_DEFAULT_PROFILE")?),
    };
    let gives_key = gives(options, "aws_access_key_id");
    if options.profile.is_some() || gives_key {
        // A token of the environment belongs to the environment's keys.
        draft.remove("aws_session_token");
    } else if TOKENS.into_iter().any(|name| gives(options, name)) {
        // Keys of the environment would take precedence over the source that an option gives.
        KEYS.into_iter().for_each(|key| draft.remove(key));
    }
    let is_known = draft.has_credentials()
        || gives_key
        || draft.value("aws_access_key_id").is_some()
        || other_sources().any(|name| gives(options, name) || draft.value(name).is_some());
    let wants_keys = options.profile.is_some() && !gives_key || !is_known;
    let name = named.as_deref().unwrap_or(DEFAULT_PROFILE);
    let Some(profile) = profile::read(name, named.is_some())? else { return Ok(()) };
    for (setting, value) in profile.settings() {
        let says = format!("{setting} of the profile {name:?}");
        let is_region_known = setting == "aws_region" && draft.value("aws_default_region").is_some();
        match options.profile.is_some() {
            false if is_region_known => {}
            true => draft.set(&says, setting, value)?,
            false => draft.check_default(&says, setting, value)?,
        }
    }
    if !wants_keys {
        return Ok(());
    }
    let found = profile.credentials(named.is_some())?;
    if !matches!(found, ProfileCredentials::Absent) {
        // Keys of the environment would take precedence over those of the profile.
        KEYS.into_iter().for_each(|key| draft.remove(key));
    }
    match found {
        ProfileCredentials::Absent => {}
        ProfileCredentials::Settings { settings, source } => {
            for (setting, value) in settings {
                draft.set(&format!("{setting} of the profile {name:?}"), setting, &value)?;
            }
            draft.set_source(source);
        }
        ProfileCredentials::Provider { credentials, source } => {
            draft.set_credentials(credentials);
            draft.set_source(source);
        }
    }
    Ok(())
}

/// Finds the source of the credentials, in words; an error if there is none and the store is not Amazon's.
pub(super) fn credentials(settings: &StoreSettings, has_endpoint: bool) -> Result<String> {
    let given = |name: &str| settings.value(name).is_some();
    Ok(match () {
        () if settings.is_true("aws_skip_signature") => "none: requests are not signed (aws_skip_signature)".to_owned(),
        () if settings.source().is_some() => settings.source().unwrap_or_default().to_owned(),
        () if settings.credentials().is_some() => "the caller's own provider".to_owned(),
        () if given("aws_access_key_id") || given("aws_secret_access_key") => {
            let from = if settings.is_option("aws_access_key_id") { "a storage option" } else { "the environment" };
            format!("the key aws_access_key_id of {from}")
        }
        () if given("aws_web_identity_token_file") && given("aws_role_arn") => {
            "web identity (aws_web_identity_token_file)".to_owned()
        }
        () if given("aws_web_identity_token_file") => {
            return Err(lacks("aws_web_identity_token_file", "aws_role_arn"));
        }
        () if given("aws_container_credentials_full_uri") && !given("aws_container_authorization_token_file") => {
            return Err(lacks("aws_container_credentials_full_uri", "aws_container_authorization_token_file"));
        }
        () if given("aws_container_credentials_relative_uri") || given("aws_container_credentials_full_uri") => {
            settings.check_sent_file("aws_container_authorization_token_file")?;
            "the container's credentials".to_owned()
        }
        // Without an endpoint, this may be one of Amazon's machines, whose metadata service returns credentials.
        () if !has_endpoint || other_sources().any(given) => "the metadata service of an Amazon EC2 machine".to_owned(),
        () => return Err(no_credentials(&S3)),
    })
}

/// The error for a source of credentials that needs another setting.
fn lacks(setting: &str, other: &str) -> Error {
    Error::usage(format!("{setting} is given without {other}"))
        .advice(format!("set {other}, or {}", other.to_ascii_uppercase()))
}
