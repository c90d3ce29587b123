//! The table that rows go to: found, made, or made aside and renamed in the end.

use std::sync::Arc;

use arrow::datatypes::{DataType, Schema};
use lakerace_format::schema_text::print_type;
use lakerace_format::suggestions::column_not_found;
use lakerace_io::{Error, Result};
use rusqlite::Connection;

use super::catalog::{
    Column, Load, Table, add_column, create_table, forget_schema, is_unique, keep_schema, takes_parts,
};
use super::error::failed;
use super::json;
use super::kind::{Affinity, Kind};
use super::location::quoted;
use super::sink::table_schema;
use super::state::forget_states;
use crate::{SinkOptions, WriteMode};

/// Tables on their way to replace others have this in front of their names.
const ASIDE: &str = "_lakerace_new_";

/// The name of the table that is to replace another one.
pub(super) fn name_aside(table: &str) -> String {
    format!("{ASIDE}{table}")
}

/// Where rows go.
pub(super) struct Target {
    /// The table's name.
    pub table: String,
    /// The name of the table that rows are inserted into.
    pub write_to: String,
    /// The columns that are written.
    pub inputs: Vec<Input>,
    /// The table may take some rows of a statement, so each has a statement of its own.
    pub takes_parts: bool,
    schema: Schema,
    /// The table is to be replaced in the end.
    replaces: bool,
}

/// A column that is written.
pub(super) struct Input {
    pub name: String,
    /// Its position in the batches.
    pub column: usize,
    /// The type that the table's column has, where that is known and another.
    pub data_type: Option<DataType>,
    /// A null is refused: rows are found by the column, or it is their number.
    pub is_key: bool,
    /// The declared type makes floats of integers.
    pub is_made_float: bool,
}

impl Target {
    /// Finds or makes the table, inside a transaction.
    pub fn prepare(
        connection: &Connection,
        table: &str,
        schema: &Schema,
        options: &SinkOptions,
        load: Option<Load>,
    ) -> Result<Self> {
        if table.starts_with("_lakerace_") || table.to_ascii_lowercase().starts_with("sqlite_") {
            return Err(Error::usage("the name is kept for lakerace or SQLite itself").advice("choose another table"));
        }
        check_names(schema)?;
        if options.mode != WriteMode::Delete {
            check_nested(schema)?;
        }
        let found = Table::find(connection, table)?;
        if found.as_ref().is_some_and(|found| found.is_view) {
            return Err(Error::unsupported("it is a view, and rows go to tables").advice("name a table"));
        }
        let aside = name_aside(table);
        let replaces = options.mode == WriteMode::Overwrite && !load.is_some_and(|load| load.is_finished);
        let write_to = if replaces { aside } else { table.to_owned() };
        let mut target = Self {
            table: table.to_owned(),
            write_to,
            inputs: Vec::new(),
            takes_parts: false,
            schema: schema.clone(),
            replaces,
        };
        let goes_on = load.is_some();
        let existing = match (options.mode, found) {
            (WriteMode::Overwrite, _) if replaces => {
                let aside = Table::find(connection, &target.write_to)?.filter(|_| goes_on);
                if aside.is_none() {
                    target.make(connection, options)?;
                }
                None
            }
            (WriteMode::Error, Some(_)) if !goes_on => {
                return Err(Error::conflict("the table exists already")
                    .advice("replace it by --mode overwrite, add to it by --mode append, or choose another name"));
            }
            (WriteMode::Delete, None) => {
                return Err(Error::not_found("there is no such table to delete rows of"));
            }
            (_, None) => {
                target.make(connection, options)?;
                // They are of a table of this name that somebody has dropped.
                forget_states(connection, table, options.job_state.as_deref())?;
                None
            }
            (_, Some(found)) => Some(found),
        };
        let existing = existing.map(|found| target.widened(connection, found, options)).transpose()?;
        match &existing {
            Some(found) => target.join(connection, found, options)?,
            None => target.inputs = all_inputs(schema, options),
        }
        Ok(target)
    }

    fn make(&self, connection: &Connection, options: &SinkOptions) -> Result<()> {
        let schema = table_schema(&self.schema, &options.key);
        let sql = create_table(&self.write_to, &schema, &options.key)?;
        connection.execute_batch(&format!("DROP TABLE IF EXISTS {}", quoted(&self.write_to))).map_err(failed)?;
        connection.execute_batch(&sql).map_err(failed)?;
        keep_schema(connection, &self.write_to, &schema)
    }

