//! Writing from several processes: a driver prepares a target, executors write files and look up rows, and the driver
//! makes one commit of all of them.

use std::collections::{BTreeMap, HashMap};

use arrow::datatypes::{Schema, SchemaRef};
use lakerace_delta::{
    AppTransaction, ChangeOutcome, DeltaSink, Evolve, FilesCommit, LOG, PartKeys, PendingFile, PlannedSchema, Replaced,
    RowStatement, SchemaReplacement, Snapshot, SourceRows, TableFileWriter, TableWrite, UpsertOptions as RowOptions,
    UpsertPart, WriteMode, is_table, tables_in,
};
use lakerace_format::{Expr, WriteOptions, Written};
use lakerace_io::object_store::path::Path as ObjectPath;
use lakerace_io::{Error, ErrorKind, IfExists, Job, Output, Result, StorageOptions};

use crate::delta::{named, open_table, table_at};
use crate::resolve::parse_path;
use crate::table_scan::OpenVersion;

/// The infix of names of folders that hold files for a while.
const STAGED: &str = ".lakerace-";

/// The number of files of a table below which each part of an upsert may read all of them.
const LEAST_FILES: usize = 32;
/// Ranges of keys pay off if a key may be in at most one of this many files.
const RANGES_PART: f64 = 8.0;

/// The properties of a table that a write makes, in addition to its columns.
#[derive(Debug, Clone, Default)]
pub struct NewTable {
    /// The columns that its files are divided by.
    pub partition_by: Vec<String>,
    /// Its properties.
    pub properties: BTreeMap<String, String>,
    /// True if columns that are NOT NULL in the schema are so in the table.
    pub keep_not_null: bool,
}

/// A Delta table that several processes write to.
pub struct SharedTable {
    snapshot: Snapshot,
    /// The version that files are written for.
    pub version: u64,
    /// Its columns.
    pub schema: SchemaRef,
    /// The columns of its property `lakerace.primaryKey`.
    pub key: Vec<String>,
    /// The columns that its files are divided by.
    pub partition_by: Vec<String>,
}

