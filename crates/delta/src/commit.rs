//! An entry of the log that adds files to a table.

pub(crate) mod extra_actions;
mod fence;
mod file_actions;
pub(crate) mod metadata;
mod operation_metrics;
pub(crate) mod outcome;
pub(crate) mod scan_rows;
mod targets;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use arrow::array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use arrow::datatypes::{DataType, Field, Schema};
use delta_kernel::actions::deletion_vector::DeletionVectorDescriptor;
use delta_kernel::engine::arrow_conversion::TryIntoKernel;
use delta_kernel::engine::arrow_data::ArrowEngineData;
use delta_kernel::schema::{SchemaRef as KernelSchema, StructType};
use delta_kernel::table_features::TableFeature;
use delta_kernel::transaction::create_table::create_table;
use delta_kernel::transaction::data_layout::DataLayout;
use delta_kernel::transaction::{
    CommitResult, CreateTable, Transaction, UpdateTable, UpdateTableOperation, WriteState,
};
use delta_kernel::{Engine, EngineData, KernelResult};
use lakerace_io::option::TABLE_PROPERTY;
use lakerace_io::{Error, ErrorKind, Result};
use serde_json::Value;

use self::extra_actions::{ExtraActions, MinProtocolCommitter, MoreActions, WithExtraActions, stated};
pub use self::fence::CommitFence;
pub(crate) use self::fence::LoadRows;
pub(crate) use self::file_actions::{added, change_file};
pub(crate) use self::metadata::{MetadataChanges, metadata_action};
pub(crate) use self::operation_metrics::OperationFigures;
pub(crate) use self::scan_rows::{for_vectors, named, selected};
use self::targets::{existing_targets, new_targets};
use crate::commit::outcome::EntryOutcome;
use crate::constraint::{RowChecks, constraints};
use crate::kernel::error::{from_kernel, guarded};
use crate::log::cleanup;
use crate::log::completeness::{ACTION_COUNT, check_entry};
use crate::log::distrust::damaged_advice;
use crate::paths::LOG;
use crate::paths::ROOT;
use crate::protocol::DELETION_VECTORS;
use crate::protocol::{is_same_but_vectors, upgrade, writable};
use crate::snapshot::Snapshot;
use crate::table::Table;
use crate::table::WrittenVersion;
use crate::version_spec::VersionSpec;
use crate::write::PlannedSchema;
use crate::write::evolve::EvolvedSchema;
pub(crate) use crate::write::fit::TargetColumns;
use crate::write::published::AddedFile;

/// The name of the writer in the history.
pub(crate) const ENGINE: &str = concat!("lakerace/", env!("CARGO_PKG_VERSION"));
/// The parameter of a write that names the table's partition columns.
const PARTITION_BY: &str = "partitionBy";
/// The target of the events of commits.
const COMMITS: &str = "lakerace_delta::commits";
/// Entries of other writers after which a commit is tried again before it gives up.
const ATTEMPTS: u32 = 100;
/// Tries where the store did not answer.
const UNANSWERED_AT_MOST: u32 = 3;
/// Versions from one checkpoint to the next, where the table does not say.
const CHECKPOINT_INTERVAL: u64 = 10;

/// The base of a write.
pub(crate) enum WriteBase {
    /// No table yet.
    New { schema: Schema, partition_by: Vec<String>, properties: BTreeMap<String, String> },
    /// A version.
    Existing(Box<Snapshot>),
}

