//! The way in which the rows of a filter are found: by an index, or by reading all.

use lakerace_io::{Error, Result};
use rusqlite::Connection;
use rusqlite::types::Value;

use super::error::failed;

/// An index is used if it finds at most one row in this number.
const ROWS_PER_FOUND: u64 = 8;
/// Up to this number of rows, an index is always used.
const FEW_ROWS: u64 = 1024;

/// A filter's way to its rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum RowLookup {
    /// All rows are read, for a reason.
    All(&'static str),
    /// An index finds at most this number of rows.
    Index { names: String, rows: u64 },
}

/// The rows of a table, and a condition that SQLite evaluates.
pub(super) struct CandidateRows<'a> {
    pub connection: &'a Connection,
    pub rowid: &'static str,
    /// The relation in FROM.
    pub from: &'a str,
    /// The condition, and its parameters.
    pub pushed: &'a (String, Vec<Value>),
}

/// The SQL of the row numbers that meet a condition. They are looked up before the rows, so that an index serves in spite of the order.
pub(super) fn numbers_sql(rowid: &str, from: &str, condition: &str) -> String {
    format!("SELECT {rowid} FROM {from} WHERE {condition}")
}

impl CandidateRows<'_> {
    /// Chooses the way to the rows of a table whose row numbers span `span`.
    pub fn lookup(&self, span: u64) -> Result<RowLookup> {
        let Some(names) = self.indexes()? else {
            return Ok(RowLookup::All("no index covers the filter"));
        };
        let most = (span / ROWS_PER_FOUND).max(FEW_ROWS);
        let rows = self.count(most.saturating_add(1))?;
        if rows > most {
            return Ok(RowLookup::All("the filter keeps too many rows for an index"));
        }
        Ok(RowLookup::Index { names, rows })
    }

    /// The names of the indexes that SQLite takes; `None` where it looks at all rows.
    fn indexes(&self) -> Result<Option<String>> {
        let numbers = numbers_sql(self.rowid, self.from, &self.pushed.0);
        let sql = format!(
            "EXPLAIN QUERY PLAN SELECT {0} FROM {1} WHERE {0} IN ({numbers}) ORDER BY {0}",
            self.rowid, self.from
        );
        let mut statement = self.connection.prepare(&sql).map_err(failed)?;
        let details = statement.query_map(rusqlite::params_from_iter(&self.pushed.1), |row| row.get::<_, String>(3));
        let details = details.and_then(Iterator::collect::<rusqlite::Result<Vec<_>>>).map_err(failed)?;
        if details.iter().any(|detail| detail.starts_with("SCAN")) {
            return Ok(None);
        }
        let name = |detail: &String| {
            let (_, rest) = detail.split_once(" INDEX ")?;
            rest.rsplit_once(" (").map(|(name, _)| name.to_owned())
        };
        let mut names: Vec<String> = details.iter().filter_map(name).collect();
        names.dedup();
        let names = if names.is_empty() { "the row numbers".to_owned() } else { names.join(", ") };
        Ok(Some(names))
    }

    /// The rows that meet the condition, up to a number.
    fn count(&self, most: u64) -> Result<u64> {
        let numbers = numbers_sql(self.rowid, self.from, &self.pushed.0);
        let sql = format!("SELECT count(*) FROM ({numbers} LIMIT {most})");
        let parameters = rusqlite::params_from_iter(&self.pushed.1);
        let rows = self.connection.query_row(&sql, parameters, |row| row.get::<_, i64>(0)).map_err(failed)?;
        u64::try_from(rows).map_err(Error::unexpected)
    }
}
