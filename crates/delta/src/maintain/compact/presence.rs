//! Checks that the files that a compaction leaves unchanged exist, with the sizes that the log states.

use std::collections::{BTreeMap, HashMap};

use lakerace_io::object_store::path::{Path, PathPart};
use lakerace_io::{Error, Result};

use crate::snapshot::Snapshot;
use crate::snapshot::files::TableFile;

/// Keys that an answer to LIST has at most.
const LISTED_AT_MOST: usize = 1000;

/// Checks files of a version by one listing of the folder that they share, or by one of each folder that they are in,
/// where that takes fewer requests: other folders of the table may have many more files.
///
/// # Errors
/// `Corrupt` for one that is gone or has another size.
pub(super) fn check(snapshot: &Snapshot, files: &[&TableFile]) -> Result<()> {
    let table = snapshot.table();
    let Some(folder) = shared_folder(files) else { return Ok(()) };
    let is_below = |file: &TableFile| file.object.store.url_prefix == table.store().url_prefix;
    let folder = match files.iter().all(|file| is_below(file)) && folder.prefix_matches(table.root()) {
        true => folder,
        false => table.root().clone(),
    };
    let mut sizes: HashMap<Path, u64> = HashMap::new();
    for folder in listed_folders(&folder, files, &snapshot.files()?.files)? {
        table.job().check()?;
        let listed = table.store().list(&folder).map_err(|error| error.at(table.location()))?;
        sizes.extend(listed.into_iter().map(|info| (info.path, info.size_bytes)));
    }
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
                return Err(Error::corrupt(format!("it has {size} bytes, but the log states {}", file.size_bytes))
                    .at(url)
                    .advice(
                        "nothing was changed; restore the file from a backup, or an earlier version of the table \
                         with `lakerace restore` or Table.restore",
                    ));
            }
            Some(_) => {}
        }
    }
    Ok(())
}

/// The folders to list: those of the files, where these are fewer requests than the one that they share takes. `all`:
/// the files of the version.
fn listed_folders(shared: &Path, files: &[&TableFile], all: &[TableFile]) -> Result<Vec<Path>> {
    let mut folders: BTreeMap<Vec<String>, usize> = BTreeMap::new();
    files.iter().for_each(|file| *folders.entry(folder_parts(file)).or_default() += 1);
    let below_shared = all.iter().filter(|file| file.object.path.prefix_matches(shared)).count();
    let apart: usize = folders.values().map(|files| files.div_ceil(LISTED_AT_MOST)).sum();
    if apart >= below_shared.div_ceil(LISTED_AT_MOST) {
        return Ok(vec![shared.clone()]);
    }
    folders.keys().map(|parts| path_of(parts).ok_or_else(|| Error::internal("a folder that is no path"))).collect()
}

/// The names of the folders that a file is in.
fn folder_parts(file: &TableFile) -> Vec<String> {
    let mut parts: Vec<String> = file.object.path.parts().map(|part| part.as_ref().to_owned()).collect();
    parts.pop();
    parts
}

fn path_of(parts: &[String]) -> Option<Path> {
    let parts = parts.iter().map(|part| PathPart::parse(part)).collect::<Result<Vec<_>, _>>();
    parts.ok().map(Path::from_iter)
}

/// The deepest folder that all files are in; `None` where there is no file.
fn shared_folder(files: &[&TableFile]) -> Option<Path> {
    let mut shared = folder_parts(files.first()?);
    for file in &files[1..] {
        let same = shared.iter().zip(folder_parts(file)).take_while(|(a, b)| *a == b).count();
        shared.truncate(same);
    }
    path_of(&shared)
}
