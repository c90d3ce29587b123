//! The definition of a table that an overwrite replaces: it stays where the rows fit it, and is never lost without a word.

use arrow::datatypes::Schema;
use lakerace_io::option::MODE;
use lakerace_io::{Error, Result};
use rusqlite::{Connection, OptionalExtension, params};

use super::catalog::{SqliteTable, has_table};
use super::error::failed;
use super::location::quoted;

/// The SQL that makes a table like another one, under a new name. References to itself stay those of the old name.
pub(super) fn create_like(connection: &Connection, table: &str, name: &str) -> Result<String> {
    let sql = sql_of(connection, table)?;
    let rest = after_name(&sql).ok_or_else(|| Error::internal("the table's SQL has an unexpected form").at(table))?;
    Ok(format!("CREATE TABLE {}{rest}", quoted(name)))
}

fn sql_of(connection: &Connection, table: &str) -> Result<String> {
    let sql = "SELECT sql FROM sqlite_schema WHERE type = 'table' AND name = ?1 COLLATE NOCASE";
    connection.query_row(sql, [table], |row| row.get(0)).map_err(failed)
}

/// The text after the name in `CREATE TABLE name …`, as SQLite keeps it.
fn after_name(sql: &str) -> Option<&str> {
    let rest = sql.strip_prefix("CREATE TABLE ")?.trim_start();
    let end = match rest.bytes().next()? {
        b'[' => rest.find(']')? + 1,
        quote @ (b'"' | b'\'' | b'`') => quoted_length(rest.as_bytes(), quote)?,
        _ => rest.find(|c: char| c == '(' || c.is_ascii_whitespace())?,
    };
    Some(&rest[end..])
}

/// The length of a text in quotes, which are doubled within.
fn quoted_length(text: &[u8], quote: u8) -> Option<usize> {
    let mut at = 1;
    loop {
        at += text.get(at..)?.iter().position(|byte| *byte == quote)? + 1;
        if text.get(at) != Some(&quote) {
            return Some(at);
        }
        at += 1;
    }
}

/// The words of SQL in capitals, without names in quotes, texts and comments.
fn words(sql: &str) -> Vec<String> {
    let bytes = sql.as_bytes();
    let (mut words, mut at) = (Vec::new(), 0);
    let after = |at: usize, end: &str| sql[at..].find(end).map_or(bytes.len(), |found| at + found + end.len());
    while let Some(&byte) = bytes.get(at) {
        let start = at;
        at = match byte {
            b'"' | b'\'' | b'`' => at + quoted_length(&bytes[at..], byte).unwrap_or(bytes.len() - at),
            b'[' => after(at, "]"),
            b'-' if bytes[at..].starts_with(b"--") => after(at, "\n"),
            b'/' if bytes[at..].starts_with(b"/*") => after(at, "*/"),
            _ if byte.is_ascii_alphabetic() => {
                let is_word = |byte: &&u8| byte.is_ascii_alphanumeric() || **byte == b'_' || **byte >= 0x80;
                let end = at + bytes[at..].iter().take_while(is_word).count();
                words.push(sql[start..end].to_ascii_uppercase());
                end
            }
            _ => at + 1,
        };
    }
    words
}

/// The columns of the primary key, in its order.
pub(super) fn primary_key(table: &SqliteTable) -> Vec<String> {
    let mut columns: Vec<_> = table.columns.iter().filter(|column| column.key_position > 0).collect();
    columns.sort_unstable_by_key(|column| column.key_position);
    columns.into_iter().map(|column| column.name.clone()).collect()
}

