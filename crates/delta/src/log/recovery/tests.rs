#![allow(clippy::unwrap_used)]

use lakerace_io::ObjectInfo;
use lakerace_io::object_store::path::Path;

use super::{LeftOut, oldest_of_cleaned_up, steps};
use crate::log::distrust::{checkpoint_version, is_hint};
use crate::log::files::{LogFile, LogFileKind};

fn files(entries: impl IntoIterator<Item = u64>, checkpoints: &[(u64, u64, u64)]) -> Vec<LogFile> {
    let file = |version, kind| LogFile {
        version,
        kind,
        info: ObjectInfo { path: Path::from("x"), size_bytes: 1, e_tag: None, modified: 0 },
    };
    let entries = entries.into_iter().map(|version| file(version, LogFileKind::Entry));
    let checkpoints = checkpoints
        .iter()
        .map(|(version, part, parts)| file(*version, LogFileKind::Checkpoint { part: *part, parts: *parts }));
    entries.chain(checkpoints).collect()
}

fn left_out(entries: impl IntoIterator<Item = u64>, checkpoints: &[(u64, u64, u64)], version: Option<u64>) -> Vec<u64> {
    let steps = steps(&files(entries, checkpoints), version, &LeftOut::default());
    assert!(steps.first().is_none_or(Option::is_none));
    steps.into_iter().flatten().collect()
}

#[test]
fn checkpoints_are_left_out_while_the_rest_makes_the_version() {
    let two = [(4, 1, 1), (8, 1, 1)];
    assert_eq!(left_out(0..10, &two, None), [8, 4]);
    assert_eq!(left_out(0..10, &two, Some(7)), [4]);
    assert_eq!(left_out(0..10, &two, Some(3)), [0; 0]);
    assert_eq!(left_out(5..10, &two, None), [8]);
    assert_eq!(left_out(6..10, &two, None), [0; 0]);
    assert_eq!(left_out((0..10).filter(|v| *v != 2), &two, None), [8]);
    // One in parts counts where it is whole.
    assert_eq!(left_out(5..10, &[(4, 1, 2), (4, 2, 2), (8, 1, 1)], None), [8]);
    assert_eq!(left_out(5..10, &[(4, 1, 2), (8, 1, 1)], None), [0; 0]);
    assert!(steps(&files(0..10, &two), Some(10), &LeftOut::default()).is_empty());
}

#[test]
fn names_tell_checkpoints() {
    let version = |name: &str| checkpoint_version(&Path::from(format!("_delta_log/{name}")));
    assert_eq!(version("00000000000000000012.checkpoint.parquet"), Some(12));
    assert_eq!(version("00000000000000000012.checkpoint.0000000001.0000000002.parquet"), Some(12));
    assert_eq!(version("00000000000000000012.checkpoint.80a083e8-7026-4e79-81be-64bd76c43a11.json"), Some(12));
    assert_eq!(version("00000000000000000012.json"), None);
    assert!(is_hint(&Path::from("_delta_log/_last_checkpoint")));
}

#[test]
fn entries_before_the_oldest_checkpoint_were_cleaned_up() {
    let two = [(4, 1, 1), (8, 1, 1)];
    // All older entries are gone, too.
    assert_eq!(oldest_of_cleaned_up(&files(5..10, &two), 0), Some(4));
    assert_eq!(oldest_of_cleaned_up(&files(4..10, &two), 3), Some(4));
    assert_eq!(oldest_of_cleaned_up(&files(6..10, &[(8, 1, 1)]), 0), Some(8));
    // An older entry is there, or a checkpoint is: this one was lost.
    assert_eq!(oldest_of_cleaned_up(&files((0..10).filter(|v| *v != 3), &two), 3), None);
    assert_eq!(oldest_of_cleaned_up(&files((4..10).filter(|v| *v != 6), &two), 6), None);
    // No checkpoint replaces the entries.
    assert_eq!(oldest_of_cleaned_up(&files(1..10, &[]), 0), None);
    assert_eq!(oldest_of_cleaned_up(&files(1..10, &[(4, 1, 2)]), 0), None);
}
