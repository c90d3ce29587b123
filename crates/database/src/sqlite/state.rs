//! The progress of jobs that follow a source, in a separate table.

use lakerace_io::{Error, Job, Result};
use rusqlite::{Connection, OptionalExtension, TransactionBehavior, params};

use super::catalog::has_table;
use super::connect::{to_read, to_write};
use super::error::failed;
use super::identity::TableIdentity;
use super::location::DatabasePlace;
use crate::options::Fence;
use crate::state::TargetState;

/// The table of all jobs.
const STATES: &str = "_lakerace_states";

/// Forgets the states of jobs for a table whose rows are gone, except for the state of the job that replaces them.
pub(super) fn forget_states(connection: &Connection, table: &str, job_state: Option<&str>) -> Result<()> {
    if !has_table(connection, STATES)? {
        return Ok(());
    }
    // A table is found by its name in any case.
    let sql = format!("DELETE FROM {STATES} WHERE table_name = ?1 COLLATE NOCASE AND state_name IS NOT ?2");
    connection.execute(&sql, params![table, job_state]).map(drop).map_err(failed)
}

/// The state of a table under a name. A table is found by its name in any case.
fn state_of(connection: &Connection, table: &str, name: &str) -> Result<Option<String>> {
    if !has_table(connection, STATES)? {
        return Ok(None);
    }
    let sql = format!("SELECT state FROM {STATES} WHERE table_name = ?1 COLLATE NOCASE AND state_name = ?2");
    connection.query_row(&sql, [table, name], |row| row.get(0)).optional().map_err(failed)
}

/// Fails where the state of a name has another owner than the run that writes: inside the transaction that has the rows, no other
/// run can become the owner.
pub(super) fn check_owner(connection: &Connection, table: &str, fence: &Fence) -> Result<()> {
    let state = state_of(connection, table, &fence.state)?.unwrap_or_default();
    let state: serde_json::Value = serde_json::from_str(&state).unwrap_or_default();
    if state["owner"]["token"] == fence.token.as_str() {
        return Ok(());
    }
    Err(Error::conflict("another run has taken over the target").advice("let it end, then run this one again"))
}

/// The kept state of a table.
pub(super) struct TableState {
    place: DatabasePlace,
    table: String,
    job: Job,
}

impl TableState {
    pub fn new(location: &str, job: &Job) -> Result<Self> {
        let place = DatabasePlace::parse(location)?;
        let table = place.table()?;
        Ok(Self { place, table, job: job.clone() })
    }
}

impl TargetState for TableState {
    fn read(&self, name: &str) -> Result<Option<String>> {
        if !self.place.path().exists() {
            return Ok(None);
        }
        let connection = to_read(self.place.path(), &self.job)?;
        state_of(&connection, &self.table, name).map_err(|error| error.at(self.place.shown()))
    }

    fn replace(&self, name: &str, before: Option<&str>, text: &str) -> Result<bool> {
        let mut connection = to_write(self.place.path(), &self.job)?;
        let mut write = || {
            let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(failed)?;
            if state_of(&transaction, &self.table, name)?.as_deref() != before {
                return Ok(false);
            }
            let make = format!(
                "CREATE TABLE IF NOT EXISTS {STATES} (table_name TEXT, state_name TEXT, state TEXT NOT NULL, \
                 PRIMARY KEY (table_name, state_name)) STRICT, WITHOUT ROWID"
            );
            transaction.execute_batch(&make).map_err(failed)?;
            let delete = format!("DELETE FROM {STATES} WHERE table_name = ?1 COLLATE NOCASE AND state_name = ?2");
            transaction.execute(&delete, [self.table.as_str(), name]).map_err(failed)?;
            let insert = format!("INSERT INTO {STATES} VALUES (?1, ?2, ?3)");
            transaction.execute(&insert, params![self.table, name, text]).map_err(failed)?;
            transaction.commit().map_err(failed)?;
            Ok(true)
        };
        write().map_err(|error: Error| error.at(self.place.shown()))
    }

    fn forget(&self, name: &str) -> Result<()> {
        let connection = to_write(self.place.path(), &self.job)?;
        if !has_table(&connection, STATES)? {
            return Ok(());
        }
        let delete = format!("DELETE FROM {STATES} WHERE table_name = ?1 COLLATE NOCASE AND state_name = ?2");
        let deleted = connection.execute(&delete, [self.table.as_str(), name]).map(drop);
        deleted.map_err(|error| failed(error).at(self.place.shown()))
    }

    fn identity(&self) -> Result<Option<String>> {
        if !self.place.path().exists() {
            return Ok(None);
        }
        let connection = to_read(self.place.path(), &self.job)?;
        let found =
            TableIdentity::read(&connection, &self.table).and_then(|found| found.map(|it| it.text()).transpose());
        found.map_err(|error| error.at(self.place.shown()))
    }

    fn is_same(&self, identity: &str) -> Result<bool> {
        if !self.place.path().exists() {
            return Ok(false);
        }
        let connection = to_read(self.place.path(), &self.job)?;
        TableIdentity::is_of(&connection, &self.table, identity).map_err(|error| error.at(self.place.shown()))
    }
}
