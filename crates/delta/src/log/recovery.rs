//! Opening a version although `_last_checkpoint` or a checkpoint is damaged.
//!
//! Both only save reads: the entries of the log make a version, as long as they exist. Files that can't be read are
//! hidden from the kernel, the newest checkpoint first, and the user gets a warning. Where entries are missing that a
//! checkpoint covers, the damage is an error.

use std::collections::BTreeSet;

use delta_kernel::SnapshotRef;
use lakerace_io::option::{REPAIR, VERIFY_TABLE};
use lakerace_io::{Error, Result};

use super::distrust::{HINT, LeftOut, damaged_advice, may_be_damage};
use super::files as log_files;
use super::files::{LogFile, LogFileKind};
use super::kept_versions::cleaned_up;
use crate::paths::{LOG, ROOT};
use crate::table::Table;

impl Table {
    /// Builds the kernel's snapshot of a version; `None`: the last one.
    pub(crate) fn build(&self, version: Option<u64>) -> Result<SnapshotRef> {
        match self.build_once(version) {
            Err(error) if may_be_damage(&error) => self.build_around(version, error, &|_| Ok(())),
            built => built,
        }
    }

    /// Builds a snapshot once, without a way around damage.
    pub(crate) fn build_once(&self, version: Option<u64>) -> Result<SnapshotRef> {
        let builder = delta_kernel::Snapshot::builder_for(ROOT);
        let built = self.kernel(|engine| match version {
            None => builder.build(engine),
            Some(version) => builder.at_version(version).build(engine),
        })?;
        self.check_begin(&built)?;
        Ok(built)
    }

    /// Returns an error for a version without a checkpoint whose entries do not start with that of version 0. The
    /// kernel would take the first one that is left for the start.
    fn check_begin(&self, built: &SnapshotRef) -> Result<()> {
        let segment = built.log_segment();
        let first = segment.listed.ascending_commit_files.first().map_or(0, |file| file.version);
        if segment.checkpoint_version.is_some() || first == 0 {
            return Ok(());
        }
        let files = self.list_log()?;
        Err(gone(self, &files, first - 1))
    }

    /// Builds a version without `_last_checkpoint` and those checkpoints that can't be read, such that `is_sound`
    /// succeeds. `first` is the error that is returned where this is impossible.
    pub(crate) fn build_around(
        &self,
        version: Option<u64>,
        first: Error,
        is_sound: &dyn Fn(&SnapshotRef) -> Result<()>,
    ) -> Result<SnapshotRef> {
        let Ok(files) = self.list_log() else { return Err(first) };
        let distrust = self.distrust();
        let before = distrust.lock().clone();
        let sound = || {
            let built = self.build_once(version)?;
            let checked = is_sound(&built);
            // A checkpoint that can be read may still have values that make no version.
            if checked.as_ref().is_err_and(may_be_damage) && built.log_segment().checkpoint_version.is_some() {
                distrust.note_damage();
            }
            checked.map(|()| built)
        };
        let mut left_out = Vec::new();
        let mut last_error = None;
        // An error that no checkpoint has caused remains without the checkpoint.
        let mut is_suspect = distrust.take_damage() || first.location().is_none();
        for step in steps(&files, version, &before) {
            match step {
                None => distrust.lock().hint = true,
                Some(_) if !is_suspect => break,
                Some(checkpoint) => {
                    distrust.lock().checkpoints.insert(checkpoint);
                    left_out.push(checkpoint);
                }
            }
            match sound() {
                Ok(built) => {
                    self.tell(&left_out, &first);
                    distrust.take_damage();
                    return Ok(built);
                }
                Err(error) if may_be_damage(&error) => {
                    is_suspect = distrust.take_damage() || error.location().is_none();
                    last_error = Some(error);
                }
                Err(error) => return Err(error),
            }
        }
        *distrust.lock() = before;
        // An error that names a file says more than one that names none.
        let told = [Some(first), last_error].into_iter().flatten().collect::<Vec<_>>();
        let named = told.iter().find(|error| error.location().is_some()).cloned();
        let found = incomplete(self, &files, version).or(named).or_else(|| missing(self, &files, version));
        Err(found.unwrap_or_else(|| told.into_iter().next().unwrap_or_else(|| Error::internal("no version was read"))))
    }

    fn tell(&self, left_out: &[u64], error: &Error) {
        let place = self.location();
        let text = match left_out.iter().max() {
            // Without such a file, the log was only read again, because its writer made the first entry in the
            // meantime.
            None if !self.has_hint() => return,
            None => format!(
                "{place}: _last_checkpoint does not fit the log, which was listed instead: {}",
                error.without_advice()
            ),
            Some(version) => format!(
                "{place}: the checkpoint of version {version} can't be read, and older entries were read instead; {} mends it: {}",
                VERIFY_TABLE.on(place).with([REPAIR.given()]),
                error.without_advice()
            ),
        };
        self.job().warn(&text);
    }

