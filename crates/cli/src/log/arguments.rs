//! The command line without credentials.

use std::ffi::OsString;

use lakerace_io::redacted;

/// An option whose values may be secrets under any name.
const SECRETS: &str = "--storage-option";

/// The arguments after the name of the program, as a shell takes them.
pub(super) fn shown(command_line: &[OsString]) -> String {
    let mut words = Vec::new();
    let mut is_secret = false;
    for argument in command_line.iter().skip(1) {
        let argument = argument.to_string_lossy();
        let shown = match argument.strip_prefix(SECRETS).and_then(|rest| rest.strip_prefix('=')) {
            _ if is_secret => without_value(&argument),
            Some(setting) => format!("{SECRETS}={}", without_value(setting)),
            None => redacted(&argument).into_owned(),
        };
        is_secret = !is_secret && argument == SECRETS;
        words.push(quoted(&shown));
    }
    words.join(" ")
}

fn without_value(setting: &str) -> String {
    setting.split_once('=').map_or_else(|| "***".to_owned(), |(name, _)| format!("{name}=***"))
}

fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "-_./:=,@%+*".contains(c);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests;
