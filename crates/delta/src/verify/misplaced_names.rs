//! Names of log files that are folders, or links that lead to no file. A listing of the log has none of them.

use std::path::PathBuf;

use lakerace_io::object_store::path::Path;

use super::finding::{Finding, Subject};
use super::fix::TableRepair;
use crate::log::distrust::is_hint_name;
use crate::log::files::{LogFileKind, parse_name};
use crate::paths::LOG;
use crate::table::Table;

/// Describes a name of this machine that is no file; `None`: it is a file, or does not exist.
pub(super) fn problem(table: &Table, path: &Path) -> Option<&'static str> {
    if !table.store().has_local_files() {
        return None;
    }
    let path = PathBuf::from(format!("/{path}"));
    let itself = std::fs::symlink_metadata(&path).ok()?;
    match std::fs::metadata(&path) {
        Ok(found) if found.is_dir() => Some("it is a folder, where the log has a file"),
        Err(_) if itself.is_symlink() => Some("it is a link that leads to no file"),
        _ => None,
    }
}

/// Finds such names in the folder of the log.
pub(super) fn find(table: &Table) -> Vec<Finding> {
    let folder = table.root().clone().join(LOG);
    let read = if table.store().has_local_files() { std::fs::read_dir(format!("/{folder}")).ok() } else { None };
    let names = read.into_iter().flatten().filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let mut findings: Vec<Finding> = names.filter_map(|name| finding(table, &folder, &name)).collect();
    findings.sort_by(|a, b| a.place.cmp(&b.place));
    findings
}

fn finding(table: &Table, folder: &Path, name: &str) -> Option<Finding> {
    let subject = match parse_name(name) {
        Some((_, LogFileKind::Entry | LogFileKind::Joined { .. })) => Subject::Entry,
        Some((_, LogFileKind::Checkpoint { .. })) => Subject::Checkpoint,
        Some((_, LogFileKind::Checksum)) => Subject::Checksum,
        None if is_hint_name(name) => Subject::LastCheckpoint,
        None => return None,
    };
    let path = folder.clone().join(name);
    let problem = problem(table, &path)?;
    let place = table.store().url(&path);
    let is_link = std::fs::symlink_metadata(format!("/{path}")).is_ok_and(|itself| itself.is_symlink());
    Some(match (subject, is_link) {
        (Subject::LastCheckpoint, true) => Finding::fixable(table, subject, place, problem, TableRepair::Remove(path)),
        (Subject::LastCheckpoint, false) => {
            let problem = "it is a folder, so that writers of checkpoints fail";
            Finding::new(subject, place, problem, "remove the folder: without the file, readers list the log")
        }
        _ => Finding::new(
            subject,
            place,
            problem,
            "restore the file from a backup, or remove the name if the log had no such file",
        ),
    })
}
