//! The text of a configuration file.

use std::collections::BTreeMap;
use std::path::Path;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::check::{check_entry, is_name};
use super::entry::{ConfigFile, ConfigText, ConnectionEntry, DefaultEntry};
use crate::error::{Error, Result};
use crate::nearest::nearest;
use crate::option::{
    DURABILITY, EXTRA_BYTES_TOLERANCE, IO, LOG_FILE, LOG_FORMAT, MAX_REQUEST_SIZE, MAX_REQUESTS_IN_FLIGHT,
    MEMORY_LIMIT, MIN_SEEK_SIZE, OptionDefinition, PREFETCH_SIZE, QUIET, RETRY_TIME, THREADS, VERBOSE, ValueKind,
};

/// Options that have defaults: limits and habits, which do not change what a command does.
pub static WITH_DEFAULTS: [&OptionDefinition; 14] = [
    &THREADS,
    &MEMORY_LIMIT,
    &DURABILITY,
    &MIN_SEEK_SIZE,
    &MAX_REQUEST_SIZE,
    &MAX_REQUESTS_IN_FLIGHT,
    &EXTRA_BYTES_TOLERANCE,
    &PREFETCH_SIZE,
    &IO,
    &RETRY_TIME,
    &QUIET,
    &VERBOSE,
    &LOG_FILE,
    &LOG_FORMAT,
];

const SECTIONS: [&str; 2] = ["connection", "defaults"];
const URL: &str = "url";
const STORAGE_OPTIONS: &str = "storage-options";

/// Parses a file. What it says is checked as far as that is possible without variables of the environment.
///
/// # Errors
/// `Usage`, with the file and the line. No error shows a value, which may be a secret.
pub(super) fn parse(path: &Path, text: &str) -> Result<ConfigFile> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let parser = ConfigParser { path, text };
    let root = DeTable::parse(text).map_err(|error| {
        let start = error.span().map_or(0, |span| span.start);
        parser.wrong(start, format!("this is not valid TOML: {}", error.message()))
    })?;
    let mut config =
        ConfigFile { path: path.to_owned(), connections: BTreeMap::new(), defaults: Vec::new(), is_exposed: false };
    for (key, value) in root.get_ref() {
        match key.get_ref().as_ref() {
            "connection" => {
                for (name, value) in parser.table(value, "connection", "write [connection.NAME]")? {
                    let entry = parser.connection(name, value)?;
                    config.connections.insert(name.get_ref().to_string(), entry);
                }
            }
            "defaults" => {
                for (name, value) in parser.table(value, "defaults", "write [defaults]")? {
                    let default = parser.default(name, value)?;
                    if config.default_of(default.option).is_some() {
                        let what = format!("{} is given twice", default.option.id);
                        return Err(parser.wrong(name.span().start, what).advice("remove one of them"));
                    }
                    config.defaults.push(default);
                }
            }
            other => return Err(parser.unknown(key.span().start, "section", other, &SECTIONS)),
        }
    }
    config.defaults.sort_by_key(|default| default.line);
    Ok(config)
}

/// A file that is parsed.
struct ConfigParser<'a> {
    path: &'a Path,
    text: &'a str,
}

type Key<'a> = Spanned<std::borrow::Cow<'a, str>>;
type Value<'a> = Spanned<DeValue<'a>>;