impl SharedTable {
    /// The last version of the table of a name; `None` where there is no Delta table.
    pub fn find(name: &str, storage: &StorageOptions, job: &Job) -> Result<Option<Self>> {
        let location = parse_path(named(name).unwrap_or(name))?;
        let (store, path) = location.open(storage, job)?;
        if !is_table(&store, &path)? {
            return Ok(None);
        }
        match table_at(&location, storage, job)?.snapshot(None) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            other => Ok(Some(Self::new(other?))),
        }
    }

    /// The last version of a table of which a version is open: only the log after that one is read. `None` where there
    /// is no Delta table any more.
    pub fn find_after(name: &str, known: &OpenVersion, storage: &StorageOptions, job: &Job) -> Result<Option<Self>> {
        match open_table(name, storage, job)?.snapshot_after(known.snapshot(), None) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            other => Ok(Some(Self::new(other?))),
        }
    }

    /// The table at a version that is open.
    pub fn at(version: &OpenVersion) -> Self {
        Self::new(version.snapshot().clone())
    }

    fn new(snapshot: Snapshot) -> Self {
        Self {
            version: snapshot.version(),
            schema: SchemaRef::clone(snapshot.schema()),
            key: snapshot.key(),
            partition_by: snapshot.partition_columns(),
            snapshot,
        }
    }

    /// The version that files are written for.
    pub fn open_version(&self) -> OpenVersion {
        OpenVersion::new(self.snapshot.clone())
    }

    /// The schema from the table's log, as JSON: with the metadata of columns.
    pub fn schema_text(&self) -> &str {
        self.snapshot.schema_text()
    }

    /// Its properties.
    pub fn properties(&self) -> BTreeMap<String, String> {
        self.snapshot.properties()
    }

    /// Checks that a filter of an overwrite names only partition columns.
    ///
    /// # Errors
    /// Those of [`lakerace_delta::check_replaced`].
    pub fn check_replaced(&self, filter: &Expr) -> Result<()> {
        lakerace_delta::check_replaced(&self.snapshot, filter)
    }

    /// Returns true if an upsert of rows of this schema can be done in parts, by several processes.
    pub fn is_divisible(&self, rows: &SchemaRef, options: &RowOptions) -> Result<bool> {
        lakerace_delta::is_divisible(&self.snapshot, rows, options)
    }

    /// Returns true if a range of keys is in a small part of the table's files, so that parts of an upsert with ranges
    /// read few files each.
    pub fn has_key_ranges(&self, key: &[String]) -> Result<bool> {
        let files = self.snapshot.file_count()?;
        if files < LEAST_FILES {
            return Ok(false);
        }
        let per_key = lakerace_delta::files_per_key(&self.snapshot, key)?;
        Ok(per_key.is_some_and(|per_key| per_key * RANGES_PART <= files as f64))
    }

    /// Finds the table, or creates one without rows where none exists and the name starts with `delta:`.
    pub fn find_or_make(
        name: &str,
        schema: &SchemaRef,
        new: &NewTable,
        storage: &StorageOptions,
        job: &Job,
    ) -> Result<Self> {
        match Self::find(name, storage, job)? {
            Some(found) => Ok(found),
            None => Self::make(name, schema, new, storage, job),
        }
    }

    /// Creates a table without rows where none exists, provided that the name starts with `delta:`. One that another
    /// process has made in the meantime is taken.
    pub fn make(name: &str, schema: &SchemaRef, new: &NewTable, storage: &StorageOptions, job: &Job) -> Result<Self> {
        if named(name).is_none() {
            return Err(Error::not_found("no Delta table exists here")
                .at(name)
                .advice("put delta: in front of its folder to let the write create it"));
        }
        let write = TableWrite {
            mode: WriteMode::Error,
            partition_by: new.partition_by.clone(),
            properties: new.properties.clone(),
            evolve: Evolve::default(),
            keep_not_null: new.keep_not_null,
            options: WriteOptions::default(),
            load_name: None,
            resumes: false,
            replace_where: None,
        };
        let table = open_table(name, storage, job)?;
        match DeltaSink::create(&table, schema, &write).and_then(|sink| sink.finish()) {
            Err(error) if error.kind() != ErrorKind::Conflict => Err(error),
            _ => table.snapshot(None).map(Self::new),
        }
    }
}

/// Removes a table that has no rows and only its first version, together with the files that no one has committed: a
/// write that created the table and then failed leaves these. Returns whether the table was removed: one that another
/// writer has written to stays.
pub fn remove_empty_table(name: &str, storage: &StorageOptions, job: &Job) -> Result<bool> {
    let location = parse_path(named(name).unwrap_or(name))?;
    let (store, path) = location.open(storage, job)?;
    let snapshot = table_at(&location, storage, job)?.snapshot(None)?;
    if snapshot.version() != 0 || snapshot.file_count()? > 0 {
        return Ok(false);
    }
    let log = path.clone().join(LOG);
    let entries = store.list(&log)?;
    let [first] = entries.as_slice() else { return Ok(false) };
    let entry = store.object(first.path.clone()).read_range(0..first.size_bytes)?;
    store.delete(&first.path)?;
    if !store.list(&log)?.is_empty() {
        // Another writer has added a version in the meantime.
        let mut output = Output::create(&store, &first.path, IfExists::Error)?;
        output.write(entry)?;
        output.finish()?;
        return Ok(false);
    }
    // A task may have ended after the failure that its driver has heard of first.
    let left = store.list(&path)?.into_iter().map(|file| file.path);
    store.delete_all(left.filter(|file| file.filename().is_some_and(is_data_file)).collect())?;
    if store.has_local_files() {
        // A folder that is not empty stays.
        let _ = std::fs::remove_dir(format!("/{log}")).and_then(|()| std::fs::remove_dir(format!("/{path}")));
    }
    Ok(true)
}

