//! Writing: create, append, overwrite.
//!
//! Rows go to Parquet files, which are no part of the table until the write ends: then one entry of the log adds them,
//! by a PUT that fails where the entry exists. A write that fails or is dropped removes its files. Where the table has
//! a key, rows are sorted by it first, as many at a time as memory holds.

mod by_key;
pub(crate) mod evolve;
mod existing_table;
mod file_path;
mod file_publisher;
pub(crate) mod files;
pub(crate) mod fit;
mod foreign_files;
mod memory;
pub(crate) mod new_table;
mod not_null;
mod pending;
pub(crate) mod planned_schema;
pub(crate) mod published;
mod replace;
mod replace_where;
mod sorted_files;
mod split;
mod statistics;
mod strict;
mod truncate;
pub(crate) mod types;
pub(crate) mod wider_type;
mod write_action;

use std::collections::{BTreeMap, BTreeSet};

use arrow::datatypes::SchemaRef;
use arrow::record_batch::RecordBatch;
use delta_kernel::transaction::{Transaction, UpdateTable, UpdateTableOperation};
use lakerace_format::{Sink, WriteOptions, Written, warn_of_fixed_sizes};
use lakerace_io::option::{ALTER, AT, HISTORY, MODE, RESUME, UNSET, UPSERT};
use lakerace_io::{Error, ErrorKind, Result, WriteMode};

pub use self::evolve::{Evolve, may_widen};
pub(crate) use self::evolve::{EvolvedSchema, evolve};
pub use self::existing_table::check_existing;
pub(crate) use self::files::DataFiles;
pub(crate) use self::memory::{streamed_within_memory, within_memory};
pub use self::pending::{
    AppTransaction, FilesCommit, PendingFile, TableFileWriter, commit_files, discard_files, has_transaction,
};
pub(crate) use self::pending::{counts, hand_over, published};
pub use self::planned_schema::{PlannedSchema, SchemaReplacement};
pub(crate) use self::published::{AddedFile, PublishedFiles};
pub use self::replace::Replaced;
pub use self::replace_where::{ReplaceCondition, check_replaced};
pub(crate) use self::sorted_files::SortedFiles;
pub(crate) use self::split::{other_rows, write_split};
pub(crate) use self::statistics::log_text;
pub use self::truncate::truncate;
use crate::commit::{CommitAction, LoadRows, PendingCommit, WriteBase, tracks_rows};
use crate::properties::{SINCE, check_properties};
use crate::protocol::{VECTORS_ON_DEMAND, check_defaults};
use crate::snapshot::{KEY_PROPERTY, Snapshot, key_names};
use crate::table::Table;

use self::foreign_files::check_folder;
use self::memory::limited;
use self::new_table::check_new_table;
pub(crate) use self::types::table_types;
use self::write_action::WriteAction;
use crate::protocol::DELETION_VECTORS;

pub(crate) use self::fit::{BatchFit, TargetColumn};

/// The options of a write to a table.
#[derive(Debug, Clone)]
pub struct TableWrite {
    /// A table that exists.
    pub mode: WriteMode,
    /// Columns to divide the files of a new table by. Of a table that exists they are known; others are an error.
    pub partition_by: Vec<String>,
    /// Properties of a new table.
    pub properties: BTreeMap<String, String>,
    /// The changes of an existing table's schema that are allowed.
    pub evolve: Evolve,
    /// Columns that are NOT NULL in the batches are so in a new table, too, where Delta supports it. Otherwise all of
    /// its columns are nullable, which more readers and writers support. In a table that exists they have to be NOT
    /// NULL already.
    pub keep_not_null: bool,
    /// The options of its Parquet files.
    pub options: WriteOptions,
    /// The name under which the log counts the rows of this load; `None`: it does not.
    pub load_name: Option<String>,
    /// Go on after the rows that the log counts of this load.
    pub resumes: bool,
    /// An overwrite replaces the rows for which this is true, in one commit; `None`: all.
    pub replace_where: Option<ReplaceCondition>,
}

/// Writes rows into a table, a commit for each checkpoint.
pub struct DeltaSink {
    table: Table,
    schema: SchemaRef,
    write: TableWrite,
    /// `None` after a commit.
    part: Option<CommitPart>,
    /// Rows of the load that earlier runs have committed.
    acknowledged: u64,
    /// The table's count of the load; `None`: no entry names it.
    counted: Option<u64>,
    /// Rows since the last commit.
    uncommitted: u64,
    /// Rows, bytes and files of this run's commits.
    written: Written,
}

