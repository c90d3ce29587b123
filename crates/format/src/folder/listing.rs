//! Listing a folder as of one moment.

use lakerace_io::object_store::path::Path;
use lakerace_io::{Error, ErrorKind, JobStore, ObjectInfo, Result};

use super::marker::{is_marker, visible};

/// Listings before a folder that keeps changing is given up.
const ATTEMPTS: usize = 5;
/// Markers have some hundred bytes for each file; larger objects of that name are not markers.
const MARKER_BYTES: u64 = 256 << 20;

/// The objects below `folder` that count, in the order of their paths: all but markers and the files that these hide.
/// One LIST, and a GET for each marker; there are none unless a copy is under way or was interrupted. Links to folders
/// of this machine are followed; see [`JobStore::list_linked_unless`].
pub fn list(store: &JobStore, folder: &Path) -> Result<Vec<ObjectInfo>> {
    list_unless(store, folder, |_| false).map(Option::unwrap_or_default)
}

/// Lists like [`list`]; `None` as soon as `is_other` returns true for an object, because the folder is something else.
pub fn list_unless(
    store: &JobStore,
    folder: &Path,
    is_other: impl Fn(&Path) -> bool + Clone + Send + 'static,
) -> Result<Option<Vec<ObjectInfo>>> {
    let mut attempt = 1;
    loop {
        let objects = || store.list_linked_unless(folder, is_other.clone());
        match counted(store, folder, objects) {
            Err(error) if attempt < ATTEMPTS && error.kind() == ErrorKind::Conflict => attempt += 1,
            outcome => return outcome.map(|found| found.map(|(files, _)| files)).map_err(|e| e.at(store.url(folder))),
        }
    }
}

/// The objects of a folder that count, and the names of its markers.
pub(super) type Listed = (Vec<ObjectInfo>, Vec<String>);

/// Lists the files of a folder that will be replaced: links to folders are not followed.
pub(super) fn list_once(store: &JobStore, folder: &Path) -> Result<Listed> {
    counted(store, folder, || store.list(folder).map(Some)).map(Option::unwrap_or_default)
}

fn counted(
    store: &JobStore,
    folder: &Path,
    objects: impl FnOnce() -> Result<Option<Vec<ObjectInfo>>>,
) -> Result<Option<Listed>> {
    let Some(objects) = objects()? else { return Ok(None) };
    let (markers, objects): (Vec<_>, Vec<_>) =
        objects.into_iter().partition(|object| is_marker(&relative(folder, &object.path)));
    if markers.is_empty() {
        return Ok(Some((objects, Vec::new())));
    }
    let mut read = Vec::with_capacity(markers.len());
    for marker in markers {
        let name = relative(folder, &marker.path);
        if marker.size_bytes > MARKER_BYTES {
            return Err(Error::corrupt(format!("a marker of {} bytes is too large", marker.size_bytes)).at(name));
        }
        // A read of the tail returns the whole object, even if its size has changed.
        match store.object(marker.path).read_tail(MARKER_BYTES) {
            Ok(tail) => read.push((name, tail.bytes.to_vec())),
            Err(error) if error.kind() == ErrorKind::NotFound => {
                return Err(
                    Error::conflict("a copy into the folder ended while it was listed").advice("read the folder again")
                );
            }
            Err(error) => return Err(error),
        }
    }
    let names = objects.iter().map(|object| relative(folder, &object.path)).collect();
    let mut counted = visible(names, &read)?.into_iter().peekable();
    let counts = |object: &ObjectInfo| counted.next_if(|name| *name == relative(folder, &object.path)).is_some();
    let files = objects.into_iter().filter(counts).collect();
    Ok(Some((files, read.into_iter().map(|(name, _)| name).collect())))
}

/// A path relative to a folder.
pub(super) fn relative(folder: &Path, path: &Path) -> String {
    let (folder, path) = (folder.as_ref(), path.as_ref());
    let below = path.strip_prefix(folder).unwrap_or(path);
    below.strip_prefix('/').unwrap_or(below).to_owned()
}
