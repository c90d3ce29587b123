//! Tables of other formats, whose files a folder or a pattern would read without their metadata.
//!
//! The files of a table are not its rows: some were removed by a later version, or have rows that are deleted.

use lakerace_io::object_store::path::Path;
use lakerace_io::option::INPUT_FORMAT;
use lakerace_io::{Error, JobStore, ObjectInfo, Result};

use crate::options::ReadOptions;

/// A format of tables that lakerace does not read.
struct TableKind {
    name: &'static str,
    /// The folder of metadata in a table's folder.
    folder: &'static str,
    /// Returns true for the name of a file that only such a table has in this folder.
    is_mark: fn(&str) -> bool,
    /// Programs that read it.
    readers: &'static str,
}

static KINDS: [TableKind; 2] = [
    TableKind {
        name: "Iceberg",
        folder: "metadata",
        is_mark: |name| name.contains(".metadata.json"),
        readers: "duckdb (iceberg_scan), pyiceberg or Spark",
    },
    TableKind {
        name: "Hudi",
        folder: ".hoodie",
        is_mark: |name| name == "hoodie.properties",
        readers: "Spark or Trino",
    },
];

/// The tables of other formats in a listing: their folders and kinds.
pub(super) struct ForeignTables(Vec<(String, &'static TableKind)>);

impl ForeignTables {
    /// The tables in a listing of a folder.
    pub fn new(listed: &[ObjectInfo]) -> Self {
        Self(listed.iter().filter_map(|info| table_of_mark(info.path.as_ref())).collect())
    }

    /// An error where a file is one of a table's, unless the format of the files is said.
    pub fn check(&self, store: &JobStore, found: &[ObjectInfo], options: &ReadOptions) -> Result<()> {
        if options.format.is_some() {
            return Ok(());
        }
        let is_in = |folder: &str| found.iter().any(|info| is_below(info.path.as_ref(), folder));
        let Some((folder, kind)) = self.0.iter().find(|(folder, _)| is_in(folder)) else { return Ok(()) };
        let url = store.url(&Path::parse(folder).map_err(Error::unexpected)?);
        let TableKind { name, readers, .. } = kind;
        Err(Error::unsupported(format!("its files belong to the {name} table {url}, and some of their rows may be removed"))
            .advice(format!(
                "read the table with {readers}, and copy the rows; {INPUT_FORMAT} reads the files themselves, with rows that were \
                 removed"
            )))
    }
}

/// The folder and the kind of the table that a file marks.
fn table_of_mark(path: &str) -> Option<(String, &'static TableKind)> {
    let (parent, name) = path.rsplit_once('/')?;
    let (table, folder) = parent.rsplit_once('/').unwrap_or(("", parent));
    let kind = KINDS.iter().find(|kind| kind.folder == folder && (kind.is_mark)(name))?;
    Some((table.to_owned(), kind))
}

fn is_below(path: &str, folder: &str) -> bool {
    folder.is_empty() || path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
}