/// The content of a commit.
struct CommitPart {
    files: SortedFiles,
    commit: PendingCommit<WriteAction>,
    /// Columns of a new table that are nullable though the batches' are not.
    made_nullable: Vec<String>,
    /// The table exists and keeps its rows and its schema: without rows, nothing changes.
    only_adds: bool,
    /// The key of a table that exists.
    key: Vec<String>,
}

impl DeltaSink {
    /// Starts a write of batches of this schema. A table that does not exist is created.
    pub fn create(table: &Table, schema: &SchemaRef, write: &TableWrite) -> Result<Box<dyn Sink>> {
        Self::create_looking(table, schema, write, |_| {})
    }

    /// Starts a write like [`Self::create`], and calls `look` with the version of a table that exists.
    pub fn create_looking(
        table: &Table,
        schema: &SchemaRef,
        write: &TableWrite,
        look: impl FnOnce(&Snapshot),
    ) -> Result<Box<dyn Sink>> {
        if matches!(write.mode, WriteMode::Upsert | WriteMode::Delete) {
            return Err(Error::internal("the sink of a Delta table can't find rows by a key"));
        }
        let appends = write.mode == WriteMode::Append;
        let mut write = write.clone();
        let known = known_load(table, &write).map_err(|error| error.at(table.location()))?;
        let (counted, goes_on) = known;
        if goes_on {
            // Earlier runs have made the table, or replaced its rows.
            write.mode = WriteMode::Append;
            write.partition_by = Vec::new();
            write.properties = BTreeMap::new();
        }
        let base = base(table, schema, &write).map_err(|error| error.at(table.location()))?;
        if let WriteBase::Existing(snapshot) = &base {
            look(snapshot);
        }
        let part = CommitPart::after(base, table, schema, &write)?;
        if appends && !part.key.is_empty() {
            table.job().warn(&unchecked_key(table, &part.key));
        }
        let acknowledged = if goes_on { counted.unwrap_or(0) } else { 0 };
        Ok(Box::new(Self {
            table: table.clone(),
            schema: SchemaRef::clone(schema),
            write,
            part: Some(part),
            acknowledged,
            counted,
            uncommitted: 0,
            written: Written::default(),
        }))
    }

    /// The rows of the load with those that are written and not committed.
    fn load_rows(&self) -> Option<LoadRows> {
        let after = self.acknowledged + self.written.rows + self.uncommitted;
        let name = self.write.load_name.clone()?;
        Some(LoadRows { name, before: self.counted, after })
    }

    fn note(&mut self, written: Written, load: Option<&LoadRows>) {
        self.counted = load.map(|load| load.after);
        self.uncommitted = 0;
        self.written.rows += written.rows;
        self.written.bytes += written.bytes;
        self.written.files.extend(written.files);
        self.written.version = written.version;
        self.written.made_nullable.extend(written.made_nullable);
    }
}

/// The table's count of the load, and whether the load continues after that.
fn known_load(table: &Table, write: &TableWrite) -> Result<(Option<u64>, bool)> {
    let Some(name) = &write.load_name else { return Ok((None, false)) };
    let snapshot = match table.snapshot(None) {
        Ok(snapshot) => snapshot,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok((None, false)),
        Err(error) => return Err(error),
    };
    let counted = LoadRows::counted(&snapshot, name)?;
    if write.resumes && counted.is_none() && write.mode != WriteMode::Overwrite {
        return Err(unknown_load(write.mode));
    }
    Ok((counted, write.resumes && counted.is_some()))
}

/// The error where a load should continue in a table that it has not started, with alternatives.
fn unknown_load(mode: WriteMode) -> Error {
    let instead = match mode {
        WriteMode::Append => {
            format!(
                "{HISTORY} shows the commits of an append; if it shows none of these rows, nothing was loaded: omit \
                 {RESUME}"
            )
        }
        _ => {
            format!(
                "replace its rows with {}, or add to them with {} without {RESUME}",
                MODE.to("overwrite"),
                MODE.to("append")
            )
        }
    };
    Error::conflict("the table already exists, but has no record of an unfinished load of these rows").advice(format!(
        "{instead}; continue a load of an earlier version of the source with that version ({})",
        AT.to("VERSION")
    ))
}

