//! Removing files that no retained version needs.
//!
//! A file is kept if
//!
//! - it belongs to the last version, or contains one of its deletion vectors;
//! - it was removed from the table within the retention: a version that was the last one in that time needs the file.
//!   The tombstones of the last checkpoint and all entries of the log within the retention list these removals;
//! - it is a change file of a version that was committed within the retention;
//! - it was itself created within the retention: its writer may not have committed it yet;
//! - its name, or that of a folder above it, starts with `_` or `.`: these are the log and files of other programs.
//!   Exceptions are folders of partitions, that of change files, and the leftovers of killed lakerace writers;
//! - it is not a regular file, or is one of the above under another name (a hard link, a mount, a name in another
//!   case). Links to folders are not followed: their contents are not below the table's folder, or have another name
//!   there.
//!
//! All other files below the table's folder are removed.

use std::collections::HashSet;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use arrow::array::{Array, ArrayRef, AsArray, StructArray};
use arrow::datatypes::Int64Type;
use delta_kernel::actions::LOG_REMOVE_SCHEMA;
use delta_kernel::actions::deletion_vector::{DeletionVectorDescriptor, DeletionVectorStorageType};
use delta_kernel::engine::arrow_data::EngineDataArrowExt;
use delta_kernel::table_features::Operation;
use lakerace_exec::map_slice;
use lakerace_io::object_store::path::Path;
use lakerace_io::option::{ALLOW_SHORT_RETENTION, RETAIN};
use lakerace_io::{Error, FileIds, ObjectInfo, Result};

use super::history::READERS;
use crate::deletion_vector;
use crate::log::entry::{FileAction, LogEntry};
use crate::log::files::{LogFile, LogFileKind};
use crate::paths::CHANGE_FOLDER;
use crate::protocol::writable;
use crate::snapshot::Snapshot;
use crate::table::Table;
use crate::table_folders::tables_in;

/// The options of a vacuum.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct VacuumOptions {
    /// The retention of removed files; `None`: that of the table (`delta.deletedFileRetentionDuration`, 7 days by
    /// default).
    pub retain: Option<Duration>,
    /// Allow a retention below the table's own. Readers of earlier versions, and writers that have not committed yet,
    /// may lose their files by it. Without `retain`, it is an error.
    pub allow_short_retention: bool,
    /// Only report what would be removed.
    pub dry_run: bool,
}

/// The files that a vacuum has removed, or would.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Vacuumed {
    /// The version whose files stayed.
    pub version: u64,
    /// The files, as users name them.
    pub files: Vec<String>,
    /// Their bytes.
    pub bytes: u64,
    /// Files that stayed: the last version's, those that earlier ones need, and those made a short time ago.
    pub kept: u64,
}

/// The retention of a table that does not say how long removed files stay.
const RETENTION: Duration = Duration::from_secs(7 * 24 * 60 * 60);
/// Folders and files whose names start with these are not the table's data.
const HIDDEN: [char; 2] = ['_', '.'];

/// Removes the files that no retained version needs.
pub fn vacuum(table: &Table, options: &VacuumOptions) -> Result<Vacuumed> {
    let mut snapshot = table.snapshot(None)?;
    let retain = retention(&snapshot, options).map_err(|error| error.at(table.location()))?;
    let cutoff = now_millis() - i64::try_from(retain.as_millis()).unwrap_or(i64::MAX / 2);
    // Files are listed before the log is read: a file that is committed later is young or in the log.
    let found = found(&snapshot)?;
    snapshot = table.snapshot(None)?;
    let mut needed = needed(&snapshot, cutoff)?;
    loop {
        let (gone, vacuumed) = choose(&snapshot, &found, &needed, cutoff);
        // A version that was made in the meantime may have taken up a file again that was removed long ago.
        let latest = table.snapshot(None)?;
        if latest.version() != snapshot.version() {
            needed.extend(of_version(&latest)?);
            snapshot = latest;
            continue;
        }
        if !options.dry_run && !gone.is_empty() {
            table.store().delete_all(gone).map_err(|error| error.at(table.location()))?;
        }
        return Ok(vacuumed);
    }
}

