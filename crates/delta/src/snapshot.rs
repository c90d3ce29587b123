//! A version of a table.

pub(crate) mod changed_rows;
pub(crate) mod columns;
pub(crate) mod files;
pub(crate) mod partitions;
pub(crate) mod row_counts;
pub(crate) mod statistics;

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, OnceLock};

use arrow::datatypes::SchemaRef;
use delta_kernel::SnapshotRef;
use delta_kernel::table_features::TableFeature;
use lakerace_format::{FilePlan, TableSchema, UnitPlan};
use lakerace_io::{Error, ErrorKind, Result};

use self::columns::TableColumns;
use self::files::{TableFile, TableFiles, list};
use crate::log::distrust::{damaged_advice, may_be_damage};
use crate::log::files::{LogFile, LogFileKind};
use crate::table::Table;
use crate::version_spec::VersionSpec;

/// The property of a table that names its key: columns, separated by commas.
pub const KEY_PROPERTY: &str = "lakerace.primaryKey";

/// A version of a table. Cheap to clone.
#[derive(Clone)]
pub struct Snapshot {
    table: Table,
    kernel: SnapshotRef,
    /// A repaired version, where a checkpoint of `kernel` has turned out to be damaged.
    repaired: Arc<OnceLock<SnapshotRef>>,
    columns: Arc<TableColumns>,
    files: Arc<OnceLock<TableFiles>>,
    /// The files as another object of the table has listed them.
    known_files: Option<Arc<OnceLock<TableFiles>>>,
    /// The tag of its entry, if the log was listed and has it.
    entry_tag: Option<u64>,
    is_last: bool,
}

impl Snapshot {
    pub(crate) fn new(table: Table, kernel: SnapshotRef) -> Result<Self> {
        let mode = kernel.table_configuration().column_mapping_mode();
        let columns = Arc::new(TableColumns::new(&kernel.schema(), mode)?);
        let (entry_tag, is_last) = (table.entry_tag(kernel.version()), kernel.is_built_as_latest());
        let (repaired, files) = (Arc::default(), Arc::default());
        Ok(Self { table, kernel, repaired, columns, files, known_files: None, entry_tag, is_last })
    }

    /// The same version for another object of its table, such as that of another job. Sends no request.
    pub fn in_table(&self, table: &Table) -> Result<Self> {
        let known = if self.files.get().is_some() { Some(&self.files) } else { self.known_files.as_ref() };
        Ok(Self {
            table: table.sharing_log(&self.table)?,
            kernel: Arc::clone(self.kernel()),
            repaired: Arc::default(),
            files: Arc::default(),
            known_files: known.map(Arc::clone),
            ..self.clone()
        })
    }

    /// Checks before a commit that the log still has this version: a table that was dropped and created again is another
    /// one. A LIST.
    pub(crate) fn check_in_log(&self) -> Result<()> {
        if self.entry_tag.is_none() {
            // The log has no entry of it any more, only a checkpoint.
            return self.table.snapshot(Some(VersionSpec::Version(self.version()))).map(drop);
        }
        match self.table.has_newer(self)? {
            Some(_) => Ok(()),
            None => {
                let message =
                    format!("version {} is no longer in the log: the table was replaced or removed", self.version());
                Err(Error::conflict(message).at(self.table.location()).advice("run it again"))
            }
        }
    }

    /// The same version, of which is known that it is the last one.
    pub(crate) fn into_last(self) -> Self {
        Self { is_last: true, ..self }
    }

    /// The tag of its entry; `None` if the log does not have the entry any more.
    pub(crate) fn entry_tag(&self) -> Option<u64> {
        self.entry_tag
    }

    /// Its number.
    pub fn version(&self) -> u64 {
        self.kernel.version()
    }

    /// Returns true if it was the last version when it was opened without a number.
    pub(crate) fn is_last(&self) -> bool {
        self.is_last
    }

    /// Its table.
    pub fn table(&self) -> &Table {
        &self.table
    }

    /// The id of its table, which another table at the same place does not have.
    pub fn table_id(&self) -> &str {
        self.kernel.table_configuration().metadata().id()
    }

