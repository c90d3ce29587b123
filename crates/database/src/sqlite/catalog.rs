//! The tables of a database, and the state that lakerace keeps next to them.

use std::sync::Arc;

use arrow::datatypes::{Field, Schema};
use lakerace_format::schema_text::print_type;
use lakerace_format::{schema_from_base64, schema_to_base64};
use lakerace_io::{Error, Result};
use rusqlite::{Connection, OptionalExtension, params};

use super::error::failed;
use super::kind::{StorageClass, TypeAffinity};
use super::location::quoted;

/// The Arrow schemas of tables that lakerace made.
const SCHEMAS: &str = "_lakerace_schemas";
/// The loads of tables, and how many rows each has had committed.
const LOADS: &str = "_lakerace_loads";

/// A column of a table or a view.
#[derive(Debug, Clone)]
pub(super) struct TableColumn {
    pub name: String,
    pub declared: String,
    pub affinity: TypeAffinity,
    /// Its texts are compared by their bytes, where a statement says nothing else.
    pub is_binary: bool,
    pub is_nullable: bool,
    /// Its place in the primary key, from 1; 0: it has none.
    pub key_position: u32,
    /// Computed from others, so that nothing is written to it.
    pub is_generated: bool,
}

/// A table or a view.
#[derive(Debug, Clone)]
pub(super) struct SqliteTable {
    pub columns: Vec<TableColumn>,
    /// The name under which its rows have a number; views and tables without them have none.
    pub rowid: Option<&'static str>,
    /// Its primary key is an index next to the rows, and no name of their number.
    pub has_key_index: bool,
    pub is_strict: bool,
    pub is_view: bool,
    /// A module has its rows, as that of a full-text search.
    pub is_virtual: bool,
    /// The database has its texts in UTF-8, so that their bytes are ordered as ours.
    pub is_utf8: bool,
    /// The types that lakerace wrote, where it made the table.
    pub kept: Option<Schema>,
}