    /// Returns true if the log has the file `_last_checkpoint`. What a store does not say counts as one.
    fn has_hint(&self) -> bool {
        let object = self.object(HINT);
        let is_absent = object.and_then(|object| object.store.stat(&object.path)).is_ok_and(|found| found.is_none());
        !is_absent
    }
}

/// The files to leave out, one after the other: `_last_checkpoint` (`None`), then checkpoints, the newest first, as
/// long as the remaining files make the version.
fn steps(files: &[LogFile], version: Option<u64>, before: &LeftOut) -> Vec<Option<u64>> {
    let entries: BTreeSet<u64> =
        files.iter().filter(|file| file.kind == LogFileKind::Entry).map(|file| file.version).collect();
    let checkpoints: BTreeSet<u64> =
        log_files::checkpoints(files).into_iter().filter(|v| !before.checkpoints.contains(v)).collect();
    let last = entries.last().max(checkpoints.last()).copied().unwrap_or(0);
    let end = version.unwrap_or(last);
    if end > last {
        return Vec::new();
    }
    let mut steps = vec![None];
    let mut above = end.saturating_add(1);
    for checkpoint in checkpoints.range(..=end).rev() {
        // The entries after the next older checkpoint, or all of them, must reach up to this one and on.
        let older = checkpoints.range(..*checkpoint).next_back();
        let from = older.map_or(0, |older| older + 1);
        if entries.range(from..above).count() as u64 != above - from {
            break;
        }
        steps.push(Some(*checkpoint));
        above = checkpoint.saturating_add(1);
    }
    steps
}

/// The error of an entry that a version needs and that is gone. It is damage, unless the log was cleaned up: then all entries
/// before a checkpoint are gone.
fn gone(table: &Table, files: &[LogFile], version: u64) -> Error {
    let path = table.root().clone().join(LOG).join(format!("{version:020}.json"));
    let problem = format!("the entry of version {version} does not exist");
    let error = match oldest_of_cleaned_up(files, version) {
        Some(oldest) => {
            let error = cleaned_up(oldest);
            let told = Error::not_found(format!("{problem}: {}", error.message()));
            error.advice_text().into_iter().fold(told, Error::advice)
        }
        None => {
            Error::corrupt(format!("{problem}, and no checkpoint replaces it")).advice(damaged_advice(table.location()))
        }
    };
    error.at(table.store().url(&path))
}

/// The oldest version that can be read, where the entry of `gone` and all older ones were cleaned up.
fn oldest_of_cleaned_up(files: &[LogFile], gone: u64) -> Option<u64> {
    let oldest = log_files::checkpoints(files).first().copied().filter(|oldest| *oldest >= gone)?;
    let is_older = |file: &LogFile| file.version < gone && file.kind == LogFileKind::Entry;
    (!files.iter().any(is_older)).then_some(oldest)
}

/// The error of the first entry that a version needs and that is gone.
fn missing(table: &Table, files: &[LogFile], version: Option<u64>) -> Option<Error> {
    let entries: BTreeSet<u64> =
        files.iter().filter(|file| file.kind == LogFileKind::Entry).map(|file| file.version).collect();
    let end = version.or(entries.last().copied())?;
    let whole = log_files::checkpoints(files);
    let begin = whole.range(..=end).next_back().map_or(0, |checkpoint| checkpoint + 1);
    (entries.last().is_some_and(|last| *last >= end)).then_some(())?;
    (begin..=end).find(|version| !entries.contains(version)).map(|version| gone(table, files, version))
}

/// The error of a checkpoint that is empty, or in several parts of which one is missing, and which is needed.
fn incomplete(table: &Table, files: &[LogFile], version: Option<u64>) -> Option<Error> {
    let whole = log_files::checkpoints(files);
    let end = version.unwrap_or(u64::MAX);
    let newest = files.iter().rev().find_map(|file| match file.kind {
        LogFileKind::Checkpoint { parts, .. } if file.version <= end && !whole.contains(&file.version) => {
            Some((file.version, parts))
        }
        _ => None,
    });
    let (of, parts) = newest.filter(|(of, _)| whole.range(..=end).next_back().is_none_or(|whole| whole < of))?;
    if let Some(empty) = files.iter().find(|file| file.version == of && file.is_empty_checkpoint()) {
        return Some(Error::corrupt("it is empty").at(table.store().url(&empty.info.path)).advice("restore it"));
    }
    let is_part = |number: u64, file: &LogFile| {
        file.version == of
            && matches!(file.kind, LogFileKind::Checkpoint { part, parts: all } if part == number && all == parts)
    };
    let missing = (1..=parts).find(|number| !files.iter().any(|file| is_part(*number, file)))?;
    let name = format!("{of:020}.checkpoint.{missing:010}.{parts:010}.parquet");
    let path = table.root().clone().join(LOG).join(name);
    let message =
        format!("it does not exist, but it is a part of the checkpoint of version {of}, and earlier entries are gone");
    Some(Error::corrupt(message).at(table.store().url(&path)).advice("restore it"))
}

#[cfg(test)]
mod tests;
