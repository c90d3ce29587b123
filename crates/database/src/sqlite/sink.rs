//! Rows on their way into a table.

use std::path::Path;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef};
use arrow::compute::{CastOptions, cast_with_options};
use arrow::datatypes::{DataType, Schema, SchemaRef};
use arrow::record_batch::RecordBatch;
use lakerace_format::schema_text::print_type;
use lakerace_format::{Narrowing, Sink, Written};
use lakerace_io::option::{ALLOW_NARROWING, AT, MODE, RESUME};
use lakerace_io::{Error, Job, RequestKind, Result};
use lakerace_sqlite::Statement;
use rusqlite::{Connection, ErrorCode};

use super::catalog::{self, KnownLoad};
use super::connect::to_write;
use super::decode::EXACT_IN_FLOAT;
use super::encode::{BoundValues, as_floats, refuse_unreadable};
use super::error::{failed, text_of};
use super::location::{DatabasePlace, TableRelation, quoted};
use super::mark::TableFingerprint;
use super::state::check_owner;
use super::target::{InputColumn, SqliteTarget, name_aside};
use crate::WriteMode;
use crate::dead_letter::DeadLetters;
use crate::narrowing::{nan_as_null, with_columns};
use crate::options::SinkOptions;

/// The approximate number of parameters of a statement: more rows together save little.
const STATEMENT_PARAMETERS: usize = 640;
/// Rows of a statement at most.
const STATEMENT_ROWS: usize = 64;
/// Memory for pages that are not yet written, in KiB.
const CACHE_KIB: u32 = 64 << 10;

/// Writes rows into a table, a transaction for each checkpoint.
pub(super) struct SqliteSink {
    /// Dropped before their connection.
    statements: InsertStatements,
    connection: Connection,
    place: DatabasePlace,
    target: SqliteTarget,
    options: SinkOptions,
    letters: Option<DeadLetters>,
    /// Rows of the load that were committed, those of earlier runs included.
    committed: u64,
    /// Rows that this run was given.
    taken: u64,
    acknowledged: u64,
    confirmed: u64,
    /// True if the load had finished before this run started.
    was_finished: bool,
    /// This sink made the file, and nothing in it is committed.
    made_file: bool,
    is_done: bool,
    bytes_before: u64,
    job: Job,
}

/// The statements of one row, and of many.
pub(super) struct InsertStatements {
    one: Statement,
    many: Statement,
    many_rows: usize,
    /// True if each row is a change. A delete finds no row, or several; an upsert of keys alone changes no existing
    /// row.
    changes_each: bool,
}

impl SqliteSink {
    pub fn create(location: &str, schema: &SchemaRef, options: &SinkOptions, job: &Job) -> Result<Box<dyn Sink>> {
        let place = DatabasePlace::parse(location)?;
        let table = place.table()?;
        let made_file = !place.path().exists();
        let mut sink_place = place.clone();
        let begun = (|| {
            let connection = to_write(place.path(), job)?;
            connection
                .execute_batch(&format!("PRAGMA cache_size = -{CACHE_KIB}; PRAGMA temp_store = FILE"))
                .map_err(failed)?;
            // A replaced table's rows are referred to by rows of others, which stay.
            let checks_references = options.mode != WriteMode::Overwrite;
            connection.pragma_update(None, "foreign_keys", checks_references).map_err(failed)?;
            begin(&connection, &table, options)?;
            let load = known_load(&connection, &table, schema, options)?;
            let target = SqliteTarget::prepare(&connection, &table, schema, options, load)?;
            let statements = InsertStatements::prepare(&connection, &target, options).map_err(failed)?;
            Ok((statements, connection, target, load))
        })();
        let (statements, connection, target, load) = match begun {
            Ok(begun) => begun,
            Err(error) => {
                if made_file {
                    remove_database(place.path());
                }
                return Err(Error::at(error, place.shown()));
            }
        };
        sink_place.relation = TableRelation::Table(table);
        let acknowledged = load.map_or(0, |load| load.rows);
        let letters = DeadLetters::create(options, job)?;
        let bytes_before = size(&connection).unwrap_or(0);
        Ok(Box::new(Self {
            connection,
            place: sink_place,
            target,
            options: options.clone(),
            letters,
            statements,
            committed: acknowledged,
            taken: 0,
            acknowledged,
            confirmed: 0,
            was_finished: load.is_some_and(|load| load.is_finished),
            made_file,
            is_done: false,
            bytes_before,
            job: job.clone(),
        }))
    }
}

