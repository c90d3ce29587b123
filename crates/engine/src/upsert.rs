//! Changing the rows of a Delta table: upsert by key, delete by keys or by a condition.

use std::collections::BTreeMap;

use arrow::datatypes::SchemaRef;
use lakerace_delta::{
    AffectedRows, AppTransaction, ChangeOutcome, CommitFence, Compacted, DeleteOptions, DeltaSink, KEY_PROPERTY,
    SourceRows, Table, TableWrite, UpsertPlan, WriteMode, check_declared_key, check_existing, has_transaction,
};
use lakerace_io::option::{EXPLAIN, KEY};
use lakerace_io::{Error, ErrorKind, Job, Location, Result, StorageOptions};

use crate::copy::warn_of_idle_options;
use crate::csv_types;
use crate::delta::{named, open_table};
use crate::dry_run::{DryRun, plural};
use crate::filter::parse_filter;
use crate::maintain::CompactOptions;
use crate::options::{LoadOptions, ReadOptions};

/// The options of an upsert, or of a delete by keys.
#[derive(Debug, Clone, Default)]
pub struct UpsertOptions {
    /// The options of reading the source, where that is a location, and the settings of the stores.
    pub read: ReadOptions,
    /// The treatment of its rows.
    pub rows: lakerace_delta::UpsertOptions,
    /// Columns by which the files of a table that the upsert makes are divided.
    pub partition_by: Vec<String>,
    /// Properties of a table that the upsert makes, next to the key.
    pub table_properties: BTreeMap<String, String>,
    /// A transaction that takes effect once: a table with this transaction, or a later one, stays unchanged.
    pub transaction: Option<AppTransaction>,
}

/// Inserts the rows of `source` into a Delta table, or replaces those that have their key.
///
/// A table that does not exist is created first, if its name starts with `delta:`: in a separate version without rows,
/// with the columns of the source, and with the key as its property `lakerace.primaryKey`.
pub fn upsert(table: &str, source: &str, options: &UpsertOptions, job: &Job) -> Result<ChangeOutcome> {
    upsert_rows(table, read_for_table(table, source, options, job)?, options, job)
}

/// Upserts like [`upsert`], and then compacts by [`CompactOptions::auto`], from the version that the upsert has made.
///
/// The rows stay written if the compaction fails; its result is `None` where there was nothing to upsert.
pub fn upsert_and_compact(
    table: &str,
    source: &str,
    options: &UpsertOptions,
    job: &Job,
) -> Result<(ChangeOutcome, Option<Result<Compacted>>)> {
    let name = table;
    let table = open_table(name, &options.read.storage, job)?;
    let changed = upsert_into(name, &table, rows_for(&table, source, options, job)?, options)?;
    let compact = |_| lakerace_delta::compact_after_write(&table, &CompactOptions::auto().rules);
    let compacted = changed.written.version.map(compact);
    Ok((changed, compacted))
}

/// Upserts like [`upsert`], from rows that the caller has: batches, or those of [`crate::Scan::source_rows`].
pub fn upsert_rows(table: &str, rows: SourceRows, options: &UpsertOptions, job: &Job) -> Result<ChangeOutcome> {
    upsert_into(table, &open_table(table, &options.read.storage, job)?, rows, options)
}

/// Upserts into the table of a name, which is made where it may be.
fn upsert_into(name: &str, table: &Table, rows: SourceRows, options: &UpsertOptions) -> Result<ChangeOutcome> {
    if named(name).is_none() || !create(table, rows.schema(), options)? {
        check_new_table(table, options)?;
    }
    let done = match &options.transaction {
        None => lakerace_delta::upsert(table, rows, &options.rows),
        Some(transaction) => upsert_once(table, rows, &options.rows, transaction),
    };
    done.map_err(|error| without_table(error, table))
}

fn upsert_once(
    table: &Table,
    rows: SourceRows,
    options: &lakerace_delta::UpsertOptions,
    transaction: &AppTransaction,
) -> Result<ChangeOutcome> {
    // The fence is that of the version that was checked: a commit of the transaction by another run in between is a conflict.
    let snapshot = table.snapshot(None)?;
    if has_transaction(&snapshot, transaction)? {
        return Ok(ChangeOutcome::default());
    }
    let fence = CommitFence::of_transaction(Some(&snapshot), &transaction.name, transaction.number)?;
    lakerace_delta::upsert(table, rows, &lakerace_delta::UpsertOptions { fence: Some(fence), ..options.clone() })
}

