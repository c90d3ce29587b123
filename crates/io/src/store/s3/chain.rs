//! The sources of S3's credentials, in the order of Amazon's own tools.

use crate::error::{Error, Result};
use crate::store::credentials::RoleRequest;
use crate::store::error::no_credentials;
use crate::store::foreign_options::{TranslatedOptions, is_same_option};
use crate::store::settings::{SettingsDraft, StoreSettings};

use super::S3;
use super::profile::{CredentialProfile, CredentialService, ProfileCredentials, ResolvedProfile};
use super::profile_files::{ProfileFiles, ProfileNeed};

/// Settings of tokens for which a service returns keys.
const TOKENS: [&str; 3] = ["aws_web_identity_token_file", CONTAINERS[0], CONTAINERS[1]];

/// Settings of the service that returns keys to a container.
const CONTAINERS: [&str; 2] = ["aws_container_credentials_relative_uri", "aws_container_credentials_full_uri"];

/// Further settings for credentials other than keys.
const OTHER_SOURCES: [&str; 2] = ["aws_metadata_endpoint", "aws_skip_signature"];

const KEYS: [&str; 3] = ["aws_access_key_id", "aws_secret_access_key", "aws_session_token"];

/// The storage option that names a role to assume.
const ROLE_OPTION: &str = "aws_iam_role_arn";

/// The variable of the endpoints of the service that gives the credentials of roles.
const STS_ENDPOINTS: &str = "AWS_STS_REGIONAL_ENDPOINTS";

/// The source of the last resort, in words.
const MACHINE: &str = "the metadata service of an Amazon EC2 machine";

/// The profile if the user names none.
const DEFAULT_PROFILE: &str = "default";

/// Returns true if an option gives a setting, by any of its names.
fn gives(options: &TranslatedOptions, setting: &str) -> bool {
    options.options.keys().any(|name| is_same_option(&S3, name, setting))
}

fn other_sources() -> impl Iterator<Item = &'static str> {
    TOKENS.into_iter().chain(OTHER_SOURCES)
}

/// Takes keys, region and endpoint from a profile, if options and variables do not give them, and notes the roles to assume. A
/// profile that an option names takes precedence over the variables.
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
    let is_named_by_option = options.profile.is_some() && !gives_key;
    let known = KnownSource::find(draft, options);
    let need = match () {
        () if named.is_some() => ProfileNeed::Named,
        () if known == KnownSource::Machine => ProfileNeed::Credentials,
        () => ProfileNeed::Places,
    };
    let mut warnings = Vec::new();
    let files = ProfileFiles::read(need, |warning| warnings.push(warning))?;
    warnings.into_iter().for_each(|warning| draft.warn(warning));
    let name = named.as_deref().unwrap_or(DEFAULT_PROFILE);
    let profile = files.profile(name);
    if profile.is_none() && named.is_some() {
        return Err(files.missing(name));
    }
    if let Some(profile) = profile {
        take_places(draft, options, &profile, name)?;
        let wants_keys = match known {
            KnownSource::Keys => is_named_by_option,
            // A role of a profile comes before the environment's web identity, and other credentials of a profile after it.
            KnownSource::WebIdentity => is_named_by_option || profile.assumes_role(),
            KnownSource::Machine => true,
        };
        if wants_keys {
            let has_container = CONTAINERS.into_iter().any(|name| draft.value(name).is_some());
            let must_have = named.is_some() && (is_named_by_option || !has_container);
            take_credentials(draft, profile.credentials(must_have)?)?;
        }
    }
    add_role_of_option(draft, options);
    let endpoints = draft.variable(STS_ENDPOINTS)?;
    check_endpoints(draft, endpoints.as_deref().or_else(|| profile.and_then(|profile| profile.sts_endpoints())))
}

/// The credentials that options and variables give.
#[derive(Clone, Copy, PartialEq, Eq)]
enum KnownSource {
    /// Keys, a provider, or anything that an option names.
    Keys,
    /// The environment's web identity.
    WebIdentity,
    /// Credentials of the container or the machine, which are looked up after the profiles.
    Machine,
}

impl KnownSource {
    fn find(draft: &SettingsDraft, options: &TranslatedOptions) -> Self {
        let is_set = |name: &str| draft.value(name).is_some();
        let is_known = draft.has_credentials()
            || gives(options, "aws_access_key_id")
            || is_set("aws_access_key_id")
            || TOKENS.into_iter().any(|name| gives(options, name))
            || OTHER_SOURCES.into_iter().any(|name| gives(options, name) || is_set(name));
        match () {
            () if is_known => Self::Keys,
            () if is_set("aws_web_identity_token_file") => Self::WebIdentity,
            () => Self::Machine,
        }
    }
}

/// Takes region and endpoint from a profile.
fn take_places(
    draft: &mut SettingsDraft,
    options: &TranslatedOptions,
    profile: &CredentialProfile<'_>,
    name: &str,
) -> Result<()> {
    for (setting, value) in profile.settings() {
        let says = format!("{setting} of the profile {name:?}");
        let is_region_known = setting == "aws_region" && draft.value("aws_default_region").is_some();
        match options.profile.is_some() {
            false if is_region_known => {}
            true => draft.set(&says, setting, value)?,
            false => draft.check_default(&says, setting, value)?,
        }
    }
    Ok(())
}

