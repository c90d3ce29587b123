//! Setting columns of the rows for which a condition is true.
//!
//! The rows are found as those of a delete are. They are read, written with their new values to new files, and join the
//! deletion vectors of their own files; a table without vectors gets these files rewritten without them. If another writer
//! changes one of the rows, or adds one for which the condition is true, the update is made again from the newest version.

use delta_kernel::transaction::UpdateTableOperation;
use lakerace_format::{Expr, Literal, WriteOptions};
use lakerace_io::memory_limit::check_memory;
use lakerace_io::option::VERIFY_TABLE;
use lakerace_io::{Error, Result};

use crate::commit::{PendingCommit, WriteBase, latest, list_text};
use crate::condition_probe::ConditionProbe;
use crate::delete::AffectedRows;
use crate::deletion_vector::commit::{ChangeOutcome, RemovalCommit, RemovalMethod, RowDependency, change};
use crate::new_values::{ColumnAssignment, NewValues};
use crate::row_reader::read_rows;
use crate::row_writer::{RowWriter, RowWriterOptions};
use crate::snapshot::Snapshot;
use crate::table::Table;
use crate::write::within_memory;

/// An update of a table's rows.
#[derive(Debug, Clone, PartialEq)]
pub struct UpdateStatement {
    /// The columns that are set, and their values.
    pub assignments: Vec<ColumnAssignment>,
    /// The rows that are updated; `None`: all.
    pub condition: Option<Expr>,
    /// The condition as SQL, for the log.
    pub condition_text: Option<String>,
}

/// The options of an update.
#[derive(Debug, Clone, Copy, Default)]
pub struct UpdateOptions {
    /// A table without deletion vectors gets them, whoever made it.
    pub enables_vectors: bool,
    /// Approximate bytes of rows that are sorted by the table's key together; `None`: 512 MiB.
    pub memory_bytes: Option<u64>,
}

/// Memory of an update, unless options say otherwise.
const MEMORY_BYTES: u64 = 512 << 20;
/// The parts of the memory of which a batch of rows takes one.
const BATCHES_IN_MEMORY: u64 = 16;
/// The most times that rows are made again because another writer has changed their base.
const REMAKES: u32 = 100;

/// Sets columns of rows, in one commit.
///
/// # Errors
/// `NotFound` for a column that the table lacks; `Invalid` for a value that does not fit its column, for a null in one that is
/// NOT NULL, and for a row that violates a constraint; `Conflict` where another writer has changed the table's schema in the
/// meantime.
pub fn update(table: &Table, statement: &UpdateStatement, options: &UpdateOptions) -> Result<ChangeOutcome> {
    let named = |error: Error| error.at(table.location());
    let mut snapshot = table.snapshot(None)?;
    warn_of_key(table, &snapshot, statement);
    for _ in 0..REMAKES {
        let attempt = UpdateAttempt::new(&snapshot, statement, options, false).map_err(named)?;
        if let Some(changed) = attempt.run()? {
            return Ok(changed);
        }
        snapshot = latest(&snapshot)?;
    }
    Err(named(Error::conflict(format!("other writers have changed the same rows {REMAKES} times")))
        .advice("run it again when they are done"))
}

/// Finds the rows that [`update`] would set, makes their new values, and writes nothing.
///
/// # Errors
/// Those of [`update`].
pub fn plan_update(table: &Table, statement: &UpdateStatement, options: &UpdateOptions) -> Result<AffectedRows> {
    let named = |error: Error| error.at(table.location());
    let snapshot = table.snapshot(None)?;
    warn_of_key(table, &snapshot, statement);
    let mut attempt = UpdateAttempt::new(&snapshot, statement, options, true).map_err(named)?;
    let (_, files, rows) = attempt.make_rows().map_err(named)?;
    Ok(AffectedRows { version: snapshot.version(), rows, files })
}