impl SqliteTable {
    /// Finds the entry of a name in the database.
    pub fn find(connection: &Connection, name: &str) -> Result<Option<Self>> {
        // A name is found in any case, as SQLite does.
        let sql = "SELECT type, wr, strict FROM pragma_table_list WHERE schema = 'main' AND name = ?1 COLLATE NOCASE";
        let found: Option<(String, bool, bool)> = connection
            .query_row(sql, [name], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
            .optional()
            .map_err(failed)?;
        let Some((kind, is_without_rowid, is_strict)) = found else { return Ok(None) };
        let columns = columns(connection, name, is_strict)?;
        let is_view = kind == "view";
        let is_virtual = matches!(kind.as_str(), "virtual" | "shadow");
        let has_rowid = !is_view && !is_without_rowid && kind != "virtual";
        let is_free = |alias: &&str| !columns.iter().any(|column| column.name.eq_ignore_ascii_case(alias));
        let rowid = ["rowid", "_rowid_", "oid"].into_iter().find(is_free).filter(|_| has_rowid);
        let sql = table_sql(connection, name)?;
        let kept = kept_schema(connection, name)?.map(|schema| only_ours(&schema, &sql));
        let sql = "SELECT count(*) > 0 FROM pragma_index_list(?1) WHERE origin = 'pk'";
        let has_key_index = connection.query_row(sql, [name], |row| row.get(0)).map_err(failed)?;
        let is_utf8 = is_utf8(connection)?;
        Ok(Some(Self { columns, rowid, has_key_index, is_strict, is_view, is_virtual, is_utf8, kept }))
    }

    /// The column that is another name of the row's number.
    pub fn rowid_column(&self) -> Option<&str> {
        let mut key = self.columns.iter().filter(|column| column.key_position > 0);
        let (first, more) = (key.next()?, key.next());
        let is_integer = more.is_none() && first.declared.eq_ignore_ascii_case("INTEGER");
        // INTEGER PRIMARY KEY DESC is none.
        let is_alias = self.rowid.is_some() && is_integer && !self.has_key_index;
        is_alias.then_some(first.name.as_str())
    }
}

/// True where a database has its texts in UTF-8.
pub(super) fn is_utf8(connection: &Connection) -> Result<bool> {
    let encoding = connection.query_row("PRAGMA encoding", [], |row| row.get::<_, String>(0)).map_err(failed)?;
    Ok(encoding == "UTF-8")
}

fn columns(connection: &Connection, table: &str, is_strict: bool) -> Result<Vec<TableColumn>> {
    let sql = "SELECT name, type, \"notnull\", pk, hidden FROM pragma_table_xinfo(?1)";
    let mut statement = connection.prepare(sql).map_err(failed)?;
    let rows = statement.query_map([table], |row| {
        let (name, declared): (String, String) = (row.get(0)?, row.get(1)?);
        let affinity = TypeAffinity::from_declared(&declared, is_strict);
        let (is_not_null, key_position, hidden): (bool, u32, u8) = (row.get(2)?, row.get(3)?, row.get(4)?);
        let column = TableColumn {
            name,
            declared,
            affinity,
            is_binary: false,
            is_nullable: !is_not_null,
            key_position,
            is_generated: matches!(hidden, 2 | 3),
        };
        Ok((hidden != 1).then_some(column))
    });
    let columns = rows.and_then(Iterator::collect::<rusqlite::Result<Vec<_>>>).map_err(failed)?;
    let mut columns: Vec<TableColumn> = columns.into_iter().flatten().collect();
    for column in &mut columns {
        // Columns of views have no collation.
        let collation = connection.column_metadata(Some("main"), table, column.name.as_str());
        let collation = collation.ok().and_then(|(_, collation, ..)| collation);
        column.is_binary = collation.is_some_and(|collation| collation.to_bytes().eq_ignore_ascii_case(b"BINARY"));
    }
    Ok(columns)
}

/// Returns true if a table, or a trigger of it, may leave a row out without an error, or keep the rows before one that it refuses.
pub(super) fn takes_parts(connection: &Connection, table: &str) -> Result<bool> {
    // ON CONFLICT IGNORE or FAIL, and RAISE of them; the words may stand for anything else.
    let sql = "SELECT count(*) > 0 FROM sqlite_schema WHERE tbl_name = ?1 COLLATE NOCASE AND type IN ('table', 'trigger') \
               AND (sql LIKE '%ignore%' OR sql LIKE '%fail%')";
    connection.query_row(sql, [table], |row| row.get(0)).map_err(failed)
}

/// Returns true if columns are unique together, so that rows are found by them.
pub(super) fn is_unique(connection: &Connection, table: &str, found: &SqliteTable, key: &[String]) -> Result<bool> {
    let is_same = |names: &[String]| {
        names.len() == key.len() && key.iter().all(|name| names.iter().any(|other| other.eq_ignore_ascii_case(name)))
    };
    let primary: Vec<String> =
        found.columns.iter().filter(|column| column.key_position > 0).map(|column| column.name.clone()).collect();
    if is_same(&primary) {
        return Ok(true);
    }
    let sql = "SELECT name FROM pragma_index_list(?1) WHERE \"unique\" = 1 AND partial = 0";
    let mut statement = connection.prepare(sql).map_err(failed)?;
    let rows = statement.query_map([table], |row| row.get::<_, String>(0));
    for index in rows.and_then(Iterator::collect::<rusqlite::Result<Vec<_>>>).map_err(failed)? {
        let mut statement = connection.prepare("SELECT name FROM pragma_index_info(?1)").map_err(failed)?;
        let rows = statement.query_map([index], |row| row.get::<_, Option<String>>(0));
        let names = rows.and_then(Iterator::collect::<rusqlite::Result<Option<Vec<_>>>>).map_err(failed)?;
        if names.is_some_and(|names| is_same(&names)) {
            return Ok(true);
        }
    }
    Ok(false)
}

pub(super) fn has_table(connection: &Connection, name: &str) -> Result<bool> {
    let sql = "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = ?1";
    connection.query_row(sql, [name], |row| row.get::<_, bool>(0)).map_err(failed)
}

fn kept_schema(connection: &Connection, table: &str) -> Result<Option<Schema>> {
    if !has_table(connection, SCHEMAS)? {
        return Ok(None);
    }
    let sql = format!("SELECT arrow_schema FROM {SCHEMAS} WHERE table_name = ?1");
    let text: Option<String> = connection.query_row(&sql, [table], |row| row.get(0)).optional().map_err(failed)?;
    let Some(text) = text else { return Ok(None) };
    let damaged = || Error::corrupt(format!("the Arrow schema stored in {SCHEMAS} is damaged")).at(table);
    schema_from_base64(&text).map(Some).map_err(|_| damaged())
}

/// The SQL that a table was made by.
pub(super) fn table_sql(connection: &Connection, table: &str) -> Result<String> {
    let sql = "SELECT sql FROM sqlite_schema WHERE type = 'table' AND name = ?1 COLLATE NOCASE";
    let found: Option<Option<String>> =
        connection.query_row(sql, [table], |row| row.get(0)).optional().map_err(failed)?;
    Ok(found.flatten().unwrap_or_default())
}

/// The kept types that the table's SQL confirms: another program may have made a table of this name after ours was
/// dropped.
fn only_ours(kept: &Schema, sql: &str) -> Schema {
    let is_ours = |field: &&Arc<Field>| {
        let Ok(kind) = StorageClass::for_type(field.data_type()) else { return false };
        let begin = format!("{} {}", quoted(field.name()), kind.declared());
        let rest = sql.split_once(&begin).and_then(|(_, rest)| rest.split_once("/*"));
        rest.and_then(|(_, rest)| rest.split_once("*/")).is_some_and(|(meant, _)| meant.trim() == shown_type(field))
    };
    let fields: Vec<Arc<Field>> = kept.fields().iter().filter(is_ours).cloned().collect();
    Schema::new_with_metadata(fields, kept.metadata().clone())
}

/// The text of a type in the table's SQL.
fn shown_type(field: &Field) -> String {
    print_type(field.data_type()).replace("*/", "* /")
}

/// The types that are kept of tables, as text.
pub(super) fn kept_schemas(connection: &Connection) -> Result<Vec<(String, String)>> {
    if !has_table(connection, SCHEMAS)? {
        return Ok(Vec::new());
    }
    let sql = format!("SELECT table_name, arrow_schema FROM {SCHEMAS}");
    let mut statement = connection.prepare(&sql).map_err(failed)?;
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)));
    rows.and_then(Iterator::collect).map_err(failed)
}