/// Fails where options of a new table are given that the existing one does not have.
fn check_new_table(table: &Table, options: &UpsertOptions) -> Result<()> {
    if options.partition_by.is_empty() && options.table_properties.is_empty() {
        return Ok(());
    }
    let snapshot = table.snapshot(None).map_err(|error| without_table(error, table))?;
    check_existing(&snapshot, &options.partition_by, &options.table_properties)
        .map_err(|error| error.at(table.location()))
}

/// Makes a table for rows of this schema; `false` where there is one.
fn create(table: &Table, schema: &SchemaRef, options: &UpsertOptions) -> Result<bool> {
    if table.exists()? {
        return Ok(false);
    }
    match DeltaSink::create(table, schema, &new_table(table, options)?).and_then(|sink| sink.finish()) {
        Ok(_) => Ok(true),
        // Another upsert has made it in the meantime: the rows go there.
        Err(error) if error.kind() == ErrorKind::Conflict && table.exists()? => Ok(false),
        Err(error) => Err(error),
    }
}

/// The creation of a table without rows, which has the key.
fn new_table(table: &Table, options: &UpsertOptions) -> Result<TableWrite> {
    let named = |error: Error| error.at(table.location());
    let mut properties = options.table_properties.clone();
    let declared = properties.get(KEY_PROPERTY).filter(|_| !options.rows.key.is_empty());
    if let Some(declared) = declared {
        let declared: Vec<String> = declared.split(',').map(|name| name.trim().to_owned()).collect();
        check_declared_key(&declared, &options.rows.key).map_err(named)?;
    }
    if !properties.contains_key(KEY_PROPERTY) {
        if options.rows.key.is_empty() {
            return Err(named(Error::usage("the upsert creates the table, but its key is not given"))
                .advice(format!("give {}: it becomes the table's property lakerace.primaryKey", KEY.to("A,B"))));
        }
        properties.insert(KEY_PROPERTY.to_owned(), options.rows.key.join(","));
    }
    Ok(TableWrite {
        mode: WriteMode::Error,
        partition_by: options.partition_by.clone(),
        properties,
        evolve: options.rows.evolve,
        keep_not_null: false,
        options: options.rows.write.clone(),
        load_name: None,
        resumes: false,
        replace_where: None,
    })
}

/// The error, with the advice that helps where there is no table at all.
fn without_table(error: Error, table: &Table) -> Error {
    if is_missing(&error, table) {
        return error.advice("put delta: in front of its folder to let the upsert create it");
    }
    error
}

/// Returns true if an error says that there is no table at all.
fn is_missing(error: &Error, table: &Table) -> bool {
    error.kind() == ErrorKind::NotFound && table.exists().is_ok_and(|exists| !exists)
}

/// Plans an upsert. Reads the source, and of the table no more than its log and footers.
pub fn explain_upsert(table: &str, source: &str, options: &UpsertOptions, job: &Job) -> Result<UpsertPlan> {
    explain_upsert_rows(table, read_for_table(table, source, options, job)?, options, job)
}

/// Plans like [`explain_upsert`], from rows that the caller has.
pub fn explain_upsert_rows(table: &str, rows: SourceRows, options: &UpsertOptions, job: &Job) -> Result<UpsertPlan> {
    let (name, table) = (table, open_table(table, &options.read.storage, job)?);
    lakerace_delta::explain_upsert(&table, rows, &options.rows).map_err(|error| match named(name) {
        Some(_) if is_missing(&error, &table) => {
            error.advice(format!("omit {EXPLAIN}: the upsert creates it from all rows"))
        }
        _ => without_table(error, &table),
    })
}

/// Checks an upsert without writing, and plans it as [`explain_upsert`] does. A table that the upsert would create is checked
/// like the target of a copy.
pub fn plan_upsert(
    table: &str,
    source: &str,
    options: &UpsertOptions,
    auto_compact: bool,
    job: &Job,
) -> Result<DryRun> {
    plan_upsert_rows(table, read_for_table(table, source, options, job)?, options, auto_compact, job)
}

