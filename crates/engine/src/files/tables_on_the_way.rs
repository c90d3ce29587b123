//! Delta tables whose files a folder, a pattern or a list would read without their log.
//!
//! The files of a table are not its rows: some were removed by a later version, or have rows that are deleted.

use std::collections::{BTreeMap, HashSet};

use lakerace_delta::{is_table, table_above, tables_in};
use lakerace_io::object_store::path::Path;
use lakerace_io::option::INPUT_FORMAT;
use lakerace_io::{Error, JobStore, Object, ObjectInfo, Result, is_hidden_name};

use super::FileSource;
use crate::options::ReadOptions;

/// The start of the names of data files that Spark, delta-rs and this library write. In an object store, only a list with such names is
/// worth the request that a look takes.
const DATA_FILE: &str = "part-";

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
        Self { root: root.to_owned(), below: tables_in(listed).into_iter().map(str::to_owned).collect() }
    }

    /// An error where a file is one of a table's, unless the format of the files is said.
    pub fn check(&self, store: &JobStore, found: &[ObjectInfo], options: &ReadOptions) -> Result<()> {
        if found.is_empty() || options.format.is_some() {
            return Ok(());
        }
        let in_listing = (!self.below.is_empty()).then(|| found.iter().find_map(|info| self.table_of(info))).flatten();
        let root = self.root.trim_end_matches('/');
        let table = match in_listing {
            Some(table) => Some(Path::parse(table).map_err(Error::unexpected)?),
            None => table_above(store, &Path::parse(root).map_err(Error::unexpected)?)?,
        };
        table.map_or(Ok(()), |table| refuse(store, &table))
    }

    /// The folder of the table that a file of the listing belongs to.
    fn table_of<'a>(&self, info: &'a ObjectInfo) -> Option<&'a str> {
        let path = info.path.as_ref();
        let folders = path.rmatch_indices('/').map(|(end, _)| &path[..end]).chain([""]);
        let first = |folder: &str| path[folder.len()..].trim_start_matches('/').split('/').next();
        let is_own = |folder: &str| !first(folder).is_some_and(is_hidden_name);
        folders.into_iter().find(|folder| self.below.contains(*folder)).filter(|folder| is_own(folder))
    }
}

/// An error where several files of a list are those of one table, unless the format of the files is said. A single file of a table may
/// be read by itself.
pub(super) fn check_list(files: &FileSource, options: &ReadOptions) -> Result<()> {
    if options.format.is_some() {
        return Ok(());
    }
    // The files of a table are in one folder, or in folders of partitions below it.
    let mut by_folder: BTreeMap<&str, Vec<&Object>> = BTreeMap::new();
    for object in &files.objects {
        let mut folder = object.path.as_ref().rsplit_once('/').map_or("", |(folder, _)| folder);
        while let Some((above, name)) = folder.rsplit_once('/')
            && name.contains('=')
        {
            folder = above;
        }
        by_folder.entry(folder).or_default().push(object);
    }
    for (folder, objects) in by_folder {
        let [first, _, ..] = objects.as_slice() else { continue };
        let store = &first.store;
        let table = if store.has_local_files() {
            table_above(store, &first.path)?
        } else if objects.iter().any(|object| object.path.filename().is_some_and(|name| name.starts_with(DATA_FILE))) {
            let folder = Path::parse(folder).map_err(Error::unexpected)?;
            is_table(store, &folder)?.then_some(folder)
        } else {
            None
        };
        table.map_or(Ok(()), |table| refuse(store, &table))?;
    }
    Ok(())
}

/// The error for files of a table.
fn refuse(store: &JobStore, table: &Path) -> Result<()> {
    let message = format!(
        "its files belong to the Delta table {}, whose last version may not have all of them",
        store.url(table)
    );
    let advice = format!("read the table; {INPUT_FORMAT} reads the files themselves, with rows that were removed");
    Err(Error::usage(message).advice(advice))
}
