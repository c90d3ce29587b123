//! The mark that a load keeps of its table, to recognise it when the load continues.

use lakerace_io::{Error, Result};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OptionalExtension, Row};
use serde::{Deserialize, Serialize};

use super::catalog::SqliteTable;
use super::error::failed;
use super::location::quoted;
use crate::fnv::fnv;

/// A table at a commit of its load.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct TableFingerprint {
    /// It grows with every change of any table's definition: while it stays, no table was dropped.
    schema_version: i64,
    /// The first page of the table. A table that is made again often has the same one.
    root_page: i64,
    /// The number of the last row and a hash of its written values.
    last_row: Option<(i64, u64)>,
}

impl TableFingerprint {
    /// The mark of a table. `None` where it is not there, or is a view.
    pub fn read(connection: &Connection, table: &str, columns: &[&str]) -> Result<Option<Self>> {
        let Some(root_page) = root_page(connection, table)? else { return Ok(None) };
        let last_row = last_row(connection, table, columns)?;
        Ok(Some(Self { schema_version: schema_version(connection)?, root_page, last_row }))
    }

    /// The text for a journal.
    pub fn text(&self) -> Result<String> {
        serde_json::to_string(self).map_err(|error| Error::internal("a mark has no text").because(error))
    }

    /// Returns true if a table is the one of the mark in a journal. Where the journal has none, the table's existence counts.
    pub fn is_of(connection: &Connection, table: &str, columns: &[&str], noted: Option<&str>) -> Result<bool> {
        let Some(root_page) = root_page(connection, table)? else { return Ok(false) };
        let Some(mark) = noted.and_then(|text| serde_json::from_str::<Self>(text).ok()) else { return Ok(true) };
        if mark.schema_version == schema_version(connection)? {
            return Ok(true);
        }
        // Some table was changed, or the file was vacuumed: the rows decide whether it is this one.
        match mark.last_row {
            Some((number, _)) => Ok(numbered_row(connection, table, columns, number)? == mark.last_row),
            None => Ok(mark.root_page == root_page),
        }
    }
}

pub(super) fn schema_version(connection: &Connection) -> Result<i64> {
    connection.query_row("PRAGMA schema_version", [], |row| row.get(0)).map_err(failed)
}

pub(super) fn root_page(connection: &Connection, table: &str) -> Result<Option<i64>> {
    let sql = "SELECT rootpage FROM sqlite_schema WHERE type = 'table' AND name = ?1 COLLATE NOCASE";
    connection.query_row(sql, [table], |row| row.get(0)).optional().map_err(failed)
}

/// The row of a number, with a hash of its values. Tables without numbers have none.
pub(super) fn numbered_row(
    connection: &Connection,
    table: &str,
    columns: &[&str],
    number: i64,
) -> Result<Option<(i64, u64)>> {
    row(connection, table, columns, |rowid| format!("WHERE {rowid} = {number}"))
}

/// The row of the lowest number.
pub(super) fn first_row(connection: &Connection, table: &str, columns: &[&str]) -> Result<Option<(i64, u64)>> {
    row(connection, table, columns, |rowid| format!("ORDER BY {rowid} LIMIT 1"))
}

/// The row of the highest number.
pub(super) fn last_row(connection: &Connection, table: &str, columns: &[&str]) -> Result<Option<(i64, u64)>> {
    row(connection, table, columns, |rowid| format!("ORDER BY {rowid} DESC LIMIT 1"))
}

fn row(
    connection: &Connection,
    table: &str,
    columns: &[&str],
    choice: impl FnOnce(&str) -> String,
) -> Result<Option<(i64, u64)>> {
    let Some(rowid) = SqliteTable::find(connection, table)?.and_then(|found| found.rowid) else { return Ok(None) };
    let columns: Vec<String> = columns.iter().map(|name| quoted(name)).collect();
    let sql = format!("SELECT {rowid}, {} FROM {} {}", columns.join(", "), quoted(table), choice(rowid));
    connection.query_row(&sql, [], hashed).optional().map_err(failed)
}

/// A row's number, and the FNV hash of its values with their types.
fn hashed(row: &Row<'_>) -> rusqlite::Result<(i64, u64)> {
    let mut values = Vec::new();
    let mut add = |kind: u8, bytes: &[u8]| {
        values.push(kind);
        values.extend((bytes.len() as u64).to_le_bytes());
        values.extend(bytes);
    };
    for index in 1..row.as_ref().column_count() {
        match row.get_ref(index)? {
            ValueRef::Null => add(0, &[]),
            ValueRef::Integer(value) => add(1, &value.to_le_bytes()),
            ValueRef::Real(value) => add(2, &value.to_le_bytes()),
            ValueRef::Text(value) => add(3, value),
            ValueRef::Blob(value) => add(4, value),
        }
    }
    Ok((row.get(0)?, fnv(&values)))
}