/// Removes a table with all files of its folder, starting with those of its log. Returns whether a table existed. On
/// this machine the folder is first renamed to a hidden name, so that no reader finds a part of the table.
///
/// # Errors
/// `Unsupported` where the folder contains another table, which would be removed, too; `Conflict` where another writer
/// commits in the meantime.
pub fn drop_table(name: &str, storage: &StorageOptions, job: &Job) -> Result<bool> {
    let location = parse_path(named(name).unwrap_or(name))?;
    let (store, path) = location.open(storage, job)?;
    if !is_table(&store, &path)? {
        return Ok(false);
    }
    let own = path.clone().join(LOG);
    let files = store.list(&path)?;
    let is_log = |path: &ObjectPath| path.parts().any(|part| part.as_ref() == LOG);
    if let Some(other) = tables_in(&files).into_iter().find(|table| *table != path.as_ref()) {
        return Err(Error::unsupported(format!("the folder of the table has another table in it ({other})"))
            .at(name)
            .advice("drop or move that one first"));
    }
    if store.has_local_files() {
        let folder = format!("/{path}");
        let table = path.filename().unwrap_or_default();
        let hidden = format!(".{table}{STAGED}{:016x}.tmp", rand::random::<u64>());
        let dropped = std::path::Path::new(&folder).with_file_name(hidden);
        std::fs::rename(&folder, &dropped).map_err(|e| Error::from(e).at(name))?;
        std::fs::remove_dir_all(&dropped).map_err(|e| {
            Error::from(e)
                .at(dropped.display())
                .advice("the table is dropped: remove this folder, which still contains its files")
        })?;
        return if is_table(&store, &path)? { Err(written_meanwhile(name)) } else { Ok(true) };
    }
    let (log, data): (Vec<_>, Vec<_>) = files.into_iter().map(|file| file.path).partition(|path| is_log(path));
    store.delete_all(log)?;
    if !store.list(&own)?.is_empty() {
        return Err(written_meanwhile(name));
    }
    store.delete_all(data)?;
    Ok(true)
}

fn written_meanwhile(name: &str) -> Error {
    Error::conflict("another writer committed to the table while it was being dropped").at(name).advice("drop it again")
}

/// Returns true if a file is named like a data file of this library: `part-NUMBER-HEX.parquet`.
fn is_data_file(name: &str) -> bool {
    let parts = name.strip_prefix("part-").and_then(|name| name.strip_suffix(".parquet")?.split_once('-'));
    parts.is_some_and(|(number, random)| {
        number.bytes().all(|byte| byte.is_ascii_digit())
            && random.len() == 32
            && random.bytes().all(|byte| byte.is_ascii_hexdigit())
    })
}

/// Starts to write files for a version of a table.
pub fn table_writer(base: &OpenVersion, schema: &SchemaRef, options: &WriteOptions) -> Result<TableFileWriter> {
    TableFileWriter::begin(base.snapshot(), schema, options)
}

/// Does the part of an upsert into a version of a table that has these rows, of which no other part has a key.
pub fn upsert_part(base: &OpenVersion, rows: SourceRows, options: &RowOptions) -> Result<UpsertPart> {
    lakerace_delta::upsert_part(base.snapshot(), rows, options)
}

/// Commits the parts of an upsert, in one commit. Nothing changes where the table has the transaction already.
pub fn commit_upsert(
    base: &OpenVersion,
    parts: Vec<UpsertPart>,
    keys: PartKeys,
    options: &RowOptions,
    transaction: Option<&AppTransaction>,
) -> Result<ChangeOutcome> {
    lakerace_delta::commit_upsert(base.snapshot(), parts, keys, options, transaction)
}

