//! Prepared statements that are kept with their connection.

use lakerace_io::Result;
pub(super) use lakerace_sqlite::Row;
use rusqlite::Connection;
use rusqlite::types::{ToSqlOutput, ValueRef};

use crate::sqlite_error::from_sqlite;

/// A parameter.
#[derive(Debug, Clone, Copy)]
pub(super) enum BoundValue<'a> {
    Null,
    Int(i64),
    Text(&'a [u8]),
    Blob(&'a [u8]),
}

impl<'a> BoundValue<'a> {
    pub(super) fn text(text: Option<&'a str>) -> Self {
        text.map_or(Self::Null, |text| Self::Text(text.as_bytes()))
    }

    pub(super) fn int(int: Option<i64>) -> Self {
        int.map_or(Self::Null, Self::Int)
    }

    fn bound(self) -> ToSqlOutput<'a> {
        ToSqlOutput::Borrowed(match self {
            Self::Null => ValueRef::Null,
            Self::Int(int) => ValueRef::Integer(int),
            Self::Text(text) => ValueRef::Text(text),
            Self::Blob(blob) => ValueRef::Blob(blob),
        })
    }
}

/// A prepared statement. It must be dropped before its connection is.
#[derive(Debug)]
pub(super) struct PreparedStatement(lakerace_sqlite::Statement);

impl PreparedStatement {
    pub(super) fn prepare(connection: &Connection, sql: &str) -> Result<Self> {
        lakerace_sqlite::Statement::prepare(connection, sql).map(Self).map_err(from_sqlite)
    }

    /// Runs the statement and calls `each` on its rows until that is false.
    pub(super) fn each(&mut self, values: &[BoundValue<'_>], each: impl FnMut(&Row<'_>) -> Result<bool>) -> Result<()> {
        self.0.each(values.iter().map(|value| value.bound()), from_sqlite, each)
    }

    /// Runs the statement and calls `get` with its first row.
    pub(super) fn first<T>(
        &mut self,
        values: &[BoundValue<'_>],
        mut get: impl FnMut(&Row<'_>) -> Result<T>,
    ) -> Result<Option<T>> {
        let mut found = None;
        self.each(values, |row| {
            found = Some(get(row)?);
            Ok(false)
        })?;
        Ok(found)
    }

    /// Runs a statement without rows; gives the rows that it changed.
    pub(super) fn run(&mut self, values: &[BoundValue<'_>]) -> Result<u64> {
        self.0.run(values.iter().map(|value| value.bound())).map_err(from_sqlite)
    }
}

/// The first number that a statement gives; 0 where it gives none.
pub(super) fn pragma(connection: &Connection, sql: &str) -> Result<i64> {
    let found = PreparedStatement::prepare(connection, sql)?.first(&[], |row| Ok(row.int(0)))?;
    Ok(found.unwrap_or(0))
}
