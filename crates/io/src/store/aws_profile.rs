//! Keys of a profile in the configuration files of AWS.

use std::path::{Path, PathBuf};

use crate::{Error, Result};

/// The settings of a profile that a store takes.
const SETTINGS: [(&str, &str); 5] = [
    ("aws_access_key_id", "aws_access_key_id"),
    ("aws_secret_access_key", "aws_secret_access_key"),
    ("aws_session_token", "aws_session_token"),
    ("region", "aws_region"),
    ("endpoint_url", "aws_endpoint_url"),
];

/// Settings of the profile `name`, by our names, of the files that `AWS_SHARED_CREDENTIALS_FILE` and `AWS_CONFIG_FILE` name.
///
/// # Errors
/// `Usage` where neither file has the profile, or where it has no keys of its own.
pub(super) fn profile_settings(name: &str) -> Result<Vec<(&'static str, String)>> {
    let files = [file("AWS_CONFIG_FILE", "config"), file("AWS_SHARED_CREDENTIALS_FILE", "credentials")];
    settings_of(name, &files.into_iter().flatten().collect::<Vec<PathBuf>>())
}

fn settings_of(name: &str, files: &[PathBuf]) -> Result<Vec<(&'static str, String)>> {
    let mut found = Vec::new();
    let mut exists = false;
    for path in files {
        let Some(text) = read(path)? else { continue };
        for (section, entries) in sections(&text) {
            if section != name && section.strip_prefix("profile ").map(str::trim) != Some(name) {
                continue;
            }
            exists = true;
            for (key, value) in entries {
                if let Some((_, own)) = SETTINGS.into_iter().find(|(theirs, _)| *theirs == key) {
                    found.push((own, value.to_owned()));
                }
            }
        }
    }
    let shown: Vec<String> = files.iter().map(|path| path.display().to_string()).collect();
    let error = |message: &str, advice: String| {
        Err(Error::usage(format!("the storage option aws_profile: {message}")).at(shown.join(", ")).advice(advice))
    };
    if !exists {
        return error(&format!("there is no profile {name:?}"), "name another one, or give keys".to_owned());
    }
    if !found.iter().any(|(own, _)| *own == "aws_secret_access_key") {
        let advice = format!("run: eval \"$(aws configure export-credentials --profile {name} --format env)\"");
        return error(&format!("the profile {name:?} has no keys of its own"), advice);
    }
    Ok(found)
}

/// The path of a file, by a variable or in the user's folder.
fn file(variable: &str, name: &str) -> Option<PathBuf> {
    let given = std::env::var_os(variable).filter(|path| !path.is_empty()).map(PathBuf::from);
    given.or_else(|| std::env::home_dir().map(|home| home.join(".aws").join(name)))
}

/// The text of a file; `None` where there is none.
fn read(path: &Path) -> Result<Option<String>> {
    match std::fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Error::from(error).at(path.display())),
    }
}

/// The sections of a file with their entries. Lines that begin with a blank belong to the entry before.
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
