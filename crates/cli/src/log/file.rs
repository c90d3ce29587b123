//! The file of a log. It is appended to, so that it must not be a file of data.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, BufRead, BufReader, Read};
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use lakerace::{Error, ErrorKind, Result};
use lakerace_io::option::LOG_FILE;

/// The longest first line that is read. It has the arguments of a command, which the system limits to less.
const MOST_LINE_BYTES: u64 = 4 << 20;

/// The beginning of all targets of events.
const TARGETS: &str = "lakerace";

/// Opens a file for the lines of a log. A file that has other content is refused. Devices and pipes are taken as they are.
pub(super) fn opened(path: &Path) -> Result<File> {
    let failed = |error: io::Error| {
        let error = Error::from(error);
        let named = Error::new(error.kind(), format!("{LOG_FILE}: {}", error.message())).at(path.display());
        match error.advice_text() {
            Some(advice) => named.advice(advice),
            None if error.kind() == ErrorKind::NotFound => named.advice("create its folder first"),
            None => named,
        }
    };
    // Other processes may append to the file, too.
    let file = OpenOptions::new().append(true).create(true).open(path).map_err(failed)?;
    let metadata = file.metadata().map_err(failed)?;
    if !metadata.is_file() || metadata.len() == 0 || is_stderr(&metadata) {
        return Ok(file);
    }
    let mut line = Vec::new();
    let content = File::open(path).map_err(failed)?;
    BufReader::new(content.take(MOST_LINE_BYTES)).read_until(b'\n', &mut line).map_err(failed)?;
    if is_logged(&line) {
        return Ok(file);
    }
    let message = format!("{LOG_FILE}: the file is not a log, so the log is not appended to it");
    Err(Error::usage(message).at(path.display()).advice("name a separate file for the log"))
}

/// Returns true for the file that standard error goes to: `/dev/stderr` of a command with `2> file`.
fn is_stderr(file: &Metadata) -> bool {
    let stderr = io::stderr().as_fd().try_clone_to_owned().and_then(|owned| File::from(owned).metadata());
    stderr.is_ok_and(|stderr| (stderr.dev(), stderr.ino()) == (file.dev(), file.ino()))
}

/// Returns true for the first line of a log, in either format.
fn is_logged(line: &[u8]) -> bool {
    let text = String::from_utf8_lossy(line);
    is_text(&text) || is_object(&text)
}

/// `2026-01-02T03:04:05.678901Z INFO  [123] lakerace_cli::command: start`
fn is_text(line: &str) -> bool {
    let mut words = line.split_ascii_whitespace();
    let mut next = || words.next().unwrap_or_default();
    let (time, level, process, target) = (next(), next(), next(), next());
    let process = process.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    humantime::parse_rfc3339(time).is_ok()
        && level.parse::<tracing::Level>().is_ok()
        && process.is_some_and(|digits| digits.parse::<u32>().is_ok())
        && target.starts_with(TARGETS)
}

/// `{"time":"2026-01-02T03:04:05.678901Z","level":"INFO","process":123,"target":"lakerace_cli::command",…}`
fn is_object(line: &str) -> bool {
    let Ok(object) = serde_json::from_str::<serde_json::Value>(line) else { return false };
    let text = |name: &str| object.get(name).and_then(serde_json::Value::as_str).unwrap_or_default();
    humantime::parse_rfc3339(text("time")).is_ok()
        && text("level").parse::<tracing::Level>().is_ok()
        && object.get("process").is_some_and(serde_json::Value::is_u64)
        && text("target").starts_with(TARGETS)
}

#[cfg(test)]
mod tests;