/// The retention of removed files. An unsupported demand of the table is an error here.
fn retention(snapshot: &Snapshot, options: &VacuumOptions) -> Result<Duration> {
    if options.allow_short_retention && options.retain.is_none() {
        return Err(Error::usage(format!(
            "{ALLOW_SHORT_RETENTION} has no effect on the retention of the table itself"
        ))
        .advice(format!("give a retention with {RETAIN}, or omit it")));
    }
    // A feature that is not known here may know of files that are not known here.
    let writable = writable(snapshot, false)?;
    let supported = writable.kernel.table_configuration().ensure_operation_supported(Operation::Write);
    supported.map_err(crate::kernel::error::from_kernel)?;
    let own = snapshot.kernel().table_properties().deleted_file_retention_duration.unwrap_or(RETENTION);
    let retain = options.retain.unwrap_or(own);
    if retain < own && !options.allow_short_retention {
        let hours = |duration: Duration| duration.as_secs_f64() / 3600.0;
        let message = format!(
            "a retention of {:.1} hours is below the table's retention of {:.1} hours",
            hours(retain),
            hours(own)
        );
        return Err(Error::usage(message)
            .advice(format!("retain files for longer with {RETAIN}, or allow it with {ALLOW_SHORT_RETENTION}")));
    }
    Ok(retain)
}

/// Lists the files below the table's folder that may go.
pub(crate) fn found(snapshot: &Snapshot) -> Result<Vec<ObjectInfo>> {
    let table = snapshot.table();
    let root = table.root();
    let partitions: Vec<String> = partition_prefixes(snapshot);
    let is_data = |info: &ObjectInfo| {
        let below = info.path.as_ref().strip_prefix(root.as_ref()).unwrap_or_default().trim_start_matches('/');
        let of_changes = below.strip_prefix(CHANGE_FOLDER).and_then(|below| below.strip_prefix('/'));
        let below = of_changes.unwrap_or(below);
        below.split('/').all(|part| !part.starts_with(HIDDEN) || partitions.iter().any(|name| part.starts_with(name)))
    };
    let listed = table.store().list(root).map_err(|error| error.at(table.location()))?;
    let mut nested = tables_in(&listed);
    nested.remove(root.as_ref());
    let is_own = |info: &ObjectInfo| {
        let path = info.path.as_ref();
        nested.is_empty() || path.match_indices('/').all(|(end, _)| !nested.contains(&path[..end]))
    };
    let orphaned_files = table.store().orphaned_files(root).map_err(|error| error.at(table.location()))?;
    Ok(listed.iter().filter(|info| is_data(info) && is_own(info)).cloned().chain(orphaned_files).collect())
}

/// The prefixes of partition folders that look hidden.
fn partition_prefixes(snapshot: &Snapshot) -> Vec<String> {
    let names = snapshot.partition_columns().into_iter();
    let prefixes = names.flat_map(|name| {
        let stored = snapshot.columns().stored_path(std::slice::from_ref(&name));
        let stored = stored.and_then(|path| path.first().map(|name| (*name).to_owned()));
        [Some(name), stored]
    });
    prefixes.flatten().filter(|name| name.starts_with(HIDDEN)).map(|name| format!("{name}=")).collect()
}

/// The paths of the files that the versions since a moment need.
fn needed(snapshot: &Snapshot, cutoff: i64) -> Result<HashSet<Path>> {
    let table = snapshot.table();
    let mut needed = of_version(snapshot)?;
    needed.extend(tombstones(snapshot, cutoff)?);
    let files = table.list_log()?;
    let is_young = |file: &&LogFile| file.kind == LogFileKind::Entry && file.info.modified >= cutoff;
    let young: Vec<&LogFile> = files.iter().filter(is_young).collect();
    for entry in map_slice(&young, READERS, |file| LogEntry::read(table, file))? {
        for file in entry.removed.into_iter().chain(entry.changes) {
            needed.extend(places(table, &file)?);
        }
    }
    Ok(needed)
}

/// The files of a version, and those with its deletion vectors.
pub(crate) fn of_version(snapshot: &Snapshot) -> Result<HashSet<Path>> {
    let table = snapshot.table();
    let mut paths = HashSet::new();
    for file in &snapshot.files()?.files {
        paths.insert(file.object.path.clone());
        paths.extend(table.own_paths(&file.path)?);
        if let Some(vector) = &file.vector {
            paths.extend(deletion_vector::object(table, vector)?.map(|object| object.path));
        }
    }
    Ok(paths)
}

