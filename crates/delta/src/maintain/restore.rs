//! Going back: a new version with the files, the schema and the properties of an earlier one.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, BooleanArray, RecordBatch, StructArray};
use arrow::compute::filter_record_batch;
use arrow::datatypes::{DataType, Field, Schema};
use delta_kernel::transaction::{Transaction, UpdateTable, UpdateTableOperation};
use lakerace_exec::map_slice;
use lakerace_io::object_store::path::Path;
use lakerace_io::option::{AT, COPY};
use lakerace_io::{Error, Object, Result};

use super::history::READERS;
use crate::commit::scan_rows::scan_rows;
use crate::commit::{
    CommitAction, MetadataChanges, OperationFigures, PendingCommit, WriteBase, metadata_action, named, selected,
};
use crate::deletion_vector;
use crate::snapshot::Snapshot;
use crate::snapshot::files::TableFile;
use crate::table::Table;
use crate::version_spec::VersionSpec;
use crate::write::check_row_tracking;

/// The outcome of a restore.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Restored {
    /// The version that was made; `None`: the table is as it was then.
    pub version: Option<u64>,
    /// The version whose rows it has.
    pub restored: u64,
    /// Files that were restored, or whose deletion vector was.
    pub files_added: u64,
    /// Files that went.
    pub files_removed: u64,
}

/// Files beyond which the table is listed, where fewer are asked for one by one.
const ASKED_FOR_AT_MOST: usize = 1000;
/// Says whether entries contain their time: the property determines how readers take an entry's time, so a restore does
/// not change it.
pub(crate) const TIMES_IN_ENTRIES: &str = "delta.enableInCommitTimestamps";
/// The highest id that a column ever had: ids are not given twice.
const MAX_COLUMN_ID: &str = "delta.columnMapping.maxColumnId";

/// Makes a version that has the rows of an earlier one.
pub fn restore(table: &Table, at: VersionSpec) -> Result<Restored> {
    let target = table.snapshot(Some(at))?;
    let current = table.snapshot(None)?;
    let named = |error: Error| error.at(table.location());
    let action = RestoreCommit {
        restored: target.version(),
        target,
        done: Restored::default(),
        table: (0, 0),
        more: Vec::new(),
    };
    let mut commit =
        PendingCommit::new(table.clone(), WriteBase::Existing(Box::new(current)), action).map_err(named)?;
    // A table that can't be written to is reported before any search.
    commit.write_state().map_err(named)?;
    let version = commit.run(&[]).map_err(|(error, _)| error)?;
    let action = commit.action();
    Ok(Restored { version, restored: action.restored, ..action.done.clone() })
}

struct RestoreCommit {
    target: Snapshot,
    restored: u64,
    done: Restored,
    /// Files of the restored version, and their bytes.
    table: (u64, u64),
    more: Vec<RecordBatch>,
}

impl CommitAction for RestoreCommit {
    fn needs_constraints(&self) -> bool {
        false
    }

