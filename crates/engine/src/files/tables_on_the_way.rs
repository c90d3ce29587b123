//! Delta tables whose files a folder or a pattern would read without their log.
//!
//! The files of a table are not its rows: some were removed by a later version, or have rows that are deleted.

use std::collections::{BTreeMap, HashSet};

use lakerace_io::object_store::path::Path;
use lakerace_io::option::INPUT_FORMAT;
use lakerace_io::{Error, ErrorKind, JobStore, Object, ObjectInfo, Result, is_hidden_name};

use super::FileSource;
use crate::delta::{LOG, is_local_table, is_table};
use crate::options::ReadOptions;

/// The tables in a listing, and those above it.
pub(super) struct TablesOnTheWay {
    /// The folder that was listed.
    root: String,
    /// Folders below it that have a log.
    below: HashSet<String>,
}

impl TablesOnTheWay {
    /// The tables in a listing of a folder.
    pub fn new(listed: &[ObjectInfo], root: &str) -> Self {
        let mark = format!("/{LOG}/");
        let table = |info: &ObjectInfo| {
            let path = info.path.as_ref();
            let end = if path.starts_with(&mark[1..]) { Some(0) } else { path.find(&mark) };
            end.map(|end| path[..end].to_owned())
        };
        Self { root: root.to_owned(), below: listed.iter().filter_map(table).collect() }
    }

    /// An error where a file is one of a table's, unless the format of the files is said.
    pub fn check(&self, store: &JobStore, found: &[ObjectInfo], options: &ReadOptions) -> Result<()> {
        if found.is_empty() || options.format.is_some() {
            return Ok(());
        }
        let in_listing = (!self.below.is_empty()).then(|| found.iter().find_map(|info| self.table_of(info))).flatten();
        let table = match in_listing {
            Some(table) => Some(table.to_owned()),
            None => self.above(store)?,
        };
        table.map_or(Ok(()), |table| refuse(store, &table))
    }

    /// An error where several files of a list are those of one table, unless the format of the files is said. A single file of a
    /// table may be read by itself.
    pub fn check_list(files: &FileSource, options: &ReadOptions) -> Result<()> {
        if options.format.is_some() {
            return Ok(());
        }
        // The files of a table are in one folder, or in folders of partitions below it.
        let mut by_table: BTreeMap<&str, Vec<&Object>> = BTreeMap::new();
        for object in &files.objects {
            let folder = object.path.as_ref().rsplit_once('/').map_or("", |(folder, _)| folder);
            let is_partition = |name: &str| name.contains('=');
            let mut root = folder;
            while root.rsplit('/').next().is_some_and(is_partition) {
                root = root.rsplit_once('/').map_or("", |(above, _)| above);
            }
            by_table.entry(root).or_default().push(object);
        }
        for (root, objects) in by_table {
            let [first, _, ..] = objects.as_slice() else { continue };
            // In an object store, each look takes a request: only names that table formats give are worth one.
            if !first.store.has_local_files() && !objects.iter().any(|object| has_uuid(object.path.as_ref())) {
                continue;
            }
            let is_found = is_table(&first.store, &Path::parse(root).map_err(Error::unexpected)?)?;
            let above = || Self { root: root.to_owned(), below: HashSet::new() }.above(&first.store);
            if let Some(table) = if is_found { Some(root.to_owned()) } else { above()? } {
                return refuse(&first.store, &table);
            }
        }
        Ok(())
    }

    /// The folder of the table that a file of the listing belongs to.
    fn table_of<'a>(&self, info: &'a ObjectInfo) -> Option<&'a str> {
        let path = info.path.as_ref();
        let folders = path.rmatch_indices('/').map(|(end, _)| &path[..end]).chain([""]);
        let first = |folder: &str| path[folder.len()..].trim_start_matches('/').split('/').next();
        let is_own = |folder: &str| !first(folder).is_some_and(is_hidden_name);
        folders.into_iter().find(|folder| self.below.contains(*folder)).filter(|folder| is_own(folder))
    }

    /// A table above the folder. In an object store, only folders of partitions (`day=1`) are left on the way to it:
    /// each look takes a request.
    fn above(&self, store: &JobStore) -> Result<Option<String>> {
        let mut folder = self.root.trim_end_matches('/');
        loop {
            let (parent, name) = folder.rsplit_once('/').unwrap_or(("", folder));
            let is_partition = name.contains('=');
            if name.is_empty()
                || (name.starts_with(['_', '.']) && !is_partition)
                || (!store.has_local_files() && !is_partition)
            {
                return Ok(None);
            }
            let path = Path::parse(parent).map_err(Error::unexpected)?;
            let has_next = parent.rsplit('/').next().is_some_and(|name| name.contains('='));
            let is_found = match store.has_local_files() {
                true => is_local_table(store, &path),
                false => !has_next && is_table(store, &path)?,
            };
            if is_found {
                return Ok(Some(parent.to_owned()));
            }
            folder = parent;
        }
    }
}

/// Returns true if a path has a UUID in it, as the names of a table's data files have.
fn has_uuid(path: &str) -> bool {
    const DASHES: [usize; 4] = [8, 13, 18, 23];
    let is_uuid = |part: &[u8]| {
        part.iter()
            .enumerate()
            .all(|(at, byte)| if DASHES.contains(&at) { *byte == b'-' } else { byte.is_ascii_hexdigit() })
    };
    path.as_bytes().windows(36).any(is_uuid)
}

/// An error for a target below the folder of a Delta table: all files there are the table's, and vacuum removes those that it does not
/// know. An object store is not asked.
pub(crate) fn check_target(store: &JobStore, path: &Path) -> Result<()> {
    if !store.has_local_files() {
        return Ok(());
    }
    let way = TablesOnTheWay { root: path.as_ref().to_owned(), below: HashSet::new() };
    let Some(table) = way.above(store)? else { return Ok(()) };
    let table = store.url(&Path::parse(table).map_err(Error::unexpected)?);
    let message =
        format!("it is in the folder of the Delta table {table}, whose vacuum removes files that the table lacks");
    Err(Error::new(ErrorKind::Conflict, message)
        .at(store.url(path))
        .advice("choose a place outside of the table, or below a folder whose name begins with an underscore"))
}

/// The error for files of a table.
fn refuse(store: &JobStore, table: &str) -> Result<()> {
    let place = store.url(&Path::parse(table).map_err(Error::unexpected)?);
    let message = format!("its files belong to the Delta table {place}, whose last version may not have all of them");
    let advice = format!("read the table; {INPUT_FORMAT} reads the files themselves, with rows that were removed");
    Err(Error::usage(message).advice(advice))
}