/// The paths of a file of an entry of the log, and of its vector.
fn places(table: &Table, file: &FileAction) -> Result<Vec<Path>> {
    let mut places = table.own_paths(&file.path)?;
    if let Some(name) = &file.deletion_vector {
        places.extend(vector_path(table, &name.storage_type, &name.path_or_inline_dv)?);
    }
    Ok(places)
}

pub(crate) fn vector_path(table: &Table, kind: &str, name: &str) -> Result<Option<Path>> {
    let kind: DeletionVectorStorageType =
        kind.parse().map_err(|_| Error::corrupt(format!("a deletion vector with the storage type {kind:?}")))?;
    // The placeholders for offset, size and cardinality do not affect the location.
    let offset = (kind != DeletionVectorStorageType::Inline).then_some(1);
    let vector =
        DeletionVectorDescriptor::try_new(kind, name, offset, 1, 1).map_err(crate::kernel::error::from_kernel)?;
    Ok(deletion_vector::object(table, &vector)?.map(|object| object.path))
}

/// The files that were removed since `cutoff`, according to the last checkpoint and the entries after it.
pub(crate) fn tombstones(snapshot: &Snapshot, cutoff: i64) -> Result<HashSet<Path>> {
    let table = snapshot.table();
    let read = || {
        table.kernel(|engine| {
            let actions = snapshot.kernel().log_segment().read_actions(engine, LOG_REMOVE_SCHEMA.clone())?;
            actions.map(|batch| batch?.actions.try_into_record_batch()).collect::<Result<Vec<_>, _>>()
        })
    };
    let batches = snapshot.replay(read)?;
    let mut paths = HashSet::new();
    for batch in batches {
        table.job().check()?;
        let removes = batch.column_by_name("remove").and_then(|column| column.as_struct_opt());
        let removes = removes.ok_or_else(|| Error::internal("the kernel returned no removed files"))?;
        for row in (0..removes.len()).filter(|row| removes.is_valid(*row)) {
            // Without a time it may have been just now.
            if long(removes, "deletionTimestamp", row).is_some_and(|time| time < cutoff) {
                continue;
            }
            let Some(path) = text(removes, "path", row) else { continue };
            paths.extend(table.own_paths(path)?);
            let vector = removes.column_by_name("deletionVector").and_then(|column| column.as_struct_opt());
            let Some(vector) = vector.filter(|vector| vector.is_valid(row)) else { continue };
            if let (Some(kind), Some(name)) = (text(vector, "storageType", row), text(vector, "pathOrInlineDv", row)) {
                paths.extend(vector_path(table, kind, name)?);
            }
        }
    }
    Ok(paths)
}

fn text<'a>(array: &'a StructArray, name: &str, row: usize) -> Option<&'a str> {
    let column: &ArrayRef = array.column_by_name(name)?;
    let column = column.as_string_opt::<i32>()?;
    column.is_valid(row).then(|| column.value(row))
}

fn long(array: &StructArray, name: &str, row: usize) -> Option<i64> {
    let column = array.column_by_name(name)?.as_primitive_opt::<Int64Type>()?;
    column.is_valid(row).then(|| column.value(row))
}

/// The files to remove, and the report of the vacuum.
fn choose(snapshot: &Snapshot, found: &[ObjectInfo], needed: &HashSet<Path>, cutoff: i64) -> (Vec<Path>, Vacuumed) {
    let store = snapshot.table().store();
    let is_old = |info: &ObjectInfo| info.modified < cutoff && !needed.contains(&info.path);
    // On a local disk, a file may have several names: file ids identify the needed files.
    let ids = if found.iter().any(is_old) { store.file_ids(needed) } else { FileIds::default() };
    let mut gone = Vec::new();
    let mut vacuumed = Vacuumed { version: snapshot.version(), ..Vacuumed::default() };
    for info in found {
        if !is_old(info) || !store.is_removable(&info.path, &ids) {
            vacuumed.kept += 1;
            continue;
        }
        vacuumed.files.push(store.url(&info.path));
        vacuumed.bytes += info.size_bytes;
        gone.push(info.path.clone());
    }
    (gone, vacuumed)
}

fn now_millis() -> i64 {
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since_1970.as_millis()).unwrap_or(i64::MAX)
}