    /// Checks that the table is the one of an id, which another table at the same place does not have.
    ///
    /// # Errors
    /// `Conflict` if it is another one.
    pub fn check_table_id(&self, id: &str) -> Result<()> {
        if self.table_id() == id {
            return Ok(());
        }
        Err(Error::conflict("another table has taken the place of the one that was opened")
            .at(self.table.location())
            .advice("open the table again, or run the statement again"))
    }

    /// The schema of its batches.
    pub fn schema(&self) -> &SchemaRef {
        self.columns.schema.schema()
    }

    /// The columns that its files are divided by, in the order of their folders.
    pub fn partition_columns(&self) -> Vec<String> {
        self.kernel.table_configuration().logical_partition_columns().to_vec()
    }

    /// The properties of the table, such as `delta.enableDeletionVectors`.
    pub fn properties(&self) -> BTreeMap<String, String> {
        self.kernel.metadata_configuration().iter().map(|(key, value)| (key.clone(), value.clone())).collect()
    }

    /// The columns by which upserts find rows, by the property `lakerace.primaryKey`; none where it is not set.
    pub fn key(&self) -> Vec<String> {
        self.kernel.metadata_configuration().get(KEY_PROPERTY).map(|names| key_names(names)).unwrap_or_default()
    }

    /// Returns true if each changed row must be recorded for its readers.
    pub fn has_change_feed(&self) -> bool {
        self.kernel.table_configuration().is_feature_enabled(&TableFeature::ChangeDataFeed)
    }

    pub(crate) fn columns(&self) -> &TableColumns {
        &self.columns
    }

    pub(crate) fn table_schema(&self) -> &Arc<TableSchema> {
        &self.columns.schema
    }

    /// The schema from the log: JSON in which fields have metadata, such as comments.
    pub fn schema_text(&self) -> &str {
        self.kernel.table_configuration().metadata().schema_string()
    }

    pub(crate) fn kernel(&self) -> &SnapshotRef {
        self.repaired.get().unwrap_or(&self.kernel)
    }

    /// Reads the log with the kernel. If a checkpoint can't be read, reads again without it, provided that the rest
    /// makes the version.
    pub(crate) fn replay<T>(&self, read: impl Fn() -> Result<T>) -> Result<T> {
        let error = match read() {
            // A checkpoint that can be read may still have values that make no version.
            Err(error) if may_be_damage(&error) && (self.table.distrust().take_damage() || self.has_checkpoint()) => {
                error
            }
            done => return done,
        };
        if self.repaired.get().is_some() {
            return Err(error);
        }
        self.table.distrust().note_damage();
        let is_sound = |kernel: &SnapshotRef| list(&Self::new(self.table.clone(), Arc::clone(kernel))?).map(drop);
        let repaired = self.table.build_around(Some(self.version()), error, &is_sound)?;
        let _ = self.repaired.set(repaired);
        read()
    }

    /// Returns true if it was read from a checkpoint and the entries after it.
    fn has_checkpoint(&self) -> bool {
        self.kernel().log_segment().checkpoint_version.is_some()
    }

    /// Its files. The log is read once.
    pub(crate) fn files(&self) -> Result<&TableFiles> {
        if let Some(files) = self.files.get() {
            return Ok(files);
        }
        let version = self.version();
        let listed = match self.known_files.as_ref().and_then(|known| known.get()) {
            Some(known) => known.in_table(&self.table),
            None => self.replay(|| list(self)),
        };
        let listed = listed.map_err(|error| self.with_location(error))?;
        self.table.job().check()?;
        // Another thread may have been faster; both lists are the same.
        let _ = self.files.set(listed);
        self.files.get().ok_or_else(|| Error::internal(format!("the files of version {version} are gone")))
    }

    /// The number of files, where they have been listed.
    pub fn listed_file_count(&self) -> Option<usize> {
        self.files.get().map(|files| files.files.len())
    }

    /// The number of files.
    pub fn file_count(&self) -> Result<usize> {
        Ok(self.files()?.files.len())
    }

    /// The number and the bytes of its files; those that an earlier version has with the same deleted rows are left out.
    pub fn files_since(&self, earlier: Option<&Self>) -> Result<(u64, u64)> {
        let vector =
            |file: &TableFile| file.vector.as_ref().map(|vector| (vector.path_or_inline_dv.clone(), vector.offset));
        let known = earlier.map(|earlier| earlier.files()).transpose()?;
        let known: HashMap<&str, _> =
            known.iter().flat_map(|known| &known.files).map(|file| (file.path.as_str(), vector(file))).collect();
        let files = &self.files()?.files;
        let new = files.iter().filter(|file| known.get(file.path.as_str()) != Some(&vector(file)));
        Ok(new.fold((0, 0), |(count, bytes), file| (count + 1, bytes + file.size_bytes)))
    }

