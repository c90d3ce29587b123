//! The version of a point in time.

use delta_kernel::SnapshotRef;
use delta_kernel::history_manager::{HistoryCommitType, latest_version_as_of};
use lakerace_io::{Error, ErrorKind, Result};

use super::entry::LogEntry;
use super::files::{LogFile, LogFileKind, moments};
use crate::table::Table;

impl Table {
    /// The last version at a point in time; `latest` is the last one of all. It is the kernel's answer where the table keeps
    /// times in its entries, else by the times of [`history`](crate::history). The kernel takes the last version's time from
    /// the store, where it may be the time of the version before.
    pub(crate) fn version_at(&self, millis: i64, latest: &SnapshotRef) -> Result<u64> {
        let files = self.list_log()?;
        if !files.iter().any(|file| file.kind == LogFileKind::Entry) {
            return version_of_checkpoint(&files, millis, latest).map_err(|error| error.at(self.location()));
        }
        if latest.table_properties().enable_in_commit_timestamps != Some(true) {
            let moments = moments(&files);
            let mut until = moments.range(..=latest.version()).rev();
            if let Some((version, _)) = until.find(|(_, moment)| **moment <= millis) {
                return Ok(*version);
            }
            if let Some((version, moment)) = moments.range(..=latest.version()).next() {
                return Err(too_early(*version, Some(*moment - millis)).at(self.location()));
            }
        }
        let found = self.kernel(|engine| {
            latest_version_as_of(latest, engine, millis, HistoryCommitType::Recreatable).map(|commit| commit.version)
        });
        found.map_err(|error| match (error.kind(), files.iter().find(|file| file.kind == LogFileKind::Entry)) {
            (ErrorKind::NotFound, Some(oldest)) => {
                let entry = LogEntry::<serde::de::IgnoredAny>::read(self, oldest).ok();
                let moment = entry.and_then(|entry| entry.info?.in_commit_timestamp);
                let after = moment.map(|moment| moment - millis).filter(|after| *after > 0);
                too_early(oldest.version, after).at(self.location())
            }
            _ => error.at(self.location()),
        })
    }
}

/// The last version, if the log has no entry any more and the version's checkpoint was written before a point in time.
fn version_of_checkpoint(files: &[LogFile], millis: i64, latest: &SnapshotRef) -> Result<u64> {
    let version = latest.version();
    let is_of_version =
        |file: &&LogFile| file.version == version && matches!(file.kind, LogFileKind::Checkpoint { .. });
    let written = files.iter().filter(is_of_version).map(|file| file.info.modified).max();
    match written {
        Some(written) if written <= millis => Ok(version),
        _ => Err(Error::not_found("the version of that time is unknown: all entries of the log were cleaned up")
            .advice(format!("read version {version}, of which the checkpoint is left"))),
    }
}

/// The error of a time before that of `version`, the oldest one of which the log has the entry; `after` are the milliseconds
/// between them.
fn too_early(version: u64, after: Option<i64>) -> Error {
    let made = after.map(|after| format!(": version {version} was made {}", later(after)));
    let made = made.unwrap_or_else(|| format!(": version {version} is the oldest with a known time"));
    Error::not_found(format!("no version of that time exists{made}"))
        .advice("name a later time, or a version by its number; `lakerace history` lists them")
}

/// A time difference in words.
fn later(millis: i64) -> String {
    let seconds = millis.max(0) / 1000;
    match seconds {
        0 => format!("{millis} ms later"),
        1..3600 => format!("{seconds} seconds later"),
        3600..172_800 => format!("{} hours later", seconds / 3600),
        _ => format!("{} days later", seconds / 86_400),
    }
}
