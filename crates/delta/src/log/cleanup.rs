//! Cleanup of the log: after a checkpoint, entries that are older than `delta.logRetentionDuration` are removed.
//!
//! A version can be read if a checkpoint at or before it and the entries from there on are left. So of the expired
//! versions, only those before an expired checkpoint are removed: every version within the retention, and the one that
//! was the last when the retention started, stays readable. Sidecars of checkpoints are removed when no remaining
//! checkpoint names them.

use std::collections::HashSet;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use delta_kernel::SnapshotRef;
use delta_kernel::table_features::TableFeature;
use lakerace_io::Result;
use lakerace_io::object_store::path::Path;

use super::files as log_files;
use super::files::{LogFile, LogFileKind};
use super::sidecars;
use crate::table::Table;

/// The retention of a table that does not say how long its history stays.
const RETENTION: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// Removes expired files of the log, unless the table disables it (`delta.enableExpiredLogCleanup`, true by default).
/// Returns the number of files removed.
pub(crate) fn expire(table: &Table, snapshot: &SnapshotRef) -> Result<u64> {
    let properties = snapshot.table_properties();
    let is_protected = snapshot.table_configuration().protocol().writer_features().is_some_and(|features| {
        features.iter().any(|feature| matches!(feature, TableFeature::Unknown(name) if name == "checkpointProtection"))
    });
    if properties.enable_expired_log_cleanup == Some(false) || is_protected {
        return Ok(0);
    }
    let retention = properties.log_retention_duration.unwrap_or(RETENTION);
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let cutoff = i64::try_from(since_1970.saturating_sub(retention).as_millis()).unwrap_or(i64::MAX);
    let (files, found) = table.list_log_and_sidecars()?;
    let gone: HashSet<&Path> = expired(&files, cutoff).into_iter().map(|file| &file.info.path).collect();
    let kept: Vec<&LogFile> = files.iter().filter(|file| !gone.contains(&file.info.path)).collect();
    let mut removed = 0;
    if !gone.is_empty() {
        removed = table.store().delete_all(gone.into_iter().cloned().collect())?;
    }
    // Behind their checkpoints: one that is left has all of its parts.
    let unnamed = sidecars::expired(table, &found, &kept, cutoff)?;
    if !unnamed.is_empty() {
        removed += table.store().delete_all(unnamed)?;
    }
    Ok(removed)
}

/// The files of the log that are only needed by versions that were replaced before `cutoff`.
fn expired(files: &[LogFile], cutoff: i64) -> Vec<&LogFile> {
    let mut entries: Vec<&LogFile> = files.iter().filter(|file| file.kind == LogFileKind::Entry).collect();
    entries.sort_unstable_by_key(|file| file.version);
    // Times never decrease from one version to the next, even if the clocks of the writers differ.
    let mut time = i64::MIN;
    let old = entries.iter().take_while(|file| {
        time = time.max(file.info.modified);
        time < cutoff
    });
    // The last expired version was the table's state when the retention started.
    let Some(oldest_kept) = old.last().map(|file| file.version) else { return Vec::new() };
    let checkpoints = log_files::checkpoints(files);
    let Some(first) = checkpoints.range(..=oldest_kept).next_back().copied() else { return Vec::new() };
    let is_expired = |file: &&LogFile| match file.kind {
        LogFileKind::Joined { last } => last < first,
        _ => file.version < first,
    };
    files.iter().filter(is_expired).collect()
}

#[cfg(test)]
mod tests;