    /// Its rows, where the log knows them.
    pub fn known_rows(&self) -> Result<Option<u64>> {
        Ok(self.files()?.files.iter().map(TableFile::visible_rows).sum())
    }

    /// The files of a plan that only counts rows, with the rows that the log states.
    pub fn counted_files(&self) -> Result<Vec<FilePlan>> {
        let counted = |file: &TableFile| {
            let rows = file.visible_rows();
            let by = if rows.is_some() { "counted by the log" } else { "counted by its footer" };
            let unit = UnitPlan { rows, row_lookup: Some(by.to_owned()), ..UnitPlan::default() };
            FilePlan { url: file.object.url(), size_bytes: file.size_bytes, e_tag: None, units: vec![unit] }
        };
        Ok(self.files()?.files.iter().map(counted).collect())
    }

    /// Its rows. The footers of files are read where the log does not say how many rows they have.
    pub fn row_count(&self) -> Result<u64> {
        let files: Vec<&TableFile> = self.files()?.files.iter().collect();
        let rows: u64 = row_counts::count(self, &files).map_err(|error| self.with_location(error))?.iter().sum();
        let hidden = files.iter().filter_map(|file| file.vector.as_ref());
        Ok(rows.saturating_sub(hidden.map(|vector| vector.cardinality.max(0) as u64).sum()))
    }

    /// The error for a file that the log names and that does not exist: damage, where a change needs it. Others stay.
    pub(crate) fn broken(&self, error: Error) -> Error {
        if !matches!(error.kind(), ErrorKind::NotFound | ErrorKind::Corrupt) {
            return error;
        }
        if let Some(damaged) = doubted_checkpoint(self, &error) {
            return damaged;
        }
        if error.kind() == ErrorKind::Corrupt {
            return error;
        }
        // Its advice is none for a table.
        let place = error.location().map(|place| format!("{place}: ")).unwrap_or_default();
        Error::corrupt(format!("{place}{}, but the table needs it", error.message()))
            .at(format!("{}: version {}", self.table.location(), self.version()))
            .advice("restore the file, or an earlier version of the table with `lakerace restore` or Table.restore")
    }

    /// Names table and version in an error, where it names no file of them.
    fn with_location(&self, error: Error) -> Error {
        match error.location() {
            Some(_) => error,
            None => error.at(format!("{}: version {}", self.table.location(), self.version())),
        }
    }
}

/// The columns that the property `lakerace.primaryKey` names.
pub(crate) fn key_names(property: &str) -> Vec<String> {
    property.split(',').map(|name| name.trim().to_owned()).collect()
}

/// The error of a version whose data files can't be read because its checkpoint names other files than the entries do.
/// `error` is that of a data file. `None`: both name the same files, or the entries that the checkpoint replaces are gone.
fn doubted_checkpoint(snapshot: &Snapshot, error: &Error) -> Option<Error> {
    let table = snapshot.table();
    let checkpoint = snapshot.kernel().log_segment().checkpoint_version?;
    let others = table.distrusting(&[checkpoint]).ok()?;
    let rest = Snapshot::new(others.clone(), others.build_once(Some(snapshot.version())).ok()?).ok()?;
    let (named, known) = (list(snapshot).ok()?.files, list(&rest).ok()?.files);
    let identity = |file: &TableFile| (file.path.clone(), file.size_bytes, file.vector.clone());
    if named.iter().map(identity).eq(known.iter().map(identity)) {
        return None;
    }
    let files = table.list_log().ok()?;
    let is_checkpoint =
        |file: &&LogFile| file.version == checkpoint && matches!(file.kind, LogFileKind::Checkpoint { .. });
    let place = table.store().url(&files.iter().find(is_checkpoint)?.info.path);
    let message = format!(
        "the checkpoint is damaged: it names other files than the entries of the log ({})",
        error.without_advice()
    );
    Some(Error::corrupt(message).at(place).advice(damaged_advice(table.location())))
}