    /// A table that lakerace has made, with the columns that it lacks, where the load may add them.
    fn widened(&self, connection: &Connection, found: Table, options: &SinkOptions) -> Result<Table> {
        let Some(kept) = found.kept.as_ref().filter(|_| options.adds_columns && options.mode != WriteMode::Delete)
        else {
            return Ok(found);
        };
        let lacks: Vec<_> = self.schema.fields().iter().filter(|field| find(&found, field.name()).is_err()).collect();
        if lacks.is_empty() {
            return Ok(found);
        }
        let mut fields = kept.fields().to_vec();
        for field in lacks {
            connection.execute_batch(&add_column(&self.table, field)?).map_err(failed)?;
            // Rows of before have no value there.
            fields.push(Arc::new(field.as_ref().clone().with_nullable(true)));
        }
        keep_schema(connection, &self.table, &Schema::new_with_metadata(fields, kept.metadata().clone()))?;
        let gone = || Error::internal("the table is gone").at(&self.table);
        Table::find(connection, &self.table)?.ok_or_else(gone)
    }

    /// Takes the columns of a table that exists.
    fn join(&mut self, connection: &Connection, found: &Table, options: &SinkOptions) -> Result<()> {
        self.takes_parts = takes_parts(connection, &self.table)?;
        if matches!(options.mode, WriteMode::Upsert | WriteMode::Delete) {
            for name in &options.key {
                find(found, name)?;
            }
        }
        if options.mode == WriteMode::Upsert && !is_unique(connection, &self.table, found, &options.key)? {
            let key = options.key.join(", ");
            return Err(Error::invalid(format!("no primary key and no unique index is on ({key})")).advice(format!(
                "make one: CREATE UNIQUE INDEX {} ON {} ({key})",
                quoted(&format!("{}_key", self.table)),
                quoted(&self.table)
            )));
        }
        let is_wanted = |name: &String| options.mode != WriteMode::Delete || options.key.contains(name);
        for (position, field) in self.schema.fields().iter().enumerate() {
            if !is_wanted(field.name()) {
                continue;
            }
            let column = find(found, field.name()).map_err(|error| {
                let add = add_column(&self.table, field).map(|sql| format!("add it ({sql}), or "));
                let known = error.advice_text().map(|text| format!("{text}; ")).unwrap_or_default();
                error.advice(format!("{known}{}replace the table by --mode overwrite (mode)", add.unwrap_or_default()))
            })?;
            if column.is_generated {
                return Err(Error::invalid("it is computed from other columns")
                    .at(format!("column {:?}", column.name))
                    .advice("leave it out with --columns (columns)"));
            }
            let is_key = options.key.contains(field.name());
            self.inputs.push(join_column(found, column, field.data_type(), position, is_key, options)?);
        }
        Ok(())
    }

    /// Makes a table that was written aside the table.
    pub fn publish(&self, connection: &Connection, options: &SinkOptions) -> Result<()> {
        if !self.replaces {
            return Ok(());
        }
        let (table, aside) = (quoted(&self.table), quoted(&self.write_to));
        let more = definitions(connection, &self.table)?;
        // Views and triggers that name the table stay as they are.
        connection.pragma_update(None, "legacy_alter_table", true).map_err(failed)?;
        let swapped =
            connection.execute_batch(&format!("DROP TABLE IF EXISTS {table}; ALTER TABLE {aside} RENAME TO {table}"));
        connection.pragma_update(None, "legacy_alter_table", false).map_err(failed)?;
        swapped.map_err(failed)?;
        for (name, sql) in more {
            connection.execute_batch(&sql).map_err(|error| {
                failed(error)
                    .at(format!("index or trigger {name:?} of the table that is replaced"))
                    .advice("drop it first, or write to another table")
            })?;
        }
        forget_schema(connection, &self.write_to)?;
        forget_states(connection, &self.table, options.job_state.as_deref())?;
        keep_schema(connection, &self.table, &self.schema)
    }

    /// Removes what was written aside.
    pub fn remove_aside(&self, connection: &Connection) {
        if self.replaces {
            let _ = connection.execute_batch(&format!("DROP TABLE IF EXISTS {}", quoted(&self.write_to)));
        }
    }
}

