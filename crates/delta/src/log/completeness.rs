//! Proof that a file of the log is complete.
//!
//! A file that was cut, or that a power cut has emptied, must not count as one with fewer actions. Any entry has an
//! action. An entry of lakerace starts with its `commitInfo`, which states the number of actions; entries of other
//! writers may lack it. An entry that states changed files in the metrics of its `commitInfo` has at least one file
//! action.

use std::collections::HashSet;

use serde::Deserialize;
use serde::de::IgnoredAny;

use super::stated_files::StatedFiles;
use crate::paths::is_own_data_file;

/// The field of `commitInfo` with the number of actions in the entry, itself included.
pub(crate) const ACTION_COUNT: &str = "lakeraceActions";
/// The prefix of `engineInfo` in entries of lakerace.
const ENGINE_PREFIX: &str = "lakerace/";

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an object")]
struct InfoLine {
    commit_info: Option<ActionCounts>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an object")]
struct ActionCounts {
    engine_info: Option<String>,
    lakerace_actions: Option<u64>,
}

#[derive(Deserialize)]
#[serde(expecting = "an object")]
struct FileLine {
    add: Option<NamedAction>,
    remove: Option<NamedAction>,
}

#[derive(Deserialize)]
#[serde(expecting = "an object")]
struct AnyFileLine {
    add: Option<IgnoredAny>,
    remove: Option<IgnoredAny>,
    cdc: Option<IgnoredAny>,
}

#[derive(Deserialize)]
#[serde(expecting = "an object")]
struct NamedAction {
    path: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an object")]
struct CheckpointLine {
    checkpoint_metadata: Option<IgnoredAny>,
    #[serde(rename = "metaData")]
    metadata: Option<IgnoredAny>,
    protocol: Option<IgnoredAny>,
}

/// Checks that an entry may be complete. Its reader checks that each line is an action.
pub(crate) fn check_entry(bytes: &[u8]) -> Result<(), String> {
    let mut count = 0;
    let mut found: Option<(&[u8], ActionCounts)> = None;
    for line in actions(bytes) {
        count += 1;
        if found.is_none() && begins_with_info(line) {
            let info = serde_json::from_slice::<InfoLine>(line).ok().and_then(|line| line.commit_info);
            found = info.map(|info| (line, info));
        }
    }
    if count == 0 {
        let size = if bytes.is_empty() { "it is empty" } else { "it has no action" };
        return Err(format!("{size}, and each entry of a log has actions"));
    }
    let Some((line, info)) = found else {
        return match new_own_file(bytes) {
            None => Ok(()),
            Some(file) => Err(format!(
                "it adds {file:?}, a file of lakerace, but lacks the commitInfo line with which lakerace starts an \
                 entry"
            )),
        };
    };
    let is_own = info.engine_info.is_some_and(|engine| engine.starts_with(ENGINE_PREFIX));
    match info.lakerace_actions {
        Some(stated) if is_own && count < stated => Err(format!("it has {count} actions of {stated}")),
        _ if is_own => Ok(()),
        _ => check_stated_files(bytes, StatedFiles::parse(line)),
    }
}

/// Says why an entry lacks all of the files that it states. Fewer files than stated are for `verify` to find.
fn check_stated_files(bytes: &[u8], stated: StatedFiles) -> Result<(), String> {
    let is_file = |line: &[u8]| {
        let line = serde_json::from_slice::<AnyFileLine>(line);
        line.is_ok_and(|line| line.add.is_some() || line.remove.is_some() || line.cdc.is_some())
    };
    if stated.added + stated.removed == 0 || actions(bytes).any(is_file) {
        return Ok(());
    }
    Err(format!("its commitInfo says that it {}, but it names no file", stated.told()))
}

/// Returns true if an entry that was checked is known to have all of its actions: lakerace has counted them.
pub(crate) fn is_counted(bytes: &[u8]) -> bool {
    let line = actions(bytes).find(|line| begins_with_info(line));
    let info = line.and_then(|line| serde_json::from_slice::<InfoLine>(line).ok()?.commit_info);
    info.is_some_and(|info| {
        info.lakerace_actions.is_some() && info.engine_info.is_some_and(|engine| engine.starts_with(ENGINE_PREFIX))
    })
}

/// Says why a checkpoint in JSON can't be complete.
pub(super) fn check_json_checkpoint(bytes: &[u8]) -> Result<(), String> {
    let (mut has_own, mut has_metadata, mut has_protocol) = (false, false, false);
    for line in actions(bytes) {
        let Ok(line) = serde_json::from_slice::<CheckpointLine>(line) else { continue };
        has_own |= line.checkpoint_metadata.is_some();
        has_metadata |= line.metadata.is_some();
        has_protocol |= line.protocol.is_some();
    }
    let needed = [(has_own, "checkpointMetadata"), (has_metadata, "metaData"), (has_protocol, "protocol")];
    match needed.iter().find(|(is_there, _)| !is_there) {
        None => Ok(()),
        Some((_, name)) => Err(format!("it is truncated: the action {name} is missing")),
    }
}

/// The lines that hold something.
fn actions(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    bytes.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii).filter(|line| !line.is_empty() && *line != b"{}")
}

fn begins_with_info(line: &[u8]) -> bool {
    line.strip_prefix(b"{").is_some_and(|line| line.trim_ascii_start().starts_with(b"\"commitInfo\""))
}

/// A data file of lakerace that an entry adds. Other writers add such a file again if they remove it in the same entry,
/// for another deletion vector.
fn new_own_file(bytes: &[u8]) -> Option<String> {
    let (mut added, mut removed) = (Vec::new(), HashSet::new());
    for line in actions(bytes).filter_map(|line| serde_json::from_slice::<FileLine>(line).ok()) {
        added.extend(line.add.map(|file| file.path));
        removed.extend(line.remove.map(|file| file.path));
    }
    added.into_iter().find(|path| is_own_data_file(path) && !removed.contains(path))
}

#[cfg(test)]
mod tests;
