//! Delta tables whose files a folder or a pattern would read without their log.
//!
//! The files of a table are not its rows: some were removed by a later version, or have rows that are deleted.

use std::collections::HashSet;

use lakerace_io::object_store::path::Path;
use lakerace_io::option::INPUT_FORMAT;
use lakerace_io::{Error, JobStore, ObjectInfo, Result, is_hidden_name};

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
        match table {
            None => Ok(()),
            Some(table) => {
                let place = store.url(&Path::parse(&table).map_err(Error::unexpected)?);
                Err(Error::usage(format!(
                    "its files belong to the Delta table {place}, whose last version may not have all of them"
                ))
                .advice(format!(
                    "read the table; {INPUT_FORMAT} reads the files themselves, with rows that were removed"
                )))
            }
        }
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
                || (name.starts_with('_') && !is_partition)
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
