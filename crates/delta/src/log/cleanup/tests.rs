use lakerace_io::ObjectInfo;
use lakerace_io::object_store::path::Path;

use super::expired;
use crate::log::files::{LogFile, LogFileKind};

fn entry(version: u64, modified: i64) -> LogFile {
    file(version, LogFileKind::Entry, modified)
}

fn file(version: u64, kind: LogFileKind, modified: i64) -> LogFile {
    let path = Path::from(format!("{version:020} {kind:?}"));
    LogFile { version, kind, info: ObjectInfo { path, size_bytes: 1, e_tag: None, modified } }
}

/// Versions 0 to 29, one at each time from 0 on, and checkpoints at 10 and 20.
fn log() -> Vec<LogFile> {
    let checkpoint = LogFileKind::Checkpoint { part: 1, parts: 1 };
    let mut files: Vec<LogFile> = (0..30).map(|version| entry(version, version as i64)).collect();
    files.extend([10, 20].map(|version| file(version, checkpoint, version as i64)));
    files.push(file(5, LogFileKind::Checksum, 5));
    files.push(file(7, LogFileKind::Joined { last: 9 }, 9));
    files.push(file(8, LogFileKind::Joined { last: 10 }, 10));
    files
}

#[test]
fn versions_within_the_retention_stay_readable() {
    for cutoff in -1..40 {
        let log = log();
        let gone = expired(&log, cutoff);
        // The last version before the moment is the oldest that must be left.
        let oldest_kept = (cutoff - 1).clamp(0, 29) as u64;
        let first = [20, 10].into_iter().find(|version| *version <= oldest_kept && cutoff > 0);
        let entries = gone.iter().filter(|file| file.kind == LogFileKind::Entry);
        let versions: Vec<u64> = entries.map(|file| file.version).collect();
        assert_eq!(versions, (0..first.unwrap_or(0)).collect::<Vec<_>>(), "at {cutoff}");
        let has_joined = |last: u64| gone.iter().any(|file| file.kind == LogFileKind::Joined { last });
        assert_eq!((has_joined(9), has_joined(10)), (first.is_some(), first == Some(20)));
    }
}

#[test]
fn clocks_that_go_back_remove_nothing_early() {
    let mut log = log();
    // Version 5 was written after version 6 by its clock: 6 and all later ones count as no older.
    log[5].info.modified = 1000;
    assert_eq!(expired(&log, 25), Vec::<&LogFile>::new());
}

#[test]
fn nothing_goes_without_a_whole_checkpoint() {
    let part = LogFileKind::Checkpoint { part: 1, parts: 2 };
    let mut log: Vec<LogFile> = (0..30).map(|version| entry(version, version as i64)).collect();
    log.push(file(20, part, 20));
    assert_eq!(expired(&log, 100), Vec::<&LogFile>::new());
}
