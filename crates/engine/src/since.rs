//! Incremental unloads: a copy that reads from the highest value of a column on that the last one has seen.
//!
//! The value is kept with the target, behind the rows: a copy that is stopped is done again from the value before.

mod mark;

use std::sync::{Arc, Mutex};

use lakerace_database::{BatchRows, System, TargetState, open_state};
use lakerace_delta::{SourceRows, Table};
use lakerace_format::{Batches, Format, Written};
use lakerace_io::wait::lock;
use lakerace_io::{Error, Job, Result};
use serde_json::json;

use self::mark::Mark;
use crate::database::{self, shown};
use crate::delta::open_table;
use crate::load::{self, digest};
use crate::options::Since;
use crate::resolve::LocationKind;
use crate::target::Target;
use crate::{CopyMode, CopyOptions, ReadOptions, RowOptions, Scan, UpsertOptions, csv_types, upsert_rows};

/// What keeps the value.
enum Keeper {
    Database(Box<dyn TargetState>),
    /// A property of the table.
    Delta(Table),
}

/// What names of properties begin with that keep values.
const PROPERTY: &str = "lakerace.since.";

impl Keeper {
    fn open(target: &str, options: &CopyOptions, job: &Job) -> Result<Self> {
        match System::of(target) {
            Some(system) => open_state(system, target, job).map(Self::Database),
            None => open_table(target, &options.read.storage, job).map(Self::Delta),
        }
    }

    fn read(&self, name: &str) -> Result<Option<String>> {
        match self {
            Self::Database(state) => state.read(&format!("since/{name}")),
            Self::Delta(table) if !table.exists()? => Ok(None),
            Self::Delta(table) => Ok(table.snapshot(None)?.properties().remove(&format!("{PROPERTY}{name}"))),
        }
    }

    /// The target, without what may be a password.
    fn place(&self, target: &str) -> String {
        match self {
            Self::Database(_) => shown(target),
            Self::Delta(table) => table.place().to_owned(),
        }
    }

    fn write(&self, name: &str, text: &str) -> Result<()> {
        match self {
            Self::Database(state) => state.write(&format!("since/{name}"), text),
            Self::Delta(table) => {
                let set = [(format!("{PROPERTY}{name}"), text.to_owned())].into();
                lakerace_delta::alter(table, &lakerace_delta::AlterOptions { set, unset: Vec::new() }).map(drop)
            }
        }
    }
}

/// Copies the rows from the highest value on, into an upsert.
pub(crate) fn copy(source: &str, target: &str, since: &Since, options: &CopyOptions, job: &Job) -> Result<Written> {
    check(target, options)?;
    let keeper = Keeper::open(target, options, job)?;
    let read = &options.read;
    let name = digest(&json!([source, read.columns, read.filter, since.column]).to_string());
    let kept = keeper
        .read(&name)?
        .map(|text| Mark::parse(&text))
        .transpose()
        .map_err(|error| error.at(keeper.place(target)))?;
    // What a database keeps outlives the table beside it: a new one has none of the rows.
    let kept = match System::of(target) {
        Some(system) if kept.is_some() && !database::exists(system, target, job)? => None,
        _ => kept,
    };
    let filter = match &kept {
        None => read.filter.clone(),
        Some(mark) => {
            let has_nan = !matches!(System::of(source), Some(System::Sqlite | System::Elasticsearch));
            let from = mark.condition(&since.column, since.overlap.as_deref(), has_nan)?;
            Some(read.filter.as_ref().map_or_else(|| from.clone(), |filter| format!("({filter}) AND {from}")))
        }
    };
    let read = ReadOptions { filter, batch_rows: None, ..read.clone() };
    let highest = Arc::new(Mutex::new(kept.clone()));
    let written = match System::of(target) {
        Some(_) => {
            let rows = noted(Scan::open(source, &read, job)?, &read, since, &highest)?;
            let resolved = Target::resolve(target, options, job)?;
            load::run(rows, resolved, None, options, job)?
        }
        None => into_table(source, target, since, &read, &highest, options, job)?,
    };
    let highest = lock(&highest).take();
    if let Some(highest) = highest.filter(|highest| Some(highest) != kept.as_ref()) {
        keeper.write(&name, &highest.print()?)?;
    }
    Ok(written)
}

