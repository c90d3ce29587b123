//! Profiles in the configuration files of AWS.

use super::process::ProcessSource;
use super::profile_files::{ProfileEntries, ProfileFiles};
use super::sso::{SsoSource, SsoToken};
use crate::error::{Error, Result};
use crate::store::credentials::{Credentials, RoleRequest};

/// The entries of a profile that say where the store is, with our names.
const PLACES: [(&str, &str); 2] = [("region", "aws_region"), ("endpoint_url", "aws_endpoint_url")];

/// Entries with keys, whose names are ours.
const KEYS: [&str; 3] = ["aws_access_key_id", "aws_secret_access_key", "aws_session_token"];

/// A profile of both files.
#[derive(Debug, Clone, Copy)]
pub(super) struct CredentialProfile<'a> {
    name: &'a str,
    entries: &'a ProfileEntries,
    files: &'a ProfileFiles,
}

/// The credentials of a profile: its own or those of its source, and the roles that they assume.
pub(super) struct ResolvedProfile {
    pub base: ProfileCredentials,
    /// The roles in the order in which they are assumed.
    pub roles: Vec<RoleRequest>,
}

/// Credentials that assume no role.
pub(super) enum ProfileCredentials {
    /// The profile has none.
    Absent,
    /// Settings that `object_store` follows.
    Settings { profile: String, settings: Vec<(&'static str, String)>, source: String },
    /// A provider of this crate.
    Provider { credentials: Credentials, source: String },
    /// The `credential_source` of this profile.
    Service { profile: String, service: CredentialService },
}

/// The values of `credential_source`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CredentialService {
    Environment,
    MachineMetadata,
    Container,
}

/// The source of the credentials that assume the role of a profile.
enum RoleSource<'a> {
    Profile(&'a str),
    Service(CredentialService),
}

impl ProfileFiles {
    /// The profile of this name.
    pub(super) fn profile<'a>(&'a self, name: &str) -> Option<CredentialProfile<'a>> {
        let (name, entries) = self.profiles.get_key_value(name)?;
        Some(CredentialProfile { name, entries, files: self })
    }
}

