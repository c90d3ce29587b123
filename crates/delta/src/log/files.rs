//! The files of a table's log, by their names.

use std::collections::{BTreeMap, BTreeSet};

use lakerace_io::ObjectInfo;
use lakerace_io::object_store::path::Path;

/// A file of the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LogFile {
    /// The version of an entry; of a checkpoint or checksum that of the state it holds; of joined entries the first.
    pub version: u64,
    pub kind: LogFileKind,
    pub info: ObjectInfo,
}

/// The kind of a file of the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LogFileKind {
    /// `00000000000000000012.json`: the changes of one version.
    Entry,
    /// A checkpoint, or one of its parts.
    Checkpoint { part: u64, parts: u64 },
    /// `….crc`.
    Checksum,
    /// `A.B.compacted.json`: the entries from A to B in one.
    Joined { last: u64 },
}

impl LogFile {
    /// Returns true if the file has the name of a checkpoint, or of a part of one, and no bytes: the kernel ignores
    /// such a file.
    pub fn is_empty_checkpoint(&self) -> bool {
        matches!(self.kind, LogFileKind::Checkpoint { .. }) && self.info.size_bytes == 0
    }
}

/// Digits of a version in a name.
const VERSION_DIGITS: usize = 20;
/// Digits of the number of a checkpoint's part.
const PART_DIGITS: usize = 10;

/// The time of each version, in milliseconds since 1970, by its entry's time in the store. All times differ: clocks of
/// stores tick coarsely and run backwards, so that a version that isn't younger than the one before it counts as made a
/// millisecond after it. All readers of tables without in-commit timestamps do the same.
pub(crate) fn moments(files: &[LogFile]) -> BTreeMap<u64, i64> {
    let entries = files.iter().filter(|file| file.kind == LogFileKind::Entry);
    let mut moments: BTreeMap<u64, i64> = entries.map(|file| (file.version, file.info.modified)).collect();
    let mut before = i64::MIN;
    for moment in moments.values_mut() {
        *moment = (*moment).max(before.saturating_add(1));
        before = *moment;
    }
    moments
}

/// The versions of checkpoints that are there whole.
pub(crate) fn checkpoints(files: &[LogFile]) -> BTreeSet<u64> {
    let mut parts: BTreeMap<(u64, u64), u64> = BTreeMap::new();
    for file in files.iter().filter(|file| !file.is_empty_checkpoint()) {
        if let LogFileKind::Checkpoint { parts: of, .. } = file.kind {
            *parts.entry((file.version, of)).or_default() += 1;
        }
    }
    parts.into_iter().filter(|((_, of), found)| found >= of).map(|((version, _), _)| version).collect()
}

/// Parses the name of a file; `None` where it is no part of the log that this crate knows.
pub(crate) fn parse(info: ObjectInfo) -> Option<LogFile> {
    let (version, kind) = parse_name(info.path.filename()?)?;
    Some(LogFile { version, kind, info })
}

/// The version and the kind of a file by its name; see [`parse`].
pub(crate) fn parse_name(name: &str) -> Option<(u64, LogFileKind)> {
    let (digits, rest) = name.split_once('.')?;
    let version = number(digits, VERSION_DIGITS)?;
    let kind = match rest.split('.').collect::<Vec<_>>().as_slice() {
        ["json"] => LogFileKind::Entry,
        ["crc"] => LogFileKind::Checksum,
        ["checkpoint", "parquet"] | ["checkpoint", _, "json"] => LogFileKind::Checkpoint { part: 1, parts: 1 },
        ["checkpoint", part, of, "parquet"] => LogFileKind::Checkpoint {
            part: number(part, PART_DIGITS)?,
            parts: number(of, PART_DIGITS).filter(|of| *of > 0)?,
        },
        ["checkpoint", _, "parquet"] => LogFileKind::Checkpoint { part: 1, parts: 1 },
        [last, "compacted", "json"] => LogFileKind::Joined { last: number(last, VERSION_DIGITS)? },
        _ => return None,
    };
    Some((version, kind))
}

/// Returns true if a file of the log has a hidden name: readers ignore it, and its writer may not have published it
/// yet.
pub(crate) fn is_hidden(path: &Path) -> bool {
    path.filename().is_some_and(|name| name.starts_with('.'))
}

fn number(text: &str, digits: usize) -> Option<u64> {
    (text.len() == digits && text.bytes().all(|byte| byte.is_ascii_digit())).then(|| text.parse().ok()).flatten()
}

#[cfg(test)]
mod tests;
