//! Checks that the files that a compaction leaves unchanged exist, with the sizes that the log states.

use std::collections::HashMap;

use lakerace_io::object_store::path::{Path, PathPart};
use lakerace_io::{Error, Result};

use crate::Snapshot;
use crate::snapshot::files::TableFile;

/// Checks files of a version by one listing of the folder that they share.
///
/// # Errors
/// `Corrupt` for one that is gone or has another size.
pub(super) fn check(snapshot: &Snapshot, files: &[&TableFile]) -> Result<()> {
    let table = snapshot.table();
    let Some(folder) = shared_folder(files) else { return Ok(()) };
    let is_below = |file: &TableFile| file.object.store.url_prefix == table.store().url_prefix;
    let listed = match files.iter().all(|file| is_below(file)) && folder.prefix_matches(table.root()) {
        true => table.store().list(&folder).map_err(|error| error.at(table.location()))?,
        false => table.store().list(table.root()).map_err(|error| error.at(table.location()))?,
    };
    let sizes: HashMap<Path, u64> = listed.into_iter().map(|info| (info.path, info.size_bytes)).collect();
    for file in files {
        table.job().check()?;
        let size = match sizes.get(&file.object.path).filter(|_| is_below(file)) {
            Some(size) => Some(*size),
            // Some are in another folder or store, and a listing may leave out names that are hidden.
            None => file.object.store.stat(&file.object.path)?.map(|info| info.size_bytes),
        };
        let url = file.object.url();
        match size {
            None => return Err(snapshot.broken(Error::not_found("does not exist").at(url))),
            Some(size) if size != file.size_bytes && file.size_bytes != 0 => {
                return Err(Error::corrupt(format!("it has {size} bytes, and the log says {}", file.size_bytes))
                    .at(url)
                    .advice(
                        "nothing was changed; restore the file from a backup, or an earlier version of the table by \
                         `lakerace restore` (Table.restore)",
                    ));
            }
            Some(_) => {}
        }
    }
    Ok(())
}

/// The deepest folder that all files are in; `None` where there is no file.
fn shared_folder(files: &[&TableFile]) -> Option<Path> {
    let parts = |file: &TableFile| -> Vec<String> {
        let mut parts: Vec<String> = file.object.path.parts().map(|part| part.as_ref().to_owned()).collect();
        parts.pop();
        parts
    };
    let mut shared = parts(files.first()?);
    for file in &files[1..] {
        let same = shared.iter().zip(parts(file)).take_while(|(a, b)| *a == b).count();
        shared.truncate(same);
    }
    let parts = shared.iter().map(|part| PathPart::parse(part)).collect::<Result<Vec<_>, _>>();
    parts.ok().map(Path::from_iter)
}