impl<'a> CredentialProfile<'a> {
    fn entry(&self, name: &str) -> Option<&'a str> {
        self.entries.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }

    /// Region and endpoint, by our names.
    pub(super) fn settings(&self) -> impl Iterator<Item = (&'static str, &'a str)> {
        PLACES.into_iter().filter_map(|(theirs, own)| Some((own, self.entry(theirs)?)))
    }

    /// The endpoints of the service that gives the credentials of roles: `regional` or `legacy`.
    pub(super) fn sts_endpoints(&self) -> Option<&'a str> {
        self.entry("sts_regional_endpoints")
    }

    /// Returns true if the profile assumes a role by other credentials.
    pub(super) fn assumes_role(&self) -> bool {
        self.entry("role_arn").is_some() && self.entry("web_identity_token_file").is_none()
    }

    fn has_keys(&self) -> bool {
        KEYS[..2].iter().any(|key| self.entry(key).is_some())
    }

    /// The credentials, in the order of Amazon's own tools.
    ///
    /// # Errors
    /// `Usage` if the profile or its source lacks an entry, or if its sources form a circle. `Unsupported` for a role that
    /// needs a code of a device. If `must_have` is true, `Usage` for a profile without credentials.
    pub(super) fn credentials(&self, must_have: bool) -> Result<ResolvedProfile> {
        self.resolve(must_have).map_err(|error| error.at(&self.files.shown))
    }

    fn resolve(&self, must_have: bool) -> Result<ResolvedProfile> {
        let mut roles = Vec::new();
        let mut visited = vec![self.name];
        let mut profile = *self;
        // The keys of a source take precedence over its role.
        while profile.assumes_role() && (visited.len() == 1 || !profile.has_keys()) {
            roles.push(profile.role()?);
            let source = match profile.role_source()? {
                RoleSource::Profile(source) => source,
                RoleSource::Service(service) => {
                    roles.reverse();
                    let base = ProfileCredentials::Service { profile: profile.name.to_owned(), service };
                    return Ok(ResolvedProfile { base, roles });
                }
            };
            if source == profile.name && profile.has_keys() {
                break;
            }
            let is_circle = visited.contains(&source);
            visited.push(source);
            if is_circle {
                return Err(circle(&visited));
            }
            let found = profile.files.profile(source);
            profile = found.ok_or_else(|| missing_source(profile.name, source))?;
        }
        roles.reverse();
        let base = profile.own_credentials(must_have || !roles.is_empty())?;
        Ok(ResolvedProfile { base, roles })
    }

    /// The credentials of the profile without a role.
    fn own_credentials(&self, must_have: bool) -> Result<ProfileCredentials> {
        let name = self.name;
        let settings = |settings, source| ProfileCredentials::Settings { profile: name.to_owned(), settings, source };
        if let (Some(role), Some(token)) = (self.entry("role_arn"), self.entry("web_identity_token_file")) {
            let mut found = vec![("aws_role_arn", role.to_owned()), ("aws_web_identity_token_file", token.to_owned())];
            found.extend(self.entry("role_session_name").map(|name| ("aws_role_session_name", name.to_owned())));
            return Ok(settings(found, format!("web identity of the profile {name}")));
        }
        if self.entry("sso_start_url").is_some() || self.entry("sso_session").is_some() {
            let credentials = Credentials::new(SsoSource::new(name, self.sso_token()?));
            let source = format!("single sign-on of the profile {name}");
            return Ok(ProfileCredentials::Provider { credentials, source });
        }
        if self.entry(KEYS[1]).is_some() {
            let keys = KEYS.into_iter().filter_map(|key| Some((key, self.entry(key)?.to_owned())));
            return Ok(settings(keys.collect(), format!("the profile {name}")));
        }
        if let Some(command) = self.entry("credential_process") {
            let source = format!("credential_process of the profile {name}");
            let credentials = Credentials::new(ProcessSource::new(name, command));
            return Ok(ProfileCredentials::Provider { credentials, source });
        }
        if must_have {
            let lacks = format!("the profile {name:?} has no keys, no credential_process and no single sign-on");
            return Err(Error::usage(lacks).advice(format!("run: aws configure --profile {name}")));
        }
        Ok(ProfileCredentials::Absent)
    }

    /// The role of the profile.
    fn role(&self) -> Result<RoleRequest> {
        let name = self.name;
        if self.entry("mfa_serial").is_some() {
            return Err(Error::unsupported(format!(
                "the role of the profile {name:?} needs a code of a device (mfa_serial), which lakerace can't ask for"
            ))
            .advice(format!(
                "run: eval \"$(aws configure export-credentials --profile {name} --format env)\", or give the profile a credential_process"
            )));
        }
        let duration = self.entry("duration_seconds").map(|text| {
            text.parse().map_err(|_| {
                Error::usage(format!("duration_seconds of the profile {name:?} is not a number of seconds"))
                    .advice("write it as a whole number, such as 3600")
            })
        });
        let text = |entry: &str| self.entry(entry).map(str::to_owned);
        Ok(RoleRequest {
            arn: text("role_arn").unwrap_or_default(),
            origin: format!("the profile {name}"),
            session_name: text("role_session_name"),
            external_id: text("external_id"),
            duration_seconds: duration.transpose()?,
        })
    }

    fn role_source(&self) -> Result<RoleSource<'a>> {
        let name = self.name;
        let wrong = |problem: &str| Error::usage(format!("the profile {name:?} {problem}"));
        match (self.entry("source_profile"), self.entry("credential_source")) {
            (Some(source), None) => Ok(RoleSource::Profile(source)),
            (None, Some("Environment")) => Ok(RoleSource::Service(CredentialService::Environment)),
            (None, Some("Ec2InstanceMetadata")) => Ok(RoleSource::Service(CredentialService::MachineMetadata)),
            (None, Some("EcsContainer")) => Ok(RoleSource::Service(CredentialService::Container)),
            (None, Some(other)) => Err(wrong(&format!("has the unknown credential_source {other:?}"))
                .advice("choose Environment, Ec2InstanceMetadata or EcsContainer")),
            (Some(_), Some(_)) => {
                Err(wrong("has both source_profile and credential_source").advice("remove one of them"))
            }
            (None, None) => Err(wrong("has role_arn without the credentials that assume the role")
                .advice("add source_profile or credential_source to it")),
        }
    }

    /// The settings of the profile for single sign-on.
    fn sso_token(&self) -> Result<SsoToken> {
        let session = self.entry("sso_session");
        let shared = session.and_then(|name| self.files.sessions.get(name));
        let value = |key: &str| {
            let of_session = shared.and_then(|session| session.get(key)).map(String::as_str);
            of_session.or_else(|| self.entry(key)).map(str::to_owned).ok_or_else(|| {
                Error::usage(format!("the profile {:?} has no {key}", self.name))
                    .advice(format!("run: aws configure sso --profile {}", self.name))
            })
        };
        let start_url = value("sso_start_url")?;
        Ok(SsoToken {
            cache_key: session.map_or_else(|| start_url.clone(), str::to_owned),
            region: value("sso_region")?,
            account: value("sso_account_id")?,
            role: value("sso_role_name")?,
        })
    }
}

/// The error of a profile whose source does not exist.
fn missing_source(profile: &str, source: &str) -> Error {
    Error::usage(format!("the source_profile {source:?} of the profile {profile:?} does not exist"))
        .advice("name another source_profile, or add the profile")
}

/// The error of profiles that are sources of each other.
fn circle(visited: &[&str]) -> Error {
    Error::usage(format!("the source profiles form a circle: {}", visited.join(", ")))
        .advice("name a source_profile with keys, single sign-on or a credential_process")
}

#[cfg(test)]
mod tests;