fn check(target: &str, options: &CopyOptions) -> Result<()> {
    let refuse = |message: &str, advice: &str| Err(Error::usage(format!("--since (since): {message}")).advice(advice));
    if options.mode != CopyMode::Upsert {
        return refuse("rows that are read twice must replace themselves", "say --mode upsert and a --key (mode, key)");
    }
    if !matches!(LocationKind::of(target), LocationKind::Table { .. } | LocationKind::Database(_)) {
        return refuse(
            "files can't be upserted",
            "name a place in a database, or a Delta table with delta: in front of its folder",
        );
    }
    if options.read.limit.is_some() {
        return refuse("with a limit, rows below the highest value may be left out", "leave --limit (limit) out");
    }
    if options.load.resume {
        return refuse("it begins at the value that is kept with the target", "leave --resume (resume) out");
    }
    if System::of(target).is_none() {
        return check_table(options);
    }
    Ok(())
}

/// Fails where an option is given that an upsert into a Delta table does not follow.
fn check_table(options: &CopyOptions) -> Result<()> {
    let load = &options.load;
    let given = [
        ("--verify (verify)", load.verify),
        ("--max-rate (max_rate)", load.max_rows_per_second.is_some()),
        ("--batch-rows (batch_rows)", load.batch_rows != BatchRows::All),
        ("--dead-letter (dead_letter)", load.dead_letter.is_some()),
        ("--allow-narrowing (allow_narrowing)", load.allow_narrowing),
        ("--keep-not-null (keep_not_null)", options.keep_not_null),
        ("--output-format (output_format)", options.format.is_some_and(|format| format != Format::Parquet)),
    ];
    match given.into_iter().find(|(_, is_given)| *is_given) {
        None => Ok(()),
        Some((option, _)) => Err(Error::usage(format!("{option}: an upsert into a Delta table does not take it"))
            .at("--since (since)")
            .advice("leave it out")),
    }
}

/// The rows of a scan; the highest value of the column is noted.
fn noted(scan: Scan, read: &ReadOptions, since: &Since, highest: &Arc<Mutex<Option<Mark>>>) -> Result<Batches> {
    let is_in_source = scan.source_schema().column_with_name(&since.column).is_some();
    let batches = scan.batches()?;
    let schema = Arc::clone(batches.schema());
    let Ok(at) = schema.index_of(&since.column) else {
        if is_in_source && read.columns.is_some() {
            let message = format!("column {:?} is not among those that are copied", since.column);
            return Err(Error::usage(message).at("--since (since)").advice("name it in --columns (columns), too"));
        }
        let known = schema.fields().iter().map(|field| field.name().as_str());
        return Err(lakerace_format::suggestions::column_not_found(&since.column, known).at("--since (since)"));
    };
    Mark::check(schema.field(at).data_type(), since)?;
    let highest = Arc::clone(highest);
    let noted = batches.map(move |batch| {
        let batch = batch?;
        let mut highest = lock(&highest);
        *highest = Mark::highest(highest.take(), batch.column(at))?;
        Ok(batch)
    });
    Ok(Batches::new(schema, noted))
}

/// Upserts the rows into a Delta table, which is made where there is none.
fn into_table(
    source: &str,
    target: &str,
    since: &Since,
    read: &ReadOptions,
    highest: &Arc<Mutex<Option<Mark>>>,
    options: &CopyOptions,
    job: &Job,
) -> Result<Written> {
    let table = open_table(target, &read.storage, job)?;
    let scan = csv_types::open(source, read, &table, options.evolve, job)?;
    let upsert = UpsertOptions {
        read: read.clone(),
        rows: RowOptions {
            key: options.load.key.clone(),
            evolve: options.evolve,
            write: options.write.clone(),
            ..RowOptions::default()
        },
        partition_by: options.partition_by.clone(),
        table_properties: options.table_properties.clone(),
    };
    let rows = SourceRows::from(noted(scan, read, since, highest)?);
    Ok(upsert_rows(target, rows, &upsert, job)?.written)
}