/// Plans like [`plan_upsert`], from rows that the caller has.
pub fn plan_upsert_rows(
    table: &str,
    rows: SourceRows,
    options: &UpsertOptions,
    auto_compact: bool,
    job: &Job,
) -> Result<DryRun> {
    warn_of_idle_options(&LoadOptions::default(), auto_compact, job);
    let (name, table) = (table, open_table(table, &options.read.storage, job)?);
    let place = table.location();
    if named(name).is_some() && !table.exists()? {
        let write = new_table(&table, options)?;
        drop(DeltaSink::create(&table, rows.schema(), &write)?);
        let rows = Some(lakerace_delta::explain_new_upsert(&table, rows, &options.rows, &write)?);
        return Ok(DryRun { rows, ..DryRun::new(format!("would create {place} and insert the rows"), None) });
    }
    check_new_table(&table, options)?;
    let plan = lakerace_delta::explain_upsert(&table, rows, &options.rows).map_err(|e| without_table(e, &table))?;
    let touched = plan.files.iter().filter(|file| file.row_groups > 0).count() as u64;
    let would = match (plan.rows, plan.rewrites_at_most) {
        (0, _) => format!("would change nothing: the source has no rows for {place}"),
        (rows, 0) => format!("would upsert {} into {place}", plural(rows, "key")),
        (rows, files) => format!(
            "would upsert {} into {place}, and rewrite at most {} ({})",
            plural(rows, "key"),
            plural(files, "file"),
            plural(plan.rewritten_bytes_at_most, "byte")
        ),
    };
    let (rows, files, bytes) = (Some(plan.rows), Some(touched), Some(plan.key_bytes));
    Ok(DryRun { would, from_version: Some(plan.version), rows, files, bytes })
}

/// Finds the rows that [`delete`] would delete, and writes nothing.
pub fn plan_delete(
    table: &str,
    condition: &str,
    options: &DeleteOptions,
    storage: &StorageOptions,
    job: &Job,
) -> Result<DryRun> {
    let table = open_table(table, storage, job)?;
    let plan = lakerace_delta::plan_delete(&table, &parse_filter(condition)?, options)?;
    Ok(planned_delete(&table, plan))
}

/// Finds the rows that [`delete_keys`] would delete, and writes nothing.
pub fn plan_delete_keys(table: &str, source: &str, options: &UpsertOptions, job: &Job) -> Result<DryRun> {
    plan_delete_keys_rows(table, read_for_table(table, source, options, job)?, options, job)
}

/// Plans like [`plan_delete_keys`], from rows that the caller has.
pub fn plan_delete_keys_rows(table: &str, rows: SourceRows, options: &UpsertOptions, job: &Job) -> Result<DryRun> {
    let table = open_table(table, &options.read.storage, job)?;
    let plan = lakerace_delta::plan_delete_keys(&table, rows, &options.rows)?;
    Ok(planned_delete(&table, plan))
}

fn planned_delete(table: &Table, plan: AffectedRows) -> DryRun {
    let place = table.location();
    let would = match plan.rows {
        0 => format!("would change nothing: no row of {place} is to be deleted"),
        rows => format!("would delete {} from {place}", plural(rows, "row")),
    };
    DryRun { rows: Some(plan.rows), files: Some(plan.files), ..DryRun::new(would, Some(plan.version)) }
}

/// Deletes the rows of a Delta table for which a SQL expression is true.
pub fn delete(
    table: &str,
    condition: &str,
    options: &DeleteOptions,
    storage: &StorageOptions,
    job: &Job,
) -> Result<ChangeOutcome> {
    let filter = parse_filter(condition)?;
    lakerace_delta::delete_with(&open_table(table, storage, job)?, &filter, Some(condition), options)
}

/// Deletes the rows of a Delta table that have the key of a row of `source`.
pub fn delete_keys(table: &str, source: &str, options: &UpsertOptions, job: &Job) -> Result<ChangeOutcome> {
    delete_keys_rows(table, read_for_table(table, source, options, job)?, options, job)
}

/// Deletes like [`delete_keys`], from rows that the caller has.
pub fn delete_keys_rows(table: &str, rows: SourceRows, options: &UpsertOptions, job: &Job) -> Result<ChangeOutcome> {
    lakerace_delta::delete_keys(&open_table(table, &options.read.storage, job)?, rows, &options.rows)
}

/// The rows of a location for an upsert or a delete by keys. Columns of CSV without a given type have that of the
/// table.
pub fn read_for_table(table: &str, source: &str, options: &UpsertOptions, job: &Job) -> Result<SourceRows> {
    rows_for(&open_table(table, &options.read.storage, job)?, source, options, job)
}

fn rows_for(table: &Table, source: &str, options: &UpsertOptions, job: &Job) -> Result<SourceRows> {
    let rows =
        csv_types::open(source, &options.read, table, options.rows.evolve, &options.rows.key, job)?.source_rows()?;
    // The displayed form of a location has no credentials.
    let shown = Location::parse(source).map_or_else(|_| source.to_owned(), |location| location.as_str().to_owned());
    Ok(rows.named(shown))
}