/// Begins a transaction, in which no other run can take the target over.
fn begin(connection: &Connection, table: &str, options: &SinkOptions) -> Result<()> {
    connection.execute_batch("BEGIN IMMEDIATE").map_err(failed)?;
    options.fence.as_ref().map_or(Ok(()), |fence| check_owner(connection, table, fence))
}

/// The database's note of the load that continues; `None` for a load that starts.
pub(super) fn known_load(
    connection: &Connection,
    table: &str,
    schema: &Schema,
    options: &SinkOptions,
) -> Result<Option<KnownLoad>> {
    let Some(name) = options.load_name.as_deref().filter(|_| options.resume) else { return Ok(None) };
    let Some((load, mark)) = catalog::find_load(connection, table, name)? else {
        let Some(version) = catalog::unfinished_version(connection, table, name)? else { return Ok(None) };
        return Err(Error::conflict(format!(
            "the load that was started is of another version of the source: {version}"
        ))
        .advice(format!(
            "resume with that version of the source ({} for a Delta table), or start the load again without {RESUME}",
            AT.to("VERSION")
        )));
    };
    let is_aside = options.mode == WriteMode::Overwrite && !load.is_finished;
    let holder = if is_aside { name_aside(table) } else { table.to_owned() };
    let columns = schema.fields().iter().map(|field| field.name());
    let columns = columns.filter(|name| options.mode != WriteMode::Delete || options.key.contains(name));
    let columns: Vec<&str> = columns.map(String::as_str).collect();
    if TableFingerprint::is_of(connection, &holder, &columns, mark.as_deref())? {
        return Ok(Some(load));
    }
    if options.mode == WriteMode::Append {
        return Err(Error::conflict("the table that the load started with is gone, or another table has its name")
            .advice(format!("start the load again, without {RESUME}")));
    }
    // The other modes make the table, or find rows by their key: all rows may come again.
    Ok(None)
}

/// Removes a database that nothing was committed to.
fn remove_database(path: &Path) {
    for ending in ["", "-journal", "-wal", "-shm"] {
        let mut name = path.as_os_str().to_owned();
        name.push(ending);
        let _ = std::fs::remove_file(name);
    }
}

fn size(connection: &Connection) -> Option<u64> {
    let sql = "SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()";
    connection.query_row(sql, [], |row| row.get::<_, i64>(0)).ok().map(i64::unsigned_abs)
}

impl InsertStatements {
    pub(super) fn prepare(
        connection: &Connection,
        target: &SqliteTarget,
        options: &SinkOptions,
    ) -> rusqlite::Result<Self> {
        let table = quoted(&target.write_to);
        let columns: Vec<String> = target.inputs.iter().map(|input| quoted(&input.name)).collect();
        let changes_each = match options.mode {
            WriteMode::Error | WriteMode::Overwrite | WriteMode::Append => true,
            WriteMode::Upsert => target.inputs.iter().any(|input| !options.key.contains(&input.name)),
            WriteMode::Delete => false,
        };
        let (one, many, many_rows) = if options.mode == WriteMode::Delete {
            let conditions: Vec<String> = columns.iter().map(|column| format!("{column} = ?")).collect();
            let one = format!("DELETE FROM {table} WHERE {}", conditions.join(" AND "));
            (one.clone(), one, 1)
        } else {
            let most_rows = if target.takes_parts { 1 } else { STATEMENT_ROWS };
            let many_rows = (STATEMENT_PARAMETERS / columns.len().max(1)).clamp(1, most_rows);
            let row = format!("({})", vec!["?"; columns.len()].join(", "));
            let conflict = if options.mode == WriteMode::Upsert { on_conflict(target, options) } else { String::new() };
            let insert = |rows: usize| {
                let rows = vec![row.as_str(); rows].join(", ");
                format!("INSERT INTO {table} ({}) VALUES {rows}{conflict}", columns.join(", "))
            };
            (insert(1), insert(many_rows), many_rows)
        };
        let prepare = |sql: &str| Statement::prepare(connection, sql).map_err(rusqlite::Error::from);
        Ok(Self { one: prepare(&one)?, many: prepare(&many)?, many_rows, changes_each })
    }

