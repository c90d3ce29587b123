//! The table that rows go to: an existing one, a new one, or a staging table that is renamed at the end.

use std::sync::Arc;

use arrow::datatypes::{DataType, Schema};
use lakerace_format::schema_text::{print_field_type, print_type};
use lakerace_format::suggestions::column_not_found;
use lakerace_io::option::{ALLOW_NARROWING, COLUMNS, MODE};
use lakerace_io::{Error, Result};
use rusqlite::Connection;

use super::catalog::{
    KnownLoad, SqliteTable, TableColumn, add_column, create_table, forget_schema, is_unique, keep_schema, takes_parts,
};
use super::definition::{OrphanRows, create_like, keep_number, last_number, losses, primary_key};
use super::error::failed;
use super::infer::is_time;
use super::json;
use super::kind::{StorageClass, TypeAffinity};
use super::location::{ASIDE, quoted};
use super::sink::table_schema;
use super::state::forget_states;
use super::time_form::TimestampForm;
use crate::WriteMode;
use crate::options::SinkOptions;

/// The name of the table that is to replace another one.
pub(super) fn name_aside(table: &str) -> String {
    format!("{ASIDE}{table}")
}

/// The target of rows.
pub(super) struct SqliteTarget {
    /// The table's name.
    pub table: String,
    /// The name of the table that rows are inserted into.
    pub write_to: String,
    /// The columns that are written.
    pub inputs: Vec<InputColumn>,
    /// True if the table may take only some rows of a statement, so that each row needs a separate statement.
    pub takes_parts: bool,
    schema: Schema,
    /// The table is to be replaced in the end.
    replaces: bool,
}

/// A column that is written.
pub(super) struct InputColumn {
    pub name: String,
    /// Its position in the batches.
    pub column: usize,
    /// The type that the table's column has, where that is known and another.
    pub data_type: Option<DataType>,
    /// A null is refused: rows are found by the column, or it is their number.
    pub is_key: bool,
    /// The declared type makes floats of integers.
    pub is_made_float: bool,
    /// The declared type makes numbers of texts that look like some: each value must stay the same.
    pub is_made_number: Option<TypeAffinity>,
    /// The declared type keeps floats only, and narrowing is allowed: numbers become the nearest floats.
    pub is_rounded: bool,
    /// The form of timestamps, if it is that of another program.
    pub form: Option<TimestampForm>,
}

impl SqliteTarget {
    /// Finds or makes the table, inside a transaction.
    pub fn prepare(
        connection: &Connection,
        table: &str,
        schema: &Schema,
        options: &SinkOptions,
        load: Option<KnownLoad>,
    ) -> Result<Self> {
        if table.starts_with("_lakerace_") || table.to_ascii_lowercase().starts_with("sqlite_") {
            return Err(Error::usage("the name is reserved for lakerace or SQLite").advice("choose another table"));
        }
        check_names(schema)?;
        if options.mode != WriteMode::Delete {
            check_nested(schema)?;
        }
        let found = SqliteTable::find(connection, table)?;
        if found.as_ref().is_some_and(|found| found.is_view) {
            return Err(Error::unsupported("it is a view, which rows can't be written to").advice("name a table"));
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
            (WriteMode::Overwrite, found) if replaces => {
                let aside = SqliteTable::find(connection, &target.write_to)?.filter(|_| goes_on);
                if aside.is_none() {
                    target.make_aside(connection, found, options)?;
                }
                SqliteTable::find(connection, &target.write_to)?
            }
            (WriteMode::Error, Some(_)) if !goes_on => {
                return Err(Error::conflict("the table already exists").advice(format!(
                    "replace it with {}, add to it with {}, or choose another name",
                    MODE.to("overwrite"),
                    MODE.to("append")
                )));
            }
            (WriteMode::Delete, None) => {
                return Err(Error::not_found("there is no such table to delete rows from"));
            }
            (_, None) => {
                target.make(connection, &options.key)?;
                // The states belong to a dropped table of the same name.
                forget_states(connection, table, options.job_state.as_deref())?;
                None
            }
            (_, Some(found)) => Some(found),
        };
        let widens = !replaces;
        let existing = match existing {
            Some(found) if widens => Some(target.widened(connection, found, options)?),
            other => other,
        };
        match &existing {
            Some(found) => target.join(connection, found, options)?,
            None => target.inputs = all_inputs(schema, options),
        }
        Ok(target)
    }