/// Keeps the types of a table that was made.
pub(super) fn keep_schema(connection: &Connection, table: &str, schema: &Schema) -> Result<()> {
    keep_schema_text(connection, table, &schema_to_base64(schema))
}

/// Keeps the types of a table by their text.
pub(super) fn keep_schema_text(connection: &Connection, table: &str, text: &str) -> Result<()> {
    let make = format!(
        "CREATE TABLE IF NOT EXISTS {SCHEMAS} (table_name TEXT PRIMARY KEY, arrow_schema TEXT NOT NULL) STRICT, WITHOUT ROWID"
    );
    connection.execute_batch(&make).map_err(failed)?;
    let sql = format!("INSERT OR REPLACE INTO {SCHEMAS} VALUES (?1, ?2)");
    connection.execute(&sql, params![table, text]).map(drop).map_err(failed)
}

/// Forgets the types of a table that is gone.
pub(super) fn forget_schema(connection: &Connection, table: &str) -> Result<()> {
    if !has_table(connection, SCHEMAS)? {
        return Ok(());
    }
    let sql = format!("DELETE FROM {SCHEMAS} WHERE table_name = ?1");
    connection.execute(&sql, [table]).map(drop).map_err(failed)
}

/// A known load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct KnownLoad {
    pub rows: u64,
    pub is_finished: bool,
}

/// Returns true if the loads have marks of their tables: those of earlier versions have none.
fn has_marks(connection: &Connection) -> Result<bool> {
    let sql = "SELECT count(*) FROM pragma_table_info(?1) WHERE name = 'mark'";
    connection.query_row(sql, [LOADS], |row| row.get::<_, bool>(0)).map_err(failed)
}

/// The load of a name, which a table has rows of, and its mark.
pub(super) fn find_load(
    connection: &Connection,
    table: &str,
    name: &str,
) -> Result<Option<(KnownLoad, Option<String>)>> {
    if !has_table(connection, LOADS)? {
        return Ok(None);
    }
    let mark = if has_marks(connection)? { "mark" } else { "NULL" };
    let sql = format!("SELECT rows, is_finished, {mark} FROM {LOADS} WHERE table_name = ?1 AND load_name = ?2");
    let load = connection.query_row(&sql, [table, name], |row| {
        let rows: i64 = row.get(0)?;
        Ok((KnownLoad { rows: rows.unsigned_abs(), is_finished: row.get(1)? }, row.get(2)?))
    });
    load.optional().map_err(failed)
}