    /// Runs a statement for `rows` rows, one or [`Self::many_rows`]; gives why the table does not take them.
    fn run(&mut self, columns: &[BoundValues], first: usize, rows: usize) -> Result<Option<RowRejection>> {
        let values = (first..first + rows).flat_map(|row| columns.iter().map(move |values| values.value(row)));
        let statement = if rows == 1 { &mut self.one } else { &mut self.many };
        match statement.run(values).map_err(rusqlite::Error::from) {
            Ok(changed) if !self.changes_each || changed == rows as u64 => Ok(None),
            // A row that replaces others is one change; changes by triggers are not counted.
            Ok(_) if rows == 1 => Ok(Some(RowRejection::ignored())),
            Ok(changed) => Err(Error::invalid(format!("the table accepted {changed} of {rows} rows without an error"))
                .advice("check the table's triggers, or write to another table")),
            Err(error) => match error.sqlite_error_code() {
                Some(ErrorCode::ConstraintViolation | ErrorCode::TypeMismatch | ErrorCode::TooBig) => {
                    Ok(Some(RowRejection::from_error(&error)))
                }
                _ => Err(failed(error)),
            },
        }
    }
}

fn on_conflict(target: &SqliteTarget, options: &SinkOptions) -> String {
    let key: Vec<String> = options.key.iter().map(|name| quoted(name)).collect();
    let others = target.inputs.iter().filter(|input| !options.key.contains(&input.name));
    let sets: Vec<String> = others.map(|input| format!("{0} = excluded.{0}", quoted(&input.name))).collect();
    let what = if sets.is_empty() { "NOTHING".to_owned() } else { format!("UPDATE SET {}", sets.join(", ")) };
    format!(" ON CONFLICT ({}) DO {what}", key.join(", "))
}

impl SqliteSink {
    fn put(&mut self, batch: &RecordBatch) -> Result<()> {
        let allow = self.options.allow_narrowing;
        let first_row = self.acknowledged + self.taken + 1;
        let columns = self.target.inputs.iter().map(|input| {
            let named = |error: Error| error.at(format!("column {:?}", input.name));
            let fitted = fit(batch.column(input.column), &input.data_type, allow).map_err(named)?;
            refuse_unreadable(&fitted, first_row).map_err(named)?;
            let fitted = if input.is_rounded { as_floats(&fitted).map_err(named)? } else { fitted };
            let values = BoundValues::from_array(&fitted, input.form.as_ref()).map_err(named)?;
            Ok(match input.is_made_number {
                Some(affinity) => values.with_numbers(&fitted, affinity),
                None => values,
            })
        });
        let columns = columns.collect::<Result<Vec<_>>>()?;
        let rows = batch.num_rows();
        let inspects = self.target.inputs.iter().zip(&columns).any(|(input, values)| input.needs_look(values, rows));
        let mut at = 0;
        while at < batch.num_rows() {
            let rows = self.statements.many_rows.min(batch.num_rows() - at);
            let is_whole = rows == self.statements.many_rows && !inspects;
            if is_whole && self.statements.run(&columns, at, rows)?.is_none() {
                self.confirmed += rows as u64;
            } else {
                for row in at..at + rows {
                    self.put_one(batch, &columns, row)?;
                }
            }
            at += rows;
        }
        self.taken += batch.num_rows() as u64;
        self.job.meter().wrote_rows(batch.num_rows() as u64);
        Ok(())
    }

    fn put_one(&mut self, batch: &RecordBatch, columns: &[BoundValues], row: usize) -> Result<()> {
        let mut inputs = self.target.inputs.iter().zip(columns);
        let found = inputs.find_map(|(input, values)| input.misfit(values, row, self.options.allow_narrowing));
        let reason = match found {
            Some(reason) => Some(RowRejection { reason, is_duplicate: false }),
            None => self.statements.run(columns, row, 1)?,
        };
        let Some(rejection) = reason else {
            self.confirmed += 1;
            return Ok(());
        };
        match &self.letters {
            Some(letters) => letters.reject(batch, row, &rejection.reason),
            None => {
                let number = self.acknowledged + self.taken + row as u64 + 1;
                let new_error = if rejection.is_duplicate { Error::conflict } else { Error::invalid };
                Err(new_error(rejection.reason)
                    .at(format!("row {number} of the load"))
                    .advice(self.options.advice_on_rejected()))
            }
        }
    }