    /// Makes the table that takes the place of another one: of the same definition where the rows fit it.
    fn make_aside(&self, connection: &Connection, found: Option<SqliteTable>, options: &SinkOptions) -> Result<()> {
        let Some(found) = found else { return self.make(connection, &options.key) };
        if found.is_virtual {
            return Err(Error::unsupported("it is a virtual table, which can't be replaced")
                .advice(format!("drop it first, or use {}", MODE.to("append"))));
        }
        let Err(misfit) = self.fits(connection, &found, options) else {
            let sql = create_like(connection, &self.table, &self.write_to)?;
            connection.execute_batch(&format!("DROP TABLE IF EXISTS {}", quoted(&self.write_to))).map_err(failed)?;
            connection.execute_batch(&sql).map_err(failed)?;
            return match &found.kept {
                Some(kept) => keep_schema(connection, &self.write_to, kept),
                None => forget_schema(connection, &self.write_to),
            };
        };
        let primary = primary_key(&found);
        let has_key = primary.iter().all(|name| self.schema.field_with_name(name).is_ok());
        let key = match options.key.is_empty() && found.kept.is_some() && has_key {
            true => primary,
            false => options.key.clone(),
        };
        let lost = losses(connection, &self.table, &found, &self.schema, &key)?;
        if !lost.is_empty() {
            let message =
                format!("{}; a new table would lack what this one declares: {}", misfit.message(), lost.join("; "));
            return Err(Error::unsupported(message).advice(format!(
                "give rows that fit its columns, select some with {COLUMNS}, or drop the table first"
            )));
        }
        self.make(connection, &key)
    }

    /// Why rows don't fit the definition of a table that they replace the rows of.
    fn fits(&self, connection: &Connection, found: &SqliteTable, options: &SinkOptions) -> Result<()> {
        if !options.key.is_empty() && !is_unique(connection, &self.table, found, &options.key)? {
            return Err(Error::invalid(format!("({}) is not a key of the table", options.key.join(", "))));
        }
        for (position, field) in self.schema.fields().iter().enumerate() {
            let column = find(found, field.name())?;
            let named = |what: String| Err(Error::invalid(format!("column {:?} {what}", field.name())));
            if column.is_generated {
                return named("is computed".to_owned());
            }
            let kept = found.kept.as_ref().and_then(|kept| kept.field_with_name(&column.name).ok());
            if let Some(kept) = kept.filter(|kept| kept.data_type() != field.data_type()) {
                let (before, now) = (print_field_type(kept), print_field_type(field));
                return named(format!("is {before} and would become {now}"));
            }
            let is_filled = column.is_nullable || !field.is_nullable() || options.key.contains(field.name());
            if kept.is_some() && column.key_position == 0 && !is_filled {
                return named("would get nulls".to_owned());
            }
            join_column(found, column, field.data_type(), position, false, options)?;
        }
        let columns = found.columns.iter().filter(|column| !column.is_generated).count();
        if found.kept.is_some() && columns != self.schema.fields().len() {
            return Err(Error::invalid("the rows lack columns of the table"));
        }
        Ok(())
    }

    fn make(&self, connection: &Connection, key: &[String]) -> Result<()> {
        let schema = table_schema(&self.schema, key);
        let sql = create_table(&self.write_to, &schema, key)?;
        connection.execute_batch(&format!("DROP TABLE IF EXISTS {}", quoted(&self.write_to))).map_err(failed)?;
        connection.execute_batch(&sql).map_err(failed)?;
        keep_schema(connection, &self.write_to, &schema)
    }

