//! Credentials that a program prints: `credential_process` of a profile.
//!
//! <https://docs.aws.amazon.com/sdkref/latest/guide/feature-process-credentials.html>

use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::Deserialize;

use super::expiring::ExpiringCredential;
use crate::error::{Error, Result};
use crate::store::credentials::{Credential, CredentialSource};

/// A program, and its last output.
pub(super) struct ProcessSource {
    name: String,
    profile: String,
    command: String,
    last: ExpiringCredential,
}

/// The output of the program.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct ProgramOutput {
    version: u32,
    access_key_id: String,
    secret_access_key: String,
    session_token: Option<String>,
    expiration: Option<String>,
}

impl ProcessSource {
    pub(super) fn new(profile: &str, command: &str) -> Self {
        let name = format!("credential_process {profile} {command}");
        Self { name, profile: profile.to_owned(), command: command.to_owned(), last: ExpiringCredential::default() }
    }

    fn run(&self) -> Result<(Credential, Option<SystemTime>)> {
        let at = |error: Error| error.at(format!("credential_process of the profile {}", self.profile));
        // Its messages are for the user; its output is a secret.
        let output =
            Command::new("sh").arg("-c").arg(&self.command).stdin(Stdio::null()).stderr(Stdio::inherit()).output();
        let output = output.map_err(|e| at(Error::from(e)))?;
        if !output.status.success() {
            return Err(at(Error::invalid(format!("the program failed ({})", output.status))
                .advice("run it by hand: it must print credentials as JSON")));
        }
        let printed: ProgramOutput = serde_json::from_slice(&output.stdout).map_err(|_| {
            at(Error::invalid("the program printed something other than credentials as JSON")
                .advice("run it by hand: it must print Version, AccessKeyId and SecretAccessKey"))
        })?;
        if printed.version != 1 {
            return Err(at(Error::unsupported(format!(
                "the program printed version {}, but only version 1 is supported",
                printed.version
            ))));
        }
        let expires = printed.expiration.as_deref().map(time).transpose().map_err(at)?;
        if expires.is_some_and(|time| time < SystemTime::now()) {
            return Err(at(Error::invalid("the program printed expired credentials").advice("log in again")));
        }
        let credential = Credential {
            key_id: printed.access_key_id,
            secret_key: printed.secret_access_key,
            token: printed.session_token.filter(|token| !token.is_empty()),
        };
        Ok((credential, expires))
    }
}

/// A time as RFC 3339 writes it.
pub(super) fn time(text: &str) -> Result<SystemTime> {
    // The command of AWS has written `UTC` for `Z`.
    let parsed = chrono::DateTime::parse_from_rfc3339(&text.replace("UTC", "Z"));
    let seconds = parsed
        .map(|time| time.timestamp())
        .map_err(|e| Error::invalid(format!("{text:?} is not a time")).because(e))?;
    Ok(UNIX_EPOCH + Duration::from_secs(u64::try_from(seconds).unwrap_or(0)))
}

impl CredentialSource for ProcessSource {
    fn name(&self) -> &str {
        &self.name
    }

    fn credential(&self) -> Result<Credential> {
        self.last.get(|| self.run())
    }
}

#[cfg(test)]
mod tests;