    fn note(&mut self, is_finished: bool) -> Result<()> {
        self.committed = self.acknowledged + self.taken;
        let Some(name) = &self.options.load_name else { return Ok(()) };
        // The mark changes with every change of a table's definition, so the journal's table is created first.
        catalog::make_loads(&self.connection)?;
        let holder = if is_finished { &self.target.table } else { &self.target.write_to };
        let columns: Vec<&str> = self.target.inputs.iter().map(|input| input.name.as_str()).collect();
        let mark = TableFingerprint::read(&self.connection, holder, &columns)?.map(|mark| mark.text()).transpose()?;
        let load = KnownLoad { rows: self.committed, is_finished };
        catalog::note_load(&self.connection, &self.target.table, name, load, mark.as_deref())
    }

    fn commit(&mut self) -> Result<()> {
        if let Some(letters) = &self.letters {
            letters.flush()?;
        }
        self.connection.execute_batch("COMMIT").map_err(failed)?;
        self.job.meter().count(RequestKind::Put, 1);
        if std::mem::take(&mut self.made_file) {
            self.job.note_name(self.place.path());
            self.job.sync_folders()?;
        }
        Ok(())
    }

    fn end(&mut self) -> Result<()> {
        if !self.was_finished {
            self.target.publish(&self.connection, &self.options)?;
        }
        self.note(true)?;
        self.commit()?;
        self.is_done = true;
        Ok(())
    }
}

impl Sink for SqliteSink {
    fn write(&mut self, batch: RecordBatch) -> Result<()> {
        self.put(&batch).map_err(|error| error.at(self.place.shown()))
    }

    fn checkpoint(&mut self) -> Result<()> {
        let done = (|| {
            self.note(false)?;
            self.commit()?;
            begin(&self.connection, &self.target.table, &self.options)
        })();
        done.map_err(|error| error.at(self.place.shown()))
    }

    fn acknowledged_rows(&self) -> u64 {
        self.acknowledged
    }

    fn narrowing(&self) -> Option<Narrowing> {
        if !self.options.allow_narrowing {
            return None;
        }
        let inputs = self.target.inputs.iter();
        let inputs: Vec<_> = inputs.map(|input| (input.column, input.data_type.clone(), input.is_rounded)).collect();
        Some(Arc::new(move |batch| {
            let mut columns = batch.columns().to_vec();
            for (column, data_type, is_rounded) in &inputs {
                let fitted = fit(batch.column(*column), data_type, true)?;
                columns[*column] = nan_as_null(&if *is_rounded { as_floats(&fitted)? } else { fitted })?;
            }
            with_columns(batch, columns)
        }))
    }

    fn finish(mut self: Box<Self>) -> Result<Written> {
        self.end().map_err(|error| error.at(self.place.shown()))?;
        let bytes = size(&self.connection).unwrap_or(0).saturating_sub(self.bytes_before);
        self.job.meter().wrote_bytes(bytes);
        Ok(Written {
            rows: self.confirmed,
            bytes,
            files: vec![self.place.path().display().to_string()],
            rejected: self.letters.as_ref().map_or(0, DeadLetters::rows),
            ..Written::default()
        })
    }
}

impl Drop for SqliteSink {
    fn drop(&mut self) {
        if self.is_done {
            return;
        }
        if !self.connection.is_autocommit() {
            let _ = self.connection.execute_batch("ROLLBACK");
        }
        // A staging table that no later run can continue is removed.
        if self.options.load_name.is_none() && self.committed > 0 {
            self.target.remove_aside(&self.connection);
        }
        if self.made_file {
            remove_database(self.place.path());
        }
    }
}

/// Why a table does not take a row, without its values.
struct RowRejection {
    reason: String,
    is_duplicate: bool,
}