    /// A table that lakerace has made, with the columns that it lacks, where the load may add them.
    fn widened(&self, connection: &Connection, found: SqliteTable, options: &SinkOptions) -> Result<SqliteTable> {
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
            // Earlier rows have no value in it.
            fields.push(Arc::new(field.as_ref().clone().with_nullable(true)));
        }
        keep_schema(connection, &self.table, &Schema::new_with_metadata(fields, kept.metadata().clone()))?;
        let gone = || Error::internal("the table is gone").at(&self.table);
        SqliteTable::find(connection, &self.table)?.ok_or_else(gone)
    }

    /// Takes the columns of a table that exists.
    fn join(&mut self, connection: &Connection, found: &SqliteTable, options: &SinkOptions) -> Result<()> {
        self.takes_parts = takes_parts(connection, &self.write_to)?;
        if matches!(options.mode, WriteMode::Upsert | WriteMode::Delete | WriteMode::Append) {
            for name in &options.key {
                find(found, name)?;
            }
        }
        // The key of an append means that rows whose key exists are refused, which requires an index.
        let needs_index = match options.mode {
            WriteMode::Upsert => true,
            WriteMode::Append => !options.key.is_empty(),
            _ => false,
        };
        if needs_index && !is_unique(connection, &self.table, found, &options.key)? {
            let key = options.key.join(", ");
            return Err(Error::invalid(format!("no primary key and no unique index covers ({key})")).advice(format!(
                "create one: CREATE UNIQUE INDEX {} ON {} ({key})",
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
                error.advice(format!(
                    "{known}{}replace the table with {}",
                    add.unwrap_or_default(),
                    MODE.to("overwrite")
                ))
            })?;
            if column.is_generated {
                return Err(Error::invalid("it is computed from other columns")
                    .at(format!("column {:?}", column.name))
                    .advice(format!("exclude it with {COLUMNS}")));
            }
            let is_key = options.key.contains(field.name());
            let mut input = join_column(found, column, field.data_type(), position, is_key, options)?;
            input.form = timestamp_form(connection, &self.table, found, column, field.data_type())?;
            self.inputs.push(input);
        }
        Ok(())
    }

    /// Replaces the table by the staging table.
    pub fn publish(&self, connection: &Connection, options: &SinkOptions) -> Result<()> {
        if !self.replaces {
            return Ok(());
        }
        let (table, aside) = (quoted(&self.table), quoted(&self.write_to));
        let more = definitions(connection, &self.table)?;
        let has_table = SqliteTable::find(connection, &self.table)?.is_some();
        let orphans = if has_table { Some(OrphanRows::count(connection, &self.table)?) } else { None };
        let last = last_number(connection, &self.table)?;
        let kept = SqliteTable::find(connection, &self.write_to)?.and_then(|aside| aside.kept);
        // Views and triggers that name the table stay unchanged.
        connection.pragma_update(None, "legacy_alter_table", true).map_err(failed)?;
        let swapped =
            connection.execute_batch(&format!("DROP TABLE IF EXISTS {table}; ALTER TABLE {aside} RENAME TO {table}"));
        connection.pragma_update(None, "legacy_alter_table", false).map_err(failed)?;
        swapped.map_err(failed)?;
        for (name, sql) in more {
            connection.execute_batch(&sql).map_err(|error| {
                failed(error)
                    .at(format!("index or trigger {name:?} of the table to be replaced"))
                    .advice("drop it first, or write to another table")
            })?;
        }
        orphans.map_or(Ok(()), |orphans| orphans.check(connection, &self.table))?;
        keep_number(connection, &self.table, last)?;
        forget_schema(connection, &self.write_to)?;
        forget_states(connection, &self.table, options.job_state.as_deref())?;
        match kept {
            Some(kept) => keep_schema(connection, &self.table, &kept),
            None => forget_schema(connection, &self.table),
        }
    }

    /// Removes the staging table.
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
        Some(pair) => {
            Err(Error::invalid(format!("two columns are named {:?}, apart from upper and lower case", pair[0]))
                .advice(format!("SQLite can't have both: exclude one with {COLUMNS}")))
        }
    }
}

/// Nested values that can't be JSON, or not be read from it, are refused before a row is written.
fn check_nested(schema: &Schema) -> Result<()> {
    for field in schema.fields() {
        if StorageClass::for_type(field.data_type()).is_ok_and(|kind| kind == StorageClass::Json) {
            json::check(field.data_type()).map_err(|error| error.at(format!("column {:?}", field.name())))?;
        }
    }
    Ok(())
}

fn all_inputs(schema: &Schema, options: &SinkOptions) -> Vec<InputColumn> {
    let fields = schema.fields().iter().enumerate();
    let inputs = fields.map(|(column, field)| InputColumn {
        name: field.name().clone(),
        column,
        data_type: None,
        is_key: options.key.contains(field.name()),
        is_made_float: false,
        is_made_number: None,
        is_rounded: false,
        form: None,
    });
    inputs.collect()
}