/// Actions of an entry in addition to files.
pub(crate) trait CommitAction: Send {
    /// The operation that history shows, and its parameters.
    fn operation(&self) -> (UpdateTableOperation, Vec<(&'static str, String)>);

    /// Returns true if it changes the table's rows; false if it only stores the same rows differently.
    fn changes_data(&self) -> bool {
        true
    }

    /// Returns true if it adds or removes rows, so that the table's constraints have to be known; false for changes of
    /// properties and columns, by which a constraint can be removed.
    fn needs_constraints(&self) -> bool {
        true
    }

    /// Returns true if every row that it writes and that the table had before, changed or not, keeps its id (row
    /// tracking), after [`Self::stage`]. This also holds where no such row is written.
    fn keeps_row_ids(&self) -> bool {
        true
    }

    /// Returns true if a file that was written for it must not be added, because of the findings of [`Self::stage`].
    fn leaves_out(&self, file: &AddedFile) -> bool {
        let _ = file;
        false
    }

    /// The files that [`Self::stage`] has added itself.
    fn written(&self) -> &[AddedFile] {
        &[]
    }

    /// The figures of its metrics, after [`Self::stage`], without the rows of files that were written.
    fn figures(&self) -> OperationFigures {
        OperationFigures::default()
    }

    /// Actions in addition to those of the transaction, after [`Self::stage`]: batches with one column, which has the
    /// action's name.
    fn more_actions(&mut self) -> Result<Vec<RecordBatch>> {
        Ok(Vec::new())
    }

    /// The deletion vectors of files that are added, by their names, after [`Self::stage`].
    fn vectors(&mut self) -> HashMap<String, DeletionVectorDescriptor> {
        HashMap::new()
    }

    /// Returns true if the table may get deletion vectors by it.
    fn may_upgrade(&self, snapshot: &Snapshot) -> bool {
        let _ = snapshot;
        false
    }

    /// Returns true if files get deletion vectors by it, after [`Self::stage`].
    fn gives_vectors(&self) -> bool {
        false
    }

    /// Properties of a version that go with it.
    fn outdated(&self, snapshot: &Snapshot) -> BTreeSet<String> {
        let _ = snapshot;
        BTreeSet::new()
    }

    /// An error where the table does not allow it.
    fn check(&self, snapshot: &Snapshot) -> Result<()> {
        let _ = snapshot;
        Ok(())
    }

    /// Adds its changes to the entry after this version; false if there are none. Called again for a later version if
    /// another writer was faster.
    fn stage(&mut self, snapshot: &Snapshot, update: &mut Transaction<UpdateTable>) -> Result<bool>;
}

/// A commit under way.
pub(crate) struct PendingCommit<S> {
    table: Table,
    base: WriteBase,
    action: S,
    /// The creation of a table, whose columns got their stored names when it was started.
    creation: Option<Transaction<CreateTable>>,
    /// By this the commit knows its own entry.
    mark: String,
    more: MoreActions,
    /// The schema that the entry sets.
    evolved: Option<EvolvedSchema>,
    /// The columns that the entry sets, where files were written for these.
    planned: Option<PlannedSchema>,
    /// The operation that the entry names in place of the action's.
    operation: Option<String>,
    /// The load that the entry's rows are of.
    load: Option<LoadRows>,
}

/// The last version, after a conflict with other writers. A version that changed the base of the rows is an error.
pub(crate) fn latest(known: &Snapshot) -> Result<Snapshot> {
    let latest = known.table().latest_after(known)?;
    let (before, after) = (known.kernel().table_configuration(), latest.kernel().table_configuration());
    if !is_same_but_vectors(before, after) {
        let message = "another writer has changed the table's schema, properties or protocol in the meantime";
        return Err(Error::conflict(message).at(known.table().location()).advice("run it again"));
    }
    Ok(latest)
}

enum CommitAttempt {
    /// The version that the entry made, and the entries since the last checkpoint.
    Done(WrittenVersion, u64),
    /// There is nothing to write.
    Nothing,
    /// Another writer's entry has this number.
    Taken(u64),
}

impl<S: CommitAction> PendingCommit<S> {
    pub fn new(table: Table, base: WriteBase, action: S) -> Result<Self> {
        let mark = format!("{:032x}", rand::random::<u128>());
        let mut commit = Self {
            table,
            base,
            action,
            creation: None,
            mark,
            more: MoreActions::default(),
            evolved: None,
            planned: None,
            operation: None,
            load: None,
        };
        if let WriteBase::New { schema, partition_by, properties } = &commit.base {
            commit.creation = Some(commit.create(schema, partition_by, properties)?);
        }
        Ok(commit)
    }

    /// Lets the entry change the schema, too.
    pub fn evolving(self, evolved: Option<EvolvedSchema>) -> Self {
        Self { evolved, ..self }
    }

    /// Lets the entry set the columns that its files were written for.
    pub fn planned(self, planned: Option<&PlannedSchema>) -> Self {
        Self { planned: planned.cloned(), ..self }
    }

    /// Lets the entry name another operation than that of its action.
    pub fn called(self, operation: Option<&str>) -> Self {
        Self { operation: operation.map(str::to_owned), ..self }
    }

    /// Lets the entry count rows of a load.
    pub fn counts(&mut self, load: Option<LoadRows>) {
        self.load = load;
    }

    /// Lets the entry pass a fence.
    pub fn fenced(self, fence: Option<&CommitFence>) -> Self {
        Self { load: fence.map(CommitFence::passed), ..self }
    }

    /// The kernel's state of writes to this table. An unsupported demand of the table is an error here.
    pub fn write_state(&self) -> Result<Arc<WriteState>> {
        match (&self.creation, &self.base) {
            (Some(creation), _) => guarded(|| creation.write_state()),
            (None, WriteBase::Existing(snapshot)) => {
                self.action.check(snapshot)?;
                let (update, _) = self.update(snapshot)?;
                guarded(|| update.write_state())
            }
            (None, WriteBase::New { .. }) => Err(Error::internal("the creation of a table is gone")),
        }
    }

    /// The columns to write.
    pub fn targets(&self, state: &Arc<WriteState>) -> Result<TargetColumns> {
        match &self.base {
            WriteBase::Existing(snapshot) => {
                let columns = self.evolved.as_ref().map_or(snapshot.columns(), |evolved| evolved.columns.as_ref());
                let new = self.evolved.as_ref().map(|evolved| evolved.statistics(state.stats_columns().len()));
                Ok(existing_targets(snapshot, columns, new.unwrap_or_default()))
            }
            WriteBase::New { schema, partition_by, properties } => {
                let has_vectors = properties.get(DELETION_VECTORS).is_some_and(|value| value == "true");
                Ok(TargetColumns { has_vectors, ..new_targets(schema, partition_by, state)? })
            }
        }
    }

    /// The table's constraints for rows of this schema; `None` where it has none.
    pub fn row_checks(&self, source: &Schema, targets: &TargetColumns) -> Result<Option<RowChecks>> {
        match &self.base {
            WriteBase::Existing(snapshot) => RowChecks::new(snapshot, source, targets),
            WriteBase::New { .. } => Ok(None),
        }
    }

    /// The actions in addition to files.
    pub fn action(&mut self) -> &mut S {
        &mut self.action
    }

    /// Writes the entry; returns its version, none where there was nothing to write. An error comes with whether the
    /// entry may exist in spite of it.
    pub fn run(&mut self, files: &[AddedFile]) -> Result<Option<u64>, (Error, EntryOutcome)> {
        self.table.set_last_written(None);
        let mut unanswered = 0;
        for attempt in 1..=ATTEMPTS {
            let outcome = match self.attempt(files) {
                Ok(CommitAttempt::Done(written, commits)) => {
                    let version = written.version();
                    self.table.set_last_written(Some(self.checkpoint(written, commits)));
                    self.log_entry(version, attempt);
                    return Ok(Some(version));
                }
                Ok(CommitAttempt::Nothing) => return Ok(None),
                Ok(CommitAttempt::Taken(version)) => self.is_mine(version).map(|mine| mine.then_some(version)),
                Err(error) => self.after_error(error, &mut unanswered),
            };
            match outcome {
                Ok(Some(version)) => {
                    self.log_entry(version, attempt);
                    return Ok(Some(version));
                }
                Ok(None) => {
                    let (table, version) = (self.table.location(), self.next_version());
                    tracing::info!(target: COMMITS, %table, version, attempt, "commit conflicts or has no answer: tried again");
                }
                Err(error) => {
                    let unknown = match error.kind() {
                        ErrorKind::Unavailable => !self.is_known_to_be_absent(),
                        kind => kind == ErrorKind::Cancelled,
                    };
                    return Err((error, if unknown { EntryOutcome::Unknown } else { EntryOutcome::Absent }));
                }
            }
            std::thread::sleep(Duration::from_millis(u64::from(rand::random::<u8>()) * u64::from(attempt.min(8)) / 8));
            self.rebase().map_err(|error| (error, EntryOutcome::Absent))?;
        }
        let error = Error::conflict(format!("other writers were faster {ATTEMPTS} times")).at(self.table.location());
        Err((error.advice("run it again when they are done"), EntryOutcome::Absent))
    }

    fn log_entry(&self, version: u64, attempt: u32) {
        let (table, (operation, _)) = (self.table.location(), self.action.operation());
        let operation = match (&self.base, &self.operation) {
            // The kernel names the entry of a new table.
            (WriteBase::New { .. }, _) => "CREATE TABLE".to_owned(),
            (_, Some(operation)) => operation.clone(),
            (_, None) => operation.to_string(),
        };
        tracing::info!(target: COMMITS, %table, version, %operation, attempt, "committed");
    }

    fn attempt(&mut self, files: &[AddedFile]) -> Result<CommitAttempt> {
        self.table.job().check()?;
        let table = self.table.clone();
        if let Some(mut creation) = self.creation.take() {
            let batches = files.iter().map(added).collect::<Result<Vec<_>>>()?;
            batches.into_iter().for_each(|batch| creation.add_files(batch));
            let figures = OperationFigures { written_rows: rows_of(files), ..OperationFigures::default() };
            self.more.set(ExtraActions { statistics: stated(files)?, figures, ..ExtraActions::default() });
            if let Some(load) = &self.load {
                creation = creation.with_transaction_id(load.name.clone(), load.version());
            }
            // The log has a lower protocol than that of the kernel.
            return attempted(&table, None, true, |engine| creation.commit(engine));
        }
        let WriteBase::Existing(snapshot) = &self.base else {
            return Err(Error::conflict("another writer has created the table in the meantime").at(table.location()));
        };
        self.action.check(snapshot)?;
        if let Some(load) = &self.load {
            load.check(snapshot)?;
        }
        // Rows are removed from the version, and added to the columns that it gets.
        let viewed = self.planned.as_ref().map(|planned| planned.view(snapshot)).transpose()?;
        let target = viewed.as_ref().unwrap_or(snapshot);
        let (mut update, is_view) = self.update(target)?;
        let does_something = self.action.stage(snapshot, &mut update)?;
        let files: Vec<&AddedFile> = files.iter().filter(|file| !self.action.leaves_out(file)).collect();
        if !does_something && files.is_empty() && self.evolved.is_none() && self.planned.is_none() {
            return Ok(CommitAttempt::Nothing);
        }
        let batches = files.iter().copied().map(added).collect::<Result<Vec<_>>>()?;
        batches.into_iter().for_each(|batch| update.add_files(batch));
        if let Some(load) = &self.load {
            update = update.with_transaction_id(load.name.clone(), load.version());
        }
        let mut more = self.action.more_actions()?;
        let mut changes = self.evolved.as_ref().map(|evolved| evolved.changes.clone());
        if self.action.gives_vectors() && self.action.may_upgrade(snapshot) {
            let (protocol, properties) = upgrade(target)?;
            more.push(protocol);
            changes.get_or_insert_with(MetadataChanges::default).properties.extend(properties);
        } else if let Some(planned) = &self.planned {
            more.extend(planned.protocol_action(snapshot)?);
        }
        let outdated = self.action.outdated(snapshot);
        if !outdated.is_empty() {
            changes.get_or_insert_with(MetadataChanges::default).removed.extend(outdated);
        }
        if let Some(planned) = &self.planned {
            more.push(planned.metadata_action(snapshot, changes.unwrap_or_default())?);
        } else if let Some(changes) = changes {
            let metadata = snapshot.kernel().table_configuration().metadata();
            more.push(metadata_action(&table, metadata, &changes)?);
        }
        let tells_changes = self.action.changes_data() && target.has_change_feed();
        // The kernel says of every entry that they are kept.
        let gives_ids = tracks_rows(target) && !self.action.keeps_row_ids();
        if tracks_rows(target) {
            update.ack_row_tracking_preservation();
        }
        let statistics = stated(files.iter().copied().chain(self.action.written()))?;
        let vectors = self.action.vectors();
        let operation = self.operation.clone();
        let (written_rows, copied_rows) = (rows_of(files.iter().copied()), rows_of(self.action.written()));
        let figures = OperationFigures { written_rows, copied_rows, ..self.action.figures() };
        let batches = more;
        self.more.set(ExtraActions { batches, statistics, vectors, tells_changes, gives_ids, operation, figures });
        attempted(&table, Some(snapshot), is_view || !self.more.is_empty(), |engine| update.commit(engine))
    }

    /// Interprets an error of a commit: the entry exists in spite of it, the commit may be tried again, or neither.
    fn after_error(&self, error: Error, unanswered: &mut u32) -> Result<Option<u64>> {
        *unanswered += 1;
        let next = self.next_version();
        if error.kind() != ErrorKind::Unavailable || *unanswered > UNANSWERED_AT_MOST {
            return Err(error.at(self.table.location()));
        }
        match self.is_mine(next) {
            // A disk loses no answers: the entry exists, but its name may not survive a loss of power.
            Ok(true) if self.is_local() => Err(error.at(self.table.location())),
            Ok(true) => Ok(Some(next)),
            Ok(false) if matches!(self.base, WriteBase::Existing(_)) => Ok(None),
            // The creation of a table can't be tried twice.
            Ok(false) | Err(_) => Err(error.at(self.table.location())),
        }
    }

    /// The version that the entry would make.
    fn next_version(&self) -> u64 {
        match &self.base {
            WriteBase::New { .. } => 0,
            WriteBase::Existing(snapshot) => snapshot.version() + 1,
        }
    }

    /// Returns true if an entry that could not be written does not exist, and will not appear later: unlike a remote
    /// store, a disk of this machine has done all that it will do when it reports an error.
    fn is_known_to_be_absent(&self) -> bool {
        self.is_local() && matches!(self.is_mine(self.next_version()), Ok(false))
    }

    fn is_local(&self) -> bool {
        self.table.store().has_local_files()
    }

    /// Returns true if an entry of the log is this commit's own: the store has written it and then lost its answer.
    fn is_mine(&self, version: u64) -> Result<bool> {
        let object = self.table.object(&format!("{LOG}/{version:020}.json"))?;
        match object.read_tail(u64::from(u32::MAX)) {
            Ok(tail) => match check_entry(&tail.bytes) {
                Ok(()) => Ok(tail.bytes.windows(self.mark.len()).any(|part| part == self.mark.as_bytes())),
                // The entry may be this commit's: it stays unknown whether it is in the log.
                Err(text) => {
                    Err(Error::unavailable(text).at(object.url()).advice(damaged_advice(self.table.location())))
                }
            },
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Moves the commit after the entries of other writers. A version that changed the base of the files is an error.
    fn rebase(&mut self) -> Result<()> {
        let WriteBase::Existing(known) = &self.base else {
            return Err(Error::conflict("another writer has created the table in the meantime")
                .at(self.table.location())
                .advice("run it again"));
        };
        self.base = WriteBase::Existing(Box::new(latest(known)?));
        Ok(())
    }

    fn create(
        &self,
        schema: &Schema,
        partition_by: &[String],
        properties: &BTreeMap<String, String>,
    ) -> Result<Transaction<CreateTable>> {
        let kernel: StructType = schema.try_into_kernel().map_err(|e| Error::from_source(ErrorKind::Unsupported, e))?;
        let mut builder = create_table(ROOT, Arc::new(kernel), ENGINE, true).with_table_properties(properties.clone());
        if !partition_by.is_empty() {
            builder = builder.with_data_layout(DataLayout::partitioned(partition_by));
        }
        let (info, info_schema) = self.info()?;
        let parameters = [(PARTITION_BY, Some(list_text(partition_by)))];
        let builder = builder.with_operation_parameters(parameters).with_commit_info(info, info_schema);
        let created = self.table.kernel(|engine| {
            builder.build(engine, Box::new(MinProtocolCommitter(self.table.clone(), self.more.clone())))
        });
        created.map_err(|error| match error.kind() {
            // There is no log yet that could be damaged: properties don't go together.
            ErrorKind::Corrupt => Error::invalid(error.message())
                .advice(format!("give other properties for the new table with {TABLE_PROPERTY}")),
            _ => error,
        })
    }

    /// A transaction that follows a version, and whether it shows the kernel another protocol than the table's.
    fn update(&self, snapshot: &Snapshot) -> Result<(Transaction<UpdateTable>, bool)> {
        let (operation, mut parameters) = self.action.operation();
        if operation == UpdateTableOperation::Write {
            parameters.push((PARTITION_BY, list_text(&snapshot.partition_columns())));
        }
        let parameters = parameters.into_iter().map(|(name, value)| (name, Some(value)));
        let (info, info_schema) = self.info()?;
        // The kernel refuses to add and remove files of a table with a change data feed, unless no data changes: it
        // does not support our change files. Its `dataChange` is corrected on the way to the log.
        let changes_data = self.action.changes_data() && !snapshot.has_change_feed();
        if self.action.needs_constraints() {
            constraints(snapshot)?;
        }
        let writable = writable(snapshot, self.action.may_upgrade(snapshot))?;
        let builder = writable.kernel.update_table(operation, ENGINE, changes_data);
        let builder = builder.with_operation_parameters(parameters).with_commit_info(info, info_schema);
        let update =
            self.table.kernel(|engine| builder.build(engine, Box::new(WithExtraActions(self.more.clone()))))?;
        Ok((update, writable.is_view))
    }

    /// The part of an entry by which it is known again.
    fn info(&self) -> Result<(Box<dyn EngineData>, KernelSchema)> {
        let schema = Schema::new(vec![
            Field::new("lakeraceCommit", DataType::Utf8, true),
            Field::new(ACTION_COUNT, DataType::Int64, true),
        ]);
        let kernel: StructType = (&schema).try_into_kernel().map_err(Error::unexpected)?;
        let mark: ArrayRef = Arc::new(StringArray::from(vec![self.mark.as_str()]));
        // The committer counts the actions.
        let count: ArrayRef = Arc::new(Int64Array::from(vec![None]));
        let batch = RecordBatch::try_new(Arc::new(schema), vec![mark, count]).map_err(Error::unexpected)?;
        Ok((Box::new(ArrowEngineData::new(batch)), Arc::new(kernel)))
    }

    /// Writes a checkpoint where one is due: only then is the version opened that the entry made. A failure does not
    /// affect the entry, which is in the log: the next writer finds that the checkpoint is missing, and writes it.
    fn checkpoint(&self, written: WrittenVersion, commits: u64) -> WrittenVersion {
        let (WrittenVersion::Open(kernel) | WrittenVersion::After(kernel, _)) = &written;
        let interval = kernel.table_properties().checkpoint_interval.map_or(CHECKPOINT_INTERVAL, |n| n.get());
        if commits < interval {
            return written;
        }
        let Ok(version) = self.table.open_written(written.clone()) else { return written };
        let checkpoint = writable(&version, false)
            .and_then(|writable| self.table.kernel(|engine| writable.kernel.checkpoint(engine, None).map(drop)));
        if checkpoint.is_ok() {
            // Files that can't be removed now will be removed after the next checkpoint.
            let _ = cleanup::expire(&self.table, version.kernel());
        }
        WrittenVersion::Open(Arc::clone(version.kernel()))
    }
}

/// Commits a transaction that follows a version, or creates the table; `has_more`: with actions that it does not know
/// of.
fn attempted<S>(
    table: &Table,
    base: Option<&Snapshot>,
    has_more: bool,
    commit: impl FnOnce(&dyn Engine) -> KernelResult<CommitResult<S>>,
) -> Result<CommitAttempt> {
    match table.kernel(|engine| commit(engine))? {
        CommitResult::Committed(committed) => {
            let commits = committed.post_commit_stats().commits_since_checkpoint;
            let version = committed.commit_version();
            let written = match (committed.post_commit_snapshot(), base) {
                (Some(snapshot), _) if !has_more => WrittenVersion::Open(Arc::clone(snapshot)),
                (_, Some(base)) => WrittenVersion::After(Arc::clone(base.kernel()), version),
                (_, None) => {
                    let snapshot = table.snapshot(Some(VersionSpec::Version(version)))?;
                    WrittenVersion::Open(Arc::clone(snapshot.kernel()))
                }
            };
            Ok(CommitAttempt::Done(written, commits))
        }
        CommitResult::Conflicted(conflicted) => Ok(CommitAttempt::Taken(conflicted.conflict_version())),
        CommitResult::Retryable(retryable) => Err(from_kernel(retryable.error)),
    }
}

/// The rows of files.
fn rows_of<'a>(files: impl IntoIterator<Item = &'a AddedFile>) -> u64 {
    files.into_iter().map(|file| file.rows).sum()
}

/// Texts as a parameter of an operation: a list as JSON, as Spark writes it.
pub(crate) fn list_text<T: AsRef<str>>(texts: &[T]) -> String {
    texts.iter().map(AsRef::as_ref).collect::<Value>().to_string()
}

/// Returns true if rows of a table have ids.
pub(crate) fn tracks_rows(snapshot: &Snapshot) -> bool {
    snapshot.kernel().table_configuration().is_feature_enabled(&TableFeature::RowTracking)
}