impl RowRejection {
    /// A table that leaves a row out without an error.
    fn ignored() -> Self {
        let reason = "the table ignored the row, because of ON CONFLICT IGNORE or a trigger".to_owned();
        Self { reason, is_duplicate: false }
    }

    fn from_error(error: &rusqlite::Error) -> Self {
        let unique = [
            rusqlite::ffi::SQLITE_CONSTRAINT_UNIQUE,
            rusqlite::ffi::SQLITE_CONSTRAINT_PRIMARYKEY,
            rusqlite::ffi::SQLITE_CONSTRAINT_ROWID,
        ];
        Self {
            reason: text_of(error),
            is_duplicate: error.sqlite_extended_error_code().is_some_and(|code| unique.contains(&code)),
        }
    }
}

impl InputColumn {
    /// Returns true if rows have to be looked at one by one.
    fn needs_look(&self, values: &BoundValues, rows: usize) -> bool {
        let is_rounded = || matches!(values, BoundValues::Integers(array) if array.iter().flatten().any(is_rounded));
        let is_changed = |affinity| (0..rows).any(|row| !values.stays_in_numbers(row, affinity));
        values.has_nan()
            || (self.is_key && values.has_null())
            || (self.is_made_float && is_rounded())
            || self.is_made_number.is_some_and(is_changed)
    }

    /// Why the table would change a value, or could not find its row again.
    fn misfit(&self, values: &BoundValues, row: usize, allow_narrowing: bool) -> Option<String> {
        let name = &self.name;
        if self.is_key && values.is_null(row) {
            return Some(format!("the key column {name:?} is null"));
        }
        if !allow_narrowing && values.is_nan(row) {
            return Some(format!(
                "column {name:?} is NaN, which SQLite stores as null (allow this with {ALLOW_NARROWING})"
            ));
        }
        if self.is_made_number.is_some_and(|affinity| !values.stays_in_numbers(row, affinity)) {
            return Some(format!(
                "column {name:?} has a value that its declared type changes to another number (allow this with \
                 {ALLOW_NARROWING})"
            ));
        }
        match values {
            BoundValues::Integers(array)
                if self.is_made_float && array.is_valid(row) && is_rounded(array.value(row)) =>
            {
                Some(format!(
                    "column {name:?} has an integer beyond 2^53, which its declared type makes a float (allow the nearest \
                     float with {ALLOW_NARROWING})"
                ))
            }
            _ => None,
        }
    }
}

/// Returns true if a float may round the integer: beyond 2^53, not all are floats.
fn is_rounded(value: i64) -> bool {
    value.unsigned_abs() > EXACT_IN_FLOAT
}

/// An array in the type of the table's column: a cast that gives the same values back, or any where narrowing is allowed.
fn fit(array: &ArrayRef, to: &Option<DataType>, allow_narrowing: bool) -> Result<ArrayRef> {
    let Some(to) = to else { return Ok(Arc::clone(array)) };
    if array.data_type() == to {
        return Ok(Arc::clone(array));
    }
    let (data_type, from) = (array.data_type(), print_type(array.data_type()));
    let shown = print_type(to);
    let options = CastOptions { safe: false, ..CastOptions::default() };
    let misfit = |_| {
        Error::invalid(format!("values of type {from} do not fit the column's type {shown}"))
            .advice(format!("write to another table, or replace it with {}", MODE.to("overwrite")))
    };
    let cast = cast_with_options(array, to, &options).map_err(misfit)?;
    if allow_narrowing {
        return Ok(cast);
    }
    let back = cast_with_options(&cast, data_type, &options).map_err(misfit)?;
    if back.to_data() == array.to_data() {
        return Ok(cast);
    }
    Err(Error::invalid(format!("values of type {from} lose precision in the column's type {shown}"))
        .advice(format!("allow this with {ALLOW_NARROWING}, or write to another table")))
}

/// The schema of a table that is made, with the key's columns not null.
pub(super) fn table_schema(schema: &Schema, key: &[String]) -> Schema {
    let fields = schema.fields().iter().map(|field| {
        let is_nullable = field.is_nullable() && !key.contains(field.name());
        field.as_ref().clone().with_nullable(is_nullable)
    });
    Schema::new_with_metadata(fields.collect::<Vec<_>>(), schema.metadata().clone())
}