/// The warning of an append to a table with a key.
fn unchecked_key(table: &Table, key: &[String]) -> String {
    let (place, key) = (table.location(), key.join(", "));
    let upsert = UPSERT.on(place);
    format!(
        "{place}: an append does not check the key of the table ({key}): a row whose key exists already is a duplicate; \
         {upsert} replaces rows by key"
    )
}

impl CommitPart {
    fn begin(table: &Table, schema: &SchemaRef, write: &TableWrite) -> Result<Self> {
        let base = base(table, schema, write).map_err(|error| error.at(table.location()))?;
        Self::after(base, table, schema, write)
    }

    fn after(base: WriteBase, table: &Table, schema: &SchemaRef, write: &TableWrite) -> Result<Self> {
        let named = |error: Error| error.at(table.location());
        let key = match &base {
            WriteBase::Existing(snapshot) => {
                check_defaults(snapshot, schema).map_err(named)?;
                snapshot.key()
            }
            WriteBase::New { properties, .. } => {
                properties.get(KEY_PROPERTY).map(|key| key_names(key)).unwrap_or_default()
            }
        };
        let evolved = match &base {
            WriteBase::Existing(snapshot) => evolve(snapshot, schema, write.evolve, &snapshot.key()).map_err(named)?,
            WriteBase::New { .. } => None,
        };
        let made_nullable = match &base {
            WriteBase::Existing(_) => Vec::new(),
            WriteBase::New { schema: new, .. } => not_null::made_nullable(schema, new),
        };
        let is_there = matches!(base, WriteBase::Existing(_));
        let only_adds = is_there && evolved.is_none() && write.mode == WriteMode::Append;
        let action = WriteAction::new(&base, write.mode, write.replace_where.as_ref()).map_err(named)?;
        let commit = PendingCommit::new(table.clone(), base, action).map_err(named)?.evolving(evolved);
        let state = commit.write_state().map_err(named)?;
        let targets = commit.targets(&state).map_err(named)?;
        let new_files = |is_sorted: bool| -> Result<DataFiles> {
            let options = limited(&write.options, schema.fields().len(), is_sorted)?;
            let files = DataFiles::new(table, schema, &targets, state, &options)?;
            Ok(files.checked_by(commit.row_checks(schema, &targets)?))
        };
        let (threads, memory_bytes) = (table.job().options().threads, write.options.memory_bytes);
        let files = SortedFiles::new(schema, &key, threads, memory_bytes, new_files).map_err(named)?;
        let key = if is_there { key } else { Vec::new() };
        Ok(Self { files, commit, made_nullable, only_adds, key })
    }

    fn end(self, load: Option<LoadRows>) -> Result<Written> {
        let Self { files, mut commit, made_nullable, .. } = self;
        let mut published = files.publish()?;
        commit.action().check_files(published.files())?;
        commit.counts(load);
        match commit.run(published.files()) {
            Ok(version) => Ok(Written { version, made_nullable, ..published.written() }),
            Err((error, outcome)) => {
                published.abort(outcome);
                Err(error)
            }
        }
    }
}

/// The base of the write.
fn base(table: &Table, schema: &SchemaRef, write: &TableWrite) -> Result<WriteBase> {
    let snapshot = match table.snapshot(None) {
        Ok(snapshot) => snapshot,
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let mut properties = write.properties.clone();
            warn_of_fixed_sizes(schema, "Delta tables", table.job());
            let nullable = table_types(schema, None)?;
            let schema = if write.keep_not_null { not_null::kept(schema, &nullable) } else { nullable };
            check_properties(&properties, &schema)?;
            check_new_table(&schema, &write.partition_by, &properties)?;
            check_folder(table)?;
            if !properties.contains_key(DELETION_VECTORS) {
                let (mark, on_demand) = VECTORS_ON_DEMAND;
                properties.entry(mark.to_owned()).or_insert_with(|| on_demand.to_owned());
            }
            return Ok(WriteBase::New { schema, partition_by: write.partition_by.clone(), properties });
        }
        Err(error) => return Err(error),
    };
    if write.mode == WriteMode::Error {
        return Err(Error::conflict("the table already exists").advice(format!(
            "choose another folder, or append to it or overwrite it ({} or {})",
            MODE.to("append"),
            MODE.to("overwrite")
        )));
    }
    check_existing(&snapshot, &write.partition_by, &write.properties)?;
    if write.keep_not_null {
        let known = snapshot.columns().logical();
        let wanted = not_null::kept(schema, &table_types(schema, Some(known.fields()))?);
        not_null::check_existing(&wanted, known, write.evolve.add)?;
    }
    Ok(WriteBase::Existing(Box::new(snapshot)))
}