/// Plans the columns of a version with those of rows that it lacks. `None`: it has all of them.
///
/// # Errors
/// Those of [`PlannedSchema::merged`].
pub fn merged_schema(base: &OpenVersion, rows: &Schema) -> Result<Option<PlannedSchema>> {
    let snapshot = base.snapshot();
    PlannedSchema::merged(snapshot, rows).map_err(|error| error.at(snapshot.table().location()))
}

/// Plans columns that replace those of a version. `None`: nothing changes.
///
/// # Errors
/// Those of [`PlannedSchema::replaced`].
pub fn replaced_schema(base: &OpenVersion, columns: &Schema, new: &SchemaReplacement) -> Result<Option<PlannedSchema>> {
    let snapshot = base.snapshot();
    PlannedSchema::replaced(snapshot, columns, new).map_err(|error| error.at(snapshot.table().location()))
}

/// Commits files, in one commit, in place of the rows that are `replaced`. `None` where the table has the transaction
/// already.
pub fn commit_files(
    base: &OpenVersion,
    files: Vec<PendingFile>,
    replaced: Replaced,
    options: &FilesCommit<'_>,
) -> Result<Option<Written>> {
    lakerace_delta::commit_files(base.snapshot(), files, replaced, options)
}

/// Makes files the table's and hides rows of a version, by the names of their files and their numbers, in one commit.
/// `planned` are the columns that the files were written for, where the table does not have these yet.
pub fn commit_rows(
    base: &OpenVersion,
    files: Vec<PendingFile>,
    hidden: HashMap<String, Vec<u64>>,
    statement: &RowStatement,
    planned: Option<&PlannedSchema>,
) -> Result<Option<ChangeOutcome>> {
    lakerace_delta::commit_rows(base.snapshot(), files, hidden, statement, None, planned)
}

/// Removes all rows of a table of which a version is open. Returns the version that it has made; `None` where there
/// were no rows.
pub fn truncate(base: &OpenVersion) -> Result<Option<u64>> {
    lakerace_delta::truncate(base.snapshot())
}

/// Removes files that are not to be the table's.
pub fn discard_files(name: &str, files: Vec<PendingFile>, storage: &StorageOptions, job: &Job) -> Result<()> {
    lakerace_delta::discard_files(&open_table(name, storage, job)?, files)
}

/// A folder next to a target for files that stay until its write ends. No other process writes there, and readers of
/// the target do not see it.
pub fn staging_folder(target: &str, id: &str) -> String {
    let folder = named(target).unwrap_or(target).trim_end_matches('/');
    format!("{folder}{STAGED}{id}.tmp")
}

/// Removes a folder that [`staging_folder`] named, with all files in it.
pub fn remove_staged(folder: &str, storage: &StorageOptions, job: &Job) -> Result<()> {
    if !folder.contains(STAGED) {
        return Err(Error::internal("not a folder of staged files").at(folder));
    }
    let location = parse_path(folder)?;
    let (store, path) = location.open(storage, job)?;
    let files = store.list(&path)?;
    store.delete_all(files.into_iter().map(|file| file.path).collect())?;
    if store.has_local_files() {
        match std::fs::remove_dir_all(format!("/{path}")) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(Error::from(error).at(folder)),
            _ => {}
        }
    }
    Ok(())
}

/// Removes one file of such a folder, and the folder where nothing else is in it.
pub fn remove_staged_file(file: &str, storage: &StorageOptions, job: &Job) -> Result<()> {
    if !file.contains(STAGED) {
        return Err(Error::internal("not a staged file").at(file));
    }
    let (store, path) = parse_path(file)?.open(storage, job)?;
    let folder = std::path::PathBuf::from(format!("/{path}"));
    store.delete_all(vec![path])?;
    if let Some(folder) = folder.parent().filter(|_| store.has_local_files()) {
        // It stays where other tasks have files in it.
        let _ = std::fs::remove_dir(folder);
    }
    Ok(())
}