/// Takes the credentials of a profile, and its roles.
fn take_credentials(draft: &mut SettingsDraft, resolved: ResolvedProfile) -> Result<()> {
    let ResolvedProfile { base, roles } = resolved;
    if !matches!(base, ProfileCredentials::Absent) {
        // Keys of the environment would take precedence over those of the profile.
        KEYS.into_iter().for_each(|key| draft.remove(key));
    }
    match base {
        ProfileCredentials::Absent => {}
        ProfileCredentials::Settings { profile, settings, source } => {
            for (setting, value) in settings {
                draft.set(&format!("{setting} of the profile {profile:?}"), setting, &value)?;
            }
            draft.set_source(source);
        }
        ProfileCredentials::Provider { credentials, source } => {
            draft.set_credentials(credentials);
            draft.set_source(source);
        }
        ProfileCredentials::Service { profile, service } => take_service(draft, &profile, service)?,
    }
    roles.into_iter().for_each(|role| draft.add_role(role));
    Ok(())
}

/// Takes the credentials that the `credential_source` of a profile names.
fn take_service(draft: &mut SettingsDraft, profile: &str, service: CredentialService) -> Result<()> {
    draft.remove("aws_web_identity_token_file");
    let lacks = |value: &str, missing: &str| {
        Error::usage(format!("credential_source of the profile {profile:?} is {value}, but {missing}"))
            .advice("set the variables, or choose another credential_source")
    };
    match service {
        CredentialService::Environment => {
            let (id, secret) = (draft.variable("AWS_ACCESS_KEY_ID")?, draft.variable("AWS_SECRET_ACCESS_KEY")?);
            let (Some(id), Some(secret)) = (id, secret) else {
                return Err(lacks("Environment", "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY are not set"));
            };
            draft.set("the variable AWS_ACCESS_KEY_ID", "aws_access_key_id", &id)?;
            draft.set("the variable AWS_SECRET_ACCESS_KEY", "aws_secret_access_key", &secret)?;
            if let Some(token) = draft.variable("AWS_SESSION_TOKEN")? {
                draft.set("the variable AWS_SESSION_TOKEN", "aws_session_token", &token)?;
            }
            draft.set_source("the key aws_access_key_id of the environment".to_owned());
        }
        CredentialService::Container => {
            if CONTAINERS.into_iter().all(|name| draft.value(name).is_none()) {
                let names = CONTAINERS.map(str::to_ascii_uppercase).join(" nor ");
                return Err(lacks("EcsContainer", &format!("neither {names} is set")));
            }
        }
        CredentialService::MachineMetadata => {
            CONTAINERS.into_iter().for_each(|name| draft.remove(name));
            draft.set_source(MACHINE.to_owned());
        }
    }
    Ok(())
}

/// Notes the role that an option names, which any other credentials assume.
fn add_role_of_option(draft: &mut SettingsDraft, options: &TranslatedOptions) {
    match &options.role {
        Some(arn) => draft.add_role(RoleRequest {
            arn: arn.clone(),
            origin: format!("the storage option {ROLE_OPTION}"),
            session_name: options.role_session_name.clone(),
            external_id: None,
            duration_seconds: None,
        }),
        None if options.role_session_name.is_some() => {
            draft.warn(format!("the name of a session has no effect without the storage option {ROLE_OPTION}"));
        }
        None => {}
    }
}

/// Takes the endpoints of the service that gives the credentials of roles.
fn check_endpoints(draft: &mut SettingsDraft, endpoints: Option<&str>) -> Result<()> {
    match endpoints {
        None | Some("regional") => {}
        Some("legacy") => draft.use_global_sts(),
        Some(other) if draft.has_roles() => {
            return Err(Error::usage(format!("sts_regional_endpoints is {other:?}"))
                .advice(format!("set {STS_ENDPOINTS}, or the entry of the profile, to regional or legacy")));
        }
        Some(_) => {}
    }
    Ok(())
}

/// Finds the source of the credentials, in words; an error if there is none and the store is not Amazon's.
pub(super) fn credentials(settings: &StoreSettings, has_endpoint: bool) -> Result<String> {
    let given = |name: &str| settings.value(name).is_some();
    Ok(match () {
        () if settings.is_true("aws_skip_signature") => "none: requests are not signed (aws_skip_signature)".to_owned(),
        () if settings.is_option("aws_role_arn") && !given("aws_web_identity_token_file") => {
            return Err(lacks("aws_role_arn", "aws_web_identity_token_file").advice(format!(
                "set aws_web_identity_token_file, or name the role by {ROLE_OPTION} to have the other credentials assume it"
            )));
        }
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
        () if !has_endpoint || other_sources().any(given) => MACHINE.to_owned(),
        () => return Err(no_credentials(&S3)),
    })
}

/// The error for a source of credentials that needs another setting.
fn lacks(setting: &str, other: &str) -> Error {
    Error::usage(format!("{setting} is given without {other}"))
        .advice(format!("set {other}, or {}", other.to_ascii_uppercase()))
}