/// An error where rows would have to keep their ids from file to file.
pub(crate) fn check_row_tracking(snapshot: &Snapshot) -> Result<()> {
    if tracks_rows(snapshot) {
        return Err(Error::unsupported("moving rows of a table whose rows have ids (delta.enableRowTracking)").advice(
            format!(
                "append, upsert, delete and overwrite are supported ({} or {}); compact the table with another engine",
                MODE.to("append"),
                MODE.to("overwrite")
            ),
        ));
    }
    Ok(())
}

impl Sink for DeltaSink {
    fn write(&mut self, batch: RecordBatch) -> Result<()> {
        let part = match &mut self.part {
            Some(part) => part,
            // After a commit: the rows are added to the version that it made.
            none => none.insert(CommitPart::begin(&self.table, &self.schema, &self.write)?),
        };
        self.uncommitted += batch.num_rows() as u64;
        part.files.write(&batch)
    }

    fn checkpoint(&mut self) -> Result<()> {
        let load = self.load_rows();
        let Some(part) = self.part.take() else { return Err(Error::internal("a write without files")) };
        let written = part.end(load.clone())?;
        self.note(written, load.as_ref());
        self.write.mode = WriteMode::Append;
        self.write.replace_where = None;
        self.write.partition_by = Vec::new();
        self.write.properties = BTreeMap::new();
        Ok(())
    }

    fn acknowledged_rows(&self) -> u64 {
        self.acknowledged
    }

    fn finish(mut self: Box<Self>) -> Result<Written> {
        let has_rows = self.uncommitted > 0 || (self.acknowledged == 0 && self.written.rows == 0);
        let changes_nothing = self.uncommitted == 0
            && self.write.load_name.is_none()
            && self.part.as_ref().is_some_and(|part| part.only_adds);
        if !has_rows || changes_nothing {
            return Ok(self.written);
        }
        let load = self.load_rows();
        let Some(part) = self.part.take() else { return Err(Error::internal("a write without files")) };
        let written = part.end(load.clone())?;
        self.note(written, load.as_ref());
        Ok(self.written)
    }
}

impl CommitAction for WriteMode {
    fn operation(&self) -> (UpdateTableOperation, Vec<(&'static str, String)>) {
        let mode = if *self == Self::Overwrite { "Overwrite" } else { "Append" };
        (UpdateTableOperation::Write, vec![("mode", mode.to_owned())])
    }

    fn check(&self, snapshot: &Snapshot) -> Result<()> {
        let appends_only = snapshot.kernel().table_properties().append_only == Some(true);
        if *self == Self::Overwrite && appends_only {
            return Err(Error::invalid(
                "the table accepts new rows only (delta.appendOnly), but an overwrite removes some",
            )
            .advice(format!(
                "append with {}, or unset it: {}",
                MODE.to("append"),
                ALTER.with([UNSET.to("delta.appendOnly")])
            )));
        }
        Ok(())
    }

    fn outdated(&self, snapshot: &Snapshot) -> BTreeSet<String> {
        // Incremental unloads would go on after rows that are gone.
        let is_gone = |name: &String| *self == Self::Overwrite && name.starts_with(SINCE);
        snapshot.properties().into_keys().filter(is_gone).collect()
    }

    fn stage(&mut self, snapshot: &Snapshot, update: &mut Transaction<UpdateTable>) -> Result<bool> {
        if *self == Self::Overwrite {
            snapshot.table().kernel(|engine| {
                let scan = snapshot.kernel().clone().scan_builder().without_row_transforms().build()?;
                scan.scan_metadata(engine)?
                    .try_for_each(|batch| batch.map(|batch| update.remove_files(batch.scan_files)))
            })?;
        }
        Ok(true)
    }
}
