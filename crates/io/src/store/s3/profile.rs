//! Profiles in the configuration files of AWS.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::sso::{SsoSource, SsoToken};
use crate::error::{Error, Result};
use crate::store::credentials::Credentials;
use crate::store::s3::process::ProcessSource;

/// The entries of a profile that say where the store is, with our names.
const PLACES: [(&str, &str); 2] = [("region", "aws_region"), ("endpoint_url", "aws_endpoint_url")];

/// Entries with keys, whose names are ours.
const KEYS: [&str; 3] = ["aws_access_key_id", "aws_secret_access_key", "aws_session_token"];

/// A profile of both files.
#[derive(Debug)]
pub(super) struct CredentialProfile {
    name: String,
    entries: BTreeMap<String, String>,
    /// Sections of `sso-session`, by their names.
    sessions: BTreeMap<String, BTreeMap<String, String>>,
    /// The files, for messages.
    files: String,
}

/// The credentials of a profile.
pub(super) enum ProfileCredentials {
    /// The profile has none.
    Absent,
    /// Settings that `object_store` follows.
    Settings { settings: Vec<(&'static str, String)>, source: String },
    /// A provider of this crate.
    Provider { credentials: Credentials, source: String },
}

/// The profile `name` of the files that `AWS_CONFIG_FILE` and `AWS_SHARED_CREDENTIALS_FILE` name. `None` where neither file has
/// it and it need not be there.
///
/// # Errors
/// `Usage` where neither file has a profile that must be there.
pub(super) fn read(name: &str, must_exist: bool) -> Result<Option<CredentialProfile>> {
    let files = [file("AWS_CONFIG_FILE", "config"), file("AWS_SHARED_CREDENTIALS_FILE", "credentials")];
    let files = files.into_iter().flatten().collect::<Vec<PathBuf>>();
    let found = CredentialProfile::of_files(name, &files, must_exist)?;
    if found.is_none() && must_exist {
        return Err(missing(name, &files));
    }
    Ok(found)
}

fn missing(name: &str, files: &[PathBuf]) -> Error {
    let shown: Vec<String> = files.iter().map(|path| path.display().to_string()).collect();
    Error::usage(format!("there is no profile {name:?}"))
        .at(shown.join(", "))
        .advice("choose another one with AWS_PROFILE or the storage option aws_profile, or give keys")
}

impl CredentialProfile {
    fn of_files(name: &str, files: &[PathBuf], must_exist: bool) -> Result<Option<Self>> {
        let (mut entries, mut sessions) = (BTreeMap::new(), BTreeMap::<String, BTreeMap<_, _>>::new());
        let mut exists = false;
        for path in files {
            let Some(text) = read_text(path, must_exist)? else { continue };
            for (section, found) in sections(&text) {
                let found = found.into_iter().map(|(key, value)| (key.to_ascii_lowercase(), value.to_owned()));
                if let Some(session) = section.strip_prefix("sso-session ") {
                    sessions.entry(session.trim().to_owned()).or_default().extend(found);
                } else if section == name || section.strip_prefix("profile ").map(str::trim) == Some(name) {
                    exists = true;
                    entries.extend(found);
                }
            }
        }
        let files = files.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ");
        Ok(exists.then(|| Self { name: name.to_owned(), entries, sessions, files }))
    }

    fn entry(&self, name: &str) -> Option<&str> {
        self.entries.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }

    /// Region and endpoint, by our names.
    pub(super) fn settings(&self) -> impl Iterator<Item = (&'static str, &str)> {
        PLACES.into_iter().filter_map(|(theirs, own)| Some((own, self.entry(theirs)?)))
    }

    /// The credentials, in the order of Amazon's own tools.
    ///
    /// # Errors
    /// `Unsupported` if a role is to be assumed, and `Usage` if a named profile has no credentials.
    pub(super) fn credentials(&self, is_named: bool) -> Result<ProfileCredentials> {
        let name = &self.name;
        let at = |error: Error| error.at(&self.files);
        if let (Some(role), Some(token)) = (self.entry("role_arn"), self.entry("web_identity_token_file")) {
            let mut settings =
                vec![("aws_role_arn", role.to_owned()), ("aws_web_identity_token_file", token.to_owned())];
            settings.extend(self.entry("role_session_name").map(|name| ("aws_role_session_name", name.to_owned())));
            return Ok(ProfileCredentials::Settings {
                settings,
                source: format!("web identity of the profile {name}"),
            });
        }
        if self.entry("role_arn").is_some() {
            return Err(at(role_refused(name)));
        }
        if self.entry("sso_start_url").is_some() || self.entry("sso_session").is_some() {
            let source = SsoSource::new(name, self.sso_token().map_err(at)?);
            let source_name = format!("single sign-on of the profile {name}");
            return Ok(ProfileCredentials::Provider { credentials: Credentials::new(source), source: source_name });
        }
        if self.entry(KEYS[1]).is_some() {
            let keys = KEYS.into_iter().filter_map(|key| Some((key, self.entry(key)?.to_owned())));
            return Ok(ProfileCredentials::Settings {
                settings: keys.collect(),
                source: format!("the profile {name}"),
            });
        }
        if let Some(command) = self.entry("credential_process") {
            let source = format!("credential_process of the profile {name}");
            let credentials = Credentials::new(ProcessSource::new(name, command));
            return Ok(ProfileCredentials::Provider { credentials, source });
        }
        if is_named {
            return Err(at(Error::usage(format!(
                "the profile {name:?} has no keys, no credential_process and no single sign-on"
            ))
            .advice(format!("run: aws configure --profile {name}"))));
        }
        Ok(ProfileCredentials::Absent)
    }

    /// The settings of the profile for single sign-on.
    fn sso_token(&self) -> Result<SsoToken> {
        let session = self.entry("sso_session");
        let shared = session.and_then(|name| self.sessions.get(name));
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

/// The error of a profile that names a role to be assumed.
fn role_refused(profile: &str) -> Error {
    Error::unsupported(format!("the profile {profile:?} assumes a role, which lakerace does not support"))
        .advice(format!("run: eval \"$(aws configure export-credentials --profile {profile} --format env)\""))
}

/// The path of a file, by a variable or in the user's folder.
fn file(variable: &str, name: &str) -> Option<PathBuf> {
    let given = std::env::var_os(variable).filter(|path| !path.is_empty()).map(PathBuf::from);
    given.or_else(|| std::env::home_dir().map(|home| home.join(".aws").join(name)))
}

/// The text of a file; `None` if there is none. The default profile may be unreadable.
fn read_text(path: &Path, is_named: bool) -> Result<Option<String>> {
    match std::fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if !is_named || error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Error::from(error).at(path.display())),
    }
}

/// The sections of a file with their entries. Lines that start with a blank belong to the entry before.
fn sections(text: &str) -> Vec<(&str, Vec<(&str, &str)>)> {
    let mut sections: Vec<(&str, Vec<(&str, &str)>)> = Vec::new();
    for line in text.lines().filter(|line| !line.starts_with([' ', '\t', '#', ';'])) {
        let line = line.trim();
        if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            sections.push((name.0.trim(), Vec::new()));
        } else if let (Some((key, value)), Some((_, entries))) = (line.split_once('='), sections.last_mut()) {
            entries.push((key.trim(), value.trim()));
        }
    }
    sections
}

#[cfg(test)]
mod tests;
