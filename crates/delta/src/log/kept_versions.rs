//! The versions that a log still has after a cleanup.

use std::collections::BTreeSet;

use lakerace_io::Error;

use super::files::{LogFile, LogFileKind, checkpoints};

/// The oldest version that can be read: 0, or that of a checkpoint.
pub(crate) fn oldest_version(files: &[LogFile]) -> Option<u64> {
    let has_first = files.iter().any(|file| file.version == 0 && file.kind == LogFileKind::Entry);
    if has_first { Some(0) } else { checkpoints(files).first().copied() }
}

/// The entries that a log still has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KeptEntries {
    /// None.
    NoEntry,
    /// All from some version on. `oldest` is the first of them that can be read.
    From { oldest: u64 },
    /// Entries between others are missing, which no cleanup does.
    Damaged,
}

/// The entries among the files of a log.
pub(crate) fn kept_entries(files: &[LogFile]) -> KeptEntries {
    let entries: BTreeSet<u64> =
        files.iter().filter(|file| file.kind == LogFileKind::Entry).map(|file| file.version).collect();
    let (Some(first), Some(last)) = (entries.first(), entries.last()) else { return KeptEntries::NoEntry };
    match oldest_version(files).map(|oldest| oldest.max(*first)) {
        Some(oldest) if oldest <= *last && last - first + 1 == entries.len() as u64 => KeptEntries::From { oldest },
        _ => KeptEntries::Damaged,
    }
}

/// The error of a version before `oldest`, the oldest one that can be read.
pub(crate) fn cleaned_up(oldest: u64) -> Error {
    Error::not_found(format!("entries older than version {oldest} were cleaned up"))
        .advice(format!("read version {oldest}, the oldest that is left, or a later one"))
}
