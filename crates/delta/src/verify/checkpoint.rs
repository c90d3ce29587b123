//! Reading a single checkpoint, and writing one again.

use lakerace_io::{Error, Result};

use super::state::VersionState;
use super::statistics_defects;
use crate::log::files::{LogFile, LogFileKind};
use crate::protocol::writable;
use crate::snapshot::Snapshot;
use crate::snapshot::files::StatisticsDefect;
use crate::table::Table;

/// Reads the state in the checkpoint of a version, and the statistics that are not valid. If the checkpoint can't be read,
/// no other file is used in its place.
pub(super) fn read(table: &Table, version: u64) -> Result<(VersionState, Vec<StatisticsDefect>)> {
    let fresh = table.distrusting(&[])?;
    let kernel = fresh.build_once(Some(version))?;
    if kernel.log_segment().checkpoint_version != Some(version) {
        return Err(Error::corrupt("readers ignore it"));
    }
    let snapshot = Snapshot::new(fresh, kernel)?;
    let (listed, defects) = statistics_defects::list(&snapshot)?;
    Ok((VersionState::from_snapshot(&snapshot, &listed.files), defects))
}

/// Writes the checkpoint of a version again from the entries and older checkpoints. Its files are removed first:
/// without them, readers read the same version from these.
pub(super) fn write_again(table: &Table, version: u64) -> Result<()> {
    let files = table.list_log()?;
    let is_of_version =
        |file: &&LogFile| file.version == version && matches!(file.kind, LogFileKind::Checkpoint { .. });
    let old: Vec<_> = files.iter().filter(is_of_version).map(|file| file.info.path.clone()).collect();
    // The version can be read without the checkpoint.
    table.distrusting(&[version])?.build_once(Some(version))?;
    if !old.is_empty() {
        table.store().delete_all(old)?;
    }
    let fresh = table.distrusting(&[])?;
    let snapshot = Snapshot::new(fresh.clone(), fresh.build_once(Some(version))?)?;
    let writable = writable(&snapshot, false)?;
    fresh.kernel(|engine| writable.kernel.checkpoint(engine, None).map(drop))
}
