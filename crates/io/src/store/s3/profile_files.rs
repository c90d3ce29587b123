//! The two configuration files of AWS, with their profiles.

use std::collections::BTreeMap;
use std::io::ErrorKind as IoKind;
use std::path::{Path, PathBuf};

use super::ini::{IniFault, IniSection, parse};
use crate::error::{Error, Result};

/// Values by the names of entries in lower case.
pub(super) type ProfileEntries = BTreeMap<String, String>;

/// The profiles of both files.
#[derive(Debug, Default)]
pub(super) struct ProfileFiles {
    pub(super) profiles: BTreeMap<String, ProfileEntries>,
    /// Sections of `sso-session`, by their names.
    pub(super) sessions: BTreeMap<String, ProfileEntries>,
    /// The files, for messages.
    pub(super) shown: String,
}

/// The need for the files, which decides about those that can't be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ProfileNeed {
    /// The user names a profile.
    Named,
    /// The credentials may be those of the default profile.
    Credentials,
    /// The credentials are known. Region and endpoint may be those of the default profile.
    Places,
}

impl ProfileFiles {
    /// The files that `AWS_CONFIG_FILE` and `AWS_SHARED_CREDENTIALS_FILE` name, or those in the user's folder.
    ///
    /// # Errors
    /// `Invalid` for a line that is neither a section nor an entry. If neither a profile is named nor credentials are needed,
    /// it is a warning.
    pub(super) fn read(need: ProfileNeed, warn: impl FnMut(String)) -> Result<Self> {
        let paths = [path_of("AWS_CONFIG_FILE", "config"), path_of("AWS_SHARED_CREDENTIALS_FILE", "credentials")];
        Self::of_paths(&paths.into_iter().flatten().collect::<Vec<PathBuf>>(), need, warn)
    }

    pub(super) fn of_paths(paths: &[PathBuf], need: ProfileNeed, mut warn: impl FnMut(String)) -> Result<Self> {
        let shown = paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ");
        let mut files = Self { shown, ..Self::default() };
        for path in paths {
            match read_sections(path, need) {
                Ok(sections) => sections.into_iter().for_each(|section| files.add(section)),
                Err(error) if need == ProfileNeed::Places => warn(format!("{}; it is ignored", error.without_advice())),
                Err(error) => return Err(error),
            }
        }
        Ok(files)
    }

    /// Entries of a later file take precedence over those of an earlier one.
    fn add(&mut self, section: IniSection) {
        let IniSection { name, entries } = section;
        if let Some(session) = name.strip_prefix("sso-session ") {
            self.sessions.entry(unquoted(session).to_owned()).or_default().extend(entries);
        } else {
            let profile = name.strip_prefix("profile ").map_or(name.as_str(), unquoted);
            self.profiles.entry(profile.to_owned()).or_default().extend(entries);
        }
    }

    /// The error for a profile that is named, and that neither file has.
    pub(super) fn missing(&self, name: &str) -> Error {
        Error::usage(format!("there is no profile {name:?}"))
            .at(&self.shown)
            .advice("choose another one with AWS_PROFILE or the storage option aws_profile, or give keys")
    }
}

/// A name that may be in quotation marks.
fn unquoted(name: &str) -> &str {
    let name = name.trim();
    let inner = |mark: char| name.strip_prefix(mark)?.strip_suffix(mark);
    inner('"').or_else(|| inner('\'')).unwrap_or(name)
}

/// The path of a file, by a variable or in the user's folder.
fn path_of(variable: &str, name: &str) -> Option<PathBuf> {
    let given = std::env::var_os(variable).filter(|path| !path.is_empty()).map(PathBuf::from);
    given.or_else(|| std::env::home_dir().map(|home| home.join(".aws").join(name)))
}

/// The sections of a file; none if there is no file. Only a named profile needs a file that may be read.
fn read_sections(path: &Path, need: ProfileNeed) -> Result<Vec<IniSection>> {
    let bytes = match std::fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) if need != ProfileNeed::Named || error.kind() == IoKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(Error::from(error).at(path.display())),
    };
    let fault = |line: usize, reason: &str| {
        Error::invalid(format!("the configuration file of AWS can't be read: {reason}"))
            .at(format!("{}, line {line}", path.display()))
            .advice("mend the line, or name other files with AWS_CONFIG_FILE and AWS_SHARED_CREDENTIALS_FILE")
    };
    let text = std::str::from_utf8(&bytes).map_err(|error| {
        let before = bytes.get(..error.valid_up_to()).unwrap_or_default();
        fault(before.iter().filter(|byte| **byte == b'\n').count() + 1, "the line is not valid UTF-8")
    })?;
    parse(text).map_err(|IniFault { line, reason }| fault(line, reason))
}