/// SQLite knows no two names that differ in their case only.
fn check_names(schema: &Schema) -> Result<()> {
    if schema.fields().is_empty() {
        return Err(Error::invalid("the rows have no columns"));
    }
    let mut names: Vec<String> = schema.fields().iter().map(|field| field.name().to_ascii_lowercase()).collect();
    names.sort_unstable();
    match names.windows(2).find(|pair| pair[0] == pair[1]) {
        None => Ok(()),
        Some(pair) => Err(Error::invalid(format!("two columns are named {:?}, in whatever case", pair[0]))
            .advice("SQLite has no place for both: leave one out with --columns (columns)")),
    }
}

/// Nested values that can't be JSON, or not be read from it, are refused before a row is written.
fn check_nested(schema: &Schema) -> Result<()> {
    for field in schema.fields() {
        if Kind::of(field.data_type()).is_ok_and(|kind| kind == Kind::Json) {
            json::check(field.data_type()).map_err(|error| error.at(format!("column {:?}", field.name())))?;
        }
    }
    Ok(())
}

fn all_inputs(schema: &Schema, options: &SinkOptions) -> Vec<Input> {
    let fields = schema.fields().iter().enumerate();
    let inputs = fields.map(|(column, field)| Input {
        name: field.name().clone(),
        column,
        data_type: None,
        is_key: options.key.contains(field.name()),
        is_made_float: false,
    });
    inputs.collect()
}

fn find<'a>(table: &'a Table, name: &str) -> Result<&'a Column> {
    let names = table.columns.iter().map(|column| column.name.as_str());
    let found = table.columns.iter().find(|column| column.name.eq_ignore_ascii_case(name));
    found.ok_or_else(|| column_not_found(name, names))
}

fn join_column(
    table: &Table,
    column: &Column,
    from: &DataType,
    position: usize,
    is_key: bool,
    options: &SinkOptions,
) -> Result<Input> {
    let kept = table.kept.as_ref().and_then(|kept| kept.field_with_name(&column.name).ok());
    let kept = kept.map(|field| field.data_type().clone()).filter(|kept| kept != from);
    let kind = Kind::of(kept.as_ref().unwrap_or(from)).map_err(|error| error.at(&column.name))?;
    let named = |error: Error| error.at(format!("column {:?}", column.name));
    if kept.is_none() && !table.is_strict && !options.allow_narrowing {
        check_affinity(kind, column, from).map_err(named)?;
    }
    // A null in place of a row's number becomes the next number.
    let is_key = is_key || table.rowid_column() == Some(column.name.as_str());
    let is_made_float = kind == Kind::Integer && column.affinity == Affinity::Real;
    Ok(Input { name: column.name.clone(), column: position, data_type: kept, is_key, is_made_float })
}

/// A declared type that would make other values of these is an error.
fn check_affinity(kind: Kind, column: &Column, from: &DataType) -> Result<()> {
    let changes = match column.affinity {
        Affinity::None => None,
        Affinity::Text => (!kind.is_text() && kind != Kind::Bytes).then_some("texts of numbers"),
        Affinity::Integer | Affinity::Real | Affinity::Numeric => {
            matches!(kind, Kind::Text | Kind::Decimal { .. } | Kind::UnsignedLong)
                .then_some("numbers of texts such as 007")
        }
    };
    match changes {
        None => Ok(()),
        Some(what) => {
            let (declared, from) = (&column.declared, print_type(from));
            Err(Error::invalid(format!("it is declared {declared}, which makes {what}, and the rows have {from}"))
                .advice("write to another table, or allow it by --allow-narrowing (allow_narrowing)"))
        }
    }
}

/// Indexes and triggers of a table, by name and SQL.
fn definitions(connection: &Connection, table: &str) -> Result<Vec<(String, String)>> {
    let sql = "SELECT name, sql FROM sqlite_schema WHERE tbl_name = ?1 COLLATE NOCASE AND type IN ('index', 'trigger') \
               AND sql IS NOT NULL ORDER BY type, name";
    let mut statement = connection.prepare(sql).map_err(failed)?;
    let rows = statement.query_map([table], |row| Ok((row.get(0)?, row.get(1)?)));
    rows.and_then(Iterator::collect::<rusqlite::Result<Vec<_>>>).map_err(failed)
}
