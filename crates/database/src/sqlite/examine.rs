//! The checks of a load before its first row, in a database in memory that has the definitions of the file.

use arrow::datatypes::SchemaRef;
use lakerace_io::{Error, Job, Result};
use rusqlite::{Connection, params};

use super::catalog::{SqliteTable, keep_schema_text, kept_schemas};
use super::connect::{check_new_file, to_read};
use super::error::failed;
use super::location::DatabasePlace;
use super::sink::{InsertStatements, known_load};
use super::target::SqliteTarget;
use crate::options::SinkOptions;

/// Fails where a load would fail before its first row. Returns true if the table exists.
pub(super) fn examine(location: &str, schema: &SchemaRef, options: &SinkOptions, job: &Job) -> Result<bool> {
    let place = DatabasePlace::parse(location)?;
    let table = place.table()?;
    let checked = (|| {
        let scratch = Connection::open_in_memory().map_err(failed)?;
        let load = match place.path().exists() {
            true => {
                let file = to_read(place.path(), job)?;
                copy_definitions(&file, &scratch, &table)?;
                known_load(&file, &table, schema, options)?
            }
            false => {
                check_new_file(place.path(), job)?;
                None
            }
        };
        let exists = SqliteTable::find(&scratch, &table)?.is_some();
        let target = SqliteTarget::prepare(&scratch, &table, schema, options, load)?;
        InsertStatements::prepare(&scratch, &target, options).map_err(failed)?;
        Ok(exists)
    })();
    checked.map_err(|error: Error| error.at(place.shown()))
}

/// Makes the tables, views, indexes and triggers of a database in another one, and the types that lakerace keeps of
/// tables.
fn copy_definitions(from: &Connection, to: &Connection, table: &str) -> Result<()> {
    let encoding: String = from.query_row("PRAGMA encoding", [], |row| row.get(0)).map_err(failed)?;
    to.pragma_update(None, "encoding", encoding).map_err(failed)?;
    let sql = "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' \
               ORDER BY CASE type WHEN 'table' THEN 0 WHEN 'view' THEN 1 ELSE 2 END, rowid";
    let mut statement = from.prepare(sql).map_err(failed)?;
    let definitions = statement.query_map([], |row| row.get::<_, String>(0)).map_err(failed)?;
    for definition in definitions {
        // A virtual table makes its own tables, and an index may need a function of its program: the table itself counts.
        let _ = to.execute_batch(&definition.map_err(failed)?);
    }
    if SqliteTable::find(from, table)?.is_some() != has_relation(to, table)? {
        return Err(Error::unsupported("its definition needs a module that is missing"));
    }
    for (name, text) in kept_schemas(from)? {
        keep_schema_text(to, &name, &text)?;
    }
    Ok(())
}

/// Returns true if there is a table or a view of a name.
fn has_relation(connection: &Connection, name: &str) -> Result<bool> {
    let sql = "SELECT count(*) > 0 FROM pragma_table_list WHERE schema = 'main' AND name = ?1 COLLATE NOCASE";
    connection.query_row(sql, params![name], |row| row.get(0)).map_err(failed)
}