fn find<'a>(table: &'a SqliteTable, name: &str) -> Result<&'a TableColumn> {
    let names = table.columns.iter().map(|column| column.name.as_str());
    let found = table.columns.iter().find(|column| column.name.eq_ignore_ascii_case(name));
    found.ok_or_else(|| column_not_found(name, names))
}

fn join_column(
    table: &SqliteTable,
    column: &TableColumn,
    from: &DataType,
    position: usize,
    is_key: bool,
    options: &SinkOptions,
) -> Result<InputColumn> {
    let kept = table.kept.as_ref().and_then(|kept| kept.field_with_name(&column.name).ok());
    let kept = kept.map(|field| field.data_type().clone()).filter(|kept| kept != from);
    let kind = StorageClass::for_type(kept.as_ref().unwrap_or(from)).map_err(|error| error.at(&column.name))?;
    let named = |error: Error| error.at(format!("column {:?}", column.name));
    let is_checked = kept.is_none() && !options.allow_narrowing;
    if is_checked {
        check_affinity(kind, column, from).map_err(named)?;
    }
    let has_numbers = matches!(column.affinity, TypeAffinity::Integer | TypeAffinity::Real | TypeAffinity::Numeric);
    let is_changed = matches!(kind, StorageClass::Text | StorageClass::Decimal { .. } | StorageClass::UnsignedLong);
    let is_made_number = (is_checked && has_numbers && is_changed).then_some(column.affinity);
    // A null in place of a row's number becomes the next number.
    let is_key = is_key || table.rowid_column() == Some(column.name.as_str());
    let keeps_floats = kept.is_none() && column.affinity == TypeAffinity::Real;
    let is_made_float = is_checked && keeps_floats && kind == StorageClass::Integer;
    let is_number = matches!(kind, StorageClass::Integer | StorageClass::UnsignedLong | StorageClass::Decimal { .. });
    let is_rounded = options.allow_narrowing && keeps_floats && is_number;
    let name = column.name.clone();
    let data_type = kept;
    Ok(InputColumn { name, column: position, data_type, is_key, is_made_float, is_made_number, is_rounded, form: None })
}

/// The form of timestamps in a column that another program made: that of the table's texts, or that of its declared type.
fn timestamp_form(
    connection: &Connection,
    table: &str,
    found: &SqliteTable,
    column: &TableColumn,
    from: &DataType,
) -> Result<Option<TimestampForm>> {
    let is_kept = found.kept.as_ref().is_some_and(|kept| kept.field_with_name(&column.name).is_ok());
    if is_kept || !matches!(StorageClass::for_type(from)?, StorageClass::Timestamp { .. }) {
        return Ok(None);
    }
    let declared = || is_time(&column.declared.to_ascii_uppercase()).then(TimestampForm::of_declared);
    Ok(TimestampForm::of_column(connection, table, &column.name)?.or_else(declared))
}

/// A declared type that makes texts of all values is an error.
fn check_affinity(kind: StorageClass, column: &TableColumn, from: &DataType) -> Result<()> {
    if column.affinity != TypeAffinity::Text || kind.is_text() || kind == StorageClass::Bytes {
        return Ok(());
    }
    let (declared, from) = (&column.declared, print_type(from));
    Err(Error::invalid(format!("it is declared {declared}, which stores numbers as text, but the rows have {from}"))
        .advice(format!("write to another table, or allow this with {ALLOW_NARROWING}")))
}

/// Indexes and triggers of a table, by name and SQL.
fn definitions(connection: &Connection, table: &str) -> Result<Vec<(String, String)>> {
    let sql = "SELECT name, sql FROM sqlite_schema WHERE tbl_name = ?1 COLLATE NOCASE AND type IN ('index', 'trigger') \
               AND sql IS NOT NULL ORDER BY type, name";
    let mut statement = connection.prepare(sql).map_err(failed)?;
    let rows = statement.query_map([table], |row| Ok((row.get(0)?, row.get(1)?)));
    rows.and_then(Iterator::collect::<rusqlite::Result<Vec<_>>>).map_err(failed)
}