/// Another version of the load's source that was started and not finished.
pub(super) fn unfinished_version(connection: &Connection, table: &str, name: &str) -> Result<Option<String>> {
    let Some((source, _)) = name.rsplit_once('@').filter(|_| has_table(connection, LOADS).unwrap_or(false)) else {
        return Ok(None);
    };
    let sql = format!("SELECT load_name FROM {LOADS} WHERE table_name = ?1 AND load_name LIKE ?2 AND is_finished = 0");
    let found = connection.query_row(&sql, [table.to_owned(), format!("{source}@%")], |row| row.get::<_, String>(0));
    let found = found.optional().map_err(failed)?;
    Ok(found.and_then(|name| name.rsplit_once('@').map(|(_, version)| version.to_owned())))
}

/// Makes the table of the loads, or gives one of an earlier version its marks.
pub(super) fn make_loads(connection: &Connection) -> Result<()> {
    let make = format!(
        "CREATE TABLE IF NOT EXISTS {LOADS} (table_name TEXT, load_name TEXT, rows INTEGER NOT NULL, \
         is_finished INTEGER NOT NULL, mark TEXT, PRIMARY KEY (table_name, load_name)) STRICT, WITHOUT ROWID"
    );
    connection.execute_batch(&make).map_err(failed)?;
    if !has_marks(connection)? {
        connection.execute_batch(&format!("ALTER TABLE {LOADS} ADD COLUMN mark TEXT")).map_err(failed)?;
    }
    Ok(())
}

/// Notes how many rows of a load the table has, in the transaction that brings them.
pub(super) fn note_load(
    connection: &Connection,
    table: &str,
    name: &str,
    load: KnownLoad,
    mark: Option<&str>,
) -> Result<()> {
    let sql = format!(
        "INSERT OR REPLACE INTO {LOADS} (table_name, load_name, rows, is_finished, mark) VALUES (?1, ?2, ?3, ?4, ?5)"
    );
    let rows = i64::try_from(load.rows).unwrap_or(i64::MAX);
    connection.execute(&sql, params![table, name, rows, load.is_finished, mark]).map(drop).map_err(failed)
}

/// The SQL that adds a column to a table; existing rows have nulls in it.
pub(super) fn add_column(table: &str, field: &Field) -> Result<String> {
    Ok(format!("ALTER TABLE {} ADD COLUMN {}", quoted(table), definition(field, "")?))
}

/// A column as a STRICT table declares it. `demanded` holds its constraints.
fn definition(field: &Field, demanded: &str) -> Result<String> {
    let kind = StorageClass::for_type(field.data_type()).map_err(|error| error.at(field.name()))?;
    let meant = shown_type(field);
    Ok(format!("{} {}{demanded} /* {meant} */", quoted(field.name()), kind.declared()))
}

/// The SQL that creates a table, with the Arrow type of each column as a comment.
pub(super) fn create_table(table: &str, schema: &Schema, key: &[String]) -> Result<String> {
    let mut lines = Vec::with_capacity(schema.fields().len() + 1);
    let mut needs_key = !key.is_empty();
    for field in schema.fields() {
        let kind = StorageClass::for_type(field.data_type()).map_err(|error| error.at(field.name()))?;
        let is_key = key.contains(field.name());
        // One integer that is the key is the row's number.
        let is_rowid = is_key && key.len() == 1 && kind == StorageClass::Integer;
        needs_key &= !is_rowid;
        let primary = if is_rowid { " PRIMARY KEY" } else { "" };
        let not_null = if is_key || !field.is_nullable() { " NOT NULL" } else { "" };
        lines.push(format!("  {}", definition(field, &format!("{primary}{not_null}"))?));
    }
    if needs_key {
        let names: Vec<String> = key.iter().map(|name| quoted(name)).collect();
        lines.push(format!("  PRIMARY KEY ({})", names.join(", ")));
    }
    Ok(format!("CREATE TABLE {} (\n{}\n) STRICT", quoted(table), lines.join(",\n")))
}
