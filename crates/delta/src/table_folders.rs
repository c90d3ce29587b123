//! Folders that are Delta tables: at a path, above it, and in a listing.
//!
//! All files of a table's folder are the table's. Read without its log, they have rows that later versions have removed. Files that the
//! log does not name are removed by vacuum.

use std::collections::HashSet;

use lakerace_io::object_store::path::Path;
use lakerace_io::{Error, ErrorKind, JobStore, ObjectInfo, Result};

use crate::paths::LOG;

/// Returns true if a folder of this machine is a table. Nothing is listed.
pub fn is_local_table(store: &JobStore, folder: &Path) -> bool {
    store.has_local_files() && std::fs::metadata(format!("/{folder}/{LOG}")).is_ok_and(|metadata| metadata.is_dir())
}

/// Returns true if a folder is a table. One LIST where it is not on this machine.
///
/// # Errors
/// Those of the store.
pub fn is_table(store: &JobStore, folder: &Path) -> Result<bool> {
    if store.has_local_files() {
        return Ok(is_local_table(store, folder));
    }
    Ok(store.list_unless(&folder.clone().join(LOG), |_| true)?.is_none())
}

/// The table in whose folder a path is; a folder with a hidden name (`_x`, `.x`) is no part of a table. In an object store, only folders
/// of partitions (`day=1`) are left on the way to the table: each look takes a request.
///
/// # Errors
/// Those of the store.
pub fn table_above(store: &JobStore, path: &Path) -> Result<Option<Path>> {
    let is_partition = |name: &str| name.contains('=');
    let mut folder = path.as_ref();
    loop {
        let (parent, name) = folder.rsplit_once('/').unwrap_or(("", folder));
        let is_hidden = name.starts_with(['_', '.']) && !is_partition(name);
        if name.is_empty() || is_hidden || (!store.has_local_files() && !is_partition(name)) {
            return Ok(None);
        }
        let above = Path::parse(parent).map_err(Error::unexpected)?;
        let has_next = parent.rsplit('/').next().is_some_and(is_partition);
        // One request is enough: the table is above all partitions.
        if (store.has_local_files() || !has_next) && is_table(store, &above)? {
            return Ok(Some(above));
        }
        folder = parent;
    }
}

/// The folders of a listing that are tables; empty for the top of the store.
pub fn tables_in(listed: &[ObjectInfo]) -> HashSet<&str> {
    let table = |info: &ObjectInfo| {
        let mut parts = info.path.as_ref().split('/');
        let before = parts.by_ref().take_while(|part| *part != LOG).map(|part| part.len() + 1).sum::<usize>();
        parts.next().map(|_| before.saturating_sub(1))
    };
    listed.iter().filter_map(|info| table(info).map(|end| &info.path.as_ref()[..end])).collect()
}

/// Checks that a new file, folder or table on this machine is outside of the folders of tables. An object store is not asked.
///
/// # Errors
/// `Conflict`, with the table.
pub fn check_outside_tables(store: &JobStore, path: &Path) -> Result<()> {
    if !store.has_local_files() {
        return Ok(());
    }
    let Some(table) = table_above(store, path)? else { return Ok(()) };
    let table = store.url(&table);
    let message =
        format!("it is in the folder of the Delta table {table}, whose vacuum removes files that the table lacks");
    Err(Error::new(ErrorKind::Conflict, message)
        .at(store.url(path))
        .advice("choose a place outside of the table, or below a folder whose name begins with an underscore"))
}

#[cfg(test)]
mod tests;
