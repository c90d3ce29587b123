//! The content of a configuration file.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use crate::option::OptionDefinition;
use crate::redacted;

/// Storage options whose values are shown, by parts of their names. All others may be secrets.
const SHOWN: [&str; 14] = [
    "endpoint",
    "region",
    "profile",
    "allow_http",
    "bucket_name",
    "container_name",
    "account_name",
    "use_emulator",
    "virtual_hosted",
    "timeout",
    "retry_time",
    "allow_foreign_paths",
    "skip_signature",
    "unsigned_payload",
];

/// A configuration file that was read.
#[derive(Debug, Clone)]
pub struct ConfigFile {
    /// The file.
    pub path: PathBuf,
    /// Connections by name.
    pub connections: BTreeMap<String, ConnectionEntry>,
    /// Defaults in the order of the file.
    pub defaults: Vec<DefaultEntry>,
    /// Users other than the owner can read it.
    pub is_exposed: bool,
}

/// A connection as the file has it.
#[derive(Debug, Clone)]
pub struct ConnectionEntry {
    /// The URL, before variables are put in.
    pub url: ConfigText,
    /// Storage options by name, in lower case.
    pub options: BTreeMap<String, ConfigText>,
}

/// The default of an option.
#[derive(Debug, Clone)]
pub struct DefaultEntry {
    /// The option.
    pub option: &'static OptionDefinition,
    /// Its value, as the command takes it.
    pub value: String,
    /// The line in the file, from 1.
    pub line: usize,
}

/// A text of the file. It may be a secret, or contain `${VARIABLE}`.
#[derive(Clone)]
pub struct ConfigText {
    /// The text, before variables are put in.
    pub text: String,
    /// The line in the file, from 1.
    pub line: usize,
}

/// The line alone: the text may be a secret.
impl fmt::Debug for ConfigText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ConfigText").field("line", &self.line).finish_non_exhaustive()
    }
}

impl ConfigFile {
    /// The file and a line of it, as messages name it.
    pub fn place_of(&self, line: usize) -> String {
        format!("{}, line {line}", self.path.display())
    }

    /// The default of an option.
    pub fn default_of(&self, option: &OptionDefinition) -> Option<&DefaultEntry> {
        self.defaults.iter().find(|default| default.option.id == option.id)
    }

    /// The warning about a file with secrets that other users can read.
    pub fn warning(&self) -> Option<String> {
        let has_secrets = self.connections.values().any(ConnectionEntry::has_secret);
        (self.is_exposed && has_secrets).then(|| {
            let path = self.path.display();
            format!("{path}: other users can read this file, which has secrets: run chmod 600 {path}")
        })
    }
}

impl ConnectionEntry {
    /// The URL without credentials.
    pub fn shown_url(&self) -> String {
        redacted(&self.url.text).into_owned()
    }

    /// Storage options, with `***` for values that may be secrets. A variable is shown by its name.
    pub fn shown_options(&self) -> impl Iterator<Item = (&str, &str)> {
        self.options.iter().map(|(name, value)| (name.as_str(), shown_value(name, &value.text)))
    }

    /// Returns true if the file itself has a secret of this connection.
    fn has_secret(&self) -> bool {
        let hides_user = self.shown_url() != self.url.text && !self.url.text.contains("${");
        hides_user || self.shown_options().any(|(_, value)| value == "***")
    }
}

fn shown_value<'a>(name: &str, value: &'a str) -> &'a str {
    let is_variable = value.strip_prefix("${").is_some_and(|rest| rest.find('}') == Some(rest.len() - 1));
    let is_known = SHOWN.iter().any(|part| name.contains(part)) && redacted(value) == value;
    if is_variable || is_known { value } else { "***" }
}
