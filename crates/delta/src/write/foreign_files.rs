//! Folders with files that do not belong to a new table.
//!
//! All files of a table's folder are the table's: vacuum removes those that the log does not name, as in Delta's own
//! implementation. So a table is not created in a folder with files of another program.

use std::path::PathBuf;

use lakerace_io::object_store::path::Path;
use lakerace_io::{Error, ObjectInfo, Result};

use crate::paths::is_own_data_file;
use crate::table::Table;
use crate::table_folders::check_outside_tables;

/// Names that vacuum ignores start with these.
const HIDDEN: [char; 2] = ['_', '.'];

/// Returns an error where the folder of a new table has files that its vacuum would remove, or where its name is that
/// of an object, or in the folder of another table. Files of an earlier, killed write are ignored. Costs one LIST, and one HEAD on an
/// object store.
pub(super) fn check_folder(table: &Table) -> Result<()> {
    let (store, root) = (table.store(), table.root());
    check_outside_tables(store, root)?;
    if !store.has_local_files() && !root.is_root() {
        // Some programs mark folders by objects without bytes.
        if store.stat(root)?.is_some_and(|object| object.size_bytes > 0) {
            return Err(Error::conflict("an object with this name exists, which would hide a table here")
                .at(store.url(root))
                .advice("choose another name for the table, or remove the object"));
        }
    }
    if store.has_local_files() {
        refuse_file(root)?;
    }
    let found = store.list(root)?;
    let Some(foreign) = found.iter().find(|info| is_foreign(root, info)) else { return Ok(()) };
    let message = format!(
        "the folder has files that do not belong to a Delta table, such as {}: vacuum would remove them",
        store.url(&foreign.path)
    );
    Err(Error::conflict(message)
        .advice("create the table in an empty folder, or move these files to another one first"))
}

/// Returns an error where a file has the name of a local folder, or of one that contains it.
fn refuse_file(root: &Path) -> Result<()> {
    let folder = PathBuf::from(format!("/{root}"));
    match folder.ancestors().find(|above| above.is_file()) {
        None => Ok(()),
        Some(file) => Err(Error::conflict("this is a file, and a Delta table is a folder")
            .at(file.display())
            .advice("choose another folder, or remove the file")),
    }
}

fn is_foreign(root: &Path, info: &ObjectInfo) -> bool {
    let below = info.path.as_ref().strip_prefix(root.as_ref()).unwrap_or_default().trim_start_matches('/');
    let is_folder_mark = info.size_bytes == 0 && !below.rsplit('/').next().unwrap_or_default().contains('.');
    let is_hidden = below.split('/').any(|part| part.starts_with(HIDDEN));
    !(below.is_empty() || is_folder_mark || is_hidden || is_own_data_file(below))
}