/// The parts of a table's definition, in SQL's words, that a new table of these columns and this key would lack.
pub(super) fn losses(
    connection: &Connection,
    table: &str,
    found: &SqliteTable,
    schema: &Schema,
    key: &[String],
) -> Result<Vec<String>> {
    let is_ours = found.kept.is_some();
    let mut lost = Vec::new();
    let primary = primary_key(found);
    let is_in = |name: &String, names: &[String]| names.iter().any(|other| other.eq_ignore_ascii_case(name));
    let is_same = primary.len() == key.len() && primary.iter().all(|name| is_in(name, key));
    // A key of a table of ours may be named again.
    if !primary.is_empty() && !is_same && (!is_ours || key.is_empty()) {
        lost.push(format!("PRIMARY KEY ({})", primary.join(", ")));
    }
    for column in &found.columns {
        let field = schema.fields().iter().find(|field| field.name().eq_ignore_ascii_case(&column.name));
        let stays_filled = field.is_some_and(|field| !field.is_nullable()) || is_in(&column.name, key);
        if !is_ours && !column.is_nullable && !stays_filled {
            lost.push(format!("NOT NULL of {}", column.name));
        }
        if column.is_generated {
            lost.push(format!("the computed column {}", column.name));
        }
    }
    let many = |sql: &str| -> Result<Vec<String>> {
        let mut statement = connection.prepare(sql).map_err(failed)?;
        let rows = statement.query_map([table], |row| row.get(0));
        rows.and_then(Iterator::collect).map_err(failed)
    };
    lost.extend(many("SELECT 'DEFAULT of ' || name FROM pragma_table_xinfo(?1) WHERE dflt_value IS NOT NULL")?);
    lost.extend(many(
        "SELECT 'UNIQUE (' || (SELECT group_concat(name, ', ') FROM pragma_index_info(list.name)) || ')' \
         FROM pragma_index_list(?1) AS list WHERE origin = 'u'",
    )?);
    lost.extend(many("SELECT DISTINCT 'FOREIGN KEY to ' || \"table\" FROM pragma_foreign_key_list(?1)")?);
    let words = words(&sql_of(connection, table)?);
    let kept = ["CHECK", "COLLATE", "AUTOINCREMENT", "WITHOUT"];
    lost.extend(kept.iter().filter(|word| words.iter().any(|other| other == *word)).map(|word| match *word {
        "WITHOUT" => "WITHOUT ROWID".to_owned(),
        word => word.to_owned(),
    }));
    lost.extend(
        children(connection, table)?.into_iter().map(|child| format!("the key that the table {child} refers to")),
    );
    Ok(lost)
}

/// Other tables with foreign keys to this one.
fn children(connection: &Connection, table: &str) -> Result<Vec<String>> {
    let sql = "SELECT DISTINCT child.name FROM sqlite_schema AS child, pragma_foreign_key_list(child.name) AS parent \
               WHERE child.type = 'table' AND parent.\"table\" = ?1 COLLATE NOCASE AND child.name <> ?1 COLLATE NOCASE";
    let mut statement = connection.prepare(sql).map_err(failed)?;
    let rows = statement.query_map([table], |row| row.get(0));
    rows.and_then(Iterator::collect).map_err(failed)
}

/// Rows whose foreign keys lead nowhere, by table: of the table itself, and of those that refer to it.
#[derive(Debug, Default)]
pub(super) struct OrphanRows(Vec<(String, Option<i64>)>);

impl OrphanRows {
    /// Counts the current rows.
    pub fn count(connection: &Connection, table: &str) -> Result<Self> {
        let mut counts = Vec::new();
        for name in children(connection, table)?.into_iter().chain([table.to_owned()]) {
            let sql = "SELECT count(*) FROM pragma_foreign_key_check(?1)";
            // Without a key that it may refer to, SQLite can't check them.
            let count = connection.query_row(sql, params![name], |row| row.get(0)).optional().unwrap_or(None);
            counts.push((name, count));
        }
        Ok(Self(counts))
    }

    /// An error where there are more than before.
    pub fn check(&self, connection: &Connection, table: &str) -> Result<()> {
        for (name, now) in Self::count(connection, table)?.0 {
            let before = self.0.iter().find(|(other, _)| *other == name).and_then(|(_, before)| *before);
            let what = match (before, now) {
                (Some(before), Some(now)) if now > before => format!("{} rows", now - before),
                (None, Some(now)) if now > 0 && name.eq_ignore_ascii_case(table) => format!("{now} rows"),
                (Some(_), None) => "the foreign key".to_owned(),
                _ => continue,
            };
            let message = format!("{what} of table {name:?} would refer to missing rows");
            return Err(Error::conflict(message)
                .advice(format!("add the rows that are referred to, or use {}", MODE.to("upsert"))));
        }
        Ok(())
    }
}

/// The highest number that a table with AUTOINCREMENT has given, so that none is given twice.
pub(super) fn last_number(connection: &Connection, table: &str) -> Result<Option<i64>> {
    if !has_table(connection, "sqlite_sequence")? {
        return Ok(None);
    }
    let sql = "SELECT seq FROM sqlite_sequence WHERE name = ?1 COLLATE NOCASE";
    connection.query_row(sql, [table], |row| row.get(0)).optional().map_err(failed)
}

/// Goes on with the numbers of the table that was replaced.
pub(super) fn keep_number(connection: &Connection, table: &str, last: Option<i64>) -> Result<()> {
    let Some(last) = last else { return Ok(()) };
    let changed = connection
        .execute("UPDATE sqlite_sequence SET seq = max(seq, ?2) WHERE name = ?1 COLLATE NOCASE", params![table, last])
        .map_err(failed)?;
    if changed == 0 {
        let sql = "INSERT INTO sqlite_sequence (name, seq) VALUES (?1, ?2)";
        connection.execute(sql, params![table, last]).map_err(failed)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
