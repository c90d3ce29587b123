use lakerace_io::ObjectInfo;
use lakerace_io::object_store::path::Path;

use super::{LogFile, LogFileKind, checkpoints, moments, parse};

fn file(name: &str) -> Option<LogFile> {
    let path = Path::from(format!("table/_delta_log/{name}"));
    parse(ObjectInfo { path, size_bytes: 1, e_tag: None, modified: 0 })
}

#[test]
fn names_say_what_a_file_is() {
    let kind = |name: &str| file(name).map(|file| (file.version, file.kind));
    assert_eq!(kind("00000000000000000012.json"), Some((12, LogFileKind::Entry)));
    assert_eq!(kind("00000000000000000012.crc"), Some((12, LogFileKind::Checksum)));
    let whole = LogFileKind::Checkpoint { part: 1, parts: 1 };
    assert_eq!(kind("00000000000000000012.checkpoint.parquet"), Some((12, whole)));
    assert_eq!(kind("00000000000000000012.checkpoint.80a083e8-7026-4e79-81be-64bd76c43a11.json"), Some((12, whole)));
    let part = LogFileKind::Checkpoint { part: 2, parts: 3 };
    assert_eq!(kind("00000000000000000012.checkpoint.0000000002.0000000003.parquet"), Some((12, part)));
    let joined = LogFileKind::Joined { last: 14 };
    assert_eq!(kind("00000000000000000012.00000000000000000014.compacted.json"), Some((12, joined)));
    for other in ["_last_checkpoint", "12.json", "0000000000000000001x.json", "00000000000000000012.json.tmp"] {
        assert_eq!(kind(other), None, "{other}");
    }
}

#[test]
fn checkpoints_need_all_of_their_parts() {
    let names = [
        "00000000000000000010.checkpoint.0000000001.0000000002.parquet",
        "00000000000000000020.checkpoint.0000000001.0000000002.parquet",
        "00000000000000000020.checkpoint.0000000002.0000000002.parquet",
        "00000000000000000030.checkpoint.parquet",
        "00000000000000000031.json",
    ];
    let files: Vec<LogFile> = names.iter().filter_map(|name| file(name)).collect();
    assert_eq!(checkpoints(&files).into_iter().collect::<Vec<_>>(), [20, 30]);
}

#[test]
fn no_two_versions_are_made_at_once() {
    let file =
        |version: u64, modified: i64| LogFile { info: ObjectInfo { modified, ..info(version) }, ..entry(version) };
    // Two in a tick of the clock, and one by a clock that is behind.
    let files = [file(3, 20), file(4, 20), file(5, 12), file(6, 40)];
    assert_eq!(moments(&files).into_iter().collect::<Vec<_>>(), [(3, 20), (4, 21), (5, 22), (6, 40)]);
}

fn entry(version: u64) -> LogFile {
    LogFile { version, kind: LogFileKind::Entry, info: info(version) }
}

fn info(version: u64) -> ObjectInfo {
    let path = Path::from(format!("table/_delta_log/{version:020}.json"));
    ObjectInfo { path, size_bytes: 1, e_tag: None, modified: 0 }
}