impl ConfigParser<'_> {
    fn line(&self, at: usize) -> usize {
        let before = self.text.as_bytes().get(..at).unwrap_or(self.text.as_bytes());
        1 + before.iter().filter(|byte| **byte == b'\n').count()
    }

    fn wrong(&self, at: usize, what: impl Into<String>) -> Error {
        Error::usage(what).at(format!("{}, line {}", self.path.display(), self.line(at)))
    }

    fn unknown(&self, at: usize, what: &str, name: &str, known: &[&str]) -> Error {
        let error = self.wrong(at, format!("unknown {what} {name:?}"));
        match nearest(name, known.iter().copied()) {
            Some(near) => error.advice(format!("did you mean {near}?")),
            None => error.advice(format!("choose one of {}", known.join(", "))),
        }
    }

    fn table<'v, 't>(&self, value: &'v Value<'t>, name: &str, advice: &str) -> Result<&'v DeTable<'t>> {
        let what = || format!("{name} is {}, not a table", kind_of(value.get_ref()));
        value.get_ref().as_table().ok_or_else(|| self.wrong(value.span().start, what()).advice(advice))
    }

    /// A text of the file by its key.
    fn text(&self, key: &Key<'_>, value: &Value<'_>) -> Result<ConfigText> {
        let at = value.span().start;
        match value.get_ref() {
            DeValue::String(text) => Ok(ConfigText { text: text.to_string(), line: self.line(at) }),
            other => Err(self.wrong(at, format!("{} is {}, not a text", key.get_ref(), kind_of(other))).advice(QUOTES)),
        }
    }

    fn connection(&self, name: &Key<'_>, value: &Value<'_>) -> Result<ConnectionEntry> {
        let (at, shown) = (name.span().start, name.get_ref());
        if !is_name(shown) {
            return Err(self
                .wrong(at, format!("{shown:?} is no name of a connection"))
                .advice("use letters, digits, - and _"));
        }
        let (mut url, mut options) = (None, BTreeMap::new());
        for (key, value) in self.table(value, shown, "write [connection.NAME], and url = \"…\" below it")? {
            match key.get_ref().as_ref() {
                URL => url = Some(self.text(key, value)?),
                STORAGE_OPTIONS | "storage_options" => {
                    let advice = format!("write [connection.{shown}.{STORAGE_OPTIONS}]");
                    for (key, value) in self.table(value, STORAGE_OPTIONS, &advice)? {
                        let text = ConfigText { text: self.scalar(key, value)?, line: self.line(key.span().start) };
                        options.insert(key.get_ref().to_ascii_lowercase(), text);
                    }
                }
                other => return Err(self.unknown_key(key.span().start, other, shown)),
            }
        }
        let url = url.ok_or_else(|| {
            self.wrong(at, format!("the connection {shown} has no url")).advice("add url = \"s3://bucket/prefix\"")
        })?;
        let entry = ConnectionEntry { url, options };
        check_entry(&entry).map_err(|(line, error)| error.at(format!("{}, line {line}", self.path.display())))?;
        Ok(entry)
    }

    /// The error of an unknown key of a connection, which may be a storage option in the wrong place.
    fn unknown_key(&self, at: usize, key: &str, connection: &str) -> Error {
        match crate::store::settings::is_known_option(key) {
            true => self
                .wrong(at, format!("{key} is a storage option"))
                .advice(format!("write it below [connection.{connection}.{STORAGE_OPTIONS}]")),
            false => self.unknown(at, "key", key, &[URL, STORAGE_OPTIONS]),
        }
    }

    fn default(&self, key: &Key<'_>, value: &Value<'_>) -> Result<DefaultEntry> {
        let (at, name) = (key.span().start, key.get_ref().replace('-', "_"));
        let Some(option) = WITH_DEFAULTS.into_iter().find(|known| known.id == name) else {
            return Err(match OptionDefinition::find(&name) {
                Some(_) => self
                    .wrong(at, format!("{} has no default", key.get_ref()))
                    .advice(format!("choose one of {}", default_names().join(", "))),
                None => self.unknown(at, "option", &name, &default_names()),
            });
        };
        self.check_kind(option, key, value)?;
        Ok(DefaultEntry { option, value: self.scalar(key, value)?, line: self.line(at) })
    }

    /// Refuses a value of a kind that an option never has. The command checks the value itself.
    fn check_kind(&self, option: &OptionDefinition, key: &Key<'_>, value: &Value<'_>) -> Result<()> {
        let (found, at) = (value.get_ref(), value.span().start);
        let is_number = matches!(found, DeValue::Integer(_) | DeValue::Float(_));
        let (is_text, is_flag) = (matches!(found, DeValue::String(_)), matches!(found, DeValue::Boolean(_)));
        let (fits, wanted) = match option.kind {
            // The number of times that it is given.
            _ if option.id == VERBOSE.id => (is_number || is_flag, "a number, true or false"),
            ValueKind::Flag => (is_flag, "true or false"),
            ValueKind::Text | ValueKind::Choice => (is_text, "a text"),
            _ => (is_number || is_text, "a number or a text"),
        };
        if fits {
            return Ok(());
        }
        let wrong = self.wrong(at, format!("{} is {}, not {wanted}", key.get_ref(), kind_of(found)));
        Err(if wanted.ends_with("a text") { wrong.advice(QUOTES) } else { wrong })
    }

    /// The text of a text, a number, or of true and false.
    fn scalar(&self, key: &Key<'_>, value: &Value<'_>) -> Result<String> {
        let at = value.span().start;
        Ok(match value.get_ref() {
            DeValue::String(text) => text.to_string(),
            DeValue::Integer(number) if number.radix() == 10 => number.as_str().to_owned(),
            DeValue::Float(number) => number.as_str().to_owned(),
            DeValue::Boolean(is_true) => is_true.to_string(),
            other => {
                let what = format!("{} is {}, not a text, a number, true or false", key.get_ref(), kind_of(other));
                return Err(self.wrong(at, what).advice(QUOTES));
            }
        })
    }
}

const QUOTES: &str = "write a text in quotes";

/// The names of options that have defaults.
fn default_names() -> Vec<&'static str> {
    WITH_DEFAULTS.iter().map(|option| option.id).collect()
}

fn kind_of(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "a text",
        DeValue::Integer(number) if number.radix() != 10 => "a number that is not decimal",
        DeValue::Integer(_) | DeValue::Float(_) => "a number",
        DeValue::Boolean(_) => "true or false",
        DeValue::Datetime(_) => "a time",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}

#[cfg(test)]
mod tests;
