//! The identity of a table, which distinguishes it from another one that was made under its name later.

use lakerace_io::{Error, Result};
use rusqlite::Connection;
use serde::{Deserialize, Serialize};

use super::catalog::{SqliteTable, table_sql};
use super::mark::{first_row, last_row, numbered_row, root_page, schema_version};
use crate::fnv::fnv;

/// A table at a moment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct TableIdentity {
    /// It grows with every change of any table's definition: while it stays, no table was dropped.
    schema_version: i64,
    root_page: i64,
    /// A hash of the table's SQL.
    sql: u64,
    columns: Vec<String>,
    /// The first and the last row by their numbers, with hashes of their values.
    rows: Vec<(i64, u64)>,
}

impl TableIdentity {
    /// The identity of a table. `None` where it is not there, or is a view.
    pub fn read(connection: &Connection, table: &str) -> Result<Option<Self>> {
        let (Some(root_page), Some(found)) = (root_page(connection, table)?, SqliteTable::find(connection, table)?)
        else {
            return Ok(None);
        };
        let columns: Vec<String> = found.columns.into_iter().map(|column| column.name).collect();
        let names: Vec<&str> = columns.iter().map(String::as_str).collect();
        let ends = [first_row(connection, table, &names)?, last_row(connection, table, &names)?];
        let rows = ends.into_iter().flatten().collect();
        let sql = fnv(table_sql(connection, table)?.as_bytes());
        Ok(Some(Self { schema_version: schema_version(connection)?, root_page, sql, columns, rows }))
    }

    /// The text that is kept.
    pub fn text(&self) -> Result<String> {
        serde_json::to_string(self).map_err(|error| Error::internal("an identity has no text").because(error))
    }

    /// Tells if a table is the one of a text that was kept.
    pub fn is_of(connection: &Connection, table: &str, noted: &str) -> Result<bool> {
        let (Some(root_page), Some(found)) = (root_page(connection, table)?, SqliteTable::find(connection, table)?)
        else {
            return Ok(false);
        };
        let Ok(noted) = serde_json::from_str::<Self>(noted) else { return Ok(false) };
        let names: Vec<&str> = noted.columns.iter().map(String::as_str).collect();
        if noted.schema_version == schema_version(connection)? {
            // The same table, unless a program has emptied it.
            return Ok(noted.rows.is_empty() || first_row(connection, table, &names)?.is_some());
        }
        // Some table was changed, or the file was vacuumed: the rows decide whether it is this one.
        if noted.rows.is_empty() {
            let sql = fnv(table_sql(connection, table)?.as_bytes());
            return Ok(noted.root_page == root_page && noted.sql == sql);
        }
        let has = |name: &String| found.columns.iter().any(|column| column.name == *name);
        if !noted.columns.iter().all(has) {
            return Ok(false);
        }
        for row in &noted.rows {
            if numbered_row(connection, table, &names, row.0)? == Some(*row) {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

#[cfg(test)]
mod tests;