    fn operation(&self) -> (UpdateTableOperation, Vec<(&'static str, String)>) {
        let parameters = vec![("version", self.restored.to_string())];
        (UpdateTableOperation::Custom("RESTORE".to_owned()), parameters)
    }

    fn check(&self, snapshot: &Snapshot) -> Result<()> {
        if snapshot.kernel().table_properties().append_only == Some(true) {
            return Err(Error::invalid(
                "the table accepts new rows only (delta.appendOnly), but restoring removes some",
            ));
        }
        check_row_tracking(snapshot)?;
        check_protocol(snapshot, &self.target)
    }

    fn figures(&self) -> OperationFigures {
        OperationFigures { restored_table: Some(self.table), ..OperationFigures::default() }
    }

    fn more_actions(&mut self) -> Result<Vec<RecordBatch>> {
        Ok(std::mem::take(&mut self.more))
    }

    fn stage(&mut self, snapshot: &Snapshot, update: &mut Transaction<UpdateTable>) -> Result<bool> {
        let (now, then) = (by_path(snapshot)?, by_path(&self.target)?);
        let differs = |other: &HashMap<&str, &TableFile>, file: &TableFile| {
            other.get(file.path.as_str()).is_none_or(|other| other.vector != file.vector)
        };
        let gone: HashSet<&str> = now.values().filter(|file| differs(&then, file)).map(|f| f.path.as_str()).collect();
        let back: Vec<&TableFile> = then.values().copied().filter(|file| differs(&now, file)).collect();
        check_files(snapshot.table(), &back, &now)?;
        for batch in scan_rows(snapshot)? {
            if let Some(rows) = selected(&batch, &|name: &str| gone.contains(name))? {
                update.remove_files(rows);
            }
        }
        self.more = additions(&self.target, &back.iter().map(|file| file.path.as_str()).collect())?;
        self.more.extend(metadata(snapshot, &self.target)?);
        self.table = (then.len() as u64, then.values().map(|file| file.size_bytes).sum());
        self.done.files_added = back.len() as u64;
        self.done.files_removed = gone.iter().filter(|path| !then.contains_key(*path)).count() as u64;
        Ok(!gone.is_empty() || !self.more.is_empty())
    }
}

fn by_path(snapshot: &Snapshot) -> Result<HashMap<&str, &TableFile>> {
    Ok(snapshot.files()?.files.iter().map(|file| (file.path.as_str(), file)).collect())
}

/// A table's protocol only grows here: the demands of the earlier version must still be met.
fn check_protocol(current: &Snapshot, target: &Snapshot) -> Result<()> {
    let (now, then) = (current.kernel().table_configuration(), target.kernel().table_configuration());
    let features = |snapshot: &Snapshot| -> HashSet<String> {
        let protocol = snapshot.kernel().table_configuration().protocol();
        let lists = [protocol.reader_features(), protocol.writer_features()];
        lists.into_iter().flatten().flatten().map(ToString::to_string).collect()
    };
    let known = features(current);
    if let Some(feature) = features(target).into_iter().find(|feature| !known.contains(feature)) {
        return Err(Error::unsupported(format!(
            "version {} has the feature {feature}, which the table has dropped since then",
            target.version()
        ))
        .advice(format!("copy that version to a new table: {}", COPY.with([AT.to("VERSION")]))));
    }
    let has_times = |configuration: &delta_kernel::table_configuration::TableConfiguration| {
        configuration.metadata().configuration().get(TIMES_IN_ENTRIES).is_some_and(|value| value == "true")
    };
    if has_times(now) != has_times(then) {
        return Err(Error::unsupported(format!(
            "{TIMES_IN_ENTRIES} was changed after version {}, which restoring would undo",
            target.version()
        ))
        .advice(format!("copy that version to a new table: {}", COPY.with([AT.to("VERSION")]))));
    }
    Ok(())
}

/// Returns an error where one of these files, or its deletion vector, no longer exists.
fn check_files(table: &Table, files: &[&TableFile], now: &HashMap<&str, &TableFile>) -> Result<()> {
    let mut objects: HashMap<String, Object> = HashMap::new();
    for file in files {
        // The files of the current version exist.
        if !now.contains_key(file.path.as_str()) {
            objects.insert(file.object.url(), file.object.clone());
        }
        if let Some(vector) = &file.vector
            && let Some(object) = deletion_vector::object(table, vector)?
        {
            objects.insert(object.url(), object);
        }
    }
    let objects: Vec<Object> = objects.into_values().collect();
    let missing = |object: &Object| {
        Error::not_found("the version can't be restored: a file of it is gone").at(object.url()).advice(
            "it was vacuumed; restore a later version, and keep removed files longer in future \
             (delta.deletedFileRetentionDuration)",
        )
    };
    let listed: HashSet<Path> = match objects.len() > ASKED_FOR_AT_MOST {
        true => table.store().list(table.root())?.into_iter().map(|info| info.path).collect(),
        false => HashSet::new(),
    };
    // Files that are not listed are in other folders, or after a link to one.
    let asked_for: Vec<&Object> = objects.iter().filter(|object| !listed.contains(&object.path)).collect();
    let found = map_slice(&asked_for, READERS, |object| object.store.stat(&object.path))?;
    match asked_for.iter().zip(found).find(|(_, found)| found.is_none()) {
        Some((object, _)) => Err(missing(object)),
        None => Ok(()),
    }
}

/// The actions that add files of a version again, with their deletion vectors.
fn additions(target: &Snapshot, paths: &HashSet<&str>) -> Result<Vec<RecordBatch>> {
    let mut actions = Vec::new();
    for batch in scan_rows(target)? {
        let wanted = BooleanArray::from(named(&batch, &|name: &str| paths.contains(name))?);
        if wanted.true_count() > 0 {
            let batch = filter_record_batch(&batch, &wanted).map_err(Error::unexpected)?;
            actions.push(addition(&batch)?);
        }
    }
    Ok(actions)
}

/// Converts rows of a scan of files to actions.
fn addition(batch: &RecordBatch) -> Result<RecordBatch> {
    let constants =
        batch.column_by_name("fileConstantValues").and_then(|column| column.as_any().downcast_ref::<StructArray>());
    let constants = constants.ok_or_else(|| Error::internal("the kernel returned no partition values"))?;
    let mut columns: Vec<(Field, ArrayRef)> = Vec::new();
    let mut push = |name: &str, column: Option<&ArrayRef>| {
        if let Some(column) = column {
            columns.push((Field::new(name, column.data_type().clone(), true), Arc::clone(column)));
        }
    };
    push("path", batch.column_by_name("path"));
    push("partitionValues", constants.column_by_name("partitionValues"));
    push("size", batch.column_by_name("size"));
    push("modificationTime", batch.column_by_name("modificationTime"));
    let yes: ArrayRef = Arc::new(BooleanArray::from(vec![true; batch.num_rows()]));
    push("dataChange", Some(&yes));
    push("stats", batch.column_by_name("stats"));
    push("deletionVector", batch.column_by_name("deletionVector"));
    for name in ["tags", "baseRowId", "defaultRowCommitVersion", "clusteringProvider"] {
        push(name, constants.column_by_name(name));
    }
    let (fields, arrays): (Vec<Field>, Vec<ArrayRef>) = columns.into_iter().unzip();
    action("add", StructArray::try_new(fields.into(), arrays, None).map_err(Error::unexpected)?)
}

fn action(name: &str, rows: StructArray) -> Result<RecordBatch> {
    let field = Field::new(name, DataType::Struct(rows.fields().clone()), true);
    RecordBatch::try_new(Arc::new(Schema::new(vec![field])), vec![Arc::new(rows)]).map_err(Error::unexpected)
}

/// The action that sets the schema and properties of a version; `None` where the table has them.
fn metadata(current: &Snapshot, target: &Snapshot) -> Result<Option<RecordBatch>> {
    let now = current.kernel().table_configuration().metadata();
    let then = target.kernel().table_configuration().metadata();
    if now == then {
        return Ok(None);
    }
    let id = |of: &HashMap<String, String>| of.get(MAX_COLUMN_ID).and_then(|id| id.parse::<i64>().ok());
    let mut changes = MetadataChanges::default();
    if let Some(highest) = id(now.configuration()).max(id(then.configuration())) {
        changes.properties.insert(MAX_COLUMN_ID.to_owned(), highest.to_string());
    }
    metadata_action(current.table(), then, &changes).map(Some)
}
