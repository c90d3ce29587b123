//! How far jobs that follow a source have come, in a table beside.

use lakerace_io::{Error, Job, Result};
use rusqlite::{Connection, OptionalExtension, params};

use super::catalog::has_table;
use super::connect::{to_read, to_write};
use super::error::failed;
use super::location::{Place, Relation};
use crate::TargetState;

/// The table of all jobs.
const STATES: &str = "_lakerace_states";

/// Forgets what jobs keep for a table whose rows are gone, but for the state of the job that replaces them.
pub(super) fn forget_states(connection: &Connection, table: &str, job_state: Option<&str>) -> Result<()> {
    if !has_table(connection, STATES)? {
        return Ok(());
    }
    // A table is found by its name in any case.
    let sql = format!("DELETE FROM {STATES} WHERE table_name = ?1 COLLATE NOCASE AND state_name IS NOT ?2");
    connection.execute(&sql, params![table, job_state]).map(drop).map_err(failed)
}

/// What is kept for a table.
pub(super) struct TableState {
    place: Place,
    table: String,
    job: Job,
}

impl TableState {
    pub fn new(location: &str, job: &Job) -> Result<Self> {
        let place = Place::parse(location)?;
        let Relation::Table(table) = place.relation.clone() else {
            return Err(Error::usage("rows can't be written to a query")
                .at(place.shown())
                .advice("name a table: #table"));
        };
        Ok(Self { place, table, job: job.clone() })
    }
}

impl TargetState for TableState {
    fn read(&self, name: &str) -> Result<Option<String>> {
        if !self.place.path().exists() {
            return Ok(None);
        }
        let connection = to_read(self.place.path(), &self.job)?;
        if !has_table(&connection, STATES)? {
            return Ok(None);
        }
        let sql = format!("SELECT state FROM {STATES} WHERE table_name = ?1 AND state_name = ?2");
        let found = connection.query_row(&sql, [self.table.as_str(), name], |row| row.get(0)).optional();
        found.map_err(|error| failed(error).at(self.place.shown()))
    }

    fn write(&self, name: &str, text: &str) -> Result<()> {
        let connection = to_write(self.place.path(), &self.job)?;
        let write = || {
            connection.execute_batch(&format!(
                "CREATE TABLE IF NOT EXISTS {STATES} (table_name TEXT, state_name TEXT, state TEXT NOT NULL, \
                 PRIMARY KEY (table_name, state_name)) STRICT, WITHOUT ROWID"
            ))?;
            let sql = format!("INSERT OR REPLACE INTO {STATES} VALUES (?1, ?2, ?3)");
            connection.execute(&sql, params![self.table, name, text]).map(drop)
        };
        write().map_err(|error| failed(error).at(self.place.shown()))
    }
}