/// Warns of an update that may give two rows the same key.
fn warn_of_key(table: &Table, snapshot: &Snapshot, statement: &UpdateStatement) {
    let key = snapshot.key();
    if statement.assignments.iter().any(|assignment| key.contains(&assignment.column)) {
        let (place, key) = (table.location(), key.join(", "));
        table.job().warn(&format!(
            "{place}: the update sets a column of the table's key ({key}), and does not check that keys stay distinct and \
             not null; {} finds such rows",
            VERIFY_TABLE.on(place)
        ));
    }
}

/// An attempt from one version.
struct UpdateAttempt<'a> {
    snapshot: &'a Snapshot,
    values: NewValues,
    commit: PendingCommit<RemovalCommit>,
    options: RowWriterOptions,
    /// Approximate bytes of the rows that are read and made at a time.
    batch_bytes: u64,
}

impl<'a> UpdateAttempt<'a> {
    fn new(snapshot: &'a Snapshot, statement: &UpdateStatement, options: &UpdateOptions, is_dry: bool) -> Result<Self> {
        let (table, schema) = (snapshot.table(), snapshot.schema());
        let target = (schema, table.location());
        let values = NewValues::bind(&statement.assignments, schema, target, &|name| Some(name.to_owned()))?;
        let every = Expr::Literal(Literal::Boolean(true));
        let probe = ConditionProbe::new(snapshot, statement.condition.as_ref().unwrap_or(&every))?;
        let write = match options.memory_bytes {
            None => WriteOptions::default(),
            Some(bytes) => {
                check_memory(bytes, schema.fields().len())?;
                within_memory(&WriteOptions::default(), bytes, schema.fields().len())
            }
        };
        let batch_bytes = options.memory_bytes.unwrap_or(MEMORY_BYTES) / BATCHES_IN_MEMORY;
        let removal = RemovalMethod::for_snapshot(snapshot, options.enables_vectors, || write.clone())?;
        let parameters = statement.condition_text.iter().map(|text| ("predicate", list_text(&[text])));
        let action = RemovalCommit::new(Box::new(probe), UpdateTableOperation::Update, removal)
            .with_parameters(parameters.collect())
            .depending(RowDependency::Values);
        let commit = PendingCommit::new(table.clone(), WriteBase::Existing(Box::new(snapshot.clone())), action)?;
        let options = RowWriterOptions {
            write,
            sort_bytes: options.memory_bytes.map(|bytes| bytes / 2),
            feeds: snapshot.has_change_feed(),
            is_dry,
        };
        Ok(Self { snapshot, values, commit, options, batch_bytes })
    }

    /// Makes the new rows: returns the number of files that have rows, and of these.
    fn make_rows(&mut self) -> Result<(RowWriter, u64, u64)> {
        let snapshot = self.snapshot;
        let named = |error: Error| error.at(snapshot.table().location());
        let mut writer = RowWriter::new(snapshot, &self.commit, self.values.schema(), &self.options).map_err(named)?;
        let touched = self.commit.action().search(snapshot)?;
        let columns = self.columns(writer.needs_old_rows());
        read_rows(snapshot, &touched, &columns, self.batch_bytes, &mut |before| {
            let after = self.values.rows(&before)?;
            writer.updated(|| Ok(before), &after)
        })?;
        let rows = touched.iter().map(|(_, rows)| rows.len()).sum();
        Ok((writer, touched.len() as u64, rows))
    }

    /// Writes and commits. `None`: another writer has changed the rows.
    fn run(mut self) -> Result<Option<ChangeOutcome>> {
        let (writer, _, _) = self.make_rows()?;
        let (published, changes) = writer.publish()?;
        match change(&mut self.commit, published, changes) {
            Ok(changed) => Ok(Some(changed)),
            Err(_) if self.commit.action().is_outdated() => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The columns that are read of the rows: change files need all of them.
    fn columns(&self, needs_all: bool) -> Vec<String> {
        let all = self.snapshot.schema().fields().iter().map(|field| field.name().clone());
        match self.values.needed() {
            _ if needs_all => all.collect(),
            // Rows without a column are rows all the same.
            [] => all.take(1).collect(),
            needed => needed.to_vec(),
        }
    }
}
